// SPDX-License-Identifier: Apache-2.0
// Which request may come: packet sequence numbers, NAKs, duplicates, the order inside a message.
#include "tests/unit/roce/responder_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace cxsim;
using cxsim::test::ResponderBench;
using model::nanoseconds;
using prm::EventType;
using roce::AethKind;
using roce::NakCode;
using Op = roce::Operation;

TEST_CASE("a WRITE is acknowledged with its PSN, MSN and no credit limit once it goes to memory",
          "[responder]") {
    ResponderBench bench;
    const auto data = bench.data(100);
    bench.request(bench.remote(Op::write_only, 8, 100, true), data);
    bench.settle();
    REQUIRE(bench.output.packets.size() == 1);
    const auto& sent = bench.output.packets[0];
    CHECK(sent.parsed == roce::Parsed::packet);
    CHECK(sent.headers().opcode == 0x11);
    CHECK(sent.headers().destination_qp == ResponderBench::kRemoteQp);
    CHECK(sent.headers().psn == 100);
    CHECK(sent.headers().msn == 1);
    CHECK(sent.headers().syndrome == 0x1f);
    CHECK_FALSE(sent.headers().ack_request);
    CHECK(sent.packet.frame_bytes == 62);
    // 100 ns until the headers are decided on, 50 ns for the answer; nobody waits for the write.
    CHECK(sent.ready == nanoseconds(150));
    CHECK(bench.host_holds(ResponderBench::kRegionHost + 8, data));
    CHECK(bench.host_untouched(ResponderBench::kRegionHost, 8));
    CHECK(bench.host_untouched(ResponderBench::kRegionHost + 108, 64));
    CHECK(bench.queues.counter("rx_write_requests") == 1);
    CHECK(bench.counters.acknowledges_sent == 1);
    CHECK(bench.counters.messages_received == 1);
    CHECK(bench.queues.received.empty());
}

TEST_CASE("nothing is answered where no acknowledgement was asked for", "[responder]") {
    ResponderBench bench;
    bench.request(bench.remote(Op::write_only, 0, 4), bench.data(4));
    bench.settle();
    CHECK(bench.output.packets.empty());
    CHECK(bench.responder.expected_psn(bench.connection) == 101);
    CHECK(bench.responder.message_number(bench.connection) == 1);
}

TEST_CASE("PSNs go on at 0 after 2^24 - 1", "[responder]") {
    ResponderBench bench(roce::WireService::rc, 0xff'fffe);
    for (std::uint32_t i = 0; i < 4; ++i) {
        bench.request(bench.remote(Op::write_only, i * 4, 4, true), bench.data(4));
        bench.settle();
        CHECK(bench.last().psn == ((0xff'fffeU + i) & 0xff'ffffU));
    }
    CHECK(bench.responder.expected_psn(bench.connection) == 2);
    CHECK(bench.counters.naks_sent == 0);

    // Behind and ahead across the wrap.
    bench.psn = 0xff'ffff;
    bench.arrive(bench.remote(Op::write_only, 0, 4, true), bench.data(4));
    CHECK(bench.queues.counter("duplicate_request") == 1);
    bench.psn = 3;
    bench.arrive(bench.remote(Op::write_only, 0, 4, true), bench.data(4));
    CHECK(bench.queues.counter("out_of_sequence") == 1);
}

TEST_CASE("a PSN half the space away is a duplicate, one less is ahead", "[responder]") {
    ResponderBench bench(roce::WireService::rc, 0);
    bench.psn = 0x80'0000;
    bench.arrive(bench.remote(Op::write_only, 0, 4), bench.data(4));
    CHECK(bench.queues.counter("duplicate_request") == 1);
    CHECK(bench.queues.counter("out_of_sequence") == 0);
    bench.psn = 0x7f'ffff;
    bench.arrive(bench.remote(Op::write_only, 0, 4), bench.data(4));
    CHECK(bench.queues.counter("out_of_sequence") == 1);
    CHECK(bench.host_untouched(ResponderBench::kRegionHost, 4));
}

TEST_CASE("a gap is reported once, after the card's NAK time, and packets behind it are dropped",
          "[responder]") {
    ResponderBench bench;
    bench.request(bench.remote(Op::write_only, 0, 4), bench.data(4));
    for (bench.psn = 102; bench.psn < 110; ++bench.psn) {
        bench.arrive(bench.remote(Op::write_only, 64, 4, true), bench.data(4));
    }
    bench.settle();
    REQUIRE(bench.output.packets.size() == 1);
    CHECK(bench.last_is_nak(NakCode::psn_sequence_error));
    CHECK(bench.last().psn == 101);
    CHECK(bench.last().msn == 1);
    CHECK(bench.output.packets[0].ready == nanoseconds(100) + bench.timing.nak);
    CHECK(bench.queues.counter("out_of_sequence") == 1);
    CHECK(bench.counters.naks_sent == 1);
    CHECK(bench.counters.dropped_sequence == 7);
    CHECK(bench.host_untouched(ResponderBench::kRegionHost + 64, 4));
    CHECK(bench.queues.events.empty());

    // Another gap after the missing packet has come.
    bench.psn = 101;
    bench.request(bench.remote(Op::write_only, 4, 4, true), bench.data(4));
    bench.settle();
    CHECK(bench.last_is_ack());
    CHECK(bench.last().psn == 101);
    bench.psn = 105;
    bench.arrive(bench.remote(Op::write_only, 64, 4), bench.data(4));
    bench.settle();
    CHECK(bench.last_is_nak(NakCode::psn_sequence_error));
    CHECK(bench.last().psn == 102);
    CHECK(bench.counters.naks_sent == 2);
}

TEST_CASE("a duplicate WRITE or SEND changes nothing and is acknowledged up to what was accepted",
          "[responder]") {
    ResponderBench bench;
    bench.queues.post_receive(0, ResponderBench::kBuffer, 256);
    bench.request(bench.remote(Op::write_only, 0, 4), bench.data(4, 10));
    bench.request(bench.headers(Op::send_only), bench.data(4, 20));
    bench.request(bench.remote(Op::write_only, 0, 4), bench.data(4, 30));
    bench.settle();
    REQUIRE(bench.output.packets.empty());

    bench.psn = 100;
    bench.arrive(bench.remote(Op::write_only, 0, 4, true), bench.data(4, 40));
    bench.settle();
    REQUIRE(bench.output.packets.size() == 1);
    CHECK(bench.last_is_ack());
    CHECK(bench.last().psn == 102);
    CHECK(bench.last().msn == 3);
    bench.psn = 101;
    bench.arrive(bench.headers(Op::send_only), bench.data(4, 50));
    bench.settle();
    CHECK(bench.output.packets.size() == 1);  // it did not ask
    CHECK(bench.queues.counter("duplicate_request") == 2);
    CHECK(bench.queues.counter("rx_write_requests") == 2);
    CHECK(bench.queues.received.size() == 1);
    CHECK(bench.host_holds(ResponderBench::kRegionHost, bench.data(4, 30)));
    CHECK(bench.host_holds(ResponderBench::kBuffer, bench.data(4, 20)));
}

TEST_CASE("a duplicate in the middle of a message leaves that message as it is", "[responder]") {
    ResponderBench bench;
    const auto data = bench.data(600, 3);
    bench.request(bench.remote(Op::write_first, 0, 600), data.first(256));
    bench.request(bench.headers(Op::write_middle), data.subspan(256, 256));
    bench.psn = 100;
    bench.request(bench.remote(Op::write_first, 0, 600), bench.data(256, 99));
    bench.request(bench.headers(Op::write_middle, true), bench.data(256, 77));
    bench.request(bench.headers(Op::write_last, true), data.subspan(512));
    bench.settle();
    CHECK(bench.last_is_ack());
    CHECK(bench.last().psn == 102);
    CHECK(bench.last().msn == 1);
    CHECK(bench.host_holds(ResponderBench::kRegionHost, data));
    CHECK(bench.queues.counter("duplicate_request") == 2);
}

TEST_CASE("a SEND without a receive is told to come again, once", "[responder]") {
    ResponderBench bench;
    bench.request(bench.headers(Op::send_only, true), bench.data(16));
    bench.request(bench.headers(Op::send_only, true), bench.data(16));
    bench.request(bench.headers(Op::send_only, true), bench.data(16));
    bench.settle();
    REQUIRE(bench.output.packets.size() == 1);
    CHECK(roce::aeth_kind(bench.last().syndrome) == AethKind::rnr_nak);
    CHECK(roce::aeth_value(bench.last().syndrome) == 12);
    CHECK(bench.last().psn == 100);
    CHECK(bench.last().msn == 0);
    CHECK(bench.counters.naks_sent == 1);
    CHECK(bench.queues.counter("out_of_sequence") == 0);
    CHECK(bench.responder.expected_psn(bench.connection) == 100);

    // Still none: told again.
    bench.psn = 100;
    bench.arrive(bench.headers(Op::send_only, true), bench.data(16));
    bench.settle();
    CHECK(bench.output.packets.size() == 2);
    CHECK(roce::aeth_kind(bench.last().syndrome) == AethKind::rnr_nak);

    bench.queues.post_receive(7, ResponderBench::kBuffer, 64);
    bench.request(bench.headers(Op::send_only, true), bench.data(16));
    bench.settle();
    CHECK(bench.last_is_ack());
    CHECK(bench.last().psn == 100);
    CHECK(bench.queues.received.size() == 1);
    CHECK(bench.queues.events.empty());
}

TEST_CASE("a WRITE with immediate waits for a receive with its last packet, not before",
          "[responder]") {
    ResponderBench bench;
    const auto data = bench.data(300);
    bench.request(bench.remote(Op::write_first, 0, 300), data.first(256));
    auto last = bench.headers(Op::write_last_immediate, true);
    last.immediate = 0x1234'5678;
    bench.arrive(last, data.subspan(256));
    bench.settle();
    CHECK(roce::aeth_kind(bench.last().syndrome) == AethKind::rnr_nak);
    CHECK(bench.last().psn == 101);
    CHECK(bench.host_untouched(ResponderBench::kRegionHost + 256, 44));

    bench.queues.post_receive(3, 0, 0);
    bench.request(last, data.subspan(256));
    bench.settle();
    CHECK(bench.last_is_ack());
    CHECK(bench.last().psn == 101);
    CHECK(bench.host_holds(ResponderBench::kRegionHost, data));
    REQUIRE(bench.queues.received.size() == 1);
    CHECK(bench.queues.counter("rx_write_requests") == 1);
}

TEST_CASE("an only WRITE with immediate counts once though it had to come twice", "[responder]") {
    ResponderBench bench;
    bench.arrive(bench.remote(Op::write_only_immediate, 0, 4, true), bench.data(4));
    bench.queues.post_receive(3, 0, 0);
    bench.settle();
    bench.request(bench.remote(Op::write_only_immediate, 0, 4, true), bench.data(4));
    bench.settle();
    CHECK(bench.last_is_ack());
    CHECK(bench.queues.counter("rx_write_requests") == 1);
    CHECK(bench.queues.received.size() == 1);
}

TEST_CASE("operations that do not follow on another are invalid requests", "[responder]") {
    struct Case {
        std::vector<Op> before;
        Op illegal;
    };
    const auto example = GENERATE(values<Case>({{{}, Op::send_middle},
                                                {{}, Op::send_last},
                                                {{}, Op::write_middle},
                                                {{}, Op::write_last},
                                                {{}, Op::write_last_immediate},
                                                {{Op::send_first}, Op::send_only},
                                                {{Op::send_first}, Op::send_first},
                                                {{Op::send_first}, Op::write_middle},
                                                {{Op::send_first}, Op::read_request},
                                                {{Op::send_first}, Op::compare_swap},
                                                {{Op::write_first}, Op::send_last},
                                                {{Op::write_first}, Op::write_only},
                                                {{Op::write_first}, Op::fetch_add},
                                                {{Op::write_only}, Op::write_last}}));
    ResponderBench bench;
    bench.queues.post_receive(9, ResponderBench::kBuffer, 4096);
    const bool holds = !example.before.empty() && example.before[0] == Op::send_first;
    for (const Op before : example.before) {
        const std::uint32_t bytes = roce::traits_of(before).last ? 4 : 256;
        bench.request(bench.remote(before, 0, bytes == 4 ? 4 : 512), bench.data(bytes));
    }
    const std::uint32_t refused = bench.psn;
    bench.request(bench.remote(example.illegal, 0, 8, true),
                  bench.data(roce::traits_of(example.illegal).payload ? 8 : 0));
    bench.request(bench.remote(Op::write_only, 0x800, 4, true), bench.data(4));  // too late
    bench.settle();
    REQUIRE(bench.output.packets.size() == 1);
    CHECK(bench.last_is_nak(NakCode::invalid_request));
    CHECK(bench.last().psn == refused);
    CHECK(bench.host_untouched(ResponderBench::kRegionHost + 0x800, 4));
    CHECK(bench.queues.counter("resp_remote_invalid_request") == 1);
    if (holds) {
        REQUIRE(bench.queues.receive_failures.size() == 1);
        CHECK(bench.queues.receive_failures[0].status.syndrome == 0x12);
        CHECK(bench.queues.receive_failures[0].wqe_index == 9);
        CHECK(bench.queues.events.empty());
    } else {
        CHECK(bench.queues.receive_failures.empty());
        CHECK(bench.failed_with(EventType::WQ_INVAL_REQ_ERROR));
        CHECK(bench.queues.events[0].at == bench.output.packets[0].ready);
    }
}

TEST_CASE("the first request in RTR announces that communication is established", "[responder]") {
    ResponderBench bench;
    bench.connection.qp.state = model::QpState::rtr;
    bench.request(bench.remote(Op::write_only, 0, 4), bench.data(4));
    bench.request(bench.remote(Op::write_only, 0, 4), bench.data(4));
    REQUIRE(bench.queues.events.size() == 1);
    CHECK(bench.queues.events[0].type == EventType::COMM_EST);
    CHECK_FALSE(bench.queues.events[0].error);

    ResponderBench sending;  // in RTS by itself
    sending.request(sending.remote(Op::write_only, 0, 4), sending.data(4));
    CHECK(sending.queues.events.empty());
}

TEST_CASE("UC takes up again at the next message after a gap and says nothing", "[responder]") {
    ResponderBench bench(roce::WireService::uc);
    bench.queues.post_receive(4, ResponderBench::kBuffer, 1024);
    bench.request(bench.headers(Op::send_first), bench.data(256, 1));
    bench.psn = 102;  // the middle is lost
    bench.request(bench.headers(Op::send_last), bench.data(10, 2));
    CHECK(bench.queues.counter("out_of_sequence") == 1);
    CHECK(bench.counters.dropped_sequence == 1);
    bench.request(bench.headers(Op::send_last), bench.data(10, 2));
    CHECK(bench.counters.dropped_sequence == 2);

    // The receive of the lost message serves the next one.
    bench.request(bench.headers(Op::send_only, true), bench.data(20, 7));
    bench.settle();
    CHECK(bench.output.packets.empty());
    REQUIRE(bench.queues.received.size() == 1);
    CHECK(bench.queues.received[0].wqe_index == 4);
    CHECK(bench.host_holds(ResponderBench::kBuffer, bench.data(20, 7)));
    CHECK(bench.responder.expected_psn(bench.connection) == 105);
}

TEST_CASE("UC drops what it may not do, and a SEND without a receive, in silence", "[responder]") {
    ResponderBench bench(roce::WireService::uc);
    bench.connection.attributes.remote_write = false;
    bench.request(bench.remote(Op::write_first, 0, 512), bench.data(256));
    bench.request(bench.headers(Op::write_last), bench.data(256));
    CHECK(bench.counters.dropped_request == 1);
    CHECK(bench.counters.dropped_sequence == 1);
    bench.request(bench.headers(Op::send_only), bench.data(8));
    bench.request(bench.headers(Op::send_first), bench.data(256));
    bench.request(bench.headers(Op::send_last), bench.data(256));
    CHECK(bench.counters.dropped_no_buffer == 2);
    CHECK(bench.counters.dropped_sequence == 2);
    bench.settle();
    CHECK(bench.host_untouched(ResponderBench::kRegionHost, 512));
    CHECK(bench.output.packets.empty());
    CHECK(bench.queues.events.empty());
}
