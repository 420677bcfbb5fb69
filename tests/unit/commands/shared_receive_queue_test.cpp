// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/commands/queue_pair_bench.h"

using namespace cxsim;
using namespace cxsim::test;
using prm::Opcode;
using prm::Status;

namespace {

// 64 WQEs of 64 bytes in one page, whatever the form of the queue.
struct SrqBench : QpBench {
    using QpBench::QpBench;

    prm::Buffer<prm::create_srq_in> srq_input() {
        using In = prm::create_srq_in;
        auto in = input<In>(Opcode::CREATE_SRQ, 0, 8);
        const auto context = in.view().nested<In::srq_context_entry>();
        context.set<prm::srqc::log_srq_size>(6U);
        context.set<prm::srqc::log_rq_stride>(2U);
        context.set<prm::srqc::pd>(pd);
        context.set<prm::srqc::lwm>(3U);
        context.set<prm::srqc::dbr_addr>(kQueueMemory);
        in.view().set_at<In::pas>(0, kQueueMemory + 0x1000);
        return in;
    }
    prm::Buffer<prm::create_xrc_srq_in> xrc_input() {
        using In = prm::create_xrc_srq_in;
        auto in = input<In>(Opcode::CREATE_XRC_SRQ, 0, 8);
        const auto context = in.view().nested<In::xrc_srq_context_entry>();
        context.set<prm::xrc_srqc::log_xrc_srq_size>(6U);
        context.set<prm::xrc_srqc::log_rq_stride>(2U);
        context.set<prm::xrc_srqc::pd>(pd);
        context.set<prm::xrc_srqc::xrcd>(xrcd);
        context.set<prm::xrc_srqc::cqn>(cqn);
        context.set<prm::xrc_srqc::db_record_addr_h>(0x12U);
        context.set<prm::xrc_srqc::db_record_addr_l>(0x1000U >> 2);
        in.view().set_at<In::pas>(0, kQueueMemory + 0x1000);
        return in;
    }
    prm::Buffer<prm::create_rmp_in> rmp_input() {
        using In = prm::create_rmp_in;
        auto in = input<In>(Opcode::CREATE_RMP, 0, 8);
        const auto context = in.view().nested<In::ctx>();
        context.set<prm::rmpc::state>(1U);
        const auto wq = context.nested<prm::rmpc::wq>();
        wq.set<prm::wq::log_wq_sz>(6U);
        wq.set<prm::wq::log_wq_stride>(6U);
        wq.set<prm::wq::pd>(pd);
        wq.set<prm::wq::dbr_addr>(kQueueMemory);
        model::store_be<std::uint64_t>(wq.tail<prm::wq::pas>().data(), kQueueMemory + 0x1000);
        return in;
    }
    /// Says in a queue's doorbell record how many WQEs were posted.
    void posted(std::uint64_t record, std::uint32_t wqes) {
        host.store_be<std::uint32_t>(record, wqes);
    }
    std::uint64_t limits_reported() { return function().queues().counters().receive_limits; }
    static prm::Buffer<prm::modify_rmp_in> modify_input(std::uint32_t rmpn, std::uint32_t from,
                                                        std::uint32_t to) {
        using In = prm::modify_rmp_in;
        auto in = input<In>(Opcode::MODIFY_RMP);
        in.view().set<In::rmpn>(rmpn);
        in.view().set<In::rmp_state>(from);
        in.view().set<In::ctx, prm::rmpc::state>(to);
        return in;
    }
};

}  // namespace

TEST_CASE("an SRQ is created, queried, armed and destroyed", "[shared_receive_queue]") {
    SrqBench bench;
    const std::uint64_t before = bench.digest();
    const auto created = bench.run<prm::create_srq_out>(bench.srq_input());
    REQUIRE(created.ok());
    const auto srqn = created.get<prm::create_srq_out::srqn>();
    const model::Srq& srq = *bench.resources().srqs.find(srqn);
    CHECK(srq.wq.entries() == 64);
    CHECK(srq.wq.stride() == 64);
    CHECK(srq.limit_watermark == 3);

    auto arm = FirmwareBench::input<prm::arm_rq_in>(Opcode::ARM_RQ, 1);
    arm.view().set<prm::arm_rq_in::srq_number>(srqn);
    arm.view().set<prm::arm_rq_in::lwm>(10U);
    bench.posted(FirmwareBench::kQueueMemory, 10);
    REQUIRE(bench.run<prm::arm_rq_out>(arm).ok());
    CHECK(srq.limit_watermark == 10);
    CHECK(bench.limits_reported() == 0);
    using ArmView = prm::View<prm::arm_rq_in>;
    check_refusals<prm::arm_rq_out>(
        bench, arm,
        {{"limit", [](ArmView v) { v.set<prm::arm_rq_in::lwm>(65U); }, Status::BAD_PARAM},
         {"number", [](ArmView v) { v.set<prm::arm_rq_in::srq_number>(77U); },
          Status::BAD_RES_STATE},
         {"not an SRQ", [](ArmView v) { v.set<prm::arm_rq_in::op_mod>(0U); }, Status::BAD_PARAM}});

    auto query = FirmwareBench::input<prm::query_srq_in>(Opcode::QUERY_SRQ);
    query.view().set<prm::query_srq_in::srqn>(srqn);
    const auto shown = bench.run<prm::query_srq_out>(query, 8);
    REQUIRE(shown.ok());
    CHECK(shown.get<prm::query_srq_out::srq_context_entry, prm::srqc::lwm>() == 10);
    CHECK(shown.out.view().at<prm::query_srq_out::pas>(0) == FirmwareBench::kQueueMemory + 0x1000);

    // Below the limit already: reported at once, and disarmed.
    arm.view().set<prm::arm_rq_in::lwm>(11U);
    REQUIRE(bench.run<prm::arm_rq_out>(arm).ok());
    CHECK(bench.limits_reported() == 1);
    CHECK(srq.limit_watermark == 0);

    auto destroy = FirmwareBench::input<prm::destroy_srq_in>(Opcode::DESTROY_SRQ);
    destroy.view().set<prm::destroy_srq_in::srqn>(srqn);
    CHECK(bench.run<prm::destroy_srq_out>(destroy).ok());
    CHECK(bench.digest() == before);
    CHECK(refused(bench.run<prm::destroy_srq_out>(destroy), Status::BAD_RES_STATE));
    CHECK(refused(bench.run<prm::query_srq_out>(query), Status::BAD_RES_STATE));
}

TEST_CASE("creating an SRQ is refused for each thing that is wrong", "[shared_receive_queue]") {
    SrqBench bench;
    using In = prm::create_srq_in;
    using View = prm::View<In>;
    using Context = In::srq_context_entry;
    check_refusals<prm::create_srq_out>(
        bench, bench.srq_input(),
        {{"PD", [](View v) { v.set<Context, prm::srqc::pd>(0x7777U); }, Status::BAD_PARAM},
         {"page list", [](View v) { v.set<Context, prm::srqc::log_srq_size>(7U); },
          Status::BAD_INP_LEN},
         {"limit", [](View v) { v.set<Context, prm::srqc::lwm>(65U); }, Status::BAD_PARAM},
         {"signature", [](View v) { v.set<Context, prm::srqc::wq_signature>(1U); },
          Status::BAD_PARAM},
         {"record", [](View v) { v.set<Context, prm::srqc::dbr_addr>(0x1002U); },
          Status::BAD_PARAM}});
    SrqBench small(capability({{"cmd_hca_cap.log_max_srq_sz", "5"}}));
    CHECK(refused(small.run<prm::create_srq_out>(small.srq_input()), Status::BAD_PARAM));
    bench.resources().srqs.set_limit(0);
    CHECK(refused(bench.run<prm::create_srq_out>(bench.srq_input()), Status::LIM_ERR));
}

TEST_CASE("an XRC SRQ is created, queried, armed and destroyed", "[shared_receive_queue]") {
    SrqBench bench;
    const std::uint64_t before = bench.digest();
    const auto created = bench.run<prm::create_xrc_srq_out>(bench.xrc_input());
    REQUIRE(created.ok());
    const auto srqn = created.get<prm::create_xrc_srq_out::xrc_srqn>();
    const model::XrcSrq& srq = *bench.resources().xrc_srqs.find(srqn);
    CHECK(srq.wq.doorbell_record.value == 0x1200001000);
    CHECK(srq.holds.size() == 3);

    auto arm = FirmwareBench::input<prm::arm_xrc_srq_in>(Opcode::ARM_XRC_SRQ, 1);
    arm.view().set<prm::arm_xrc_srq_in::xrc_srqn>(srqn);
    arm.view().set<prm::arm_xrc_srq_in::lwm>(10U);
    bench.posted(srq.wq.doorbell_record.value, 9);
    REQUIRE(bench.run<prm::arm_xrc_srq_out>(arm).ok());
    CHECK(bench.limits_reported() == 1);
    CHECK(srq.limit_watermark == 0);
    bench.posted(srq.wq.doorbell_record.value, 10);
    REQUIRE(bench.run<prm::arm_xrc_srq_out>(arm).ok());
    CHECK(bench.limits_reported() == 1);
    CHECK(srq.limit_watermark == 10);
    arm.view().set<prm::arm_xrc_srq_in::lwm>(65U);
    CHECK(refused(bench.run<prm::arm_xrc_srq_out>(arm), Status::BAD_PARAM));
    arm.view().set<prm::arm_xrc_srq_in::xrc_srqn>(1U);
    CHECK(refused(bench.run<prm::arm_xrc_srq_out>(arm), Status::BAD_RES_STATE));

    auto query = FirmwareBench::input<prm::query_xrc_srq_in>(Opcode::QUERY_XRC_SRQ);
    query.view().set<prm::query_xrc_srq_in::xrc_srqn>(srqn);
    const auto shown = bench.run<prm::query_xrc_srq_out>(query);
    REQUIRE(shown.ok());
    CHECK(shown.get<prm::query_xrc_srq_out::xrc_srq_context_entry, prm::xrc_srqc::cqn>() ==
          bench.cqn);

    auto destroy = FirmwareBench::input<prm::destroy_xrc_srq_in>(Opcode::DESTROY_XRC_SRQ);
    destroy.view().set<prm::destroy_xrc_srq_in::xrc_srqn>(srqn);
    CHECK(bench.run<prm::destroy_xrc_srq_out>(destroy).ok());
    CHECK(bench.digest() == before);
    CHECK(refused(bench.run<prm::destroy_xrc_srq_out>(destroy), Status::BAD_RES_STATE));
    CHECK(refused(bench.run<prm::query_xrc_srq_out>(query), Status::BAD_RES_STATE));
}

TEST_CASE("creating an XRC SRQ is refused for each thing that is wrong", "[shared_receive_queue]") {
    SrqBench bench;
    using In = prm::create_xrc_srq_in;
    using View = prm::View<In>;
    using Context = In::xrc_srq_context_entry;
    check_refusals<prm::create_xrc_srq_out>(
        bench, bench.xrc_input(),
        {{"PD", [](View v) { v.set<Context, prm::xrc_srqc::pd>(0x7777U); }, Status::BAD_PARAM},
         {"CQ", [](View v) { v.set<Context, prm::xrc_srqc::cqn>(0x7777U); }, Status::BAD_PARAM},
         {"domain", [](View v) { v.set<Context, prm::xrc_srqc::xrcd>(0x7777U); },
          Status::BAD_PARAM},
         {"record", [](View v) { v.set<Context, prm::xrc_srqc::db_record_addr_l>(1U); },
          Status::BAD_PARAM},
         {"page list", [](View v) { v.set<Context, prm::xrc_srqc::log_xrc_srq_size>(7U); },
          Status::BAD_INP_LEN},
         {"user memory", [](View v) { v.set<In::xrc_srq_umem_valid>(1U); }, Status::BAD_PARAM}});
    SrqBench without(capability({{"cmd_hca_cap.xrc", "0"}}));
    CHECK(refused(without.run<prm::create_xrc_srq_out>(without.xrc_input()), Status::BAD_PARAM));
    bench.resources().xrc_srqs.set_limit(0);
    CHECK(refused(bench.run<prm::create_xrc_srq_out>(bench.xrc_input()), Status::LIM_ERR));
}

TEST_CASE("an RMP is created, modified, queried and destroyed", "[shared_receive_queue]") {
    SrqBench bench;
    const std::uint64_t before = bench.digest();
    const auto created = bench.run<prm::create_rmp_out>(bench.rmp_input());
    REQUIRE(created.ok());
    const auto rmpn = created.get<prm::create_rmp_out::rmpn>();
    const model::Rmp& rmp = *bench.resources().rmps.find(rmpn);
    CHECK(rmp.state == model::QueueState::ready);
    CHECK(rmp.wq.entries() == 64);

    // As the driver arms it: the state stays, the limit changes.
    using In = prm::modify_rmp_in;
    auto arm = SrqBench::modify_input(rmpn, 1, 1);
    arm.view().set<In::ctx, prm::rmpc::wq, prm::wq::lwm>(12U);
    REQUIRE(bench.run<prm::modify_rmp_out>(arm).ok());
    CHECK(std::as_const(rmp).view().get<prm::rmpc::wq, prm::wq::lwm>() == 0);
    CHECK(bench.limits_reported() == 0);
    arm.view().set<In::bitmask, prm::rmp_bitmask::lwm>(1U);
    REQUIRE(bench.run<prm::modify_rmp_out>(arm).ok());
    CHECK(std::as_const(rmp).view().get<prm::rmpc::wq, prm::wq::lwm>() == 0);
    CHECK(bench.limits_reported() == 1);  // there are no WQEs
    bench.posted(FirmwareBench::kQueueMemory, 12);
    REQUIRE(bench.run<prm::modify_rmp_out>(arm).ok());
    CHECK(bench.limits_reported() == 1);
    CHECK(std::as_const(rmp).view().get<prm::rmpc::wq, prm::wq::lwm>() == 12);
    arm.view().set<In::ctx, prm::rmpc::wq, prm::wq::lwm>(65U);
    CHECK(refused(bench.run<prm::modify_rmp_out>(arm), Status::BAD_PARAM));

    auto query = FirmwareBench::input<prm::query_rmp_in>(Opcode::QUERY_RMP);
    query.view().set<prm::query_rmp_in::rmpn>(rmpn);
    const auto shown = bench.run<prm::query_rmp_out>(query, 8);
    REQUIRE(shown.ok());
    CHECK(shown.get<prm::query_rmp_out::rmp_context, prm::rmpc::wq, prm::wq::lwm>() == 12);
    CHECK(shown.get<prm::query_rmp_out::rmp_context, prm::rmpc::state>() == 1);

    auto destroy = FirmwareBench::input<prm::destroy_rmp_in>(Opcode::DESTROY_RMP);
    destroy.view().set<prm::destroy_rmp_in::rmpn>(rmpn);
    CHECK(bench.run<prm::destroy_rmp_out>(destroy).ok());
    CHECK(bench.digest() == before);
    CHECK(refused(bench.run<prm::destroy_rmp_out>(destroy), Status::BAD_RES_STATE));
    CHECK(refused(bench.run<prm::query_rmp_out>(query), Status::BAD_RES_STATE));
    CHECK(refused(bench.run<prm::modify_rmp_out>(arm), Status::BAD_RES_STATE));
}

TEST_CASE("an RMP moves along its states only", "[shared_receive_queue]") {
    constexpr std::uint32_t kReset = 0;
    constexpr std::uint32_t kReady = 1;
    constexpr std::uint32_t kError = 3;
    SrqBench bench;
    const auto created = bench.run<prm::create_rmp_out>(bench.rmp_input());
    REQUIRE(created.ok());
    const auto rmpn = created.get<prm::create_rmp_out::rmpn>();
    const auto modify = [&](std::uint32_t from, std::uint32_t to) {
        return bench.run<prm::modify_rmp_out>(SrqBench::modify_input(rmpn, from, to));
    };
    CHECK(refused(modify(kReset, kReady), Status::BAD_RES_STATE));  // it is ready
    CHECK(refused(modify(kReady, kReset), Status::BAD_PARAM));
    CHECK(modify(kReady, kError).ok());
    CHECK(bench.resources().rmps.find(rmpn)->state == model::QueueState::error);
    CHECK(refused(modify(kError, kReady), Status::BAD_PARAM));
    CHECK(modify(kError, kReset).ok());
    CHECK(modify(kReset, kReady).ok());
    CHECK(bench.resources().rmps.find(rmpn)->state == model::QueueState::ready);
}

TEST_CASE("creating an RMP is refused for each thing that is wrong", "[shared_receive_queue]") {
    SrqBench bench;
    using In = prm::create_rmp_in;
    using View = prm::View<In>;
    using prm::rmpc;
    using prm::wq;
    check_refusals<prm::create_rmp_out>(
        bench, bench.rmp_input(),
        {{"state", [](View v) { v.set<In::ctx, rmpc::state>(3U); }, Status::BAD_PARAM},
         {"type", [](View v) { v.set<In::ctx, rmpc::wq, wq::wq_type>(2U); }, Status::BAD_PARAM},
         {"stride", [](View v) { v.set<In::ctx, rmpc::wq, wq::log_wq_stride>(3U); },
          Status::BAD_PARAM},
         {"size", [](View v) { v.set<In::ctx, rmpc::wq, wq::log_wq_sz>(16U); }, Status::BAD_PARAM},
         {"page list", [](View v) { v.set<In::ctx, rmpc::wq, wq::log_wq_sz>(7U); },
          Status::BAD_INP_LEN},
         {"PD", [](View v) { v.set<In::ctx, rmpc::wq, wq::pd>(0x7777U); }, Status::BAD_PARAM},
         {"user memory", [](View v) { v.set<In::ctx, rmpc::wq, wq::wq_umem_valid>(1U); },
          Status::BAD_PARAM}});
    bench.resources().rmps.set_limit(0);
    CHECK(refused(bench.run<prm::create_rmp_out>(bench.rmp_input()), Status::LIM_ERR));
}

TEST_CASE("shared receive queues of all kinds have different numbers and hold for a QP",
          "[shared_receive_queue]") {
    SrqBench bench;
    const auto srqn =
        bench.run<prm::create_srq_out>(bench.srq_input()).get<prm::create_srq_out::srqn>();
    const auto xrc = bench.run<prm::create_xrc_srq_out>(bench.xrc_input())
                         .get<prm::create_xrc_srq_out::xrc_srqn>();
    const auto rmpn =
        bench.run<prm::create_rmp_out>(bench.rmp_input()).get<prm::create_rmp_out::rmpn>();
    CHECK(srqn != xrc);
    CHECK(srqn != rmpn);
    CHECK(xrc != rmpn);
    for (const std::uint32_t number : {srqn, xrc, rmpn}) {
        CAPTURE(number);
        auto in = bench.create_input(ServiceType::rc);
        in.view().set<prm::create_qp_in::qpc, qpc::rq_type>(1U);
        in.view().set<prm::create_qp_in::qpc, qpc::srqn_rmpn_xrqn>(number);
        const auto created = bench.run<prm::create_qp_out>(in);
        REQUIRE(created.ok());
        CHECK(bench.qp(created.get<prm::create_qp_out::qpn>()).rq.ring.pages().empty());
        const auto id = firmware_stub::find_shared_queue(bench.resources(), number);
        REQUIRE(id);
        CHECK(bench.resources().find(*id)->users == 1);
    }
    auto destroy = FirmwareBench::input<prm::destroy_rmp_in>(Opcode::DESTROY_RMP);
    destroy.view().set<prm::destroy_rmp_in::rmpn>(rmpn);
    CHECK(refused(bench.run<prm::destroy_rmp_out>(destroy), Status::BAD_RES_STATE));
}
