// SPDX-License-Identifier: Apache-2.0
#include "eth/link/link.h"

#include "tests/support/port_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using model::FecMode;
using model::LinkDownReason;
using model::LinkMode;
using model::mask_of;
using model::microseconds;
using model::nanoseconds;
using test::PortBench;

namespace {

void offer(eth::Mac& mac, model::LinkModeMask modes, model::FecMask fec = 0) {
    model::PortSettings settings = mac.settings();
    settings.modes = modes;
    settings.fec.fill(fec);
    mac.configure(settings);
}

constexpr model::LinkModeMask k10And25 =
    mask_of(LinkMode::speed_10g) | mask_of(LinkMode::speed_25g);

}  // namespace

TEST_CASE("a link takes the fastest mode that both ends have", "[link]") {
    PortBench bench;
    offer(bench.a, k10And25 | mask_of(LinkMode::speed_100g_4x));
    offer(bench.b, k10And25);
    bench.bring_up();
    CHECK(bench.a.status().mode == LinkMode::speed_25g);
    CHECK(bench.b.status().mode == LinkMode::speed_25g);
    CHECK(bench.b.status().partner_modes == (k10And25 | mask_of(LinkMode::speed_100g_4x)));
}

TEST_CASE("of two modes of one speed the link takes the one with more lanes", "[link]") {
    PortBench bench;
    const auto both = mask_of(LinkMode::speed_100g_2x) | mask_of(LinkMode::speed_100g_4x);
    offer(bench.a, both);
    offer(bench.b, both);
    bench.bring_up();
    CHECK(bench.a.status().mode == LinkMode::speed_100g_4x);
}

TEST_CASE("ends without a common speed or FEC stay down and say why", "[link]") {
    PortBench bench;
    offer(bench.a, mask_of(LinkMode::speed_10g));
    bench.bring_up();
    CHECK_FALSE(bench.a.link_up());
    CHECK(bench.a.status().reason == LinkDownReason::no_common_mode);
    offer(bench.a, mask_of(LinkMode::speed_25g), mask_of(FecMode::none));
    offer(bench.b, mask_of(LinkMode::speed_25g), mask_of(FecMode::rs_528_514));
    bench.bring_up();
    CHECK_FALSE(bench.b.link_up());
    CHECK(bench.b.status().reason == LinkDownReason::no_common_fec);
}

TEST_CASE("an end that insists on a FEC mode gets it, defaults apply else", "[link]") {
    const auto agreed = [](LinkMode mode, model::FecMask one, model::FecMask other) {
        PortBench bench(mode);
        offer(bench.a, mask_of(mode), one);
        offer(bench.b, mask_of(mode), other);
        bench.bring_up();
        REQUIRE(bench.a.link_up());
        return bench.b.status().fec;
    };
    CHECK(agreed(LinkMode::speed_10g, 0, 0) == FecMode::none);
    CHECK(agreed(LinkMode::speed_25g, 0, 0) == FecMode::rs_528_514);
    CHECK(agreed(LinkMode::speed_100g_4x, 0, 0) == FecMode::rs_528_514);
    CHECK(agreed(LinkMode::speed_50g_1x, 0, 0) == FecMode::rs_544_514);
    CHECK(agreed(LinkMode::speed_400g_4x, 0, 0) == FecMode::rs_544_514);
    CHECK(agreed(LinkMode::speed_25g, mask_of(FecMode::none), 0) == FecMode::none);
    CHECK(agreed(LinkMode::speed_25g, 0, mask_of(FecMode::firecode)) == FecMode::firecode);
    CHECK(agreed(LinkMode::speed_25g, 0b111, 0b011) == FecMode::firecode);
}

TEST_CASE("a cut cable takes the link and what is under way, and comes back", "[link]") {
    PortBench bench;
    bench.bring_up();
    bench.send(1514);
    bench.link.set_plugged(false);
    CHECK_FALSE(bench.a.link_up());
    CHECK(bench.a.status().reason == LinkDownReason::no_cable);
    CHECK_FALSE(bench.a.status().cable_present);
    CHECK(bench.link.counters().lost[1].value() == 1);
    CHECK(bench.a.port_counters().phy.link_down_events.value() == 1);
    CHECK(bench.b.port_counters().phy.link_down_events.value() == 1);
    bench.run_for(microseconds(5));
    CHECK_FALSE(bench.a.link_up());
    bench.link.set_plugged(true);
    CHECK(bench.a.status().reason == LinkDownReason::training);
    bench.bring_up();
    CHECK(bench.a.link_up());
}

TEST_CASE("training starts again when an end goes away meanwhile", "[link]") {
    PortBench bench;
    bench.run_for(nanoseconds(600));
    model::PortSettings settings = bench.b.settings();
    settings.admin_up = false;
    bench.b.configure(settings);
    bench.run_for(microseconds(3));
    CHECK_FALSE(bench.a.link_up());
    CHECK(bench.a.status().reason == LinkDownReason::partner_down);
    settings.admin_up = true;
    bench.b.configure(settings);
    bench.run_for(nanoseconds(999));
    CHECK_FALSE(bench.a.link_up());
    bench.run_for(nanoseconds(1));
    CHECK(bench.a.link_up());
    CHECK(bench.heard_at_a.changes == std::vector<bool>{true});
}

TEST_CASE("a longer cable delays later frames, a shorter one lets none overtake", "[link]") {
    PortBench bench;
    bench.bring_up();
    bench.at_b.keeps = true;
    bench.link.set_delay(microseconds(3));
    bench.send(1000);
    bench.link.set_delay(nanoseconds(10));
    bench.send(1001);
    bench.drain();
    REQUIRE(bench.at_b.kept.size() == 2);
    CHECK(bench.at_b.kept[0]->size() == 1000);
    CHECK(bench.at_b.kept[1]->size() == 1001);
}

TEST_CASE("bit error ratios change at run time, by direction, within their limits", "[link]") {
    PortBench bench(LinkMode::speed_25g, {}, mask_of(FecMode::none));
    bench.bring_up();
    CHECK_FALSE(bench.link.set_bit_error_ratio(1, 2e-3));
    CHECK_FALSE(bench.link.set_bit_error_ratio(1, -1e-9));
    CHECK_FALSE(bench.link.set_bit_error_ratio(2, 1e-9));
    CHECK(bench.link.set_bit_error_ratio(1, 1e-3));
    CHECK(bench.link.bit_error_ratio(1) == 1e-3);
    CHECK(bench.link.bit_error_ratio(0) == 0);
    for (int i = 0; i < 20; ++i) {
        bench.send(1514);
        bench.b.transmit(bench.calendar.now(), bench.frame(1514));
    }
    bench.drain();
    CHECK(bench.at_a.frames == 20);
    CHECK(bench.at_b.frames == 0);
    CHECK(bench.b.port_counters().rx_fcs_errors.value() == 20);
    CHECK(bench.link.counters().damaged[1].value() == 20);
    CHECK(bench.link.set_bit_error_ratio(1, 0));
    bench.send(1514);
    bench.drain();
    CHECK(bench.at_b.frames == 1);
}

TEST_CASE("a port whose link is destroyed is down, without a cable", "[link]") {
    model::Calendar calendar;
    model::FramePool pool;
    model::stats::Group statistics{"bench"};
    eth::Mac a(calendar, test::bench_mac_config("a"), pool, statistics);
    eth::Mac b(calendar, test::bench_mac_config("b"), pool, statistics);
    a.configure(test::bench_settings(k10And25));
    b.configure(test::bench_settings(k10And25));
    {
        eth::Link link(calendar, {}, statistics);
        a.connect(link, 0);
        b.connect(link, 1);
        calendar.run_until(microseconds(2));
        REQUIRE(a.link_up());
        a.transmit(calendar.now(), pool.make(1000));
    }
    CHECK_FALSE(a.link_up());
    CHECK_FALSE(a.status().cable_present);
    CHECK(pool.in_use() == 0);
    calendar.run_until(microseconds(9));
    CHECK(calendar.empty());
}
