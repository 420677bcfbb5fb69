// SPDX-License-Identifier: Apache-2.0
// What flow tables do, the plain way: all rules one after the other, straight from Resources. The
// yardstick for model/steering. It knows forward, drop, allow, counters, tags and modify-header
// lists that set metadata registers.
#pragma once

#include "model/base/endian.h"
#include "model/resources/resources.h"
#include "model/steering/flow_action.h"
#include "model/steering/steering.h"

#include <map>
#include <optional>
#include <vector>

namespace cxsim::test {

class NaiveSteering {
  public:
    struct Result {
        model::Delivery::Kind kind;
        std::uint32_t number;
        std::uint32_t flow_tag;
        std::uint32_t register_b;
        model::FlowKey key;
    };

    explicit NaiveSteering(model::Resources& resources) : resources_(resources) {}

    void run(model::FlowTableType type, std::optional<std::uint32_t> root,
             const model::FlowKey& key) {
        results.clear();
        drops.clear();
        visited = 0;
        probes = 0;
        transmit_ = type == model::FlowTableType::nic_tx;
        walk({root, key, 0, 0});
    }

    std::vector<Result> results;
    std::vector<model::DropReason> drops;
    std::uint32_t visited = 0;
    std::uint64_t probes = 0;                     ///< groups with rules that were asked
    std::map<std::uint32_t, std::uint64_t> hits;  ///< packets by flow counter, over all runs

  private:
    using Context = prm::flow_context;
    struct Place {
        std::optional<std::uint32_t> table;
        model::FlowKey key;
        std::uint32_t flow_tag;
        std::uint32_t register_b;
    };

    static bool matches(const model::FlowGroup& group, const model::FlowEntry& entry,
                        const model::FlowKey& key) {
        const auto value = prm::ConstView<Context>(entry.context).bytes<Context::match_value>();
        for (std::size_t i = 0; i < value.size(); ++i) {
            if ((key.bytes[i] & group.match_criteria[i]) != value[i]) return false;
        }
        return true;
    }

    const model::FlowEntry* find(const model::FlowTable& table, const model::FlowKey& key) {
        for (const auto& [start, number] : table.groups) {
            const model::FlowGroup& group = *resources_.flow_groups.find(number);
            if (!group.entries.empty()) ++probes;
            for (const auto& [index, entry] : group.entries) {
                if (matches(group, entry, key)) return &entry;
            }
        }
        return nullptr;
    }

    void rewrite(std::uint32_t number, Place& place) {
        using Set = prm::set_action_in;
        const model::ModifyHeader& list = *resources_.modify_headers.find(number);
        for (std::size_t at = 0; at < list.actions.size(); at += 8) {
            const prm::ConstView<Set> action(std::span(list.actions).subspan(at, 8));
            const auto field = action.get<Set::field>();
            const auto data = action.get<Set::data>();
            const auto misc = place.key.view().nested<prm::fte_match_param::misc_parameters_2>();
            using Misc = prm::fte_match_set_misc2;
            if (field == 0x49) misc.set<Misc::metadata_reg_a>(data);
            if (field == 0x50) place.register_b = data;
            if (field == 0x51) misc.set<Misc::metadata_reg_c_0>(data);
            if (field == 0x52) misc.set<Misc::metadata_reg_c_1>(data);
            if (field == 0x58) misc.set<Misc::metadata_reg_c_7>(data);
        }
    }

    void count(prm::ConstView<Context> rule) {
        const auto destinations = rule.get<Context::destination_list_size>();
        for (std::uint32_t i = 0; i < rule.get<Context::flow_counter_list_size>(); ++i) {
            const auto element = rule.bytes().subspan(Context::kBytes + 8 * (destinations + i), 8);
            ++hits[model::load_be<std::uint32_t>(element.data())];
        }
    }

    void end(Place place) {
        if (transmit_) {
            results.push_back(
                {model::Delivery::Kind::wire, 0, place.flow_tag, place.register_b, place.key});
        } else {
            drops.push_back(model::DropReason::miss);
        }
    }

    void walk(Place place) {
        using namespace model::flow_action;
        if (!place.table) return end(place);
        if (visited == model::Steering::kMaxTables) {
            drops.push_back(model::DropReason::walk_limit);
            return;
        }
        ++visited;
        const model::FlowTable& table = *resources_.flow_tables.find(*place.table);
        const model::FlowEntry* entry = find(table, place.key);
        if (entry == nullptr) {
            const auto own = table.view();
            using Table = prm::flow_table_context;
            place.table = own.get<Table::table_miss_action>() == 1
                              ? std::optional(own.get<Table::table_miss_id>())
                              : std::nullopt;
            return walk(place);
        }
        const prm::ConstView<Context> rule(entry->context);
        const auto action = rule.get<Context::action>();
        count(rule);
        if (rule.get<Context::flow_tag>() != 0) place.flow_tag = rule.get<Context::flow_tag>();
        if ((action & kDrop) != 0) {
            drops.push_back(model::DropReason::action);
            return;
        }
        if ((action & kModifyHeader) != 0) rewrite(rule.get<Context::modify_header_id>(), place);
        if ((action & kForward) == 0) return end({{}, place.key, place.flow_tag, place.register_b});
        using Destination = prm::dest_format_struct;
        const auto size = rule.get<Context::destination_list_size>();
        for (const auto wanted :
             {model::DestinationType::tir, model::DestinationType::flow_table}) {
            for (std::uint32_t i = 0; i < size; ++i) {
                const prm::ConstView<Destination> destination(
                    rule.bytes().subspan(Context::kBytes + 8 * i, 8));
                if (destination.get<Destination::destination_type>() !=
                    static_cast<std::uint32_t>(wanted)) {
                    continue;
                }
                const auto number = destination.get<Destination::destination_id>();
                if (wanted == model::DestinationType::tir) {
                    results.push_back({model::Delivery::Kind::tir, number, place.flow_tag,
                                       place.register_b, place.key});
                } else {
                    Place next = place;
                    next.table = number;
                    walk(next);
                }
            }
        }
    }

    model::Resources& resources_;
    bool transmit_ = false;
};

}  // namespace cxsim::test
