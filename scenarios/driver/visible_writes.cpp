// SPDX-License-Identifier: Apache-2.0
#include "scenarios/driver/visible_writes.h"

#include <algorithm>

namespace cxsim::scenarios {

using model::HostAddress;
using model::Picoseconds;

std::size_t VisibleWrites::find(std::uint64_t address) const {
    const auto behind = std::ranges::upper_bound(ranges_, address, {}, &Range::start);
    if (behind == ranges_.begin() || address >= (behind - 1)->end) return ranges_.size();
    return static_cast<std::size_t>(behind - ranges_.begin()) - 1;
}

void VisibleWrites::watch(HostAddress start, std::uint64_t bytes) {
    const auto place = std::ranges::upper_bound(ranges_, start.value, {}, &Range::start);
    ranges_.insert(place, {start.value, start.value + bytes,
                           std::vector<Picoseconds>((bytes + kBlockBytes - 1) / kBlockBytes)});
}

void VisibleWrites::forget(HostAddress start) {
    std::erase_if(ranges_, [&](const Range& range) { return range.start == start.value; });
}

Picoseconds VisibleWrites::visible(HostAddress address) const {
    const std::size_t at = find(address.value);
    if (at == ranges_.size()) return {};
    return ranges_[at].blocks[(address.value - ranges_[at].start) / kBlockBytes];
}

model::DmaResult VisibleWrites::write(model::FunctionId function, Picoseconds start,
                                      HostAddress address, std::span<const std::byte> from) {
    const model::DmaResult result = bus_.write(function, start, address, from);
    if (const std::size_t at = find(address.value); at != ranges_.size() && !from.empty()) {
        Range& range = ranges_[at];
        const std::uint64_t last = std::min(address.value + from.size(), range.end) - 1;
        for (std::uint64_t block = (address.value - range.start) / kBlockBytes;
             block <= (last - range.start) / kBlockBytes; ++block) {
            range.blocks[block] = result.finish;
        }
    }
    return result;
}

}  // namespace cxsim::scenarios
