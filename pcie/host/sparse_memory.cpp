// SPDX-License-Identifier: Apache-2.0
#include "pcie/host/sparse_memory.h"

#include "model/base/assert.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace cxsim::pcie {

using model::DmaStatus;
using model::FunctionId;
using model::HostAddress;

SparseMemory::SparseMemory(HostAddress base, model::Bytes size)
    : base_(base.value), size_(size.value) {
    CX_ASSERT(size_ > 0 && base_ + size_ - 1 >= base_, "memory of {} bytes at {:#x}", size_, base_);
    free_.push_back({base_, size_});
}

bool SparseMemory::contains(std::uint64_t address, std::uint64_t bytes) const {
    return address >= base_ && address - base_ < size_ && bytes <= size_ - (address - base_);
}

const std::byte* SparseMemory::existing_page(std::uint64_t address) const {
    const auto found = pages_.find(address / kPageBytes);
    return found == pages_.end() ? nullptr : found->second.get();
}

std::byte* SparseMemory::page_of(std::uint64_t address) {
    Page& page = pages_[address / kPageBytes];
    if (!page) {
        const auto block = std::make_shared<std::byte[]>(kPageBytes);
        page = Page(block, block.get());
    }
    return page.get();
}

DmaStatus SparseMemory::read(FunctionId, HostAddress address, std::span<std::byte> into) {
    if (!contains(address.value, into.size())) return DmaStatus::unsupported_request;
    for (std::size_t done = 0; done < into.size();) {
        const std::uint64_t at = address.value + done;
        const std::size_t offset = at % kPageBytes;
        const std::size_t part = std::min<std::size_t>(into.size() - done, kPageBytes - offset);
        // What was never written reads as zeroes and needs no page.
        if (const std::byte* page = existing_page(at)) {
            std::memcpy(into.data() + done, page + offset, part);
        } else {
            std::memset(into.data() + done, 0, part);
        }
        done += part;
    }
    return DmaStatus::ok;
}

DmaStatus SparseMemory::write(FunctionId, HostAddress address, std::span<const std::byte> from) {
    if (!contains(address.value, from.size())) return DmaStatus::unsupported_request;
    for (std::size_t done = 0; done < from.size();) {
        const std::uint64_t at = address.value + done;
        const std::size_t offset = at % kPageBytes;
        const std::size_t part = std::min<std::size_t>(from.size() - done, kPageBytes - offset);
        std::memcpy(page_of(at) + offset, from.data() + done, part);
        done += part;
    }
    return DmaStatus::ok;
}

void SparseMemory::load(HostAddress address, std::span<std::byte> into) {
    const DmaStatus status = read({}, address, into);
    CX_ASSERT(status == DmaStatus::ok, "load at {:#x}", address.value);
}

void SparseMemory::store(HostAddress address, std::span<const std::byte> from) {
    const DmaStatus status = write({}, address, from);
    CX_ASSERT(status == DmaStatus::ok, "store at {:#x}", address.value);
}

std::span<std::byte> SparseMemory::window(HostAddress address, std::size_t bytes) {
    const std::size_t offset = address.value % kPageBytes;
    CX_ASSERT(contains(address.value, bytes) && offset + bytes <= kPageBytes,
              "window of {} bytes at {:#x}", bytes, address.value);
    return {page_of(address.value) + offset, bytes};
}

std::span<std::byte> SparseMemory::contiguous(HostAddress address, std::size_t bytes) {
    CX_ASSERT(bytes > 0 && contains(address.value, bytes) && address.value % kPageBytes == 0,
              "{} contiguous bytes at {:#x}", bytes, address.value);
    const std::uint64_t first = address.value / kPageBytes;
    const std::uint64_t count = (bytes + kPageBytes - 1) / kPageBytes;
    const std::byte* start = existing_page(address.value);
    bool together = start != nullptr;
    for (std::uint64_t i = 1; together && i < count; ++i) {
        together = existing_page((first + i) * kPageBytes) == start + i * kPageBytes;
    }
    if (!together) {
        const auto whole = std::make_shared<std::byte[]>(count * kPageBytes);
        for (std::uint64_t i = 0; i < count; ++i) {
            Page& page = pages_[first + i];
            std::byte* place = whole.get() + i * kPageBytes;
            if (page) std::memcpy(place, page.get(), kPageBytes);
            page = Page(whole, place);
        }
    }
    return {page_of(address.value), bytes};
}

std::shared_ptr<std::byte> SparseMemory::block(HostAddress address) {
    CX_ASSERT(contains(address.value, 1), "block at {:#x}", address.value);
    page_of(address.value);
    return pages_[address.value / kPageBytes];
}

HostAddress SparseMemory::allocate(std::uint64_t bytes, std::uint64_t alignment) {
    CX_ASSERT(bytes > 0 && std::has_single_bit(alignment), "{} bytes, alignment {}", bytes,
              alignment);
    for (std::size_t i = 0; i < free_.size(); ++i) {
        const Block block = free_[i];
        const std::uint64_t start = (block.start + alignment - 1) & ~(alignment - 1);
        const std::uint64_t lost = start - block.start;
        if (start < block.start || lost > block.bytes || block.bytes - lost < bytes) continue;
        const std::uint64_t behind = block.bytes - lost - bytes;
        free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
        if (lost > 0) add_free({block.start, lost});
        if (behind > 0) add_free({start + bytes, behind});
        allocated_.emplace(start, bytes);
        allocated_bytes_ += bytes;
        for (std::uint64_t at = start; at < start + bytes;) {
            const std::uint64_t offset = at % kPageBytes;
            const std::uint64_t part = std::min(start + bytes - at, kPageBytes - offset);
            if (existing_page(at) != nullptr) std::memset(page_of(at) + offset, 0, part);
            at += part;
        }
        return {start};
    }
    throw std::bad_alloc();
}

void SparseMemory::free(HostAddress address) {
    const auto found = allocated_.find(address.value);
    CX_ASSERT(found != allocated_.end(), "{:#x} was not allocated", address.value);
    allocated_bytes_ -= found->second;
    add_free({found->first, found->second});
    allocated_.erase(found);
}

void SparseMemory::add_free(Block block) {
    auto next =
        std::lower_bound(free_.begin(), free_.end(), block.start,
                         [](const Block& b, std::uint64_t start) { return b.start < start; });
    if (next != free_.end() && block.start + block.bytes == next->start) {
        block.bytes += next->bytes;
        next = free_.erase(next);
    }
    if (next != free_.begin()) {
        Block& before = *(next - 1);
        if (before.start + before.bytes == block.start) {
            before.bytes += block.bytes;
            return;
        }
    }
    free_.insert(next, block);
}

}  // namespace cxsim::pcie
