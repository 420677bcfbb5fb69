// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/link/switch_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using model::microseconds;
using test::kBroadcast;
using test::station;
using test::SwitchBench;

namespace {

using Counts = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("a switch floods what it does not know and learns where stations are", "[switch]") {
    SwitchBench bench;
    bench.send(0, station(2));
    CHECK(bench.received() == Counts{0, 1, 1, 1});
    bench.send(2, station(0));
    CHECK(bench.received() == Counts{1, 0, 0, 0});
    bench.send(0, station(2));
    CHECK(bench.received() == Counts{0, 0, 1, 0});
    CHECK(bench.network.known_addresses() == 2);
    CHECK(bench.network.counters().flooded.value() == 1);
}

TEST_CASE("broadcast and multicast go to all other ports, control frames to none", "[switch]") {
    SwitchBench bench;
    bench.send(1, kBroadcast);
    CHECK(bench.received() == Counts{1, 0, 1, 1});
    bench.send(1, 0x0100'5e00'0001);
    CHECK(bench.received() == Counts{1, 0, 1, 1});
    bench.send(1, 0x0180'c200'000e);  // LLDP
    CHECK(bench.received() == Counts{0, 0, 0, 0});
    CHECK(bench.network.counters().filtered.value() == 1);
}

TEST_CASE("a frame for a station at its own port goes nowhere", "[switch]") {
    SwitchBench bench;
    bench.send(0, kBroadcast);
    bench.received();
    bench.send(0, station(0));
    CHECK(bench.received() == Counts{0, 0, 0, 0});
    CHECK(bench.network.counters().filtered.value() == 1);
}

TEST_CASE("a station that moved is found at its new port", "[switch]") {
    SwitchBench bench;
    bench.send(0, kBroadcast);
    bench.received();
    model::FramePtr moved = bench.pool.make(100);
    std::fill(moved->bytes().begin(), moved->bytes().end(), std::byte{0});
    eth::Ethernet(moved->bytes().data()).set_destination({kBroadcast});
    eth::Ethernet(moved->bytes().data()).set_source({station(0)});
    bench.macs[3]->transmit(bench.calendar.now(), std::move(moved));
    bench.received();
    bench.send(1, station(0));
    CHECK(bench.received() == Counts{0, 0, 0, 1});
}

TEST_CASE("old addresses are forgotten where ageing is on", "[switch]") {
    eth::SwitchConfig config;
    config.ageing = microseconds(100);
    SwitchBench bench(config);
    bench.send(0, kBroadcast);
    bench.received();
    bench.calendar.run_until(bench.calendar.now() + microseconds(200));
    bench.send(1, station(0));
    CHECK(bench.received() == Counts{1, 0, 1, 1});
}

TEST_CASE("a full table floods and counts", "[switch]") {
    eth::SwitchConfig config;
    config.table_size = 1;
    SwitchBench bench(config);
    bench.send(0, kBroadcast);
    bench.received();
    bench.send(1, kBroadcast);
    bench.received();
    CHECK(bench.network.counters().table_full.value() == 1);
    bench.send(2, station(1));
    CHECK(bench.received() == Counts{1, 1, 0, 1});
}

TEST_CASE("two senders to one port overflow its queue, and every copy is accounted for",
          "[switch]") {
    eth::SwitchConfig config;
    config.queue_limit = model::Bytes{20'000};
    SwitchBench bench(config);
    bench.send(3, kBroadcast);
    bench.received();
    for (int i = 0; i < 100; ++i) {
        bench.send(0, station(3), 1514);
        bench.send(1, station(3), 1514);
    }
    const Counts counts = bench.received();
    const auto dropped = bench.network.counters().dropped_queue_full.value();
    CHECK(dropped > 50);
    CHECK(counts[3] + dropped == 200);
    CHECK(bench.pool.in_use() == 0);
}

TEST_CASE("copies to ports without a link are dropped and counted", "[switch]") {
    SwitchBench bench;
    bench.links[2]->set_plugged(false);
    bench.send(0, kBroadcast);
    CHECK(bench.received() == Counts{0, 1, 0, 1});
    CHECK(bench.network.counters().dropped_no_link.value() == 1);
}
