// SPDX-License-Identifier: Apache-2.0
// Receive queues: rings of buffers of their own, or users of a shared pool (RMP).
#include "firmware_stub/commands/capability.h"
#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"
#include "firmware_stub/commands/work_queue.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using model::ObjectKind;
using model::QueueState;
using prm::ConstView;
using prm::rqc;
using prm::Status;
using prm::View;

enum MemoryType : std::uint32_t { kInline = 0, kRmp = 1 };

// modify_bitmask of MODIFY_RQ
constexpr std::uint64_t kModifyVlanStrip = 1U << 1;
constexpr std::uint64_t kModifyScatterFcs = 1U << 2;
constexpr std::uint64_t kModifyCounterSet = 1U << 3;

Reply check_vlan_strip(FunctionState& function, ConstView<rqc> context) {
    using Eth = prm::per_protocol_networking_offload_caps;
    if (context.get<rqc::vsd>() != 0 && ethernet_capability<Eth::vlan_cap>(function) == 0) {
        return refuse(Status::BAD_PARAM, "vsd not supported");
    }
    return accept();
}

Reply check_scatter_fcs(FunctionState& function, ConstView<rqc> context) {
    using Eth = prm::per_protocol_networking_offload_caps;
    if (context.get<rqc::scatter_fcs>() != 0 &&
        ethernet_capability<Eth::scatter_fcs>(function) == 0) {
        return refuse(Status::BAD_PARAM, "scatter_fcs not supported");
    }
    return accept();
}

Reply check_counter_set(FunctionState& function, ConstView<rqc> context) {
    const auto number = context.get<rqc::counter_set_id>();
    if (number != 0 && function.resources().q_counters.find(number) == nullptr) {
        return bad_reference("counter_set_id not allocated");
    }
    return accept();
}

Reply check_features(FunctionState& function, ConstView<rqc> context) {
    using Cap = prm::cmd_hca_cap;
    if (context.get<rqc::mem_rq_type>() > kRmp) {
        return refuse(Status::BAD_PARAM, "mem_rq_type not defined");
    }
    if (context.get<rqc::hairpin>() != 0) {
        return refuse(Status::BAD_PARAM, "hairpin queues not supported");
    }
    if (context.get<rqc::delay_drop_en>() != 0 && function.general<Cap::rq_delay_drop>() == 0) {
        return refuse(Status::BAD_PARAM, "delay_drop_en not supported");
    }
    if (context.get<rqc::shampo_match_criteria_type>() != 0 ||
        context.get<rqc::shampo_no_match_alignment_granularity>() != 0 ||
        context.get<rqc::reservation_timeout>() != 0) {
        return refuse(Status::BAD_PARAM, "header and data split with merging not supported");
    }
    if (!timestamp_format_allowed(context.get<rqc::ts_format>(),
                                  function.general<Cap::rq_ts_format>())) {
        return refuse(Status::BAD_PARAM, "ts_format does not fit the clock");
    }
    const Reply strip = check_vlan_strip(function, context);
    if (!strip.ok()) return strip;
    return check_scatter_fcs(function, context);
}

Reply check_references(FunctionState& function, ConstView<rqc> context) {
    const model::Resources& resources = function.resources();
    if (resources.cqs.find(context.get<rqc::cqn>()) == nullptr) {
        return bad_reference("cqn names no completion queue");
    }
    const Reply counters = check_counter_set(function, context);
    if (!counters.ok()) return counters;
    if (context.get<rqc::mem_rq_type>() == kRmp) {
        return resources.rmps.find(context.get<rqc::rmpn>()) != nullptr
                   ? accept()
                   : bad_reference("rmpn names no RMP");
    }
    // The queue that mlx5e drops packets in never gets a buffer and names no PD.
    const auto pd = context.nested<rqc::wq>().get<prm::wq::pd>();
    if (pd != 0 && resources.pds.find(pd) == nullptr) return bad_reference("pd not allocated");
    return accept();
}

Reply create_rq(CommandContext& context, ConstView<prm::create_rq_in> in,
                View<prm::create_rq_out> out) {
    FunctionState& function = context.function;
    const auto wanted = in.nested<prm::create_rq_in::ctx>();
    if (queue_state(wanted.get<rqc::state>()) != QueueState::reset) {
        return refuse(Status::BAD_PARAM, "a queue is created in reset state");
    }
    const Reply features = check_features(function, wanted);
    if (!features.ok()) return features;
    const Reply references = check_references(function, wanted);
    if (!references.ok()) return references;
    const bool pooled = wanted.get<rqc::mem_rq_type>() == kRmp;
    const auto queue_context = wanted.nested<rqc::wq>();
    model::WorkQueue queue;
    if (!pooled) {
        const Reply made = make_work_queue(function, queue_context, Direction::receive, queue);
        if (!made.ok()) return made;
    }
    model::Rq* rq = function.resources().rqs.create();
    if (rq == nullptr) return table_full();
    rq->wq = std::move(queue);
    rq->cqn = wanted.get<rqc::cqn>();
    store_context(*rq, wanted.bytes());
    hold_if_named(function, *rq, ObjectKind::cq, rq->cqn);
    hold_if_named(function, *rq, ObjectKind::q_counter, wanted.get<rqc::counter_set_id>());
    if (pooled) {
        hold_if_named(function, *rq, ObjectKind::rmp, wanted.get<rqc::rmpn>());
    } else {
        hold_if_named(function, *rq, ObjectKind::pd, queue_context.get<prm::wq::pd>());
    }
    function.queues().context_written(rq->id);
    out.set<prm::create_rq_out::rqn>(rq->id.number);
    return accept();
}

Reply check_modify_fields(FunctionState& function, std::uint64_t mask, ConstView<rqc> wanted) {
    if ((mask & ~(kModifyVlanStrip | kModifyScatterFcs | kModifyCounterSet)) != 0) {
        return refuse(Status::BAD_PARAM, "modify_bitmask not supported");
    }
    if ((mask & kModifyVlanStrip) != 0) {
        const Reply check = check_vlan_strip(function, wanted);
        if (!check.ok()) return check;
    }
    if ((mask & kModifyScatterFcs) != 0) {
        const Reply check = check_scatter_fcs(function, wanted);
        if (!check.ok()) return check;
    }
    if ((mask & kModifyCounterSet) != 0) {
        if (function.general<prm::cmd_hca_cap::modify_rq_counter_set_id>() == 0) {
            return refuse(Status::BAD_PARAM, "counter_set_id is not modifiable");
        }
        return check_counter_set(function, wanted);
    }
    return accept();
}

void modify_fields(FunctionState& function, model::Rq& rq, std::uint64_t mask,
                   ConstView<rqc> wanted) {
    const auto own = rq.view();
    if ((mask & kModifyVlanStrip) != 0) own.set<rqc::vsd>(wanted.get<rqc::vsd>());
    if ((mask & kModifyScatterFcs) != 0) {
        own.set<rqc::scatter_fcs>(wanted.get<rqc::scatter_fcs>());
    }
    if ((mask & kModifyCounterSet) != 0) {
        const auto old = own.get<rqc::counter_set_id>();
        const auto number = wanted.get<rqc::counter_set_id>();
        hold_if_named(function, rq, ObjectKind::q_counter, number);
        if (old != 0) function.resources().release(rq, {ObjectKind::q_counter, old});
        own.set<rqc::counter_set_id>(number);
    }
}

void change_state(FunctionState& function, model::Rq& rq, QueueState to) {
    if (rq.state == to) return;
    rq.state = to;
    rq.view().set<rqc::state>(prm_state(to));
    // A queue that draws from a pool has no ring or doorbell record of its own.
    if (rq.view().get<rqc::mem_rq_type>() == kRmp) return;
    if (to == QueueState::ready) {
        function.queues().started(rq);
    } else {
        function.queues().stopped(rq);
    }
}

Reply modify_rq(CommandContext& context, ConstView<prm::modify_rq_in> in,
                View<prm::modify_rq_out>) {
    using In = prm::modify_rq_in;
    FunctionState& function = context.function;
    model::Rq* rq = function.resources().rqs.find(in.get<In::rqn>());
    if (rq == nullptr) return no_such_object();
    const auto wanted = in.nested<In::ctx>();
    const auto from = queue_state(in.get<In::rq_state>());
    const auto to = queue_state(wanted.get<rqc::state>());
    if (!from || !to) return refuse(Status::BAD_PARAM, "queue state not defined");
    if (*from != rq->state) {
        return refuse(Status::BAD_RES_STATE, "rq_state is not the queue's state");
    }
    if (!transition_allowed(*from, *to)) {
        return refuse(Status::BAD_RES_STATE, "a queue in error goes to reset first");
    }
    const auto mask = in.get<In::modify_bitmask>();
    const Reply check = check_modify_fields(function, mask, wanted);
    if (!check.ok()) return check;
    modify_fields(function, *rq, mask, wanted);
    change_state(function, *rq, *to);
    return accept();
}

Reply query_rq(CommandContext& context, ConstView<prm::query_rq_in> in,
               View<prm::query_rq_out> out) {
    model::Rq* rq = context.function.resources().rqs.find(in.get<prm::query_rq_in::rqn>());
    if (rq == nullptr) return no_such_object();
    context.function.queues().refresh(*rq);
    const auto answer = out.nested<prm::query_rq_out::rq_context>();
    std::copy(rq->context.begin(), rq->context.end(), answer.bytes().begin());
    answer.set<rqc::state>(prm_state(rq->state));
    return accept();
}

Reply destroy_rq(CommandContext& context, ConstView<prm::destroy_rq_in> in,
                 View<prm::destroy_rq_out>) {
    return destroy_object(context.function, context.function.resources().rqs,
                          in.get<prm::destroy_rq_in::rqn>());
}

Reply set_delay_drop_params(CommandContext& context, ConstView<prm::set_delay_drop_params_in> in,
                            View<prm::set_delay_drop_params_out>) {
    FunctionState& function = context.function;
    if (function.general<prm::cmd_hca_cap::rq_delay_drop>() == 0) {
        return refuse(Status::BAD_PARAM, "delay drop not supported");
    }
    function.delay_drop_timeout =
        static_cast<std::uint16_t>(in.get<prm::set_delay_drop_params_in::delay_drop_timeout>());
    return accept();
}

}  // namespace

std::vector<CommandRow> receive_queue_commands() {
    using prm::Opcode;
    return {
        command_row<&create_rq>(Opcode::CREATE_RQ, Cost::create_object),
        command_row<&modify_rq>(Opcode::MODIFY_RQ, Cost::modify_object),
        command_row<&query_rq>(Opcode::QUERY_RQ, Cost::query),
        command_row<&destroy_rq>(Opcode::DESTROY_RQ, Cost::destroy_object),
        command_row<&set_delay_drop_params>(Opcode::SET_DELAY_DROP_PARAMS, Cost::set),
    };
}

}  // namespace cxsim::firmware_stub
