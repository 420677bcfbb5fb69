// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/boot/function_state.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cxsim::firmware_stub {
namespace {

using model::ContextKind;
using model::ObjectKind;

model::ContextCacheConfig with_context_sizes(model::ContextCacheConfig config) {
    constexpr std::pair<ContextKind, ObjectKind> kKinds[] = {{ContextKind::qp, ObjectKind::qp},
                                                             {ContextKind::sq, ObjectKind::sq},
                                                             {ContextKind::rq, ObjectKind::rq},
                                                             {ContextKind::cq, ObjectKind::cq},
                                                             {ContextKind::mkey, ObjectKind::mkey}};
    for (const auto& [context, object] : kKinds) {
        config.bytes[static_cast<std::size_t>(context)] =
            static_cast<std::uint32_t>(model::context_bytes(object).value);
    }
    return config;
}

}  // namespace

FunctionState::FunctionState(model::FunctionId id, const FirmwareConfig& config,
                             model::HostBus& host, model::Calendar& calendar,
                             CommandExecutor& executor)
    : id_(id),
      config_(config),
      resources_(config.limits),
      steering_(resources_),
      pages_(config.pages),
      queues_(model::QueueContext{id, resources_, host, calendar, config.queue_timing, kSpecialKeys,
                                  make_caches(host)}),
      commands_(id, host, calendar, executor, config.command_processors) {
    restore_capabilities();
    reset_vport();
}

model::ContextCaches* FunctionState::make_caches(model::HostBus& host) {
    if (config_.context_caches.entries.front() == 0) return nullptr;
    caches_.emplace(id_, host, pages_, with_context_sizes(config_.context_caches),
                    config_.statistics != nullptr ? *config_.statistics : own_statistics_,
                    id_.value == 0 ? "icm" : "icm" + std::to_string(id_.value));
    return &*caches_;
}

void FunctionState::restore_capabilities() {
    capabilities_.clear();
    for (const prm::HcaCapTypeInfo& info : prm::all_hca_cap_types()) {
        const model::CapabilityImage* image = config_.capabilities->current(info.layout);
        if (image == nullptr) continue;
        const auto bytes = image->bytes();
        capabilities_[static_cast<std::uint16_t>(info.type)].assign(bytes.begin(), bytes.end());
    }
    capabilities_changed();
}

void FunctionState::capabilities_changed() {
    commands_.check_signatures(general<prm::cmd_hca_cap::cmdif_checksum>() != 0);
    resources_.qps.set_limit(std::min(config_.limits[model::ObjectKind::qp],
                                      1U << general<prm::cmd_hca_cap::log_max_qp>()));
}

std::span<std::byte> FunctionState::current_capability(std::uint16_t group) {
    const auto place = capabilities_.find(group);
    if (place == capabilities_.end()) return {};
    return place->second;
}

void FunctionState::account_pages() {
    // The firmware itself works in the boot pages; the others are for contexts.
    const std::uint32_t working =
        phase_ == Phase::initialised ? pages_.parameters().boot : 0;
    pages_.set_use(working, resources_.context_memory());
}

void FunctionState::tear_down() {
    queues_.reset();
    steering_.reset();
    resources_.clear();
    flow_table_roots.clear();
    roce_addresses.clear();
    multicast_groups.clear();
    rate_limits.clear();
    l2_table.clear();
    silent_mode = false;
    delay_drop_timeout = 0;
    reset_vport();
    if (phase_ == Phase::initialised) phase_ = Phase::enabled;
    account_pages();
}

void FunctionState::reset() {
    tear_down();
    phase_ = Phase::reset;
    pages_.reset();
    commands_.reset();
    restore_capabilities();
    congestion.reset();
    issi = 0;
    wake_on_lan = 0;
    reset_on_lan = 0;
    refused_commands = 0;
    commands_beyond_limits = 0;
    health_syndrome = 0;
    health_extended_syndrome = 0;
}

void FunctionState::reset_vport() {
    vport_ = Vport{};
    std::array<std::uint8_t, 6> mac = config_.base_mac;
    mac[5] = static_cast<std::uint8_t>(mac[5] + id_.value);
    vport_.permanent_mac = mac;
    const auto view = vport_.context.view();
    using Context = prm::nic_vport_context;
    view.set<Context::mtu>(1522);
    view.set<Context::system_image_guid>(config_.system_image_guid);
    view.set<Context::port_guid>(config_.node_guid + id_.value);
    view.set<Context::node_guid>(config_.node_guid + id_.value);
    std::uint64_t number = 0;
    for (const std::uint8_t byte : mac) number = (number << 8) | byte;
    const auto address = view.nested<Context::permanent_address>();
    address.set<prm::mac_address_layout::mac_addr_47_32>(number >> 32);
    address.set<prm::mac_address_layout::mac_addr_31_0>(number & 0xffffffffU);
    vport_.follow_context();
}

void Vport::follow_context() {
    using Context = prm::nic_vport_context;
    using Address = prm::mac_address_layout;
    const auto view = context.view();
    const auto own = view.nested<Context::permanent_address>();
    gate.loop_unicast = view.get<Context::disable_uc_local_lb>() == 0;
    gate.loop_multicast = view.get<Context::disable_mc_local_lb>() == 0;
    gate.stations.assign(1, std::uint64_t{own.get<Address::mac_addr_47_32>()} << 32 |
                                own.get<Address::mac_addr_31_0>());
    for (const std::array<std::uint8_t, 6>& mac : unicast_list) {
        std::uint64_t number = 0;
        for (const std::uint8_t octet : mac) number = number << 8 | octet;
        gate.stations.push_back(number);
    }
}

}  // namespace cxsim::firmware_stub
