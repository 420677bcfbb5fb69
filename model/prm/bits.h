// SPDX-License-Identifier: Apache-2.0
// Bit fields as the PRM counts them: bit 0 is the most significant bit of byte 0.
#pragma once

#include "model/base/assert.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cxsim::prm {

/// Largest value of a field of `width` bits (1..64).
constexpr std::uint64_t field_mask(std::uint32_t width) {
    return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

namespace detail {

/// Unchecked: `data` must hold the bits [offset, offset + width), width 1..64.
constexpr std::uint64_t load_bits(const std::byte* data, std::size_t offset, std::uint32_t width) {
    std::size_t index = offset / 8;
    const auto skip = static_cast<std::uint32_t>(offset % 8);
    std::uint64_t value = std::to_integer<std::uint64_t>(data[index]) & (0xffu >> skip);
    std::uint32_t have = 8 - skip;
    while (have < width) {
        const auto next = std::to_integer<std::uint64_t>(data[++index]);
        const std::uint32_t take = width - have < 8 ? width - have : 8;
        value = value << take | next >> (8 - take);
        have += take;
    }
    return have > width ? value >> (have - width) : value;
}

/// Unchecked, as load_bits; bits of `value` above `width` are ignored.
constexpr void store_bits(std::byte* data, std::size_t offset, std::uint32_t width,
                          std::uint64_t value) {
    std::size_t end = offset + width;
    while (width > 0) {
        const std::size_t index = (end - 1) / 8;
        const auto low = static_cast<std::uint32_t>((index + 1) * 8 - end);
        const std::uint32_t take = width < 8 - low ? width : 8 - low;
        const auto mask = static_cast<std::uint32_t>(field_mask(take) << low);
        const auto old = std::to_integer<std::uint32_t>(data[index]);
        data[index] = static_cast<std::byte>((old & ~mask) |
                                             (static_cast<std::uint32_t>(value << low) & mask));
        value = take < 64 ? value >> take : 0;
        width -= take;
        end -= take;
    }
}

/// Our bug, out of line so that a check costs one compare in the caller.
[[noreturn, gnu::cold, gnu::noinline]] inline void access_failed(const char* what,
                                                                 std::uint64_t have,
                                                                 std::uint64_t limit) {
    model::assertion_failed(
        "prm access", __FILE__, __LINE__,
        std::string(what) + ": " + std::to_string(have) + ", limit " + std::to_string(limit));
}

}  // namespace detail

/// Value of a field of 1..64 bits at bit `offset`; asserts that it lies inside `data`.
inline std::uint64_t get_bits(std::span<const std::byte> data, std::size_t offset,
                              std::uint32_t width) {
    if (width - 1u > 63u) detail::access_failed("field width", width, 64);
    if (offset + width > data.size() * 8) {
        detail::access_failed("end of field in bits", offset + width, data.size() * 8);
    }
    return detail::load_bits(data.data(), offset, width);
}

/// Writes a field; asserts that it lies inside `data` and that `value` fits.
inline void set_bits(std::span<std::byte> data, std::size_t offset, std::uint32_t width,
                     std::uint64_t value) {
    if (width - 1u > 63u) detail::access_failed("field width", width, 64);
    if (offset + width > data.size() * 8) {
        detail::access_failed("end of field in bits", offset + width, data.size() * 8);
    }
    if (value > field_mask(width)) {
        detail::access_failed("value of field", value, field_mask(width));
    }
    detail::store_bits(data.data(), offset, width, value);
}

}  // namespace cxsim::prm
