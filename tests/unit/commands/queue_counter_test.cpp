// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/commands/queue_pair_bench.h"

using namespace cxsim;
using namespace cxsim::test;
using prm::Opcode;
using prm::Status;

namespace {

using Query = prm::query_q_counter_in;
using Out = prm::query_q_counter_out;

prm::Buffer<Query> query_input(std::uint32_t number) {
    auto in = FirmwareBench::input<Query>(Opcode::QUERY_Q_COUNTER);
    in.view().set<Query::counter_set_id>(number);
    return in;
}

Answer<prm::dealloc_q_counter_out> dealloc(FirmwareBench& bench, std::uint32_t number) {
    auto in = FirmwareBench::input<prm::dealloc_q_counter_in>(Opcode::DEALLOC_Q_COUNTER);
    in.view().set<prm::dealloc_q_counter_in::counter_set_id>(number);
    return bench.run<prm::dealloc_q_counter_out>(in);
}

}  // namespace

TEST_CASE("a counter set shows what was counted and clears when asked", "[queue_counter]") {
    QpBench bench;
    const std::uint64_t before = bench.digest();
    const std::uint32_t number = bench.alloc_counter();
    auto& values = bench.resources().q_counters.find(number)->values;
    values["out_of_buffer"] = 7;
    values["req_cqe_error"] = 0x100000003;  // wraps to 3
    auto in = query_input(number);
    in.view().set<Query::clear>(1U);
    const auto shown = bench.run<Out>(in);
    REQUIRE(shown.ok());
    CHECK(shown.get<Out::out_of_buffer>() == 7);
    CHECK(shown.get<Out::req_cqe_error>() == 3);
    CHECK(shown.get<Out::rx_write_requests>() == 0);
    const auto cleared = bench.run<Out>(query_input(number));
    REQUIRE(cleared.ok());
    CHECK(cleared.get<Out::out_of_buffer>() == 0);
    CHECK(dealloc(bench, number).ok());
    CHECK(bench.digest() == before);
}

TEST_CASE("counter sets are refused when unknown, in use or exhausted", "[queue_counter]") {
    QpBench bench;
    CHECK(refused(dealloc(bench, 1), Status::BAD_RES_STATE));
    CHECK(refused(bench.run<Out>(query_input(1)), Status::BAD_RES_STATE));
    const std::uint32_t number = bench.alloc_counter();
    using View = prm::View<Query>;
    check_refusals<Out>(
        bench, query_input(number),
        {{"aggregate", [](View v) { v.set<Query::aggregate>(1U); }, Status::BAD_PARAM},
         {"other vport", [](View v) { v.set<Query::other_vport>(1U); }, Status::BAD_PARAM},
         {"vport", [](View v) { v.set<Query::vport_number>(1U); }, Status::BAD_PARAM}});
    const std::uint32_t qpn = bench.create();
    auto init = bench.reset_to_init(qpn);
    init.view().set<prm::rst2init_qp_in::qpc, qpc::counter_set_id>(number);
    REQUIRE(bench.run<prm::rst2init_qp_out>(init).ok());
    CHECK(refused(dealloc(bench, number), Status::BAD_RES_STATE));
    REQUIRE(bench.destroy(qpn).ok());
    CHECK(dealloc(bench, number).ok());

    const auto limit = bench.card->capabilities().max_value("cmd_hca_cap", "max_qp_cnt");
    for (std::uint64_t i = 0; i < limit; ++i) bench.alloc_counter();
    CHECK(refused(bench.run<prm::alloc_q_counter_out>(
                      FirmwareBench::input<prm::alloc_q_counter_in>(Opcode::ALLOC_Q_COUNTER)),
                  Status::LIM_ERR, 0x587239));
}
