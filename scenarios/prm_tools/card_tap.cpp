// SPDX-License-Identifier: Apache-2.0
#include "scenarios/prm_tools/card_tap.h"

#include <algorithm>

namespace cxsim::scenarios {

using model::DmaResult;
using model::FunctionId;
using model::HostAddress;
using model::Picoseconds;

namespace {

constexpr std::size_t kEqeBytes = 64;

}  // namespace

CardSetup CardTap::tapped(CardSetup setup) {
    setup.wrap_bus = [this](model::HostBus& endpoint) -> model::HostBus& {
        bus_ = &endpoint;
        return *this;
    };
    return setup;
}

void CardTap::attach(Card& card, model::Kernel& kernel) {
    card_ = &card;
    kernel_ = &kernel;
    card.endpoint().attach(static_cast<model::FunctionTarget&>(*this));
    card.firmware().add_observer(this);
}

void CardTap::remove(TapListener& listener) {
    std::erase(listeners_, &listener);
}

DmaResult CardTap::read(FunctionId function, Picoseconds start, HostAddress address,
                        std::span<std::byte> into) {
    const DmaResult result = bus_->read(function, start, address, into);
    for (TapListener* listener : listeners_) {
        listener->dma(function, false, start, result, address, into);
    }
    return result;
}

DmaResult CardTap::write(FunctionId function, Picoseconds start, HostAddress address,
                         std::span<const std::byte> from) {
    const DmaResult result = bus_->write(function, start, address, from);
    if (listeners_.empty()) return result;
    for (TapListener* listener : listeners_) {
        listener->dma(function, true, start, result, address, from);
    }
    if (result.ok() && from.size() == kEqeBytes) {
        recognise_event(function, result.finish, address, from);
    }
    return result;
}

// The firmware counts the producer up after it has written: the entry under way is the producer's.
void CardTap::recognise_event(FunctionId function, Picoseconds finish, HostAddress address,
                              std::span<const std::byte> from) {
    if (card_ == nullptr) return;
    card_->firmware().function(function).resources().eqs.for_each([&](const model::Eq& eq) {
        const std::uint32_t index = eq.producer & (eq.entries() - 1);
        const std::uint64_t offset = std::uint64_t{index} * kEqeBytes;
        if (offset + kEqeBytes > eq.ring.capacity() || eq.ring.address(offset) != address) return;
        for (TapListener* listener : listeners_) {
            listener->event(function, finish, eq.id.number, index, from);
        }
    });
}

Picoseconds CardTap::raise_interrupt(FunctionId function, Picoseconds start, std::uint32_t vector) {
    bool masked = false;
    if (card_ != nullptr && !listeners_.empty()) {
        pcie::MsixTable* table = card_->endpoint().function(function).msix();
        masked = table != nullptr && vector < table->vectors() && table->masked(vector);
    }
    const Picoseconds arrival = bus_->raise_interrupt(function, start, vector);
    for (TapListener* listener : listeners_) {
        listener->interrupt(function, arrival, vector, masked);
    }
    return arrival;
}

void CardTap::bar_read(FunctionId function, std::uint64_t offset, std::span<std::byte> into) {
    card_->firmware().bar_read(function, offset, into);
    for (TapListener* listener : listeners_) {
        listener->bar_read(function, kernel_->now(), offset, into);
    }
}

void CardTap::bar_write(FunctionId function, Picoseconds arrival, std::uint64_t offset,
                        std::span<const std::byte> from) {
    for (TapListener* listener : listeners_) listener->bar_write(function, arrival, offset, from);
    card_->firmware().bar_write(function, arrival, offset, from);
}

void CardTap::function_reset(FunctionId function, model::ResetKind kind) {
    card_->firmware().function_reset(function, kind);
    for (TapListener* listener : listeners_) listener->reset(function, kernel_->now(), kind);
}

void CardTap::bus_master_changed(FunctionId function, bool enabled) {
    card_->firmware().bus_master_changed(function, enabled);
}

bool CardTap::gateway_read(FunctionId function, std::uint16_t space, std::uint32_t address,
                           std::uint32_t& value) {
    return card_->firmware().gateway_read(function, space, address, value);
}

bool CardTap::gateway_write(FunctionId function, std::uint16_t space, std::uint32_t address,
                            std::uint32_t value) {
    return card_->firmware().gateway_write(function, space, address, value);
}

bool CardTap::gateway_space_supported(FunctionId function, std::uint16_t space) {
    return card_->firmware().gateway_space_supported(function, space);
}

void CardTap::command_ended(const firmware_stub::CommandReport& report) {
    const std::uint32_t others = card_->firmware().function(report.function).commands().in_flight();
    for (TapListener* listener : listeners_) listener->command_ended(report, others);
}

}  // namespace cxsim::scenarios
