// SPDX-License-Identifier: Apache-2.0
// The internet checksum: ones' complement sums of big-endian 16-bit words (RFC 1071, 1624).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cxsim::eth {

/// Sum of the words of `bytes` plus `start`, folded to 16 bits, not inverted. An odd last byte is
/// the high half of a word. Sums over adjacent pieces add up (add_sums) when the first has even
/// length; see add_sums_at otherwise.
std::uint16_t internet_sum(std::span<const std::byte> bytes, std::uint16_t start = 0);

constexpr std::uint16_t add_sums(std::uint16_t a, std::uint16_t b) {
    const std::uint32_t sum = std::uint32_t{a} + b;
    return static_cast<std::uint16_t>((sum & 0xffff) + (sum >> 16));
}

constexpr std::uint16_t subtract_sums(std::uint16_t from, std::uint16_t what) {
    return add_sums(from, static_cast<std::uint16_t>(~what));
}

/// `sum` plus the sum of a piece that begins `offset` bytes behind the sum's first byte.
constexpr std::uint16_t add_sums_at(std::uint16_t sum, std::uint16_t piece, std::size_t offset) {
    const auto turned = static_cast<std::uint16_t>(piece << 8 | piece >> 8);
    return add_sums(sum, offset % 2 == 0 ? piece : turned);
}

constexpr std::uint16_t sum_of_word(std::uint32_t value) {
    return add_sums(static_cast<std::uint16_t>(value >> 16), static_cast<std::uint16_t>(value));
}

/// The inverted sum as it stands in a header whose checksum field counts as zero.
inline std::uint16_t internet_checksum(std::span<const std::byte> bytes, std::uint16_t start = 0) {
    return static_cast<std::uint16_t>(~internet_sum(bytes, start));
}

/// A header's checksum after words with the sum `before` became words with the sum `after`
/// (RFC 1624, equation 3).
constexpr std::uint16_t update_checksum(std::uint16_t checksum, std::uint16_t before,
                                        std::uint16_t after) {
    const std::uint16_t sum =
        add_sums(static_cast<std::uint16_t>(~checksum), static_cast<std::uint16_t>(~before));
    return static_cast<std::uint16_t>(~add_sums(sum, after));
}

/// Pseudo-headers of TCP, UDP and ICMPv6. `bytes`: length of the upper layer.
std::uint16_t pseudo_sum_v4(std::uint32_t source, std::uint32_t destination, std::uint8_t protocol,
                            std::uint32_t bytes);
/// `addresses`: source and destination, 32 bytes.
std::uint16_t pseudo_sum_v6(std::span<const std::byte, 32> addresses, std::uint8_t protocol,
                            std::uint32_t bytes);

}  // namespace cxsim::eth
