// SPDX-License-Identifier: Apache-2.0
#include "model/sim/calendar.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "model/base/random.h"

namespace cxsim::model {
namespace {

struct Recorder {
    Calendar calendar;
    std::vector<std::pair<std::int64_t, std::uint64_t>> seen;

    void event(const EventArguments& words) {
        seen.emplace_back(calendar.now().value, words.a);
    }
    EventHandle at(std::int64_t time, std::uint64_t tag) {
        return calendar.schedule<&Recorder::event>(picoseconds(time), this, {tag});
    }
};

TEST_CASE("events run in time order and equal times in the order of scheduling", "[calendar]") {
    Recorder r;
    r.at(30, 1);
    r.at(10, 2);
    r.at(30, 3);
    r.at(20, 4);
    r.at(10, 5);
    CHECK(r.calendar.run_until(picoseconds(100)) == 5);
    const std::vector<std::pair<std::int64_t, std::uint64_t>> expected{
        {10, 2}, {10, 5}, {20, 4}, {30, 1}, {30, 3}};
    CHECK(r.seen == expected);
    CHECK(r.calendar.now() == picoseconds(100));
}

TEST_CASE("run_until stops at its limit and takes events at the limit", "[calendar]") {
    Recorder r;
    r.at(10, 1);
    r.at(20, 2);
    r.at(21, 3);
    CHECK(r.calendar.run_until(picoseconds(20)) == 2);
    CHECK(r.calendar.pending() == 1);
    CHECK(r.calendar.next_time() == picoseconds(21));
}

TEST_CASE("a cancelled event does not run and its handle is void afterwards", "[calendar]") {
    Recorder r;
    const EventHandle first = r.at(10, 1);
    r.at(10, 2);
    CHECK(r.calendar.cancel(first));
    CHECK_FALSE(r.calendar.cancel(first));
    CHECK(r.calendar.pending() == 1);
    CHECK(r.calendar.run_until(picoseconds(10)) == 1);
    const EventHandle reused = r.at(20, 3);  // takes the pool slot of a finished event
    CHECK_FALSE(r.calendar.cancel(first));
    CHECK(r.calendar.cancel(reused));
    CHECK(r.calendar.next_time() == Picoseconds::max());
    CHECK_FALSE(r.calendar.cancel(EventHandle{}));
}

TEST_CASE("an event may schedule at its own time and later", "[calendar]") {
    struct Chain {
        Calendar calendar;
        int count = 0;
        void step(const EventArguments&) {
            if (++count < 10) {
                calendar.schedule<&Chain::step>(calendar.now() + picoseconds(count % 2), this);
            }
        }
    } chain;
    chain.calendar.schedule<&Chain::step>(picoseconds(5), &chain);
    chain.calendar.run_until(picoseconds(1000));
    CHECK(chain.count == 10);
}

TEST_CASE("the earlier callback fires exactly when the front of the queue changes", "[calendar]") {
    Recorder r;
    int calls = 0;
    r.calendar.on_earlier([](void* n) { ++*static_cast<int*>(n); }, &calls);
    r.at(100, 1);
    CHECK(calls == 1);
    r.at(200, 2);
    CHECK(calls == 1);
    r.at(50, 3);
    CHECK(calls == 2);
}

// Against the plainest possible queue, with the spreads that break calendar queues: one far
// outlier, bursts at one time, growth and shrinkage over several resizes, cancellations.
TEST_CASE("the calendar agrees with an ordered map under random load", "[calendar]") {
    const std::int64_t spread = GENERATE(1, 100, 10'000, 1'000'000'000);
    RandomStream random(7, "calendar");
    Recorder r;
    std::map<std::pair<std::int64_t, std::uint64_t>, std::uint64_t> model;
    std::vector<std::pair<EventHandle, std::pair<std::int64_t, std::uint64_t>>> handles;
    std::uint64_t sequence = 0;
    std::vector<std::pair<std::int64_t, std::uint64_t>> expected;

    for (int round = 0; round < 60; ++round) {
        const bool growing = (round / 10) % 2 == 0;
        for (int i = 0; i < (growing ? 200 : 10); ++i) {
            std::int64_t time = r.calendar.now().value +
                                static_cast<std::int64_t>(
                                    random.below(static_cast<std::uint64_t>(spread)));
            if (random.below(100) == 0) time += 1'000'000'000'000;  // a timer far ahead
            const std::uint64_t tag = sequence++;
            handles.emplace_back(r.at(time, tag), std::pair{time, tag});
            model.emplace(std::pair{time, tag}, tag);
        }
        for (int i = 0; i < 5; ++i) {
            const auto& [handle, key] = handles[random.below(handles.size())];
            CHECK(r.calendar.cancel(handle) == (model.erase(key) == 1));
        }
        for (int i = 0; i < (growing ? 20 : 180) && !model.empty(); ++i) {
            expected.push_back(model.begin()->first);
            model.erase(model.begin());
            REQUIRE(r.calendar.run_one());
        }
        REQUIRE(r.calendar.pending() == model.size());
    }
    REQUIRE(r.seen == expected);
}

TEST_CASE("the pool stops growing once the load is steady", "[calendar]") {
    Recorder r;
    for (int i = 0; i < 500; ++i) r.at(i, 0);
    const std::size_t blocks = r.calendar.pool_blocks();
    for (int i = 0; i < 20'000; ++i) {
        r.calendar.run_one();
        r.at(r.calendar.now().value + 500, 0);
        r.seen.clear();
    }
    CHECK(r.calendar.pool_blocks() == blocks);
}

}  // namespace
}  // namespace cxsim::model
