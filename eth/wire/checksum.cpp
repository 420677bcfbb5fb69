// SPDX-License-Identifier: Apache-2.0
#include "eth/wire/checksum.h"

#include "model/base/endian.h"

#include <cstring>

namespace cxsim::eth {

// RFC 1071, 2 (B): the sum does not depend on the byte order, so that words of the machine's order
// are added, eight bytes at a time, and the result is swapped once.
std::uint16_t internet_sum(std::span<const std::byte> bytes, std::uint16_t start) {
    const std::byte* at = bytes.data();
    std::size_t left = bytes.size();
    // Halves of 32 bits in sums of 64: no carry is lost below 2^32 words of input.
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    for (; left >= 32; left -= 32, at += 32) {
        std::uint64_t words[4];
        std::memcpy(words, at, sizeof words);
        low += (words[0] & 0xffff'ffff) + (words[1] & 0xffff'ffff) + (words[2] & 0xffff'ffff) +
               (words[3] & 0xffff'ffff);
        high += (words[0] >> 32) + (words[1] >> 32) + (words[2] >> 32) + (words[3] >> 32);
    }
    for (; left >= 4; left -= 4, at += 4) low += model::load_le<std::uint32_t>(at);
    if (left >= 2) {
        low += model::load_le<std::uint16_t>(at);
        left -= 2;
        at += 2;
    }
    if (left != 0) low += std::to_integer<std::uint64_t>(*at);
    std::uint64_t sum = low + high;
    sum = (sum & 0xffff'ffff) + (sum >> 32);
    sum = (sum & 0xffff'ffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return add_sums(model::byte_swap(static_cast<std::uint16_t>(sum)), start);
}

std::uint16_t pseudo_sum_v4(std::uint32_t source, std::uint32_t destination, std::uint8_t protocol,
                            std::uint32_t bytes) {
    return add_sums(add_sums(sum_of_word(source), sum_of_word(destination)),
                    add_sums(sum_of_word(bytes), protocol));
}

std::uint16_t pseudo_sum_v6(std::span<const std::byte, 32> addresses, std::uint8_t protocol,
                            std::uint32_t bytes) {
    return internet_sum(addresses, add_sums(sum_of_word(bytes), protocol));
}

}  // namespace cxsim::eth
