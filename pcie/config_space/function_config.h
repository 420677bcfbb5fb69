// SPDX-License-Identifier: Apache-2.0
// What a PCI function is, as plain data: whoever composes a card fills these structures (from
// files, from a test), the endpoint is built from them. Nothing here has behaviour.
#pragma once

#include "model/ports/host_bus.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cxsim::pcie {

/// The capability structures that a function can show.
enum class CapabilityKind : std::uint8_t {
    // Standard list, offsets 0x40 to 0xff.
    power_management,
    vital_product_data,
    pci_express,
    msix,
    vendor_gateway,
    // Extended list, offsets 0x100 to 0xfff.
    advanced_error_reporting,
    alternative_routing_id,
    sriov,
    secondary_pci_express,
    access_control_services,
    device_serial_number,
    precision_time_measurement,
    lane_margining,
    physical_layer_16gt,
    physical_layer_32gt,
    data_link_feature,
    vendor_specific_extended,  ///< Seen on VFs: a header of 12 bytes without registers.
};

struct CapabilityPlace {
    CapabilityKind kind;
    std::uint16_t offset;
};

/// Transfer rate per lane; the value is the code of the Link Capabilities register.
enum class LinkGeneration : std::uint8_t { gen1 = 1, gen2, gen3, gen4, gen5 };

struct LinkRegisters {
    LinkGeneration max_generation = LinkGeneration::gen3;
    unsigned max_width = 8;
    LinkGeneration generation = LinkGeneration::gen3;  ///< Negotiated.
    unsigned width = 8;                                ///< Negotiated.
    std::uint8_t aspm_support = 0;  ///< LnkCap[11:10]: 0 none, 1 L0s, 2 L1, 3 both.
    bool retimer_presence_detect = false;
};

struct DeviceRegisters {
    unsigned max_payload = 512;      ///< DevCap Max_Payload_Size Supported, bytes.
    unsigned slot_power_watts = 25;  ///< Captured slot power limit.
    bool ten_bit_tag_completer = false;
    bool ten_bit_tag_requester = false;
    bool atomic_completer = false;  ///< 32, 64 and 128 bit.
};

struct MsixConfig {
    unsigned vectors = 64;                ///< 1 to 2048; 0: no MSI-X.
    std::uint32_t table_offset = 0x2000;  ///< In BAR0, multiple of 8.
    std::uint32_t pba_offset = 0x3000;    ///< In BAR0, multiple of 8.
};

struct VpdField {
    std::string keyword;  ///< Two characters.
    std::string value;    ///< At most 255 characters, shown as given (cards pad with blanks).
};

/// Vital product data: resources of PCI Local Bus 3.0, appendix I.
struct VpdConfig {
    std::string product_name;
    std::vector<VpdField> read_only;   ///< Without RV, which is computed and appended.
    unsigned reserved_bytes = 0;       ///< Bytes of RV after its checksum.
    std::vector<VpdField> read_write;  ///< Without RW; none: no VPD-W resource.
    unsigned writable_bytes = 0;       ///< Free bytes (RW) at the end of VPD-W.
    bool end_tag = true;               ///< Some ConnectX-4 Lx cards lack it.
};

struct SriovConfig {
    std::uint16_t total_vfs = 0;
    std::uint16_t first_vf_offset = 1;
    std::uint16_t vf_stride = 1;
    std::uint16_t vf_device = 0;
    unsigned vf_bar0_log2 = 20;
    std::uint32_t supported_page_sizes = 0x7ff;
    std::uint8_t function_dependency_link = 0;
    bool ari_hierarchy_writable = true;  ///< Only the lowest physical function.
};

struct FunctionConfig {
    bool virtual_function = false;
    model::FunctionId physical_function;  ///< Of a VF: the one that it belongs to.

    std::uint16_t vendor = 0x15b3;
    std::uint16_t device = 0;
    std::uint16_t subsystem_vendor = 0x15b3;
    std::uint16_t subsystem = 0;
    std::uint32_t class_code = 0x020000;  ///< 24 bits: class, subclass, interface.
    std::uint8_t revision = 0;
    bool multi_function = false;
    std::uint8_t interrupt_pin = 1;    ///< 0 none, 1 INTA, 2 INTB, ...
    bool lowest_function = true;       ///< Shows the state of the link (LnkSta2, lane data).
    unsigned bar0_log2 = 25;           ///< 12 to 40; 64-bit prefetchable.
    unsigned rom_log2 = 20;            ///< 0: no expansion ROM.
    std::vector<std::byte> rom_image;  ///< Beyond it the ROM reads 0xff, as erased flash does.

    bool no_soft_reset = true;        ///< PMCSR NoSoftRst: D3hot to D0 keeps the state.
    bool error_pointer_is_8 = false;  ///< Idle AER First Error Pointer 8 instead of 4.
    std::uint64_t serial_number = 0;  ///< EUI-64, if the capability is listed.
    std::uint8_t ari_next_function = 0;
    bool gateway = true;  ///< Legacy gateway window at 0x58/0x5c.

    DeviceRegisters express;
    LinkRegisters link;
    MsixConfig msix;
    VpdConfig vpd;
    SriovConfig sriov;

    /// Linked in this order; the first one is where the capability pointer points.
    std::vector<CapabilityPlace> capabilities;
    /// Ascending offsets, the first at 0x100.
    std::vector<CapabilityPlace> extended_capabilities;
};

/// The standard list that all ConnectX-4 Lx to -7 cards show.
std::vector<CapabilityPlace> connectx_capabilities();
/// The lists of their virtual functions.
std::vector<CapabilityPlace> connectx_vf_capabilities();
std::vector<CapabilityPlace> connectx_vf_extended_capabilities();

/// Functions of a card with `count` ports from the data of the first: derives what differs by the
/// rules seen on two-port cards (first VF offset, interrupt pin, ARI chain, link capabilities on
/// function 0 only, "F0" at the end of VPD keyword VU).
std::vector<FunctionConfig> physical_functions(const FunctionConfig& first, unsigned count);

/// A virtual function of `pf` with id `pf_id`.
FunctionConfig virtual_function(const FunctionConfig& pf, model::FunctionId pf_id,
                                unsigned msix_vectors);

}  // namespace cxsim::pcie
