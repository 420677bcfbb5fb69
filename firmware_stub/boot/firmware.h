// SPDX-License-Identifier: Apache-2.0
// The firmware of one card: what stands behind BAR0 of its functions.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "firmware_stub/boot/config.h"
#include "firmware_stub/boot/function_state.h"
#include "firmware_stub/boot/init_segment.h"
#include "model/ports/host_bus.h"
#include "model/ports/port_control.h"

namespace cxsim::firmware_stub {

/// A command that has ended, for traces, recordings and statistics.
struct CommandReport {
    model::FunctionId function;
    std::uint32_t slot;
    model::Picoseconds doorbell;
    model::Picoseconds finish;
    std::span<const std::byte> input;
    std::span<const std::byte> output;
    DeliveryStatus delivery;
    Reply reply;
};

class CommandObserver {
  public:
    virtual ~CommandObserver() = default;
    virtual void command_ended(const CommandReport& report) = 0;
};

class Firmware : public model::FunctionTarget, private model::PortListener {
  public:
    /// `config` and what it points to outlive the firmware. `host` carries its DMA.
    Firmware(const FirmwareConfig& config, model::HostBus& host, model::Calendar& calendar,
             std::uint16_t functions = 1);
    ~Firmware() override;

    const FirmwareConfig& config() const { return config_; }
    FunctionState& function(model::FunctionId id);
    InitSegment& init_segment(model::FunctionId id);
    std::uint16_t functions() const { return static_cast<std::uint16_t>(units_.size()); }
    Port& port() { return port_; }
    /// Gives the firmware its port, which must outlive it; the port gets its settings at once.
    /// Without this there is none: no cable, no counters.
    void attach_port(model::PortControl& control);
    model::Calendar& calendar() { return calendar_; }

    void add_observer(CommandObserver* observer) { observers_.push_back(observer); }

    /// The firmware of a function dies: health buffer filled, counter stopped, commands dead until
    /// reset. `syndrome` as in the PRM's health syndromes.
    void raise_internal_error(model::FunctionId id, std::uint8_t syndrome,
                              std::uint16_t extended_syndrome);

    /// PAOS: the port is switched; functions hear of a change of its operational state.
    void set_port_admin(bool up);

    /// Firmware update by reset (MFRL): negotiated with the driver by GENERAL_EVENTs, carried out
    /// when the driver has disabled its interface.
    enum class UpdateReset : std::uint8_t { idle, negotiating, now };
    UpdateReset update_reset() const { return update_reset_; }
    /// False if one is under way already.
    bool start_update_reset();
    /// The driver's answer to the request.
    void answer_update_reset(bool agreed);

    /// Sends a PAGE_REQUEST event if a function's pages ran low or over.
    void balance_pages(FunctionState& function);

    struct Counters {
        std::uint64_t accepted = 0;
        std::uint64_t refused = 0;       ///< with a status other than OK
        std::uint64_t unimplemented = 0; ///< of those: known commands that are not modelled
        std::uint64_t bar_accesses_ignored = 0;
    };
    const Counters& counters() const { return counters_; }

    /// What happened per opcode.
    struct OpcodeStatistics {
        std::uint64_t count = 0;
        std::uint64_t refused = 0;
        model::Picoseconds total;  ///< doorbell to completion
        model::Picoseconds longest;
    };
    const std::map<std::uint16_t, OpcodeStatistics>& opcode_statistics() const {
        return statistics_;
    }

    // FunctionTarget
    void bar_read(model::FunctionId id, std::uint64_t offset, std::span<std::byte> into) override;
    void bar_write(model::FunctionId id, model::Picoseconds arrival, std::uint64_t offset,
                   std::span<const std::byte> from) override;
    void function_reset(model::FunctionId id, model::ResetKind kind) override;
    void bus_master_changed(model::FunctionId id, bool enabled) override;
    bool gateway_read(model::FunctionId id, std::uint16_t space, std::uint32_t address,
                      std::uint32_t& value) override;
    bool gateway_write(model::FunctionId id, std::uint16_t space, std::uint32_t address,
                       std::uint32_t value) override;
    bool gateway_space_supported(model::FunctionId id, std::uint16_t space) override;

  private:
    class Unit;

    void link_changed(bool up) override;
    void describe_node();
    void interface_disabled();
    void restart();
    void send_sync_event(prm::SyncResetState state);
    void finish(FunctionState& function, const Command& command, DeliveryStatus delivery,
                const Reply& reply);

    const FirmwareConfig& config_;
    model::Calendar& calendar_;
    Port port_;
    std::vector<std::unique_ptr<Unit>> units_;
    std::vector<CommandObserver*> observers_;
    Counters counters_;
    UpdateReset update_reset_ = UpdateReset::idle;
    std::map<std::uint16_t, OpcodeStatistics> statistics_;
};

}  // namespace cxsim::firmware_stub
