// SPDX-License-Identifier: Apache-2.0
#include "model/steering/steering.h"

#include "model/base/assert.h"
#include "model/steering/compiled_table.h"
#include "model/steering/flow_action.h"
#include "model/steering/header_rewrite.h"

#include <algorithm>
#include <array>
#include <vector>

namespace cxsim::model {
namespace {

using namespace flow_action;

/// A packet on its way to one of several destinations.
struct Branch {
    const CompiledTable* table = nullptr;
    SteeredPacket* packet = nullptr;
    std::uint32_t flow_tag = 0;
    std::uint32_t register_b = 0;
};

bool is_sniffer(FlowTableType type) {
    return type == FlowTableType::sniffer_rx || type == FlowTableType::sniffer_tx;
}

}  // namespace

struct Steering::State {
    State(Resources& resources, SteeringCounters& steering_counters)
        : tables(resources), counters(steering_counters) {
        branches.reserve(Deliveries::kCapacity);
    }

    void run(FlowTableType type, SteeredPacket& packet, Deliveries& out);
    void walk(Branch branch);
    const CompiledRule* look_up(const CompiledTable& table, const FlowKey& key);
    /// False: the branch ends here, as a drop that is counted.
    bool apply(const CompiledRule& rule, Branch& branch);
    bool edit(const CompiledRule& rule, Branch& branch);
    bool own_packet(Branch& branch);
    void forward(const CompiledRule& rule, const Branch& branch);
    void deliver(Delivery::Kind kind, std::uint32_t number, const Branch& branch);
    void drop(DropReason reason);

    CompiledTables tables;
    std::array<std::optional<std::uint32_t>, SteeringCounters::kTypes> root_numbers{};
    std::array<const CompiledTable*, SteeringCounters::kTypes> roots{};
    SteeringCounters& counters;

    // Of the packet under way.
    FlowTableType type = FlowTableType::nic_rx;
    NamespaceCounters* space = nullptr;
    Deliveries* deliveries = nullptr;
    std::vector<Branch> branches;  ///< last one first
    std::uint32_t visited = 0;
    std::uint64_t probed = 0;
};

const CompiledRule* Steering::State::look_up(const CompiledTable& table, const FlowKey& key) {
    const CompiledRule* rule = nullptr;
    std::uint64_t probes = 0;
    for (const CompiledGroup* group : table.groups) {
        ++probes;
        rule = group->index.find(key, counters.comparisons);
        if (rule != nullptr || probed + probes > kMaxProbes) break;
    }
    probed += probes;
    counters.probes += probes;
    return rule;
}

bool Steering::State::own_packet(Branch& branch) {
    const auto wants = [&](const auto& other) { return other.packet == branch.packet; };
    if (std::none_of(deliveries->begin(), deliveries->end(), wants) &&
        std::none_of(branches.begin(), branches.end(), wants)) {
        return true;
    }
    SteeredPacket* copy = branch.packet->copy();
    if (copy == nullptr) return false;
    ++counters.copies;
    branch.packet = copy;
    return true;
}

// In the order of the card's pipeline: what is around the packet goes, then fields change, then
// something new comes around it.
bool Steering::State::edit(const CompiledRule& rule, Branch& branch) {
    SteeredPacket& packet = *branch.packet;
    const auto has = [&](std::uint32_t action) { return (rule.action & action) != 0; };
    const auto done = [&](bool ok) {
        if (ok) ++counters.edits;
        return ok;
    };
    const CompiledRule::More* more = rule.more.get();
    const PacketReformat* reformat = has(kReformat) ? more->reformat : nullptr;
    const auto reformat_now = [&] {
        return done(packet.reformat(reformat->reformat_type, reformat->parameter_0,
                                    reformat->parameter_1, reformat->data));
    };
    const bool takes_away =
        reformat != nullptr &&
        (static_cast<ReformatType>(reformat->reformat_type) == ReformatType::l3_tunnel_to_l2 ||
         static_cast<ReformatType>(reformat->reformat_type) == ReformatType::remove_header);
    if (has(kDecap) && !done(packet.decapsulate())) return false;
    if (takes_away && !reformat_now()) return false;
    if (has(kVlanPop) && !done(packet.pop_vlan())) return false;
    if (has(kVlanPop2) && !done(packet.pop_vlan())) return false;
    if (has(kModifyHeader)) {
        std::span<const std::byte> actions = more->rewrite->actions;
        for (; !actions.empty(); actions = actions.subspan(prm::set_action_in::kBytes)) {
            const auto action = actions.first(prm::set_action_in::kBytes);
            if (!done(rewrite(action, packet, branch.register_b))) return false;
        }
    }
    if (has(kVlanPush) && !done(packet.push_vlan(more->push[0].tpid, more->push[0].tci))) {
        return false;
    }
    if (has(kVlanPush2) && !done(packet.push_vlan(more->push[1].tpid, more->push[1].tci))) {
        return false;
    }
    return reformat == nullptr || takes_away || reformat_now();
}

bool Steering::State::apply(const CompiledRule& rule, Branch& branch) {
    if (rule.counter != nullptr) {
        const std::uint32_t octets = branch.packet->bytes();
        const auto count = [octets](FlowCounter& counter) {
            ++counter.packets;
            counter.octets += octets;
        };
        count(*rule.counter);
        if (rule.more) {
            for (FlowCounter* counter : rule.more->counters) count(*counter);
        }
    }
    if (rule.flow_tag != 0) branch.flow_tag = rule.flow_tag;
    if ((rule.action & kDrop) != 0) {
        drop(DropReason::action);
        return false;
    }
    if ((rule.action & kEdits) == 0) return true;
    if (!own_packet(branch)) {
        drop(DropReason::no_copy);
        return false;
    }
    if (!edit(rule, branch)) {
        drop(DropReason::edit_failed);
        return false;
    }
    return true;
}

void Steering::State::deliver(Delivery::Kind kind, std::uint32_t number, const Branch& branch) {
    const Delivery delivery{
        kind, is_sniffer(type), number, branch.flow_tag, branch.register_b, branch.packet};
    if (!deliveries->add(delivery)) {
        drop(DropReason::no_room);
        return;
    }
    ++space->deliveries;
}

void Steering::State::drop(DropReason reason) {
    ++(*space)[reason];
    if (!is_sniffer(type)) deliveries->add_drop(reason);
}

// TIRs get the packet at once, tables later: the last branch pushed is walked first.
void Steering::State::forward(const CompiledRule& rule, const Branch& branch) {
    const auto& others = rule.more->targets;
    const auto to_tir = [&](const RuleTarget& target) {
        if (target.table == nullptr) deliver(Delivery::Kind::tir, target.tirn, branch);
    };
    const auto to_table = [&](const RuleTarget& target) {
        if (target.table == nullptr) return;
        if (branches.size() == Deliveries::kCapacity) {
            drop(DropReason::no_room);
            return;
        }
        branches.push_back(branch);
        branches.back().table = target.table;
    };
    to_tir(rule.target);
    std::for_each(others.begin(), others.end(), to_tir);
    std::for_each(others.rbegin(), others.rend(), to_table);
    to_table(rule.target);
}

void Steering::State::walk(Branch branch) {
    while (branch.table != nullptr) {
        if (visited == kMaxTables || probed >= kMaxProbes) {
            drop(DropReason::walk_limit);
            return;
        }
        ++visited;
        ++counters.tables_visited;
        const CompiledRule* rule = look_up(*branch.table, branch.packet->key());
        if (rule == nullptr) {
            if (probed > kMaxProbes) {
                drop(DropReason::walk_limit);
                return;
            }
            branch.table = branch.table->miss;
            continue;
        }
        ++counters.rules_hit;
        if (!apply(*rule, branch)) return;
        if ((rule->action & kForward) == 0) {
            if (is_sniffer(type)) {
                drop(DropReason::action);
            } else {
                deliver(Delivery::Kind::wire, 0, branch);
            }
            return;
        }
        if (!rule->more || rule->more->targets.empty()) {
            if (rule->target.table == nullptr) {
                deliver(Delivery::Kind::tir, rule->target.tirn, branch);
                return;
            }
            branch.table = rule->target.table;
            continue;
        }
        forward(*rule, branch);
        return;
    }
    if (type == FlowTableType::nic_tx || type == FlowTableType::rdma_tx) {
        deliver(Delivery::Kind::wire, 0, branch);
    } else {
        drop(DropReason::miss);
    }
}

void Steering::State::run(FlowTableType table_type, SteeredPacket& packet, Deliveries& out) {
    type = table_type;
    space = &counters[type];
    deliveries = &out;
    visited = 0;
    probed = 0;
    ++space->packets;
    space->octets += packet.bytes();
    const std::uint64_t before = space->deliveries;
    branches.clear();
    branches.push_back({roots[static_cast<std::size_t>(type)], &packet, 0, 0});
    while (!branches.empty()) {
        const Branch branch = branches.back();
        branches.pop_back();
        walk(branch);
    }
    ++(space->deliveries != before ? space->delivered : space->dropped);
}

Steering::Steering(Resources& resources)
    : resources_(resources), state_(std::make_unique<State>(resources, counters_)) {}

Steering::~Steering() = default;

void Steering::table_created(const FlowTable& table) {
    state_->tables.create_table(table);
}

void Steering::table_modified(const FlowTable& table) {
    state_->tables.modify_table(table);
}

void Steering::table_destroyed(const FlowTable& table) {
    for (std::size_t type = 0; type < SteeringCounters::kTypes; ++type) {
        if (state_->root_numbers[type] == table.id.number) {
            set_root(static_cast<FlowTableType>(type), std::nullopt);
        }
    }
    state_->tables.destroy_table(table.id.number);
}

void Steering::group_created(const FlowGroup& group) {
    state_->tables.create_group(group);
}

void Steering::group_destroyed(const FlowGroup& group) {
    state_->tables.destroy_group(group.id.number);
}

void Steering::entry_set(const FlowGroup& group, std::uint32_t index) {
    state_->tables.set_rule(group, index);
}

void Steering::entry_removed(const FlowGroup& group, std::uint32_t index) {
    state_->tables.remove_rule(group, index);
}

void Steering::set_root(FlowTableType type, std::optional<std::uint32_t> table) {
    const auto place = static_cast<std::size_t>(type);
    CX_ASSERT(place < SteeringCounters::kTypes, "table type {}", place);
    state_->root_numbers[place] = table;
    state_->roots[place] = table ? state_->tables.find(*table) : nullptr;
    CX_ASSERT(!table || state_->roots[place] != nullptr, "root {} is no flow table", *table);
}

void Steering::reset() {
    state_->tables.clear();
    state_->root_numbers.fill(std::nullopt);
    state_->roots.fill(nullptr);
    counters_ = {};
}

bool Steering::transmit_tables() const {
    return state_->roots[static_cast<std::size_t>(FlowTableType::nic_tx)] != nullptr ||
           state_->roots[static_cast<std::size_t>(FlowTableType::sniffer_tx)] != nullptr;
}

void Steering::receive(SteeredPacket& packet, Deliveries& deliveries) {
    deliveries.clear();
    if (state_->roots[static_cast<std::size_t>(FlowTableType::sniffer_rx)] != nullptr) {
        state_->run(FlowTableType::sniffer_rx, packet, deliveries);
    }
    state_->run(FlowTableType::nic_rx, packet, deliveries);
}

void Steering::transmit(SteeredPacket& packet, Deliveries& deliveries) {
    deliveries.clear();
    state_->run(FlowTableType::nic_tx, packet, deliveries);
    if (state_->roots[static_cast<std::size_t>(FlowTableType::sniffer_tx)] == nullptr) return;
    const std::size_t leaving = deliveries.size();
    for (std::size_t i = 0; i < leaving; ++i) {
        SteeredPacket* out = deliveries[i].packet;
        if (out != nullptr) state_->run(FlowTableType::sniffer_tx, *out, deliveries);
    }
}

RqChoice Steering::choose_rq(const Tir& tir, const FlowKey& key) {
    using tirc = prm::tirc;
    constexpr std::uint32_t kIndirect = 1;
    const auto context = tir.view();
    RqChoice choice;
    if (context.get<tirc::disp_type>() != kIndirect) {
        choice.rqn = context.get<tirc::inline_rqn>();
        choice.found = resources_.rqs.find(choice.rqn) != nullptr;
    } else if (const Rqt* rqt = resources_.rqts.find(context.get<tirc::indirect_table>())) {
        const RssHash hash = hasher_.hash(context, key);
        choice.hash = hash.value;
        choice.hash_type_ip = hash.type_ip;
        choice.hash_type_l4 = hash.type_l4;
        ++(hash.type_ip != 0 ? counters_.hashed : counters_.not_hashed);
        const auto size = std::min<std::size_t>(rqt->view().get<prm::rqtc::rqt_actual_size>(),
                                                rqt->entries.size());
        if (size > 0) {
            choice.rqn = rqt->entries[hash.value % size];
            choice.found = resources_.rqs.find(choice.rqn) != nullptr;
        }
    }
    if (!choice.found) ++counters_.no_receive_queue;
    return choice;
}

}  // namespace cxsim::model
