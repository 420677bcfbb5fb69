// SPDX-License-Identifier: Apache-2.0
// Scheduling elements: the tree by which send queues of the NIC share the transmitter. The tree of
// the e-switch belongs to an e-switch manager.
#include "firmware_stub/commands/capability.h"
#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using model::ObjectKind;
using prm::ConstView;
using prm::Status;
using prm::View;
using Context = prm::scheduling_context;
using Qos = prm::qos_cap;

constexpr std::uint32_t kHierarchyNic = 3;
constexpr std::uint32_t kTsar = 0;  // element_type of a scheduler; the others are leaves

// modify_bitmask of MODIFY_SCHEDULING_ELEMENT
constexpr std::uint32_t kModifyShare = 1;
constexpr std::uint32_t kModifyRate = 2;

Reply check_hierarchy(FunctionState& function, std::uint32_t hierarchy) {
    if (hierarchy != kHierarchyNic || qos_capability<Qos::nic_sq_scheduling>(function) == 0) {
        return refuse(Status::BAD_PARAM, "scheduling_hierarchy not supported");
    }
    return accept();
}

Reply check_bandwidth(FunctionState& function, ConstView<Context> wanted) {
    const auto share = wanted.get<Context::bw_share>();
    if (share != 0 && (qos_capability<Qos::nic_bw_share>(function) == 0 ||
                       share > qos_capability<Qos::max_tsar_bw_share>(function))) {
        return refuse(Status::BAD_PARAM, "bw_share beyond max_tsar_bw_share");
    }
    if (wanted.get<Context::max_average_bw>() != 0 &&
        qos_capability<Qos::nic_rate_limit>(function) == 0) {
        return refuse(Status::BAD_PARAM, "max_average_bw not supported");
    }
    return accept();
}

Reply check_element(FunctionState& function, ConstView<Context> wanted) {
    const auto type = wanted.get<Context::element_type>();
    if (type >= 16 || (qos_capability<Qos::nic_element_type>(function) >> type & 1) == 0) {
        return refuse(Status::BAD_PARAM, "element_type not supported");
    }
    if (type == kTsar) {
        const ConstView<prm::tsar_element> tsar(wanted.bytes<Context::element_attributes>());
        const auto kind = tsar.get<prm::tsar_element::tsar_type>();
        if (kind >= 16 || (qos_capability<Qos::nic_tsar_type>(function) >> kind & 1) == 0) {
            return refuse(Status::BAD_PARAM, "tsar_type not supported");
        }
    }
    const auto parent_id = wanted.get<Context::parent_element_id>();
    if (parent_id == 0) {  // only a scheduler may be the root
        return type == kTsar ? accept() : bad_reference("parent_element_id is missing");
    }
    const model::SchedulingElement* parent =
        function.resources().scheduling_elements.find(parent_id);
    if (parent == nullptr) return bad_reference("parent_element_id names no element");
    if (parent->view().get<Context::element_type>() != kTsar) {
        return bad_reference("parent_element_id is no scheduler");
    }
    return accept();
}

Reply create_element(CommandContext& context, ConstView<prm::create_scheduling_element_in> in,
                     View<prm::create_scheduling_element_out> out) {
    using In = prm::create_scheduling_element_in;
    FunctionState& function = context.function;
    const auto hierarchy = in.get<In::scheduling_hierarchy>();
    const Reply check = check_hierarchy(function, hierarchy);
    if (!check.ok()) return check;
    const auto wanted = in.nested<In::scheduling_context>();
    const Reply kind = check_element(function, wanted);
    if (!kind.ok()) return kind;
    const Reply bandwidth = check_bandwidth(function, wanted);
    if (!bandwidth.ok()) return bandwidth;
    model::SchedulingElement* element = function.resources().scheduling_elements.create();
    if (element == nullptr) return table_full();
    element->hierarchy = static_cast<std::uint8_t>(hierarchy);
    std::copy_n(wanted.bytes().begin(), element->context.size(), element->context.begin());
    if (const auto parent = wanted.get<Context::parent_element_id>(); parent != 0) {
        function.resources().hold(*element, {ObjectKind::scheduling_element, parent});
    }
    out.set<prm::create_scheduling_element_out::scheduling_element_id>(element->id.number);
    return accept();
}

Reply modify_element(CommandContext& context, ConstView<prm::modify_scheduling_element_in> in,
                     View<prm::modify_scheduling_element_out>) {
    using In = prm::modify_scheduling_element_in;
    FunctionState& function = context.function;
    const Reply check = check_hierarchy(function, in.get<In::scheduling_hierarchy>());
    if (!check.ok()) return check;
    model::SchedulingElement* element =
        function.resources().scheduling_elements.find(in.get<In::scheduling_element_id>());
    if (element == nullptr) return no_such_object();
    const auto mask = in.get<In::modify_bitmask>();
    if ((mask & ~(kModifyShare | kModifyRate)) != 0) {
        return refuse(Status::BAD_PARAM, "modify_bitmask not defined");
    }
    const auto wanted = in.nested<In::scheduling_context>();
    const Reply bandwidth = check_bandwidth(function, wanted);
    if (!bandwidth.ok()) return bandwidth;
    const auto own = element->view();
    if ((mask & kModifyShare) != 0) own.set<Context::bw_share>(wanted.get<Context::bw_share>());
    if ((mask & kModifyRate) != 0) {
        own.set<Context::max_average_bw>(wanted.get<Context::max_average_bw>());
    }
    return accept();
}

Reply query_element(CommandContext& context, ConstView<prm::query_scheduling_element_in> in,
                    View<prm::query_scheduling_element_out> out) {
    using In = prm::query_scheduling_element_in;
    FunctionState& function = context.function;
    const Reply check = check_hierarchy(function, in.get<In::scheduling_hierarchy>());
    if (!check.ok()) return check;
    const model::SchedulingElement* element =
        function.resources().scheduling_elements.find(in.get<In::scheduling_element_id>());
    if (element == nullptr) return no_such_object();
    const auto answer = out.nested<prm::query_scheduling_element_out::scheduling_context>();
    std::copy(element->context.begin(), element->context.end(), answer.bytes().begin());
    return accept();
}

Reply destroy_element(CommandContext& context, ConstView<prm::destroy_scheduling_element_in> in,
                      View<prm::destroy_scheduling_element_out>) {
    using In = prm::destroy_scheduling_element_in;
    const Reply check = check_hierarchy(context.function, in.get<In::scheduling_hierarchy>());
    if (!check.ok()) return check;
    return destroy_object(context.function, context.function.resources().scheduling_elements,
                          in.get<In::scheduling_element_id>());
}

}  // namespace

std::vector<CommandRow> scheduling_commands() {
    using prm::Opcode;
    return {
        command_row<&create_element>(Opcode::CREATE_SCHEDULING_ELEMENT, Cost::create_object),
        command_row<&modify_element>(Opcode::MODIFY_SCHEDULING_ELEMENT, Cost::modify_object),
        command_row<&query_element>(Opcode::QUERY_SCHEDULING_ELEMENT, Cost::query),
        command_row<&destroy_element>(Opcode::DESTROY_SCHEDULING_ELEMENT, Cost::destroy_object),
    };
}

}  // namespace cxsim::firmware_stub
