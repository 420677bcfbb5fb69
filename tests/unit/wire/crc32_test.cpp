// SPDX-License-Identifier: Apache-2.0
#include "eth/wire/crc32.h"

#include "tests/unit/offloads/frames.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::eth {
namespace {

using namespace cxsim::test;

/// The polynomial of 802.3, bit by bit.
std::uint32_t naive_crc(View bytes) {
    std::uint32_t crc = ~0U;
    for (const std::byte byte : bytes) {
        crc ^= std::to_integer<std::uint32_t>(byte);
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0U);
    }
    return ~crc;
}

TEST_CASE("the check value of CRC-32 comes out", "[crc]") {
    CHECK(crc32(text("123456789")) == 0xcbf43926);
    CHECK(crc32({}) == 0);
}

TEST_CASE("the CRC equals the polynomial's division and goes on where it stopped", "[crc]") {
    std::mt19937 random(1);
    for (std::size_t bytes = 1; bytes < 200; bytes += 7) {
        const Bytes data = random_bytes(random, bytes);
        CHECK(crc32(data) == naive_crc(data));
        const std::size_t cut = random() % (bytes + 1);
        CHECK(crc32(View(data).subspan(cut), crc32(View(data).first(cut))) == naive_crc(data));
    }
}

TEST_CASE("a frame with its check sequence leaves the residue of 802.3", "[crc]") {
    std::mt19937 random(2);
    Bytes frame = random_bytes(random, 60);
    const auto fcs = frame_check_sequence(frame);
    frame.insert(frame.end(), fcs.begin(), fcs.end());
    CHECK(crc32(frame) == 0x2144df1c);
    frame[17] ^= std::byte{0x10};
    CHECK(crc32(frame) != 0x2144df1c);
}

}  // namespace
}  // namespace cxsim::eth
