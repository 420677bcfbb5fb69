// SPDX-License-Identifier: Apache-2.0
#include "eth/mac/mac.h"
#include "eth/wire/mac_control.h"
#include "tests/support/port_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using eth::MacControl;
using model::LinkMode;
using model::microseconds;
using model::nanoseconds;
using model::Picoseconds;
using test::PortBench;

namespace {

// Without FEC times are easy to tell; 25 Gb/s: a quantum is 20.48 ns.
struct PauseBench : PortBench {
    PauseBench() : PortBench(LinkMode::speed_25g, {}, mask_of(model::FecMode::none)) {}

    void change(eth::Mac& mac, auto&& edit) {
        model::PortSettings settings = mac.settings();
        edit(settings);
        mac.configure(settings);
    }
    /// A control frame to port a, arriving `latency` from now.
    void control(const MacControl& what) {
        model::FramePtr made = pool.make(60);
        eth::encode_mac_control(what, {0x02'00'00'00'00'0b}, made->bytes());
        b.transmit(calendar.now(), std::move(made));
        run_for(latency);
    }
    static MacControl pause_for(std::uint16_t quanta) {
        MacControl control;
        control.quanta[0] = quanta;
        return control;
    }
    // 72 bytes at 25 Gb/s, both MACs and the cable.
    const Picoseconds latency = model::picoseconds(72 * 320) + nanoseconds(110);
};

}  // namespace

TEST_CASE("senders of a paused port ask again before the pause has run out", "[pause]") {
    PauseBench bench;
    bench.change(bench.a, [](auto& s) { s.pause_rx = true; });
    bench.bring_up();
    bench.control(PauseBench::pause_for(0xffff));
    const Picoseconds now = bench.calendar.now();
    const Picoseconds end = now + model::picoseconds(0xffff * 20'480LL);
    for (int i = 0; i < 60; ++i) bench.send(1514);
    CHECK(bench.a.room_at(now, 0) > now);
    CHECK(bench.a.room_at(now, 0) < now + microseconds(30));
    for (int i = 0; i < 3000; ++i) bench.send(1514);  // but not without end
    CHECK(bench.a.room_at(now, 0) > end);
}

TEST_CASE("a pause frame stops sending for its quanta of 512 bit times", "[pause]") {
    PauseBench bench;
    bench.change(bench.a, [](auto& s) { s.pause_rx = true; });
    bench.bring_up();
    bench.control(PauseBench::pause_for(1000));
    const Picoseconds paused_at = bench.calendar.now();
    bench.send(60);
    bench.drain();
    CHECK(bench.at_b.last == paused_at + model::picoseconds(1000 * 20'480) + bench.latency);
    eth::PortCounters& counters = bench.a.port_counters();
    bench.a.counters();
    CHECK(counters.rx_control.value() == 1);
    CHECK(counters.rx_pause.value() == 1);
    CHECK(counters.rx_prio_pause[0].value() == 1);
    CHECK(counters.rx_prio_pause_transition[0].value() == 1);
    CHECK(counters.rx_prio_pause_duration[0].value() == 20'480'000);
    CHECK(counters.rx_delivered.value() == 0);  // control frames go no further
}

TEST_CASE("a pause of no quanta ends a pause", "[pause]") {
    PauseBench bench;
    bench.change(bench.a, [](auto& s) { s.pause_rx = true; });
    bench.bring_up();
    bench.control(PauseBench::pause_for(0xffff));
    bench.send(60);
    bench.run_for(microseconds(10));
    CHECK(bench.at_b.frames == 0);
    bench.control(PauseBench::pause_for(0));
    const Picoseconds resumed_at = bench.calendar.now();
    bench.drain();
    CHECK(bench.at_b.last == resumed_at + bench.latency);
}

TEST_CASE("a port told not to obey pause frames counts them and goes on", "[pause]") {
    PauseBench bench;
    bench.bring_up();
    bench.control(PauseBench::pause_for(0xffff));
    const Picoseconds now = bench.calendar.now();
    bench.send(60);
    bench.drain();
    CHECK(bench.at_b.last == now + bench.latency);
    CHECK(bench.a.port_counters().rx_pause.value() == 1);
    CHECK(bench.a.port_counters().rx_prio_pause_transition[0].value() == 0);
}

TEST_CASE("priority flow control stops its priorities and no other", "[pause]") {
    PauseBench bench;
    bench.change(bench.a, [](auto& s) { s.pfc_rx = 0x18; });
    bench.bring_up();
    MacControl control;
    control.kind = MacControl::Kind::priority;
    control.enabled = 0x0a;  // 1 and 3; 1 is not obeyed
    control.quanta.fill(1000);
    bench.control(control);
    const Picoseconds paused_at = bench.calendar.now();
    bench.at_b.keeps = true;
    bench.send(1003, 3);
    bench.send(1004, 4);
    bench.send(1001, 1);
    bench.drain();
    REQUIRE(bench.at_b.kept.size() == 3);
    CHECK(bench.at_b.kept[0]->size() == 1004);
    CHECK(bench.at_b.kept[1]->size() == 1001);
    CHECK(bench.at_b.kept[2]->size() == 1003);
    CHECK(bench.at_b.last > paused_at + model::picoseconds(1000 * 20'480));
    CHECK(bench.a.port_counters().rx_prio_pause[1].value() == 1);
    CHECK(bench.a.port_counters().rx_prio_pause[3].value() == 1);
    CHECK(bench.a.port_counters().rx_prio_pause_transition[1].value() == 0);
    CHECK(bench.a.port_counters().rx_prio_pause_transition[3].value() == 1);
}

TEST_CASE("MAC control frames with another opcode are counted and dropped", "[pause]") {
    PauseBench bench;
    bench.bring_up();
    model::FramePtr made = bench.pool.make(60);
    std::fill(made->bytes().begin(), made->bytes().end(), std::byte{0});
    eth::Ethernet(made->bytes().data()).set_type(0x8808);
    made->bytes()[15] = std::byte{9};
    bench.a.transmit(bench.calendar.now(), std::move(made));
    bench.drain();
    CHECK(bench.b.port_counters().rx_control.value() == 1);
    CHECK(bench.b.port_counters().rx_unsupported_control.value() == 1);
    CHECK(bench.at_b.frames == 0);
}

TEST_CASE("a slow receiver without pause overflows its buffer, each discard counted", "[pause]") {
    PauseBench bench;
    bench.bring_up();
    bench.at_b.service = microseconds(2);  // frames come every half microsecond
    for (int i = 0; i < 1000; ++i) bench.send(1514);
    bench.drain();
    eth::PortCounters& counters = bench.b.port_counters();
    CHECK(counters.rx_discards.value() > 100);
    CHECK(counters.rx_prio_discards[0].value() == counters.rx_discards.value());
    CHECK(counters.rx_discards.value() + bench.at_b.frames == 1000);
    CHECK(counters.rx_buffer_full.value() > 0);
    CHECK(counters.rx_buffer_almost_full.value() > 0);
    CHECK(counters.tx_pause.value() == 0);
    bench.calendar.run_until(bench.at_b.busy_until);
    CHECK(bench.b.buffered().value == 0);
}

TEST_CASE("pause in both ends loses nothing, and the sender is let go", "[pause]") {
    for (const bool by_priority : {false, true}) {
        CAPTURE(by_priority);
        PauseBench bench;
        bench.change(bench.b, [&](auto& s) {
            s.pause_tx = !by_priority;
            s.pfc_tx = by_priority ? 0x01 : 0;
            s.buffers[0].lossy = false;
        });
        bench.change(bench.a, [&](auto& s) {
            s.pause_rx = !by_priority;
            s.pfc_rx = by_priority ? 0x01 : 0;
        });
        bench.bring_up();
        bench.at_b.service = microseconds(2);
        constexpr int kFrames = 2000;
        for (int i = 0; i < kFrames; ++i) bench.send(1514);
        const Picoseconds begin = bench.calendar.now();
        bench.calendar.run_until(begin + microseconds(2 * kFrames + 500));
        CHECK(bench.at_b.frames == kFrames);
        eth::PortCounters& b = bench.b.port_counters();
        eth::PortCounters& a = bench.a.port_counters();
        bench.a.counters();
        bench.b.counters();
        CHECK(b.rx_discards.value() == 0);
        CHECK(b.tx_prio_pause[0].value() >= 2);
        CHECK(b.tx_pause.value() == b.tx_control.value());
        CHECK(a.rx_prio_pause[0].value() == b.tx_prio_pause[0].value());
        CHECK(a.rx_prio_pause_transition[0].value() > 0);
        // Paused most of the time: the receiver takes a quarter of the rate.
        CHECK(a.rx_prio_pause_duration[0].value() > 2'000'000'000);
        CHECK(b.tx_prio_pause_duration[0].value() > 2'000'000'000);
        // The receiver never waits for frames once its buffer has filled.
        CHECK(bench.at_b.busy_until <= begin + microseconds(2 * kFrames + 10));
        bench.run_for(model::milliseconds(2));  // longer than any pause
        CHECK(bench.calendar.empty());
    }
}

TEST_CASE("a pause is repeated before its quanta have passed", "[pause]") {
    PauseBench bench;
    bench.change(bench.b, [](auto& s) {
        s.pause_tx = true;
        s.buffers[0].lossy = false;
        s.pause_quanta = 200;
        s.pause_refresh = 100;
    });
    bench.change(bench.a, [](auto& s) { s.pause_rx = true; });
    bench.bring_up();
    bench.at_b.service = microseconds(20);
    for (int i = 0; i < 400; ++i) bench.send(1514);
    bench.run_for(model::milliseconds(2));
    // 100 quanta are 2 us: hundreds of repetitions. The sender goes on only when the buffer has
    // drained from xoff to xon, by one MTU or six frames of 20 us: not more than 17 times.
    CHECK(bench.b.port_counters().tx_prio_pause[0].value() > 500);
    CHECK(bench.a.port_counters().rx_prio_pause_transition[0].value() >= 1);
    CHECK(bench.a.port_counters().rx_prio_pause_transition[0].value() <= 17);
    CHECK(bench.b.port_counters().rx_discards.value() == 0);
}

TEST_CASE("buffers by priority keep a flood of one from another", "[pause]") {
    PauseBench bench;
    bench.change(bench.b, [](auto& s) {
        s.buffers[0].size = {64 * 1024};
        s.buffers[1].size = {64 * 1024};
        s.buffer_of_priority[5] = 1;
    });
    bench.bring_up();
    bench.at_b.service = microseconds(2);
    const auto tagged = [&](unsigned priority) {
        model::FramePtr frame = bench.frame(1514, priority);
        eth::Ethernet(frame->bytes().data()).set_type(0x8100);
        eth::VlanTag(frame->bytes().data() + 12)
            .set_tci(static_cast<std::uint16_t>(priority << 13));
        bench.a.transmit(bench.calendar.now(), std::move(frame));
    };
    for (int i = 0; i < 200; ++i) tagged(0);
    bench.run_for(microseconds(60));
    for (int i = 0; i < 20; ++i) tagged(5);
    bench.drain();
    CHECK(bench.b.port_counters().rx_prio_discards[0].value() > 0);
    CHECK(bench.b.port_counters().rx_prio_discards[5].value() == 0);
}

TEST_CASE("switching pause off lets the other end go at once", "[pause]") {
    PauseBench bench;
    bench.change(bench.b, [](auto& s) {
        s.pause_tx = true;
        s.buffers[0].lossy = false;
    });
    bench.change(bench.a, [](auto& s) { s.pause_rx = true; });
    bench.bring_up();
    bench.at_b.service = microseconds(50);
    for (int i = 0; i < 300; ++i) bench.send(1514);
    bench.run_for(microseconds(300));
    const auto before = bench.at_b.frames;
    bench.run_for(microseconds(100));
    REQUIRE(bench.at_b.frames == before);  // paused
    bench.change(bench.b, [](auto& s) { s.pause_tx = false; });
    bench.run_for(microseconds(10));
    CHECK(bench.b.port_counters().rx_events.value() > before);
}
