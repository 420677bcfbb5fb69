// SPDX-License-Identifier: Apache-2.0
#include "scenarios/driver/host.h"

#include "model/base/endian.h"
#include "model/prm/command.h"
#include "pcie/config_space/registers.h"

#include <fmt/format.h>

#include <array>

namespace cxsim::scenarios {

using model::Picoseconds;
using pcie::AccessSpace;

namespace {

constexpr model::FunctionId kFunction{0};
// Memory starts above zero, so that a null pointer of a driver finds nobody.
constexpr model::HostAddress kMemoryBase{0x1'0000'0000};
constexpr model::Bytes kMemorySize{std::uint64_t{64} << 30};
constexpr std::uint8_t kPciExpressCapability = 0x10;
constexpr std::uint8_t kMsixCapability = 0x11;
constexpr std::uint16_t kCapabilityPointer = 0x34;
constexpr std::uint16_t kMsixTable = 0x04;
constexpr std::uint32_t kMsixTableSizeMask = 0x7ff;
constexpr std::uint32_t kMsixBirMask = 7;
constexpr std::uint64_t kMsixEntryBytes = 16;
constexpr std::uint64_t kInterruptController = 0xfee00000;
constexpr std::uint32_t kFirstInterrupt = 0x40;
// PCI Express Base Specification 6.6.2: software waits so long after an FLR, and after any reset
// before the first access (6.6.1).
constexpr Picoseconds kResetTime = model::milliseconds(100);

}  // namespace

CommandFailed::CommandFailed(std::uint16_t opcode, prm::DeliveryStatus delivery, prm::Status status,
                             std::uint32_t syndrome)
    : DriverError(delivery != prm::DeliveryStatus::OK
                      ? fmt::format("{} was not delivered: {}", command_name(opcode),
                                    prm::delivery_status_name(delivery))
                      : fmt::format("{} was refused: {} ({:#x}), syndrome {:#x}",
                                    command_name(opcode), prm::status_name(status),
                                    static_cast<unsigned>(status), syndrome)),
      opcode_(opcode),
      delivery_(delivery),
      status_(status),
      syndrome_(syndrome) {}

std::string command_name(std::uint16_t opcode) {
    const std::string_view name = prm::opcode_name(opcode);
    return name.empty() ? fmt::format("opcode {:#x}", opcode) : std::string(name);
}

Host::Host(sc_core::sc_module_name name, model::Kernel& kernel, Card& card)
    : sc_module(name),
      kernel_(kernel),
      card_(card),
      to_card_("to_card"),
      memory_(kMemoryBase, kMemorySize),
      interrupts_(card.data().identity().msix_vectors(), 0) {
    to_card_.bind(card.endpoint().host_socket);
    card.endpoint().attach(static_cast<pcie::HostMemory&>(memory_));
    card.endpoint().attach(static_cast<pcie::InterruptSink&>(*this));
}

void Host::access(tlm::tlm_command command, AccessSpace space, std::uint64_t address,
                  std::span<std::byte> data) {
    extension_.function = kFunction;
    extension_.space = space;
    payload_.set_command(command);
    payload_.set_address(address);
    payload_.set_data_ptr(reinterpret_cast<unsigned char*>(data.data()));
    payload_.set_data_length(static_cast<unsigned>(data.size()));
    payload_.set_streaming_width(static_cast<unsigned>(data.size()));
    payload_.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    payload_.set_extension(&extension_);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    to_card_->b_transport(payload_, delay);
    payload_.clear_extension(&extension_);
    if (!payload_.is_response_ok()) {
        throw DriverError(
            fmt::format("the card does not answer {} {} of {} bytes at {:#x} ({})",
                        space == AccessSpace::config ? "the configuration" : "the BAR0",
                        command == tlm::TLM_READ_COMMAND ? "read" : "write", data.size(), address,
                        payload_.get_response_string()));
    }
    const bool posted = command == tlm::TLM_WRITE_COMMAND && space == AccessSpace::bar0;
    if (!posted) kernel_.run_for(model::from_sc_time(delay));
}

std::uint32_t Host::config_read(std::uint16_t offset, unsigned bytes) {
    std::array<std::byte, 4> data{};
    access(tlm::TLM_READ_COMMAND, AccessSpace::config, offset, std::span(data).first(bytes));
    std::uint32_t value = 0;
    for (unsigned i = bytes; i-- > 0;) {
        value = value << 8 | std::to_integer<std::uint32_t>(data[i]);
    }
    return value;
}

void Host::config_write(std::uint16_t offset, std::uint32_t value, unsigned bytes) {
    std::array<std::byte, 4> data{};
    for (unsigned i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(value >> (8 * i));
    access(tlm::TLM_WRITE_COMMAND, AccessSpace::config, offset, std::span(data).first(bytes));
}

std::uint32_t Host::mmio_read32(std::uint64_t offset) {
    std::array<std::byte, 4> data{};
    access(tlm::TLM_READ_COMMAND, AccessSpace::bar0, offset, data);
    return model::load_be<std::uint32_t>(data.data());
}

void Host::mmio_write32(std::uint64_t offset, std::uint32_t value) {
    std::array<std::byte, 4> data{};
    model::store_be<std::uint32_t>(data.data(), value);
    access(tlm::TLM_WRITE_COMMAND, AccessSpace::bar0, offset, data);
}

void Host::mmio_write(std::uint64_t offset, std::span<const std::byte> data) {
    // TLM payloads have one data pointer for both directions; a write does not change it.
    access(tlm::TLM_WRITE_COMMAND, AccessSpace::bar0, offset,
           {const_cast<std::byte*>(data.data()), data.size()});
}

std::uint16_t Host::find_capability(std::uint8_t id) {
    auto at = static_cast<std::uint16_t>(config_read(kCapabilityPointer, 1));
    for (int hops = 0; at != 0 && hops < 48; ++hops) {
        if (config_read(at, 1) == id) return at;
        at = static_cast<std::uint16_t>(config_read(static_cast<std::uint16_t>(at + 1), 1));
    }
    return 0;
}

void Host::enable() {
    const std::uint32_t command = config_read(pcie::reg::kCommand, 2);
    config_write(pcie::reg::kCommand,
                 command | pcie::reg::kCommandMemory | pcie::reg::kCommandBusMaster, 2);
    program_vectors();
}

void Host::program_vectors() {
    const std::uint16_t msix = find_capability(kMsixCapability);
    if (msix == 0) throw DriverError("the card has no MSI-X capability");
    const auto control_at = static_cast<std::uint16_t>(msix + pcie::reg::kMsixControl);
    const std::uint32_t control = config_read(control_at, 2);
    const std::uint32_t vectors = (control & kMsixTableSizeMask) + 1;
    const std::uint32_t table = config_read(static_cast<std::uint16_t>(msix + kMsixTable));
    if ((table & kMsixBirMask) != 0) throw DriverError("the MSI-X table is not in BAR0");
    interrupts_.resize(vectors);
    for (std::uint32_t vector = 0; vector < vectors; ++vector) {
        // Address, data and mask are little-endian, unlike the card's own registers.
        std::array<std::byte, kMsixEntryBytes> entry{};
        const std::uint32_t words[] = {static_cast<std::uint32_t>(kInterruptController), 0,
                                       kFirstInterrupt + vector, 0};
        for (std::size_t i = 0; i < entry.size(); ++i) {
            entry[i] = static_cast<std::byte>(words[i / 4] >> (8 * (i % 4)));
        }
        const std::uint64_t at = (table & ~kMsixBirMask) + vector * kMsixEntryBytes;
        for (std::size_t i = 0; i < entry.size(); i += 4) {
            mmio_write(at + i, std::span(entry).subspan(i, 4));
        }
    }
    config_write(control_at, control | pcie::reg::kMsixEnable, 2);
}

void Host::disable() {
    if (const std::uint16_t msix = find_capability(kMsixCapability); msix != 0) {
        const auto at = static_cast<std::uint16_t>(msix + pcie::reg::kMsixControl);
        config_write(at, config_read(at, 2) & ~pcie::reg::kMsixEnable, 2);
    }
    config_write(pcie::reg::kCommand,
                 config_read(pcie::reg::kCommand, 2) & ~pcie::reg::kCommandBusMaster, 2);
}

void Host::function_level_reset() {
    const std::uint16_t express = find_capability(kPciExpressCapability);
    if (express == 0) throw DriverError("the card has no PCI Express capability");
    const auto at = static_cast<std::uint16_t>(express + pcie::reg::kDevCtl);
    config_write(at, config_read(at, 2) | pcie::reg::kDevCtlInitiateFlr, 2);
    wait_for(kResetTime);
}

void Host::hot_reset() {
    card_.endpoint().hot_reset();
    wait_for(kResetTime);
}

void Host::interrupt(model::FunctionId, unsigned vector, const pcie::MsixMessage& message) {
    if (vector >= interrupts_.size() || message.address != kInterruptController ||
        message.data != kFirstInterrupt + vector) {
        ++wild_interrupts_;
        return;
    }
    ++interrupts_[vector];
}

}  // namespace cxsim::scenarios
