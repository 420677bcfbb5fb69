// SPDX-License-Identifier: Apache-2.0
// The wire's arithmetic, and what a frame costs the simulation.
#include "tests/support/allocations.h"
#include "tests/support/port_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

using namespace cxsim;
using Catch::Matchers::WithinRel;
using model::LinkMode;
using test::PortBench;

namespace {

struct Saturation {
    double frames_per_second;
    double events_per_frame;
    std::uint64_t allocations;
};

Saturation saturate(LinkMode mode, std::uint32_t size, double bit_error_ratio = 0) {
    eth::LinkConfig config;
    config.bit_error_ratio = {0, bit_error_ratio};
    PortBench bench(mode, config);
    bench.bring_up();
    const auto fill = [&](unsigned frames) {
        for (unsigned i = 0; i < frames; ++i) {
            while (bench.a.queued_frames() > 32) bench.calendar.run_one();
            bench.send(size);
        }
    };
    fill(2000);  // warm-up
    const auto allocations = test::g_allocations;
    const auto events = bench.calendar.executed();
    const auto frames = bench.at_b.frames + bench.b.port_counters().rx_errors.value();
    const auto begin = bench.at_b.last;
    fill(20'000);
    const auto passed =
        static_cast<double>(bench.at_b.frames + bench.b.port_counters().rx_errors.value() - frames);
    return {passed / (bench.at_b.last - begin).seconds(),
            static_cast<double>(bench.calendar.executed() - events) / passed,
            test::g_allocations - allocations};
}

}  // namespace

TEST_CASE("saturated ports reach the wire's arithmetic rate", "[timing]") {
    struct Row {
        LinkMode mode;
        double gigabits;
    };
    for (const Row& row : {Row{LinkMode::speed_10g, 10}, Row{LinkMode::speed_25g, 25},
                           Row{LinkMode::speed_40g_4x, 40}, Row{LinkMode::speed_50g_2x, 50},
                           Row{LinkMode::speed_100g_4x, 100}, Row{LinkMode::speed_200g_4x, 200},
                           Row{LinkMode::speed_400g_4x, 400}}) {
        for (const std::uint32_t octets : {64U, 1500U, 9018U}) {
            CAPTURE(row.gigabits, octets);
            const Saturation run = saturate(row.mode, octets - 4);
            CHECK_THAT(run.frames_per_second,
                       WithinRel(row.gigabits * 1e9 / ((octets + 20) * 8.0), 0.005));
            CHECK(run.events_per_frame <= 2.01);
            CHECK(run.allocations == 0);
        }
    }
}

TEST_CASE("bit errors cost neither events nor memory", "[timing]") {
    const Saturation run = saturate(LinkMode::speed_100g_4x, 1496, 1e-4);
    CHECK_THAT(run.frames_per_second, WithinRel(100e9 / (1520 * 8.0), 0.005));
    CHECK(run.events_per_frame <= 2.01);
    CHECK(run.allocations == 0);
}

TEST_CASE("pausing a fast sender costs no memory and few events", "[timing]") {
    PortBench bench;
    model::PortSettings settings = bench.b.settings();
    settings.pause_tx = true;
    settings.buffers[0].lossy = false;
    bench.b.configure(settings);
    settings = bench.a.settings();
    settings.pause_rx = true;
    bench.a.configure(settings);
    bench.bring_up();
    bench.at_b.service = model::nanoseconds(400);  // three times what a frame takes
    const auto fill = [&](unsigned frames) {
        for (unsigned i = 0; i < frames; ++i) {
            while (bench.a.queued_frames() > 32) bench.calendar.run_one();
            bench.send(1496);
        }
    };
    fill(4000);
    const auto allocations = test::g_allocations;
    const auto events = bench.calendar.executed();
    const auto frames = bench.at_b.frames;
    fill(20'000);
    CHECK(test::g_allocations == allocations);
    const auto passed = static_cast<double>(bench.at_b.frames - frames);
    CHECK(static_cast<double>(bench.calendar.executed() - events) / passed < 3.0);
    CHECK(bench.b.port_counters().rx_discards.value() == 0);
    CHECK(bench.b.port_counters().tx_pause.value() > 10);
}

TEST_CASE("a lone frame costs one event", "[timing]") {
    PortBench bench;
    bench.bring_up();
    const auto before = bench.calendar.executed();
    bench.send(1514);
    bench.drain();
    CHECK(bench.calendar.executed() - before == 1);
}
