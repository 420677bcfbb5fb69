// SPDX-License-Identifier: Apache-2.0
#include "pcie/host/root_complex.h"

#include "model/base/assert.h"

#include <algorithm>

namespace cxsim::pcie {

using model::HostAddress;
using model::Picoseconds;

namespace {

constexpr std::uint64_t kLargestTlp = 4096;

std::vector<Picoseconds> times_at(model::BitsPerSecond rate) {
    std::vector<Picoseconds> times;
    times.reserve(kLargestTlp + 1);
    for (std::uint64_t bytes = 0; bytes <= kLargestTlp; ++bytes) {
        times.push_back(rate.time_for({bytes}));
    }
    return times;
}

}  // namespace

RootComplex::RootComplex(const HostProfile& profile, std::uint64_t seed,
                         std::string_view component)
    : profile_(profile),
      transfer_times_(times_at(profile.bandwidth)),
      iotlb_(profile.iommu ? profile.iotlb_entries : 0),
      walkers_(std::max<std::size_t>(profile.iommu_walkers, 1)),
      read_random_(seed, std::string(component) + ".read_tail"),
      core_random_(seed, std::string(component) + ".core_tail") {}

void RootComplex::place(HostAddress start, model::Bytes size, Placement placement) {
    const Range range{start.value, start.value + size.value, placement};
    const auto next =
        std::lower_bound(ranges_.begin(), ranges_.end(), range.start,
                         [](const Range& r, std::uint64_t at) { return r.start < at; });
    CX_ASSERT((next == ranges_.end() || range.end <= next->start) &&
                  (next == ranges_.begin() || (next - 1)->end <= range.start),
              "placement at {:#x} overlaps another", range.start);
    ranges_.insert(next, range);
}

Placement RootComplex::placement_of(HostAddress address) const {
    const auto next =
        std::upper_bound(ranges_.begin(), ranges_.end(), address.value,
                         [](std::uint64_t at, const Range& r) { return at < r.start; });
    if (next == ranges_.begin() || address.value >= (next - 1)->end) return default_placement_;
    return (next - 1)->placement;
}

Picoseconds RootComplex::translate(Picoseconds arrival, HostAddress address, Picoseconds kept) {
    if (iotlb_.empty()) return arrival;
    const std::uint64_t page = address.value / profile_.iommu_page.value;
    Translation* oldest = &iotlb_.front();
    for (Translation& entry : iotlb_) {
        if (entry.page == page) {
            entry.used = ++iotlb_clock_;
            ++statistics_.iotlb_hits;
            return std::max(arrival, entry.ready);
        }
        if (entry.used < oldest->used) oldest = &entry;
    }
    ++statistics_.iotlb_misses;
    const Picoseconds done = walkers_.available(arrival) + profile_.iotlb_miss;
    walkers_.occupy_until(done + kept);
    *oldest = {page, ++iotlb_clock_, done};
    return done;
}

Picoseconds RootComplex::behind_writes(Picoseconds arrival, HostAddress address,
                                       std::uint64_t bytes) {
    if (last_visible_ <= arrival) return arrival;
    Picoseconds start = arrival;
    for (const RecentWrite& write : recent_) {
        if (write.start < address.value + bytes && address.value < write.end) {
            start = std::max(start, write.visible);
        }
    }
    if (start > arrival) ++statistics_.reads_behind_writes;
    return start;
}

Picoseconds RootComplex::read(Picoseconds arrival, HostAddress address, std::uint64_t bytes) {
    const Picoseconds ordered = behind_writes(arrival, address, bytes);
    const auto lines = static_cast<std::int64_t>((address.value % 64 + bytes + 63) / 64);
    const Picoseconds translated = translate(ordered, address, profile_.iommu_read_line * lines);
    const auto slot = read_port_.reserve(translated, transfer_time(bytes));
    const Placement placement = placement_of(address);
    Picoseconds latency = profile_.llc_read;
    if (!placement.in_llc) latency += profile_.memory_extra;
    if (placement.remote_socket) latency += profile_.remote_extra;
    return slot.start + latency + profile_.read_tail.draw(read_random_);
}

RootComplex::Written RootComplex::write(Picoseconds arrival, HostAddress address,
                                        std::uint64_t bytes) {
    const Picoseconds translated = translate(arrival, address, {});
    const auto slot = write_port_.reserve(translated, transfer_time(bytes));
    Picoseconds visible = slot.end + profile_.write_visible;
    if (placement_of(address).remote_socket) visible += profile_.remote_extra;
    last_visible_ = std::max(last_visible_, visible);
    recent_[next_recent_] = {address.value, address.value + bytes, visible};
    next_recent_ = (next_recent_ + 1) % recent_.size();
    return {slot.end, visible};
}

}  // namespace cxsim::pcie
