// SPDX-License-Identifier: Apache-2.0
#include "model/memory/host_ring.h"

#include "model/base/assert.h"
#include "model/base/endian.h"

namespace cxsim::model {

std::vector<std::uint64_t> HostRing::parse_pages(std::span<const std::byte> tail,
                                                 std::uint64_t count) {
    CX_ASSERT(tail.size() / 8 >= count, "{} page addresses in {} bytes", count, tail.size());
    std::vector<std::uint64_t> pages(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        // The low bits of a page address carry flags (read and write enable) in some contexts.
        pages[i] = load_be<std::uint64_t>(tail.data() + i * 8) & ~std::uint64_t{0xfff};
    }
    return pages;
}

}  // namespace cxsim::model
