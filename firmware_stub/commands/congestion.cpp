// SPDX-License-Identifier: Apache-2.0
// RoCE congestion control (DCQCN): whether each priority takes part, the parameters of sender and
// receiver, and what they counted.
#include "firmware_stub/commands/capability.h"
#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"
#include "model/prm/reflect.h"

#include <span>
#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;
using Rp = prm::cong_control_r_roce_ecn_rp;
using Np = prm::cong_control_r_roce_ecn_np;
using General = prm::cong_control_r_roce_general;

Reply protocol_not_supported() {
    return refuse(Status::BAD_PARAM, syndrome::kCongestionProtocol,
                  "congestion protocol not supported");
}

Reply check_query(FunctionState& function) {
    if (function.general<prm::cmd_hca_cap::cc_query_allowed>() == 0) {
        return refuse(Status::BAD_OP, "cc_query_allowed is not set");
    }
    return accept();
}

Reply check_modify(FunctionState& function) {
    if (function.general<prm::cmd_hca_cap::cc_modify_allowed>() == 0) {
        return refuse(Status::BAD_OP, "cc_modify_allowed is not set");
    }
    return accept();
}

bool general_supported(FunctionState& function) {
    return capability<prm::roce_cap::roce_cc_general>(function, prm::HcaCapType::ROCE) != 0;
}

// Null for a protocol that has no state by priority.
CongestionControl::PriorityState* priority_state(CongestionControl& control, std::uint32_t protocol,
                                                 std::uint32_t priority) {
    switch (static_cast<CongestionProtocol>(protocol)) {
        case CongestionProtocol::reaction_point:
            return &control.reaction_point_state[priority];
        case CongestionProtocol::notification_point:
            return &control.notification_point_state[priority];
        default:
            return nullptr;
    }
}

Reply query_cong_status(CommandContext& context, ConstView<prm::query_cong_status_in> in,
                        View<prm::query_cong_status_out> out) {
    using In = prm::query_cong_status_in;
    using Out = prm::query_cong_status_out;
    const Reply check = check_query(context.function);
    if (!check.ok()) return check;
    const auto priority = in.get<In::priority>();
    if (priority >= CongestionControl::kPriorities) {
        return refuse(Status::BAD_PARAM, "no such priority");
    }
    const auto* state =
        priority_state(context.function.congestion, in.get<In::cong_protocol>(), priority);
    if (state == nullptr) return protocol_not_supported();
    out.set<Out::enable>(state->enable);
    out.set<Out::tag_enable>(state->tag_enable);
    return accept();
}

Reply modify_cong_status(CommandContext& context, ConstView<prm::modify_cong_status_in> in,
                         View<prm::modify_cong_status_out>) {
    using In = prm::modify_cong_status_in;
    const Reply check = check_modify(context.function);
    if (!check.ok()) return check;
    const auto priority = in.get<In::priority>();
    if (priority >= CongestionControl::kPriorities) {
        return refuse(Status::BAD_PARAM, "no such priority");
    }
    auto* state =
        priority_state(context.function.congestion, in.get<In::cong_protocol>(), priority);
    if (state == nullptr) return protocol_not_supported();
    context.function.congestion.change(context.now, [&](model::CongestionControl&) {
        state->enable = in.get<In::enable>() != 0;
        state->tag_enable = in.get<In::tag_enable>() != 0;
    });
    return accept();
}

Reply query_cong_params(CommandContext& context, ConstView<prm::query_cong_params_in> in,
                        View<prm::query_cong_params_out> out) {
    const Reply check = check_query(context.function);
    if (!check.ok()) return check;
    const CongestionControl& control = context.function.congestion;
    std::span<const std::byte> from;
    switch (static_cast<CongestionProtocol>(in.get<prm::query_cong_params_in::cong_protocol>())) {
        case CongestionProtocol::reaction_point:
            from = control.reaction_point.bytes();
            break;
        case CongestionProtocol::notification_point:
            from = control.notification_point.bytes();
            break;
        case CongestionProtocol::general:
            if (general_supported(context.function)) from = control.general.bytes();
            break;
    }
    if (from.empty()) return protocol_not_supported();
    const auto to = out.nested<prm::query_cong_params_out::congestion_parameters>().bytes();
    std::copy(from.begin(), from.end(), to.begin());
    return accept();
}

/// A parameter with its bit in field_select and the largest value that the card takes.
template <class Layout>
struct Parameter {
    std::uint32_t bit;
    std::uint32_t maximum;
    std::uint32_t (*get)(ConstView<Layout>);
    void (*set)(View<Layout>, std::uint32_t);
};

template <class Layout, class Field>
constexpr Parameter<Layout> parameter(std::uint32_t bit, std::uint32_t maximum) {
    return {bit, maximum, [](ConstView<Layout> from) { return from.template get<Field>(); },
            [](View<Layout> to, std::uint32_t value) { to.template set<Field>(value); }};
}

constexpr std::uint32_t kAny = 0xffffffff;

constexpr std::array<Parameter<Rp>, 16> kReactionPoint{{
    parameter<Rp, Rp::clamp_tgt_rate>(1, 1),
    parameter<Rp, Rp::clamp_tgt_rate_after_time_inc>(2, 1),
    parameter<Rp, Rp::rpg_time_reset>(3, 0x1ffff),
    parameter<Rp, Rp::rpg_byte_reset>(4, 32767),
    parameter<Rp, Rp::rpg_threshold>(5, 31),
    parameter<Rp, Rp::rpg_max_rate>(6, kAny),
    parameter<Rp, Rp::rpg_ai_rate>(7, kAny),
    parameter<Rp, Rp::rpg_hai_rate>(8, kAny),
    parameter<Rp, Rp::rpg_min_dec_fac>(9, 100),
    parameter<Rp, Rp::rpg_min_rate>(10, kAny),
    parameter<Rp, Rp::rate_to_set_on_first_cnp>(11, kAny),
    parameter<Rp, Rp::dce_tcp_g>(12, 1023),
    parameter<Rp, Rp::dce_tcp_rtt>(13, 0x1ffff),
    parameter<Rp, Rp::rate_reduce_monitor_period>(14, 0x1ffff),
    parameter<Rp, Rp::initial_alpha_value>(15, 1023),
    parameter<Rp, Rp::rpg_gd>(16, 15),
}};

// Bit 4 stands for the priority of CNPs with its mode.
constexpr std::array<Parameter<Np>, 4> kNotificationPoint{{
    parameter<Np, Np::min_time_between_cnps>(2, 0x1ffff),
    parameter<Np, Np::cnp_dscp>(3, 63),
    parameter<Np, Np::cnp_prio_mode>(4, 1),
    parameter<Np, Np::cnp_802p_prio>(4, 7),
}};

constexpr std::array<Parameter<General>, 2> kGeneral{{
    parameter<General, General::rtt_resp_dscp_valid>(0, 1),
    parameter<General, General::rtt_resp_dscp>(0, 63),
}};

template <class Layout>
Reply change(const CommandContext& context, std::span<const Parameter<Layout>> known,
             std::uint32_t select, ConstView<Layout> from, View<Layout> to) {
    std::uint32_t unknown = select;
    for (const auto& p : known) {
        unknown &= ~(1U << p.bit);
        if (((select >> p.bit) & 1) != 0 && p.get(from) > p.maximum) {
            return refuse(Status::BAD_PARAM, "congestion parameter out of range");
        }
    }
    if (unknown != 0) return refuse(Status::BAD_PARAM, "field_select names an unknown parameter");
    CongestionControl& control = context.function.congestion;
    control.change(context.now, [&](model::CongestionControl&) {
        for (const auto& p : known) {
            if (((select >> p.bit) & 1) != 0) p.set(to, p.get(from));
        }
        control.follow_buffers();
    });
    return accept();
}

Reply modify_cong_params(CommandContext& context, ConstView<prm::modify_cong_params_in> in,
                         View<prm::modify_cong_params_out>) {
    using In = prm::modify_cong_params_in;
    using Union = prm::cong_control_roce_ecn_auto;
    using Select = prm::field_select_802_1_r_roce_auto;
    const Reply check = check_modify(context.function);
    if (!check.ok()) return check;
    CongestionControl& control = context.function.congestion;
    const auto select = in.get<In::field_select, Select::field_select_r_roce_rp,
                               prm::field_select_r_roce_rp::field_select_r_roce_rp_>();
    const auto from = in.nested<In::congestion_parameters>();
    switch (static_cast<CongestionProtocol>(in.get<In::cong_protocol>())) {
        case CongestionProtocol::reaction_point:
            return change<Rp>(context, kReactionPoint, select,
                              from.nested<Union::cong_control_r_roce_ecn_rp>(),
                              control.reaction_point.view());
        case CongestionProtocol::notification_point:
            return change<Np>(context, kNotificationPoint, select,
                              from.nested<Union::cong_control_r_roce_ecn_np>(),
                              control.notification_point.view());
        case CongestionProtocol::general:
            if (!general_supported(context.function)) break;
            return change<General>(context, kGeneral, select,
                                   from.nested<Union::cong_control_r_roce_general>(),
                                   control.general.view());
    }
    return protocol_not_supported();
}

Reply query_cong_statistics(CommandContext& context, ConstView<prm::query_cong_statistics_in> in,
                            View<prm::query_cong_statistics_out> out) {
    using Out = prm::query_cong_statistics_out;
    const Reply check = check_query(context.function);
    if (!check.ok()) return check;
    CongestionControl& control = context.function.congestion;
    if (control.flows != nullptr) control.flows->settle(context.now);
    out.set<Out::rp_cur_flows>(control.limited_flows);
    out.set<Out::rp_cnp_ignored_high>(control.cnps_ignored >> 32);
    out.set<Out::rp_cnp_ignored_low>(control.cnps_ignored & 0xffffffffU);
    out.set<Out::rp_cnp_handled_high>(control.cnps_handled >> 32);
    out.set<Out::rp_cnp_handled_low>(control.cnps_handled & 0xffffffffU);
    out.set<Out::np_ecn_marked_roce_packets_high>(control.ecn_marked_packets >> 32);
    out.set<Out::np_ecn_marked_roce_packets_low>(control.ecn_marked_packets & 0xffffffffU);
    out.set<Out::np_cnp_sent_high>(control.cnps_sent >> 32);
    out.set<Out::np_cnp_sent_low>(control.cnps_sent & 0xffffffffU);
    if (in.get<prm::query_cong_statistics_in::clear>() != 0) control.clear_statistics();
    return accept();
}

}  // namespace

std::vector<CommandRow> congestion_commands() {
    using prm::Opcode;
    return {
        command_row<&query_cong_status>(Opcode::QUERY_CONG_STATUS, Cost::query),
        command_row<&modify_cong_status>(Opcode::MODIFY_CONG_STATUS, Cost::set),
        command_row<&query_cong_params>(Opcode::QUERY_CONG_PARAMS, Cost::query),
        // The unions of field_select and parameters have reserved places that differ by protocol.
        command_row<&modify_cong_params>(Opcode::MODIFY_CONG_PARAMS, Cost::set)
            .without_reserved_check(),
        command_row<&query_cong_statistics>(Opcode::QUERY_CONG_STATISTICS, Cost::query),
    };
}

}  // namespace cxsim::firmware_stub
