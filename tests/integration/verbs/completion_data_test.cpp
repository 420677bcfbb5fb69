// SPDX-License-Identifier: Apache-2.0
// Short messages and answers that come in the completion (scatter to CQE) between two cards.
#include "tests/integration/verbs/traffic_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using namespace cxsim::scenarios;
using namespace cxsim::test;

namespace {

struct CompletionDataBench : TrafficBench {
    CompletionDataBench() : TrafficBench(QpOptions{.data_in_completions = true}) {}

    std::uint64_t writes(unsigned station) const {
        return stations[station]->card.endpoint().dma_statistics().writes;
    }
};

}  // namespace

TEST_CASE("a short SEND costs the receiver one write, a longer one two", "[completion_data]") {
    CompletionDataBench bench;
    for (const std::uint64_t bytes : {0, 1, 32, 33}) {
        CAPTURE(bytes);
        fill_pattern(bench.a.out(64), static_cast<unsigned>(bytes));
        std::ranges::fill(bench.b.in(64), std::byte{0xee});
        const Sge halves[] = {bench.b.mr->sge(bench.b.half(), 20),
                              bench.b.mr->sge(bench.b.half() + 20, 44)};
        REQUIRE(bench.b.qp->post_receive(bytes, halves));
        const std::uint64_t before = bench.writes(1);
        const Sge piece = bench.a.out_piece(bytes);
        REQUIRE(bench.a.qp->post_send({.op = SendOp::send, .sges = {&piece, 1}}));
        CHECK(bench.a.next().ok());
        const Completion done = bench.b.next();
        REQUIRE(done.ok());
        CHECK(done.id == bytes);
        CHECK(done.bytes == bytes);
        CHECK(done.source_qpn == bench.a.qp->number());
        CHECK(equal(bench.a.out(bytes), bench.b.in(bytes)));
        CHECK(untouched(bench.b.in(64).subspan(bytes), std::byte{0xee}));
        // One CQE each; longer ones into two pieces.
        CHECK(bench.writes(1) - before == (bytes > 32 ? 3U : 1U));
    }
}

TEST_CASE("receives of a shared queue take their data from CQEs too", "[completion_data]") {
    VerbsBench bench(2);
    VerbsDriver& a = bench.verbs(0);
    VerbsDriver& b = bench.verbs(1);
    VerbsMr& from = a.create_mr(a.pd(), 4096);
    VerbsMr& to = b.create_mr(b.pd(), 4096);
    VerbsCq& cq_a = a.create_cq(64);
    VerbsCq& cq_b = b.create_cq(64);
    VerbsSrq& srq = b.create_srq(b.pd(), 15);
    VerbsQp& qp_a = a.create_qp(a.pd(), cq_a, cq_a, {});
    VerbsQp& qp_b =
        b.create_qp(b.pd(), cq_b, cq_b, {.srq = &srq, .data_in_completions = true});
    connect(qp_a, a, qp_b, b, {}, VerbsDriver::kIpv4V2);
    fill_pattern(from.bytes(), 1);
    for (std::uint64_t i = 0; i < 40; ++i) {
        const Sge room = to.sge(64 * i, 64);
        REQUIRE(srq.post_receive(i, {&room, 1}));
        const Sge piece = from.sge(64 * i, 1 + i % 32);
        REQUIRE(qp_a.post_send({.op = SendOp::send_immediate,
                                .sges = {&piece, 1},
                                .immediate = static_cast<std::uint32_t>(i)}));
        Completion done;
        REQUIRE(cq_a.wait(done, kTrafficLimit));
        REQUIRE(cq_b.wait(done, kTrafficLimit));
        CHECK(done.id == i);
        CHECK(done.immediate == i);
        CHECK(equal(to.bytes().subspan(64 * i, piece.bytes),
                    from.bytes().subspan(64 * i, piece.bytes)));
    }
}

TEST_CASE("short answers of READs and atomics come with their completion", "[completion_data]") {
    CompletionDataBench bench;
    const TrafficSide& a = bench.a;
    const TrafficSide& b = bench.b;
    fill_pattern(b.in(64), 5);
    // Often enough for WQEs to lie across the ring's end.
    for (std::uint64_t i = 0; i < 300; ++i) {
        const std::uint64_t bytes = 1 + i % 34;
        CAPTURE(i, bytes);
        std::ranges::fill(a.in(64), std::byte{0xee});
        const Sge pieces[] = {a.mr->sge(a.half(), bytes / 2),
                              a.mr->sge(a.half() + bytes / 2, bytes - bytes / 2)};
        const std::uint64_t before = bench.writes(0);
        REQUIRE(a.qp->post_send({.op = SendOp::read,
                                 .sges = pieces,
                                 .remote_address = b.in_address(),
                                 .rkey = b.mr->rkey()}));
        const Completion done = a.next();
        REQUIRE(done.ok());
        CHECK(done.bytes == bytes);
        CHECK(equal(a.in(bytes), b.in(bytes)));
        CHECK(untouched(a.in(64).subspan(bytes), std::byte{0xee}));
        CHECK(bench.writes(0) - before == (bytes > 32 ? 3U : 1U));
    }
    store_number(b.in(8), 41);
    const Sge piece = a.in_piece(8);
    const std::uint64_t before = bench.writes(0);
    REQUIRE(a.qp->post_send({.op = SendOp::fetch_add,
                             .sges = {&piece, 1},
                             .remote_address = b.in_address(),
                             .rkey = b.mr->rkey(),
                             .swap_add = 1}));
    CHECK(a.next().ok());
    CHECK(load_number(a.in(8)) == 41);
    CHECK(load_number(b.in(8)) == 42);
    CHECK(bench.writes(0) - before == 1);
}

TEST_CASE("an answer without a completion of its own goes to memory", "[completion_data]") {
    CompletionDataBench bench;
    const TrafficSide& a = bench.a;
    const TrafficSide& b = bench.b;
    fill_pattern(b.in(8), 9);
    const Sge piece = a.in_piece(8);
    REQUIRE(a.qp->post_send({.op = SendOp::read,
                             .sges = {&piece, 1},
                             .signaled = false,
                             .remote_address = b.in_address(),
                             .rkey = b.mr->rkey()}));
    REQUIRE(a.qp->post_send({.op = SendOp::nop}));
    CHECK(a.next().ok());
    CHECK(equal(a.in(8), b.in(8)));
}
