// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/commands/queue_pair_bench.h"

using namespace cxsim;
using namespace cxsim::test;
using prm::Opcode;
using prm::Status;

namespace {

using In = prm::create_qp_in;
using View = prm::View<In>;

}  // namespace

TEST_CASE("a QP has its receive queue before its send queue in one buffer", "[queue_pair]") {
    QpBench bench;
    const std::uint64_t before = bench.digest();
    const std::uint32_t qpn = bench.create();
    const model::Qp& qp = bench.qp(qpn);
    const std::uint64_t buffer = FirmwareBench::kQueueMemory + 0x8000 + 1024;
    CHECK(qp.state == QpState::reset);
    CHECK(qp.rq.ring.address(0).value == buffer);
    CHECK(qp.rq.entries() == 16);
    CHECK(qp.rq.stride() == 64);
    CHECK(qp.sq.ring.address(0).value == buffer + 1024);
    CHECK(qp.sq.ring.address(2048).value == FirmwareBench::kQueueMemory + 0xc000);
    CHECK(qp.sq.entries() == 64);
    CHECK(qp.sq.uar_page == bench.uar);
    CHECK(qp.sq.doorbell_record.value == FirmwareBench::kQueueMemory + 0x4000);
    CHECK(qp.send_cqn == bench.cqn);
    CHECK(bench.resources().pds.find(bench.pd)->users == 1);
    CHECK(bench.resources().cqs.find(bench.cqn)->users == 2);

    const auto shown = bench.query(qpn, 16);
    REQUIRE(shown.ok());
    CHECK(shown.get<prm::query_qp_out::qpc, qpc::state>() == 0);
    CHECK(shown.get<prm::query_qp_out::qpc, qpc::pd>() == bench.pd);
    CHECK(shown.out.view().at<prm::query_qp_out::pas>(1) == FirmwareBench::kQueueMemory + 0xc000);

    CHECK(bench.destroy(qpn).ok());
    CHECK(bench.digest() == before);
}

TEST_CASE("service types are accepted and refused by capability and port", "[queue_pair]") {
    struct Case {
        ServiceType type;
        bool accepted;
    };
    const auto check = [](QpBench& bench, std::initializer_list<Case> cases) {
        for (const Case& c : cases) {
            CAPTURE(static_cast<int>(c.type));
            auto in = bench.create_input(c.type);
            in.view().set<In::qpc, qpc::rq_type>(3U);
            const auto answer = bench.run<prm::create_qp_out>(in);
            CAPTURE(answer.reply.reason);
            CHECK(answer.ok() == c.accepted);
            if (!c.accepted) CHECK(refused(answer, Status::BAD_PARAM));
        }
    };
    QpBench bench;
    check(bench, {{ServiceType::rc, true},
                  {ServiceType::uc, true},
                  {ServiceType::ud, true},
                  {ServiceType::xrc, true},
                  {ServiceType::mlx, false},
                  {ServiceType::dci, false},
                  {ServiceType::dct, false},
                  {ServiceType::qp0, false},
                  {ServiceType::qp1, true},
                  {ServiceType::raw_ethertype, true},
                  {ServiceType::raw_ipv6, false},
                  {ServiceType::sniffer, false},
                  {ServiceType::reg_umr, true},
                  {ServiceType::ptp_1588, false},
                  {ServiceType::sync_umr, false}});
    QpBench bare(capability({{"cmd_hca_cap.rc", "0"},
                             {"cmd_hca_cap.uc", "0"},
                             {"cmd_hca_cap.ud", "0"},
                             {"cmd_hca_cap.xrc", "0"}}));
    check(bare, {{ServiceType::rc, false},
                 {ServiceType::uc, false},
                 {ServiceType::ud, false},
                 {ServiceType::xrc, false},
                 {ServiceType::qp1, true}});
}

TEST_CASE("creating a QP is refused for each thing that is wrong", "[queue_pair]") {
    QpBench bench;
    check_refusals<prm::create_qp_out>(
        bench, bench.create_input(ServiceType::rc),
        {{"PD", [](View v) { v.set<In::qpc, qpc::pd>(0x7777U); }, Status::BAD_PARAM},
         {"send CQ", [](View v) { v.set<In::qpc, qpc::cqn_snd>(0x7777U); }, Status::BAD_PARAM},
         {"receive CQ", [](View v) { v.set<In::qpc, qpc::cqn_rcv>(0U); }, Status::BAD_PARAM},
         {"UAR", [](View v) { v.set<In::qpc, qpc::uar_page>(0x7777U); }, Status::BAD_PARAM},
         {"SRQ", [](View v) { v.set<In::qpc, qpc::rq_type>(1U); }, Status::BAD_PARAM},
         {"rq_type", [](View v) { v.set<In::qpc, qpc::rq_type>(2U); }, Status::BAD_PARAM},
         {"page list", [](View v) { v.set<In::qpc, qpc::log_sq_size>(7U); }, Status::BAD_INP_LEN},
         {"doorbell record", [](View v) { v.set<In::qpc, qpc::dbr_addr>(0x1001U); },
          Status::BAD_PARAM},
         {"signature", [](View v) { v.set<In::qpc, qpc::wq_signature>(1U); }, Status::BAD_PARAM},
         {"receives in CQEs", [](View v) { v.set<In::qpc, qpc::cs_res>(0x11U); },
          Status::BAD_PARAM},
         {"answers in CQEs", [](View v) { v.set<In::qpc, qpc::cs_req>(0x1U); }, Status::BAD_PARAM},
         {"cross-channel", [](View v) { v.set<In::qpc, qpc::cd_master>(1U); }, Status::BAD_PARAM},
         {"loop back", [](View v) { v.set<In::qpc, qpc::block_lb_mc>(1U); }, Status::BAD_PARAM},
         {"offload", [](View v) { v.set<In::qpc, qpc::offload_type>(1U); }, Status::BAD_PARAM},
         {"time stamps", [](View v) { v.set<In::qpc, qpc::ts_format>(2U); }, Status::BAD_PARAM},
         {"record in user memory", [](View v) { v.set<In::qpc, qpc::dbr_umem_valid>(1U); },
          Status::BAD_PARAM},
         {"user memory", [](View v) { v.set<In::wq_umem_valid>(1U); }, Status::BAD_PARAM},
         {"context extension", [](View v) { v.set<In::qpc_ext>(1U); }, Status::BAD_PARAM},
         {"number", [](View v) { v.set<In::input_qpn>(5U); }, Status::BAD_PARAM},
         {"ECE", [](View v) { v.set<In::ece>(1U); }, Status::BAD_PARAM},
         {"user", [](View v) { v.set<In::uid>(2U); }, Status::BAD_PARAM, 0x76555f}});
    auto xrc = bench.create_input(ServiceType::xrc);
    xrc.view().set<In::qpc, qpc::xrcd>(0x7777U);
    CHECK(refused(bench.run<prm::create_qp_out>(xrc), Status::BAD_PARAM));
    QpBench plain(capability({{"cmd_hca_cap.sctr_data_cqe", "0"}}));
    check_refusals<prm::create_qp_out>(
        plain, plain.create_input(ServiceType::rc),
        {{"receives in CQEs", [](View v) { v.set<In::qpc, qpc::cs_res>(0x1U); },
          Status::BAD_PARAM},
         {"answers in CQEs", [](View v) { v.set<In::qpc, qpc::cs_req>(0x11U); },
          Status::BAD_PARAM}});
    QpBench small(capability({{"cmd_hca_cap.log_max_qp_sz", "5"}}));
    check_refusals<prm::create_qp_out>(small, small.create_input(ServiceType::rc),
                                       {{"send size", [](View) {}, Status::BAD_PARAM},
                                        {"receive size",
                                         [](View v) {
                                             v.set<In::qpc, qpc::log_sq_size>(1U);
                                             v.set<In::qpc, qpc::log_rq_size>(6U);
                                         },
                                         Status::BAD_PARAM}});
}

TEST_CASE("a QP may have its data in CQEs, of both sizes", "[queue_pair]") {
    QpBench bench;
    for (const std::uint32_t form : {1U, 2U}) {
        auto in = bench.create_input(ServiceType::rc);
        in.view().set<In::qpc, qpc::cs_res>(form);
        in.view().set<In::qpc, qpc::cs_req>(form * 0x11);
        const auto answer = bench.run<prm::create_qp_out>(in);
        REQUIRE(answer.ok());
        const auto context = bench.qp(answer.get<prm::create_qp_out::qpn>()).view();
        CHECK(context.get<qpc::cs_res>() == form);
        CHECK(context.get<qpc::cs_req>() == form * 0x11);
    }
}

TEST_CASE("the driver's UMR QP is created without a protection domain", "[queue_pair]") {
    QpBench bench;
    auto in = bench.create_input(ServiceType::reg_umr);
    in.view().set<In::qpc, qpc::pd>(0U);
    in.view().set<In::qpc, qpc::rq_type>(3U);
    const auto answer = bench.run<prm::create_qp_out>(in);
    REQUIRE(answer.ok());
    CHECK(bench.qp(answer.get<prm::create_qp_out::qpn>()).holds.size() == 3);
}

TEST_CASE("a full QP table is refused as out of resources", "[queue_pair]") {
    QpBench bench;
    bench.create();
    bench.resources().qps.set_limit(1);
    CHECK(refused(bench.run<prm::create_qp_out>(bench.create_input(ServiceType::rc)),
                  Status::BAD_RES, 0x65b500));
}

TEST_CASE("unknown QPs cannot be destroyed or queried", "[queue_pair]") {
    QpBench bench;
    CHECK(refused(bench.destroy(0x1234), Status::BAD_RES_STATE, 0x25b161));
    CHECK(refused(bench.query(0x1234), Status::BAD_RES_STATE));
    const std::uint32_t qpn = bench.create();
    auto extended = FirmwareBench::input<prm::query_qp_in>(Opcode::QUERY_QP);
    extended.view().set<prm::query_qp_in::qpn>(qpn);
    extended.view().set<prm::query_qp_in::qpc_ext>(1U);
    CHECK(refused(bench.run<prm::query_qp_out>(extended), Status::BAD_PARAM));
}

TEST_CASE("what a QP uses is in use until the QP is gone", "[queue_pair]") {
    QpBench bench;
    const std::uint32_t qpn = bench.create(ServiceType::xrc);
    auto cq = FirmwareBench::input<prm::destroy_cq_in>(Opcode::DESTROY_CQ);
    cq.view().set<prm::destroy_cq_in::cqn>(bench.cqn);
    auto pd = FirmwareBench::input<prm::dealloc_pd_in>(Opcode::DEALLOC_PD);
    pd.view().set<prm::dealloc_pd_in::pd>(bench.pd);
    auto xrcd = FirmwareBench::input<prm::dealloc_xrcd_in>(Opcode::DEALLOC_XRCD);
    xrcd.view().set<prm::dealloc_xrcd_in::xrcd>(bench.xrcd);
    CHECK(refused(bench.run<prm::destroy_cq_out>(cq), Status::BAD_RES_STATE, 0x1870ad));
    CHECK(refused(bench.run<prm::dealloc_pd_out>(pd), Status::BAD_RES_STATE, 0x31b635));
    CHECK(refused(bench.run<prm::dealloc_xrcd_out>(xrcd), Status::BAD_RES_STATE));
    REQUIRE(bench.destroy(qpn).ok());
    CHECK(bench.run<prm::destroy_cq_out>(cq).ok());
    CHECK(bench.run<prm::dealloc_pd_out>(pd).ok());
    CHECK(bench.run<prm::dealloc_xrcd_out>(xrcd).ok());
}
