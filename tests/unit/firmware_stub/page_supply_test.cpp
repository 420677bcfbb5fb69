// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/boot/page_supply.h"

#include <catch2/catch_test_macros.hpp>

#include <numeric>

using namespace cxsim;
using firmware_stub::PageSupply;
using GiveError = PageSupply::GiveError;

namespace {

std::vector<std::uint64_t> addresses(std::uint64_t first, std::size_t count) {
    std::vector<std::uint64_t> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = (first + i) * 4096;
    return all;
}

}  // namespace

TEST_CASE("pages are given all or none", "[pages]") {
    PageSupply supply({4, 4, 2, 16});
    CHECK(supply.give(addresses(1, 8)) == GiveError::none);
    CHECK(supply.held() == 8);
    CHECK(supply.give(std::array<std::uint64_t, 2>{0x100000, 0x100800}) == GiveError::not_aligned);
    CHECK(supply.give(std::array<std::uint64_t, 2>{0x100000, 0x100000}) == GiveError::given_twice);
    CHECK(supply.give(std::array<std::uint64_t, 2>{0x200000, 0x3000}) == GiveError::given_twice);
    CHECK(supply.held() == 8);
    CHECK(supply.give({}) == GiveError::none);
    CHECK(supply.give(std::array<std::uint64_t, 2>{0x100000, 0x200000}) == GiveError::none);
    CHECK(supply.held() == 10);
}

TEST_CASE("the latest pages come back first, those in use do not", "[pages]") {
    PageSupply supply({4, 4, 2, 16});
    REQUIRE(supply.give(addresses(1, 8)) == GiveError::none);
    supply.set_use(4, {4096 + 1});  // two pages of contexts
    CHECK(supply.used() == 6);
    CHECK(supply.free() == 2);
    CHECK(supply.take(10) == std::vector<std::uint64_t>{7 * 4096, 8 * 4096});
    CHECK(supply.take(1).empty());
    CHECK(supply.held() == 6);
    supply.set_use(0, {0});
    CHECK(supply.take(3) == std::vector<std::uint64_t>{4 * 4096, 5 * 4096, 6 * 4096});
    CHECK(supply.give(addresses(4, 1)) == GiveError::none);  // returned pages may come again
    supply.reset();
    CHECK(supply.held() == 0);
    CHECK(supply.give(addresses(1, 3)) == GiveError::none);
}

TEST_CASE("requests keep the free pages between the water marks", "[pages]") {
    PageSupply supply({4, 4, 4, 12});
    CHECK(supply.wanted() == 0);  // before anything was given the driver asks by itself
    REQUIRE(supply.give(addresses(1, 16)) == GiveError::none);
    supply.set_use(4, {0});
    CHECK(supply.free() == 12);
    CHECK(supply.wanted() == 0);  // at the mark
    supply.set_use(3, {0});
    CHECK(supply.wanted() == -5);  // 13 free, back to the middle
    supply.set_use(12, {0});
    CHECK(supply.wanted() == 0);
    supply.set_use(13, {0});
    CHECK(supply.wanted() == 5);
    SECTION("one request at a time") {
        supply.asked();
        CHECK(supply.wanted() == 0);
        supply.answered();
        CHECK(supply.wanted() == 5);
    }
    SECTION("pages answer a request") {
        supply.asked();
        REQUIRE(supply.give(addresses(100, 1)) == GiveError::none);
        CHECK(supply.wanted() == 0);  // four free
        supply.set_use(15, {0});
        CHECK(supply.wanted() == 6);
    }
    SECTION("taking answers an offer") {
        supply.set_use(0, {0});
        CHECK(supply.wanted() == -8);
        supply.asked();
        CHECK(supply.take(2).size() == 2);
        CHECK(supply.wanted() == -6);
    }
    SECTION("more in use than there are pages") {
        supply.set_use(40, {0});
        CHECK(supply.free() == 0);
        CHECK(supply.wanted() == 8);
        CHECK(supply.take(1).empty());
    }
}
