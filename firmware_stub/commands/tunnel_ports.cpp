// SPDX-License-Identifier: Apache-2.0
// UDP destination ports that the parser takes for VXLAN.
#include "firmware_stub/commands/capability.h"
#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;

// The IANA port is always parsed. Drivers add it once, keep it over reloads and resets of the
// function, and delete it at the end: both are accepted at any time and change nothing.
constexpr std::uint32_t kIanaVxlanPort = 4789;
// Cards that leave max_vxlan_udp_ports at 0 take four ports; drivers count on it.
constexpr std::uint32_t kUntoldPorts = 4;

const model::VxlanUdpDport* find_port(const model::Resources& resources, std::uint32_t port) {
    const model::VxlanUdpDport* found = nullptr;
    resources.vxlan_udp_dports.for_each([&](const model::VxlanUdpDport& entry) {
        if (entry.port == port) found = &entry;
    });
    return found;
}

Reply add_port(CommandContext& context, ConstView<prm::add_vxlan_udp_dport_in> in,
               View<prm::add_vxlan_udp_dport_out>) {
    using Eth = prm::per_protocol_networking_offload_caps;
    FunctionState& function = context.function;
    model::Resources& resources = function.resources();
    const auto port = in.get<prm::add_vxlan_udp_dport_in::vxlan_udp_port>();
    if (port == 0) return refuse(Status::BAD_PARAM, "port 0");
    if (port == kIanaVxlanPort) return accept();
    if (find_port(resources, port) != nullptr) {
        return refuse(Status::BAD_PARAM, "port is in the table");
    }
    const auto told = ethernet_capability<Eth::max_vxlan_udp_ports>(function);
    if (resources.vxlan_udp_dports.size() >= (told != 0 ? told : kUntoldPorts)) {
        return table_full();
    }
    model::VxlanUdpDport* entry = resources.vxlan_udp_dports.create();
    if (entry == nullptr) return table_full();
    entry->port = static_cast<std::uint16_t>(port);
    return accept();
}

Reply delete_port(CommandContext& context, ConstView<prm::delete_vxlan_udp_dport_in> in,
                  View<prm::delete_vxlan_udp_dport_out>) {
    model::Resources& resources = context.function.resources();
    const auto port = in.get<prm::delete_vxlan_udp_dport_in::vxlan_udp_port>();
    if (port == kIanaVxlanPort) return accept();
    const model::VxlanUdpDport* entry = find_port(resources, port);
    if (entry == nullptr) return no_such_object();
    resources.destroy(entry->id);
    return accept();
}

}  // namespace

std::vector<CommandRow> tunnel_port_commands() {
    using prm::Opcode;
    return {
        command_row<&add_port>(Opcode::ADD_VXLAN_UDP_DPORT, Cost::set),
        command_row<&delete_port>(Opcode::DELETE_VXLAN_UDP_DPORT, Cost::set),
    };
}

}  // namespace cxsim::firmware_stub
