// SPDX-License-Identifier: Apache-2.0
#include "pcie/link/link.h"

#include <cmath>

namespace cxsim::pcie {

using model::Picoseconds;

namespace {
constexpr unsigned kFraction = 20;
constexpr std::uint64_t kShortestTlp = 20;  // no data, 12 byte header
}  // namespace

Link::Link(const LinkRegisters& registers, const LinkTiming& timing, unsigned max_payload)
    : registers_(registers),
      timing_(timing),
      overhead_(tlp_overhead(timing.address_64bit, timing.ecrc)) {
    set_max_payload(max_payload);
    // A gap in which not even the shortest TLP fits stays empty.
    const Picoseconds shortest = rate_.time_for({kShortestTlp});
    up_ = GapTimeline(shortest - Picoseconds{1});
    down_ = GapTimeline(shortest - Picoseconds{1});
}

void Link::set_max_payload(unsigned max_payload) {
    rate_ = tlp_rate(registers_.generation, registers_.width, max_payload);
    const double per_byte = 8e12 / rate_.value;
    picoseconds_per_byte_q20_ =
        static_cast<std::uint64_t>(std::llround(per_byte * static_cast<double>(1u << kFraction)));
}

void Link::reset() {
    up_.reset();
    down_.reset();
}

std::uint64_t Link::wire_bytes(Tlp type, std::uint64_t payload) const {
    // Payload travels in dwords.
    const std::uint64_t padded = (payload + 3) & ~std::uint64_t{3};
    switch (type) {
        case Tlp::memory_write:
            return overhead_.memory_write.value + padded;
        case Tlp::memory_read:
            return overhead_.memory_read.value;
        case Tlp::completion:
            return overhead_.completion.value + padded;
        case Tlp::completion_without_data:
            return overhead_.completion_without_data.value;
    }
    return 0;
}

Link::Passage Link::pass(GapTimeline& lane, DirectionStatistics& statistics, Picoseconds ready,
                         Tlp type, std::uint64_t payload) {
    const std::uint64_t bytes = wire_bytes(type, payload);
    statistics.wire_bytes += bytes;
    switch (type) {
        case Tlp::memory_write:
            ++statistics.memory_writes;
            break;
        case Tlp::memory_read:
            ++statistics.memory_reads;
            break;
        case Tlp::completion:
        case Tlp::completion_without_data:
            ++statistics.completions;
            break;
    }
    const auto work = static_cast<std::int64_t>(
        (bytes * picoseconds_per_byte_q20_ + (1u << (kFraction - 1))) >> kFraction);
    const GapTimeline::Slot slot = lane.reserve(ready, {work});
    return {slot.end, slot.end + timing_.one_way};
}

}  // namespace cxsim::pcie
