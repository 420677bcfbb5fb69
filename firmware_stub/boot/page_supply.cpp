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
