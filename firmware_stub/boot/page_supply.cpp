// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/boot/page_supply.h"

#include <algorithm>

namespace cxsim::firmware_stub {

PageSupply::GiveError PageSupply::give(std::span<const std::uint64_t> addresses) {
    std::unordered_set<std::uint64_t> fresh;
    for (const std::uint64_t address : addresses) {
        if (address % kFirmwarePageBytes != 0) return GiveError::not_aligned;
        if (known_.contains(address) || !fresh.insert(address).second) {
            return GiveError::given_twice;
        }
    }
    pages_.insert(pages_.end(), addresses.begin(), addresses.end());
    known_.insert(addresses.begin(), addresses.end());
    request_open_ = false;
    return GiveError::none;
}

std::vector<std::uint64_t> PageSupply::take(std::uint32_t count) {
    const std::uint32_t n = std::min(count, free());
    std::vector<std::uint64_t> back(pages_.end() - n, pages_.end());
    pages_.resize(pages_.size() - n);
    for (const std::uint64_t address : back) known_.erase(address);
    request_open_ = false;
    return back;
}

std::optional<model::HostAddress> PageSupply::context_address(model::ContextKind kind,
                                                              std::uint32_t owner,
                                                              std::uint32_t index,
                                                              std::uint32_t bytes) const {
    // Apart, so that kinds and the lists of different keys do not begin in the same page.
    constexpr std::uint64_t kKindApart = 0x9e3779b1;
    constexpr std::uint64_t kListApart = 0x10001;
    if (pages_.empty()) return std::nullopt;
    const bool list = kind == model::ContextKind::translation;
    const std::uint64_t number = list ? owner * kListApart + index : owner;
    const std::uint64_t offset = number * bytes;
    const std::uint64_t page =
        static_cast<std::uint64_t>(kind) * kKindApart + offset / kFirmwarePageBytes;
    return model::HostAddress{pages_[page % pages_.size()] + offset % kFirmwarePageBytes};
}

void PageSupply::set_use(std::uint32_t working_pages, model::Bytes contexts) {
    working_ = working_pages;
    contexts_ = contexts;
}

std::int32_t PageSupply::wanted() const {
    if (request_open_ || held() == 0) return 0;
    const std::uint32_t middle = (parameters_.low_water + parameters_.high_water) / 2;
    if (free() < parameters_.low_water) return static_cast<std::int32_t>(middle - free());
    if (free() > parameters_.high_water) return -static_cast<std::int32_t>(free() - middle);
    return 0;
}

void PageSupply::reset() {
    pages_.clear();
    known_.clear();
    working_ = 0;
    contexts_ = {};
    request_open_ = false;
}

}  // namespace cxsim::firmware_stub
