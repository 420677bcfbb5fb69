// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/boot/firmware.h"

#include "firmware_stub/boot/text.h"

#include <algorithm>

#include "model/base/assert.h"
#include "model/base/endian.h"

namespace cxsim::firmware_stub {

using model::FunctionId;
using model::Picoseconds;

namespace {

constexpr std::uint64_t kUarPageBytes = 4096;
// Health syndromes (health_buffer.synd).
constexpr std::uint8_t kAsyncEqOverrun = 0xc;
constexpr std::uint8_t kEqError = 0xd;

}  // namespace

/// One function with its command interface.
class Firmware::Unit : public CommandExecutor, public model::QueueListener {
  public:
    Unit(Firmware& firmware, FunctionId id, model::HostBus& host)
        : firmware_(firmware),
          state(id, firmware.config_, host, firmware.calendar_, *this),
          segment(firmware.config_, state, firmware.calendar_) {
        segment.on_disabled([&firmware] { firmware.interface_disabled(); });
        segment.on_software_reset([&firmware] { firmware.restart(); });
        state.queues().set_listener(this);
    }

    void accepted(Command& command) override {
        replies_[command.slot] = {};  // a reset may have cut off the slot's last command
        state.resources().eqs.for_each([&](const model::Eq& eq) {
            command.reports_by_event |= eq.takes(static_cast<std::uint8_t>(prm::EventType::CMD));
        });
    }

    Picoseconds latency(const Command& command) override {
        return command_latency(firmware_.config_.command_timing, command.input);
    }

    void execute(Command& command) override {
        CommandContext context{firmware_, state, firmware_.calendar_.now()};
        replies_[command.slot] = run_command(context, command.input, command.output);
        state.account_pages();
        firmware_.balance_pages(state);
    }

    void completed(const Command& command, DeliveryStatus status) override {
        firmware_.finish(state, command, status, replies_[command.slot]);
        if (!command.reports_by_event) return;
        std::array<std::byte, 28> data{};
        model::store_be<std::uint32_t>(data.data(), 1U << command.slot);
        state.queues().post_event(firmware_.calendar_.now(), prm::EventType::CMD, 0, data);
    }

    // The driver has lost events: nothing that it does from here on can be right.
    void eq_overrun(const model::Eq& eq, Picoseconds) override {
        const bool asynchronous = eq.event_bitmask != decltype(eq.event_bitmask){};
        firmware_.raise_internal_error(state.id(), asynchronous ? kAsyncEqOverrun : kEqError, 0);
    }
    void cq_error(const model::Cq&, std::uint8_t, Picoseconds) override {}  // its event is enough

  private:
    Firmware& firmware_;
    std::array<Reply, CommandQueue::kSlots> replies_{};

  public:
    FunctionState state;
    InitSegment segment;
};

Firmware::Firmware(const FirmwareConfig& config, model::HostBus& host, model::Calendar& calendar,
                   std::uint16_t functions)
    : config_(config), calendar_(calendar), port_(config.port) {
    CX_ASSERT(config.capabilities != nullptr && functions > 0, "a card needs data and a function");
    describe_node();
    for (std::uint16_t i = 0; i < functions; ++i) {
        units_.push_back(std::make_unique<Unit>(*this, FunctionId{i}, host));
    }
}

Firmware::~Firmware() {
    if (port_.control != nullptr) port_.control->set_listener(nullptr);
}

FunctionState& Firmware::function(FunctionId id) {
    return units_.at(id.value)->state;
}

InitSegment& Firmware::init_segment(FunctionId id) {
    return units_.at(id.value)->segment;
}

void Firmware::describe_node() {
    copy_text(config_.node_description, port_.node_description);
}

void Firmware::finish(FunctionState& function, const Command& command, DeliveryStatus delivery,
                      const Reply& reply) {
    if (delivery == DeliveryStatus::OK && command.input.size() >= 2) {
        const auto opcode = model::load_be<std::uint16_t>(command.input.data());
        OpcodeStatistics& entry = statistics_[opcode];
        const Picoseconds took = calendar_.now() - command.doorbell;
        ++entry.count;
        entry.total += took;
        entry.longest = std::max(entry.longest, took);
        if (reply.ok()) {
            ++counters_.accepted;
        } else {
            ++counters_.refused;
            ++entry.refused;
            if (find_command(opcode) == nullptr) ++counters_.unimplemented;
        }
    }
    const CommandReport report{function.id(),  command.slot,   command.doorbell, calendar_.now(),
                               command.input,  command.output, delivery,         reply};
    for (CommandObserver* observer : observers_) observer->command_ended(report);
}

void Firmware::balance_pages(FunctionState& function) {
    if (function.phase() != Phase::initialised) return;
    const std::int32_t wanted = function.pages().wanted();
    if (wanted == 0) return;
    prm::Buffer<prm::pages_req_event> event;  // num_pages is signed
    event.view().set<prm::pages_req_event::num_pages>(static_cast<std::uint32_t>(wanted));
    if (function.queues().post_event(calendar_.now(), prm::EventType::PAGE_REQUEST, 0,
                                     event.bytes()) > 0) {
        function.pages().asked();
    }
}

void Firmware::attach_port(model::PortControl& control) {
    CX_ASSERT(port_.control == nullptr, "a card has one port");
    port_.control = &control;
    control.set_listener(this);
    port_.apply();
}

void Firmware::set_port_admin(bool up) {
    port_.admin_up = up;
    port_.apply();
}

void Firmware::link_changed(bool up) {
    prm::Buffer<prm::port_state_change_event> event;
    event.view().set<prm::port_state_change_event::port_num>(1U);
    const auto subtype = up ? prm::PortChangeSubtype::ACTIVE : prm::PortChangeSubtype::DOWN;
    for (auto& unit : units_) {
        unit->state.queues().post_event(calendar_.now(), prm::EventType::PORT_CHANGE,
                                        static_cast<std::uint8_t>(subtype), event.bytes());
    }
}

void Firmware::send_sync_event(prm::SyncResetState state) {
    prm::Buffer<prm::general_event> event;
    event.view().set<prm::general_event::sync_rst_state>(state);
    for (auto& unit : units_) {
        unit->state.queues().post_event(
            calendar_.now(), prm::EventType::GENERAL_EVENT,
            static_cast<std::uint8_t>(prm::GeneralSubtype::PCI_SYNC_FOR_FW_UPDATE_EVENT),
            event.bytes());
    }
}

bool Firmware::start_update_reset() {
    if (update_reset_ != UpdateReset::idle) return false;
    update_reset_ = UpdateReset::negotiating;
    send_sync_event(prm::SyncResetState::RESET_REQUEST);
    return true;
}

void Firmware::answer_update_reset(bool agreed) {
    if (update_reset_ != UpdateReset::negotiating) return;
    update_reset_ = agreed ? UpdateReset::now : UpdateReset::idle;
    send_sync_event(agreed ? prm::SyncResetState::RESET_NOW : prm::SyncResetState::RESET_ABORT);
}

// The last thing a driver does before an agreed reset: now the firmware may restart.
void Firmware::interface_disabled() {
    if (update_reset_ == UpdateReset::now) restart();
}

void Firmware::restart() {
    update_reset_ = UpdateReset::idle;
    for (auto& unit : units_) {
        unit->state.reset();
        unit->segment.reboot();
    }
    port_.reset();
    describe_node();
}

void Firmware::raise_internal_error(FunctionId id, std::uint8_t syndrome,
                                    std::uint16_t extended_syndrome) {
    FunctionState& state = function(id);
    if (state.health_syndrome != 0) return;
    state.health_syndrome = syndrome;
    state.health_extended_syndrome = extended_syndrome;
    state.died_at = calendar_.now();
    state.commands().reset();
}

void Firmware::bar_read(FunctionId id, std::uint64_t offset, std::span<std::byte> into) {
    Unit& unit = *units_.at(id.value);
    if (offset + into.size() <= InitSegment::kBytes) {
        unit.segment.read(offset, into);
        return;
    }
    std::fill(into.begin(), into.end(), std::byte{0});  // UAR pages and the rest are write-only
    ++counters_.bar_accesses_ignored;
}

void Firmware::bar_write(FunctionId id, Picoseconds arrival, std::uint64_t offset,
                         std::span<const std::byte> from) {
    Unit& unit = *units_.at(id.value);
    if (offset + from.size() <= InitSegment::kBytes) {
        unit.segment.write(arrival, offset, from);
        return;
    }
    if (offset < InitSegment::kBytes || unit.state.health_syndrome != 0) {
        ++counters_.bar_accesses_ignored;
        return;
    }
    unit.state.queues().uar_write(arrival, offset / kUarPageBytes,
                                  static_cast<std::uint32_t>(offset % kUarPageBytes), from);
}

void Firmware::function_reset(FunctionId id, model::ResetKind kind) {
    if (kind == model::ResetKind::conventional) {
        for (auto& unit : units_) {
            unit->state.reset();
            unit->segment.reset();
        }
        port_.reset();
        describe_node();
        update_reset_ = UpdateReset::idle;
        return;
    }
    Unit& unit = *units_.at(id.value);
    unit.state.reset();
    unit.segment.reset();
}

void Firmware::bus_master_changed(FunctionId id, bool enabled) {
    if (enabled) units_.at(id.value)->state.queues().bus_master_enabled();
}

bool Firmware::gateway_read(FunctionId, std::uint16_t, std::uint32_t, std::uint32_t&) {
    return false;
}

bool Firmware::gateway_write(FunctionId, std::uint16_t, std::uint32_t, std::uint32_t) {
    return false;
}

bool Firmware::gateway_space_supported(FunctionId, std::uint16_t) {
    return false;
}

}  // namespace cxsim::firmware_stub
