// SPDX-License-Identifier: Apache-2.0
#include "tests/support/firmware_bench.h"

using namespace cxsim;
using namespace cxsim::test;
using prm::Opcode;
using prm::Status;

namespace {

using Union = prm::cong_control_roce_ecn_auto;
using Rp = prm::cong_control_r_roce_ecn_rp;
using Np = prm::cong_control_r_roce_ecn_np;
using QueryParams = prm::query_cong_params_in;
using QueryParamsOut = prm::query_cong_params_out;
using ModifyParams = prm::modify_cong_params_in;
using Parameters = ModifyParams::congestion_parameters;

constexpr std::uint32_t kReactionPoint = 1;
constexpr std::uint32_t kNotificationPoint = 2;
constexpr std::uint32_t kGeneral = 3;

std::vector<model::Override> allowed() {
    return capability(
        {{"cmd_hca_cap.cc_query_allowed", "1"}, {"cmd_hca_cap.cc_modify_allowed", "1"}});
}

prm::Buffer<QueryParams> query_params(std::uint32_t protocol) {
    auto in = FirmwareBench::input<QueryParams>(Opcode::QUERY_CONG_PARAMS);
    in.view().set<QueryParams::cong_protocol>(protocol);
    return in;
}

prm::Buffer<ModifyParams> modify_params(std::uint32_t protocol, std::uint32_t select) {
    using Select = prm::field_select_802_1_r_roce_auto;
    auto in = FirmwareBench::input<ModifyParams>(Opcode::MODIFY_CONG_PARAMS);
    in.view().set<ModifyParams::cong_protocol>(protocol);
    in.view()
        .set<ModifyParams::field_select, Select::field_select_r_roce_rp,
             prm::field_select_r_roce_rp::field_select_r_roce_rp_>(select);
    return in;
}

prm::Buffer<prm::query_cong_status_in> query_status(std::uint32_t protocol,
                                                    std::uint32_t priority) {
    using In = prm::query_cong_status_in;
    auto in = FirmwareBench::input<In>(Opcode::QUERY_CONG_STATUS);
    in.view().set<In::cong_protocol>(protocol);
    in.view().set<In::priority>(priority);
    return in;
}

prm::Buffer<prm::modify_cong_status_in> modify_status(std::uint32_t protocol,
                                                      std::uint32_t priority) {
    using In = prm::modify_cong_status_in;
    auto in = FirmwareBench::input<In>(Opcode::MODIFY_CONG_STATUS);
    in.view().set<In::cong_protocol>(protocol);
    in.view().set<In::priority>(priority);
    return in;
}

prm::Buffer<prm::query_cong_statistics_in> query_statistics(bool clear) {
    using In = prm::query_cong_statistics_in;
    auto in = FirmwareBench::input<In>(Opcode::QUERY_CONG_STATISTICS);
    in.view().set<In::clear>(clear);
    return in;
}

}  // namespace

TEST_CASE("congestion parameters start as on real cards", "[congestion]") {
    FirmwareBench bench("connectx5", allowed());
    const auto rp = bench.run<QueryParamsOut>(query_params(kReactionPoint));
    REQUIRE(rp.ok());
    const auto sender = rp.out.view()
                            .nested<QueryParamsOut::congestion_parameters>()
                            .nested<Union::cong_control_r_roce_ecn_rp>();
    CHECK(sender.get<Rp::rpg_time_reset>() == 300);
    CHECK(sender.get<Rp::rpg_byte_reset>() == 32767);
    CHECK(sender.get<Rp::rpg_threshold>() == 1);
    CHECK(sender.get<Rp::rpg_ai_rate>() == 5);
    CHECK(sender.get<Rp::rpg_hai_rate>() == 50);
    CHECK(sender.get<Rp::dce_tcp_g>() == 1019);
    CHECK(sender.get<Rp::initial_alpha_value>() == 1023);
    CHECK(sender.get<Rp::clamp_tgt_rate>() == 0);
    CHECK(sender.get<Rp::clamp_tgt_rate_after_time_inc>() == 1);
    const auto np = bench.run<QueryParamsOut>(query_params(kNotificationPoint));
    REQUIRE(np.ok());
    const auto receiver = np.out.view()
                              .nested<QueryParamsOut::congestion_parameters>()
                              .nested<Union::cong_control_r_roce_ecn_np>();
    CHECK(receiver.get<Np::min_time_between_cnps>() == 4);
    CHECK(receiver.get<Np::cnp_dscp>() == 48);
    CHECK(receiver.get<Np::cnp_802p_prio>() == 6);
}

TEST_CASE("selected congestion parameters change, the others stay", "[congestion]") {
    FirmwareBench bench("connectx5", allowed());
    auto in = modify_params(kReactionPoint, 1U << 7);
    const auto wanted = in.view().nested<Parameters>().nested<Union::cong_control_r_roce_ecn_rp>();
    wanted.set<Rp::rpg_ai_rate>(40U);
    wanted.set<Rp::rpg_hai_rate>(200U);
    REQUIRE(bench.run<prm::modify_cong_params_out>(in).ok());
    const auto now = std::as_const(bench.function().congestion.reaction_point).view();
    CHECK(now.get<Rp::rpg_ai_rate>() == 40);
    CHECK(now.get<Rp::rpg_hai_rate>() == 50);
    auto np = modify_params(kNotificationPoint, 1U << 3);
    np.view().set<Parameters, Union::cong_control_r_roce_ecn_np, Np::cnp_dscp>(46U);
    REQUIRE(bench.run<prm::modify_cong_params_out>(np).ok());
    CHECK(
        std::as_const(bench.function().congestion.notification_point).view().get<Np::cnp_dscp>() ==
        46);
}

TEST_CASE("congestion parameters are refused for each thing that is wrong", "[congestion]") {
    FirmwareBench bench("connectx5", allowed());
    for (const std::uint32_t protocol : {0U, kGeneral, 4U}) {
        CAPTURE(protocol);
        CHECK(refused(bench.run<QueryParamsOut>(query_params(protocol)), Status::BAD_PARAM,
                      0x325a82));
        CHECK(refused(bench.run<prm::modify_cong_params_out>(modify_params(protocol, 0)),
                      Status::BAD_PARAM, 0x325a82));
    }
    CHECK(refused(bench.run<prm::modify_cong_params_out>(modify_params(kReactionPoint, 1)),
                  Status::BAD_PARAM));
    auto range = modify_params(kReactionPoint, 1U << 5);
    range.view().set<Parameters, Union::cong_control_r_roce_ecn_rp, Rp::rpg_threshold>(32U);
    CHECK(refused(bench.run<prm::modify_cong_params_out>(range), Status::BAD_PARAM));
    CHECK(
        std::as_const(bench.function().congestion.reaction_point).view().get<Rp::rpg_threshold>() ==
        1);
}

TEST_CASE("congestion control is switched by protocol and priority", "[congestion]") {
    using Out = prm::query_cong_status_out;
    FirmwareBench bench("connectx5", allowed());
    REQUIRE(bench.run<prm::modify_cong_status_out>(modify_status(kReactionPoint, 3)).ok());
    const auto off = bench.run<Out>(query_status(kReactionPoint, 3));
    REQUIRE(off.ok());
    CHECK(off.get<Out::enable>() == 0);
    CHECK(bench.run<Out>(query_status(kReactionPoint, 4)).get<Out::enable>() == 1);
    CHECK(bench.run<Out>(query_status(kNotificationPoint, 3)).get<Out::enable>() == 1);
    CHECK(refused(bench.run<Out>(query_status(kReactionPoint, 8)), Status::BAD_PARAM));
    CHECK(refused(bench.run<Out>(query_status(kGeneral, 0)), Status::BAD_PARAM, 0x325a82));
    CHECK(refused(bench.run<prm::modify_cong_status_out>(modify_status(kReactionPoint, 8)),
                  Status::BAD_PARAM));
    CHECK(refused(bench.run<prm::modify_cong_status_out>(modify_status(0, 0)), Status::BAD_PARAM,
                  0x325a82));
}

TEST_CASE("congestion statistics show what was counted and clear when asked", "[congestion]") {
    using Out = prm::query_cong_statistics_out;
    FirmwareBench bench("connectx5", allowed());
    bench.function().congestion.cnps_sent = 0x100000002;
    const auto shown = bench.run<Out>(query_statistics(true));
    REQUIRE(shown.ok());
    CHECK(shown.get<Out::np_cnp_sent_high>() == 1);
    CHECK(shown.get<Out::np_cnp_sent_low>() == 2);
    CHECK(bench.function().congestion.cnps_sent == 0);
}

TEST_CASE("congestion commands need their capabilities", "[congestion]") {
    FirmwareBench bench("connectx5", capability({{"cmd_hca_cap.cc_query_allowed", "0"},
                                                 {"cmd_hca_cap.cc_modify_allowed", "0"}}));
    CHECK(refused(bench.run<QueryParamsOut>(query_params(1)), Status::BAD_OP));
    CHECK(refused(bench.run<prm::query_cong_status_out>(query_status(1, 0)), Status::BAD_OP));
    CHECK(refused(bench.run<prm::query_cong_statistics_out>(query_statistics(false)),
                  Status::BAD_OP));
    CHECK(refused(bench.run<prm::modify_cong_params_out>(modify_params(1, 0)), Status::BAD_OP));
    CHECK(refused(bench.run<prm::modify_cong_status_out>(modify_status(1, 0)), Status::BAD_OP));
}

TEST_CASE("what the commands write is what the transport works by", "[congestion]") {
    FirmwareBench bench("connectx5", allowed());
    model::CongestionControl& control = bench.function().congestion;
    CHECK(control.rp == model::ReactionPointSettings{});
    CHECK(control.np == model::NotificationPointSettings{});
    auto in = modify_params(kReactionPoint, 0x1fffe);  // all sixteen
    const auto to = in.view().nested<Parameters>().nested<Union::cong_control_r_roce_ecn_rp>();
    to.set<Rp::clamp_tgt_rate>(1U);
    to.set<Rp::clamp_tgt_rate_after_time_inc>(0U);
    to.set<Rp::rpg_time_reset>(55U);
    to.set<Rp::rpg_byte_reset>(150U);
    to.set<Rp::rpg_threshold>(5U);
    to.set<Rp::rpg_max_rate>(40'000U);
    to.set<Rp::rpg_ai_rate>(6U);
    to.set<Rp::rpg_hai_rate>(60U);
    to.set<Rp::rpg_gd>(12U);
    to.set<Rp::rpg_min_dec_fac>(70U);
    to.set<Rp::rpg_min_rate>(100U);
    to.set<Rp::rate_to_set_on_first_cnp>(1000U);
    to.set<Rp::dce_tcp_g>(1020U);
    to.set<Rp::dce_tcp_rtt>(2U);
    to.set<Rp::rate_reduce_monitor_period>(50U);
    to.set<Rp::initial_alpha_value>(512U);
    REQUIRE(bench.run<prm::modify_cong_params_out>(in).ok());
    const model::ReactionPointSettings wanted{
        .clamp_tgt_rate = true,
        .clamp_tgt_rate_after_time_inc = false,
        .rpg_time_reset = 55,
        .rpg_byte_reset = 150,
        .rpg_threshold = 5,
        .rpg_max_rate = 40'000,
        .rpg_ai_rate = 6,
        .rpg_hai_rate = 60,
        .rpg_gd = 12,
        .rpg_min_dec_fac = 70,
        .rpg_min_rate = 100,
        .rate_to_set_on_first_cnp = 1000,
        .dce_tcp_g = 1020,
        .dce_tcp_rtt = 2,
        .rate_reduce_monitor_period = 50,
        .initial_alpha_value = 512,
    };
    CHECK(control.rp == wanted);
    auto np = modify_params(kNotificationPoint, 0x1c);
    const auto np_to = np.view().nested<Parameters>().nested<Union::cong_control_r_roce_ecn_np>();
    np_to.set<Np::min_time_between_cnps>(50U);
    np_to.set<Np::cnp_dscp>(46U);
    np_to.set<Np::cnp_prio_mode>(1U);
    np_to.set<Np::cnp_802p_prio>(5U);
    REQUIRE(bench.run<prm::modify_cong_params_out>(np).ok());
    CHECK(control.np ==
          model::NotificationPointSettings{
              .min_time_between_cnps = 50, .cnp_dscp = 46, .cnp_prio_mode = 1, .cnp_802p_prio = 5});
    // As after power-on.
    REQUIRE(bench.run<prm::modify_cong_status_out>(modify_status(kReactionPoint, 3)).ok());
    control.cnps_handled = 7;
    bench.function().reset();
    CHECK(control.rp == model::ReactionPointSettings{});
    CHECK(control.np == model::NotificationPointSettings{});
    CHECK(control.reaction_point_state[3].enable);
    CHECK(control.cnps_handled == 0);
    CHECK(std::as_const(bench.function().congestion.reaction_point)
              .view()
              .get<Rp::rpg_time_reset>() == 300);
}

TEST_CASE("flows are brought up to date before settings change and told afterwards",
          "[congestion]") {
    struct Flows : model::CongestionFlows {
        explicit Flows(model::CongestionControl& observed) : control(observed) {}
        void settle(model::Picoseconds) override {
            ++settled;
            control.limited_flows = 3;
            if (control.rp.rpg_ai_rate == 5) ++settled_before;
        }
        void changed(model::Picoseconds) override {
            if (control.rp.rpg_ai_rate == 40) ++changed_after;
        }
        model::CongestionControl& control;
        int settled = 0, settled_before = 0, changed_after = 0;
    };
    FirmwareBench bench("connectx5", allowed());
    model::CongestionControl& control = bench.function().congestion;
    Flows flows(control);
    control.flows = &flows;
    auto in = modify_params(kReactionPoint, 1U << 7);
    in.view().set<Parameters, Union::cong_control_r_roce_ecn_rp, Rp::rpg_ai_rate>(40U);
    REQUIRE(bench.run<prm::modify_cong_params_out>(in).ok());
    CHECK(flows.settled_before == 1);
    CHECK(flows.changed_after == 1);
    CHECK(control.version == 1);
    REQUIRE(bench.run<prm::modify_cong_status_out>(modify_status(kReactionPoint, 3)).ok());
    CHECK(control.version == 2);
    CHECK_FALSE(control.reaction_point_state[3].enable);
    // What is refused changes nothing.
    CHECK(refused(bench.run<prm::modify_cong_params_out>(modify_params(kReactionPoint, 1)),
                  Status::BAD_PARAM));
    CHECK(control.version == 2);
    CHECK(flows.settled == 2);
    const auto shown = bench.run<prm::query_cong_statistics_out>(query_statistics(false));
    REQUIRE(shown.ok());
    CHECK(shown.get<prm::query_cong_statistics_out::rp_cur_flows>() == 3);
    bench.function().reset();
    CHECK(control.flows == &flows);  // they are still there
    control.flows = nullptr;
}
