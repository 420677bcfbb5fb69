// SPDX-License-Identifier: Apache-2.0
// Registers of the device as a whole: host endianness, timeouts, firmware components and version,
// reset on update, node description, module access.
#include <algorithm>
#include <vector>

#include "firmware_stub/boot/text.h"
#include "firmware_stub/registers/register_table.h"

namespace cxsim::firmware_stub {
namespace {

using prm::RegisterId;
using prm::Status;
using prm::View;

// ---- HOST_ENDIANNESS: little-endian hosts only

Reply read_host_endianness(CommandContext&, View<prm::register_host_endianness> reg) {
    reg.set<prm::register_host_endianness::he>(0);
    return accept();
}

Reply write_host_endianness(CommandContext&, View<prm::register_host_endianness> reg) {
    if (reg.get<prm::register_host_endianness::he>() != 0) {
        return refuse(Status::BAD_PARAM, "big-endian hosts are not supported");
    }
    return accept();
}

// ---- DTOR: 0 in a field leaves the driver's own default

Reply read_dtor(CommandContext&, View<prm::dtor_reg> reg) {
    reg.clear();
    return accept();
}

// ---- MCQS, MCQI: firmware components. One: the boot image.

constexpr std::uint32_t kBootImageIndex = 0;
constexpr std::uint16_t kBootImageIdentifier = 0x1;

Reply read_mcqs(CommandContext&, View<prm::mcqs_reg> reg) {
    if (reg.get<prm::mcqs_reg::component_index>() != kBootImageIndex) {
        return refuse(Status::BAD_PARAM, "no such component");
    }
    reg.clear();
    reg.set<prm::mcqs_reg::last_index_flag>(1);
    reg.set<prm::mcqs_reg::identifier>(kBootImageIdentifier);
    return accept();  // idle, nothing pending
}

Reply read_mcqi(CommandContext& context, View<prm::mcqi_reg> reg) {
    enum InfoType : std::uint32_t { kCapabilities = 0, kVersion = 1 };
    using Reg = prm::mcqi_reg;
    if (reg.get<Reg::component_index>() != kBootImageIndex) {
        return refuse(Status::BAD_PARAM, "no such component");
    }
    const FirmwareConfig& config = context.firmware.config();
    const std::span<std::byte> data = reg.bytes().subspan(Reg::kBytes);
    if (reg.get<Reg::read_pending_component>() != 0) {
        return refuse(Status::BAD_RES, "no image is pending");
    }
    std::fill(data.begin(), data.end(), std::byte{0});
    std::vector<std::byte> info;
    switch (reg.get<Reg::info_type>()) {
        case kVersion: {
            prm::Buffer<prm::mcqi_version> version;
            const auto view = version.view();
            view.set<prm::mcqi_version::version>((std::uint32_t{config.firmware_major} << 24) |
                                                 (std::uint32_t{config.firmware_minor} << 16) |
                                                 config.firmware_subminor);
            info.assign(version.bytes().begin(), version.bytes().end());
            break;
        }
        case kCapabilities: {
            prm::Buffer<prm::mcqi_cap> capabilities;
            const auto view = capabilities.view();
            view.set<prm::mcqi_cap::supported_info_bitmask>(0b11);
            info.assign(capabilities.bytes().begin(), capabilities.bytes().end());
            break;
        }
        default: return refuse(Status::BAD_PARAM, "info_type not supported");
    }
    const auto offset = reg.get<Reg::offset>();
    const auto size = reg.get<Reg::data_size>();
    if (offset > info.size() || size > data.size()) {
        return refuse(Status::BAD_PARAM, "data_size or offset beyond the information");
    }
    const std::size_t part = std::min<std::size_t>(size, info.size() - offset);
    std::copy_n(info.begin() + static_cast<std::ptrdiff_t>(offset), part, data.begin());
    reg.set<Reg::info_size>(info.size());
    return accept();
}

// ---- MFRL: reset to activate firmware. The image that comes up again is the one that ran.

constexpr std::uint32_t kLevelPciReset = 1U << 3;
constexpr std::uint32_t kLevelPowerCycle = 1U << 6;
constexpr std::uint32_t kTypeFullChip = 1U << 0;

bool has_mfrl(const FirmwareConfig& config) {
    const model::CapabilityImage* mcam = config.capabilities->register_group("mcam_reg", 0);
    return mcam != nullptr && mcam->get("mng_access_reg_cap_mask.access_regs.mfrl") != 0;
}

Reply read_mfrl(CommandContext& context, View<prm::mfrl_reg> reg) {
    if (!has_mfrl(context.firmware.config())) {
        return refuse(Status::BAD_PARAM, syndrome::kRegisterUnknown, "register not known");
    }
    reg.clear();
    reg.set<prm::mfrl_reg::reset_level>(kLevelPciReset | kLevelPowerCycle);
    reg.set<prm::mfrl_reg::reset_type>(kTypeFullChip);
    return accept();
}

Reply write_mfrl(CommandContext& context, View<prm::mfrl_reg> reg) {
    enum Response : std::uint32_t { kNone = 0, kAcknowledge = 1, kRefuse = 2 };
    Firmware& firmware = context.firmware;
    if (!has_mfrl(firmware.config())) {
        return refuse(Status::BAD_PARAM, syndrome::kRegisterUnknown, "register not known");
    }
    if (reg.get<prm::mfrl_reg::reset_level>() != kLevelPciReset) {
        return refuse(Status::BAD_PARAM, "reset_level not supported");
    }
    if (reg.get<prm::mfrl_reg::rst_type_sel>() != 0) {
        return refuse(Status::BAD_PARAM, "reset type not supported");
    }
    if (reg.get<prm::mfrl_reg::pci_sync_for_fw_update_start>() != 0) {
        if (!firmware.start_update_reset()) {
            return refuse(Status::BAD_SYS_STATE, syndrome::kRegisterSystemState,
                          "a reset is under way");
        }
        return accept();
    }
    const auto response = reg.get<prm::mfrl_reg::pci_sync_for_fw_update_resp>();
    if (response != kAcknowledge && response != kRefuse) {
        return refuse(Status::BAD_PARAM, "neither a start nor an answer");
    }
    if (firmware.update_reset() != Firmware::UpdateReset::negotiating) {
        return refuse(Status::BAD_SYS_STATE, syndrome::kRegisterSystemState,
                      "no reset was asked for");
    }
    firmware.answer_update_reset(response == kAcknowledge);
    return accept();
}

// ---- NODE_DESC

Reply read_node_description(CommandContext& context, View<prm::set_node_in> reg) {
    const auto& text = context.firmware.port().node_description;
    std::copy(text.begin(), text.end(), reg.bytes().begin());
    return accept();
}

Reply write_node_description(CommandContext& context, View<prm::set_node_in> reg) {
    auto& text = context.firmware.port().node_description;
    std::copy_n(reg.bytes().begin(), text.size(), text.begin());
    return accept();
}

// ---- MCIA: module EEPROM. Trouble is reported inside the register; the command succeeds.

Reply read_mcia(CommandContext& context, View<prm::mcia_reg> reg) {
    constexpr std::uint32_t kNoEepromModule = 1;
    constexpr std::uint32_t kModuleNotConnected = 3;
    const Port& port = context.firmware.port();
    const bool known = reg.get<prm::mcia_reg::module>() == port.config.module;
    // The cables of a simulation have no EEPROM.
    const bool empty = known && !port.status().cable_present;
    reg.set<prm::mcia_reg::status>(empty ? kModuleNotConnected : kNoEepromModule);
    const auto data = reg.bytes<prm::mcia_reg::dwords>();
    std::fill(data.begin(), data.end(), std::byte{0});
    return accept();
}

// ---- MGIR: identity for tools

Reply read_mgir(CommandContext& context, View<prm::mgir_reg> reg) {
    const FirmwareConfig& config = context.firmware.config();
    reg.clear();
    const auto hardware = reg.nested<prm::mgir_reg::hw_info>();
    hardware.set<prm::mgir_hardware_info::device_id>(config.device_id);
    hardware.set<prm::mgir_hardware_info::num_ports>(1);
    hardware.set<prm::mgir_hardware_info::hw_dev_id>(config.hw_id);
    const auto firmware = reg.nested<prm::mgir_reg::fw_info>();
    using Info = prm::mgir_fw_info;
    firmware.set<Info::extended_major>(config.firmware_major);
    firmware.set<Info::extended_minor>(config.firmware_minor);
    firmware.set<Info::extended_sub_minor>(config.firmware_subminor);
    copy_text(config.psid, firmware.bytes<Info::psid>());
    return accept();
}

}  // namespace

std::vector<RegisterRow> management_registers() {
    return {
        register_row<&read_host_endianness, &write_host_endianness>(RegisterId::HOST_ENDIANNESS),
        register_row<&read_dtor>(RegisterId::DTOR),
        register_row<&read_mcqs>(RegisterId::MCQS),
        register_row<&read_mcqi>(RegisterId::MCQI),
        register_row<&read_mfrl, &write_mfrl>(RegisterId::MFRL),
        register_row<&read_node_description, &write_node_description>(RegisterId::NODE_DESC),
        register_row<&read_mcia>(RegisterId::MCIA),
        register_row<&read_mgir>(RegisterId::MGIR),
    };
}

}  // namespace cxsim::firmware_stub
