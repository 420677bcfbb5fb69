// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/boot/page_supply.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <numeric>
#include <set>

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

TEST_CASE("contexts lie in the pages that are held, whole and apart", "[pages]") {
    using cxsim::model::ContextKind;
    PageSupply supply({4, 8, 4, 8});
    CHECK_FALSE(supply.context_address(ContextKind::qp, 0x40, 0, 512));
    const std::vector<std::uint64_t> pages = addresses(100, 16);
    REQUIRE(supply.give(pages) == GiveError::none);
    std::set<std::uint64_t> seen;
    for (std::uint32_t number = 0x40; number < 0x50; ++number) {
        const auto address = supply.context_address(ContextKind::qp, number, 0, 512);
        REQUIRE(address);
        CHECK(seen.insert(address->value).second);
        CHECK(address->value % 512 == 0);
        CHECK(std::ranges::find(pages, address->value / 4096 * 4096) != pages.end());
    }
    // Neighbours of a list share pages, lists of two keys begin in different places.
    const auto first = supply.context_address(ContextKind::translation, 20, 0, 8);
    const auto second = supply.context_address(ContextKind::translation, 20, 1, 8);
    const auto other = supply.context_address(ContextKind::translation, 21, 0, 8);
    CHECK(second->value == first->value + 8);
    CHECK(other->value != first->value);
    // What goes back to the host is not used any more.
    supply.take(15);
    for (std::uint32_t number = 0; number < 64; ++number) {
        CHECK(supply.context_address(ContextKind::cq, number, 0, 64)->value / 4096 ==
              pages[0] / 4096);
    }
}
