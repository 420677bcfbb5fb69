// SPDX-License-Identifier: Apache-2.0
// Host memory that exists where it is touched, with the allocator of an in-process driver.
#pragma once

#include "pcie/host/host_memory.h"

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace cxsim::pcie {

class SparseMemory : public HostMemory {
  public:
    static constexpr std::uint64_t kPageBytes = 64 * 1024;

    /// Memory at [base, base + size). Addresses outside answer unsupported_request.
    SparseMemory(model::HostAddress base, model::Bytes size);

    model::DmaStatus read(model::FunctionId function, model::HostAddress address,
                          std::span<std::byte> into) override;
    model::DmaStatus write(model::FunctionId function, model::HostAddress address,
                           std::span<const std::byte> from) override;

    /// Takes `bytes` (above 0) of memory nobody has, zeroed, aligned to `alignment` (a power of
    /// two). Throws std::bad_alloc when the memory is used up. Freed blocks are reused.
    model::HostAddress allocate(std::uint64_t bytes, std::uint64_t alignment = 64);
    /// Gives back what allocate() returned for this address.
    void free(model::HostAddress address);
    std::uint64_t allocated_bytes() const { return allocated_bytes_; }

    /// Access of the program that plays the CPU. The range must lie inside the memory.
    void load(model::HostAddress address, std::span<std::byte> into);
    void store(model::HostAddress address, std::span<const std::byte> from);
    /// The same memory for direct use, as long as it is allocated. The range must lie inside one
    /// block of kPageBytes.
    std::span<std::byte> window(model::HostAddress address, std::size_t bytes);
    /// The same for a range over several blocks, which are brought together for it. `address` is
    /// aligned to kPageBytes, and whoever allocated the range has its last block to himself:
    /// earlier windows into these blocks are no longer the memory.
    std::span<std::byte> contiguous(model::HostAddress address, std::size_t bytes);

    /// The block at `address`; who holds it may use a window into it beyond its allocation.
    std::shared_ptr<std::byte> block(model::HostAddress address);

    /// Pages that exist so far.
    std::size_t pages() const { return pages_.size(); }

  private:
    using Page = std::shared_ptr<std::byte>;  ///< a block of its own or part of a larger one
    struct Block {
        std::uint64_t start;
        std::uint64_t bytes;
    };
    bool contains(std::uint64_t address, std::uint64_t bytes) const;
    std::byte* page_of(std::uint64_t address);
    const std::byte* existing_page(std::uint64_t address) const;
    void add_free(Block block);

    std::uint64_t base_;
    std::uint64_t size_;
    std::unordered_map<std::uint64_t, Page> pages_;
    std::vector<Block> free_;  // ascending, no two adjacent
    std::unordered_map<std::uint64_t, std::uint64_t> allocated_;
    std::uint64_t allocated_bytes_ = 0;
};

}  // namespace cxsim::pcie
