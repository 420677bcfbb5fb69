// SPDX-License-Identifier: Apache-2.0
// Work requests of reliable connections into packets, and what holds them back.
#include "tests/unit/roce/requester_fixture.h"

using namespace cxsim;
using cxsim::test::Request;
using cxsim::test::RequesterBench;
using model::FenceMode;
using model::WqeOpcode;
using model::microseconds;
using model::milliseconds;
using model::nanoseconds;
using roce::Operation;
using Psns = std::vector<std::uint32_t>;
using Operations = std::vector<Operation>;

TEST_CASE("a send of one packet leaves with all its headers and payload", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    b.host.pattern(0x1000, 101, 5);
    b.post(c, {.bytes = 101, .solicits_peer = true});
    b.run_for(microseconds(5));
    REQUIRE(b.output.packets.size() == 1);
    const auto& record = b.output.packets[0];
    CHECK(record.operation() == Operation::send_only);
    CHECK(record.headers().psn == 100);
    CHECK(record.headers().destination_qp == RequesterBench::kRemoteQp);
    CHECK(record.headers().ack_request);
    CHECK(record.headers().solicited);
    CHECK(record.headers().migrated);
    CHECK(record.headers().pkey == 0xffff);
    CHECK(record.headers().pad == 3);
    CHECK(std::ranges::equal(record.packet.payload, b.host.bytes(0x1000, 101)));
    // Message stage, packetizer, PCIe, the way to the port.
    CHECK(record.ready == nanoseconds(8 + 5 + 500 + 100));
    CHECK(b.queues.sent.empty());
    b.ack(c, 100);
    REQUIRE(b.done() == std::vector<unsigned>{0});
    CHECK(b.queues.sent[0].done.opcode == 0x0a);
    CHECK(b.queues.sent[0].done.byte_count == 0);
    CHECK(b.requester.next_psn(c) == 101);
    CHECK(b.requester.unacknowledged_psn(c) == 101);
}

TEST_CASE("a message is cut into path MTUs, and PSNs wrap", "[requester]") {
    RequesterBench b;
    auto& c = b.open(7, 0xff'fffe);
    b.host.pattern(0x1000, 3 * 1024 + 1);
    b.post(c, {.opcode = WqeOpcode::rdma_write_immediate,
               .bytes = 3 * 1024 + 1,
               .immediate = 0xcafe,
               .solicits_peer = true});
    b.run_for(microseconds(5));
    CHECK(b.psns() == Psns{0xff'fffe, 0xff'ffff, 0, 1});
    CHECK(b.operations() == Operations{Operation::write_first, Operation::write_middle,
                                       Operation::write_middle, Operation::write_last_immediate});
    const auto& first = b.output.packets[0].headers();
    CHECK(first.address == 0x7000'0000);
    CHECK(first.key == 0x1234);
    CHECK(first.dma_bytes == 3 * 1024 + 1);
    for (int i = 0; i < 3; ++i) {
        CHECK_FALSE(b.output.packets[static_cast<std::size_t>(i)].headers().ack_request);
        CHECK_FALSE(b.output.packets[static_cast<std::size_t>(i)].headers().solicited);
    }
    const auto& last = b.output.packets[3];
    CHECK(last.headers().ack_request);
    CHECK(last.headers().solicited);
    CHECK(last.headers().immediate == 0xcafe);
    CHECK(last.packet.payload.size() == 1);
    std::vector<std::byte> all;
    for (const auto& record : b.output.packets) {
        all.insert(all.end(), record.packet.payload.begin(), record.packet.payload.end());
    }
    CHECK(std::ranges::equal(all, b.host.bytes(0x1000, 3 * 1024 + 1)));
    b.ack(c, 1);
    CHECK(b.done() == std::vector<unsigned>{0});
}

TEST_CASE("a message of whole MTUs has no empty last packet; an empty one has one packet",
          "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    b.post(c, {.bytes = 2048});
    b.post(c, {.opcode = WqeOpcode::rdma_write, .bytes = 0});
    b.post(c, {.opcode = WqeOpcode::send_invalidate, .bytes = 4, .immediate = 0x99});
    b.post(c, {.opcode = WqeOpcode::send_immediate, .bytes = 1025, .immediate = 0x77});
    b.run_for(microseconds(5));
    CHECK(b.operations() == Operations{Operation::send_first, Operation::send_last,
                                       Operation::write_only, Operation::send_only_invalidate,
                                       Operation::send_first, Operation::send_last_immediate});
    CHECK(b.psns() == Psns{100, 101, 102, 103, 104, 105});
    CHECK(b.output.packets[2].packet.payload_bytes == 0);
    CHECK(b.output.packets[2].headers().dma_bytes == 0);
    CHECK(b.output.packets[3].headers().invalidated_key == 0x99);
    CHECK(b.output.packets[5].headers().immediate == 0x77);
    CHECK_FALSE(b.output.packets[2].headers().solicited);
    // One acknowledgement for all of them.
    b.ack(c, 105);
    CHECK(b.done() == std::vector<unsigned>{0, 1, 2, 3});
    CHECK(b.counters.messages_sent == 4);
}

TEST_CASE("inline payload is copied at posting", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    std::vector<std::byte> wqe(32, std::byte{0x5a});
    b.post_at(c, nanoseconds(700), {.inlined = wqe});
    std::ranges::fill(wqe, std::byte{0});
    b.run_for(microseconds(5));
    REQUIRE(b.output.packets.size() == 1);
    CHECK(b.output.packets[0].packet.payload[31] == std::byte{0x5a});
    CHECK(b.host.reads == 0);
    CHECK(b.output.packets[0].ready == nanoseconds(700 + 8 + 5 + 100));
}

TEST_CASE("a READ takes the PSNs of its answer and scatters it in order", "[requester]") {
    RequesterBench b;
    auto& c = b.open(7, 0xff'ffff);
    b.post(c, {.opcode = WqeOpcode::rdma_read, .bytes = 2500, .host = 0x4000});
    b.post(c, {.bytes = 10});
    b.run_for(microseconds(5));
    CHECK(b.psns() == Psns{0xff'ffff, 2});
    const auto& request = b.output.packets[0].headers();
    CHECK(request.operation() == Operation::read_request);
    CHECK(request.dma_bytes == 2500);
    std::vector<std::byte> data(2500);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7);
    const std::span<const std::byte> answer(data);
    b.read_response(c, Operation::read_response_first, 0xff'ffff, answer.first(1024));
    b.read_response(c, Operation::read_response_middle, 0, answer.subspan(1024, 1024));
    CHECK(b.requester.unacknowledged_psn(c) == 1);
    CHECK(b.queues.sent.empty());
    b.read_response(c, Operation::read_response_last, 1, answer.subspan(2048));
    CHECK(b.done() == std::vector<unsigned>{0});
    CHECK(b.queues.sent[0].done.byte_count == 2500);
    CHECK(std::ranges::equal(b.host.bytes(0x4000, 2500), data));
    b.ack(c, 2);
    CHECK(b.done() == std::vector<unsigned>{0, 1});
}

TEST_CASE("a short answer may come in its completion, if there is one", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    c.attributes.answer_in_cqe = model::kCqeDataBytes;
    b.post(c, {.opcode = WqeOpcode::rdma_read, .bytes = 32, .host = 0x4000});
    b.post(c, {.opcode = WqeOpcode::rdma_read, .bytes = 32, .host = 0x5000, .signaled = false});
    b.post(c, {.opcode = WqeOpcode::rdma_read, .bytes = 33, .host = 0x6000});
    b.post(c, {.opcode = WqeOpcode::atomic_fetch_add, .bytes = 8, .host = 0x7000, .swap_add = 3});
    b.run_for(microseconds(5));
    std::vector<std::byte> data(33, std::byte{5});
    const std::span<const std::byte> answer(data);
    b.read_response(c, Operation::read_response_only, 100, answer.first(32));
    b.read_response(c, Operation::read_response_only, 101, answer.first(32));
    CHECK(b.host.writes == 1);
    b.read_response(c, Operation::read_response_only, 102, answer);
    const std::uint8_t fine = roce::aeth_syndrome(roce::AethKind::ack, roce::kUnlimitedCredits);
    b.respond(c, Operation::atomic_acknowledge, 103, fine, 4, {}, 0x0102'0304'0506'0708);
    REQUIRE(b.done() == std::vector<unsigned>{0, 1, 2, 3});
    CHECK(b.host.writes == 2);
    CHECK(std::ranges::equal(b.queues.sent[0].data, answer.first(32)));
    CHECK(b.queues.sent[1].data.empty());
    CHECK(b.queues.sent[2].data.empty());
    CHECK(b.queues.sent[3].data.size() == 8);
    CHECK(b.queues.sent[3].data[0] == std::byte{8});
    CHECK(b.host.bytes(0x5000, 1)[0] == std::byte{5});
    CHECK(b.host.bytes(0x6000, 1)[0] == std::byte{5});
    CHECK(b.host.bytes(0x4000, 1)[0] == std::byte{0});
}

TEST_CASE("an answer that goes to memory is looked up first, one in a completion is not",
          "[requester]") {
    const auto completed = [](std::uint8_t in_cqe, WqeOpcode opcode, model::Picoseconds look_up) {
        RequesterBench b;
        b.timing.look_up = look_up;
        auto& c = b.open();
        c.attributes.answer_in_cqe = in_cqe;
        b.post(c, {.opcode = opcode, .bytes = 8, .host = 0x4000});
        b.run_for(microseconds(5));
        const std::vector<std::byte> data(8);
        if (opcode == WqeOpcode::rdma_read) {
            b.read_response(c, Operation::read_response_only, 100, data);
        } else {
            const auto fine = roce::aeth_syndrome(roce::AethKind::ack, roce::kUnlimitedCredits);
            b.respond(c, Operation::atomic_acknowledge, 100, fine, 1, {}, 5);
        }
        REQUIRE(b.done() == std::vector<unsigned>{0});
        return b.queues.sent[0].at;
    };
    for (const WqeOpcode opcode : {WqeOpcode::rdma_read, WqeOpcode::atomic_fetch_add}) {
        const auto later = [&](std::uint8_t in_cqe) {
            return completed(in_cqe, opcode, nanoseconds(70)) - completed(in_cqe, opcode, {});
        };
        CHECK(later(0) == nanoseconds(70));
        CHECK(later(model::kCqeDataBytes) == nanoseconds(0));
    }
}

TEST_CASE("an answer of the wrong length or position fails as bad response", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    const std::vector<std::byte> data(1024);
    SECTION("too short") {
        b.post(c, {.opcode = WqeOpcode::rdma_read, .bytes = 2048, .host = 0x4000});
        b.run_for(microseconds(5));
        b.read_response(c, Operation::read_response_first, 100, std::span(data).first(1023));
    }
    SECTION("ends too early") {
        b.post(c, {.opcode = WqeOpcode::rdma_read, .bytes = 2048, .host = 0x4000});
        b.run_for(microseconds(5));
        b.read_response(c, Operation::read_response_only, 100, data);
    }
    REQUIRE(b.queues.send_failures.size() == 1);
    CHECK(b.queues.send_failures[0].status.syndrome == 0x10);
    CHECK(b.host.writes == 0);
}

TEST_CASE("an empty READ is answered by an empty packet", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    b.post(c, {.opcode = WqeOpcode::rdma_read, .bytes = 0});
    b.run_for(microseconds(1));
    b.read_response(c, Operation::read_response_only, 100, {});
    CHECK(b.done() == std::vector<unsigned>{0});
}

TEST_CASE("atomics carry their operands and leave the original in the host's order",
          "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    b.post(c, {.opcode = WqeOpcode::atomic_compare_swap,
               .bytes = 8,
               .host = 0x2000,
               .swap_add = 0x1111'2222'3333'4444,
               .compare = 0x5555});
    b.post(c, {.opcode = WqeOpcode::atomic_fetch_add, .bytes = 8, .host = 0x2008, .swap_add = 3});
    b.run_for(microseconds(1));
    CHECK(b.operations() == Operations{Operation::compare_swap, Operation::fetch_add});
    CHECK(b.output.packets[0].headers().swap_add == 0x1111'2222'3333'4444);
    CHECK(b.output.packets[0].headers().compare == 0x5555);
    CHECK(b.output.packets[0].headers().address == 0x7000'0000);
    const std::uint8_t fine = roce::aeth_syndrome(roce::AethKind::ack, roce::kUnlimitedCredits);
    b.respond(c, Operation::atomic_acknowledge, 100, fine, 1, {}, 0x0102'0304'0506'0708);
    CHECK(b.host.bytes(0x2000, 1)[0] == std::byte{8});
    b.environment.big_endian_originals = true;
    b.respond(c, Operation::atomic_acknowledge, 101, fine, 2, {}, 0x0102'0304'0506'0708);
    CHECK(b.host.bytes(0x2008, 1)[0] == std::byte{1});
    CHECK(b.done() == std::vector<unsigned>{0, 1});
    CHECK(b.queues.sent[1].done.byte_count == 8);
}

TEST_CASE("what cannot be encoded ends as local QP operation error, in its turn", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    b.post(c, {.bytes = 8});
    b.post(c, {.opcode = WqeOpcode::atomic_masked_fetch_add, .bytes = 8});
    b.post(c, {.bytes = 8});
    b.run_for(microseconds(5));
    CHECK(b.psns() == Psns{100});
    CHECK(b.queues.send_failures.empty());
    b.ack(c, 100);
    CHECK(b.done() == std::vector<unsigned>{0});
    REQUIRE(b.queues.send_failures.size() == 1);
    CHECK(b.queues.send_failures[0].wqe_index == 1);
    CHECK(b.queues.send_failures[0].status.syndrome == 0x02);
    b.run_for(milliseconds(100));
    CHECK(b.done().size() == 1);
    CHECK(b.queues.send_failures.size() == 1);
    CHECK(b.output.packets.size() == 1);
}

TEST_CASE("nothing is reported from within post", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    b.post(c, {.opcode = WqeOpcode::atomic_fetch_add, .bytes = 4, .atomic_bytes = 4});
    CHECK(b.queues.send_failures.empty());
    b.run_for(nanoseconds(1));
    REQUIRE(b.queues.send_failures.size() == 1);
    CHECK(b.queues.send_failures[0].status.syndrome == 0x02);
}

TEST_CASE("payload that the host refuses ends as local protection error", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    b.post(c, {.bytes = 8});
    b.post(c, {.bytes = 8, .host = test::FlatHostBus::kBytes});
    b.run_for(microseconds(5));
    CHECK(b.output.packets.size() == 1);
    b.ack(c, 100);
    REQUIRE(b.queues.send_failures.size() == 1);
    CHECK(b.queues.send_failures[0].status == model::WqeStatus{0x04, 0x51, 0x02, 0x00});
    CHECK(b.done() == std::vector<unsigned>{0});
    SECTION("and so does an answer that the host refuses") {
        RequesterBench other;
        auto& d = other.open();
        other.post(d, {.opcode = WqeOpcode::rdma_read,
                       .bytes = 8,
                       .host = test::FlatHostBus::kBytes});
        other.run_for(microseconds(5));
        const std::array<std::byte, 8> data{};
        other.read_response(d, Operation::read_response_only, 100, data);
        REQUIRE(other.queues.send_failures.size() == 1);
        CHECK(other.queues.send_failures[0].status.syndrome == 0x04);
    }
}

TEST_CASE("messages of a QP start no faster than the card's data say", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    for (int i = 0; i < 4; ++i) b.post(c, {});
    b.run_for(microseconds(5));
    REQUIRE(b.output.packets.size() == 4);
    for (int i = 0; i < 4; ++i) {
        CHECK(b.output.packets[static_cast<std::size_t>(i)].ready ==
              nanoseconds(50) * i + nanoseconds(8 + 5 + 100));
    }
}

TEST_CASE("messages of all QPs start no faster than the card's data say", "[requester]") {
    RequesterBench b;
    for (std::uint32_t n = 0; n < 10; ++n) b.post(b.open(n + 10), {});
    b.run_for(microseconds(5));
    REQUIRE(b.output.packets.size() == 10);
    CHECK(b.output.packets[9].ready == nanoseconds(10 * 8 + 5 + 100));
}

TEST_CASE("the window of packets closes and opens with acknowledgements", "[requester]") {
    RequesterBench b;
    b.timing.psn_window = 16;
    auto& c = b.open();
    b.post(c, {.opcode = WqeOpcode::rdma_write, .bytes = 100 * 1024});
    b.run_for(microseconds(50));
    REQUIRE(b.output.packets.size() == 16);
    // Within a message too somebody has to ask, or nothing would go on.
    CHECK(b.output.packets[7].headers().ack_request);
    CHECK(b.output.packets[15].headers().ack_request);
    CHECK_FALSE(b.output.packets[14].headers().ack_request);
    b.ack(c, 107);
    b.run_for(microseconds(50));
    CHECK(b.output.packets.size() == 24);
    b.ack(c, 107);  // the same once more changes nothing
    b.run_for(microseconds(50));
    CHECK(b.output.packets.size() == 24);
    b.ack(c, 103);  // nor does an older one
    b.run_for(microseconds(50));
    CHECK(b.output.packets.size() == 24);
    CHECK(b.requester.unacknowledged_psn(c) == 108);
    CHECK(b.counters.dropped_response == 2);
    b.ack(c, 124);  // never sent
    b.run_for(microseconds(50));
    CHECK(b.output.packets.size() == 24);
    CHECK(b.counters.dropped_response == 3);
}

TEST_CASE("a full window of requests stops the queue until an eighth is free", "[requester]") {
    RequesterBench b;
    b.timing.request_window = 16;
    auto& c = b.open();
    for (int i = 0; i < 15; ++i) CHECK(b.post(c, {}) == b.calendar.now());
    CHECK(b.post(c, {}) == model::Picoseconds::max());
    b.run_for(microseconds(5));
    b.ack(c, 100);
    CHECK(b.queues.room.empty());
    b.ack(c, 101);
    CHECK(b.queues.room.size() == 1);
    CHECK(b.post(c, {}) == b.calendar.now());
    b.ack(c, 104);
    CHECK(b.queues.room.size() == 1);
}

TEST_CASE("no more READs and atomics are under way than the QP may have", "[requester]") {
    RequesterBench b;
    auto& c = b.open(7, 100, roce::WireService::rc,
                     [](roce::QpAttributes& a) { a.initiator_depth = 2; });
    const std::array<std::byte, 8> data{};
    for (int i = 0; i < 3; ++i) b.post(c, {.opcode = WqeOpcode::rdma_read, .bytes = 8});
    b.post(c, {.bytes = 8});
    b.run_for(microseconds(5));
    CHECK(b.psns() == Psns{100, 101});
    b.read_response(c, Operation::read_response_only, 100, data);
    b.run_for(microseconds(5));
    CHECK(b.psns() == Psns{100, 101, 102, 103});
}

TEST_CASE("a fence waits for answers, a small fence for local work, strong order for all",
          "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    const std::array<std::byte, 8> data{};
    SECTION("fence") {
        b.post(c, {.opcode = WqeOpcode::rdma_read, .bytes = 8});
        b.post(c, {.bytes = 8});
        b.post(c, {.bytes = 8, .fence = FenceMode::fence});
        b.run_for(microseconds(5));
        CHECK(b.psns() == Psns{100, 101});
        b.read_response(c, Operation::read_response_only, 100, data);
        b.run_for(microseconds(5));
        CHECK(b.psns() == Psns{100, 101, 102});
    }
    SECTION("small fence") {
        b.post(c, {.local = true, .local_finish = microseconds(3)});
        b.post(c, {.bytes = 0});
        b.post(c, {.bytes = 0, .fence = FenceMode::initiator_small});
        b.run_for(microseconds(10));
        REQUIRE(b.psns() == Psns{100, 101});
        CHECK(b.output.packets[0].ready < microseconds(1));
        CHECK(b.output.packets[1].ready == microseconds(3) + nanoseconds(113));
    }
    SECTION("strong ordering") {
        b.post(c, {.bytes = 8});
        b.post(c, {.bytes = 8, .fence = FenceMode::strong_ordering});
        b.run_for(microseconds(5));
        CHECK(b.psns() == Psns{100});
        b.ack(c, 100);
        b.run_for(microseconds(5));
        CHECK(b.psns() == Psns{100, 101});
    }
}

TEST_CASE("local work is done in its turn and not before it has finished", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    b.post(c, {.local = true, .local_finish = microseconds(2)});
    b.post(c, {.bytes = 8});
    b.post(c, {.opcode = WqeOpcode::nop, .local = true, .local_finish = microseconds(1)});
    b.run_for(microseconds(1));
    b.ack(c, 100);
    CHECK(b.queues.sent.empty());
    b.run_for(microseconds(5));
    REQUIRE(b.done() == std::vector<unsigned>{0, 1, 2});
    for (const auto& sent : b.queues.sent) CHECK(sent.at == microseconds(2));
}

TEST_CASE("without credits one message goes to ask for more", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    for (int i = 0; i < 6; ++i) b.post(c, {.bytes = 8});
    // Only what needs a receive waits; but what is behind it stays in order.
    b.post(c, {.opcode = WqeOpcode::rdma_write, .bytes = 8});
    b.run_for(nanoseconds(60));
    CHECK(b.psns() == Psns{100, 101});
    b.ack(c, 100, 2, 1);  // messages up to 3 have a receive, 4 may ask
    b.run_for(microseconds(5));
    CHECK(b.psns() == Psns{100, 101, 102, 103});
    b.ack(c, 103, 0, 4);
    b.run_for(microseconds(5));
    CHECK(b.psns() == Psns{100, 101, 102, 103, 104});
    b.ack(c, 104, 0, 5);
    b.run_for(microseconds(5));
    CHECK(b.psns() == Psns{100, 101, 102, 103, 104, 105, 106});
    b.ack(c, 106, 0, 7);
    b.post(c, {.bytes = 8});
    b.post(c, {.bytes = 8});
    b.run_for(microseconds(5));
    CHECK(b.psns().size() == 8);
    SECTION("the last acknowledgement once more brings credits") {
        b.ack(c, 106, 3, 7);
        b.run_for(microseconds(5));
        CHECK(b.psns().size() == 9);
    }
}

TEST_CASE("a port without room holds packets back", "[requester]") {
    RequesterBench b;
    auto& c = b.open();
    b.output.busy_until = microseconds(4);
    b.post(c, {.bytes = 8});
    b.run_for(microseconds(3));
    CHECK(b.output.packets.empty());
    b.run_for(microseconds(3));
    REQUIRE(b.output.packets.size() == 1);
    CHECK(b.output.packets[0].ready == microseconds(4) + nanoseconds(613));
}

TEST_CASE("a rate limiter spaces the packets", "[requester]") {
    struct Limiter final : roce::RateLimiter {
        model::Picoseconds next;
        std::vector<std::uint32_t> sizes;
        model::Picoseconds reserve(model::Picoseconds at, std::uint32_t wire_bytes) override {
            sizes.push_back(wire_bytes);
            const model::Picoseconds leave = std::max(at, next);
            next = leave + microseconds(1);
            return leave;
        }
        void notified(model::Picoseconds) override {}
        void restarted(model::Picoseconds) override {}
    };
    RequesterBench b;
    auto& c = b.open();
    auto limiter = std::make_unique<Limiter>();
    const Limiter& sizes = *limiter;
    c.rate = std::move(limiter);
    b.post(c, {.bytes = 3 * 1024});
    b.run_for(microseconds(10));
    REQUIRE(b.output.packets.size() == 3);
    CHECK(b.output.packets[1].ready == microseconds(1) + nanoseconds(5 + 500 + 100));
    CHECK(b.output.packets[2].ready == microseconds(2) + nanoseconds(5 + 500 + 100));
    // Ethernet, IPv4, UDP, BTH, payload, ICRC, and what a frame takes besides.
    CHECK(sizes.sizes == std::vector<std::uint32_t>(3, 14 + 20 + 8 + 12 + 1024 + 4 + 24));
}

TEST_CASE("synthetic payload is counted and not read", "[requester]") {
    RequesterBench b;
    b.environment.synthetic = true;
    auto& c = b.open();
    b.post(c, {.opcode = WqeOpcode::rdma_write, .bytes = 1500});
    b.run_for(microseconds(5));
    REQUIRE(b.output.packets.size() == 2);
    CHECK(b.output.packets[0].packet.payload_bytes == 1024);
    CHECK(b.output.packets[1].packet.payload_bytes == 476);
    CHECK(b.output.packets[0].packet.payload.empty());
    CHECK(b.host.reads == 0);
}

TEST_CASE("a stopped connection sends, completes and times out no more", "[requester]") {
    RequesterBench b;
    auto& c = b.open(7, 100, roce::WireService::rc,
                     [](roce::QpAttributes& a) { a.ack_timeout = 10; });
    b.post(c, {.local = true, .local_finish = microseconds(2)});
    for (int i = 0; i < 4; ++i) b.post(c, {.bytes = 8});
    b.run_for(nanoseconds(60));
    const auto sent = b.output.packets.size();
    REQUIRE(sent > 0);
    b.requester.stop(c);
    b.run_for(milliseconds(100));
    CHECK(b.output.packets.size() == sent);
    CHECK(b.queues.sent.empty());
    CHECK(b.queues.send_failures.empty());
    CHECK(b.calendar.empty());
    b.ack(c, 100);
    CHECK(b.queues.sent.empty());
    SECTION("and starts anew") {
        c.attributes.send_psn = 5;
        b.requester.start(c, b.calendar.now());
        b.post(c, {.bytes = 8});
        b.run_for(microseconds(2));
        REQUIRE(b.output.packets.size() == sent + 1);
        CHECK(b.output.packets.back().headers().psn == 5);
        b.ack(c, 5);
        CHECK(b.done().size() == 1);
    }
}
