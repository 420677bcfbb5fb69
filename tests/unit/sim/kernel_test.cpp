// SPDX-License-Identifier: Apache-2.0
#include "model/sim/kernel.h"

#include <set>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "model/base/random.h"
#include "model/sim/timeline.h"

namespace cxsim::model {
namespace {

// A SystemC process beside the calendar: both must see one order of time.
struct Ticker : sc_core::sc_module {
    std::vector<std::int64_t>& log;
    Ticker(sc_core::sc_module_name name, std::vector<std::int64_t>& l) : sc_module(name), log(l) {
        SC_HAS_PROCESS(Ticker);
        SC_METHOD(tick);
    }
    void tick() {
        log.push_back(-from_sc_time(sc_core::sc_time_stamp()).value);
        if (log.size() < 40) next_trigger(sc_core::sc_time(10, sc_core::SC_PS));
    }
};

struct Log {
    Kernel* kernel;
    std::vector<std::int64_t> seen;
    void event(const EventArguments&) { seen.push_back(kernel->now().value); }
};

TEST_CASE("calendar events and SystemC processes interleave in time order", "[kernel]") {
    Kernel kernel;
    Log log{&kernel, {}};
    Ticker ticker("ticker", log.seen);
    for (int t : {5, 12, 17, 25, 33}) {
        kernel.calendar().schedule<&Log::event>(picoseconds(t), &log);
    }
    kernel.run_until(picoseconds(40));
    const std::vector<std::int64_t> expected{0, 5, -10, 12, 17, -20, 25, -30, 33, -40};
    CHECK(log.seen == expected);
    CHECK(kernel.now() == picoseconds(40));
}

// A SystemC process that waits for what a calendar event notifies.
struct Sleeper : sc_core::sc_module {
    sc_core::sc_event alarm;
    std::vector<std::int64_t>& log;
    Sleeper(sc_core::sc_module_name name, std::vector<std::int64_t>& l) : sc_module(name), log(l) {
        SC_HAS_PROCESS(Sleeper);
        SC_METHOD(awake);
        dont_initialize();
        sensitive << alarm;
    }
    void awake() { log.push_back(-from_sc_time(sc_core::sc_time_stamp()).value); }
    void set(const EventArguments& words) {
        alarm.notify(to_sc_time(picoseconds(static_cast<std::int64_t>(words.a))));
        Kernel::systemc_called();
    }
};

TEST_CASE("what an event notifies runs before later events of the calendar", "[kernel]") {
    Kernel kernel;
    Log log{&kernel, {}};
    Sleeper sleeper("sleeper", log.seen);
    for (int t : {5, 15, 17, 25}) {
        kernel.calendar().schedule<&Log::event>(picoseconds(t), &log);
    }
    kernel.calendar().schedule<&Sleeper::set>(picoseconds(5), &sleeper, {11});
    kernel.run_until(picoseconds(40));
    const std::vector<std::int64_t> expected{5, 15, -16, 17, 25};
    CHECK(log.seen == expected);
}

TEST_CASE("run_until does not run past its end and can be continued", "[kernel]") {
    Kernel kernel;
    Log log{&kernel, {}};
    for (int t : {10, 20, 30}) kernel.calendar().schedule<&Log::event>(picoseconds(t), &log);
    kernel.run_until(picoseconds(20));
    CHECK(log.seen == std::vector<std::int64_t>{10, 20});
    kernel.calendar().schedule<&Log::event>(picoseconds(25), &log);
    kernel.run_for(picoseconds(10));
    CHECK(log.seen == std::vector<std::int64_t>{10, 20, 25, 30});
    CHECK(kernel.next_activity() == Picoseconds::max());
}

TEST_CASE("run_until_true stops at the event that makes it true", "[kernel]") {
    Kernel kernel;
    Log log{&kernel, {}};
    for (int t : {10, 20, 30}) kernel.calendar().schedule<&Log::event>(picoseconds(t), &log);
    CHECK(kernel.run_until_true([&] { return log.seen.size() == 2; }, picoseconds(100)));
    CHECK(kernel.now() == picoseconds(20));
    CHECK_FALSE(kernel.run_until_true([] { return false; }, picoseconds(100)));
    CHECK(kernel.now() == picoseconds(100));
}

TEST_CASE("a timeline serves one request after the other", "[timeline]") {
    Timeline line;
    CHECK(line.reserve(picoseconds(100), picoseconds(10)) == picoseconds(110));
    CHECK(line.reserve(picoseconds(50), picoseconds(10)) == picoseconds(120));
    CHECK(line.reserve(picoseconds(500), picoseconds(1)) == picoseconds(501));
    CHECK(line.busy_time() == picoseconds(21));
}

TEST_CASE("a pool serves as many requests at once as it has servers", "[timeline]") {
    TimelinePool pool(2);
    for (const auto& [ready, start] : {std::pair{0, 0}, {0, 0}, {0, 10}, {0, 10}, {35, 35}}) {
        const Picoseconds at = pool.available(picoseconds(ready));
        CHECK(at == picoseconds(start));
        pool.occupy_until(at + picoseconds(10));
    }
}

TEST_CASE("a pool agrees with a sorted set of servers under random load", "[timeline]") {
    RandomStream random(3, "pool");
    for (const std::size_t servers : {1, 2, 3, 7, 64}) {
        TimelinePool pool(servers);
        std::multiset<Picoseconds> free;
        for (std::size_t i = 0; i < servers; ++i) free.insert(Picoseconds{});
        Picoseconds ready;
        for (int i = 0; i < 2000; ++i) {
            ready += picoseconds(static_cast<std::int64_t>(random.below(50)));
            const Picoseconds at = pool.available(ready);
            REQUIRE(at == std::max(ready, *free.begin()));
            const Picoseconds until =
                at + picoseconds(static_cast<std::int64_t>(random.below(1000)));
            pool.occupy_until(until);
            free.erase(free.begin());
            free.insert(until);
        }
    }
}

}  // namespace
}  // namespace cxsim::model
