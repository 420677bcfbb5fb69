// SPDX-License-Identifier: Apache-2.0
// The host behind the link in time: when a read's data are ready, when a write is visible.
#pragma once

#include "model/base/random.h"
#include "model/ports/host_bus.h"
#include "model/sim/timeline.h"
#include "pcie/host/host_profile.h"
#include "pcie/link/gap_timeline.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cxsim::pcie {

/// Where memory lies. What is cached is stated, not tracked: a line does not move by being used.
struct Placement {
    bool in_llc = true;
    bool remote_socket = false;
};

struct RootComplexStatistics {
    std::uint64_t iotlb_hits = 0;
    std::uint64_t iotlb_misses = 0;
    std::uint64_t reads_behind_writes = 0;  ///< Reads that waited for a write to their bytes.
};

class RootComplex {
  public:
    /// `seed` and `component` name the random streams of the profile's tails.
    explicit RootComplex(const HostProfile& profile, std::uint64_t seed = 0,
                         std::string_view component = "host");

    void set_default_placement(Placement placement) { default_placement_ = placement; }
    /// Overrides the default for [start, start + size). Ranges must not overlap.
    void place(model::HostAddress start, model::Bytes size, Placement placement);

    /// When the first byte of a read that arrives at `arrival` is ready for the link. Further
    /// bytes follow at bandwidth(). At most 4 KiB, not across a 4 KiB boundary.
    model::Picoseconds read(model::Picoseconds arrival, model::HostAddress address,
                            std::uint64_t bytes);

    struct Written {
        model::Picoseconds drained;  ///< Left the port's buffer: its credits are free.
        model::Picoseconds visible;
    };
    Written write(model::Picoseconds arrival, model::HostAddress address, std::uint64_t bytes);

    /// When an access that a core starts at `start` is at the root port. Accesses that came
    /// later may overtake it here; the link keeps their order.
    model::Picoseconds from_core(model::Picoseconds start) {
        return start + profile_.core_to_port + profile_.core_tail.draw(core_random_);
    }

    /// Of up to 4 KiB.
    model::Picoseconds transfer_time(std::uint64_t bytes) const { return transfer_times_[bytes]; }
    const HostProfile& profile() const { return profile_; }
    const RootComplexStatistics& statistics() const { return statistics_; }

  private:
    Placement placement_of(model::HostAddress address) const;
    /// When the address is translated. A walk's walker is kept for `kept` longer.
    model::Picoseconds translate(model::Picoseconds arrival, model::HostAddress address,
                                 model::Picoseconds kept);
    model::Picoseconds behind_writes(model::Picoseconds arrival, model::HostAddress address,
                                     std::uint64_t bytes);

    struct Range {
        std::uint64_t start;
        std::uint64_t end;
        Placement placement;
    };
    struct Translation {
        std::uint64_t page = ~std::uint64_t{0};
        std::uint64_t used = 0;
        model::Picoseconds ready;  // its walk is done
    };
    struct RecentWrite {
        std::uint64_t start = 0;
        std::uint64_t end = 0;
        model::Picoseconds visible;
    };

    HostProfile profile_;
    std::vector<model::Picoseconds> transfer_times_;  // by bytes: asked for by each TLP
    Placement default_placement_;
    std::vector<Range> ranges_;  // ascending
    GapTimeline read_port_;
    GapTimeline write_port_;
    std::vector<Translation> iotlb_;
    std::uint64_t iotlb_clock_ = 0;
    model::TimelinePool walkers_;
    model::RandomStream read_random_;
    model::RandomStream core_random_;
    // Approximation: a read waits for the last 16 writes only if it touches their bytes; older
    // ones are visible by then.
    std::array<RecentWrite, 16> recent_{};
    std::size_t next_recent_ = 0;
    model::Picoseconds last_visible_;  // of all writes so far
    RootComplexStatistics statistics_;
};

}  // namespace cxsim::pcie
