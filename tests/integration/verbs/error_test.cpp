// SPDX-License-Identifier: Apache-2.0
// How RDMA requests fail: the completion's status, the state afterwards, what is counted.
#include "tests/integration/verbs/traffic_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using namespace cxsim::scenarios;
using namespace cxsim::test;

namespace {

/// Posts one request and a NOP-like WRITE behind it: the first must end as `status`, the second
/// flushed, and the queue pair in error.
void check_fails(TrafficBench& bench, SendRequest request, CompletionStatus status) {
    request.id = 1;
    REQUIRE(bench.a.qp->post_send(request, false));
    REQUIRE(bench.a.qp->post_send({.id = 2, .op = SendOp::write, .signaled = false}));
    const Completion failed = bench.a.next();
    CHECK(failed.id == 1);
    CHECK(to_string(failed.status) == to_string(status));
    const Completion flushed = bench.a.next();
    CHECK(flushed.id == 2);
    CHECK(flushed.status == CompletionStatus::flushed);
    CHECK(bench.a.qp->state() == VerbsState::error);
    CHECK(bench.a.qp->sends_outstanding() == 0);
}

}  // namespace

TEST_CASE("a WRITE with a wrong rkey ends in a remote access error on both sides", "[errors]") {
    TrafficBench bench;
    std::ranges::fill(bench.b.in(4096), std::byte{1});
    const Sge piece = bench.a.out_piece(64);
    check_fails(bench,
                {.op = SendOp::write,
                 .sges = {&piece, 1},
                 .remote_address = bench.b.in_address(),
                 .rkey = bench.b.mr->rkey() ^ 1},
                CompletionStatus::remote_access);
    CHECK(bench.b.qp->state() == VerbsState::error);
    CHECK(untouched(bench.b.in(4096), std::byte{1}));
    CHECK(bench.a.verbs->counter("req_remote_access_errors") == 1);
    CHECK(bench.b.verbs->counter("resp_remote_access_errors") == 1);
}

TEST_CASE("a READ beyond the end of a region ends in a remote access error", "[errors]") {
    TrafficBench bench;
    const Sge piece = bench.a.in_piece(64);
    check_fails(bench,
                {.op = SendOp::read,
                 .sges = {&piece, 1},
                 .remote_address = bench.b.mr->address() + bench.b.mr->bytes().size() - 63,
                 .rkey = bench.b.mr->rkey()},
                CompletionStatus::remote_access);
}

TEST_CASE("a WRITE that the peer's queue pair does not allow ends in a remote access error",
          "[errors]") {
    ConnectionOptions connection;
    connection.access = {true, true, false, true};
    TrafficBench bench({}, connection);
    const Sge piece = bench.a.out_piece(64);
    check_fails(bench,
                {.op = SendOp::write,
                 .sges = {&piece, 1},
                 .remote_address = bench.b.in_address(),
                 .rkey = bench.b.mr->rkey()},
                CompletionStatus::remote_access);
}

TEST_CASE("a request with a wrong lkey ends in a local protection error and sends nothing",
          "[errors]") {
    TrafficBench bench;
    Sge piece = bench.a.out_piece(64);
    piece.lkey ^= 1;
    check_fails(bench,
                {.op = SendOp::write,
                 .sges = {&piece, 1},
                 .remote_address = bench.b.in_address(),
                 .rkey = bench.b.mr->rkey()},
                CompletionStatus::local_protection);
    CHECK(bench.b.qp->state() == VerbsState::rts);
    CHECK(bench.a.verbs->counter("req_local_protection") == 1);
}

TEST_CASE("a SEND without a receive ends when the RNR retries are used up", "[errors]") {
    ConnectionOptions connection;
    connection.rnr_retry = 2;
    connection.min_rnr_timer = 1;  // 0.01 ms
    TrafficBench bench({}, connection);
    const Sge piece = bench.a.out_piece(64);
    check_fails(bench, {.sges = {&piece, 1}}, CompletionStatus::rnr_retries_exceeded);
    CHECK(bench.b.qp->state() == VerbsState::rts);
    CHECK(bench.b.verbs->counter("out_of_buffer") == 3);
    CHECK(bench.a.verbs->counter("rnr_nak_retry_err") >= 1);
}

TEST_CASE("a SEND waits for a receive that comes while it is retried", "[errors]") {
    ConnectionOptions connection;
    connection.min_rnr_timer = 1;
    TrafficBench bench({}, connection);
    fill_pattern(bench.a.out(5000), 4);
    const Sge piece = bench.a.out_piece(5000);
    const Sge into = bench.b.in_piece(5000);
    REQUIRE(bench.a.qp->post_send({.sges = {&piece, 1}}));
    bench.kernel.run_for(model::microseconds(100));
    REQUIRE(bench.b.qp->post_receive(5, {&into, 1}));
    CHECK(bench.a.next().ok());
    CHECK(bench.b.next().id == 5);
    CHECK(equal(bench.a.out(5000), bench.b.in(5000)));
}

TEST_CASE("a SEND longer than the receive ends in errors on both sides", "[errors]") {
    TrafficBench bench;
    const Sge into = bench.b.in_piece(100);
    REQUIRE(bench.b.qp->post_receive(7, {&into, 1}));
    const Sge piece = bench.a.out_piece(101);
    check_fails(bench, {.sges = {&piece, 1}}, CompletionStatus::remote_invalid_request);
    const Completion received = bench.b.next();
    CHECK(received.receive);
    CHECK(received.id == 7);
    CHECK(to_string(received.status) == "local_length");
    CHECK(bench.b.qp->state() == VerbsState::error);
}

TEST_CASE("a receive with a wrong lkey fails the SEND as a remote operation error", "[errors]") {
    TrafficBench bench;
    Sge into = bench.b.in_piece(100);
    into.lkey ^= 1;
    REQUIRE(bench.b.qp->post_receive(7, {&into, 1}));
    const Sge piece = bench.a.out_piece(100);
    check_fails(bench, {.sges = {&piece, 1}}, CompletionStatus::remote_operation);
    const Completion received = bench.b.next();
    CHECK(to_string(received.status) == "local_protection");
    CHECK(bench.b.qp->state() == VerbsState::error);
}

TEST_CASE("a request to a queue pair that is gone ends when the retries are used up", "[errors]") {
    ConnectionOptions connection;
    connection.retry_count = 1;
    connection.ack_timeout = 1;
    TrafficBench bench({}, connection);
    bench.b.qp->to_error();
    const Sge piece = bench.a.out_piece(64);
    REQUIRE(bench.a.qp->post_send({.op = SendOp::write,
                                   .sges = {&piece, 1},
                                   .remote_address = bench.b.in_address(),
                                   .rkey = bench.b.mr->rkey()}));
    Completion done;
    REQUIRE(bench.a.cq->wait(done, model::seconds(10)));
    CHECK(to_string(done.status) == "transport_retries_exceeded");
    CHECK(bench.a.verbs->counter("local_ack_timeout_err") >= 1);
}

// The port's MTU of 1522 bytes is that of an Ethernet of 1500. Cards are known to connect such QPs:
// then "retry count exceeded" is all that is seen.
TEST_CASE("a path MTU above the port's is taken, and packets that the port cannot send are lost",
          "[errors]") {
    ConnectionOptions connection;
    connection.mtu = 4096;
    connection.retry_count = 1;
    connection.ack_timeout = 1;
    TrafficBench bench({}, connection);
    fill_pattern(bench.a.out(1024), 9);
    const auto write = [&](std::uint64_t bytes) {
        const Sge piece = bench.a.out_piece(bytes);
        REQUIRE(bench.a.qp->post_send({.op = SendOp::write,
                                       .sges = {&piece, 1},
                                       .remote_address = bench.b.in_address(),
                                       .rkey = bench.b.mr->rkey()}));
        Completion done;
        REQUIRE(bench.a.cq->wait(done, model::seconds(10)));
        return to_string(done.status);
    };
    CHECK(write(1024) == "success");
    CHECK(equal(bench.a.out(1024), bench.b.in(1024)));
    const auto& port = bench.station(0).card.port().port_counters();
    CHECK(port.tx_oversize.value() == 0);
    CHECK(write(2048) == "transport_retries_exceeded");
    CHECK(port.tx_oversize.value() >= 2);
}

TEST_CASE("a misaligned atomic is refused by the responder", "[errors]") {
    TrafficBench bench;
    const Sge piece = bench.a.in_piece(8);
    check_fails(bench,
                {.op = SendOp::fetch_add,
                 .sges = {&piece, 1},
                 .remote_address = bench.b.in_address() + 4,
                 .rkey = bench.b.mr->rkey(),
                 .swap_add = 1},
                CompletionStatus::remote_invalid_request);
}

TEST_CASE("requests in a queue pair that software puts into error come back flushed", "[errors]") {
    TrafficBench bench;
    const Sge piece = bench.a.out_piece(64);
    for (std::uint64_t i = 0; i < 5; ++i) {
        REQUIRE(bench.a.qp->post_send({.id = i, .sges = {&piece, 1}, .signaled = false}, false));
    }
    bench.a.qp->to_error();
    bench.a.qp->ring_doorbell();
    for (std::uint64_t i = 0; i < 5; ++i) {
        const Completion done = bench.a.next();
        CHECK(done.id == i);
        CHECK(done.status == CompletionStatus::flushed);
    }
    CHECK(bench.a.qp->sends_outstanding() == 0);
}
