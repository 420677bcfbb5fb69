// SPDX-License-Identifier: Apache-2.0
// The state of one port as the port registers show and change it. The port itself stands behind
// model::PortControl; without one there is no cable and nothing to count.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/params/capabilities.h"
#include "model/params/identity.h"
#include "model/ports/port_control.h"
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
    /// Unit of sizes in PBMC: what the driver takes a cell to be when SBCAM does not tell.
    static constexpr std::uint32_t kCellBytes = 128;

    explicit Port(const PortConfig& configuration) : config(configuration) { reset(); }

    /// Power-on state, applied.
    void reset();
    /// Hands the settings on to the port, if there is one. The link may change meanwhile.
    void apply() const;
    model::PortSettings settings() const;
    /// As the port reports it; "no cable" without one.
    model::PortStatus status() const;
    bool operational() const { return status().up; }

    PortConfig config;
    model::PortControl* control = nullptr;  ///< outlives its use; null: no MAC
    bool admin_up = true;
    bool reports_changes = false;  ///< PAOS.e
    std::uint32_t eth_proto_admin = 0;
    std::uint32_t ext_eth_proto_admin = 0;
    bool extended_modes = false;   ///< the extended mask counts, not the other one
    bool autonegotiation_disabled = false;
    std::uint32_t admin_mtu = 0;
    bool pause_rx = true;
    bool pause_tx = true;
    std::uint8_t pfc_rx = 0;  ///< a bit for each priority
    std::uint8_t pfc_tx = 0;
    bool trust_dscp = false;
    std::array<std::uint8_t, model::PortSettings::kDscps> priority_of_dscp{};
    prm::Buffer<prm::pplm_reg> fec_admin;  ///< override fields only
    bool check_fcs = true;
    bool timestamp_over_fcs = false;
    /// Until software writes PBMC, firmware divides the receive buffer.
    bool buffers_by_software = false;
    std::array<model::ReceiveBufferSettings, model::PortSettings::kBuffers> buffers{};
    std::array<std::uint8_t, model::PortSettings::kPriorities> buffer_of_priority{};
    std::uint16_t pause_quanta = 0xffff;
    std::uint16_t pause_refresh = 0x7fff;
    std::array<std::byte, 64> node_description{};

    // PPCNT: what counters were when they were cleared, by row of its table and priority.
    std::vector<std::uint64_t> cleared;
    model::Picoseconds physical_cleared_at;
    model::Picoseconds statistical_cleared_at;
};

}  // namespace cxsim::firmware_stub
