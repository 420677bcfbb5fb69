// SPDX-License-Identifier: Apache-2.0
// The flow tables of one function at work: commands tell it of changes, the packet path asks it
// where packets go. It keeps a compiled form of tables, groups and rules beside Resources, in which
// a group is one hash table over the words that its mask covers.
#pragma once

#include "model/resources/resources.h"
#include "model/steering/deliveries.h"
#include "model/steering/flow_key.h"
#include "model/steering/rss.h"
#include "model/steering/steered_packet.h"
#include "model/steering/steering_counters.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace cxsim::model {

class Steering {
  public:
    /// What one packet may do in one namespace; more is taken for a loop (drops, walk_limit).
    static constexpr std::uint32_t kMaxTables = 1024;
    static constexpr std::uint32_t kMaxProbes = 65536;

    explicit Steering(Resources& resources);
    ~Steering();
    Steering(const Steering&) = delete;
    Steering& operator=(const Steering&) = delete;

    // For the commands. Objects are those of Resources and live until their `destroyed`; what a
    // rule or a miss leads to is pinned there, so it outlives the rule.

    void table_created(const FlowTable& table);
    /// The miss of the table was changed.
    void table_modified(const FlowTable& table);
    /// Before the table goes; a root is no root any more then.
    void table_destroyed(const FlowTable& table);
    void group_created(const FlowGroup& group);
    /// Before the group goes; it has no rules.
    void group_destroyed(const FlowGroup& group);
    /// The rule at `index` is new or was changed, not what it matches.
    void entry_set(const FlowGroup& group, std::uint32_t index);
    /// Before the rule goes.
    void entry_removed(const FlowGroup& group, std::uint32_t index);
    /// Empty: packets of this type meet no table.
    void set_root(FlowTableType type, std::optional<std::uint32_t> table);
    /// Everything is gone, counters too: before Resources are cleared.
    void reset();

    // For the packet path. Allocates nothing once warm; edits the packet where rules say so.
    // `deliveries` is cleared first. A packet with no delivery is dropped: see drop_reason().

    /// Namespaces sniffer RX (the packet as it came in), then NIC RX.
    void receive(SteeredPacket& packet, Deliveries& deliveries);
    /// Namespaces NIC TX, then sniffer TX (the packet as it goes out).
    void transmit(SteeredPacket& packet, Deliveries& deliveries);
    /// Is there any table for packets to transmit? If not, transmit() allows all.
    bool transmit_tables() const;

    /// The receive queue that `tir` gives a packet: its own, or one of its table by hash.
    RqChoice choose_rq(const Tir& tir, const FlowKey& key);

    const SteeringCounters& counters() const { return counters_; }

  private:
    struct State;

    Resources& resources_;
    SteeringCounters counters_;
    RssHasher hasher_;
    std::unique_ptr<State> state_;
};

}  // namespace cxsim::model
