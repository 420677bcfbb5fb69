// SPDX-License-Identifier: Apache-2.0
// SEND and WRITE: lengths, access, completions, and what goes wrong.
#include "model/prm/view.h"
#include "prm/layouts.h"
#include "tests/unit/roce/responder_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace cxsim;
using cxsim::test::ResponderBench;
using model::nanoseconds;
using prm::cqe64;
using prm::EventType;
using roce::NakCode;
using Op = roce::Operation;
using CqeView = prm::ConstView<cqe64>;

TEST_CASE("a SEND of three packets fills its receive and completes once, with its length",
          "[responder]") {
    ResponderBench bench;
    bench.queues.receive_fetch = nanoseconds(300);
    bench.queues.post_receive(0x21, ResponderBench::kBuffer, 1024);
    bench.queues.post_receive(0x22, ResponderBench::kBuffer + 4096, 1024);
    const auto data = bench.data(600);
    bench.request(bench.headers(Op::send_first), data.first(256));
    bench.request(bench.headers(Op::send_middle), data.subspan(256, 256));
    CHECK(bench.queues.received.empty());
    auto last = bench.headers(Op::send_last, true);
    last.solicited = true;
    bench.request(last, data.subspan(512));
    bench.settle();
    REQUIRE(bench.queues.received.size() == 1);
    const auto& received = bench.queues.received[0];
    CHECK(received.wqe_index == 0x21);
    CHECK(received.solicited);
    CHECK(received.at == nanoseconds(100 + 300));  // PCIe keeps the completion behind the data
    const CqeView cqe(received.cqe);
    CHECK(cqe.get<cqe64::opcode>() == 2);
    CHECK(cqe.get<cqe64::byte_cnt>() == 600);
    CHECK(cqe.get<cqe64::se>() == 1);
    CHECK(cqe.get<cqe64::grh>() == 0);
    CHECK(cqe.get<cqe64::rqpn>() == ResponderBench::kRemoteQp);
    CHECK(cqe.get<cqe64::sl>() == 2);  // network type of RoCEv2 over IPv4
    CHECK(cqe.get<cqe64::l3_hdr_type>() == 2);
    CHECK(cqe.get<cqe64::has_vlan>() == 0);
    CHECK(cqe.get<cqe64::cqe_format>() == 0);
    CHECK(bench.host_holds(ResponderBench::kBuffer, data));
    CHECK(bench.host_untouched(ResponderBench::kBuffer + 600, 424));
    CHECK(bench.queues.posted.size() == 1);
    CHECK(bench.last_is_ack());
    CHECK(bench.last().psn == 102);
    CHECK(bench.last().msn == 1);
    CHECK(bench.output.packets.back().ready == nanoseconds(450));
}

TEST_CASE("completions of a queue pair never go back in time", "[responder]") {
    ResponderBench bench;
    bench.queues.post_receive(1, ResponderBench::kBuffer, 64);
    bench.queues.post_receive(2, ResponderBench::kBuffer, 64);
    bench.queues.receive_fetch = nanoseconds(900);
    bench.request(bench.headers(Op::send_only), bench.data(8));
    bench.queues.receive_fetch = {};  // this one is there already
    bench.request(bench.headers(Op::send_only));
    REQUIRE(bench.queues.received.size() == 2);
    CHECK(bench.queues.received[0].at == nanoseconds(1000));
    CHECK(bench.queues.received[1].at == nanoseconds(1000));
}

TEST_CASE("immediate data, invalidated key and their opcodes stand in the completion",
          "[responder]") {
    ResponderBench bench;
    for (std::uint16_t i = 0; i < 4; ++i) {
        bench.queues.post_receive(i, ResponderBench::kBuffer + i * 256U, 256, 0x99);
    }
    auto immediate = bench.headers(Op::send_only_immediate);
    immediate.immediate = 0xdead'beef;
    bench.request(immediate, bench.data(5));
    auto invalidate = bench.headers(Op::send_only_invalidate);
    invalidate.invalidated_key = 0x4455'6601;
    bench.request(invalidate, bench.data(6));
    auto write = bench.remote(Op::write_only_immediate, 0, 7);
    write.immediate = 0x0102'0304;
    bench.request(write, bench.data(7));

    REQUIRE(bench.queues.received.size() == 3);
    const CqeView first(bench.queues.received[0].cqe);
    CHECK(first.get<cqe64::opcode>() == 3);
    CHECK(first.get<cqe64::immediate>() == 0xdead'beef);
    CHECK(first.get<cqe64::byte_cnt>() == 5);
    const CqeView second(bench.queues.received[1].cqe);
    CHECK(second.get<cqe64::opcode>() == 4);
    CHECK(second.get<cqe64::inval_rkey>() == 0x4455'6601);
    CHECK(bench.queues.invalidated == std::vector<std::uint32_t>{0x4455'6601});
    const CqeView third(bench.queues.received[2].cqe);
    CHECK(third.get<cqe64::opcode>() == 1);
    CHECK(third.get<cqe64::immediate>() == 0x0102'0304);
    CHECK(third.get<cqe64::byte_cnt>() == 7);
    CHECK(bench.queues.received[2].shared_number == 0x99);
    CHECK(bench.host_untouched(ResponderBench::kBuffer + 512, 256));
    CHECK(bench.host_holds(ResponderBench::kRegionHost, bench.data(7)));
}

TEST_CASE("a WRITE with immediate counts all of its message, not the last packet", "[responder]") {
    ResponderBench bench;
    bench.queues.post_receive(1, 0, 0);
    bench.request(bench.remote(Op::write_first, 0, 300), bench.data(256));
    bench.request(bench.headers(Op::write_last_immediate), bench.data(44));
    REQUIRE(bench.queues.received.size() == 1);
    CHECK(CqeView(bench.queues.received[0].cqe).get<cqe64::byte_cnt>() == 300);
}

TEST_CASE("a key that may not be invalidated fails the receive and the peer's SEND",
          "[responder]") {
    ResponderBench bench;
    bench.queues.invalidate_allowed = false;
    bench.queues.post_receive(3, ResponderBench::kBuffer, 64);
    bench.request(bench.headers(Op::send_only_invalidate, true), bench.data(8));
    bench.settle();
    CHECK(bench.last_is_nak(NakCode::remote_access_error));
    REQUIRE(bench.queues.receive_failures.size() == 1);
    CHECK(bench.queues.receive_failures[0].status.syndrome == 0x12);
    CHECK(bench.queues.counter("resp_remote_access_errors") == 1);
    CHECK(bench.queues.received.empty());
}

TEST_CASE("packets of the wrong length are invalid requests", "[responder]") {
    struct Case {
        Op first;
        std::uint32_t announced;
        std::uint32_t first_bytes;
        Op second;  // same as `first`: there is only one packet
        std::uint32_t second_bytes;
    };
    const auto example = GENERATE(values<Case>({
        {Op::send_first, 0, 255, Op::send_first, 0},
        {Op::send_first, 0, 257, Op::send_first, 0},
        {Op::send_only, 0, 257, Op::send_only, 0},
        {Op::send_first, 0, 256, Op::send_middle, 255},
        {Op::send_first, 0, 256, Op::send_last, 0},
        {Op::send_first, 0, 256, Op::send_last, 257},
        {Op::write_only, 8, 7, Op::write_only, 0},
        {Op::write_only, 8, 9, Op::write_only, 0},
        {Op::write_only, 0, 1, Op::write_only, 0},
        {Op::write_first, 300, 200, Op::write_first, 0},
        {Op::write_first, 256, 256, Op::write_first, 0},
        {Op::write_first, 300, 256, Op::write_last, 43},
        {Op::write_first, 300, 256, Op::write_last, 45},
        {Op::write_first, 300, 256, Op::write_middle, 256},
        {Op::write_first, 512, 256, Op::write_middle, 256},
    }));
    ResponderBench bench;
    bench.queues.post_receive(1, ResponderBench::kBuffer, 4096);
    bench.request(bench.remote(example.first, 0, example.announced),
                  bench.data(example.first_bytes));
    if (example.second != example.first) {
        CHECK(bench.queues.events.empty());
        bench.request(bench.headers(example.second), bench.data(example.second_bytes));
    }
    bench.settle();
    CHECK(bench.last_is_nak(NakCode::invalid_request));
    CHECK(bench.last().psn == bench.psn - 1);
    CHECK(bench.queues.events.size() + bench.queues.receive_failures.size() == 1);
    CHECK(bench.queues.received.empty());
}

TEST_CASE("a WRITE longer than 2^31 bytes is an invalid request", "[responder]") {
    ResponderBench bench;
    bench.request(bench.remote(Op::write_first, 0, (1U << 31) + 1), bench.data(256));
    bench.settle();
    CHECK(bench.last_is_nak(NakCode::invalid_request));
    CHECK(bench.failed_with(EventType::WQ_INVAL_REQ_ERROR));
}

TEST_CASE("the key must hold for the whole WRITE at its first packet", "[responder]") {
    enum class Wrong { key, domain, flag, queue, range, below };
    const Wrong wrong =
        GENERATE(Wrong::key, Wrong::domain, Wrong::flag, Wrong::queue, Wrong::range, Wrong::below);
    ResponderBench bench;
    auto first = bench.remote(Op::write_first, 0, 512);
    auto& region = bench.queues.regions[ResponderBench::kKey];
    switch (wrong) {
        case Wrong::key:
            first.key ^= 1;
            break;
        case Wrong::domain:
            region.pd = 6;
            break;
        case Wrong::flag:
            region.remote_write = false;
            break;
        case Wrong::queue:
            bench.connection.attributes.remote_write = false;
            break;
        case Wrong::range:
            first.address = ResponderBench::kRegion + ResponderBench::kRegionBytes - 511;
            break;
        case Wrong::below:
            first.address = ResponderBench::kRegion - 1;
            break;
    }
    bench.request(first, bench.data(256));
    bench.settle();
    CHECK(bench.last_is_nak(NakCode::remote_access_error));
    CHECK(bench.last().psn == 100);
    CHECK(bench.failed_with(EventType::WQ_ACCESS_ERROR));
    CHECK(bench.queues.counter("resp_remote_access_errors") == 1);
    CHECK(bench.queues.counter("rx_write_requests") == 0);
    CHECK(bench.host.writes == 0);
}

TEST_CASE("an empty WRITE needs no key, an empty SEND takes a receive", "[responder]") {
    ResponderBench bench;
    auto write = bench.remote(Op::write_only, 0, 0, true);
    write.key = 0xffff'ffff;
    bench.request(write);
    bench.settle();
    CHECK(bench.last_is_ack());
    bench.queues.post_receive(1, ResponderBench::kBuffer, 0);
    bench.request(bench.headers(Op::send_only, true));
    bench.settle();
    CHECK(bench.last_is_ack());
    CHECK(bench.last().msn == 2);
    REQUIRE(bench.queues.received.size() == 1);
    CHECK(CqeView(bench.queues.received[0].cqe).get<cqe64::byte_cnt>() == 0);
    CHECK(bench.host.writes == 0);
}

TEST_CASE("the receive is asked for as much as the message is known to need", "[responder]") {
    ResponderBench bench;
    bench.queues.post_receive(1, ResponderBench::kBuffer, 4096);
    bench.queues.post_receive(2, ResponderBench::kBuffer, 4096);
    bench.queues.post_receive(3, ResponderBench::kBuffer, 4096);
    bench.request(bench.headers(Op::send_only), bench.data(40));
    CHECK(bench.connection.responder.receive.needed == 40);
    bench.request(bench.remote(Op::write_only_immediate, 0, 4), bench.data(4));
    CHECK(bench.connection.responder.receive.needed == 0);
    bench.request(bench.headers(Op::send_first), bench.data(256));
    CHECK(bench.connection.responder.receive.needed == ~std::uint64_t{0});
}

TEST_CASE(
    "a message longer than its receive ends in a local length error here and an invalid "
    "request there",
    "[responder]") {
    const bool single = GENERATE(true, false);
    ResponderBench bench;
    bench.queues.post_receive(6, ResponderBench::kBuffer, single ? 15 : 300);
    if (single) {
        bench.request(bench.headers(Op::send_only, true), bench.data(16));
    } else {
        bench.request(bench.headers(Op::send_first), bench.data(256));
        bench.request(bench.headers(Op::send_last, true), bench.data(45));
    }
    bench.settle();
    CHECK(bench.last_is_nak(NakCode::invalid_request));
    REQUIRE(bench.queues.receive_failures.size() == 1);
    CHECK(bench.queues.receive_failures[0].wqe_index == 6);
    CHECK(bench.queues.receive_failures[0].status.syndrome == 0x01);
    CHECK(bench.queues.received.empty());
    CHECK(bench.queues.events.empty());
    CHECK(bench.host_untouched(ResponderBench::kBuffer + 256, 45));
}

TEST_CASE(
    "the host refuses the memory of a receive: local protection here, operational error "
    "there",
    "[responder]") {
    ResponderBench bench;
    bench.queues.post_receive(6, bench.host.limit - 4, 64);
    bench.request(bench.headers(Op::send_only, true), bench.data(16));
    bench.settle();
    CHECK(bench.last_is_nak(NakCode::remote_operational_error));
    REQUIRE(bench.queues.receive_failures.size() == 1);
    CHECK(bench.queues.receive_failures[0].status.syndrome == 0x04);
}

TEST_CASE("the host refuses a WRITE: operational error there, catastrophic event here",
          "[responder]") {
    ResponderBench bench;
    bench.host.limit = ResponderBench::kRegionHost;
    bench.request(bench.remote(Op::write_only, 0, 16, true), bench.data(16));
    bench.settle();
    CHECK(bench.last_is_nak(NakCode::remote_operational_error));
    CHECK(bench.failed_with(EventType::WQ_CATAS_ERROR));
    CHECK(bench.queues.counter("resp_local_qp_error") == 1);
}

TEST_CASE("a bad receive WQE has put the QP into error: the peer is told at once", "[responder]") {
    ResponderBench bench;
    bench.queues.empty_verdict = model::ReceiveVerdict::failed;
    bench.request(bench.headers(Op::send_only, true), bench.data(16));
    REQUIRE(bench.output.packets.size() == 1);
    CHECK(bench.last_is_nak(NakCode::remote_operational_error));
    CHECK(bench.last().psn == 100);
    CHECK(bench.output.packets[0].ready == nanoseconds(150));
    CHECK(bench.calendar.empty());
    CHECK(bench.queues.events.empty());
}

TEST_CASE("a NAK that ends the connection follows the answers to earlier requests", "[responder]") {
    ResponderBench bench;
    bench.request(bench.remote(Op::read_request, 0, 600), {}, 3);
    bench.request(bench.remote(Op::write_only, 4, 4, true), bench.data(4));
    bench.request(bench.headers(Op::send_last), bench.data(4));
    CHECK(bench.queues.events.empty());
    bench.settle();
    REQUIRE(bench.output.packets.size() == 5);
    CHECK(bench.output.packets[2].operation() == Op::read_response_last);
    CHECK(bench.output.packets[3].headers().psn == 103);
    CHECK(bench.last_is_nak(NakCode::invalid_request));
    CHECK(bench.last().psn == 104);
    for (std::size_t i = 1; i < 5; ++i) {
        CHECK(bench.output.packets[i].ready >= bench.output.packets[i - 1].ready);
    }
    CHECK(bench.failed_with(EventType::WQ_INVAL_REQ_ERROR));
    CHECK(bench.calendar.empty());
}

TEST_CASE("a short SEND may come in its completion", "[responder]") {
    ResponderBench bench;
    bench.connection.attributes.receive_in_cqe = model::kCqeDataBytes;
    bench.queues.post_receive(1, ResponderBench::kBuffer, 256);
    bench.queues.post_receive(2, ResponderBench::kBuffer, 256);
    const auto data = bench.data(32, 9);
    bench.request(bench.headers(Op::send_only), data);
    bench.request(bench.headers(Op::send_only), bench.data(33, 5));
    REQUIRE(bench.queues.received.size() == 2);
    const CqeView first(bench.queues.received[0].cqe);
    CHECK(first.get<cqe64::cqe_format>() == 1);
    CHECK(first.get<cqe64::byte_cnt>() == 32);
    CHECK(first.get<cqe64::opcode>() == 2);
    CHECK(std::ranges::equal(std::span(bench.queues.received[0].cqe).first(32), data));
    CHECK(CqeView(bench.queues.received[1].cqe).get<cqe64::cqe_format>() == 0);
    CHECK(bench.host_holds(ResponderBench::kBuffer, bench.data(33, 5)));
    CHECK(bench.host.writes == 1);
}

TEST_CASE("data that go to memory are looked up first, those in a completion are not",
          "[responder]") {
    ResponderBench bench;
    bench.timing.look_up = nanoseconds(70);
    bench.connection.attributes.receive_in_cqe = model::kCqeDataBytes;
    bench.queues.post_receive(1, ResponderBench::kBuffer, 256);
    bench.queues.post_receive(2, ResponderBench::kBuffer, 256);
    const auto sent_at = [&](const roce::TransportHeaders& headers, std::size_t bytes) {
        const model::Picoseconds start = bench.calendar.now();
        bench.request(headers, bench.data(bytes));
        bench.settle();
        REQUIRE(bench.last_is_ack());
        return bench.output.packets.back().ready - start;
    };
    // Decided on after 100 ns, acknowledged 50 ns behind the data.
    CHECK(sent_at(bench.headers(Op::send_only, true), 32) == nanoseconds(150));
    CHECK(sent_at(bench.headers(Op::send_only, true), 33) == nanoseconds(220));
    CHECK(sent_at(bench.remote(Op::write_only, 0, 4, true), 4) == nanoseconds(220));
    CHECK(sent_at(bench.remote(Op::write_only, 0, 0, true), 0) == nanoseconds(150));
    REQUIRE(bench.queues.received.size() == 2);
    CHECK(bench.queues.received[0].at == nanoseconds(100));
}

TEST_CASE("UC puts a QP into error for a fault of its own and sends nothing", "[responder]") {
    ResponderBench bench(roce::WireService::uc);
    bench.queues.post_receive(6, ResponderBench::kBuffer, 15);
    bench.request(bench.headers(Op::send_only), bench.data(16));
    bench.settle();
    REQUIRE(bench.queues.receive_failures.size() == 1);
    CHECK(bench.queues.receive_failures[0].status.syndrome == 0x01);
    CHECK(bench.output.packets.empty());
}

TEST_CASE("payload that is only counted takes its time and no memory", "[responder]") {
    ResponderBench bench;
    bench.queues.post_receive(1, ResponderBench::kBuffer, 256);
    auto packet = bench.arrived(bench.headers(Op::send_only, true));
    packet.payload_bytes = 200;
    bench.responder.request(bench.connection, nanoseconds(100), packet);
    bench.settle();
    REQUIRE(bench.queues.received.size() == 1);
    CHECK(CqeView(bench.queues.received[0].cqe).get<cqe64::byte_cnt>() == 200);
    CHECK(bench.last_is_ack());
    CHECK(bench.host.writes == 0);
}
