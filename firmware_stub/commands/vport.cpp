// SPDX-License-Identifier: Apache-2.0
// The NIC vport of the function: addresses and filters, state, counters. Other vports belong to an
// e-switch manager, which this card has none of.
#include "firmware_stub/commands/capability.h"
#include "firmware_stub/commands/families.h"
#include "firmware_stub/commands/flow_steering.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;

enum OpMod : std::uint32_t { kNicVport = 0, kEswVport = 1, kUplink = 2 };
enum AdminState : std::uint32_t { kDown = 0, kUp = 1, kFollow = 2 };

Reply query_vport_state(CommandContext& context, ConstView<prm::query_vport_state_in> in,
                        View<prm::query_vport_state_out> out) {
    using In = prm::query_vport_state_in;
    using Out = prm::query_vport_state_out;
    const Reply check = check_vport(in.get<In::other_vport>(), in.get<In::vport_number>());
    if (!check.ok()) return check;
    if (in.get<In::op_mod>() == kEswVport) return refuse(Status::BAD_PARAM, "no e-switch");
    const Port& port = context.firmware.port();
    const Vport& vport = context.function.vport();
    if (in.get<In::op_mod>() == kUplink) {
        out.set<Out::admin_state>(port.admin_up ? kUp : kDown);
        out.set<Out::state>(port.operational() ? kUp : kDown);
        return accept();
    }
    const bool up = vport.admin_state != kDown && port.operational();
    out.set<Out::admin_state>(vport.admin_state);
    out.set<Out::state>(up ? kUp : kDown);
    return accept();
}

Reply modify_vport_state(CommandContext& context, ConstView<prm::modify_vport_state_in> in,
                         View<prm::modify_vport_state_out>) {
    using In = prm::modify_vport_state_in;
    const Reply check = check_vport(in.get<In::other_vport>(), in.get<In::vport_number>());
    if (!check.ok()) return check;
    if (in.get<In::op_mod>() != kNicVport) return refuse(Status::BAD_PARAM, "no e-switch");
    const auto state = in.get<In::admin_state>();
    if (state > kFollow) return refuse(Status::BAD_PARAM, "admin_state not defined");
    context.function.vport().admin_state = static_cast<std::uint8_t>(state);
    context.function.vport().gate.open = state != kDown;
    return accept();
}

struct CounterPlace {
    Vport::Traffic Vport::Counters::*member;
    std::span<std::byte> (*place)(View<prm::query_vport_counter_out>);
};

template <class Field>
std::span<std::byte> counter_place(View<prm::query_vport_counter_out> out) {
    return out.bytes<Field>();
}

Reply query_vport_counter(CommandContext& context, ConstView<prm::query_vport_counter_in> in,
                          View<prm::query_vport_counter_out> out) {
    using In = prm::query_vport_counter_in;
    using Out = prm::query_vport_counter_out;
    using Counters = Vport::Counters;
    static constexpr CounterPlace kPlaces[] = {
        {&Counters::received_errors, &counter_place<Out::received_errors>},
        {&Counters::transmit_errors, &counter_place<Out::transmit_errors>},
        {&Counters::received_ib_unicast, &counter_place<Out::received_ib_unicast>},
        {&Counters::transmitted_ib_unicast, &counter_place<Out::transmitted_ib_unicast>},
        {&Counters::received_ib_multicast, &counter_place<Out::received_ib_multicast>},
        {&Counters::transmitted_ib_multicast, &counter_place<Out::transmitted_ib_multicast>},
        {&Counters::received_eth_broadcast, &counter_place<Out::received_eth_broadcast>},
        {&Counters::transmitted_eth_broadcast, &counter_place<Out::transmitted_eth_broadcast>},
        {&Counters::received_eth_unicast, &counter_place<Out::received_eth_unicast>},
        {&Counters::transmitted_eth_unicast, &counter_place<Out::transmitted_eth_unicast>},
        {&Counters::received_eth_multicast, &counter_place<Out::received_eth_multicast>},
        {&Counters::transmitted_eth_multicast, &counter_place<Out::transmitted_eth_multicast>},
        {&Counters::local_loopback, &counter_place<Out::local_loopback>},
    };
    FunctionState& function = context.function;
    const Reply check = check_vport(in.get<In::other_vport>(), in.get<In::vport_number>());
    if (!check.ok()) return check;
    if (function.general<prm::cmd_hca_cap::vport_counters>() == 0) {
        return refuse(Status::BAD_PARAM, "vport_counters not supported");
    }
    if (in.get<In::port_num>() > function.general<prm::cmd_hca_cap::num_ports>()) {
        return refuse(Status::BAD_PARAM, "port_num beyond num_ports");
    }
    Counters& counters = function.vport().counters;
    for (const CounterPlace& entry : kPlaces) {
        const View<prm::traffic_counter> place(entry.place(out));
        place.set<prm::traffic_counter::packets>((counters.*entry.member).packets);
        place.set<prm::traffic_counter::octets>((counters.*entry.member).octets);
    }
    if (in.get<In::clear>() != 0) counters = Counters{};
    return accept();
}

std::uint32_t queues_in_error(const model::Resources& resources) {
    std::uint32_t count = 0;
    resources.sqs.for_each([&](const model::Sq& sq) {
        if (sq.state == model::QueueState::error) ++count;
    });
    resources.rqs.for_each([&](const model::Rq& rq) {
        if (rq.state == model::QueueState::error) ++count;
    });
    resources.qps.for_each([&](const model::Qp& qp) {
        if (qp.state == model::QpState::error || qp.state == model::QpState::sq_error) ++count;
    });
    return count;
}

Reply query_vnic_env(CommandContext& context, ConstView<prm::query_vnic_env_in> in,
                     View<prm::query_vnic_env_out> out) {
    using In = prm::query_vnic_env_in;
    using Cap = prm::cmd_hca_cap;
    using Statistics = prm::vnic_diagnostic_statistics;
    FunctionState& function = context.function;
    const Reply check = check_vport(in.get<In::other_vport>(), in.get<In::vport_number>());
    if (!check.ok()) return check;
    const auto clip = [](std::uint64_t value) {
        return std::min<std::uint64_t>(value, 0xffffffff);
    };
    const auto answer = out.nested<prm::query_vnic_env_out::vport_env>();
    if (function.general<Cap::vnic_env_queue_counters>() != 0) {
        answer.set<Statistics::total_error_queues>(queues_in_error(function.resources()));
    }
    // internal_rq_out_of_buffer (vnic_env_int_rq_oob) stays 0: it counts packets of queues that the
    // firmware keeps for itself, and there are none.
    const model::QueueCounters& queues = function.queues().counters();
    if (function.general<Cap::vnic_env_cq_overrun>() != 0) {
        answer.set<Statistics::cq_overrun>(clip(queues.cq_overruns));
    }
    if (function.general<Cap::eq_overrun_count>() != 0) {
        answer.set<Statistics::async_eq_overrun>(clip(queues.async_eq_overruns));
        answer.set<Statistics::comp_eq_overrun>(
            clip(queues.eq_overruns - queues.async_eq_overruns));
    }
    const model::VportGate& gate = function.vport().gate;
    if (function.general<Cap::nic_receive_steering_discard>() != 0) {
        answer.set<Statistics::nic_receive_steering_discard>(gate.receive_steering);
    }
    if (function.general<Cap::receive_discard_vport_down>() != 0) {
        answer.set<Statistics::receive_discard_vport_down>(gate.receive_vport_down);
    }
    if (function.general<Cap::transmit_discard_vport_down>() != 0) {
        answer.set<Statistics::transmit_discard_vport_down>(gate.transmit_vport_down);
    }
    if (function.general<Cap::eth_wqe_too_small>() != 0) {
        answer.set<Statistics::eth_wqe_too_small>(clip(queues.receive_too_small));
    }
    if (function.general<Cap::invalid_command_count>() != 0) {
        answer.set<Statistics::invalid_command>(clip(function.refused_commands));
    }
    if (function.general<Cap::quota_exceeded_count>() != 0) {
        answer.set<Statistics::quota_exceeded_command>(clip(function.commands_beyond_limits));
    }
    return accept();
}

}  // namespace

std::vector<CommandRow> vport_commands() {
    using prm::Opcode;
    return {
        command_row<&query_vport_state>(Opcode::QUERY_VPORT_STATE, Cost::query).with_op_mods(0b111),
        command_row<&modify_vport_state>(Opcode::MODIFY_VPORT_STATE, Cost::set).with_op_mods(0b111),
        command_row<&query_vport_counter>(Opcode::QUERY_VPORT_COUNTER, Cost::query),
        command_row<&query_vnic_env>(Opcode::QUERY_VNIC_ENV, Cost::query),
    };
}

}  // namespace cxsim::firmware_stub
