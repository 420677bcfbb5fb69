// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/commands/flow_rule.h"

#include "firmware_stub/commands/capability.h"
#include "firmware_stub/commands/flow_steering.h"

#include <algorithm>

namespace cxsim::firmware_stub {
namespace {

using namespace flow_action;
using model::ObjectId;
using model::ObjectKind;
using prm::ConstView;
using prm::Status;
using Context = prm::flow_context;
using Destination = prm::dest_format_struct;
using NicCap = prm::flow_table_nic_cap;
using Properties = prm::flow_table_prop_layout;

constexpr std::uint32_t kFates = kAllow | kDrop | kForward;
constexpr std::uint32_t kKnown = kFates | kCount | kReformat | kDecap | kModifyHeader | kVlanPop |
                                 kVlanPush | kVlanPop2 | kVlanPush2;

/// What the checks of one rule share.
struct RuleCheck {
    FunctionState& function;
    const model::FlowTable& table;
    const FlowRule& rule;
    ConstView<Properties> properties;
    bool ignore_level;
    std::vector<ObjectId>& holds;

    std::uint32_t action() const { return rule.view().get<Context::action>(); }
    bool has(std::uint32_t bits) const { return (action() & bits) != 0; }
    TableType type() const { return static_cast<TableType>(table.table_type); }
};

Reply check_fate(const RuleCheck& check) {
    const std::uint32_t fate = check.action() & kFates;
    if (fate == 0) {
        return refuse(Status::BAD_PARAM, syndrome::kFlowEntryNoAction, "neither forward nor drop");
    }
    if ((fate & (fate - 1)) != 0) {
        return refuse(Status::BAD_PARAM, "allow, drop and forward exclude each other");
    }
    if (fate == kAllow && check.type() == TableType::nic_rx) {
        return refuse(Status::BAD_PARAM, "received packets are forwarded or dropped");
    }
    if (fate == kDrop && check.has(kModifyHeader)) {
        return refuse(Status::BAD_PARAM, syndrome::kFlowEntryDropAndModify,
                      "drop together with a header rewrite");
    }
    return accept();
}

Reply check_offered(const RuleCheck& check) {
    if (check.has(~kKnown)) {
        return refuse(Status::BAD_PARAM, "action not supported");
    }
    const auto& properties = check.properties;
    const auto own = check.table.view();
    using Table = prm::flow_table_context;
    struct Feature {
        std::uint32_t action;
        bool offered;
        const char* reason;
    };
    const Feature features[] = {
        {kCount, properties.get<Properties::flow_counter>() != 0, "flow counters not supported"},
        {kReformat,
         properties.get<Properties::reformat>() != 0 && own.get<Table::reformat_en>() != 0,
         "packet reformat without reformat_en"},
        {kDecap, properties.get<Properties::decap>() != 0 && own.get<Table::decap_en>() != 0,
         "decapsulation without decap_en"},
        {kModifyHeader, properties.get<Properties::max_modify_header_actions>() != 0,
         "header rewrite not supported"},
        {kVlanPop, properties.get<Properties::pop_vlan>() != 0, "pop_vlan not supported"},
        {kVlanPush, properties.get<Properties::push_vlan>() != 0, "push_vlan not supported"},
        {kVlanPop2, properties.get<Properties::pop_vlan_2>() != 0, "pop_vlan_2 not supported"},
        {kVlanPush2, properties.get<Properties::push_vlan_2>() != 0, "push_vlan_2 not supported"},
    };
    for (const Feature& feature : features) {
        if (check.has(feature.action) && !feature.offered) {
            return refuse(Status::BAD_PARAM, feature.reason);
        }
    }
    const auto context = check.rule.view();
    if (context.get<Context::extended_destination>() != 0 ||
        context.get<Context::uplink_hairpin_en>() != 0 ||
        context.get<Context::flow_source>() != 0) {
        return refuse(Status::BAD_PARAM, "no e-switch");
    }
    return accept();
}

Reply check_header_objects(const RuleCheck& check) {
    const model::Resources& resources = check.function.resources();
    const auto context = check.rule.view();
    if (check.has(kReformat)) {
        const auto number = context.get<Context::packet_reformat_id>();
        if (resources.packet_reformats.find(number) == nullptr) {
            return refuse(Status::BAD_RES_STATE, syndrome::kFlowEntryReformatGone,
                          "packet_reformat_id names no context");
        }
        check.holds.push_back({ObjectKind::packet_reformat, number});
    }
    if (check.has(kModifyHeader)) {
        const auto number = context.get<Context::modify_header_id>();
        const model::ModifyHeader* rewrite = resources.modify_headers.find(number);
        if (rewrite == nullptr) return no_such_object();
        if (rewrite->table_type != check.table.table_type) {
            return refuse(Status::BAD_PARAM, "header rewrite of another table type");
        }
        check.holds.push_back({ObjectKind::modify_header, number});
    }
    return accept();
}

Reply check_table_destination(const RuleCheck& check, std::uint32_t number) {
    const model::FlowTable* next = find_table(check.function, check.table.table_type, number);
    if (next == nullptr) return bad_reference("destination names no table of this type");
    if (check.ignore_level) {
        if (check.properties.get<Properties::ignore_flow_level>() == 0) {
            return refuse(Status::BAD_PARAM, "ignore_flow_level not supported");
        }
    } else if (next->level <= check.table.level) {
        return refuse(Status::BAD_PARAM, syndrome::kFlowEntryDestinationLevel,
                      "destination table is not at a deeper level");
    }
    check.holds.push_back(next->id);
    return accept();
}

Reply check_tir_destination(const RuleCheck& check, std::uint32_t number) {
    if (check.type() == TableType::nic_tx || check.type() == TableType::rdma_tx) {
        return refuse(Status::BAD_PARAM, "a TIR does not transmit");
    }
    if (check.function.resources().tirs.find(number) == nullptr) {
        return bad_reference("destination names no TIR");
    }
    check.holds.push_back({ObjectKind::tir, number});
    return accept();
}

Reply check_destinations(const RuleCheck& check) {
    const auto& list = check.rule.destinations;
    if (!check.has(kForward)) {
        return list.empty() ? accept() : refuse(Status::BAD_PARAM, "destinations without forward");
    }
    if (list.empty() ||
        list.size() > 1U << check.properties.get<Properties::log_max_destination>()) {
        return refuse(Status::BAD_PARAM, "destination_list_size beyond log_max_destination");
    }
    std::uint32_t tirs = 0;
    std::uint32_t tables = 0;
    for (const FlowRule::Element& element : list) {
        const ConstView<Destination> destination(element);
        if (destination.get<Destination::destination_eswitch_owner_vhca_id_valid>() != 0 ||
            destination.get<Destination::packet_reformat>() != 0) {
            return refuse(Status::BAD_PARAM, "no e-switch");
        }
        const auto number = destination.get<Destination::destination_id>();
        Reply reply;
        switch (static_cast<DestinationType>(destination.get<Destination::destination_type>())) {
            case DestinationType::flow_table:
                ++tables;
                reply = check_table_destination(check, number);
                break;
            case DestinationType::tir:
                ++tirs;
                reply = check_tir_destination(check, number);
                break;
            default:
                reply = refuse(Status::BAD_PARAM, "destination_type not supported");
                break;
        }
        if (!reply.ok()) return reply;
    }
    const auto offered = [&]<class Field>() {
        return capability<Field>(check.function, prm::HcaCapType::FLOW_TABLE) != 0;
    };
    if (tirs > 1 && !offered.template operator()<NicCap::nic_rx_multi_path_tirs>()) {
        return refuse(Status::BAD_PARAM, "several TIRs not supported");
    }
    if (tirs > 0 && tables > 0 &&
        !offered.template operator()<NicCap::nic_rx_multi_path_tirs_fts>()) {
        return refuse(Status::BAD_PARAM, "TIRs together with tables not supported");
    }
    return accept();
}

Reply check_counters(const RuleCheck& check) {
    const auto& list = check.rule.counters;
    if (!check.has(kCount)) {
        return list.empty() ? accept() : refuse(Status::BAD_PARAM, "counters without count");
    }
    if (list.empty() ||
        list.size() > 1U << check.properties.get<Properties::log_max_flow_counter>()) {
        return refuse(Status::BAD_PARAM, "flow_counter_list_size beyond log_max_flow_counter");
    }
    for (const FlowRule::Element& element : list) {
        const auto number = ConstView<prm::flow_counter_list>(element)
                                .get<prm::flow_counter_list::flow_counter_id>();
        if (check.function.resources().flow_counters.find(number) == nullptr) {
            return bad_reference("flow_counter_id not allocated");
        }
        check.holds.push_back({ObjectKind::flow_counter, number});
    }
    return accept();
}

void take_list(std::span<const std::byte> bytes, std::size_t count,
               std::vector<FlowRule::Element>& list) {
    list.resize(count);
    for (FlowRule::Element& element : list) {
        std::copy_n(bytes.begin(), element.size(), element.begin());
        bytes = bytes.subspan(element.size());
    }
}

}  // namespace

Reply FlowRule::parse(ConstView<prm::flow_context> context, FlowRule& rule) {
    const std::uint64_t destinations = context.get<Context::destination_list_size>();
    const std::uint64_t counters = context.get<Context::flow_counter_list_size>();
    const auto tail = context.bytes().subspan(Context::kBytes);
    if (tail.size() / sizeof(Element) < destinations + counters) {
        return refuse(Status::BAD_INP_LEN, "input shorter than its destination list");
    }
    rule = parse_stored(context.bytes());
    return accept();
}

FlowRule FlowRule::parse_stored(std::span<const std::byte> bytes) {
    FlowRule rule;
    std::copy_n(bytes.begin(), rule.head.size(), rule.head.begin());
    const ConstView<Context> context(bytes);
    const std::size_t destinations = context.get<Context::destination_list_size>();
    const auto tail = bytes.subspan(Context::kBytes);
    take_list(tail, destinations, rule.destinations);
    take_list(tail.subspan(destinations * sizeof(Element)),
              context.get<Context::flow_counter_list_size>(), rule.counters);
    return rule;
}

std::vector<std::byte> FlowRule::bytes() const {
    std::vector<std::byte> all(head.begin(), head.end());
    const prm::View<Context> context(all);
    context.set<Context::destination_list_size>(destinations.size());
    context.set<Context::flow_counter_list_size>(counters.size());
    for (const Element& element : destinations)
        all.insert(all.end(), element.begin(), element.end());
    for (const Element& element : counters) all.insert(all.end(), element.begin(), element.end());
    return all;
}

Reply check_rule(FunctionState& function, const model::FlowTable& table, const FlowRule& rule,
                 bool ignore_level, std::vector<ObjectId>& holds) {
    const auto properties = table_properties(function, table.table_type);
    if (!properties) return refuse(Status::BAD_PARAM, "table_type not supported");
    const RuleCheck check{function, table, rule, *properties, ignore_level, holds};
    using Step = Reply (*)(const RuleCheck&);
    constexpr Step kSteps[] = {&check_fate, &check_offered, &check_header_objects,
                               &check_destinations, &check_counters};
    for (const Step step : kSteps) {
        const Reply reply = step(check);
        if (!reply.ok()) return reply;
    }
    return accept();
}

}  // namespace cxsim::firmware_stub
