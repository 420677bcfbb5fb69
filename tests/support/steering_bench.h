// SPDX-License-Identifier: Apache-2.0
// Flow tables without firmware: objects made directly in Resources with the hooks that commands
// call, and a packet that is only a key. Used by unit tests, budgets and the fuzzer.
#pragma once

#include "model/base/assert.h"
#include "model/base/endian.h"
#include "model/steering/flow_action.h"
#include "model/steering/steering.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace cxsim::test {

/// A packet that is its key. Edits are written down, those of fields it knows are done.
class KeyPacket : public model::SteeredPacket {
  public:
    explicit KeyPacket(const model::FlowKey& flow_key = {}, std::uint32_t octets = 64)
        : key_(flow_key), octets_(octets) {}

    model::FlowKey& key() override { return key_; }
    std::uint32_t bytes() const override { return octets_; }

    bool set_field(std::uint32_t field, unsigned offset, unsigned length,
                   std::uint32_t value) override {
        return note("set " + std::to_string(field) + " " + std::to_string(offset) + " " +
                    std::to_string(length) + " " + std::to_string(value));
    }
    bool add_field(std::uint32_t field, std::uint32_t value) override {
        return note("add " + std::to_string(field) + " " + std::to_string(value));
    }
    bool copy_field(std::uint32_t from, unsigned from_offset, std::uint32_t to, unsigned to_offset,
                    unsigned length) override {
        return note("copy " + std::to_string(from) + " " + std::to_string(from_offset) + " " +
                    std::to_string(to) + " " + std::to_string(to_offset) + " " +
                    std::to_string(length));
    }
    bool push_vlan(std::uint16_t tpid, std::uint16_t tci) override {
        return note("push " + std::to_string(tpid) + " " + std::to_string(tci));
    }
    bool pop_vlan() override { return note("pop"); }
    bool decapsulate() override { return note("decap"); }
    bool reformat(std::uint8_t type, std::uint8_t parameter_0, std::uint8_t parameter_1,
                  std::span<const std::byte> data) override {
        return note("reformat " + std::to_string(type) + " " + std::to_string(parameter_0) + " " +
                    std::to_string(parameter_1) + " " + std::to_string(data.size()));
    }
    model::SteeredPacket* copy() override {
        if (!copyable) return nullptr;
        copies.push_back(*this);
        copies.back().copies.clear();
        return &copies.back();
    }

    std::vector<std::string> edits;
    std::string refused;  ///< this edit fails
    bool copyable = true;
    std::deque<KeyPacket> copies;

  private:
    bool note(std::string edit) {
        if (edit == refused) return false;
        edits.push_back(std::move(edit));
        return true;
    }
    model::FlowKey key_;
    std::uint32_t octets_;
};

struct RuleSpec {
    model::FlowKey value;
    std::uint32_t action = model::flow_action::kDrop;
    struct Destination {
        model::DestinationType type;
        std::uint32_t number;
    };
    std::vector<Destination> destinations;
    std::vector<std::uint32_t> counters;
    std::uint32_t flow_tag = 0;
    std::uint32_t modify_header = 0;
    std::uint32_t reformat = 0;
    std::uint32_t push = 0;  ///< TPID and TCI
    std::uint32_t push_2 = 0;

    std::vector<std::byte> context() const {
        using Context = prm::flow_context;
        std::vector<std::byte> bytes(Context::kBytes + 8 * (destinations.size() + counters.size()));
        const prm::View<Context> view(bytes);
        view.set<Context::action>(action);
        view.set<Context::flow_tag>(flow_tag);
        view.set<Context::modify_header_id>(modify_header);
        view.set<Context::packet_reformat_id>(reformat);
        model::store_be<std::uint32_t>(view.bytes<Context::push_vlan>().data(), push);
        model::store_be<std::uint32_t>(view.bytes<Context::push_vlan_2>().data(), push_2);
        view.set<Context::destination_list_size>(destinations.size());
        view.set<Context::flow_counter_list_size>(counters.size());
        std::copy(value.bytes.begin(), value.bytes.end(),
                  view.bytes<Context::match_value>().begin());
        auto list = view.bytes().subspan(Context::kBytes);
        for (const Destination& destination : destinations) {
            const prm::View<prm::dest_format_struct> place(list.first(8));
            place.set<prm::dest_format_struct::destination_type>(destination.type);
            place.set<prm::dest_format_struct::destination_id>(destination.number);
            list = list.subspan(8);
        }
        for (const std::uint32_t counter : counters) {
            prm::View<prm::flow_counter_list>(list.first(8))
                .set<prm::flow_counter_list::flow_counter_id>(counter);
            list = list.subspan(8);
        }
        return bytes;
    }
};

class SteeringBench {
  public:
    using Type = model::FlowTableType;

    SteeringBench() : resources(limits()), steering(resources) {}

    std::uint32_t table(Type type = Type::nic_rx, std::optional<std::uint32_t> miss = {}) {
        model::FlowTable* made = resources.flow_tables.create();
        made->table_type = static_cast<std::uint8_t>(type);
        set_miss(*made, miss);
        steering.table_created(*made);
        return made->id.number;
    }
    void modify_miss(std::uint32_t number, std::optional<std::uint32_t> miss) {
        model::FlowTable* changed = resources.flow_tables.find(number);
        set_miss(*changed, miss);
        steering.table_modified(*changed);
    }
    void destroy_table(std::uint32_t number) {
        steering.table_destroyed(*resources.flow_tables.find(number));
        resources.destroy({model::ObjectKind::flow_table, number});
    }
    std::uint32_t root(Type type = Type::nic_rx) {
        const std::uint32_t made = table(type);
        steering.set_root(type, made);
        return made;
    }
    std::uint32_t group(std::uint32_t table_number, std::uint32_t start, std::uint32_t end,
                        const model::FlowKey& mask) {
        model::FlowGroup* made = resources.flow_groups.create();
        made->table = table_number;
        made->start_index = start;
        made->end_index = end;
        made->match_criteria.assign(mask.bytes.begin(), mask.bytes.end());
        resources.flow_tables.find(table_number)->groups[start] = made->id.number;
        steering.group_created(*made);
        return made->id.number;
    }
    void destroy_group(std::uint32_t number) {
        model::FlowGroup* old = resources.flow_groups.find(number);
        resources.flow_tables.find(old->table)->groups.erase(old->start_index);
        steering.group_destroyed(*old);
        resources.destroy(old->id);
    }
    /// New, or in place of the rule there.
    void rule(std::uint32_t group_number, std::uint32_t index, const RuleSpec& spec) {
        model::FlowGroup* owner = resources.flow_groups.find(group_number);
        owner->entries[index] = {spec.context(), {}};
        steering.entry_set(*owner, index);
    }
    void remove(std::uint32_t group_number, std::uint32_t index) {
        model::FlowGroup* owner = resources.flow_groups.find(group_number);
        steering.entry_removed(*owner, index);
        owner->entries.erase(owner->entries.find(index));
    }
    std::uint32_t counter() { return resources.flow_counters.create()->id.number; }
    std::uint32_t rewrite(const std::vector<std::uint64_t>& actions) {
        model::ModifyHeader* made = resources.modify_headers.create();
        made->actions.resize(actions.size() * 8);
        for (std::size_t i = 0; i < actions.size(); ++i) {
            model::store_be<std::uint64_t>(made->actions.data() + 8 * i, actions[i]);
        }
        return made->id.number;
    }
    static constexpr std::uint64_t set_action(std::uint64_t field, std::uint64_t value,
                                              std::uint64_t offset = 0, std::uint64_t length = 0) {
        return 1ULL << 60 | field << 48 | offset << 40 | length << 32 | value;
    }
    static constexpr std::uint64_t add_action(std::uint64_t field, std::uint64_t value) {
        return 2ULL << 60 | field << 48 | value;
    }
    static constexpr std::uint64_t copy_action(std::uint64_t from, std::uint64_t from_offset,
                                               std::uint64_t to, std::uint64_t to_offset,
                                               std::uint64_t length) {
        return 3ULL << 60 | from << 48 | from_offset << 40 | length << 32 | to << 16 |
               to_offset << 8;
    }

    const model::Deliveries& receive(model::SteeredPacket& packet) {
        steering.receive(packet, deliveries);
        return deliveries;
    }
    const model::Deliveries& transmit(model::SteeredPacket& packet) {
        steering.transmit(packet, deliveries);
        return deliveries;
    }
    const model::SteeringCounters& counted() const { return steering.counters(); }

    model::Resources resources;
    model::Steering steering;
    model::Deliveries deliveries;

  private:
    static model::ResourceLimits limits() {
        model::ResourceLimits all;
        all.of.fill(1U << 22);
        return all;
    }
    static void set_miss(model::FlowTable& table, std::optional<std::uint32_t> miss) {
        table.view().set<prm::flow_table_context::table_miss_action>(miss ? 1U : 0U);
        table.view().set<prm::flow_table_context::table_miss_id>(miss.value_or(0));
    }
};

inline RuleSpec::Destination to_tir(std::uint32_t number) {
    return {model::DestinationType::tir, number};
}
inline RuleSpec::Destination to_table(std::uint32_t number) {
    return {model::DestinationType::flow_table, number};
}

/// A key, or a mask, with one field of the outer headers.
template <class Field>
model::FlowKey outer(std::uint64_t value, model::FlowKey key = {}) {
    key.view().nested<prm::fte_match_param::outer_headers>().template set<Field>(value);
    return key;
}

}  // namespace cxsim::test
