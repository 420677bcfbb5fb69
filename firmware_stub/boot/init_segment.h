// SPDX-License-Identifier: Apache-2.0
// The initialization segment at the start of BAR0: firmware revision, command queue address and
// doorbell, health buffer and counter, timers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "firmware_stub/boot/config.h"
#include "firmware_stub/boot/function_state.h"

namespace cxsim::firmware_stub {

class InitSegment {
  public:
    /// Bytes of BAR0 that it covers: what the driver maps as mlx5_init_seg starts with two pages.
    static constexpr std::uint64_t kBytes = 0x2000;

    /// nic_interface values that the driver writes and reads (MLX5_NIC_IFC_*).
    static constexpr std::uint32_t kNicFull = 0;
    static constexpr std::uint32_t kNicDisabled = 1;
    static constexpr std::uint32_t kNicSoftwareReset = 7;

    InitSegment(const FirmwareConfig& config, FunctionState& function, model::Calendar& calendar)
        : config_(config), function_(function), calendar_(calendar) {
        reset();
    }

    void read(std::uint64_t offset, std::span<std::byte> into) const;
    void write(model::Picoseconds arrival, std::uint64_t offset, std::span<const std::byte> from);

    /// Called when the driver has disabled the interface (nic_interface), after the teardown.
    void on_disabled(std::function<void()> callback) { disabled_ = std::move(callback); }

    /// Called when the driver asks dead firmware to restart (nic_interface SW_RESET).
    void on_software_reset(std::function<void()> callback) { software_reset_ = std::move(callback); }

    /// The firmware restarts by itself: as reset(), but the driver's nic_interface stays.
    void reboot();
    /// The firmware boots from here: initializing until its initialisation time is over.
    void reset();
    bool initializing(model::Picoseconds at) const { return at < ready_at_; }

    /// Free-running clock in cycles of the device's frequency.
    std::uint64_t internal_timer(model::Picoseconds at) const;
    std::uint32_t health_counter(model::Picoseconds at) const;

  private:
    std::uint32_t read_dword(std::uint64_t offset) const;
    std::uint32_t read_health(std::uint64_t offset) const;
    void write_dword(model::Picoseconds arrival, std::uint64_t offset, std::uint32_t value);

    const FirmwareConfig& config_;
    FunctionState& function_;
    model::Calendar& calendar_;
    model::Picoseconds booted_at_;
    model::Picoseconds ready_at_;
    std::uint32_t queue_address_high_ = 0;
    std::uint32_t queue_address_low_ = 0;  ///< bits 31:12 of the address
    std::uint32_t nic_interface_ = kNicFull;
    std::function<void()> disabled_;
    std::function<void()> software_reset_;
};

}  // namespace cxsim::firmware_stub
