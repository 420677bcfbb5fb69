// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/registers/port.h"

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
    admin_up = true;
    reports_changes = false;
    eth_proto_admin = config.ptys.view().get<prm::ptys_reg::eth_proto_capability>();
    ext_eth_proto_admin = config.ptys.view().get<prm::ptys_reg::ext_eth_proto_capability>();
    autonegotiation_disabled = false;
    admin_mtu = kDefaultMtu;
    pause_rx = pause_tx = true;
    pfc_rx = pfc_tx = 0;
    fec_admin = prm::Buffer<prm::pplm_reg>();
    check_fcs = true;
    timestamp_over_fcs = false;
}

}  // namespace cxsim::firmware_stub
