// SPDX-License-Identifier: Apache-2.0
#include "pcie/config_space/function_config.h"

#include <algorithm>

namespace cxsim::pcie {

std::vector<CapabilityPlace> connectx_capabilities() {
    using enum CapabilityKind;
    return {{pci_express, 0x60},
            {vital_product_data, 0x48},
            {msix, 0x9c},
            {vendor_gateway, 0xc0},
            {power_management, 0x40}};
}

std::vector<CapabilityPlace> connectx_vf_capabilities() {
    using enum CapabilityKind;
    return {{pci_express, 0x60}, {msix, 0x9c}};
}

std::vector<CapabilityPlace> connectx_vf_extended_capabilities() {
    using enum CapabilityKind;
    return {{vendor_specific_extended, 0x100}, {alternative_routing_id, 0x150}};
}

namespace {

/// Structures that describe the link; only function 0 of a multi-function device has them.
bool describes_link(CapabilityKind kind) {
    using enum CapabilityKind;
    return kind == secondary_pci_express || kind == lane_margining || kind == physical_layer_16gt ||
           kind == physical_layer_32gt;
}

}  // namespace

std::vector<FunctionConfig> physical_functions(const FunctionConfig& first, unsigned count) {
    std::vector<FunctionConfig> functions;
    for (unsigned n = 0; n < count; ++n) {
        FunctionConfig pf = first;
        pf.multi_function = count > 1;
        pf.lowest_function = n == 0;
        pf.interrupt_pin = static_cast<std::uint8_t>(1 + n % 4);
        pf.ari_next_function = static_cast<std::uint8_t>(n + 1 < count ? n + 1 : 0);
        // Seen on all two-port cards: 2 and 1 + TotalVFs, i.e. all VFs of a PF in one row.
        pf.sriov.first_vf_offset =
            static_cast<std::uint16_t>(count - n + n * first.sriov.total_vfs);
        pf.sriov.ari_hierarchy_writable = n == 0;
        if (n > 0) {
            std::erase_if(pf.extended_capabilities,
                          [](const CapabilityPlace& place) { return describes_link(place.kind); });
        }
        for (VpdField& field : pf.vpd.read_only) {
            const std::size_t at =
                field.keyword == "VU" ? field.value.rfind("F0") : std::string::npos;
            if (at != std::string::npos) field.value[at + 1] = static_cast<char>('0' + n % 10);
        }
        functions.push_back(std::move(pf));
    }
    return functions;
}

FunctionConfig virtual_function(const FunctionConfig& pf, model::FunctionId pf_id,
                                unsigned msix_vectors) {
    FunctionConfig vf = pf;
    vf.virtual_function = true;
    vf.physical_function = pf_id;
    vf.device = pf.sriov.vf_device;
    vf.multi_function = false;
    vf.lowest_function = false;
    vf.interrupt_pin = 0;
    vf.bar0_log2 = pf.sriov.vf_bar0_log2;
    vf.rom_log2 = 0;
    vf.rom_image.clear();
    vf.msix.vectors = msix_vectors;
    vf.gateway = false;
    vf.vpd = {};
    vf.sriov = {};
    vf.ari_next_function = 0;
    vf.capabilities = connectx_vf_capabilities();
    vf.extended_capabilities = connectx_vf_extended_capabilities();
    return vf;
}

}  // namespace cxsim::pcie
