// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/commands/queue_pair_bench.h"

using namespace cxsim;
using namespace cxsim::test;
using prm::Opcode;
using prm::Status;

namespace {

constexpr QpState kStates[] = {QpState::reset,    QpState::init,       QpState::rtr,  QpState::rts,
                               QpState::sq_error, QpState::sq_drained, QpState::error};

// Bits of opt_param_mask.
constexpr std::uint32_t kAlternatePath = 1U << 0;
constexpr std::uint32_t kRemoteRead = 1U << 1;
constexpr std::uint32_t kRemoteWrite = 1U << 3;
constexpr std::uint32_t kQkey = 1U << 5;
constexpr std::uint32_t kRnrTimeout = 1U << 6;
constexpr std::uint32_t kRetryCount = 1U << 12;
constexpr std::uint32_t kReceiveCq = 1U << 19;
constexpr std::uint32_t kCounterSet = 1U << 25;

struct Edge {
    const char* name;
    QpState from;
    QpState to;
    firmware_stub::Reply (*run)(QpBench&, std::uint32_t qpn);
};

constexpr Edge kEdges[] = {
    {"RST2INIT", QpState::reset, QpState::init,
     [](QpBench& b, std::uint32_t n) {
         return b.run<prm::rst2init_qp_out>(b.reset_to_init(n)).reply;
     }},
    {"INIT2INIT", QpState::init, QpState::init,
     [](QpBench& b, std::uint32_t n) {
         return b.run<prm::init2init_qp_out>(b.init_to_init(n)).reply;
     }},
    {"INIT2RTR", QpState::init, QpState::rtr,
     [](QpBench& b, std::uint32_t n) {
         return b.run<prm::init2rtr_qp_out>(b.init_to_rtr(n)).reply;
     }},
    {"RTR2RTS", QpState::rtr, QpState::rts,
     [](QpBench& b, std::uint32_t n) { return b.run<prm::rtr2rts_qp_out>(b.rtr_to_rts(n)).reply; }},
    {"RTS2RTS", QpState::rts, QpState::rts,
     [](QpBench& b, std::uint32_t n) { return b.run<prm::rts2rts_qp_out>(b.rts_to_rts(n)).reply; }},
    {"SQERR2RTS", QpState::sq_error, QpState::rts,
     [](QpBench& b, std::uint32_t n) {
         return b.run<prm::sqerr2rts_qp_out>(b.send_error_to_rts(n)).reply;
     }},
    {"SQD_RTS", QpState::sq_drained, QpState::rts,
     [](QpBench& b, std::uint32_t n) {
         return b.run<prm::sqd2rts_qp_out>(b.drained_to_rts(n)).reply;
     }},
};

}  // namespace

TEST_CASE("a transition starts in its state and in no other", "[queue_pair]") {
    QpBench bench;
    for (const Edge& edge : kEdges) {
        for (const QpState state : kStates) {
            CAPTURE(edge.name, static_cast<int>(state));
            const std::uint32_t qpn = bench.create();
            bench.bring_to(qpn, state);
            const firmware_stub::Reply reply = edge.run(bench, qpn);
            CAPTURE(reply.reason);
            if (state == edge.from) {
                CHECK(reply.ok());
                CHECK(bench.qp(qpn).state == edge.to);
                CHECK(bench.query(qpn).get<prm::query_qp_out::qpc, qpc::state>() ==
                      static_cast<std::uint32_t>(edge.to));
            } else {
                CHECK(reply.status == Status::BAD_QP_STATE);
                CHECK(bench.qp(qpn).state == state);
            }
            CHECK(bench.destroy(qpn).ok());
        }
    }
}

TEST_CASE("error and reset are entered from every state", "[queue_pair]") {
    QpBench bench;
    for (const QpState state : kStates) {
        CAPTURE(static_cast<int>(state));
        const std::uint32_t qpn = bench.create();
        bench.bring_to(qpn, state);
        CHECK(bench.to_error(qpn).ok());
        CHECK(bench.qp(qpn).state == QpState::error);
        CHECK(bench.to_reset(qpn).ok());
        CHECK(bench.qp(qpn).state == QpState::reset);
        bench.bring_to(qpn, QpState::rts);
        CHECK(bench.destroy(qpn).ok());
    }
}

TEST_CASE("transitions of an unknown QP are refused as an invalid number", "[queue_pair]") {
    QpBench bench;
    for (const Edge& edge : kEdges) {
        CAPTURE(edge.name);
        const firmware_stub::Reply reply = edge.run(bench, 0x1234);
        CHECK(reply.status == Status::BAD_RES_STATE);
        CHECK(reply.syndrome == 0x7ea02d);
    }
    CHECK(refused(bench.to_error(0x1234), Status::BAD_RES_STATE, 0x7ea02d));
    CHECK(refused(bench.to_reset(0x1234), Status::BAD_RES_STATE, 0x7ea02d));
}

TEST_CASE("each transition takes its parameters", "[queue_pair]") {
    QpBench bench;
    const std::uint32_t counter = bench.alloc_counter();
    const std::uint32_t qpn = bench.create();
    const auto context = [&] { return std::as_const(bench.qp(qpn)).view(); };
    auto init = bench.reset_to_init(qpn);
    init.view().set<prm::rst2init_qp_in::qpc, qpc::counter_set_id>(counter);
    REQUIRE(bench.run<prm::rst2init_qp_out>(init).ok());
    CHECK(context().get<qpc::primary_address_path, ads::vhca_port_num>() == 1);
    CHECK(context().get<qpc::rwe>() == 1);
    CHECK(context().get<qpc::counter_set_id>() == counter);
    CHECK(bench.resources().q_counters.find(counter)->users == 1);
    CHECK(context().get<qpc::mtu>() == 0);

    REQUIRE(bench.run<prm::init2rtr_qp_out>(bench.init_to_rtr(qpn)).ok());
    CHECK(context().get<qpc::mtu>() == 3);
    CHECK(context().get<qpc::remote_qpn>() == 0x123);
    CHECK(context().get<qpc::next_rcv_psn>() == 0x456);
    CHECK(context().get<qpc::log_rra_max>() == 4);
    CHECK(context().get<qpc::min_rnr_nak>() == 12);
    CHECK(context().get<qpc::primary_address_path, ads::hop_limit>() == 64);
    CHECK(context().get<qpc::primary_address_path, ads::ack_timeout>() == 0);
    CHECK(context().get<qpc::next_send_psn>() == 0);

    REQUIRE(bench.run<prm::rtr2rts_qp_out>(bench.rtr_to_rts(qpn)).ok());
    CHECK(context().get<qpc::next_send_psn>() == 0x789);
    CHECK(bench.qp(qpn).next_send_psn == 0x789);
    CHECK(context().get<qpc::retry_count>() == 7);
    CHECK(context().get<qpc::rnr_retry>() == 6);
    CHECK(context().get<qpc::primary_address_path, ads::ack_timeout>() == 14);

    // Optional ones only when asked for.
    auto change = bench.rts_to_rts(qpn);
    change.view().set<prm::rts2rts_qp_in::qpc, qpc::min_rnr_nak>(20U);
    change.view().set<prm::rts2rts_qp_in::qpc, qpc::rwe>(0U);
    REQUIRE(bench.run<prm::rts2rts_qp_out>(change).ok());
    CHECK(context().get<qpc::min_rnr_nak>() == 12);
    change.view().set<prm::rts2rts_qp_in::opt_param_mask>(kRnrTimeout);
    REQUIRE(bench.run<prm::rts2rts_qp_out>(change).ok());
    CHECK(context().get<qpc::min_rnr_nak>() == 20);
    CHECK(context().get<qpc::rwe>() == 1);
    change.view().set<prm::rts2rts_qp_in::opt_param_mask>(kRemoteWrite);
    REQUIRE(bench.run<prm::rts2rts_qp_out>(change).ok());
    CHECK(context().get<qpc::rwe>() == 0);

    REQUIRE(bench.to_reset(qpn).ok());
    CHECK(bench.resources().q_counters.find(counter)->users == 0);
    CHECK(context().get<qpc::counter_set_id>() == 0);
}

TEST_CASE("INIT needs a port, and RoCE for what goes out as RoCE", "[queue_pair]") {
    QpBench bench;
    for (const std::uint32_t port : {0U, 2U}) {
        const std::uint32_t qpn = bench.create();
        auto in = bench.reset_to_init(qpn);
        in.view().set<prm::rst2init_qp_in::qpc, qpc::primary_address_path, ads::vhca_port_num>(
            port);
        CHECK(refused(bench.run<prm::rst2init_qp_out>(in), Status::BAD_PARAM, 0x177405));
    }
    bench.set_roce_enabled(false);
    for (const ServiceType type :
         {ServiceType::rc, ServiceType::uc, ServiceType::ud, ServiceType::qp1}) {
        CAPTURE(static_cast<int>(type));
        CHECK(refused(bench.run<prm::rst2init_qp_out>(bench.reset_to_init(bench.create(type))),
                      Status::BAD_PARAM, 0x177405));
    }
    for (const ServiceType type : {ServiceType::reg_umr, ServiceType::raw_ethertype}) {
        CAPTURE(static_cast<int>(type));
        CHECK(bench.run<prm::rst2init_qp_out>(bench.reset_to_init(bench.create(type))).ok());
    }
}

TEST_CASE("values out of range are refused and leave the state", "[queue_pair]") {
    QpBench bench;
    SECTION("to INIT") {
        const std::uint32_t qpn = bench.create();
        using In = prm::rst2init_qp_in;
        using View = prm::View<In>;
        check_refusals<prm::rst2init_qp_out>(
            bench, bench.reset_to_init(qpn),
            {{"pkey",
              [](View v) { v.set<In::qpc, qpc::primary_address_path, ads::pkey_index>(128U); },
              Status::BAD_PARAM},
             {"counter set", [](View v) { v.set<In::qpc, qpc::counter_set_id>(9U); },
              Status::BAD_PARAM},
             {"service type", [](View v) { v.set<In::qpc, qpc::st>(2U); }, Status::BAD_PARAM},
             {"optional", [](View v) { v.set<In::opt_param_mask>(kRemoteRead); },
              Status::BAD_PARAM},
             {"ECE", [](View v) { v.set<In::ece>(1U); }, Status::BAD_PARAM}});
    }
    SECTION("to RTR") {
        const std::uint32_t qpn = bench.create();
        bench.bring_to(qpn, QpState::init);
        using In = prm::init2rtr_qp_in;
        using View = prm::View<In>;
        check_refusals<prm::init2rtr_qp_out>(
            bench, bench.init_to_rtr(qpn),
            {{"mtu 0", [](View v) { v.set<In::qpc, qpc::mtu>(0U); }, Status::BAD_PARAM},
             {"mtu 6", [](View v) { v.set<In::qpc, qpc::mtu>(6U); }, Status::BAD_PARAM},
             {"message", [](View v) { v.set<In::qpc, qpc::log_msg_max>(31U); }, Status::BAD_PARAM},
             {"depth", [](View v) { v.set<In::qpc, qpc::log_rra_max>(5U); }, Status::BAD_PARAM},
             {"address",
              [](View v) { v.set<In::qpc, qpc::primary_address_path, ads::src_addr_index>(255U); },
              Status::BAD_PARAM},
             {"path migration", [](View v) { v.set<In::opt_param_mask>(kAlternatePath); },
              Status::BAD_PARAM}});
        CHECK(bench.qp(qpn).state == QpState::init);
    }
    SECTION("to RTS") {
        const std::uint32_t qpn = bench.create();
        bench.bring_to(qpn, QpState::rtr);
        using In = prm::rtr2rts_qp_in;
        using View = prm::View<In>;
        check_refusals<prm::rtr2rts_qp_out>(
            bench, bench.rtr_to_rts(qpn),
            {{"depth", [](View v) { v.set<In::qpc, qpc::log_sra_max>(5U); }, Status::BAD_PARAM,
              0x4bb88f},
             {"optional retry", [](View v) { v.set<In::opt_param_mask>(kRetryCount); },
              Status::BAD_PARAM, 0x4bb88f},
             {"optional qkey of RC", [](View v) { v.set<In::opt_param_mask>(kQkey); },
              Status::BAD_PARAM, 0x4bb88f}});
        CHECK(bench.qp(qpn).state == QpState::rtr);
    }
}

TEST_CASE("a datagram QP goes to RTS without a peer", "[queue_pair]") {
    QpBench bench;
    const std::uint32_t qpn = bench.create(ServiceType::ud);
    bench.bring_to(qpn, QpState::rts);
    const auto context = std::as_const(bench.qp(qpn)).view();
    CHECK(context.get<qpc::q_key>() == 0x11111111);
    CHECK(context.get<qpc::remote_qpn>() == 0);
    CHECK(context.get<qpc::next_send_psn>() == 0x789);

    auto change = bench.rts_to_rts(qpn, kReceiveCq);
    const std::uint32_t other = bench.create_cq(bench.uar, bench.eqn);
    change.view().set<prm::rts2rts_qp_in::qpc, qpc::cqn_rcv>(other);
    REQUIRE(bench.run<prm::rts2rts_qp_out>(change).ok());
    CHECK(bench.qp(qpn).receive_cqn == other);
    CHECK(bench.resources().cqs.find(other)->users == 1);
    CHECK(bench.resources().cqs.find(bench.cqn)->users == 1);
    change.view().set<prm::rts2rts_qp_in::qpc, qpc::cqn_rcv>(0x7777U);
    CHECK(refused(bench.run<prm::rts2rts_qp_out>(change), Status::BAD_PARAM));
    CHECK(bench.destroy(qpn).ok());
    CHECK(bench.resources().cqs.find(other)->users == 0);
}

TEST_CASE("RTS changes the counter set where the card can", "[queue_pair]") {
    const auto change = [](QpBench& bench, std::uint32_t qpn, std::uint32_t counter) {
        // Drivers fill in nothing else, not even the service type.
        auto in = FirmwareBench::input<prm::rts2rts_qp_in>(Opcode::RTS2RTS_QP);
        in.view().set<prm::rts2rts_qp_in::qpn>(qpn);
        in.view().set<prm::rts2rts_qp_in::opt_param_mask>(kCounterSet);
        in.view().set<prm::rts2rts_qp_in::qpc, qpc::counter_set_id>(counter);
        return bench.run<prm::rts2rts_qp_out>(in);
    };
    QpBench bench;
    const std::uint32_t qpn = bench.create(ServiceType::ud);
    bench.bring_to(qpn, QpState::rts);
    const std::uint32_t counter = bench.alloc_counter();
    REQUIRE(change(bench, qpn, counter).ok());
    CHECK(bench.resources().q_counters.find(counter)->users == 1);
    CHECK(refused(change(bench, qpn, counter + 1), Status::BAD_PARAM));
    REQUIRE(change(bench, qpn, 0).ok());
    CHECK(bench.resources().q_counters.find(counter)->users == 0);

    QpBench fixed(capability({{"cmd_hca_cap.rts2rts_qp_counters_set_id", "0"}}));
    const std::uint32_t other = fixed.create(ServiceType::ud);
    fixed.bring_to(other, QpState::rts);
    CHECK(refused(change(fixed, other, fixed.alloc_counter()), Status::BAD_PARAM));
}

TEST_CASE("the UMR QP gets its protection domain with INIT", "[queue_pair]") {
    QpBench bench;
    auto create = bench.create_input(ServiceType::reg_umr);
    create.view().set<prm::create_qp_in::qpc, qpc::pd>(0U);
    create.view().set<prm::create_qp_in::qpc, qpc::rq_type>(3U);
    const auto created = bench.run<prm::create_qp_out>(create);
    REQUIRE(created.ok());
    const auto qpn = created.get<prm::create_qp_out::qpn>();
    auto bad = bench.reset_to_init(qpn);
    bad.view().set<prm::rst2init_qp_in::qpc, qpc::pd>(0x7777U);
    CHECK(refused(bench.run<prm::rst2init_qp_out>(bad), Status::BAD_PARAM));
    REQUIRE(bench.run<prm::rst2init_qp_out>(bench.reset_to_init(qpn)).ok());
    CHECK(std::as_const(bench.qp(qpn)).view().get<qpc::pd>() == bench.pd);
    CHECK(bench.resources().pds.find(bench.pd)->users == 1);
    REQUIRE(bench.run<prm::init2rtr_qp_out>(bench.init_to_rtr(qpn)).ok());
    REQUIRE(bench.run<prm::rtr2rts_qp_out>(bench.rtr_to_rts(qpn)).ok());
    CHECK(bench.destroy(qpn).ok());
    CHECK(bench.resources().pds.find(bench.pd)->users == 0);
}
