// SPDX-License-Identifier: Apache-2.0
// Send queues: rings of WQE basic blocks that transmit through the TISes they name. Control queues
// of the driver (NOPs, UMRs) name no TIS; the engine refuses sends from those.
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
using prm::sqc;
using prm::Status;
using prm::View;

constexpr std::uint32_t kMaxInlineMode = 3;  // up to the TCP or UDP header

// modify_bitmask of MODIFY_SQ; the header has no names for them (en_main.c, mlx5e_modify_sq).
constexpr std::uint64_t kModifyRateLimit = 1;
constexpr std::uint64_t kModifyQueueGroup = 4;

Reply check_rate_limit(const FunctionState& function, std::uint32_t index) {
    if (index != 0 && !function.rate_limits.contains(static_cast<std::uint16_t>(index))) {
        return bad_reference("packet_pacing_rate_limit_index has no rate");
    }
    return accept();
}

Reply check_queue_group(FunctionState& function, std::uint32_t number) {
    if (number == 0) return accept();
    if (qos_capability<prm::qos_cap::nic_sq_scheduling>(function) == 0) {
        return refuse(Status::BAD_PARAM, "scheduling of send queues not supported");
    }
    if (function.resources().scheduling_elements.find(number) == nullptr) {
        return bad_reference("qos_queue_group_id names no scheduling element");
    }
    return accept();
}

Reply check_features(FunctionState& function, ConstView<sqc> context) {
    using Cap = prm::cmd_hca_cap;
    using Eth = prm::per_protocol_networking_offload_caps;
    struct Feature {
        bool wanted;
        bool offered;
        const char* reason;
    };
    const Feature features[] = {
        {context.get<sqc::cd_master>() != 0, function.general<Cap::cd>() != 0,
         "cross-channel not supported"},
        {context.get<sqc::allow_multi_pkt_send_wqe>() != 0,
         ethernet_capability<Eth::multi_pkt_send_wqe>(function) != 0 ||
             ethernet_capability<Eth::enhanced_multi_pkt_send_wqe>(function) != 0,
         "multi-packet WQEs not supported"},
        {context.get<sqc::allow_swp>() != 0, ethernet_capability<Eth::swp>(function) != 0,
         "software parsing not supported"},
        {context.get<sqc::reg_umr>() != 0, ethernet_capability<Eth::reg_umr_sq>(function) != 0,
         "UMR on send queues not supported"},
        {context.get<sqc::ts_cqe_to_dest_cqn>() != 0,
         function.general<Cap::ts_cqe_to_dest_cqn>() != 0, "ts_cqe_to_dest_cqn not supported"},
        {context.get<sqc::hairpin>() != 0, false, "hairpin queues not supported"},
        {context.get<sqc::non_wire>() != 0, false, "queues off the wire not supported"},
        {context.get<sqc::min_wqe_inline_mode>() > kMaxInlineMode, false,
         "min_wqe_inline_mode not defined"},
    };
    for (const Feature& feature : features) {
        if (feature.wanted && !feature.offered) {
            return refuse(Status::BAD_PARAM, feature.reason);
        }
    }
    if (!timestamp_format_allowed(context.get<sqc::ts_format>(),
                                  function.general<Cap::sq_ts_format>())) {
        return refuse(Status::BAD_PARAM, syndrome::kSqTimestampFormat,
                      "ts_format does not fit the clock");
    }
    return accept();
}

Reply check_references(FunctionState& function, ConstView<sqc> context) {
    const model::Resources& resources = function.resources();
    const auto queue = context.nested<sqc::wq>();
    if (resources.pds.find(queue.get<prm::wq::pd>()) == nullptr) {
        return bad_reference("pd not allocated");
    }
    if (resources.uars.find(queue.get<prm::wq::uar_page>()) == nullptr) {
        return bad_reference("uar_page not allocated");
    }
    if (resources.cqs.find(context.get<sqc::cqn>()) == nullptr) {
        return bad_reference("cqn names no completion queue");
    }
    if (context.get<sqc::tis_lst_sz>() >
        1U << function.general<prm::cmd_hca_cap::log_max_tis_per_sq>()) {
        return refuse(Status::BAD_PARAM, "tis_lst_sz above log_max_tis_per_sq");
    }
    if (context.get<sqc::tis_lst_sz>() != 0 &&
        resources.tises.find(context.get<sqc::tis_num_0>()) == nullptr) {
        return bad_reference("tis_num_0 names no TIS");
    }
    if (context.get<sqc::ts_cqe_to_dest_cqn>() != 0 &&
        resources.cqs.find(context.get<sqc::ts_cqe_to_dest_cqn>()) == nullptr) {
        return bad_reference("ts_cqe_to_dest_cqn names no completion queue");
    }
    const Reply rate =
        check_rate_limit(function, context.get<sqc::packet_pacing_rate_limit_index>());
    if (!rate.ok()) return rate;
    return check_queue_group(function, context.get<sqc::qos_queue_group_id>());
}

void hold_references(FunctionState& function, model::Sq& sq, ConstView<sqc> context) {
    const auto queue = context.nested<sqc::wq>();
    hold_if_named(function, sq, ObjectKind::pd, queue.get<prm::wq::pd>());
    hold_if_named(function, sq, ObjectKind::uar, queue.get<prm::wq::uar_page>());
    hold_if_named(function, sq, ObjectKind::cq, context.get<sqc::cqn>());
    if (context.get<sqc::tis_lst_sz>() != 0) {
        hold_if_named(function, sq, ObjectKind::tis, context.get<sqc::tis_num_0>());
    }
    hold_if_named(function, sq, ObjectKind::cq, context.get<sqc::ts_cqe_to_dest_cqn>());
    hold_if_named(function, sq, ObjectKind::scheduling_element,
                  context.get<sqc::qos_queue_group_id>());
}

Reply create_sq(CommandContext& context, ConstView<prm::create_sq_in> in,
                View<prm::create_sq_out> out) {
    FunctionState& function = context.function;
    const auto wanted = in.nested<prm::create_sq_in::ctx>();
    if (queue_state(wanted.get<sqc::state>()) != QueueState::reset) {
        return refuse(Status::BAD_PARAM, "a queue is created in reset state");
    }
    const Reply features = check_features(function, wanted);
    if (!features.ok()) return features;
    const Reply references = check_references(function, wanted);
    if (!references.ok()) return references;
    model::WorkQueue queue;
    const Reply made = make_work_queue(function, wanted.nested<sqc::wq>(), Direction::send, queue);
    if (!made.ok()) return made;
    model::Sq* sq = function.resources().sqs.create();
    if (sq == nullptr) return table_full();
    sq->wq = std::move(queue);
    sq->cqn = wanted.get<sqc::cqn>();
    store_context(*sq, wanted.bytes());
    hold_references(function, *sq, wanted);
    function.queues().context_written(sq->id);
    out.set<prm::create_sq_out::sqn>(sq->id.number);
    return accept();
}

void change_queue_group(FunctionState& function, model::Sq& sq, std::uint32_t number) {
    const auto old = sq.view().get<sqc::qos_queue_group_id>();
    hold_if_named(function, sq, ObjectKind::scheduling_element, number);
    if (old != 0) {
        function.resources().release(sq, {ObjectKind::scheduling_element, old});
    }
    sq.view().set<sqc::qos_queue_group_id>(number);
}

void change_state(FunctionState& function, model::Sq& sq, QueueState to) {
    const QueueState from = sq.state;
    if (from == to) return;
    sq.state = to;
    sq.view().set<sqc::state>(prm_state(to));
    if (to == QueueState::ready) {
        function.queues().started(sq);
    } else {
        function.queues().stopped(sq);
    }
}

Reply modify_sq(CommandContext& context, ConstView<prm::modify_sq_in> in,
                View<prm::modify_sq_out>) {
    using In = prm::modify_sq_in;
    FunctionState& function = context.function;
    model::Sq* sq = function.resources().sqs.find(in.get<In::sqn>());
    if (sq == nullptr) return no_such_object();
    const auto wanted = in.nested<In::ctx>();
    const auto from = queue_state(in.get<In::sq_state>());
    const auto to = queue_state(wanted.get<sqc::state>());
    if (!from || !to) return refuse(Status::BAD_PARAM, "queue state not defined");
    if (*from != sq->state) {
        return refuse(Status::BAD_RES_STATE, "sq_state is not the queue's state");
    }
    if (!transition_allowed(*from, *to)) {
        return refuse(Status::BAD_RES_STATE, "a queue in error goes to reset first");
    }
    const auto mask = in.get<In::modify_bitmask>();
    if ((mask & ~(kModifyRateLimit | kModifyQueueGroup)) != 0) {
        return refuse(Status::BAD_PARAM, "modify_bitmask not supported");
    }
    if ((mask & kModifyRateLimit) != 0) {
        const Reply check =
            check_rate_limit(function, wanted.get<sqc::packet_pacing_rate_limit_index>());
        if (!check.ok()) return check;
    }
    if ((mask & kModifyQueueGroup) != 0) {
        const Reply check = check_queue_group(function, wanted.get<sqc::qos_queue_group_id>());
        if (!check.ok()) return check;
        change_queue_group(function, *sq, wanted.get<sqc::qos_queue_group_id>());
    }
    if ((mask & kModifyRateLimit) != 0) {
        sq->view().set<sqc::packet_pacing_rate_limit_index>(
            wanted.get<sqc::packet_pacing_rate_limit_index>());
    }
    change_state(function, *sq, *to);
    return accept();
}

Reply query_sq(CommandContext& context, ConstView<prm::query_sq_in> in,
               View<prm::query_sq_out> out) {
    model::Sq* sq = context.function.resources().sqs.find(in.get<prm::query_sq_in::sqn>());
    if (sq == nullptr) return no_such_object();
    context.function.queues().refresh(*sq);
    const auto answer = out.nested<prm::query_sq_out::sq_context>();
    std::copy(sq->context.begin(), sq->context.end(), answer.bytes().begin());
    answer.set<sqc::state>(prm_state(sq->state));
    return accept();
}

Reply destroy_sq(CommandContext& context, ConstView<prm::destroy_sq_in> in,
                 View<prm::destroy_sq_out>) {
    return destroy_object(context.function, context.function.resources().sqs,
                          in.get<prm::destroy_sq_in::sqn>());
}

}  // namespace

std::vector<CommandRow> send_queue_commands() {
    using prm::Opcode;
    return {
        command_row<&create_sq>(Opcode::CREATE_SQ, Cost::create_object),
        command_row<&modify_sq>(Opcode::MODIFY_SQ, Cost::modify_object),
        command_row<&query_sq>(Opcode::QUERY_SQ, Cost::query),
        command_row<&destroy_sq>(Opcode::DESTROY_SQ, Cost::destroy_object),
    };
}

}  // namespace cxsim::firmware_stub
