// SPDX-License-Identifier: Apache-2.0
// Host memory that the driver has handed out: firmware pages and queue buffers.
#pragma once

#include "pcie/host/sparse_memory.h"

#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace cxsim::scenarios {

class PagePool {
  public:
    static constexpr std::uint64_t kPageBytes = 4096;

    explicit PagePool(pcie::SparseMemory& memory) : memory_(memory) {}
    ~PagePool() { release_all(); }
    PagePool(const PagePool&) = delete;
    PagePool& operator=(const PagePool&) = delete;

    /// Pages for the firmware.
    std::vector<std::uint64_t> take(std::uint32_t count);
    /// They came back, or were never accepted. False if one of them was not the firmware's.
    bool give_back(std::span<const std::uint64_t> pages);
    /// Pages that the firmware holds.
    std::size_t held() const { return firmware_.size(); }

    /// A buffer of whole pages, zeroed.
    model::HostAddress allocate_buffer(std::uint64_t bytes, std::uint64_t alignment = kPageBytes);
    void free_buffer(model::HostAddress address);
    std::size_t buffers() const { return buffers_.size(); }

    /// Everything back: the device was reset or is gone.
    void release_all();

  private:
    pcie::SparseMemory& memory_;
    std::set<std::uint64_t> firmware_;
    std::set<std::uint64_t> buffers_;
};

}  // namespace cxsim::scenarios
