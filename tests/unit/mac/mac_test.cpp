// SPDX-License-Identifier: Apache-2.0
#include "eth/mac/mac.h"

#include "tests/support/port_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using model::LinkMode;
using model::microseconds;
using model::nanoseconds;
using model::picoseconds;
using test::PortBench;

TEST_CASE("a link comes up when both ends are enabled and its time has passed", "[mac]") {
    PortBench bench;
    CHECK_FALSE(bench.a.link_up());
    CHECK(bench.a.status().reason == model::LinkDownReason::training);
    CHECK(bench.a.status().cable_present);
    bench.run_for(nanoseconds(999));
    CHECK_FALSE(bench.a.link_up());
    bench.run_for(nanoseconds(1));
    CHECK(bench.a.link_up());
    CHECK(bench.b.link_up());
    const model::PortStatus status = bench.b.status();
    CHECK(status.mode == LinkMode::speed_100g_4x);
    CHECK(status.lanes == 4);
    CHECK(status.fec == model::FecMode::rs_528_514);
    CHECK(status.rate == model::gigabits_per_second(100));
    CHECK(status.time_to_up == microseconds(1));
    CHECK(bench.b.up_since() == microseconds(1));
    CHECK(bench.heard_at_a.changes == std::vector<bool>{true});
    CHECK(bench.heard_at_b.changes == std::vector<bool>{true});
}

TEST_CASE("a frame arrives after its bits, the cable and the latencies", "[mac]") {
    PortBench bench(LinkMode::speed_25g, {}, model::mask_of(model::FecMode::none));
    bench.bring_up();
    const model::Picoseconds sent = bench.calendar.now();
    bench.send(1514);
    bench.drain();
    // 8 + 1518 bytes at 25 Gb/s, 2 x 50 ns of MAC, 10 ns of cable.
    CHECK(bench.at_b.last - sent == picoseconds(1526 * 320) + nanoseconds(110));
    CHECK(bench.at_b.frames == 1);
    CHECK(bench.at_b.bytes == 1514);
}

TEST_CASE("FEC delays a frame by its codeword and the decoder", "[mac]") {
    PortBench bench(LinkMode::speed_25g, {}, model::mask_of(model::FecMode::rs_528_514));
    bench.bring_up();
    const model::Picoseconds sent = bench.calendar.now();
    bench.send(1514);
    bench.drain();
    CHECK(bench.at_b.last - sent == picoseconds(1526 * 320 + 204'800) + nanoseconds(150));
}

TEST_CASE("short frames are padded with zeros to 64 bytes on the wire", "[mac]") {
    PortBench bench;
    bench.bring_up();
    bench.at_b.keeps = true;
    model::FramePtr frame = bench.frame(42);
    std::fill(frame->bytes().begin(), frame->bytes().end(), std::byte{0x5a});
    bench.a.transmit(bench.calendar.now(), std::move(frame));
    bench.drain();
    REQUIRE(bench.at_b.frames == 1);
    const model::Frame& got = *bench.at_b.kept[0];
    CHECK(got.size() == 60);
    CHECK(got.bytes()[41] == std::byte{0x5a});
    CHECK(got.bytes()[42] == std::byte{0});
    CHECK(got.bytes()[59] == std::byte{0});
    CHECK(bench.a.port_counters().tx_octets.value() == 64);
    CHECK(bench.b.port_counters().rx_octets.value() == 64);
    CHECK(bench.b.port_counters().rx_sizes[0].value() == 1);
}

TEST_CASE("without a link and beyond the MTU frames are dropped and counted", "[mac]") {
    PortBench bench;
    bench.send(100);
    CHECK(bench.a.port_counters().tx_no_link.value() == 1);
    bench.bring_up();
    bench.send(9018);  // 9022 with its FCS
    bench.send(9019);
    bench.drain();
    CHECK(bench.a.port_counters().tx_oversize.value() == 1);
    CHECK(bench.a.port_counters().tx_discards.value() == 2);
    CHECK(bench.at_b.frames == 1);
    CHECK(bench.pool.in_use() == 0);
}

TEST_CASE("a receiver with a smaller MTU drops longer frames as oversize", "[mac]") {
    PortBench bench;
    model::PortSettings settings = bench.b.settings();
    settings.mtu = 1522;
    bench.b.configure(settings);
    bench.bring_up();
    bench.send(1518);
    bench.send(1519);
    bench.drain();
    CHECK(bench.at_b.frames == 1);
    CHECK(bench.b.port_counters().rx_oversize.value() == 1);
    CHECK(bench.b.port_counters().rx_errors.value() == 1);
}

TEST_CASE("frames of one priority keep their order, higher priorities go first", "[mac]") {
    PortBench bench;
    bench.bring_up();
    bench.at_b.keeps = true;
    bench.send(1000, 1);  // on the wire at once
    bench.send(1001, 1);
    bench.send(1002, 1);
    bench.send(1003, 5);
    bench.send(1004, 7);
    bench.drain();
    std::vector<std::uint32_t> sizes;
    for (const auto& frame : bench.at_b.kept) sizes.push_back(frame->size());
    CHECK(sizes == std::vector<std::uint32_t>{1000, 1004, 1003, 1001, 1002});
    CHECK(bench.a.port_counters().tx_prio_frames[1].value() == 3);
    CHECK(bench.a.port_counters().tx_prio_frames[7].value() == 1);
}

TEST_CASE("a frame is not sent before it is ready", "[mac]") {
    PortBench bench(LinkMode::speed_100g_4x, {}, model::mask_of(model::FecMode::none));
    bench.bring_up();
    const model::Picoseconds ready = bench.calendar.now() + microseconds(5);
    bench.a.transmit(ready, bench.frame(60));
    bench.drain();
    CHECK(bench.at_b.last == ready + picoseconds(72 * 80) + nanoseconds(110));
}

TEST_CASE("senders are held back while a queue is long, until it has drained enough", "[mac]") {
    PortBench bench;
    bench.bring_up();
    const model::Picoseconds now = bench.calendar.now();
    CHECK(bench.a.room_at(now, 3) == now);
    for (int i = 0; i < 100; ++i) bench.send(1514, 3);
    const model::Picoseconds later = bench.a.room_at(now, 3);
    CHECK(later > now);
    bench.calendar.run_until(later);
    CHECK(bench.a.room_at(later, 3) == later);
    // At once when less than the buffer waits: a frame of 1538 bytes has left.
    constexpr std::uint64_t kLevel = 64 * 1024;
    CHECK(bench.a.queued_bytes(3) < kLevel);
    CHECK(bench.a.queued_bytes(3) >= kLevel - 1538);
    CHECK(bench.a.room_at(later, 4) == later);
}

TEST_CASE("a link that is switched off takes its waiting frames with it", "[mac]") {
    PortBench bench;
    bench.bring_up();
    for (int i = 0; i < 10; ++i) bench.send(1514);
    model::PortSettings settings = bench.a.settings();
    settings.admin_up = false;
    bench.a.configure(settings);
    CHECK_FALSE(bench.a.link_up());
    CHECK_FALSE(bench.b.link_up());
    CHECK(bench.a.status().reason == model::LinkDownReason::admin_down);
    CHECK(bench.b.status().reason == model::LinkDownReason::partner_down);
    CHECK(bench.heard_at_a.changes == std::vector<bool>{true, false});
    CHECK(bench.heard_at_b.changes == std::vector<bool>{true, false});
    CHECK(bench.a.port_counters().tx_no_link.value() == 9);
    CHECK(bench.link.counters().lost[1].value() == 1);
    // Only the other end lost its link unasked.
    CHECK(bench.a.port_counters().phy.link_down_events.value() == 0);
    CHECK(bench.b.port_counters().phy.link_down_events.value() == 1);
    bench.drain();
    CHECK(bench.at_b.frames == 0);
    CHECK(bench.pool.in_use() == 0);

    settings.admin_up = true;
    bench.a.configure(settings);
    bench.bring_up();
    CHECK(bench.a.link_up());
    bench.send(1514);
    bench.drain();
    CHECK(bench.at_b.frames == 1);
}

TEST_CASE("ports count frames by destination, size and priority tag", "[mac]") {
    PortBench bench;
    bench.bring_up();
    const auto send_to = [&](std::uint64_t address, std::uint32_t size) {
        model::FramePtr frame = bench.frame(size);
        eth::Ethernet(frame->bytes().data()).set_destination({address});
        bench.a.transmit(bench.calendar.now(), std::move(frame));
    };
    send_to(0xffff'ffff'ffff, 60);
    send_to(0x0100'5e00'0001, 1514);
    send_to(0x0200'0000'000b, 9000);
    model::FramePtr tagged = bench.frame(200);
    eth::Ethernet(tagged->bytes().data()).set_type(0x8100);
    eth::VlanTag(tagged->bytes().data() + 12).set_tci(6 << 13 | 100);
    bench.a.transmit(bench.calendar.now(), std::move(tagged));
    bench.drain();
    eth::PortCounters& tx = bench.a.port_counters();
    eth::PortCounters& rx = bench.b.port_counters();
    CHECK(tx.tx_broadcast.value() == 1);
    CHECK(rx.rx_broadcast.value() == 1);
    CHECK(tx.tx_multicast.value() == 1);
    CHECK(rx.rx_multicast.value() == 1);
    CHECK(tx.tx_unicast.value() == 2);
    CHECK(rx.rx_unicast.value() == 2);
    CHECK(rx.rx_sizes[0].value() == 1);
    CHECK(rx.rx_sizes[2].value() == 1);
    CHECK(rx.rx_sizes[5].value() == 1);
    CHECK(rx.rx_sizes[9].value() == 1);
    CHECK(rx.rx_prio_frames[6].value() == 1);
    CHECK(rx.rx_prio_octets[6].value() == 204);
    CHECK(rx.rx_prio_frames[0].value() == 3);
}

TEST_CASE("frames find no receiver while none is set", "[mac]") {
    PortBench bench;
    bench.bring_up();
    bench.b.set_receiver(nullptr);
    bench.send(100);
    bench.drain();
    CHECK(bench.b.port_counters().rx_no_receiver.value() == 1);
    CHECK(bench.b.port_counters().rx_frames.value() == 1);
}
