// SPDX-License-Identifier: Apache-2.0
// A queue buffer in the host's memory: a list of pages that the driver handed over with the
// queue's context (the PRM's "pas"), addressed by byte offset into the queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/ports/host_bus.h"

namespace cxsim::model {

class HostRing {
  public:
    HostRing() = default;

    /// `log_page_size` is relative to 4 KiB as in the contexts; `page_offset` is the byte at which
    /// the queue starts inside the first page.
    HostRing(std::vector<std::uint64_t> pages, unsigned log_page_size, std::uint64_t page_offset)
        : pages_(std::move(pages)), shift_(12 + log_page_size), page_offset_(page_offset) {}

    /// How many pages a queue of `bytes` needs that starts `page_offset` bytes into the first.
    static std::uint64_t pages_needed(std::uint64_t bytes, unsigned log_page_size,
                                      std::uint64_t page_offset) {
        const unsigned shift = 12 + log_page_size;
        return (bytes + page_offset + (std::uint64_t{1} << shift) - 1) >> shift;
    }

    /// Reads big-endian page addresses as they stand in a command's tail.
    static std::vector<std::uint64_t> parse_pages(std::span<const std::byte> tail,
                                                  std::uint64_t count);

    /// Address of byte `offset` of the queue, and how many bytes follow contiguously.
    /// `offset` must lie inside the pages given.
    HostAddress address(std::uint64_t offset) const {
        const std::uint64_t at = offset + page_offset_;
        return {pages_[at >> shift_] + (at & mask())};
    }
    std::uint64_t contiguous(std::uint64_t offset) const {
        return (std::uint64_t{1} << shift_) - ((offset + page_offset_) & mask());
    }
    std::uint64_t capacity() const { return (pages_.size() << shift_) - page_offset_; }
    const std::vector<std::uint64_t>& pages() const { return pages_; }

  private:
    std::uint64_t mask() const { return (std::uint64_t{1} << shift_) - 1; }

    std::vector<std::uint64_t> pages_;
    unsigned shift_ = 12;
    std::uint64_t page_offset_ = 0;
};

}  // namespace cxsim::model
