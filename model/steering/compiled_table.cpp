// SPDX-License-Identifier: Apache-2.0
#include "model/steering/compiled_table.h"

#include "model/base/assert.h"
#include "model/steering/flow_action.h"

#include <algorithm>
#include <utility>

namespace cxsim::model {
namespace {

using namespace flow_action;
using Context = prm::flow_context;
using Destination = prm::dest_format_struct;
using Table = prm::flow_table_context;

constexpr std::uint32_t kMissForward = 1;  // table_miss_action
constexpr std::size_t kElementBytes = Destination::kBytes;

VlanTag vlan_tag(prm::ConstView<prm::vlan> vlan) {
    const auto tci = vlan.get<prm::vlan::prio>() << 13 | vlan.get<prm::vlan::cfi>() << 12 |
                     vlan.get<prm::vlan::vid>();
    return {static_cast<std::uint16_t>(vlan.get<prm::vlan::ethtype>()),
            static_cast<std::uint16_t>(tci)};
}

const FlowEntry& entry_of(const FlowGroup& group, std::uint32_t index) {
    const auto place = group.entries.find(index);
    CX_ASSERT(place != group.entries.end(), "group {} has no rule {}", group.id.number, index);
    return place->second;
}

std::span<const std::byte> match_value(const FlowEntry& entry) {
    return prm::ConstView<Context>(entry.context).bytes<Context::match_value>();
}

}  // namespace

const CompiledTable* CompiledTables::find(std::uint32_t number) const {
    const auto place = tables_.find(number);
    return place == tables_.end() ? nullptr : place->second.get();
}

CompiledTable& CompiledTables::table_of(std::uint32_t number) {
    const auto place = tables_.find(number);
    CX_ASSERT(place != tables_.end(), "flow table {} is not known", number);
    return *place->second;
}

CompiledGroup& CompiledTables::group_of(std::uint32_t number) {
    const auto place = groups_.find(number);
    CX_ASSERT(place != groups_.end(), "flow group {} is not known", number);
    return *place->second;
}

void CompiledTables::create_table(const FlowTable& table) {
    tables_[table.id.number] = std::make_unique<CompiledTable>();
    modify_table(table);
}

void CompiledTables::modify_table(const FlowTable& table) {
    const auto context = table.view();
    table_of(table.id.number).miss = context.get<Table::table_miss_action>() == kMissForward
                                         ? &table_of(context.get<Table::table_miss_id>())
                                         : nullptr;
}

void CompiledTables::destroy_table(std::uint32_t number) {
    CX_ASSERT(table_of(number).groups.empty(), "flow table {} has groups", number);
    tables_.erase(number);
}

void CompiledTables::create_group(const FlowGroup& group) {
    table_of(group.table);
    groups_[group.id.number] = std::make_unique<CompiledGroup>(group, group.table);
}

void CompiledTables::destroy_group(std::uint32_t number) {
    CX_ASSERT(group_of(number).index.empty(), "flow group {} has rules", number);
    groups_.erase(number);
}

void CompiledTables::enlist(const CompiledGroup& group) {
    auto& groups = table_of(group.table).groups;
    const auto place = std::lower_bound(
        groups.begin(), groups.end(), group.start,
        [](const auto* other, std::uint32_t start) { return other->start < start; });
    groups.insert(place, &group);
}

void CompiledTables::delist(const CompiledGroup& group) {
    auto& groups = table_of(group.table).groups;
    groups.erase(std::find(groups.begin(), groups.end(), &group));
}

CompiledRule CompiledTables::compile(const FlowEntry& entry, std::uint32_t index) const {
    const prm::ConstView<Context> context(entry.context);
    CompiledRule rule;
    rule.index = index;
    rule.flow_tag = context.get<Context::flow_tag>();
    rule.action = context.get<Context::action>();
    const auto more = [&]() -> CompiledRule::More& {
        if (!rule.more) rule.more = std::make_unique<CompiledRule::More>();
        return *rule.more;
    };
    auto list = context.bytes().subspan(Context::kBytes);
    const auto next = [&list] {
        const auto element = list.first(kElementBytes);
        list = list.subspan(kElementBytes);
        return element;
    };
    const auto destinations = context.get<Context::destination_list_size>();
    for (std::uint32_t i = 0; i < destinations; ++i) {
        const prm::ConstView<Destination> destination(next());
        const auto number = destination.get<Destination::destination_id>();
        const auto type = destination.get<Destination::destination_type>();
        RuleTarget target;
        if (static_cast<DestinationType>(type) == DestinationType::flow_table) {
            target.table = find(number);
            CX_ASSERT(target.table != nullptr, "rule to unknown flow table {}", number);
        } else {
            target.tirn = number;
        }
        if (i == 0) {
            rule.target = target;
        } else {
            more().targets.push_back(target);
        }
    }
    const auto counters = context.get<Context::flow_counter_list_size>();
    for (std::uint32_t i = 0; i < counters; ++i) {
        const auto number = prm::ConstView<prm::flow_counter_list>(next())
                                .get<prm::flow_counter_list::flow_counter_id>();
        FlowCounter* counter = resources_.flow_counters.find(number);
        CX_ASSERT(counter != nullptr, "rule with unknown flow counter {}", number);
        if (i == 0) {
            rule.counter = counter;
        } else {
            more().counters.push_back(counter);
        }
    }
    if ((rule.action & kModifyHeader) != 0) {
        more().rewrite = resources_.modify_headers.find(context.get<Context::modify_header_id>());
    }
    if ((rule.action & kReformat) != 0) {
        more().reformat =
            resources_.packet_reformats.find(context.get<Context::packet_reformat_id>());
    }
    if ((rule.action & (kVlanPush | kVlanPush2)) != 0) {
        more().push = {vlan_tag(context.nested<Context::push_vlan>()),
                       vlan_tag(context.nested<Context::push_vlan_2>())};
    }
    return rule;
}

void CompiledTables::set_rule(const FlowGroup& group, std::uint32_t index) {
    CompiledGroup& own = group_of(group.id.number);
    const FlowEntry& entry = entry_of(group, index);
    const bool first = own.index.empty();
    own.index.set(match_value(entry), compile(entry, index));
    if (first) enlist(own);
}

void CompiledTables::remove_rule(const FlowGroup& group, std::uint32_t index) {
    CompiledGroup& own = group_of(group.id.number);
    own.index.remove(match_value(entry_of(group, index)), index);
    if (own.index.empty()) delist(own);
}

void CompiledTables::clear() {
    groups_.clear();
    tables_.clear();
}

}  // namespace cxsim::model
