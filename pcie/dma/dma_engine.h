// SPDX-License-Identifier: Apache-2.0
// The card's bus master in time: splits requests into TLPs, waits for tags, credits and room for
// completions, and computes ahead when the last byte has arrived. Moves no data.
#pragma once

#include "model/ports/host_bus.h"
#include "model/sim/timeline.h"
#include "pcie/dma/posted_order.h"
#include "pcie/host/root_complex.h"
#include "pcie/link/credit_window.h"
#include "pcie/link/link.h"

#include <cstdint>
#include <vector>

namespace cxsim::pcie {

/// The card's side; from its timing data.
struct DmaTiming {
    /// From the model's request to its first TLP ready for the link.
    model::Picoseconds request_overhead{};
    /// Rate at which data pass between the PCIe core and where the card uses them, store and
    /// forward. Adds latency per byte, does not bound throughput. 0: cut through.
    model::BitsPerSecond copy_rate{};
    std::uint32_t tags = 256;  ///< Outstanding read requests; 32 without extended tags.
    model::Bytes completion_buffer{64 * 1024};  ///< Room for requested read data.
};

struct DmaStatistics {
    std::uint64_t reads = 0;  ///< Requests of the model.
    std::uint64_t writes = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
    std::uint64_t read_requests = 0;  ///< TLPs.
    std::uint64_t write_requests = 0;
    std::uint64_t completions = 0;
    std::uint64_t refused = 0;  ///< Requests that did not end with status ok.
    // Time that requests waited, summed over requests (calibration: outbound_pci_stalled).
    model::Picoseconds stalled_tags;
    model::Picoseconds stalled_completion_buffer;
    model::Picoseconds stalled_non_posted_credits;
    model::Picoseconds stalled_posted_credits;
};

/// What of a function's registers shapes its requests.
struct RequestLimits {
    unsigned max_payload = 128;
    unsigned max_read_request = 512;
};

class DmaEngine {
  public:
    /// `functions`: number of functions that share the engine; ordering is kept for each.
    DmaEngine(const DmaTiming& timing, Link& link, RootComplex& host, std::size_t functions);

    /// Returns when the last completion has been copied into the card. `bytes` may be 0.
    model::Picoseconds read(model::FunctionId function, model::Picoseconds start,
                            model::HostAddress address, std::uint64_t bytes,
                            const RequestLimits& limits);

    /// Returns when the last byte is visible in the host. Never before writes of the function
    /// with an earlier or the same `start` that were asked for before.
    model::Picoseconds write(model::FunctionId function, model::Picoseconds start,
                             model::HostAddress address, std::uint64_t bytes,
                             const RequestLimits& limits);

    /// A read that the host refuses: one request and its completion without data.
    model::Picoseconds refused_read(model::FunctionId function, model::Picoseconds start);
    void refused_write() { ++statistics_.refused; }

    /// Last posted TLP of the function that was ready by `ready` has left: completions of MMIO
    /// reads may not pass it.
    model::Picoseconds posted_sent(model::FunctionId function, model::Picoseconds ready) const {
        return order_[function.value].posted.before(ready).sent;
    }
    /// Completion of the function's last read, for Transactions Pending.
    model::Picoseconds reads_done(model::FunctionId function) const {
        return order_[function.value].reads_done;
    }

    /// Link down: everything outstanding is gone.
    void reset();

    const DmaStatistics& statistics() const { return statistics_; }

  private:
    struct Order {
        PostedOrder posted;
        model::Picoseconds reads_done;
    };
    model::Picoseconds read_request(model::Picoseconds ready, model::HostAddress address,
                                    std::uint64_t bytes, unsigned max_payload);
    model::Picoseconds copy_time(std::uint64_t bytes) const;

    DmaTiming timing_;
    Link& link_;
    RootComplex& host_;
    model::TimelinePool tags_;
    CreditWindow completion_buffer_;  // units of 16 bytes
    CreditWindow non_posted_headers_;
    CreditWindow posted_headers_;
    CreditWindow posted_data_;  // units of 16 bytes
    std::vector<Order> order_;
    DmaStatistics statistics_;
};

}  // namespace cxsim::pcie
