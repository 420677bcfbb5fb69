// SPDX-License-Identifier: Apache-2.0
// Listens at a card's two waists, towards the host and towards the firmware, without changing what
// passes: for recordings, traces and statistics.
#pragma once

#include "firmware_stub/boot/firmware.h"
#include "model/ports/host_bus.h"
#include "scenarios/testbed/card.h"

#include <cstdint>
#include <span>
#include <vector>

namespace cxsim::scenarios {

/// What passes. All methods are called in the order in which the card acts; none may touch the
/// card. Spans live during the call.
class TapListener {
  public:
    virtual ~TapListener() = default;

    virtual void bar_read(model::FunctionId, model::Picoseconds, std::uint64_t /*offset*/,
                          std::span<const std::byte>) {}
    /// Before the firmware sees it.
    virtual void bar_write(model::FunctionId, model::Picoseconds /*arrival*/,
                           std::uint64_t /*offset*/, std::span<const std::byte>) {}
    virtual void dma(model::FunctionId, bool /*write*/, model::Picoseconds /*start*/,
                     const model::DmaResult&, model::HostAddress, std::span<const std::byte>) {}
    /// An EQE written to event queue `eqn`; it is a DMA write as well.
    virtual void event(model::FunctionId, model::Picoseconds /*finish*/, std::uint32_t /*eqn*/,
                       std::uint32_t /*index*/, std::span<const std::byte> /*eqe*/) {}
    virtual void interrupt(model::FunctionId, model::Picoseconds /*arrival*/,
                           std::uint32_t /*vector*/, bool /*masked*/) {}
    virtual void reset(model::FunctionId, model::Picoseconds, model::ResetKind) {}
    /// `others`: commands that the function is still working on.
    virtual void command_ended(const firmware_stub::CommandReport&, std::uint32_t /*others*/) {}
};

/// Make it before the card, hand `bus()` to CardSetup::wrap_bus, then attach() the card.
class CardTap : public model::HostBus,
                public model::FunctionTarget,
                public firmware_stub::CommandObserver {
  public:
    CardTap() = default;
    CardTap(const CardTap&) = delete;
    CardTap& operator=(const CardTap&) = delete;

    /// Fills in CardSetup::wrap_bus.
    CardSetup tapped(CardSetup setup);
    /// Takes the firmware's place behind the endpoint. The card outlives the tap's use.
    void attach(Card& card, model::Kernel& kernel);

    void add(TapListener& listener) { listeners_.push_back(&listener); }
    void remove(TapListener& listener);

    // model::HostBus
    model::DmaResult read(model::FunctionId function, model::Picoseconds start,
                          model::HostAddress address, std::span<std::byte> into) override;
    model::DmaResult write(model::FunctionId function, model::Picoseconds start,
                           model::HostAddress address, std::span<const std::byte> from) override;
    model::Picoseconds raise_interrupt(model::FunctionId function, model::Picoseconds start,
                                       std::uint32_t vector) override;

    // model::FunctionTarget
    void bar_read(model::FunctionId function, std::uint64_t offset,
                  std::span<std::byte> into) override;
    void bar_write(model::FunctionId function, model::Picoseconds arrival, std::uint64_t offset,
                   std::span<const std::byte> from) override;
    void function_reset(model::FunctionId function, model::ResetKind kind) override;
    void bus_master_changed(model::FunctionId function, bool enabled) override;
    bool gateway_read(model::FunctionId function, std::uint16_t space, std::uint32_t address,
                      std::uint32_t& value) override;
    bool gateway_write(model::FunctionId function, std::uint16_t space, std::uint32_t address,
                       std::uint32_t value) override;
    bool gateway_space_supported(model::FunctionId function, std::uint16_t space) override;

    // firmware_stub::CommandObserver
    void command_ended(const firmware_stub::CommandReport& report) override;

  private:
    void recognise_event(model::FunctionId function, model::Picoseconds finish,
                         model::HostAddress address, std::span<const std::byte> from);

    model::HostBus* bus_ = nullptr;
    Card* card_ = nullptr;
    model::Kernel* kernel_ = nullptr;
    std::vector<TapListener*> listeners_;
};

}  // namespace cxsim::scenarios
