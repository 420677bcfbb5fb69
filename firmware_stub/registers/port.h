// SPDX-License-Identifier: Apache-2.0
// The state of one port as the port registers show and change it. No MAC is attached yet: a port
// without a cable, whose counters have nothing to count.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/params/capabilities.h"
#include "model/params/identity.h"
#include "model/prm/view.h"
#include "prm/layouts.h"

namespace cxsim::firmware_stub {

/// From the card's data.
struct PortConfig {
    prm::Buffer<prm::ptys_reg> ptys;    ///< capabilities only
    prm::Buffer<prm::pplm_reg> pplm;    ///< capabilities only
    std::uint32_t max_mtu = 0;          ///< PMTU max_mtu: the frame as the hardware counts it
    std::uint32_t module = 0;           ///< number of the cage (PMLP)
    std::uint32_t lanes = 4;
};

PortConfig port_config(const model::Identity& identity, const model::Capabilities& capabilities);

/// Administrative state is kept over link changes, as the register writes left it.
struct Port {
    explicit Port(const PortConfig& configuration) : config(configuration) { reset(); }

    void reset();
    bool operational() const { return admin_up && cable_present; }

    PortConfig config;
    bool admin_up = true;
    bool cable_present = false;
    bool reports_changes = false;  ///< PAOS.e
    std::uint32_t eth_proto_admin = 0;
    std::uint32_t ext_eth_proto_admin = 0;
    bool autonegotiation_disabled = false;
    std::uint32_t admin_mtu = 0;
    bool pause_rx = true;
    bool pause_tx = true;
    std::uint8_t pfc_rx = 0;  ///< a bit for each priority
    std::uint8_t pfc_tx = 0;
    prm::Buffer<prm::pplm_reg> fec_admin;  ///< override fields only
    bool check_fcs = true;
    bool timestamp_over_fcs = false;
    std::array<std::byte, 64> node_description{};
};

}  // namespace cxsim::firmware_stub
