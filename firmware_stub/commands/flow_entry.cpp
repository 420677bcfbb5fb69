// SPDX-License-Identifier: Apache-2.0
// Rules of a flow table: what they match and what happens to the packet. A rule pins everything
// that it uses until it is deleted or changed.
#include "firmware_stub/commands/families.h"
#include "firmware_stub/commands/flow_rule.h"
#include "firmware_stub/commands/flow_steering.h"

#include <algorithm>
#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;
using Context = prm::flow_context;
using Properties = prm::flow_table_prop_layout;

enum OpMod : std::uint32_t { kSetNew = 0, kModify = 1 };

// modify_enable_mask of SET_FLOW_TABLE_ENTRY; bit 4 (IPsec object) is not modelled.
constexpr std::uint32_t kModifyAction = 1U << 0;
constexpr std::uint32_t kModifyTag = 1U << 1;
constexpr std::uint32_t kModifyDestinations = 1U << 2;
constexpr std::uint32_t kModifyCounters = 1U << 3;
constexpr std::uint32_t kModifyAll =
    kModifyAction | kModifyTag | kModifyDestinations | kModifyCounters;

void pin_all(model::Resources& resources, const std::vector<model::ObjectId>& holds) {
    for (const model::ObjectId id : holds) resources.pin(id);
}

void unpin_all(model::Resources& resources, const std::vector<model::ObjectId>& holds) {
    for (const model::ObjectId id : holds) resources.unpin(id);
}

Reply check_value(const model::FlowGroup& group, const FlowRule& rule) {
    const auto value = rule.view().bytes<Context::match_value>();
    for (std::size_t i = 0; i < value.size(); ++i) {
        if ((value[i] & ~group.match_criteria[i]) != std::byte{0}) {
            return refuse(Status::BAD_PARAM, syndrome::kFlowEntryUnmatchedBits,
                          "match_value has bits outside the group's mask");
        }
    }
    return accept();
}

// The rule as it will be after the fields that `mask` names were replaced.
FlowRule merge(const FlowRule& old, const FlowRule& wanted, std::uint32_t mask) {
    FlowRule rule = old;
    const auto to = rule.view();
    const auto from = wanted.view();
    if ((mask & kModifyAction) != 0) {
        to.set<Context::action>(from.get<Context::action>());
        to.set<Context::packet_reformat_id>(from.get<Context::packet_reformat_id>());
        to.set<Context::modify_header_id>(from.get<Context::modify_header_id>());
        const auto copy = [](std::span<std::byte> into, std::span<const std::byte> source) {
            std::copy(source.begin(), source.end(), into.begin());
        };
        copy(to.bytes<Context::push_vlan>(), from.bytes<Context::push_vlan>());
        copy(to.bytes<Context::push_vlan_2>(), from.bytes<Context::push_vlan_2>());
    }
    if ((mask & kModifyTag) != 0) to.set<Context::flow_tag>(from.get<Context::flow_tag>());
    if ((mask & kModifyDestinations) != 0) rule.destinations = wanted.destinations;
    if ((mask & kModifyCounters) != 0) rule.counters = wanted.counters;
    return rule;
}

struct Place {
    model::FlowTable* table = nullptr;
    model::FlowGroup* group = nullptr;
    std::uint32_t index = 0;
};

Reply set_new(FunctionState& function, const Place& place, const FlowRule& rule,
              bool ignore_level) {
    if (place.group->entries.contains(place.index)) {
        return refuse(Status::BAD_RES_STATE, "flow_index holds a rule");
    }
    const Reply value = check_value(*place.group, rule);
    if (!value.ok()) return value;
    std::vector<model::ObjectId> holds;
    const Reply check = check_rule(function, *place.table, rule, ignore_level, holds);
    if (!check.ok()) return check;
    pin_all(function.resources(), holds);
    place.group->entries[place.index] = {rule.bytes(), std::move(holds)};
    function.steering().entry_set(*place.group, place.index);
    return accept();
}

Reply modify(FunctionState& function, const Place& place, const FlowRule& wanted,
             std::uint32_t mask, bool ignore_level) {
    if ((mask & ~kModifyAll) != 0) {
        return refuse(Status::BAD_PARAM, "modify_enable_mask not supported");
    }
    const auto properties = table_properties(function, place.table->table_type);
    if (!properties || properties->get<Properties::flow_modify_en>() == 0) {
        return refuse(Status::BAD_PARAM, "flow_modify_en not supported");
    }
    const auto entry = place.group->entries.find(place.index);
    if (entry == place.group->entries.end()) return no_such_object();
    const FlowRule rule = merge(FlowRule::parse_stored(entry->second.context), wanted, mask);
    std::vector<model::ObjectId> holds;
    const Reply check = check_rule(function, *place.table, rule, ignore_level, holds);
    if (!check.ok()) return check;
    pin_all(function.resources(), holds);
    unpin_all(function.resources(), entry->second.holds);
    entry->second = {rule.bytes(), std::move(holds)};
    function.steering().entry_set(*place.group, place.index);
    return accept();
}

Reply set_fte(CommandContext& context, ConstView<prm::set_fte_in> in, View<prm::set_fte_out>) {
    using In = prm::set_fte_in;
    FunctionState& function = context.function;
    const Reply vport = check_vport(in.get<In::other_vport>(), in.get<In::vport_number>());
    if (!vport.ok()) return vport;
    Place place;
    place.table = find_table(function, in.get<In::table_type>(), in.get<In::table_id>());
    if (place.table == nullptr) return no_such_object();
    const auto wanted = in.nested<In::flow_context>();
    place.group = find_group(function, *place.table, wanted.get<Context::group_id>());
    if (place.group == nullptr) return no_such_object();
    place.index = in.get<In::flow_index>();
    if (place.index < place.group->start_index || place.index > place.group->end_index) {
        return refuse(Status::BAD_PARAM, "flow_index outside the group");
    }
    FlowRule rule;
    const Reply parsed = FlowRule::parse(wanted, rule);
    if (!parsed.ok()) return parsed;
    const bool ignore_level = in.get<In::ignore_flow_level>() != 0;
    if (in.get<In::op_mod>() == kModify) {
        return modify(function, place, rule, in.get<In::modify_enable_mask>(), ignore_level);
    }
    return set_new(function, place, rule, ignore_level);
}

Reply query_fte(CommandContext& context, ConstView<prm::query_fte_in> in,
                View<prm::query_fte_out> out) {
    using In = prm::query_fte_in;
    FunctionState& function = context.function;
    const model::FlowTable* table =
        find_table(function, in.get<In::table_type>(), in.get<In::table_id>());
    if (table == nullptr) return no_such_object();
    const auto index = in.get<In::flow_index>();
    const model::FlowGroup* group = group_of_index(function, *table, index);
    if (group == nullptr) return no_such_object();
    const auto entry = group->entries.find(index);
    if (entry == group->entries.end()) return no_such_object();
    const auto answer = out.nested<prm::query_fte_out::flow_context>();
    const std::vector<std::byte>& stored = entry->second.context;
    if (answer.bytes().size() < stored.size()) {
        return refuse(Status::BAD_OUTP_LEN, "no room for destinations and counters");
    }
    std::copy(stored.begin(), stored.end(), answer.bytes().begin());
    return accept();
}

Reply delete_fte(CommandContext& context, ConstView<prm::delete_fte_in> in,
                 View<prm::delete_fte_out>) {
    using In = prm::delete_fte_in;
    FunctionState& function = context.function;
    const Reply vport = check_vport(in.get<In::other_vport>(), in.get<In::vport_number>());
    if (!vport.ok()) return vport;
    const model::FlowTable* table =
        find_table(function, in.get<In::table_type>(), in.get<In::table_id>());
    if (table == nullptr) return no_such_object();
    const auto index = in.get<In::flow_index>();
    model::FlowGroup* group = group_of_index(function, *table, index);
    if (group == nullptr) return no_such_object();
    const auto entry = group->entries.find(index);
    if (entry == group->entries.end()) return no_such_object();
    function.steering().entry_removed(*group, index);
    unpin_all(function.resources(), entry->second.holds);
    group->entries.erase(entry);
    return accept();
}

}  // namespace

std::vector<CommandRow> flow_entry_commands() {
    using prm::Opcode;
    return {
        command_row<&set_fte>(Opcode::SET_FLOW_TABLE_ENTRY, Cost::steering).with_op_mods(0b11),
        command_row<&query_fte>(Opcode::QUERY_FLOW_TABLE_ENTRY, Cost::query),
        command_row<&delete_fte>(Opcode::DELETE_FLOW_TABLE_ENTRY, Cost::steering),
    };
}

}  // namespace cxsim::firmware_stub
