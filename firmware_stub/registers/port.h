// SPDX-License-Identifier: Apache-2.0
// The state of one port as the port registers show and change it. No MAC is attached yet: a port
// without a cable, whose counters have nothing to count.
#pragma once

#include <array>
#include <cstdint>

namespace cxsim::firmware_stub {

/// From the card's data.
struct PortConfig {
    std::uint32_t eth_proto_capability = 0;      ///< PTYS, legacy mask
    std::uint32_t ext_eth_proto_capability = 0;  ///< PTYS, extended mask; 0: not supported
    std::uint32_t max_mtu = 10240;               ///< PMTU max_mtu, hardware MTU
    std::uint32_t fec_capability = 0;            ///< PPLM override caps, by speed class
    std::uint32_t module = 0;                    ///< number of the cage (PMLP)
    std::uint32_t lanes = 4;
};

/// Administrative state is kept over link changes, as the register writes left it.
struct Port {
    explicit Port(const PortConfig& configuration) : config(configuration) { reset(); }

    void reset() {
        admin_up = true;
        eth_proto_admin = config.eth_proto_capability;
        ext_eth_proto_admin = config.ext_eth_proto_capability;
        admin_mtu = 1522;
        event_enabled = false;
        pause_rx = pause_tx = true;
        pfc_rx = pfc_tx = 0;
        an_disable = false;
        fcs_check = true;
        trust_dscp = false;
        beacon_seconds = 0;
    }

    PortConfig config;
    bool admin_up = true;
    bool cable_present = false;
    bool event_enabled = false;    ///< PAOS.e: report state changes
    bool operational() const { return admin_up && cable_present; }
    std::uint32_t eth_proto_admin = 0;
    std::uint32_t ext_eth_proto_admin = 0;
    std::uint32_t admin_mtu = 1522;
    bool pause_rx = true;
    bool pause_tx = true;
    std::uint8_t pfc_rx = 0;       ///< a bit for each priority
    std::uint8_t pfc_tx = 0;
    bool an_disable = false;
    bool fcs_check = true;
    bool trust_dscp = false;
    std::uint16_t beacon_seconds = 0;
};

}  // namespace cxsim::firmware_stub
