// SPDX-License-Identifier: Apache-2.0
// What packets cost: calendar events, allocations, and how fairly QPs share the card. Allocations
// are counted here for all files of this executable.
#include "tests/support/allocations.h"
#include "tests/unit/roce/requester_fixture.h"

using namespace cxsim;
using cxsim::test::RequesterBench;
using model::WqeOpcode;
using model::microseconds;
using model::nanoseconds;

namespace {

/// A peer that acknowledges what asks for it, 2 us later, and a queue that is never empty.
struct Stream : RequesterBench {
    struct Waiting {
        roce::Connection* connection;
        std::uint32_t psn;
        model::Picoseconds at;
    };
    // A ring, so that the peer allocates nothing.
    std::vector<Waiting> waiting = std::vector<Waiting>(8192);
    std::size_t first = 0;
    std::size_t last = 0;
    std::uint64_t peer_events = 0;
    std::uint64_t bytes = 0;
    std::vector<roce::Connection*> opened;
    roce::Connection* sending = nullptr;

    Stream() {
        output.keep = false;
        output.on_packet = [this](const test::RecordingOutput::Record& record) {
            const auto& headers = record.headers();
            if (!headers.ack_request) return;
            roce::Connection* from = connections.connections[headers.destination_qp];
            waiting[last++ % waiting.size()] = {from, headers.psn,
                                                record.ready + microseconds(2)};
            calendar.schedule<&Stream::acknowledge>(record.ready + microseconds(2), this);
        };
    }
    void acknowledge(const model::EventArguments&) {
        ++peer_events;
        const Waiting next = waiting[first++ % waiting.size()];
        queues.sent.clear();
        queues.room.clear();
        ack(*next.connection, next.psn);
        sending = next.connection;
        fill();
    }
    void fill() {
        while (!sending->requester.full) {
            post(*sending, {.opcode = WqeOpcode::rdma_write, .bytes = bytes});
        }
    }
    void begin(std::uint32_t connections_count, std::uint64_t message) {
        bytes = message;
        queues.sent.reserve(4096);
        queues.room.reserve(4096);
        for (std::uint32_t n = 0; n < connections_count; ++n) {
            // The peer of the test finds the sender by the number the packets go to.
            auto& c = open(n + 10, 0, roce::WireService::rc,
                           [n](roce::QpAttributes& a) { a.remote_qp = n + 10; });
            opened.push_back(&c);
            sending = &c;
            fill();
        }
    }
    double own_events_per_packet(model::Picoseconds time) {
        const std::uint64_t events = calendar.executed() - peer_events;
        const std::uint64_t packets = output.count;
        run_for(time);
        return static_cast<double>(calendar.executed() - peer_events - events) /
               static_cast<double>(output.count - packets);
    }
};

}  // namespace

TEST_CASE("a long message costs a fraction of an event per packet", "[requester]") {
    Stream b;
    b.timing.request_window = 16;
    b.begin(1, 64 * 1024);
    b.run_for(microseconds(100));
    CHECK(b.own_events_per_packet(microseconds(200)) < 0.3);
}

TEST_CASE("small messages of one QP cost one event each", "[requester]") {
    Stream b;
    b.timing.request_window = 256;
    b.begin(1, 64);
    b.run_for(microseconds(100));
    const std::uint64_t before = b.output.count;
    CHECK(b.own_events_per_packet(microseconds(200)) < 1.2);
    // One each 50 ns.
    CHECK(b.output.count - before >= 3990);
    CHECK(b.output.count - before <= 4001);
}

TEST_CASE("many QPs share the card evenly", "[requester]") {
    Stream b;
    b.timing.request_window = 64;
    b.begin(32, 64);
    b.run_for(microseconds(50));
    std::vector<std::uint32_t> before;
    for (const auto* c : b.opened) before.push_back(b.requester.next_psn(*c));
    const std::uint64_t packets = b.output.count;
    CHECK(b.own_events_per_packet(microseconds(100)) < 2.5);
    // One each 8 ns.
    CHECK(b.output.count - packets > 12'000);
    std::uint32_t fewest = ~0U;
    std::uint32_t most = 0;
    for (std::size_t i = 0; i < b.opened.size(); ++i) {
        const std::uint32_t sent = b.requester.next_psn(*b.opened[i]) - before[i];
        fewest = std::min(fewest, sent);
        most = std::max(most, sent);
    }
    CHECK(most - fewest <= 8);
}

TEST_CASE("nothing is allocated once a QP has been busy for a while", "[requester]") {
    Stream b;
    b.timing.request_window = 64;
    b.begin(4, 3000);
    b.run_for(microseconds(300));
    const std::uint64_t hooks = test::g_allocations;
    b.waiting.reserve(b.waiting.size() + 1);
    REQUIRE(test::g_allocations > hooks);  // or nothing counts
    const std::uint64_t allocations = test::g_allocations;
    const std::uint64_t packets = b.output.count;
    b.run_for(microseconds(300));
    CHECK(b.output.count - packets > 1000);
    CHECK(test::g_allocations == allocations);
}
