// SPDX-License-Identifier: Apache-2.0
// Builders of the configuration space: each declares the register table of one structure and sets
// its initial values from the function's data.
#pragma once

#include "pcie/config_space/config_space.h"
#include "pcie/config_space/function_config.h"

namespace cxsim::pcie {

/// Throws model::ConfigError when the data describes no function (sizes, offsets, overlaps).
void check_function_config(const FunctionConfig& config);

/// Header and all listed capabilities.
void build_config_space(ConfigSpace& space, const FunctionConfig& config);

/// Offset of a listed structure, 0 if the function has none.
std::uint16_t capability_offset(const FunctionConfig& config, CapabilityKind kind);

// One structure each; `at` is its offset. Called by build_config_space.
void add_type0_header(ConfigSpace& space, const FunctionConfig& config);
void add_power_management(ConfigSpace& space, std::uint8_t at, const FunctionConfig& config);
void add_vital_product_data(ConfigSpace& space, std::uint8_t at);
void add_pci_express(ConfigSpace& space, std::uint8_t at, const FunctionConfig& config);
void add_msix(ConfigSpace& space, std::uint8_t at, const MsixConfig& config);
void add_vendor_gateway(ConfigSpace& space, std::uint8_t at);
void add_advanced_error_reporting(ConfigSpace& space, std::uint16_t at,
                                  const FunctionConfig& config);
void add_sriov(ConfigSpace& space, std::uint16_t at, const SriovConfig& config);
/// The structures without behaviour of their own: ARI, ACS, serial number, PTM and those of the
/// physical and data link layers.
void add_extended_data(ConfigSpace& space, const CapabilityPlace& place,
                       const FunctionConfig& config);

}  // namespace cxsim::pcie
