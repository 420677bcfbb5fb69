// SPDX-License-Identifier: Apache-2.0
// What the firmware knows of one PCI function: its phase, capabilities, pages, objects, vport.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "firmware_stub/boot/config.h"
#include "firmware_stub/boot/congestion_control.h"
#include "firmware_stub/boot/page_supply.h"
#include "firmware_stub/mailbox/command_queue.h"
#include "firmware_stub/mailbox/command_table.h"
#include "model/prm/event_type.h"
#include "model/ports/vport_traffic.h"
#include "model/prm/hca_cap.h"
#include "model/queues/queue_engines.h"
#include "model/resources/resources.h"
#include "model/steering/steering.h"

namespace cxsim::firmware_stub {

/// The NIC vport of a function: what QUERY/MODIFY_NIC_VPORT_CONTEXT show and change.
struct Vport {
    prm::Buffer<prm::nic_vport_context> context{};
    std::array<std::uint8_t, 6> permanent_mac{};
    std::vector<std::array<std::uint8_t, 6>> unicast_list;
    std::vector<std::array<std::uint8_t, 6>> multicast_list;
    std::vector<std::uint16_t> vlan_list;
    std::uint8_t admin_state = 1;  ///< VPORT_STATE admin: 0 down, 1 up, 2 follow the port

    using Counters = model::VportTraffic;
    using Traffic = Counters::Traffic;
    Counters counters;
    model::VportGate gate;

    /// The gate follows the context and the address list; after each change of these.
    void follow_context();
};

/// Keys that QUERY_SPECIAL_CONTEXTS tells of; their indices lie below those of created keys.
inline constexpr model::SpecialKeys kSpecialKeys{
    .reserved_lkey = 0x200, .null_mkey = 0x300, .terminate_scatter_list = 0x100};

using Gid = std::array<std::uint8_t, 16>;

class FunctionState {
  public:
    FunctionState(model::FunctionId id, const FirmwareConfig& config, model::HostBus& host,
                  model::Calendar& calendar, CommandExecutor& executor);

    model::FunctionId id() const { return id_; }
    Phase phase() const { return phase_; }
    void set_phase(Phase phase) { phase_ = phase; }

    /// Current capabilities; null when the card lacks the group. SET_HCA_CAP changes them.
    std::span<std::byte> current_capability(std::uint16_t group);
    /// Value of a member of the current general capabilities.
    template <class... Path>
    auto general() {
        return prm::ConstView<prm::cmd_hca_cap>(current_capability(0)).template get<Path...>();
    }
    /// Back to the power-on values.
    void restore_capabilities();
    /// The general capabilities were set: what depends on them follows.
    void capabilities_changed();

    model::Resources& resources() { return resources_; }
    model::QueueEngines& queues() { return queues_; }
    model::Steering& steering() { return steering_; }
    PageSupply& pages() { return pages_; }
    /// Null: all contexts are at hand.
    model::ContextCaches* caches() { return caches_ ? &*caches_ : nullptr; }
    CommandQueue& commands() { return commands_; }
    Vport& vport() { return vport_; }

    /// Recomputes what the contexts take of the pages.
    void account_pages();

    /// All objects gone, queues stopped, no longer initialised; pages stay with the firmware until
    /// they are taken.
    void tear_down();
    /// As after power-on.
    void reset();

    std::uint64_t refused_commands = 0;        ///< since the last reset (QUERY_VNIC_ENV)
    std::uint64_t commands_beyond_limits = 0;  ///< of those: limits exceeded
    std::uint8_t issi = 0;
    std::string driver_version;  ///< SET_DRIVER_VERSION
    /// Health: a syndrome other than 0 means that the firmware of this function has died.
    std::uint8_t health_syndrome = 0;
    std::uint16_t health_extended_syndrome = 0;
    model::Picoseconds died_at;
    /// Source GIDs and MACs by index (SET_ROCE_ADDRESS).
    std::map<std::uint32_t, prm::Buffer<prm::roce_addr_layout>> roce_addresses;
    /// QPs attached to each multicast GID (ATTACH_TO_MCG), in the order of attaching.
    std::map<Gid, std::vector<std::uint32_t>> multicast_groups;
    CongestionControl congestion;
    /// Root table by table_type (SET_FLOW_TABLE_ROOT).
    std::map<std::uint8_t, std::uint32_t> flow_table_roots;
    /// Rates for packet pacing by index (SET_PP_RATE_LIMIT).
    std::map<std::uint16_t, prm::Buffer<prm::set_pp_rate_limit_context>> rate_limits;
    /// MAC table of the e-switch by index (SET_L2_TABLE_ENTRY), as the input carried it.
    std::map<std::uint32_t, prm::Buffer<prm::set_l2_table_entry_in>> l2_table;
    bool silent_mode = false;               ///< SET_L2_TABLE_ENTRY: no traffic to the wire
    std::uint16_t delay_drop_timeout = 0;   ///< SET_DELAY_DROP_PARAMS, in 100 us
    std::uint8_t wake_on_lan = 0;           ///< SET_WOL_ROL, a bit for each packet type
    std::uint8_t reset_on_lan = 0;

  private:
    model::ContextCaches* make_caches(model::HostBus& host);
    void reset_vport();

    model::FunctionId id_;
    const FirmwareConfig& config_;
    Phase phase_ = Phase::reset;
    std::map<std::uint16_t, std::vector<std::byte>> capabilities_;
    model::Resources resources_;
    model::Steering steering_;
    PageSupply pages_;
    model::stats::Group own_statistics_{"function"};
    std::optional<model::ContextCaches> caches_;
    model::QueueEngines queues_;
    CommandQueue commands_;
    Vport vport_;
};

}  // namespace cxsim::firmware_stub
