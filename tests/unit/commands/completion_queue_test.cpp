// SPDX-License-Identifier: Apache-2.0
#include "tests/support/firmware_bench.h"

using namespace cxsim;
using namespace cxsim::test;
using prm::cqc;
using prm::Opcode;
using prm::Status;

namespace {

struct CqBench : FirmwareBench {
    explicit CqBench(std::vector<model::Override> overrides = {})
        : FirmwareBench("connectx5", std::move(overrides)) {}

    std::uint32_t uar = alloc_uar();
    std::uint32_t eqn = create_eq(uar);

    Answer<prm::destroy_cq_out> destroy(std::uint32_t cqn) {
        auto in = input<prm::destroy_cq_in>(Opcode::DESTROY_CQ);
        in.view().set<prm::destroy_cq_in::cqn>(cqn);
        return run<prm::destroy_cq_out>(in);
    }
    Answer<prm::query_cq_out> query(std::uint32_t cqn, std::size_t tail = 0) {
        auto in = input<prm::query_cq_in>(Opcode::QUERY_CQ);
        in.view().set<prm::query_cq_in::cqn>(cqn);
        return run<prm::query_cq_out>(in, tail);
    }
    static prm::Buffer<prm::modify_cq_in> modify_input(std::uint32_t cqn, std::uint32_t select,
                                                       std::uint32_t op_mod = 0) {
        using In = prm::modify_cq_in;
        using Union = prm::modify_field_select_resize_field_select_auto;
        auto in = input<In>(Opcode::MODIFY_CQ, op_mod, 16);
        in.view().set<In::cqn>(cqn);
        in.view()
            .set<In::modify_field_select_resize_field_select, Union::modify_field_select,
                 prm::modify_field_select::modify_field_select_>(select);
        return in;
    }
};

}  // namespace

TEST_CASE("a CQ keeps what it was created with and holds its EQ and UAR", "[completion_queue]") {
    CqBench bench;
    const std::uint64_t before = bench.digest();
    auto in = CqBench::cq_input(bench.uar, bench.eqn);
    in.view().set<prm::create_cq_in::cq_context, cqc::cq_period>(16U);
    in.view().set<prm::create_cq_in::cq_context, cqc::cq_max_count>(32U);
    const auto created = bench.run<prm::create_cq_out>(in);
    REQUIRE(created.ok());
    const auto cqn = created.get<prm::create_cq_out::cqn>();
    const model::Cq* cq = bench.resources().cqs.find(cqn);
    REQUIRE(cq != nullptr);
    CHECK(cq->entries() == 64);
    CHECK(cq->cqe_bytes == 64);
    CHECK(cq->eqn == bench.eqn);
    CHECK(cq->moderation_count == 32);
    CHECK(cq->moderation_period == model::microseconds(16));
    CHECK(cq->doorbell_record.value == FirmwareBench::kQueueMemory + 0x1000);
    CHECK(cq->ring.address(64).value == FirmwareBench::kQueueMemory + 0x2040);

    auto eq = FirmwareBench::input<prm::destroy_eq_in>(Opcode::DESTROY_EQ);
    eq.view().set<prm::destroy_eq_in::eq_number>(bench.eqn);
    CHECK(refused(bench.run<prm::destroy_eq_out>(eq), Status::BAD_RES_STATE));
    auto uar = FirmwareBench::input<prm::dealloc_uar_in>(Opcode::DEALLOC_UAR);
    uar.view().set<prm::dealloc_uar_in::uar>(bench.uar);
    CHECK(refused(bench.run<prm::dealloc_uar_out>(uar), Status::BAD_RES_STATE));

    const auto shown = bench.query(cqn, 8);
    REQUIRE(shown.ok());
    CHECK(shown.get<prm::query_cq_out::cq_context, cqc::log_cq_size>() == 6);
    CHECK(shown.get<prm::query_cq_out::cq_context, cqc::cq_max_count>() == 32);
    CHECK(shown.get<prm::query_cq_out::cq_context, cqc::status>() == 0);
    CHECK(shown.out.view().at<prm::query_cq_out::pas>(0) == FirmwareBench::kQueueMemory + 0x2000);

    CHECK(bench.destroy(cqn).ok());
    CHECK(bench.digest() == before);
}

TEST_CASE("the UAR page of a CQ can go first, as when a program left the CQ behind", "[cq]") {
    CqBench bench;
    const std::uint32_t page = bench.alloc_uar();
    const std::uint32_t cqn = bench.create_cq(page, bench.eqn);
    auto uar = FirmwareBench::input<prm::dealloc_uar_in>(Opcode::DEALLOC_UAR);
    uar.view().set<prm::dealloc_uar_in::uar>(page);
    CHECK(bench.run<prm::dealloc_uar_out>(uar).ok());
    auto destroy = FirmwareBench::input<prm::destroy_cq_in>(Opcode::DESTROY_CQ);
    destroy.view().set<prm::destroy_cq_in::cqn>(cqn);
    CHECK(bench.run<prm::destroy_cq_out>(destroy).ok());
}

TEST_CASE("creating a CQ is refused for each thing that is wrong", "[completion_queue]") {
    CqBench bench;
    using In = prm::create_cq_in;
    using View = prm::View<In>;
    using Context = In::cq_context;
    check_refusals<prm::create_cq_out>(
        bench, CqBench::cq_input(bench.uar, bench.eqn),
        {{"too large", [](View v) { v.set<Context, cqc::log_cq_size>(23U); }, Status::BAD_PARAM},
         {"CQE size", [](View v) { v.set<Context, cqc::cqe_sz>(3U); }, Status::BAD_PARAM},
         {"UAR", [](View v) { v.set<Context, cqc::uar_page>(0x7777U); }, Status::BAD_PARAM},
         {"EQ", [](View v) { v.set<Context, cqc::c_eqn_or_apu_element>(99U); }, Status::BAD_PARAM},
         {"period mode", [](View v) { v.set<Context, cqc::cq_period_mode>(2U); },
          Status::BAD_PARAM},
         {"page list", [](View v) { v.set<Context, cqc::log_cq_size>(7U); }, Status::BAD_INP_LEN},
         {"doorbell record", [](View v) { v.set<Context, cqc::dbr_addr>(0x1004U); },
          Status::BAD_PARAM},
         {"user memory", [](View v) { v.set<In::cq_umem_valid>(1U); }, Status::BAD_PARAM},
         {"record in user memory", [](View v) { v.set<Context, cqc::dbr_umem_valid>(1U); },
          Status::BAD_PARAM},
         {"collapsed", [](View v) { v.set<Context, cqc::cc>(1U); }, Status::BAD_PARAM},
         {"compression layout", [](View v) { v.set<Context, cqc::cqe_compression_layout>(1U); },
          Status::BAD_PARAM},
         {"user", [](View v) { v.set<In::uid>(5U); }, Status::BAD_PARAM, 0x76555f}});
}

TEST_CASE("options of a CQ need their capabilities", "[completion_queue]") {
    CqBench bench(capability({{"cmd_hca_cap.cq_oi", "0"},
                              {"cmd_hca_cap.cqe_128_always", "0"},
                              {"cmd_hca_cap.cqe_compression", "0"},
                              {"cmd_hca_cap.cq_period_start_from_cqe", "0"},
                              {"cmd_hca_cap.cq_resize", "0"},
                              {"cmd_hca_cap.cq_moderation", "0"},
                              {"cmd_hca_cap.cq_period_mode_modify", "0"},
                              {"cmd_hca_cap.cq_eq_remap", "0"}}));
    using View = prm::View<prm::create_cq_in>;
    using Context = prm::create_cq_in::cq_context;
    check_refusals<prm::create_cq_out>(
        bench, CqBench::cq_input(bench.uar, bench.eqn),
        {{"overrun", [](View v) { v.set<Context, cqc::oi>(1U); }, Status::BAD_PARAM},
         {"padding", [](View v) { v.set<Context, cqc::cqe_sz>(2U); }, Status::BAD_PARAM},
         {"compression", [](View v) { v.set<Context, cqc::cqe_comp_en>(1U); }, Status::BAD_PARAM},
         {"period mode", [](View v) { v.set<Context, cqc::cq_period_mode>(1U); },
          Status::BAD_PARAM}});
    const std::uint32_t cqn = bench.create_cq(bench.uar, bench.eqn);
    for (const std::uint32_t bit : {0U, 1U, 2U, 3U, 4U}) {
        CAPTURE(bit);
        CHECK(refused(bench.run<prm::modify_cq_out>(CqBench::modify_input(cqn, 1U << bit)),
                      Status::BAD_PARAM));
    }
    CHECK(refused(bench.run<prm::modify_cq_out>(CqBench::modify_input(cqn, 1, 1)),
                  Status::BAD_PARAM));
}

TEST_CASE("modifying a CQ takes the selected fields only", "[completion_queue]") {
    CqBench bench;
    const std::uint32_t cqn = bench.create_cq(bench.uar, bench.eqn);
    const std::uint32_t other = bench.create_eq(bench.uar);
    auto in = CqBench::modify_input(cqn, 0b01);
    const auto context = in.view().nested<prm::modify_cq_in::cq_context>();
    context.set<cqc::cq_period>(8U);
    context.set<cqc::cq_max_count>(128U);
    context.set<cqc::oi>(1U);
    context.set<cqc::c_eqn_or_apu_element>(other);
    REQUIRE(bench.run<prm::modify_cq_out>(in).ok());
    model::Cq& cq = *bench.resources().cqs.find(cqn);
    CHECK(cq.moderation_period == model::microseconds(8));
    CHECK(cq.moderation_count == 0);
    CHECK_FALSE(cq.overrun_ignore);
    CHECK(cq.eqn == bench.eqn);

    auto all = CqBench::modify_input(cqn, 0b1110);
    std::copy(in.bytes().begin() + 16, in.bytes().end(), all.bytes().begin() + 16);
    REQUIRE(bench.run<prm::modify_cq_out>(all).ok());
    CHECK(cq.moderation_count == 128);
    CHECK(cq.overrun_ignore);
    CHECK(cq.eqn == other);
    CHECK(bench.resources().eqs.find(bench.eqn)->users == 0);
    CHECK(bench.resources().eqs.find(other)->users == 1);

    CHECK(refused(bench.run<prm::modify_cq_out>(CqBench::modify_input(cqn, 1U << 5)),
                  Status::BAD_PARAM));
    CHECK(refused(bench.run<prm::modify_cq_out>(CqBench::modify_input(cqn + 1, 1)),
                  Status::BAD_RES_STATE));
    auto bad_eq = CqBench::modify_input(cqn, 0b1000);
    bad_eq.view().set<prm::modify_cq_in::cq_context, cqc::c_eqn_or_apu_element>(200U);
    CHECK(refused(bench.run<prm::modify_cq_out>(bad_eq), Status::BAD_PARAM));
    auto bad_mode = CqBench::modify_input(cqn, 0b10000);
    bad_mode.view().set<prm::modify_cq_in::cq_context, cqc::cq_period_mode>(3U);
    CHECK(refused(bench.run<prm::modify_cq_out>(bad_mode), Status::BAD_PARAM));
}

TEST_CASE("resizing a CQ goes on in the new ring", "[completion_queue]") {
    CqBench bench;
    const std::uint32_t cqn = bench.create_cq(bench.uar, bench.eqn);
    auto in = CqBench::modify_input(cqn, 0b111, 1);
    in.view().set<prm::modify_cq_in::cq_context, cqc::log_cq_size>(7U);
    in.view().set_at<prm::modify_cq_in::pas>(0, 0x20000000ULL);
    in.view().set_at<prm::modify_cq_in::pas>(1, 0x20001000ULL);
    using In = prm::modify_cq_in;
    using View = prm::View<In>;
    check_refusals<prm::modify_cq_out>(
        bench, in,
        {{"too large", [](View v) { v.set<In::cq_context, cqc::log_cq_size>(23U); },
          Status::BAD_PARAM},
         {"page list", [](View v) { v.set<In::cq_context, cqc::log_cq_size>(8U); },
          Status::BAD_INP_LEN},
         {"user memory", [](View v) { v.set<In::cq_umem_valid>(1U); }, Status::BAD_PARAM},
         {"op_mod", [](View v) { v.set<In::op_mod>(2U); }, Status::BAD_PARAM}});
    CHECK(refused(bench.run<prm::modify_cq_out>(CqBench::modify_input(cqn, 0b110, 1)),
                  Status::BAD_PARAM));
    REQUIRE(bench.run<prm::modify_cq_out>(in).ok());
    const model::Cq& cq = *bench.resources().cqs.find(cqn);
    CHECK(cq.entries() == 128);
    CHECK(cq.ring.address(0x1000).value == 0x20001000);
    CHECK(bench.query(cqn).get<prm::query_cq_out::cq_context, cqc::log_cq_size>() == 7);

    bench.resources().cqs.find(cqn)->error = true;
    CHECK(refused(bench.run<prm::modify_cq_out>(in), Status::BAD_RES_STATE));
    CHECK(bench.query(cqn).get<prm::query_cq_out::cq_context, cqc::status>() == 9);
}

TEST_CASE("a CQ that is gone or in use is refused with the same syndrome", "[completion_queue]") {
    CqBench bench;
    CHECK(refused(bench.destroy(0x1234), Status::BAD_RES_STATE, 0x1870ad));
    CHECK(refused(bench.query(0x1234), Status::BAD_RES_STATE));
    const std::uint32_t cqn = bench.create_cq(bench.uar, bench.eqn);
    model::Cq& cq = *bench.resources().cqs.find(cqn);
    ++cq.users;
    CHECK(refused(bench.destroy(cqn), Status::BAD_RES_STATE, 0x1870ad));
    --cq.users;
    CHECK(bench.destroy(cqn).ok());
}

TEST_CASE("a full CQ table is refused", "[completion_queue]") {
    CqBench bench;
    bench.resources().cqs.set_limit(1);
    bench.create_cq(bench.uar, bench.eqn);
    CHECK(refused(bench.run<prm::create_cq_out>(CqBench::cq_input(bench.uar, bench.eqn)),
                  Status::LIM_ERR));
}
