// SPDX-License-Identifier: Apache-2.0
// Loss, refusals and silence: what a requester sends again, when, and when it gives up.
#include "roce/requester/timers.h"
#include "tests/unit/roce/requester_fixture.h"

using namespace cxsim;
using cxsim::test::Request;
using cxsim::test::RequesterBench;
using model::WqeOpcode;
using model::microseconds;
using model::milliseconds;
using model::nanoseconds;
using roce::NakCode;
using roce::Operation;
using Psns = std::vector<std::uint32_t>;

namespace {

struct RestartCounter final : roce::RateLimiter {
    unsigned restarts = 0;
    model::Picoseconds reserve(model::Picoseconds at, std::uint32_t) override { return at; }
    void notified(model::Picoseconds) override {}
    void restarted(model::Picoseconds) override { ++restarts; }
};

std::function<void(roce::QpAttributes&)> limits(std::uint8_t retries, std::uint8_t timeout,
                                                std::uint8_t rnr = 7) {
    return [=](roce::QpAttributes& a) {
        a.retry_count = retries;
        a.ack_timeout = timeout;
        a.rnr_retry = rnr;
    };
}

constexpr auto kRc = roce::WireService::rc;

/// Runs until one more packet has been sent; says when.
model::Picoseconds next_packet(RequesterBench& b) {
    const std::size_t before = b.output.packets.size();
    while (b.output.packets.size() == before && b.calendar.run_one()) {}
    return b.calendar.now();
}

}  // namespace

TEST_CASE("a NAK acknowledges what lies before it and starts again from there", "[requester]") {
    RequesterBench b;
    auto& c = b.open(7, 0xff'fffe);
    auto limiter = std::make_unique<RestartCounter>();
    const RestartCounter& restarts = *limiter;
    c.rate = std::move(limiter);
    b.host.pattern(0x1000, 4096);
    b.post(c, {.bytes = 8});
    b.post(c, {.opcode = WqeOpcode::rdma_write, .bytes = 3 * 1024});
    b.post(c, {.bytes = 8});
    b.run_until(microseconds(10));
    REQUIRE(b.psns() == Psns{0xff'fffe, 0xff'ffff, 0, 1, 2});
    b.nak(c, 0, NakCode::psn_sequence_error);
    CHECK(b.done() == std::vector<unsigned>{0});
    CHECK(b.requester.unacknowledged_psn(c) == 0);
    CHECK(b.requester.next_psn(c) == 3);
    const std::uint64_t before = b.counters.retransmitted;
    const auto at = next_packet(b);
    CHECK(at == microseconds(10) + b.timing.retransmit);
    b.run_for(microseconds(5));
    CHECK(b.psns(5) == Psns{0, 1, 2});
    CHECK(b.operations(5) == std::vector<Operation>{Operation::write_middle, Operation::write_last,
                                                    Operation::send_only});
    CHECK(std::ranges::equal(b.output.packets[5].packet.payload, b.host.bytes(0x1000 + 1024, 1024)));
    CHECK(b.counters.retransmitted - before == 3);
    CHECK(b.queues.counter("packet_seq_err") == 1);
    CHECK(restarts.restarts == 1);
    b.ack(c, 2);
    CHECK(b.done() == std::vector<unsigned>{0, 1, 2});
}

TEST_CASE("an acknowledgement of the first flight spares what it covers", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    b.post(c, {.bytes = 4 * 1024});
    b.run_for(microseconds(10));
    b.nak(c, 101, NakCode::psn_sequence_error);
    b.ack(c, 102);
    b.run_for(microseconds(10));
    CHECK(b.psns(4) == Psns{103});
}

TEST_CASE("NAKs without progress end the retries", "[requester]") {
    RequesterBench b;
    auto& c = b.open(7, 100, kRc, limits(2, 0));
    b.post(c, {.bytes = 8});
    b.post(c, {.bytes = 8});
    for (int i = 0; i < 2; ++i) {
        b.run_for(microseconds(10));
        b.nak(c, 100, NakCode::psn_sequence_error);
        // Once more while sending is about to start again: it changes nothing.
        b.nak(c, 100, NakCode::psn_sequence_error);
    }
    b.run_for(microseconds(10));
    CHECK(b.queues.counter("packet_seq_err") == 4);
    CHECK(b.queues.send_failures.empty());
    b.nak(c, 100, NakCode::psn_sequence_error);
    REQUIRE(b.queues.send_failures.size() == 1);
    CHECK(b.queues.send_failures[0].wqe_index == 0);
    CHECK(b.queues.send_failures[0].status == model::WqeStatus{0x15, 0x81, 0x00, 0x00});
    CHECK(b.queues.counter("packet_seq_err") == 4);
}

TEST_CASE("progress gives all retries back", "[requester]") {
    RequesterBench b;
    auto& c = b.open(7, 100, kRc, limits(1, 0));
    for (int i = 0; i < 20; ++i) b.post(c, {.bytes = 8});
    for (std::uint32_t psn = 101; psn < 119; ++psn) {
        b.run_for(microseconds(20));
        b.nak(c, psn, NakCode::psn_sequence_error);
    }
    CHECK(b.queues.send_failures.empty());
    CHECK(b.done().size() == 18);
}

TEST_CASE("a NAK of something never sent or long acknowledged is dropped", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    b.post(c, {.bytes = 8});
    b.post(c, {.bytes = 8});
    b.run_for(microseconds(5));
    b.ack(c, 100);
    b.nak(c, 100, NakCode::remote_access_error);
    b.nak(c, 102, NakCode::psn_sequence_error);
    b.respond(c, Operation::acknowledge, 101, roce::aeth_syndrome(roce::AethKind::nak, 9));
    b.respond(c, Operation::acknowledge, 101, 0x40);  // reserved kind
    b.run_for(microseconds(20));
    CHECK(b.queues.send_failures.empty());
    CHECK(b.output.packets.size() == 2);
    CHECK(b.counters.dropped_response == 4);
}

TEST_CASE("refusals of the peer end with their syndromes", "[requester]") {
    struct Case {
        NakCode code;
        std::uint8_t syndrome;
        std::uint8_t vendor;
    };
    for (const Case& test : {Case{NakCode::invalid_request, 0x12, 0x8a},
                             Case{NakCode::remote_access_error, 0x13, 0x88},
                             Case{NakCode::remote_operational_error, 0x14, 0x89},
                             Case{NakCode::invalid_rd_request, 0x12, 0x8a}}) {
        RequesterBench b;
        auto& c = b.open();
        for (int i = 0; i < 4; ++i) b.post(c, {.bytes = 8});
        b.run_for(microseconds(5));
        b.nak(c, 102, test.code);
        CHECK(b.done() == std::vector<unsigned>{0, 1});
        REQUIRE(b.queues.send_failures.size() == 1);
        CHECK(b.queues.send_failures[0].wqe_index == 2);
        CHECK(b.queues.send_failures[0].status.syndrome == test.syndrome);
        CHECK(b.queues.send_failures[0].status.vendor_syndrome == test.vendor);
        b.ack(c, 103);
        b.run_for(milliseconds(10));
        CHECK(b.done().size() == 2);
        CHECK(b.queues.send_failures.size() == 1);
    }
}

TEST_CASE("a failure reports local work before it first", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    b.post(c, {.bytes = 8});
    b.post(c, {.local = true, .local_finish = milliseconds(1)});
    b.post(c, {.bytes = 8});
    b.run_for(microseconds(5));
    b.nak(c, 101, NakCode::remote_access_error);
    CHECK(b.done() == std::vector<unsigned>{0, 1});
    REQUIRE(b.queues.send_failures.size() == 1);
    CHECK(b.queues.send_failures[0].wqe_index == 2);
    CHECK(b.queues.send_failures[0].at == milliseconds(1));
}

TEST_CASE("an RNR NAK makes the requester wait as long as it says", "[requester]") {
    RequesterBench b;
    auto& c = b.open(7, 100, kRc, limits(7, 10));
    b.post(c, {.bytes = 8});
    b.post(c, {.bytes = 8});
    b.run_until(microseconds(5));
    b.rnr_nak(c, 101, 12);
    CHECK(b.done() == std::vector<unsigned>{0});
    CHECK(next_packet(b) == microseconds(5 + 640));
    CHECK(b.psns(2) == Psns{101});
    CHECK(b.queues.counter("rnr_nak_retry_err") == 1);
    // Seven is for ever; and waiting for a receive is no timeout.
    for (int i = 0; i < 20; ++i) {
        b.rnr_nak(c, 101, 0);
        b.run_for(milliseconds(656));
    }
    CHECK(b.queues.send_failures.empty());
    CHECK(b.queues.counter("rnr_nak_retry_err") == 21);
    CHECK(roce::rnr_time(1) == microseconds(10));
    CHECK(roce::rnr_time(31) == microseconds(491520));
}

TEST_CASE("progress ends the wait for a receive", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    b.post(c, {.bytes = 8});
    b.run_until(microseconds(5));
    b.rnr_nak(c, 100, 0);  // 655 ms
    b.ack(c, 100);         // a duplicate of the packet found one
    CHECK(b.done() == std::vector<unsigned>{0});
    b.post(c, {.bytes = 8});
    CHECK(next_packet(b) == microseconds(5) + b.timing.retransmit);
    CHECK(b.psns(1) == Psns{101});
}

TEST_CASE("RNR retries end with their own syndrome", "[requester]") {
    RequesterBench b;
    auto& c = b.open(7, 100, kRc, limits(7, 0, 2));
    b.post(c, {.bytes = 8});
    for (int i = 0; i < 3; ++i) {
        CHECK(b.queues.send_failures.empty());
        b.run_for(milliseconds(1));
        b.rnr_nak(c, 100, 1);
    }
    REQUIRE(b.queues.send_failures.size() == 1);
    CHECK(b.queues.send_failures[0].status.syndrome == 0x16);
    CHECK(b.queues.send_failures[0].status.vendor_syndrome == 0x87);
    CHECK(b.queues.counter("rnr_nak_retry_err") == 2);
}

TEST_CASE("a gap in the answer of a READ has the rest asked for again, once", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    std::vector<std::byte> data(5 * 1024);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i % 253);
    const std::span<const std::byte> answer(data);
    b.post(c, {.opcode = WqeOpcode::rdma_read, .bytes = 5 * 1024, .host = 0x8000});
    b.post(c, {.bytes = 8});
    b.run_until(microseconds(5));
    b.read_response(c, Operation::read_response_first, 100, answer.first(1024));
    b.read_response(c, Operation::read_response_middle, 102, answer.subspan(2048, 1024));
    b.read_response(c, Operation::read_response_middle, 103, answer.subspan(3072, 1024));
    CHECK(next_packet(b) == microseconds(5) + b.timing.nak_read);
    b.run_for(microseconds(1));
    REQUIRE(b.psns(2) == Psns{101, 105});
    const auto& again = b.output.packets[2].headers();
    CHECK(again.operation() == Operation::read_request);
    CHECK(again.address == 0x7000'0000 + 1024);
    CHECK(again.dma_bytes == 4 * 1024);
    // The rest of the first answer and the acknowledgement behind it still arrive.
    b.read_response(c, Operation::read_response_last, 104, answer.subspan(4096));
    b.ack(c, 105);
    b.run_for(microseconds(20));
    CHECK(b.output.packets.size() == 4);
    CHECK(b.queues.counter("implied_nak_seq_err") == 1);
    CHECK(b.queues.sent.empty());
    b.read_response(c, Operation::read_response_first, 101, answer.subspan(1024, 1024));
    b.read_response(c, Operation::read_response_first, 101, answer.first(1024));  // duplicate
    b.read_response(c, Operation::read_response_middle, 102, answer.subspan(2048, 1024));
    b.read_response(c, Operation::read_response_middle, 103, answer.subspan(3072, 1024));
    b.read_response(c, Operation::read_response_last, 104, answer.subspan(4096));
    CHECK(b.done() == std::vector<unsigned>{0});
    CHECK(std::ranges::equal(b.host.bytes(0x8000, data.size()), data));
    b.ack(c, 105);
    CHECK(b.done() == std::vector<unsigned>{0, 1});
    CHECK(b.counters.dropped_response == 4);
}

TEST_CASE("an acknowledgement behind a READ or atomic without answer implies a NAK",
          "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    b.post(c, {.bytes = 8});
    b.post(c, {.opcode = WqeOpcode::atomic_fetch_add, .bytes = 8, .host = 0x2000, .swap_add = 1});
    b.post(c, {.bytes = 8});
    b.run_for(microseconds(5));
    b.ack(c, 102);
    CHECK(b.done() == std::vector<unsigned>{0});
    CHECK(b.queues.counter("implied_nak_seq_err") == 1);
    b.run_for(microseconds(5));
    CHECK(b.psns(3) == Psns{101, 102});
    const std::uint8_t fine = roce::aeth_syndrome(roce::AethKind::ack, roce::kUnlimitedCredits);
    b.respond(c, Operation::atomic_acknowledge, 101, fine, 2, {}, 41);
    CHECK(b.host.bytes(0x2000, 1)[0] == std::byte{41});
    b.ack(c, 102);
    CHECK(b.done() == std::vector<unsigned>{0, 1, 2});
}

TEST_CASE("an answer acknowledges what was sent before its request", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    b.post(c, {.bytes = 8});
    b.post(c, {.opcode = WqeOpcode::rdma_write, .bytes = 2048});
    b.post(c, {.opcode = WqeOpcode::rdma_read, .bytes = 4, .host = 0x8000});
    b.run_for(microseconds(5));
    const std::array<std::byte, 4> data{};
    b.read_response(c, Operation::read_response_only, 103, data);
    CHECK(b.done() == std::vector<unsigned>{0, 1, 2});
}

TEST_CASE("an answer of the wrong kind is dropped and acknowledges nothing", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    b.post(c, {.bytes = 8});
    b.post(c, {.bytes = 8});
    b.run_for(microseconds(5));
    const std::array<std::byte, 8> data{};
    b.read_response(c, Operation::read_response_only, 101, data);
    CHECK(b.queues.sent.empty());
    CHECK(b.counters.dropped_response == 1);
}

TEST_CASE("silence is broken after 4.096 us to the power asked for, until the retries end",
          "[requester]") {
    RequesterBench b;
    auto& c = b.open(7, 100, kRc, limits(3, 14));
    b.post(c, {.bytes = 8});
    b.post(c, {.opcode = WqeOpcode::rdma_write, .bytes = 1500});
    const auto first = next_packet(b);
    CHECK(first < nanoseconds(100));
    b.run_for(microseconds(10));
    const std::size_t flight = b.output.packets.size();
    REQUIRE(flight == 3);
    const model::Picoseconds timeout = nanoseconds(4096LL << 14);
    for (int i = 1; i <= 3; ++i) {
        const auto at = next_packet(b);
        b.run_for(microseconds(10));
        CHECK(b.psns(flight * static_cast<std::size_t>(i)) == Psns{100, 101, 102});
        CHECK(at > timeout * i);
        CHECK(at < timeout * i + microseconds(1));
        CHECK(b.queues.counter("local_ack_timeout_err") == static_cast<std::uint64_t>(i));
    }
    CHECK(b.queues.send_failures.empty());
    b.run_for(timeout);
    REQUIRE(b.queues.send_failures.size() == 1);
    CHECK(b.queues.send_failures[0].status == model::WqeStatus{0x15, 0x81, 0x00, 0x00});
    CHECK(b.queues.send_failures[0].at < timeout * 4 + microseconds(1));
    CHECK(b.queues.counter("local_ack_timeout_err") == 3);
    CHECK(b.counters.timeouts == 4);
    b.run_for(timeout * 4);
    CHECK(b.output.packets.size() == 4 * flight);
}

TEST_CASE("an acknowledgement starts the time anew for what is still under way", "[requester]") {
    RequesterBench b;
    auto& c = b.open(7, 100, kRc, limits(3, 10));
    const model::Picoseconds timeout = nanoseconds(4096LL << 10);
    b.post(c, {.bytes = 8});
    b.post(c, {.bytes = 8});
    b.run_until(timeout - microseconds(1));
    REQUIRE(b.output.packets.size() == 2);
    b.ack(c, 100);
    CHECK(next_packet(b) == timeout - microseconds(1) + timeout);
    b.ack(c, 101);
    b.run_for(timeout * 10);
    CHECK(b.output.packets.size() == 3);
    CHECK(b.queues.counter("local_ack_timeout_err") == 1);
    CHECK(b.calendar.empty());
}

TEST_CASE("a READ cut off by silence goes on where it was", "[requester]") {
    RequesterBench b;
    auto& c = b.open(7, 100, kRc, limits(3, 10));
    b.post(c, {.opcode = WqeOpcode::rdma_read, .bytes = 3 * 1024, .host = 0x8000});
    b.run_for(microseconds(5));
    const std::vector<std::byte> data(1024, std::byte{7});
    b.read_response(c, Operation::read_response_first, 100, data);
    next_packet(b);
    const auto& again = b.output.packets[1].headers();
    CHECK(again.psn == 101);
    CHECK(again.dma_bytes == 2048);
    CHECK(again.address == 0x7000'0000 + 1024);
}

TEST_CASE("without timeout a requester waits for ever", "[requester]") {
    RequesterBench b;
    b.timing.adaptive_timers = true;
    auto& c = b.open(7, 100, kRc, limits(3, 0));
    b.post(c, {.bytes = 8});
    b.run_for(model::seconds(1000));
    CHECK(b.output.packets.size() == 1);
}

TEST_CASE("the adaptive timer doubles from 2.1 ms up to the timeout of the QP", "[requester]") {
    RequesterBench b;
    b.timing.adaptive_timers = true;
    auto& c = b.open(7, 100, kRc, limits(7, 17));
    b.post(c, {.opcode = WqeOpcode::rdma_read, .bytes = 8});
    std::vector<double> milliseconds_between;
    REQUIRE(b.output.packets.size() == 1);
    model::Picoseconds last = b.calendar.now();
    while (b.queues.send_failures.empty()) {
        const std::size_t before = b.output.packets.size();
        while (b.output.packets.size() == before && b.queues.send_failures.empty()) {
            REQUIRE(b.calendar.run_one());
        }
        milliseconds_between.push_back((b.calendar.now() - last).seconds() * 1e3);
        last = b.calendar.now();
    }
    // Eight rungs, then the timeout itself: five times again, the sixth is the end.
    REQUIRE(milliseconds_between.size() == 8 + 6);
    double expected = 2.097152;
    for (std::size_t i = 0; i < milliseconds_between.size(); ++i) {
        CHECK(std::abs(milliseconds_between[i] - expected) < 0.001);
        if (i < 8) expected *= 2;
    }
    CHECK(b.queues.counter("roce_adp_retrans") == 8);
    CHECK(b.queues.counter("roce_adp_retrans_to") == 1);
    CHECK(b.queues.counter("local_ack_timeout_err") == 5);
    CHECK(last.seconds() > 3.5);
    CHECK(last.seconds() < 3.8);
}

TEST_CASE("progress takes the adaptive timer back to its first step", "[requester]") {
    RequesterBench b;
    b.timing.adaptive_timers = true;
    auto& c = b.open(7, 100, kRc, limits(7, 14));
    b.post(c, {.bytes = 8});
    b.post(c, {.bytes = 8});
    next_packet(b);
    b.run_for(milliseconds(10));  // 2.1, then 4.2
    CHECK(b.queues.counter("roce_adp_retrans") == 2);
    b.ack(c, 100);
    const auto at = b.calendar.now();
    next_packet(b);
    CHECK(b.calendar.now() - at == roce::transport_timeout(9));
}
