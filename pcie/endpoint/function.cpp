// SPDX-License-Identifier: Apache-2.0
#include "pcie/endpoint/function.h"

#include "pcie/config_space/registers.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cxsim::pcie {

namespace {

// mstflint's name of the space behind the legacy gateway: configuration registers.
constexpr std::uint16_t kCrSpace = 2;
// What ConnectX registers return for addresses that do not exist.
constexpr std::uint32_t kBadAccess = 0xbadacce5;
constexpr std::uint32_t kPowerStateMask = 0x3;
constexpr std::uint32_t kD3hot = 0x3;

bool overlaps(std::size_t offset, std::size_t size, std::size_t reg, std::size_t bytes) {
    return offset < reg + bytes && reg < offset + size;
}

/// Byte `at` of the written range, if it is part of it.
std::optional<std::uint8_t> written_byte(std::uint16_t offset, std::span<const std::byte> from,
                                         std::size_t at) {
    if (at < offset || at >= offset + from.size()) return std::nullopt;
    return std::to_integer<std::uint8_t>(from[at - offset]);
}

}  // namespace

Function::Function(const FunctionConfig& config, model::FunctionId id)
    : config_(config),
      id_(id),
      power_(capability_offset(config, CapabilityKind::power_management)),
      vpd_at_(capability_offset(config, CapabilityKind::vital_product_data)),
      express_(capability_offset(config, CapabilityKind::pci_express)),
      msix_at_(capability_offset(config, CapabilityKind::msix)),
      gateway_at_(capability_offset(config, CapabilityKind::vendor_gateway)),
      sriov_(capability_offset(config, CapabilityKind::sriov)),
      errors_(space_, express_,
              capability_offset(config, CapabilityKind::advanced_error_reporting)) {
    build_config_space(space_, config_);
    if (msix_at_ != 0) msix_.emplace(config_.msix.vectors);
    if (vpd_at_ != 0) vpd_.emplace(config_.vpd);
    if (gateway_at_ != 0) gateway_.emplace(space_, gateway_at_, id_);
    derive();
}

void Function::attach(model::FunctionTarget* target) {
    target_ = target;
    if (gateway_) gateway_->attach(target);
}

bool Function::in_d3hot() const {
    return power_ != 0 && (space_.get(static_cast<std::uint16_t>(power_ + reg::kPmcsr), 1) &
                           kPowerStateMask) == kD3hot;
}

bool Function::memory_space() const {
    const bool enabled =
        virtual_function() || (space_.get(reg::kCommand, 2) & reg::kCommandMemory) != 0;
    return enabled && !in_d3hot();
}

bool Function::rom_enabled() const {
    return config_.rom_log2 != 0 && memory_space() && (space_.get(reg::kExpansionRom, 4) & 1) != 0;
}

bool Function::vf_enable() const {
    return sriov_ != 0 && (space_.get(static_cast<std::uint16_t>(sriov_ + reg::kSriovControl), 2) &
                           reg::kSriovVfEnable) != 0;
}

bool Function::vf_memory() const {
    return sriov_ != 0 && (space_.get(static_cast<std::uint16_t>(sriov_ + reg::kSriovControl), 2) &
                           reg::kSriovVfMemory) != 0;
}

unsigned Function::num_vfs() const {
    return sriov_ == 0 ? 0 : space_.get(static_cast<std::uint16_t>(sriov_ + reg::kSriovNumVfs), 2);
}

void Function::refuse_vf_enable() {
    const auto at = static_cast<std::uint16_t>(sriov_ + reg::kSriovControl);
    space_.set(at, 2, space_.get(at, 2) & ~reg::kSriovVfEnable);
}

std::uint64_t Function::bar0_address() const {
    const std::uint64_t low = space_.get(reg::kBar0, 4) & ~0xfu;
    return low | static_cast<std::uint64_t>(space_.get(reg::kBar0 + 4, 4)) << 32;
}

void Function::derive() {
    bus_master_ = (space_.get(reg::kCommand, 2) & reg::kCommandBusMaster) != 0 && !in_d3hot();
    if (express_ != 0) {
        const std::uint32_t control = space_.get(express(reg::kDevCtl), 2);
        // Values above what the function supports are a configuration error; it keeps to its own.
        limits_.max_payload = std::min(128u << (control >> 5 & 7), config_.express.max_payload);
        limits_.max_read_request = std::min(128u << (control >> 12 & 7), 4096u);
    }
    if (msix_) {
        const std::uint32_t control =
            space_.get(static_cast<std::uint16_t>(msix_at_ + reg::kMsixControl), 2);
        msix_->set_control((control & reg::kMsixEnable) != 0,
                           (control & reg::kMsixFunctionMask) != 0);
        msix_->set_bus_master(bus_master_);
    }
}

void Function::refresh_before_read(std::uint16_t offset, std::size_t size,
                                   bool transactions_pending) {
    if (express_ != 0 && overlaps(offset, size, express(reg::kDevSta), 2)) {
        const std::uint32_t status =
            space_.get(express(reg::kDevSta), 2) & ~reg::kDevStaTransactionsPending;
        space_.set(express(reg::kDevSta), 2,
                   status | (transactions_pending ? reg::kDevStaTransactionsPending : 0));
    }
    if (gateway_ && overlaps(offset, size, gateway_at_, VendorGateway::kBytes)) {
        if (offset >= gateway_at_) gateway_->before_read(offset - gateway_at_, size);
    }
    // The window acts on real accesses only, not on a dump of the whole space.
    if (config_.gateway && size <= 4 && overlaps(offset, size, reg::kLegacyGatewayData, 4)) {
        std::uint32_t value = kBadAccess;
        const std::uint32_t address = space_.get(reg::kLegacyGatewayAddress, 4) & ~3u;
        if (target_ == nullptr || !target_->gateway_read(id_, kCrSpace, address, value)) {
            value = kBadAccess;
        }
        space_.set(reg::kLegacyGatewayData, 4, value);
    }
}

void Function::config_read(std::uint16_t offset, std::span<std::byte> into,
                           bool transactions_pending) {
    refresh_before_read(offset, into.size(), transactions_pending);
    space_.read(offset, into);
}

void Function::vpd_written(std::uint16_t offset, std::size_t size) {
    const auto address_at = static_cast<std::uint16_t>(vpd_at_ + reg::kVpdAddress);
    const auto data_at = static_cast<std::uint16_t>(vpd_at_ + reg::kVpdData);
    // The transfer starts when the byte with the flag has been written.
    if (!overlaps(offset, size, address_at + 1u, 1)) return;
    const std::uint32_t value = space_.get(address_at, 2);
    const auto address = static_cast<std::uint16_t>(value & 0x7fff);
    const bool write = (value & 0x8000) != 0;
    if (write) {
        vpd_->write(address, space_.get(data_at, 4));
    } else {
        space_.set(data_at, 4, vpd_->read(address));
    }
    // Done at once: the flag is the opposite of what was written.
    space_.set(address_at, 2, address | (write ? 0 : 0x8000u));
}

ConfigEffects Function::config_write(std::uint16_t offset, std::span<const std::byte> from) {
    const std::size_t size = from.size();
    const bool was_master = bus_master_;
    const bool was_d3hot = in_d3hot();
    const unsigned old_payload = limits_.max_payload;
    const bool old_vf_enable = vf_enable();
    const unsigned old_num_vfs = num_vfs();
    const auto pmcsr = static_cast<std::uint16_t>(power_ + reg::kPmcsr);
    const std::uint32_t old_state = power_ != 0 ? space_.get(pmcsr, 1) & kPowerStateMask : 0;

    space_.write(offset, from);

    ConfigEffects effects;
    if (power_ != 0 && overlaps(offset, size, pmcsr, 1)) {
        // D1 and D2 do not exist here: such a write completes and the state stays.
        const std::uint32_t state = space_.get(pmcsr, 1) & kPowerStateMask;
        if (state != 0 && state != kD3hot) {
            space_.set(pmcsr, 1, (space_.get(pmcsr, 1) & ~kPowerStateMask) | old_state);
        }
        effects.power_state_reset = was_d3hot && !in_d3hot() && !config_.no_soft_reset;
    }
    if (sriov_ != 0 && old_vf_enable && num_vfs() != old_num_vfs) {
        // NumVFs may only be written while VF Enable is clear (9.3.3.7).
        space_.set(static_cast<std::uint16_t>(sriov_ + reg::kSriovNumVfs), 2, old_num_vfs);
    }
    if (vpd_) vpd_written(offset, size);
    if (gateway_ && overlaps(offset, size, gateway_at_, VendorGateway::kBytes)) {
        // Accesses of the host are aligned to their size, so they lie inside the structure.
        if (offset >= gateway_at_) gateway_->written(offset - gateway_at_, from);
    }
    if (config_.gateway && target_ != nullptr &&
        overlaps(offset, size, reg::kLegacyGatewayData, 4) && size == 4) {
        std::uint32_t value = 0;
        std::memcpy(&value, from.data(), 4);
        target_->gateway_write(id_, kCrSpace, space_.get(reg::kLegacyGatewayAddress, 4) & ~3u,
                               value);
    }
    if (express_ != 0) {
        const auto high = written_byte(offset, from, express(reg::kDevCtl) + 1u);
        effects.function_level_reset = high && (*high & (reg::kDevCtlInitiateFlr >> 8)) != 0;
    }

    derive();
    effects.bus_master_changed = bus_master_ != was_master;
    effects.payload_changed = limits_.max_payload != old_payload;
    effects.vf_enable_changed = vf_enable() != old_vf_enable;
    effects.msix_changed = effects.bus_master_changed ||
                           (msix_ && overlaps(offset, size, msix_at_ + reg::kMsixControl, 2u));
    return effects;
}

void Function::reset(ConfigReset kind) {
    space_.reset(kind);
    if (msix_) msix_->reset();
    if (gateway_) gateway_->reset();
    derive();
}

}  // namespace cxsim::pcie
