// SPDX-License-Identifier: Apache-2.0
// The table of RoCE addresses: source GID, MAC, VLAN and protocol version by index, as address
// vectors name them.
#include "firmware_stub/commands/capability.h"
#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::roce_addr_layout;
using prm::roce_cap;
using prm::Status;
using prm::View;

template <class Field>
std::uint32_t roce_capability(FunctionState& function) {
    return capability<Field>(function, prm::HcaCapType::ROCE);
}

Reply check_index(FunctionState& function, std::uint32_t index, std::uint32_t port) {
    using Cap = prm::cmd_hca_cap;
    if (function.general<Cap::roce>() == 0) {
        return refuse(Status::BAD_PARAM, "RoCE not supported");
    }
    if (index >= roce_capability<roce_cap::roce_address_table_size>(function)) {
        return refuse(Status::BAD_PARAM, "index beyond the RoCE address table");
    }
    // 0: the function's own port.
    if (port > function.general<Cap::num_ports>()) return refuse(Status::BAD_PARAM, "no such port");
    return accept();
}

bool all_zero(std::span<const std::byte> bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

// Version 0 is RoCE v1, also in the zeroed entry that deletes an address.
Reply check_address(FunctionState& function, ConstView<roce_addr_layout> address) {
    constexpr std::uint32_t kVersion2 = 2;
    const auto version = address.get<roce_addr_layout::roce_version>();
    if (version > kVersion2 ||
        ((roce_capability<roce_cap::roce_version>(function) >> version) & 1) == 0) {
        return refuse(Status::BAD_PARAM, syndrome::kRoceVersionNotSupported,
                      "RoCE version not supported");
    }
    constexpr std::uint32_t kGroupBit = 0x0100;
    if ((address.get<roce_addr_layout::source_mac_47_32>() & kGroupBit) != 0) {
        return refuse(Status::BAD_PARAM, syndrome::kRoceMulticastMac,
                      "source MAC is a multicast address");
    }
    // l3_type of the capability: bit 0 GRH, 1 IPv4, 2 IPv6; of the address: 0 IPv4, 1 IPv6.
    const auto type = address.get<roce_addr_layout::roce_l3_type>();
    if (type > 1) return refuse(Status::BAD_PARAM, "network layer not defined");
    if (version == kVersion2 &&
        ((roce_capability<roce_cap::l3_type>(function) >> (type + 1)) & 1) == 0) {
        return refuse(Status::BAD_PARAM, "network layer not supported");
    }
    return accept();
}

Reply set_roce_address(CommandContext& context, ConstView<prm::set_roce_address_in> in,
                       View<prm::set_roce_address_out>) {
    using In = prm::set_roce_address_in;
    FunctionState& function = context.function;
    const auto index = in.get<In::roce_address_index>();
    const auto address = in.nested<In::roce_address>();
    Reply check = check_index(function, index, in.get<In::vhca_port_num>());
    if (check.ok()) check = check_address(function, address);
    if (!check.ok()) return check;
    if (all_zero(address.bytes())) {
        function.roce_addresses.erase(index);
        return accept();
    }
    const std::span<std::byte> entry = function.roce_addresses[index].bytes();
    std::copy(address.bytes().begin(), address.bytes().end(), entry.begin());
    return accept();
}

Reply query_roce_address(CommandContext& context, ConstView<prm::query_roce_address_in> in,
                         View<prm::query_roce_address_out> out) {
    using In = prm::query_roce_address_in;
    FunctionState& function = context.function;
    const auto index = in.get<In::roce_address_index>();
    const Reply check = check_index(function, index, in.get<In::vhca_port_num>());
    if (!check.ok()) return check;
    const auto entry = function.roce_addresses.find(index);
    if (entry == function.roce_addresses.end()) return accept();  // not set: all zero
    const auto bytes = entry->second.bytes();
    std::copy(bytes.begin(), bytes.end(),
              out.nested<prm::query_roce_address_out::roce_address>().bytes().begin());
    return accept();
}

}  // namespace

std::vector<CommandRow> roce_commands() {
    using prm::Opcode;
    return {
        command_row<&set_roce_address>(Opcode::SET_ROCE_ADDRESS, Cost::set),
        command_row<&query_roce_address>(Opcode::QUERY_ROCE_ADDRESS, Cost::query),
    };
}

}  // namespace cxsim::firmware_stub
