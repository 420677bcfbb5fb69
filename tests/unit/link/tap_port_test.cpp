// SPDX-License-Identifier: Apache-2.0
#include "eth/link/tap_port.h"

#include "eth/link/pcap_tap.h"
#include "tests/support/port_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

using namespace cxsim;
using model::LinkMode;
using model::mask_of;
using model::microseconds;
using test::CountingReceiver;

namespace {

struct Sockets {
    Sockets() { REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) == 0); }
    ~Sockets() { ::close(ends[0]); }
    std::array<int, 2> ends{};
};

struct TapBench {
    TapBench()
        : link(calendar, {}, statistics),
          card(calendar, test::bench_mac_config("a"), pool, statistics),
          tap(calendar, config(), sockets.ends[1], pool, statistics) {
        card.configure(test::bench_settings(mask_of(LinkMode::speed_100g_4x)));
        card.set_receiver(&receiver);
        card.connect(link, 0);
        tap.port().connect(link, 1);
        run();
    }
    static eth::TapConfig config() {
        eth::TapConfig tap;
        tap.port = test::bench_mac_config("t");
        tap.frames_per_pump = 4;
        return tap;
    }
    void run() { calendar.run_until(calendar.now() + microseconds(50)); }
    ssize_t host_sends(std::size_t size) {
        std::vector<std::byte> frame(size, std::byte{0x11});
        return ::send(sockets.ends[0], frame.data(), size, MSG_DONTWAIT);
    }
    ssize_t host_reads() {
        std::array<std::byte, 20'000> buffer;
        return ::recv(sockets.ends[0], buffer.data(), buffer.size(), MSG_DONTWAIT);
    }

    Sockets sockets;
    model::Calendar calendar;
    model::FramePool pool;
    model::stats::Group statistics{"bench"};
    CountingReceiver receiver;
    eth::Link link;
    eth::Mac card;
    eth::TapPort tap;
};

}  // namespace

TEST_CASE("frames pass between the host and a card, with padding", "[tap]") {
    TapBench bench;
    REQUIRE(bench.host_sends(42) == 42);
    REQUIRE(bench.host_sends(1514) == 1514);
    CHECK(bench.tap.pump() == 2);
    bench.run();
    CHECK(bench.receiver.frames == 2);
    CHECK(bench.receiver.bytes == 60 + 1514);
    model::FramePtr frame = bench.pool.make(100);
    std::fill(frame->bytes().begin(), frame->bytes().end(), std::byte{0x22});
    bench.card.transmit(bench.calendar.now(), std::move(frame));
    bench.run();
    CHECK(bench.host_reads() == 100);
    CHECK(bench.host_reads() == -1);
    CHECK(bench.tap.counters().to_host.value() == 1);
}

TEST_CASE("a pump takes a bounded number of frames", "[tap]") {
    TapBench bench;
    for (int i = 0; i < 6; ++i) REQUIRE(bench.host_sends(100) == 100);
    CHECK(bench.tap.pump() == 4);
    CHECK(bench.tap.pump() == 2);
    CHECK(bench.tap.pump() == 0);
}

TEST_CASE("runts and giants of the host are dropped and counted", "[tap]") {
    TapBench bench;
    REQUIRE(bench.host_sends(13) == 13);
    REQUIRE(bench.host_sends(9997) == 9997);
    bench.tap.pump();
    bench.run();
    CHECK(bench.receiver.frames == 0);
    CHECK(bench.tap.counters().dropped_bad.value() == 2);
}

TEST_CASE("a host that does not read loses frames, each counted", "[tap]") {
    TapBench bench;
    constexpr int kFrames = 2000;
    for (int i = 0; i < kFrames; ++i) {
        model::FramePtr frame = bench.pool.make(9000);
        std::fill(frame->bytes().begin(), frame->bytes().end(), std::byte{0});
        bench.card.transmit(bench.calendar.now(), std::move(frame));
    }
    while (bench.calendar.run_one()) {
    }
    const auto& counters = bench.tap.counters();
    CHECK(counters.dropped_host_full.value() > 0);
    CHECK(counters.to_host.value() + counters.dropped_host_full.value() == kFrames);
    CHECK(counters.errors.value() == 0);
}

TEST_CASE("synthetic frames cannot go to the host", "[tap]") {
    TapBench bench;
    model::FramePtr frame = bench.pool.make(60);
    frame->synthetic = 1000;
    bench.card.transmit(bench.calendar.now(), std::move(frame));
    bench.run();
    CHECK(bench.tap.counters().dropped_bad.value() == 1);
}

TEST_CASE("a host that went away is no work", "[tap]") {
    TapBench bench;
    ::shutdown(bench.sockets.ends[0], SHUT_RDWR);
    CHECK(bench.tap.pump() == 0);
}

TEST_CASE("TAP names are checked", "[tap]") {
    CHECK(eth::open_tap("") == -1);
    CHECK(errno == EINVAL);
    CHECK(eth::open_tap("a_name_of_more_than_15_characters") == -1);
    CHECK(errno == EINVAL);
}

TEST_CASE("a capture has both directions in the order of simulated time", "[pcap]") {
    const std::string path = std::tmpnam(nullptr);
    test::PortBench bench;
    {
        eth::PcapTap tap(bench.link, 0, path);
        bench.bring_up();
        bench.send(100);
        bench.run_for(microseconds(1));
        bench.b.transmit(bench.calendar.now(), bench.frame(200));
        bench.drain();
        CHECK_FALSE(tap.failed());
        CHECK(tap.frames() == 2);
    }
    bench.send(300);  // nobody listens any more
    bench.drain();
    eth::PcapReader reader(path);
    REQUIRE(reader.ok());
    const auto sent = reader.next();
    REQUIRE(sent);
    CHECK(sent->wire_bytes == 100);
    CHECK(sent->nanoseconds == 2050);  // the first bit after the MAC's 50 ns
    const auto received = reader.next();
    REQUIRE(received);
    CHECK(received->wire_bytes == 200);
    CHECK(received->nanoseconds > sent->nanoseconds + 900);
    CHECK_FALSE(reader.next());
    std::remove(path.c_str());
}
