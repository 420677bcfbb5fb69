// SPDX-License-Identifier: Apache-2.0
// Services without acknowledgement: a request is done when it has left.
#include "tests/unit/roce/requester_fixture.h"

#include "prm/layouts.h"

using namespace cxsim;
using cxsim::test::Request;
using cxsim::test::RequesterBench;
using model::WqeOpcode;
using model::microseconds;
using model::milliseconds;
using model::nanoseconds;
using roce::Operation;
using Psns = std::vector<std::uint32_t>;

namespace {

struct AddressVector {
    prm::Buffer<prm::av> buffer;

    explicit AddressVector(std::uint32_t key = 0x1234, std::uint32_t qp = 0x555,
                           std::uint32_t source = 0) {
        const auto av = buffer.view();
        const auto base = av.nested<prm::av::base>();
        base.set<prm::base_av::qkey>(key);
        base.set<prm::base_av::dqp_dct>(qp);
        base.set<prm::base_av::ext>(1U);
        av.set<prm::av::src_addr_index>(source);
        av.set<prm::av::hop_limit>(64U);
        const roce::Gid gid = RequesterBench::ipv4_gid(9);
        std::ranges::copy(gid, av.bytes<prm::av::rgid>().begin());
    }
    std::span<const std::byte> bytes() const { return buffer.bytes(); }
};

}  // namespace

TEST_CASE("an unreliable connection completes when the last packet has left", "[requester]") {
    RequesterBench b;
    auto& c = b.open(7, 0xff'ffff, roce::WireService::uc);
    b.post(c, {.opcode = WqeOpcode::rdma_write, .bytes = 2048});
    b.post(c, {.bytes = 8});
    CHECK(b.queues.sent.empty());
    b.run_for(microseconds(5));
    CHECK(b.psns() == Psns{0xff'ffff, 0, 1});
    for (const auto& record : b.output.packets) {
        CHECK(record.headers().service() == roce::WireService::uc);
        CHECK_FALSE(record.headers().ack_request);
    }
    REQUIRE(b.done() == std::vector<unsigned>{0, 1});
    CHECK(b.queues.sent[0].at == b.output.packets[1].ready);
    CHECK(b.queues.sent[1].at == b.output.packets[2].ready);
    CHECK(b.calendar.empty());
}

TEST_CASE("an unreliable connection has no READ, atomic or invalidate", "[requester]") {
    for (const auto opcode : {WqeOpcode::rdma_read, WqeOpcode::atomic_fetch_add,
                              WqeOpcode::atomic_compare_swap, WqeOpcode::send_invalidate}) {
        RequesterBench b;
        auto& c = b.open(7, 0, roce::WireService::uc);
        b.post(c, {.bytes = 8});
        b.post(c, {.opcode = opcode, .bytes = 8});
        b.run_for(microseconds(5));
        CHECK(b.done() == std::vector<unsigned>{0});
        REQUIRE(b.queues.send_failures.size() == 1);
        CHECK(b.queues.send_failures[0].status.syndrome == 0x02);
        CHECK(b.output.packets.size() == 1);
    }
}

TEST_CASE("an unreliable queue too has a window of requests", "[requester]") {
    RequesterBench b;
    b.timing.request_window = 4;
    auto& c = b.open(7, 0, roce::WireService::uc);
    for (int i = 0; i < 3; ++i) CHECK(b.post(c, {}) == b.calendar.now());
    CHECK(b.post(c, {}) == model::Picoseconds::max());
    b.run_for(microseconds(5));
    CHECK(b.queues.room.size() == 1);
    CHECK(b.done().size() == 4);
}

TEST_CASE("a datagram goes where its address vector says", "[requester]") {
    RequesterBench b;
    auto& c = b.open(0x77, 40, roce::WireService::ud,
                     [](roce::QpAttributes& a) { a.queue_key = 0xabcd; });
    const AddressVector given;
    const AddressVector own(0x8000'0000);
    b.host.pattern(0x1000, 300);
    b.post(c, {.bytes = 300, .address_vector = given.bytes()});
    b.post(c, {.opcode = WqeOpcode::send_immediate,
               .bytes = 1024,
               .immediate = 0x42,
               .solicits_peer = true,
               .address_vector = own.bytes()});
    b.run_for(microseconds(5));
    REQUIRE(b.output.packets.size() == 2);
    const auto& first = b.output.packets[0];
    CHECK(first.operation() == Operation::send_only);
    CHECK(first.headers().service() == roce::WireService::ud);
    CHECK(first.headers().destination_qp == 0x555);
    CHECK(first.headers().source_qp == 0x77);
    CHECK(first.headers().queue_key == 0x1234);
    CHECK_FALSE(first.headers().ack_request);
    CHECK(first.packet.destination == RequesterBench::ipv4_gid(9));
    CHECK(std::ranges::equal(first.packet.payload, b.host.bytes(0x1000, 300)));
    const auto& second = b.output.packets[1];
    CHECK(second.headers().queue_key == 0xabcd);
    CHECK(second.headers().immediate == 0x42);
    CHECK(second.headers().solicited);
    CHECK(b.psns() == Psns{40, 41});
    CHECK(b.done() == std::vector<unsigned>{0, 1});
}

TEST_CASE("management datagrams come from QP 1", "[requester]") {
    RequesterBench b;
    auto& c = b.open(0x20, 0, roce::WireService::ud,
                     [](roce::QpAttributes& a) { a.queue_key = 0x8001'0000; });
    c.management = true;
    const AddressVector av(0x8000'0000, 1);
    b.post(c, {.bytes = 256, .address_vector = av.bytes()});
    b.run_for(microseconds(5));
    REQUIRE(b.output.packets.size() == 1);
    CHECK(b.output.packets[0].headers().source_qp == 1);
    CHECK(b.output.packets[0].headers().destination_qp == 1);
    CHECK(b.output.packets[0].headers().queue_key == 0x8001'0000);
}

TEST_CASE("a datagram longer than the MTU ends as local length error, in its turn",
          "[requester]") {
    RequesterBench b;
    auto& c = b.open(0x77, 0, roce::WireService::ud);
    const AddressVector av;
    b.post(c, {.bytes = 8, .address_vector = av.bytes()});
    b.post(c, {.bytes = 1025, .address_vector = av.bytes()});
    b.post(c, {.bytes = 8, .address_vector = av.bytes()});
    b.run_for(microseconds(5));
    CHECK(b.done() == std::vector<unsigned>{0});
    REQUIRE(b.queues.send_failures.size() == 1);
    CHECK(b.queues.send_failures[0].wqe_index == 1);
    CHECK(b.queues.send_failures[0].status.syndrome == 0x01);
    CHECK(b.output.packets.size() == 1);
}

TEST_CASE("a datagram without a way ends as local QP operation error", "[requester]") {
    RequesterBench b;
    auto& c = b.open(0x77, 0, roce::WireService::ud);
    const AddressVector unknown_source(0x1234, 0x555, 17);
    const AddressVector whole;
    SECTION("source address that does not exist") {
        b.post(c, {.bytes = 8, .address_vector = unknown_source.bytes()});
    }
    SECTION("only the base of an address vector") {
        b.post(c, {.bytes = 8, .address_vector = whole.bytes().first(16)});
    }
    SECTION("behind one that is fine") {
        b.post(c, {.bytes = 8, .address_vector = whole.bytes()});
        b.post(c, {.bytes = 8, .address_vector = unknown_source.bytes()});
    }
    b.run_for(microseconds(5));
    REQUIRE(b.queues.send_failures.size() == 1);
    CHECK(b.queues.send_failures[0].status.syndrome == 0x02);
    CHECK(b.queues.sent.size() == b.output.packets.size());
}

TEST_CASE("a datagram queue out of its error goes on with the next PSN", "[requester]") {
    RequesterBench b;
    auto& c = b.open(0x77, 10, roce::WireService::ud);
    const AddressVector av;
    b.post(c, {.bytes = 8, .address_vector = av.bytes()});
    b.run_for(microseconds(5));
    b.requester.stop(c);
    b.post(c, {.bytes = 8, .address_vector = av.bytes()});
    b.run_for(microseconds(5));
    CHECK(b.psns() == Psns{10, 11});
    CHECK(b.done() == std::vector<unsigned>{0, 1});
}
