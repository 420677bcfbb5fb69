// SPDX-License-Identifier: Apache-2.0
#include "roce/congestion/reaction_point.h"

#include "model/base/random.h"
#include "tests/unit/congestion/naive_reaction_point.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <cmath>
#include <memory>

using namespace cxsim;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using model::GainReading;
using model::microseconds;
using model::nanoseconds;
using model::Picoseconds;
using model::ReactionPointSettings;

namespace {

constexpr double kGigabit = 1e9;
constexpr double kPort = 100 * kGigabit;
// The first decrease after a notification at 0: after the alpha of the same microsecond.
const Picoseconds kFirstDecrease = microseconds(4) + nanoseconds(1);

// Parameters of which the check values speak: no counter of bytes.
ReactionPointSettings timer_only() {
    ReactionPointSettings settings;
    settings.rpg_byte_reset = 0;
    return settings;
}

// Alpha stays at 1: decreases are by half.
ReactionPointSettings constant_alpha() {
    ReactionPointSettings settings = timer_only();
    settings.initial_alpha_value = 1024;
    settings.dce_tcp_g = 1024;
    return settings;
}

struct Bench {
    explicit Bench(const ReactionPointSettings& settings, double port = kPort)
        : shared(control, {port}), flow(shared, 3) {
        control.rp = settings;
    }
    double gigabits(Picoseconds at) {
        flow.settle(at);
        return flow.rate().value / kGigabit;
    }
    model::CongestionControl control;
    roce::ReactionPoints shared;
    roce::ReactionPoint flow;
};

}  // namespace

TEST_CASE("a flow without notifications leaves when it is ready", "[reaction_point]") {
    Bench bench(timer_only());
    for (int i = 0; i < 100; ++i) {
        CHECK(bench.flow.reserve(microseconds(7), 9000) == microseconds(7));
    }
    CHECK_FALSE(bench.flow.limited());
    CHECK(bench.flow.rate().value == kPort);
    CHECK(bench.control.limited_flows == 0);
}

TEST_CASE("alpha falls by 1019/1024 each microsecond", "[reaction_point]") {
    ReactionPointSettings settings = timer_only();
    settings.initial_alpha_value = 1024;
    Bench bench(settings);
    bench.flow.notified(Picoseconds{});
    CHECK(bench.flow.alpha() == 1.0);
    bench.flow.settle(microseconds(10));
    CHECK_THAT(bench.flow.alpha(), WithinAbs(0.952, 0.0005));
    // Half-life 141.6 us.
    bench.flow.settle(microseconds(141));
    CHECK(bench.flow.alpha() > 0.5);
    bench.flow.settle(microseconds(142));
    CHECK(bench.flow.alpha() < 0.5);
    CHECK_THAT(std::log(0.5) / std::log(1019.0 / 1024.0), WithinAbs(141.6, 0.1));
    bench.flow.settle(microseconds(300));
    CHECK_THAT(bench.flow.alpha(), WithinAbs(0.230, 0.001));
    CHECK_THAT(bench.flow.alpha(), WithinRel(std::pow(1019.0 / 1024.0, 300), 1e-12));
}

TEST_CASE("a period with a notification moves alpha towards one", "[reaction_point]") {
    ReactionPointSettings settings = timer_only();
    Bench bench(settings);
    bench.flow.notified(Picoseconds{});
    CHECK(bench.flow.alpha() == 1023.0 / 1024);
    bench.flow.settle(microseconds(99));
    const double before = bench.flow.alpha();
    bench.flow.notified(microseconds(99) + nanoseconds(500));
    CHECK(bench.flow.alpha() == before);
    bench.flow.settle(microseconds(100));
    CHECK_THAT(bench.flow.alpha(), WithinRel(before * 1019 / 1024 + 5.0 / 1024, 1e-12));
    // The notification counted once.
    bench.flow.settle(microseconds(101));
    CHECK_THAT(bench.flow.alpha(),
               WithinRel((before * 1019 / 1024 + 5.0 / 1024) * 1019 / 1024, 1e-12));
}

TEST_CASE("the other reading of the gain moves alpha in large steps", "[reaction_point]") {
    ReactionPointSettings settings = timer_only();
    settings.gain_reading = GainReading::takes;
    settings.initial_alpha_value = 1024;
    Bench bench(settings);
    bench.flow.notified(Picoseconds{});
    bench.flow.settle(microseconds(1));
    CHECK_THAT(bench.flow.alpha(), WithinRel(5.0 / 1024, 1e-9));
}

TEST_CASE("one notification at 100 Gb/s: 50, after 300 us 75, then steps by half the way",
          "[reaction_point]") {
    Bench bench(constant_alpha());
    bench.flow.notified(Picoseconds{});
    CHECK(bench.flow.limited());
    CHECK(bench.control.limited_flows == 1);
    CHECK(bench.gigabits(kFirstDecrease - model::picoseconds(1)) == 100);
    CHECK(bench.gigabits(kFirstDecrease) == 50);
    CHECK(bench.gigabits(kFirstDecrease + microseconds(299)) == 50);
    CHECK(bench.gigabits(kFirstDecrease + microseconds(300)) == 75);
    CHECK(bench.gigabits(kFirstDecrease + microseconds(600)) == 87.5);
    CHECK(bench.flow.target_rate().value == kPort);
    // 100 Gb/s less 50 Gb/s / 2^16 is within 1 Mb/s of the port's speed: the limiter lets go.
    CHECK(bench.gigabits(kFirstDecrease + microseconds(300 * 15)) < 100);
    CHECK(bench.flow.limited());
    bench.flow.settle(kFirstDecrease + microseconds(300 * 16));
    CHECK_FALSE(bench.flow.limited());
    CHECK(bench.control.limited_flows == 0);
    CHECK(bench.flow.rate().value == kPort);
    CHECK(bench.control.cnps_handled == 1);
}

TEST_CASE("with the card's own parameters the check values hold within the decay of alpha",
          "[reaction_point]") {
    Bench bench(timer_only());
    bench.flow.notified(Picoseconds{});
    // Four updates of alpha come before the first decrease.
    const double alpha = 1023.0 / 1024 * std::pow(1019.0 / 1024, 4);
    CHECK_THAT(bench.gigabits(kFirstDecrease), WithinRel(100 * (1 - alpha / 2), 1e-12));
    CHECK_THAT(bench.gigabits(kFirstDecrease), WithinAbs(50, 1.1));
    CHECK_THAT(bench.gigabits(kFirstDecrease + microseconds(300)), WithinAbs(75, 0.6));
}

TEST_CASE("active increase steps by 5 Mb/s once, hyper increase by 50 from then on",
          "[reaction_point]") {
    Bench bench(constant_alpha());
    // Two decreases: the target of the second one is the rate before it.
    bench.control.rp.clamp_tgt_rate = true;
    bench.flow.notified(Picoseconds{});
    bench.flow.notified(microseconds(5));
    const Picoseconds second = microseconds(8) + nanoseconds(1);
    CHECK(bench.gigabits(second) == 25);
    CHECK(bench.flow.target_rate().value == 50 * kGigabit);
    const auto at = [&](int n) { return second + microseconds(300 * n); };
    CHECK(bench.gigabits(at(1)) == 37.5);  // fast recovery
    CHECK(bench.flow.target_rate().value == 50 * kGigabit);
    bench.flow.settle(at(2));  // active
    CHECK(bench.flow.target_rate().value == 50.005 * kGigabit);
    CHECK(bench.flow.rate().value == (37.5 + 50.005) / 2 * kGigabit);
    bench.flow.settle(at(3));  // hyper
    CHECK_THAT(bench.flow.target_rate().value, WithinRel(50.055 * kGigabit, 1e-12));
    bench.flow.settle(at(4));
    CHECK_THAT(bench.flow.target_rate().value, WithinRel(50.105 * kGigabit, 1e-12));
    // A target at the port's speed stays there.
    bench.flow.settle(at(3 + 999));
    CHECK(bench.flow.target_rate().value == kPort);
}

TEST_CASE("more stages of fast recovery with a higher threshold", "[reaction_point]") {
    Bench bench(constant_alpha());
    bench.control.rp.rpg_threshold = 5;
    bench.control.rp.clamp_tgt_rate = true;
    bench.flow.notified(Picoseconds{});
    bench.flow.notified(microseconds(5));
    const Picoseconds second = microseconds(8) + nanoseconds(1);
    bench.flow.settle(second + microseconds(300 * 5));
    CHECK(bench.flow.target_rate().value == 50 * kGigabit);
    bench.flow.settle(second + microseconds(300 * 6));
    CHECK(bench.flow.target_rate().value == 50.005 * kGigabit);
    bench.flow.settle(second + microseconds(300 * 7));
    CHECK_THAT(bench.flow.target_rate().value, WithinRel(50.055 * kGigabit, 1e-12));
}

TEST_CASE("what a decrease starts from next time depends on the clamps", "[reaction_point]") {
    struct Row {
        bool clamp;
        bool after_time;
        bool raised;    // by the timer between the two decreases
        double target;  // after the second, Gb/s
    };
    for (const Row row :
         {Row{false, true, false, 100}, Row{false, true, true, 75}, Row{true, false, false, 50},
          Row{true, true, true, 75}, Row{false, false, true, 100}, Row{false, false, false, 100}}) {
        CAPTURE(row.clamp, row.after_time, row.raised);
        Bench bench(constant_alpha());
        bench.control.rp.clamp_tgt_rate = row.clamp;
        bench.control.rp.clamp_tgt_rate_after_time_inc = row.after_time;
        bench.flow.notified(Picoseconds{});
        const auto again = microseconds(row.raised ? 310 : 100);
        bench.flow.notified(again);
        bench.flow.settle(again + microseconds(5));
        CHECK(bench.flow.target_rate().value == row.target * kGigabit);
    }
}

TEST_CASE("there is one decrease in each monitor period, however many notifications",
          "[reaction_point]") {
    Bench bench(constant_alpha());
    for (int i = 0; i < 1000; ++i) bench.flow.notified(nanoseconds(4 * i));
    CHECK(bench.gigabits(kFirstDecrease) == 50);
    CHECK(bench.gigabits(kFirstDecrease + microseconds(100)) == 50);
    CHECK(bench.control.cnps_handled == 1000);
}

TEST_CASE("without a monitor period each notification decreases at once", "[reaction_point]") {
    Bench bench(constant_alpha());
    bench.control.rp.rate_reduce_monitor_period = 0;
    bench.flow.notified(Picoseconds{});
    CHECK(bench.flow.rate().value == 50 * kGigabit);
    bench.flow.notified(Picoseconds{});
    CHECK(bench.flow.rate().value == 25 * kGigabit);
}

TEST_CASE("rates stay within their bounds", "[reaction_point]") {
    SECTION("the lowest rate") {
        Bench bench(constant_alpha());
        bench.control.rp.rpg_min_rate = 1000;
        for (int i = 0; i < 50; ++i) bench.flow.notified(microseconds(4 * i + 1));
        CHECK(bench.gigabits(microseconds(250)) == 1);
        // 12500 bytes at 1 Gb/s are 100 us.
        const Picoseconds first = bench.flow.reserve(microseconds(250), 12'500);
        CHECK(bench.flow.reserve(first, 12'500) == first + microseconds(100));
    }
    SECTION("what a decrease leaves") {
        ReactionPointSettings settings = constant_alpha();
        settings.rpg_gd = 10;  // all of the rate
        Bench half(settings);
        half.flow.notified(Picoseconds{});
        CHECK(half.gigabits(kFirstDecrease) == 50);
        settings.rpg_min_dec_fac = 80;
        Bench most(settings);
        most.flow.notified(Picoseconds{});
        CHECK_THAT(most.gigabits(kFirstDecrease), WithinRel(80, 1e-12));
        settings.rpg_min_dec_fac = 0;
        settings.rpg_min_rate = 0;
        Bench none(settings);  // the unit of the rates
        none.flow.notified(Picoseconds{});
        CHECK_THAT(none.gigabits(kFirstDecrease), WithinRel(0.001, 1e-12));
    }
    SECTION("the rate at which the limiter lets go") {
        Bench bench(constant_alpha());
        bench.control.rp.rpg_max_rate = 40'000;
        bench.flow.notified(Picoseconds{});
        CHECK(bench.flow.rate().value == 40 * kGigabit);
        CHECK(bench.gigabits(kFirstDecrease) == 20);
        bench.flow.settle(kFirstDecrease + microseconds(300 * 14));
        CHECK(bench.flow.limited());
        bench.flow.settle(kFirstDecrease + microseconds(300 * 15));  // 20 Gb/s / 2^15
        CHECK_FALSE(bench.flow.limited());
    }
    SECTION("a decrease leaves alpha / 2^(gd - 10)") {
        ReactionPointSettings settings = constant_alpha();
        settings.rpg_gd = 13;
        Bench bench(settings);
        bench.flow.notified(Picoseconds{});
        CHECK(bench.gigabits(kFirstDecrease) == 87.5);
    }
}

TEST_CASE("the first notification may set a rate", "[reaction_point]") {
    Bench bench(constant_alpha());
    bench.control.rp.rate_to_set_on_first_cnp = 10'000;
    bench.flow.notified(microseconds(50));
    CHECK(bench.flow.rate().value == 10 * kGigabit);
    CHECK(bench.flow.target_rate().value == 10 * kGigabit);
    CHECK(bench.gigabits(microseconds(50) + kFirstDecrease) == 5);
}

TEST_CASE("bytes raise the rate as the timer does", "[reaction_point]") {
    ReactionPointSettings settings = constant_alpha();
    settings.rpg_byte_reset = 30'000;
    settings.rpg_time_reset = 1000;
    Bench bench(settings);
    bench.flow.notified(Picoseconds{});
    // Before the first decrease they do not count.
    for (int i = 0; i < 40; ++i) bench.flow.reserve(nanoseconds(1), 1000);
    CHECK(bench.gigabits(kFirstDecrease) == 50);
    Picoseconds at = kFirstDecrease + microseconds(2);
    for (int i = 0; i < 29; ++i) bench.flow.reserve(at, 1000);
    CHECK(bench.gigabits(at) == 50);
    bench.flow.reserve(at, 1000);
    CHECK(bench.gigabits(at) == 75);
    CHECK(bench.flow.target_rate().value == kPort);
    // A decrease restarts the counter; what bytes raised becomes the target.
    bench.flow.reserve(at, 29'000);
    bench.flow.notified(at);
    at = microseconds(8) + nanoseconds(1);
    CHECK(bench.gigabits(at) == 37.5);
    CHECK(bench.flow.target_rate().value == 75 * kGigabit);
    bench.flow.reserve(at, 29'999);
    CHECK(bench.gigabits(at) == 37.5);
    bench.flow.reserve(at, 1);
    CHECK(bench.gigabits(at) == 56.25);
}

TEST_CASE("hyper increase needs both the timer's and the bytes' stages", "[reaction_point]") {
    ReactionPointSettings settings = constant_alpha();
    settings.rpg_byte_reset = 1000;
    settings.clamp_tgt_rate = true;
    Bench bench(settings);
    bench.flow.notified(Picoseconds{});
    bench.flow.notified(microseconds(5));
    const Picoseconds second = microseconds(8) + nanoseconds(1);
    for (int i = 0; i < 4; ++i) bench.flow.reserve(second, 1000);
    // One of fast recovery, three active ones: the timer has not fired.
    CHECK_THAT(bench.flow.target_rate().value, WithinRel(50.015 * kGigabit, 1e-12));
    bench.flow.settle(second + microseconds(300));
    CHECK_THAT(bench.flow.target_rate().value, WithinRel(50.020 * kGigabit, 1e-12));
    bench.flow.settle(second + microseconds(600));
    CHECK_THAT(bench.flow.target_rate().value, WithinRel(50.025 * kGigabit, 1e-12));
    bench.flow.reserve(second + microseconds(600), 1000);
    CHECK_THAT(bench.flow.target_rate().value, WithinRel(50.075 * kGigabit, 1e-12));
}

TEST_CASE("packets leave at the limited rate, on average through its changes", "[reaction_point]") {
    Bench bench(constant_alpha());
    bench.flow.notified(Picoseconds{});
    Picoseconds at = kFirstDecrease;
    // 50 Gb/s: 1250 bytes in 200 ns.
    for (int i = 0; i < 100; ++i) {
        const Picoseconds start = bench.flow.reserve(at, 1250);
        CHECK(start == kFirstDecrease + nanoseconds(200 * i));
        at = start;
    }
    // An idle flow saves nothing up.
    at = microseconds(100);
    CHECK(bench.flow.reserve(at, 1250) == at);
    CHECK(bench.flow.reserve(at, 1250) == at + nanoseconds(200));
    // A decrease in the middle delays what comes afterwards.
    bench.flow.notified(microseconds(101));
    at = microseconds(104) + nanoseconds(1);
    const Picoseconds before = at - nanoseconds(100);
    CHECK(bench.flow.reserve(before, 1250) == before);
    CHECK(bench.flow.reserve(at, 1250) == at + nanoseconds(200));  // 5000 bits left, at 25 Gb/s
}

TEST_CASE("a priority that takes no part ignores notifications and counts them",
          "[reaction_point]") {
    Bench bench(timer_only());
    bench.control.reaction_point_state[3].enable = false;
    bench.flow.notified(Picoseconds{});
    CHECK_FALSE(bench.flow.limited());
    CHECK(bench.control.cnps_ignored == 1);
    CHECK(bench.control.cnps_handled == 0);
    bench.flow.set_priority(Picoseconds{}, 4);
    bench.flow.notified(Picoseconds{});
    CHECK(bench.flow.limited());
    CHECK(bench.control.cnps_handled == 1);
    // Switched off while limited: let go.
    bench.control.change(microseconds(1), [](model::CongestionControl& control) {
        control.reaction_point_state[4].enable = false;
    });
    CHECK_FALSE(bench.flow.limited());
    CHECK(bench.control.limited_flows == 0);
    CHECK(bench.control.version == 1);
}

TEST_CASE("a sender that starts again is limited where the card has slow restart",
          "[reaction_point]") {
    Bench bench(constant_alpha());
    bench.flow.restarted(Picoseconds{});
    CHECK_FALSE(bench.flow.limited());
    CHECK(bench.control.slow_restarts == 0);
    bench.control.rp.slow_restart = true;
    bench.flow.restarted(Picoseconds{});
    CHECK(bench.gigabits(kFirstDecrease) == 50);
    CHECK(bench.control.slow_restarts == 1);
    CHECK(bench.control.cnps_handled == 0);
}

TEST_CASE("settings change at their moment, for flows that nobody looked at as well",
          "[reaction_point]") {
    ReactionPointSettings settings = timer_only();
    settings.initial_alpha_value = 1024;
    Bench bench(settings);
    bench.flow.notified(Picoseconds{});
    bench.control.change(microseconds(100), [](model::CongestionControl& control) {
        control.rp.dce_tcp_g = 1000;
        control.rp.rpg_time_reset = 55;
    });
    const double then = std::pow(1019.0 / 1024, 100);
    bench.flow.settle(microseconds(110));
    CHECK_THAT(bench.flow.alpha(), WithinRel(then * std::pow(1000.0 / 1024, 10), 1e-12));
    // The timer that ran ends after its 300 us, the next after 55.
    const double low = bench.flow.rate().value;
    bench.flow.settle(kFirstDecrease + microseconds(299));
    CHECK(bench.flow.rate().value == low);
    bench.flow.settle(kFirstDecrease + microseconds(300));
    const double raised = bench.flow.rate().value;
    CHECK(raised > low);
    bench.flow.settle(kFirstDecrease + microseconds(355));
    CHECK(bench.flow.rate().value > raised);
}

TEST_CASE("periods of zero stop timers, others start them again", "[reaction_point]") {
    Bench bench(constant_alpha());
    bench.flow.notified(Picoseconds{});
    bench.control.change(microseconds(10), [](model::CongestionControl& control) {
        control.rp.rpg_time_reset = 0;
        control.rp.dce_tcp_rtt = 0;
    });
    CHECK(bench.gigabits(model::milliseconds(100)) == 50);
    bench.control.change(model::milliseconds(100),
                         [](model::CongestionControl& control) { control.rp.rpg_time_reset = 20; });
    CHECK(bench.gigabits(model::milliseconds(100) + microseconds(20)) == 75);
}

TEST_CASE("a slower port lowers the rates of its flows", "[reaction_point]") {
    Bench bench(constant_alpha());
    bench.flow.notified(Picoseconds{});
    bench.flow.settle(kFirstDecrease);
    bench.shared.set_port_rate(microseconds(10), {25 * kGigabit});
    CHECK(bench.flow.rate().value == 25 * kGigabit);
    CHECK(bench.flow.target_rate().value == 25 * kGigabit);
}

TEST_CASE("flows are counted while they are limited, also those that nobody looks at",
          "[reaction_point]") {
    model::CongestionControl control;
    control.rp = constant_alpha();
    roce::ReactionPoints shared(control, {kPort});
    auto a = std::make_unique<roce::ReactionPoint>(shared, 0);
    auto b = std::make_unique<roce::ReactionPoint>(shared, 0);
    roce::ReactionPoint c(shared, 0);
    a->notified(Picoseconds{});
    b->notified(Picoseconds{});
    c.notified(model::milliseconds(3));
    CHECK(control.limited_flows == 3);
    b.reset();  // out of the middle
    CHECK(control.limited_flows == 2);
    shared.settle(model::milliseconds(5));  // a is done after 4.8 ms
    CHECK(control.limited_flows == 1);
    CHECK(c.limited());
    a.reset();
    CHECK(control.limited_flows == 1);
}

TEST_CASE("the parameter sets of published simulations behave as they say", "[reaction_point]") {
    // "vendor" at 100 Gb/s: increments scale with the rate; "paper": slower alpha and decreases.
    ReactionPointSettings vendor = timer_only();
    vendor.dce_tcp_g = 1020;  // g = 1/256
    vendor.initial_alpha_value = 1024;
    vendor.rpg_ai_rate = 20;
    vendor.rpg_hai_rate = 200;
    vendor.rpg_min_rate = 1000;
    ReactionPointSettings paper = vendor;
    paper.dce_tcp_rtt = 50;
    paper.rate_reduce_monitor_period = 50;
    paper.rpg_time_reset = 55;

    Bench v(vendor);
    v.flow.notified(Picoseconds{});
    const double alpha_v = std::pow(255.0 / 256, 4);
    CHECK_THAT(v.gigabits(kFirstDecrease), WithinRel(100 * (1 - alpha_v / 2), 1e-12));
    CHECK_THAT(v.gigabits(kFirstDecrease + microseconds(300)),
               WithinRel(100 * (1 - alpha_v / 4), 1e-12));

    Bench p(paper);
    p.flow.notified(Picoseconds{});
    const Picoseconds first = microseconds(50) + nanoseconds(1);
    CHECK(p.gigabits(microseconds(50)) == 100);
    // One update of alpha before the decrease: 255/256.
    CHECK_THAT(p.gigabits(first), WithinRel(100 * (1 - 255.0 / 512), 1e-12));
    CHECK_THAT(p.gigabits(first + microseconds(55)), WithinRel(100 * (1 - 255.0 / 1024), 1e-12));

    // Notified in every period both end at 1 Gb/s with alpha towards 1, and are free again after
    // silence: steps of 200 Mb/s every 300 or 55 us.
    for (auto* bench : {&v, &p}) {
        const Picoseconds start = microseconds(1000);
        for (int i = 0; i < 1000; ++i) bench->flow.notified(start + microseconds(4 * i));
        CHECK(bench->gigabits(start + microseconds(4001)) == 1);
        CHECK(bench->flow.alpha() > 0.2);
    }
    v.flow.settle(microseconds(5000) + microseconds(300 * 600));
    p.flow.settle(microseconds(5000) + microseconds(55 * 600));
    CHECK_FALSE(v.flow.limited());
    CHECK_FALSE(p.flow.limited());
}

TEST_CASE("what is made up for late equals a state machine of events", "[reaction_point]") {
    std::uint64_t limited_looks = 0;
    std::uint64_t releases = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        model::RandomStream random(seed, "reaction_point");
        ReactionPointSettings settings;
        const auto one_of = [&](std::initializer_list<std::uint32_t> values) {
            return values.begin()[random.below(values.size())];
        };
        settings.clamp_tgt_rate = random.below(3) == 0;
        settings.clamp_tgt_rate_after_time_inc = random.below(2) == 0;
        settings.rpg_time_reset = one_of({3, 55, 300, 301});
        settings.rpg_byte_reset = one_of({0, 4000, 32767, 100'000});
        settings.rpg_threshold = one_of({0, 1, 2, 5});
        settings.rpg_max_rate = one_of({0, 0, 40'000});
        settings.rpg_ai_rate = one_of({5, 500, 5000});
        settings.rpg_hai_rate = one_of({50, 5000});
        settings.rpg_gd = one_of({10, 11, 12});
        settings.rpg_min_dec_fac = one_of({20, 50, 90});
        settings.rpg_min_rate = one_of({0, 1, 1000});
        settings.rate_to_set_on_first_cnp = one_of({0, 0, 10'000});
        settings.dce_tcp_g = one_of({1019, 1000, 900, 5});
        settings.dce_tcp_rtt = one_of({1, 3, 50});
        settings.rate_reduce_monitor_period = one_of({1, 4, 50});
        settings.initial_alpha_value = one_of({1023, 512});
        settings.gain_reading = random.below(4) == 0 ? GainReading::takes : GainReading::keeps;
        Bench bench(settings);
        test::NaiveReactionPoint naive(settings, kPort);
        Picoseconds at;
        bool was_limited = false;
        for (int i = 0; i < 4000; ++i) {
            // Mostly close to each other, at times so far that the flow recovers meanwhile; some
            // fall on whole microseconds, where the timers are.
            const std::uint64_t kind = random.below(1000);
            const std::uint64_t reach = kind == 0   ? 20'000'000'000
                                        : kind < 20 ? 400'000'000
                                                    : 400'000;
            at += Picoseconds{static_cast<std::int64_t>(random.below(reach))};
            if (random.below(8) == 0) at = microseconds(at.value / 1'000'000 + 1);
            CAPTURE(i, at.value);
            if (random.below(20) == 0) {
                bench.flow.notified(at);
                naive.cnp(at.value);
            } else {
                const auto bytes = static_cast<std::uint32_t>(80 + random.below(4096));
                const Picoseconds start = bench.flow.reserve(at, bytes);
                const std::int64_t expected = naive.packet(at.value, bytes);
                REQUIRE(start >= at);
                REQUIRE(std::abs(start.value - expected) <= 2);
                // Senders wait for their turn, most of the time.
                if (random.below(4) != 0) at = start;
            }
            REQUIRE(bench.flow.limited() == naive.limited);
            releases += was_limited && !naive.limited ? 1 : 0;
            was_limited = naive.limited;
            if (!naive.limited) continue;
            ++limited_looks;
            REQUIRE_THAT(bench.flow.rate().value, WithinRel(naive.rate, 1e-9));
            REQUIRE_THAT(bench.flow.target_rate().value, WithinRel(naive.target, 1e-9));
            REQUIRE_THAT(bench.flow.alpha(),
                         WithinRel(naive.alpha, 1e-9) || WithinAbs(naive.alpha, 1e-12));
        }
    }
    // The comparison saw what it is about.
    CHECK(limited_looks > 50'000);
    CHECK(releases > 100);
}

TEST_CASE("a late call counts at the time of the latest", "[reaction_point]") {
    Bench bench(constant_alpha());
    bench.flow.notified(microseconds(10));
    bench.flow.reserve(microseconds(20), 1250);
    CHECK(bench.flow.rate().value == 50 * kGigabit);
    bench.flow.notified(microseconds(15));
    CHECK(bench.gigabits(microseconds(22)) == 50);
    CHECK(bench.gigabits(microseconds(22) + nanoseconds(1)) == 25);
}

TEST_CASE("looking at a flow between its packets changes nothing", "[reaction_point]") {
    ReactionPointSettings settings;  // with timer and bytes
    settings.rpg_ai_rate = 1'000;
    Bench seen(settings);
    Bench unseen(settings);
    model::RandomStream random(3, "looks");
    Picoseconds now;
    Picoseconds next;
    for (int i = 0; i < 20'000; ++i) {
        now += Picoseconds{static_cast<std::int64_t>(random.below(2'000'000))};
        if (random.below(50) == 0) {
            seen.flow.notified(now);
            unseen.flow.notified(now);
        }
        for (std::uint64_t looks = random.below(4); looks > 0; --looks) seen.gigabits(now);
        if (next > now) continue;
        next = unseen.flow.reserve(now, 1'106);
        REQUIRE(seen.flow.reserve(now, 1'106) == next);
    }
    CHECK(unseen.control.cnps_handled > 100);
    CHECK(seen.gigabits(now) == unseen.gigabits(now));
}
