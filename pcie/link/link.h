// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/base/units.h"
#include "pcie/link/gap_timeline.h"
#include "pcie/link/link_rate.h"

#include <cstdint>

namespace cxsim::pcie {

/// How a card's link is built beyond what its registers say.
struct LinkTiming {
    /// PHY, receiver buffering and flight, one way: last byte out to last byte understood.
    model::Picoseconds one_way{};
    bool address_64bit = true;
    bool ecrc = false;
};

struct DirectionStatistics {
    std::uint64_t memory_writes = 0;
    std::uint64_t memory_reads = 0;
    std::uint64_t completions = 0;
    std::uint64_t wire_bytes = 0;  ///< TLPs with their framing, without DLLPs.
};

/// Both directions between the card and the root port. Upstream: from the card.
class Link {
  public:
    enum class Tlp : std::uint8_t {
        memory_write,
        memory_read,
        completion,
        completion_without_data
    };

    /// Wire time of one TLP and when its last byte is understood at the other side.
    struct Passage {
        model::Picoseconds sent;  ///< Last byte has left.
        model::Picoseconds arrived;
    };

    Link(const LinkRegisters& registers, const LinkTiming& timing, unsigned max_payload);

    /// Max_Payload_Size decides how often DLLPs are due.
    void set_max_payload(unsigned max_payload);

    Passage upstream(model::Picoseconds ready, Tlp type, std::uint64_t payload) {
        return pass(up_, up_statistics_, ready, type, payload);
    }
    Passage downstream(model::Picoseconds ready, Tlp type, std::uint64_t payload) {
        return pass(down_, down_statistics_, ready, type, payload);
    }

    model::BitsPerSecond rate() const { return rate_; }
    model::Picoseconds one_way() const { return timing_.one_way; }
    const DirectionStatistics& upstream_statistics() const { return up_statistics_; }
    const DirectionStatistics& downstream_statistics() const { return down_statistics_; }
    model::Picoseconds upstream_busy() const { return up_.busy_time(); }
    model::Picoseconds downstream_busy() const { return down_.busy_time(); }

    /// Retrained: nothing is under way any more.
    void reset();

  private:
    Passage pass(GapTimeline& lane, DirectionStatistics& statistics, model::Picoseconds ready,
                 Tlp type, std::uint64_t payload);
    std::uint64_t wire_bytes(Tlp type, std::uint64_t payload) const;

    LinkRegisters registers_;
    LinkTiming timing_;
    TlpOverhead overhead_;
    model::BitsPerSecond rate_;
    std::uint64_t picoseconds_per_byte_q20_ = 0;  // 20 fractional bits
    GapTimeline up_;
    GapTimeline down_;
    DirectionStatistics up_statistics_;
    DirectionStatistics down_statistics_;
};

}  // namespace cxsim::pcie
