// SPDX-License-Identifier: Apache-2.0
// The same layouts at run time, for traces, capability files, Python and the fuzzers.
#pragma once

#include "model/prm/bits.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cxsim::prm {

struct LayoutInfo;

/// One member. Offsets are bits from the start of its layout.
struct FieldInfo {
    std::string_view name;
    std::uint32_t bit_offset;
    std::uint32_t bit_width;   ///< of one element
    const LayoutInfo* nested;  ///< null for plain bits
    std::uint32_t count;       ///< 1 for a plain member, 0 for a variable tail
    bool reserved;
    bool array;
    bool open;  ///< reaches to the end of the buffer: a variable tail, or a layout that ends in one
};

/// A structure or union; members of unnamed unions and structures are its own.
struct LayoutInfo {
    std::string_view name;
    std::uint32_t bits;  ///< without variable tail
    std::span<const FieldInfo> fields;
    bool is_union;
    bool has_tail;

    constexpr std::uint32_t bytes() const { return (bits + 7) / 8; }
    /// Null if there is no such member.
    const FieldInfo* find(std::string_view field) const;
};

/// Sorted by name.
std::span<const LayoutInfo> all_layouts();

/// By name as in the header without "mlx5_ifc_" and "_bits"; null if unknown.
const LayoutInfo* find_layout(std::string_view name);

/// The run-time description of a generated layout.
template <class L>
const LayoutInfo& layout_info() {
    return all_layouts()[L::kIndex];
}

/// Where a path such as "cq_context.log_cq_size" or "pas[3]" leads.
struct Location {
    std::uint32_t bit_offset;  ///< absolute
    std::uint32_t bit_width;   ///< of the member, all elements of a fixed array together
    const FieldInfo* field;    ///< the last member
};

/// Empty if a name is unknown, an index is out of range, or a plain member has members asked for.
std::optional<Location> find_path(const LayoutInfo& layout, std::string_view path);

/// Paths of reserved members with a bit set, at most `limit`. Bits that another member of the same
/// union defines do not count; neither do bits beyond the layout or beyond `data`.
std::vector<std::string> reserved_bits_set(const LayoutInfo& layout,
                                           std::span<const std::byte> data, std::size_t limit = 8);

}  // namespace cxsim::prm
