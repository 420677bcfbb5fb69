// SPDX-License-Identifier: Apache-2.0
#include "eth/wire/checksum.h"

#include "tests/unit/offloads/frames.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::eth {
namespace {

using namespace cxsim::test;

TEST_CASE("the sum is that of RFC 1071's example", "[checksum]") {
    const Bytes data = bytes_of({0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7});
    CHECK(internet_sum(data) == 0xddf2);
    CHECK(internet_checksum(data) == 0x220d);
}

TEST_CASE("a well-known IPv4 header has its well-known checksum", "[checksum]") {
    const Bytes header = bytes_of({0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
                                   0x00, 0x00, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7});
    CHECK(internet_checksum(header) == 0xb861);
}

TEST_CASE("the sum equals the definition for every length and alignment", "[checksum]") {
    std::mt19937 random(1);
    const Bytes data = random_bytes(random, 300);
    for (std::size_t from = 0; from < 9; ++from) {
        for (std::size_t bytes = 0; from + bytes <= data.size(); ++bytes) {
            const View part = View(data).subspan(from, bytes);
            // 0 and 0xffff are the same sum; a sum over anything but zeros is never 0.
            REQUIRE(internet_sum(part) == naive_sum(part));
            REQUIRE(internet_sum(part, 0xfff0) == naive_sum(part, 0xfff0));
        }
    }
    CHECK(internet_sum(Bytes(64, std::byte{0xff})) == 0xffff);
    CHECK(internet_sum(Bytes(64)) == 0);
    CHECK(internet_sum({}) == 0);
    const Bytes large = random_bytes(random, 1 << 20);
    CHECK(internet_sum(large) == naive_sum(large));
}

TEST_CASE("sums of pieces add up wherever the pieces are cut", "[checksum]") {
    std::mt19937 random(2);
    const Bytes data = random_bytes(random, 101);
    for (std::size_t cut = 0; cut <= data.size(); ++cut) {
        const std::uint16_t first = internet_sum(View(data).first(cut));
        const std::uint16_t second = internet_sum(View(data).subspan(cut));
        CHECK(add_sums_at(first, second, cut) == internet_sum(data));
    }
}

TEST_CASE("an updated checksum is the one computed anew", "[checksum]") {
    std::mt19937 random(3);
    for (int i = 0; i < 20'000; ++i) {
        Bytes data = random_bytes(random, 20);
        const std::uint16_t old = internet_checksum(data);
        const std::size_t place = random() % 10 * 2;
        const std::uint16_t before = internet_sum(View(data).subspan(place, 2));
        put(data, place, i % 7 == 0 ? 0xffff : random() & 0xffff, 2);
        const std::uint16_t after = internet_sum(View(data).subspan(place, 2));
        REQUIRE(update_checksum(old, before, after) == internet_checksum(data));
    }
    // RFC 1624, section 4: the case that equation 2 gets wrong.
    CHECK(update_checksum(0xdd2f, 0x5555, 0x3285) == 0x0000);
}

TEST_CASE("pseudo-headers are summed as their fields", "[checksum]") {
    const Bytes v4 = big(0xc0a80001, 4) + big(0x0a0000fe, 4) + big(17, 2) + big(40'000, 2);
    CHECK(pseudo_sum_v4(0xc0a80001, 0x0a0000fe, 17, 40'000) == naive_sum(v4));
    std::mt19937 random(4);
    const Bytes addresses = random_bytes(random, 32);
    const Bytes v6 = addresses + big(70'000, 4) + big(6, 4);
    CHECK(pseudo_sum_v6(std::span<const std::byte, 32>(addresses.data(), 32), 6, 70'000) ==
          naive_sum(v6));
}

}  // namespace
}  // namespace cxsim::eth
