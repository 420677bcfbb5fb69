// SPDX-License-Identifier: Apache-2.0
// MAD_IFC: management datagrams that the driver hands to the firmware's agent instead of the wire.
// On an Ethernet port the agent answers queries of subnet attributes that describe the node and its
// port, and sets the node description; anything else is refused inside the MAD, as the InfiniBand
// architecture (13.4.7) says, while the command itself succeeds.
#include <vector>

#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;

constexpr std::size_t kMadBytes = 256;
constexpr std::size_t kDataOffset = 64;
constexpr std::size_t kDataBytes = 64;

// Places in the common header.
constexpr std::size_t kBaseVersion = 0;
constexpr std::size_t kManagementClass = 1;
constexpr std::size_t kMethod = 3;
constexpr std::size_t kStatus = 4;
constexpr std::size_t kAttribute = 16;
constexpr std::size_t kModifier = 20;

enum Class : std::uint8_t { kLidRouted = 0x01, kDirectedRoute = 0x81 };
enum Method : std::uint8_t { kGet = 0x01, kSet = 0x02, kGetResponse = 0x81 };
enum Attribute : std::uint16_t {
    kNodeDescription = 0x0010,
    kNodeInfo = 0x0011,
    kGuidInfo = 0x0014,
    kPortInfo = 0x0015,
    kPkeyTable = 0x0016,
};
/// Status of a response, and the direction bit of directed-route ones.
enum MadStatus : std::uint16_t {
    kMadOk = 0,
    kBadVersion = 1U << 2,
    kMethodNotSupported = 2U << 2,
    kAttributeNotSupported = 3U << 2,
    kBadValue = 7U << 2,
    kDirection = 0x8000,
};

using Data = std::span<std::byte>;

template <class T>
void put(Data data, std::size_t offset, T value) {
    model::store_be<T>(data.data() + offset, value);
}
void put8(Data data, std::size_t offset, unsigned value) {
    data[offset] = static_cast<std::byte>(value);
}

MadStatus node_info(CommandContext& context, Data data) {
    constexpr unsigned kChannelAdapter = 1;
    constexpr std::uint32_t kMellanox = 0x0002c9;
    const auto vport = context.function.vport().context.view();
    const FirmwareConfig& config = context.firmware.config();
    put8(data, 0, 1);  // base version
    put8(data, 1, 1);  // class version
    put8(data, 2, kChannelAdapter);
    put8(data, 3, context.function.general<prm::cmd_hca_cap::num_ports>());
    put<std::uint64_t>(data, 4, vport.get<prm::nic_vport_context::system_image_guid>());
    put<std::uint64_t>(data, 12, vport.get<prm::nic_vport_context::node_guid>());
    put<std::uint64_t>(data, 20, vport.get<prm::nic_vport_context::port_guid>());
    put<std::uint16_t>(data, 28, 128);  // partition table
    put<std::uint16_t>(data, 30, config.device_id);
    put<std::uint32_t>(data, 32, 0);  // revision
    put<std::uint32_t>(data, 36, 1U << 24 | kMellanox);  // local port, vendor
    return kMadOk;
}

MadStatus port_info(CommandContext& context, std::uint32_t modifier, Data data) {
    if (modifier > context.function.general<prm::cmd_hca_cap::num_ports>()) return kBadValue;
    constexpr unsigned kDown = 1;
    constexpr unsigned kActive = 4;
    constexpr unsigned kPolling = 2;
    constexpr unsigned kDisabled = 3;
    constexpr unsigned kLinkUp = 5;
    constexpr unsigned kMtu4096 = 5;
    constexpr unsigned kWidth4x = 2;
    constexpr unsigned kOneVirtualLane = 1;
    constexpr std::uint64_t kLinkLocalPrefix = 0xfe80000000000000U;
    const Port& port = context.firmware.port();
    const bool up = port.operational();
    put<std::uint64_t>(data, 8, kLinkLocalPrefix);
    put8(data, 28, 1);  // local port
    put8(data, 29, kWidth4x);
    put8(data, 30, kWidth4x);
    put8(data, 31, kWidth4x);
    put8(data, 32, up ? kActive : kDown);
    put8(data, 33, (up ? kLinkUp : port.admin_up ? kPolling : kDisabled) << 4);
    put8(data, 36, kMtu4096 << 4);
    put8(data, 37, kOneVirtualLane << 4);
    put8(data, 41, kMtu4096);
    put8(data, 50, 1);  // one block of GUIDs
    return kMadOk;
}

MadStatus guid_info(CommandContext& context, std::uint32_t block, Data data) {
    if (block != 0) return kBadValue;
    put<std::uint64_t>(data, 0,
                       context.function.vport().context.view().get<
                           prm::nic_vport_context::port_guid>());
    return kMadOk;
}

MadStatus pkey_table(std::uint32_t modifier, Data data) {
    constexpr std::uint32_t kBlocks = 128 / 32;
    constexpr std::uint16_t kDefaultPkey = 0xffff;
    const std::uint32_t block = modifier & 0xffff;
    if (block >= kBlocks) return kBadValue;
    if (block == 0) put<std::uint16_t>(data, 0, kDefaultPkey);
    return kMadOk;
}

MadStatus answer(CommandContext& context, std::span<const std::byte> request, Data data) {
    const auto method = std::to_integer<std::uint8_t>(request[kMethod]);
    const auto attribute = model::load_be<std::uint16_t>(request.data() + kAttribute);
    const auto modifier = model::load_be<std::uint32_t>(request.data() + kModifier);
    auto& description = context.firmware.port().node_description;
    if (method == kSet) {
        if (attribute != kNodeDescription) return kAttributeNotSupported;
        std::copy_n(request.begin() + kDataOffset, kDataBytes, description.begin());
    } else if (method != kGet) {
        return kMethodNotSupported;
    }
    std::fill(data.begin(), data.end(), std::byte{0});
    switch (attribute) {
        case kNodeDescription:
            std::copy(description.begin(), description.end(), data.begin());
            return kMadOk;
        case kNodeInfo: return node_info(context, data);
        case kPortInfo: return port_info(context, modifier, data);
        case kGuidInfo: return guid_info(context, modifier, data);
        case kPkeyTable: return pkey_table(modifier, data);
        default: return kAttributeNotSupported;
    }
}

Reply mad_ifc(CommandContext& context, ConstView<prm::mad_ifc_in> in,
              View<prm::mad_ifc_out> out) {
    using In = prm::mad_ifc_in;
    const auto port = in.get<In::port>();
    if (port == 0 || port > context.function.general<prm::cmd_hca_cap::num_ports>()) {
        return refuse(Status::BAD_PARAM, "no such port");
    }
    const std::span<const std::byte> request = in.bytes<In::mad>();
    const std::span<std::byte> response = out.bytes<prm::mad_ifc_out::response_mad_packet>();
    if (request[kBaseVersion] != std::byte{1}) {
        return refuse(Status::BAD_PKT, "base version of the MAD is not 1");
    }
    std::copy_n(request.begin(), kMadBytes, response.begin());
    const auto management_class = std::to_integer<std::uint8_t>(request[kManagementClass]);
    unsigned status = kBadVersion;
    if (management_class == kLidRouted || management_class == kDirectedRoute) {
        status = answer(context, request, response.subspan(kDataOffset, kDataBytes));
    }
    if (management_class == kDirectedRoute) status |= kDirection;
    response[kMethod] = static_cast<std::byte>(kGetResponse);
    model::store_be<std::uint16_t>(response.data() + kStatus, static_cast<std::uint16_t>(status));
    return accept();
}

}  // namespace

std::vector<CommandRow> mad_commands() {
    // op_mod: ignore the management key, the baseboard key; there are none.
    return {command_row<&mad_ifc>(prm::Opcode::MAD_IFC, Cost::query).with_op_mods(0b1111)};
}

}  // namespace cxsim::firmware_stub
