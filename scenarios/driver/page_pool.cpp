// SPDX-License-Identifier: Apache-2.0
#include "scenarios/driver/page_pool.h"

#include <algorithm>

namespace cxsim::scenarios {

using model::HostAddress;

std::vector<std::uint64_t> PagePool::take(std::uint32_t count) {
    std::vector<std::uint64_t> pages;
    pages.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        pages.push_back(memory_.allocate(kPageBytes, kPageBytes).value);
        firmware_.insert(pages.back());
    }
    return pages;
}

bool PagePool::give_back(std::span<const std::uint64_t> pages) {
    bool all_known = true;
    for (const std::uint64_t page : pages) {
        if (firmware_.erase(page) == 0) {
            all_known = false;
        } else {
            memory_.free(HostAddress{page});
        }
    }
    return all_known;
}

HostAddress PagePool::allocate_buffer(std::uint64_t bytes, std::uint64_t alignment) {
    const std::uint64_t size = std::max<std::uint64_t>(1, (bytes + kPageBytes - 1) / kPageBytes);
    const HostAddress address = memory_.allocate(size * kPageBytes, alignment);
    buffers_.insert(address.value);
    return address;
}

void PagePool::free_buffer(HostAddress address) {
    if (buffers_.erase(address.value) != 0) memory_.free(address);
}

void PagePool::release_all() {
    for (const std::uint64_t page : firmware_) memory_.free(HostAddress{page});
    for (const std::uint64_t buffer : buffers_) memory_.free(HostAddress{buffer});
    firmware_.clear();
    buffers_.clear();
}

}  // namespace cxsim::scenarios
