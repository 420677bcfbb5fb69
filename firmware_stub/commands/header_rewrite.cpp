// SPDX-License-Identifier: Apache-2.0
// What rules do to headers: lists of rewrites (modify header), and headers to push or pull (packet
// reformat). Rules pin them.
#include "firmware_stub/commands/capability.h"
#include "firmware_stub/commands/families.h"
#include "firmware_stub/commands/flow_steering.h"
#include "model/steering/flow_action.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;
using Properties = prm::flow_table_prop_layout;

using model::ReformatType;
using model::RewriteType;

Reply check_actions(std::span<const std::byte> actions) {
    using Set = prm::set_action_in;
    while (!actions.empty()) {
        const auto type = ConstView<Set>(actions.first(Set::kBytes)).get<Set::action_type>();
        if (type < static_cast<std::uint32_t>(RewriteType::set) ||
            type > static_cast<std::uint32_t>(RewriteType::copy)) {
            return refuse(Status::BAD_PARAM, "action_type not defined");
        }
        actions = actions.subspan(Set::kBytes);
    }
    return accept();
}

Reply alloc_modify_header(CommandContext& context,
                          ConstView<prm::alloc_modify_header_context_in> in,
                          View<prm::alloc_modify_header_context_out> out) {
    using In = prm::alloc_modify_header_context_in;
    FunctionState& function = context.function;
    const auto type = in.get<In::table_type>();
    const auto properties = table_properties(function, type);
    if (!properties) return refuse(Status::BAD_PARAM, "table_type not supported");
    const auto count = in.get<In::num_of_actions>();
    if (count > properties->get<Properties::max_modify_header_actions>()) {
        return refuse(Status::LIM_ERR, syndrome::kModifyHeaderTooLong,
                      "num_of_actions above max_modify_header_actions");
    }
    if (count == 0) return refuse(Status::BAD_PARAM, "no actions");
    if (in.size<In::actions>() < count) {
        return refuse(Status::BAD_INP_LEN, "input shorter than its actions");
    }
    const auto actions = in.tail<In::actions>().first(count * prm::set_action_in::kBytes);
    const Reply check = check_actions(actions);
    if (!check.ok()) return check;
    model::ModifyHeader* rewrite = function.resources().modify_headers.create();
    if (rewrite == nullptr) return table_full();
    rewrite->table_type = static_cast<std::uint8_t>(type);
    rewrite->actions.assign(actions.begin(), actions.end());
    out.set<prm::alloc_modify_header_context_out::modify_header_id>(rewrite->id.number);
    return accept();
}

Reply dealloc_modify_header(CommandContext& context,
                            ConstView<prm::dealloc_modify_header_context_in> in,
                            View<prm::dealloc_modify_header_context_out>) {
    return destroy_object(context.function, context.function.resources().modify_headers,
                          in.get<prm::dealloc_modify_header_context_in::modify_header_id>(), 0,
                          syndrome::kModifyHeaderInUse);
}

// A reformat is not bound to a table type: it is offered if any table offers it.
bool reformat_offered(FunctionState& function, std::uint32_t type) {
    for (const TableType table :
         {TableType::nic_rx, TableType::nic_tx, TableType::rdma_rx, TableType::rdma_tx}) {
        const auto properties = table_properties(function, static_cast<std::uint32_t>(table));
        if (!properties || properties->get<Properties::reformat>() == 0) continue;
        switch (static_cast<ReformatType>(type)) {
            case ReformatType::l2_to_vxlan:
            case ReformatType::l2_to_nvgre:
            case ReformatType::l2_to_l2_tunnel:
                return true;
            case ReformatType::l3_tunnel_to_l2:
                if (properties->get<Properties::reformat_l3_tunnel_to_l2>() != 0) return true;
                break;
            case ReformatType::l2_to_l3_tunnel:
                if (properties->get<Properties::reformat_l2_to_l3_tunnel>() != 0) return true;
                break;
            case ReformatType::insert_header:
                if (properties->get<Properties::reformat_insert>() != 0) return true;
                break;
            case ReformatType::remove_header:
                if (properties->get<Properties::reformat_remove>() != 0) return true;
                break;
        }
    }
    return false;
}

Reply alloc_packet_reformat(CommandContext& context,
                            ConstView<prm::alloc_packet_reformat_context_in> in,
                            View<prm::alloc_packet_reformat_context_out> out) {
    using Context = prm::packet_reformat_context_in;
    constexpr std::size_t kDataOffset = 6;  // reformat_data, in front of the layout's end
    FunctionState& function = context.function;
    const auto wanted = in.nested<prm::alloc_packet_reformat_context_in::packet_reformat_context>();
    const auto type = wanted.get<Context::reformat_type>();
    if (!reformat_offered(function, type)) {
        return refuse(Status::BAD_PARAM, "reformat_type not supported");
    }
    const auto size = wanted.get<Context::reformat_data_size>();
    if (size > capability<prm::flow_table_nic_cap::max_encap_header_size>(
                   function, prm::HcaCapType::FLOW_TABLE)) {
        return refuse(Status::BAD_PARAM, "reformat_data_size above max_encap_header_size");
    }
    const auto data = wanted.bytes().subspan(kDataOffset);
    if (data.size() < size) return refuse(Status::BAD_INP_LEN, "input shorter than its data");
    model::PacketReformat* reformat = function.resources().packet_reformats.create();
    if (reformat == nullptr) return table_full();
    reformat->reformat_type = static_cast<std::uint8_t>(type);
    reformat->parameter_0 = static_cast<std::uint8_t>(wanted.get<Context::reformat_param_0>());
    reformat->parameter_1 = static_cast<std::uint8_t>(wanted.get<Context::reformat_param_1>());
    reformat->data.assign(data.begin(), data.begin() + size);
    out.set<prm::alloc_packet_reformat_context_out::packet_reformat_id>(reformat->id.number);
    return accept();
}

Reply query_packet_reformat(CommandContext& context,
                            ConstView<prm::query_packet_reformat_context_in> in,
                            View<prm::query_packet_reformat_context_out> out) {
    using Context = prm::packet_reformat_context_in;
    using Out = prm::query_packet_reformat_context_out;
    constexpr std::size_t kDataOffset = 6;
    const model::PacketReformat* reformat = context.function.resources().packet_reformats.find(
        in.get<prm::query_packet_reformat_context_in::packet_reformat_id>());
    if (reformat == nullptr) return no_such_object();
    const auto place = out.tail<Out::packet_reformat_context>();
    if (place.size() <
        std::max<std::size_t>(Context::kBytes, kDataOffset + reformat->data.size())) {
        return refuse(Status::BAD_OUTP_LEN, "no room for the data");
    }
    const View<Context> answer(place);
    answer.set<Context::reformat_type>(reformat->reformat_type);
    answer.set<Context::reformat_param_0>(reformat->parameter_0);
    answer.set<Context::reformat_param_1>(reformat->parameter_1);
    answer.set<Context::reformat_data_size>(reformat->data.size());
    std::copy(reformat->data.begin(), reformat->data.end(), place.begin() + kDataOffset);
    return accept();
}

Reply dealloc_packet_reformat(CommandContext& context,
                              ConstView<prm::dealloc_packet_reformat_context_in> in,
                              View<prm::dealloc_packet_reformat_context_out>) {
    return destroy_object(context.function, context.function.resources().packet_reformats,
                          in.get<prm::dealloc_packet_reformat_context_in::packet_reformat_id>(), 0,
                          syndrome::kReformatInUse);
}

}  // namespace

std::vector<CommandRow> header_rewrite_commands() {
    using prm::Opcode;
    return {
        command_row<&alloc_modify_header>(Opcode::ALLOC_MODIFY_HEADER_CONTEXT, Cost::create_object),
        command_row<&dealloc_modify_header>(Opcode::DEALLOC_MODIFY_HEADER_CONTEXT,
                                            Cost::destroy_object),
        command_row<&alloc_packet_reformat>(Opcode::ALLOC_PACKET_REFORMAT_CONTEXT,
                                            Cost::create_object),
        command_row<&query_packet_reformat>(Opcode::QUERY_PACKET_REFORMAT_CONTEXT, Cost::query),
        command_row<&dealloc_packet_reformat>(Opcode::DEALLOC_PACKET_REFORMAT_CONTEXT,
                                              Cost::destroy_object),
    };
}

}  // namespace cxsim::firmware_stub
