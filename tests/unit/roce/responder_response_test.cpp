// SPDX-License-Identifier: Apache-2.0
// The way back: coalescing, pacing, and what stops.
#include "tests/unit/roce/responder_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using cxsim::test::ResponderBench;
using model::nanoseconds;
using model::Picoseconds;
using Op = roce::Operation;

namespace {

// A packet every 100 ns.
class SlowLimiter final : public roce::RateLimiter {
  public:
    Picoseconds reserve(Picoseconds at, std::uint32_t wire_bytes) override {
        bytes += wire_bytes;
        next_ = std::max(next_, at);
        const Picoseconds slot = next_;
        next_ += nanoseconds(100);
        return slot;
    }
    void notified(Picoseconds) override {}
    void restarted(Picoseconds) override {}
    std::uint64_t bytes = 0;

  private:
    Picoseconds next_;
};

void write(ResponderBench& bench) {
    bench.request(bench.remote(Op::write_only, 0, 4, true), bench.data(4));
}

}  // namespace

TEST_CASE("without coalescing each request that asks is answered", "[responder]") {
    ResponderBench bench;
    for (int i = 0; i < 5; ++i) write(bench);
    bench.settle();
    REQUIRE(bench.output.packets.size() == 5);
    for (std::uint32_t i = 0; i < 5; ++i) {
        CHECK(bench.output.packets[i].headers().psn == 100 + i);
        CHECK(bench.output.packets[i].headers().msn == 1 + i);
    }
}

TEST_CASE("acknowledgements that wait take in as many more as the card allows", "[responder]") {
    ResponderBench bench;
    bench.timing.acknowledge_coalesce = 4;
    for (int i = 0; i < 6; ++i) write(bench);
    bench.settle();
    REQUIRE(bench.output.packets.size() == 2);
    CHECK(bench.output.packets[0].headers().psn == 103);
    CHECK(bench.output.packets[0].headers().msn == 4);
    CHECK(bench.output.packets[1].headers().psn == 105);
    CHECK(bench.output.packets[1].headers().msn == 6);
    CHECK(bench.counters.acknowledges_sent == 2);

    // One that has left takes nothing in.
    write(bench);
    bench.settle();
    write(bench);
    bench.settle();
    CHECK(bench.output.packets.size() == 4);
}

TEST_CASE("acknowledgements are not taken together across a READ", "[responder]") {
    ResponderBench bench;
    bench.timing.acknowledge_coalesce = 16;
    write(bench);
    bench.request(bench.remote(Op::read_request, 0, 4));
    write(bench);
    write(bench);
    bench.settle();
    REQUIRE(bench.output.packets.size() == 3);
    CHECK(bench.output.packets[0].headers().psn == 100);
    CHECK(bench.output.packets[1].operation() == Op::read_response_only);
    CHECK(bench.output.packets[2].headers().psn == 103);
}

TEST_CASE("one event of the calendar is pending however much waits", "[responder]") {
    ResponderBench bench;
    for (int i = 0; i < 20; ++i) write(bench);
    bench.request(bench.remote(Op::read_request, 0, 4096), {}, 16);
    write(bench);
    CHECK(bench.calendar.pending() == 1);
    const std::uint64_t before = bench.calendar.executed();
    bench.settle();
    CHECK(bench.output.packets.size() == 37);
    CHECK(bench.calendar.executed() - before <= 3);
}

TEST_CASE("READ responses wait for room at the port and leave in bursts", "[responder]") {
    ResponderBench bench;
    bench.output.busy_until = nanoseconds(2000);
    bench.request(bench.remote(Op::read_request, 0, 40 * 256), {}, 40);
    bench.run_until(nanoseconds(1999));
    CHECK(bench.output.packets.empty());
    const std::uint64_t before = bench.calendar.executed();
    bench.settle();
    CHECK(bench.output.packets.size() == 40);
    CHECK(bench.calendar.executed() - before <= 4);
    // The packetizer makes one every 5 ns.
    for (std::size_t i = 1; i < 40; ++i) {
        CHECK(bench.output.packets[i].ready - bench.output.packets[i - 1].ready == nanoseconds(5));
    }
}

TEST_CASE("a rate limiter spaces READ responses and sees their size on the wire", "[responder]") {
    ResponderBench bench;
    bench.connection.rate = std::make_unique<SlowLimiter>();
    auto& limiter = static_cast<SlowLimiter&>(*bench.connection.rate);
    bench.request(bench.remote(Op::read_request, 0, 4 * 256), {}, 4);
    write(bench);
    bench.settle();
    REQUIRE(bench.output.packets.size() == 5);
    for (std::size_t i = 1; i < 4; ++i) {
        CHECK(bench.output.packets[i].ready - bench.output.packets[i - 1].ready ==
              nanoseconds(100));
    }
    // Ethernet, IP, UDP, BTH, AETH of first and last, payload, ICRC, FCS, preamble, gap.
    CHECK(limiter.bytes == 4 * (14 + 20 + 8 + 12 + 256 + 4 + 24) + 2 * 4);
}

TEST_CASE("nothing of a stopped connection is sent, and it starts anew", "[responder]") {
    ResponderBench bench;
    bench.output.busy_until = nanoseconds(5000);
    bench.queues.post_receive(1, ResponderBench::kBuffer, 1024);
    bench.request(bench.remote(Op::read_request, 0, 512), {}, 2);
    bench.request(bench.headers(Op::send_first), bench.data(256));
    bench.responder.stop(bench.connection);
    CHECK(bench.calendar.empty());
    bench.settle();
    CHECK(bench.output.packets.empty());
    CHECK(bench.queues.received.empty());

    bench.connection.attributes.receive_psn = 7;
    bench.responder.start(bench.connection);
    bench.psn = 7;
    CHECK(bench.responder.expected_psn(bench.connection) == 7);
    CHECK(bench.responder.message_number(bench.connection) == 0);
    write(bench);  // no message is under way
    bench.settle();
    REQUIRE(bench.output.packets.size() == 1);
    CHECK(bench.last_is_ack());
    CHECK(bench.last().msn == 1);
    // What was read before the start is forgotten.
    bench.psn = 100;
    bench.connection.responder.expected = 200;
    bench.arrive(bench.remote(Op::read_request, 0, 512));
    CHECK(bench.counters.dropped_request == 1);
}

TEST_CASE("an event that outlived its connection does nothing", "[responder]") {
    ResponderBench bench;
    write(bench);
    bench.connection.tag = 999;
    bench.settle();
    CHECK(bench.connections.stale == 1);
    CHECK(bench.output.packets.empty());
}
