// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/registers/port.h"

#include "firmware_stub/registers/port_modes.h"

#include <algorithm>

namespace cxsim::firmware_stub {

namespace {

constexpr std::uint32_t kDefaultMtu = 1522;  // 1500 bytes with Ethernet header, VLAN tag and FCS

void copy_group(const model::Capabilities& capabilities, std::string_view layout,
                std::span<std::byte> into) {
    const model::CapabilityImage* image = capabilities.register_group(layout, 0);
    if (image == nullptr) return;
    const auto bytes = image->bytes();
    std::copy_n(bytes.begin(), std::min(bytes.size(), into.size()), into.begin());
}

}  // namespace

PortConfig port_config(const model::Identity& identity, const model::Capabilities& capabilities) {
    PortConfig config;
    copy_group(capabilities, "ptys_reg", config.ptys.bytes());
    copy_group(capabilities, "pplm_reg", config.pplm.bytes());
    const model::CapabilityImage* mtu = capabilities.register_group("pmtu_reg", 0);
    config.max_mtu = mtu == nullptr ? kDefaultMtu : static_cast<std::uint32_t>(mtu->get("max_mtu"));
    config.lanes = identity.lanes();
    return config;
}

void Port::reset() {
    const auto capability = config.ptys.view();
    admin_up = true;
    reports_changes = false;
    eth_proto_admin = capability.get<prm::ptys_reg::eth_proto_capability>();
    ext_eth_proto_admin = capability.get<prm::ptys_reg::ext_eth_proto_capability>();
    extended_modes = ext_eth_proto_admin != 0;
    autonegotiation_disabled = false;
    admin_mtu = kDefaultMtu;
    pause_rx = pause_tx = true;
    pfc_rx = pfc_tx = 0;
    trust_dscp = false;
    for (std::size_t i = 0; i < priority_of_dscp.size(); ++i) {
        priority_of_dscp[i] = static_cast<std::uint8_t>(i >> 3);
    }
    fec_admin = prm::Buffer<prm::pplm_reg>();
    check_fcs = true;
    timestamp_over_fcs = false;
    buffers_by_software = false;
    buffers = {};
    buffer_of_priority = {};
    pause_quanta = 0xffff;
    pause_refresh = 0x7fff;
    apply();
}

void Port::apply() const {
    if (control != nullptr) control->configure(settings());
}

model::PortSettings Port::settings() const {
    model::PortSettings wanted;
    wanted.admin_up = admin_up;
    wanted.modes =
        extended_modes ? modes_of_extended(ext_eth_proto_admin) : modes_of_legacy(eth_proto_admin);
    wanted.autonegotiation = !autonegotiation_disabled;
    wanted.mtu = admin_mtu;
    wanted.pause_rx = pause_rx;
    wanted.pause_tx = pause_tx;
    wanted.pfc_rx = pfc_rx;
    wanted.pfc_tx = pfc_tx;
    wanted.trust_dscp = trust_dscp;
    wanted.priority_of_dscp = priority_of_dscp;
    wanted.fec = fec_wishes(fec_admin.view());
    wanted.check_fcs = check_fcs;
    wanted.buffers = buffers;
    wanted.buffer_of_priority = buffer_of_priority;
    wanted.pause_quanta = pause_quanta;
    wanted.pause_refresh = pause_refresh;
    if (!buffers_by_software) {
        // One buffer for all; it pauses the sender as soon as anything may.
        wanted.buffers = {};
        wanted.buffer_of_priority = {};
        wanted.buffers[0].lossy = !pause_tx && pfc_tx == 0;
        if (control != nullptr) wanted.buffers[0].size = control->receive_buffer();
    }
    return wanted;
}

model::PortStatus Port::status() const {
    return control == nullptr ? model::PortStatus{} : control->status();
}

}  // namespace cxsim::firmware_stub
