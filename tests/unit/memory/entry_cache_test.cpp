// SPDX-License-Identifier: Apache-2.0
#include "model/memory/entry_cache.h"

#include "model/base/random.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <list>
#include <vector>

using namespace cxsim::model;

namespace {

bool insert(EntryCache& cache, EntryCache::Key key, std::int64_t ready = 0) {
    return cache.insert(key, Picoseconds{ready});
}

}  // namespace

TEST_CASE("an entry is found with the time at which it arrives", "[memory][entry_cache]") {
    EntryCache cache(2);
    CHECK(cache.find(7) == nullptr);
    CHECK_FALSE(insert(cache, 7, 123));
    REQUIRE(cache.find(7) != nullptr);
    CHECK(cache.find(7)->value == 123);
    CHECK(cache.find(8) == nullptr);
    CHECK(cache.size() == 1);
}

TEST_CASE("the entry that was used least recently makes room", "[memory][entry_cache]") {
    EntryCache cache(3);
    for (const EntryCache::Key key : {1, 2, 3}) CHECK_FALSE(insert(cache, key));
    REQUIRE(cache.find(1) != nullptr);  // 2 is the oldest now
    CHECK(insert(cache, 4));
    CHECK(cache.find(2) == nullptr);
    CHECK(cache.find(3) != nullptr);
    CHECK(cache.find(1) != nullptr);
    CHECK(cache.find(4) != nullptr);
    CHECK(insert(cache, 5));
    CHECK(cache.find(3) == nullptr);
    CHECK(cache.size() == 3);
}

TEST_CASE("round robin over one entry too many never finds one", "[memory][entry_cache]") {
    for (const std::uint32_t capacity : {1U, 2U, 64U}) {
        EntryCache cache(capacity);
        unsigned found = 0;
        for (std::uint32_t i = 0; i < 10 * capacity; ++i) {
            const EntryCache::Key key = i % (capacity + 1);
            if (cache.find(key) != nullptr) {
                ++found;
            } else {
                insert(cache, key);
            }
        }
        CHECK(found == 0);
        CHECK(cache.size() == capacity);
    }
}

TEST_CASE("what was removed is gone and leaves its place", "[memory][entry_cache]") {
    EntryCache cache(2);
    insert(cache, 1);
    insert(cache, 2);
    CHECK(cache.remove(1));
    CHECK_FALSE(cache.remove(1));
    CHECK(cache.find(1) == nullptr);
    CHECK_FALSE(insert(cache, 3));
    CHECK(cache.find(2) != nullptr);
    CHECK(cache.remove(2));
    CHECK(cache.remove(3));
    CHECK(cache.size() == 0);
    CHECK_FALSE(insert(cache, 4));
    CHECK(cache.find(4) != nullptr);
}

TEST_CASE("all entries of an owner are removed at once, those of others stay",
          "[memory][entry_cache]") {
    EntryCache cache(64);
    for (std::uint32_t index = 0; index < 20; ++index) {
        for (const std::uint32_t owner : {5U, 6U, 1000U}) {
            insert(cache, EntryCache::key(owner, index));
        }
    }
    CHECK(cache.remove_owner(6) == 20);
    CHECK(cache.remove_owner(6) == 0);
    CHECK(cache.size() == 40);
    for (std::uint32_t index = 0; index < 20; ++index) {
        CHECK(cache.find(EntryCache::key(5, index)) != nullptr);
        CHECK(cache.find(EntryCache::key(6, index)) == nullptr);
        CHECK(cache.find(EntryCache::key(1000, index)) != nullptr);
    }
}

TEST_CASE("a cleared cache knows nothing and works on", "[memory][entry_cache]") {
    EntryCache cache(4);
    for (const EntryCache::Key key : {1, 2, 3, 4, 5}) insert(cache, key);
    cache.clear();
    CHECK(cache.size() == 0);
    for (const EntryCache::Key key : {1, 2, 3, 4, 5}) CHECK(cache.find(key) == nullptr);
    insert(cache, 5, 9);
    CHECK(cache.find(5)->value == 9);
}

TEST_CASE("whatever is done in whatever order, it is a list in the order of use",
          "[memory][entry_cache]") {
    constexpr std::size_t kCapacity = 32;
    EntryCache cache(kCapacity);
    std::list<EntryCache::Key> order;  // newest first
    const auto drop = [&](auto matches) {
        std::uint32_t n = 0;
        for (auto place = order.begin(); place != order.end();) {
            if (matches(*place)) {
                place = order.erase(place);
                ++n;
            } else {
                ++place;
            }
        }
        return n;
    };
    RandomStream random(1, "entry_cache");
    for (int i = 0; i < 20'000; ++i) {
        const auto owner = static_cast<std::uint32_t>(random.below(8));
        const EntryCache::Key key =
            EntryCache::key(owner, static_cast<std::uint32_t>(random.below(8)));
        const auto is_key = [key](EntryCache::Key other) { return other == key; };
        const std::uint64_t action = random.below(100);
        if (action == 0) {
            REQUIRE(cache.remove_owner(owner) == drop([owner](EntryCache::Key other) {
                        return EntryCache::owner_of(other) == owner;
                    }));
        } else if (action < 10) {
            REQUIRE(cache.remove(key) == (drop(is_key) == 1));
        } else {
            const bool known = drop(is_key) == 1;
            REQUIRE((cache.find(key) != nullptr) == known);
            if (!known) {
                const bool full = order.size() == kCapacity;
                if (full) order.pop_back();
                REQUIRE(insert(cache, key) == full);
            }
            order.push_front(key);
        }
        REQUIRE(cache.size() == order.size());
    }
}
