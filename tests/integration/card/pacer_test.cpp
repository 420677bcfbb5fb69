// SPDX-License-Identifier: Apache-2.0
#include "scenarios/testbed/pacer.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using model::Picoseconds;
using model::microseconds;
using model::milliseconds;
using scenarios::Pacer;

namespace {

// Events every microsecond of simulated time, each of which takes `cost` of a wall clock that
// nothing else moves.
struct Load {
    explicit Load(Picoseconds each) : cost(each) { next(); }

    void next() {
        kernel.calendar().schedule<&Load::happen>(kernel.now() + microseconds(1), this);
    }
    void happen(const model::EventArguments&) {
        ++events;
        wall += cost;
        if (!quiet) next();
    }
    Pacer pacer() {
        return Pacer(kernel, [this] { return wall; });
    }

    model::Kernel kernel;
    Picoseconds wall = milliseconds(77);  // clocks do not begin with the simulation
    Picoseconds cost;
    std::uint64_t events = 0;
    bool quiet = false;
};

}  // namespace

TEST_CASE("simulated time is the wall clock's while the machine keeps up", "[pacer]") {
    Load load(microseconds(0));
    Pacer pacer = load.pacer();
    CHECK(pacer.catch_up(milliseconds(2)));
    CHECK(load.kernel.now() == Picoseconds{0});
    load.wall += milliseconds(50);  // the machine was elsewhere: no reason to lose time
    CHECK(pacer.catch_up(milliseconds(2)));
    CHECK(load.kernel.now() == milliseconds(50));
    CHECK(load.events == 50'000);
    CHECK(pacer.given_up() == Picoseconds{0});
}

TEST_CASE("a load that the machine cannot simulate in time holds nobody up", "[pacer]") {
    Load load(microseconds(5));  // five times too slow
    Pacer pacer = load.pacer();
    load.wall += milliseconds(1);
    const Picoseconds began = load.wall;
    const Picoseconds budget = milliseconds(2);
    for (int access = 0; access < 1000; ++access) {
        const Picoseconds before = load.wall;
        (void)pacer.catch_up(budget);
        // The first slice is as long as they get: it shows how slow the machine is.
        CHECK(load.wall - before <= budget + (access == 0 ? 5 * Pacer::kLongestSlice : microseconds(200)));
        CHECK(load.kernel.now() <= pacer.now());
        CHECK(pacer.now() - load.kernel.now() <= Pacer::kLongestLag);
    }
    // All wall time went into simulation, and what is missing is accounted for.
    const Picoseconds elapsed = load.wall - began + milliseconds(1);
    CHECK(load.events * 5 == static_cast<std::uint64_t>((load.wall - began).value / 1'000'000));
    CHECK(load.kernel.now() + pacer.given_up() <= elapsed);
    CHECK(elapsed - load.kernel.now() - pacer.given_up() <= Pacer::kLongestLag);

    // When it is over, time goes on at the wall clock's pace: what was given up does not come back.
    load.quiet = true;
    load.cost = microseconds(0);
    load.wall += milliseconds(30);
    CHECK(pacer.catch_up(budget));
    CHECK(load.kernel.now() == pacer.now());
    CHECK(load.wall - began + milliseconds(1) == load.kernel.now() + pacer.given_up());
}

TEST_CASE("an access does not wait for more than its budget of wall time", "[pacer]") {
    Load load(microseconds(1000));  // a capture on a disk that stands still
    Pacer pacer = load.pacer();
    load.wall += microseconds(3);
    CHECK(pacer.catch_up(milliseconds(20)));
    for (int access = 0; access < 20; ++access) {
        const Picoseconds before = load.wall;
        (void)pacer.catch_up(milliseconds(2));
        CHECK(load.wall - before <= milliseconds(3));
    }
}
