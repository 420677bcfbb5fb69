// SPDX-License-Identifier: Apache-2.0
#include "pcie/config_space/capabilities.h"

#include "model/params/config_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace cxsim::pcie {

namespace {

struct Extent {
    CapabilityKind kind;
    bool extended;
    unsigned bytes;
};

/// Kind, list and size of each structure.
Extent extent_of(CapabilityKind kind, unsigned lanes) {
    using enum CapabilityKind;
    switch (kind) {
        case power_management:
            return {kind, false, 8};
        case vital_product_data:
            return {kind, false, 8};
        case pci_express:
            return {kind, false, 0x3c};
        case msix:
            return {kind, false, 12};
        case vendor_gateway:
            return {kind, false, 0x18};
        case advanced_error_reporting:
            return {kind, true, 0x2c};
        case alternative_routing_id:
            return {kind, true, 8};
        case sriov:
            return {kind, true, 0x40};
        case secondary_pci_express:
            return {kind, true, 12 + 2 * lanes};
        case access_control_services:
            return {kind, true, 8};
        case device_serial_number:
            return {kind, true, 12};
        case precision_time_measurement:
            return {kind, true, 12};
        case lane_margining:
            return {kind, true, 8 + 4 * lanes};
        case physical_layer_16gt:
            return {kind, true, 0x20 + lanes};
        case physical_layer_32gt:
            return {kind, true, 0x20 + lanes};
        case data_link_feature:
            return {kind, true, 12};
        case vendor_specific_extended:
            return {kind, true, 12};
    }
    return {kind, true, 0};
}

[[noreturn]] void refuse(const std::string& key, const std::string& problem) {
    throw model::ConfigError({"PCI function", 0}, key, problem);
}

void check(bool good, const char* key, const char* problem) {
    if (!good) refuse(key, problem);
}

void check_places(const FunctionConfig& config, bool extended) {
    const std::vector<CapabilityPlace>& places =
        extended ? config.extended_capabilities : config.capabilities;
    const char* key = extended ? "extended_capabilities" : "capabilities";
    std::vector<std::pair<unsigned, unsigned>> taken;  // start, end
    unsigned last = 0;
    for (const CapabilityPlace& place : places) {
        const Extent extent = extent_of(place.kind, config.link.max_width);
        check(extent.extended == extended, key, "a structure of the other list");
        const unsigned start = place.offset;
        const unsigned end = start + extent.bytes;
        const unsigned low = extended ? 0x100u : 0x40u;
        const unsigned high = extended ? 0x1000u : 0x100u;
        if (start % 4 != 0 || start < low || end > high) {
            refuse(key, fmt::format("offset {:#x} must be a multiple of 4 in {:#x} to {:#x}", start,
                                    low, high - extent.bytes));
        }
        if (extended && (last == 0 ? start != 0x100 : start <= last)) {
            refuse(key, fmt::format("offset {:#x}: must begin at 0x100 and ascend", start));
        }
        last = start;
        for (const auto& [from, to] : taken) {
            if (start < to && from < end) {
                refuse(key,
                       fmt::format("structure at {:#x} overlaps the one at {:#x}", start, from));
            }
        }
        taken.emplace_back(start, end);
    }
}

bool is_width(unsigned width) {
    return width <= 32 && std::has_single_bit(width);
}

}  // namespace

std::uint16_t capability_offset(const FunctionConfig& config, CapabilityKind kind) {
    for (const auto* list : {&config.capabilities, &config.extended_capabilities}) {
        for (const CapabilityPlace& place : *list) {
            if (place.kind == kind) return place.offset;
        }
    }
    return 0;
}

void check_function_config(const FunctionConfig& config) {
    check(config.bar0_log2 >= 12 && config.bar0_log2 <= 40, "bar0_log2", "must be 12 to 40");
    check(config.rom_log2 == 0 || (config.rom_log2 >= 11 && config.rom_log2 <= 24), "rom_log2",
          "must be 0 (none) or 11 to 24");
    check(config.rom_image.size() <= (std::uint64_t{1} << config.rom_log2), "rom_image",
          "longer than the ROM");
    check(config.class_code <= 0xffffff, "class_code", "has 24 bits");
    check(config.interrupt_pin <= 4, "interrupt_pin", "must be 0 to 4");
    check(std::has_single_bit(config.express.max_payload) && config.express.max_payload >= 128 &&
              config.express.max_payload <= 4096,
          "express.max_payload", "must be a power of two from 128 to 4096");
    check(config.express.slot_power_watts <= 239, "express.slot_power_watts", "must be below 240");
    check(is_width(config.link.max_width) && is_width(config.link.width) &&
              config.link.width <= config.link.max_width,
          "link.width", "must be a power of two, at most max_width and 32");
    check(config.link.generation >= LinkGeneration::gen1 &&
              config.link.generation <= config.link.max_generation &&
              config.link.max_generation <= LinkGeneration::gen5,
          "link.generation", "must be 1 to max_generation, and that at most 5");

    const MsixConfig& msix = config.msix;
    if (capability_offset(config, CapabilityKind::msix) != 0) {
        check(msix.vectors >= 1 && msix.vectors <= 2048, "msix.vectors", "must be 1 to 2048");
        const std::uint64_t bar = std::uint64_t{1} << config.bar0_log2;
        const std::uint64_t table_end = msix.table_offset + std::uint64_t{msix.vectors} * 16;
        const std::uint64_t pba_end = msix.pba_offset + std::uint64_t{(msix.vectors + 63) / 64} * 8;
        check(msix.table_offset % 8 == 0 && msix.pba_offset % 8 == 0 && table_end <= bar &&
                  pba_end <= bar,
              "msix", "table and PBA must be multiples of 8 inside BAR0");
        check(table_end <= msix.pba_offset || pba_end <= msix.table_offset, "msix",
              "table and PBA overlap");
    }
    const SriovConfig& sriov = config.sriov;
    if (capability_offset(config, CapabilityKind::sriov) != 0) {
        check(sriov.vf_bar0_log2 >= 12 && sriov.vf_bar0_log2 <= 31, "sriov.vf_bar0_log2",
              "must be 12 to 31");
        check((sriov.supported_page_sizes & 1) != 0, "sriov.supported_page_sizes",
              "must contain 4 KiB (bit 0)");
    }
    check_places(config, false);
    check_places(config, true);
}

void build_config_space(ConfigSpace& space, const FunctionConfig& config) {
    check_function_config(config);
    add_type0_header(space, config);
    for (const CapabilityPlace& place : config.capabilities) {
        const auto at = static_cast<std::uint8_t>(place.offset);
        switch (place.kind) {
            case CapabilityKind::power_management:
                add_power_management(space, at, config);
                break;
            case CapabilityKind::vital_product_data:
                add_vital_product_data(space, at);
                break;
            case CapabilityKind::pci_express:
                add_pci_express(space, at, config);
                break;
            case CapabilityKind::msix:
                add_msix(space, at, config.msix);
                break;
            case CapabilityKind::vendor_gateway:
                add_vendor_gateway(space, at);
                break;
            default:
                break;  // check_function_config refused it
        }
    }
    for (const CapabilityPlace& place : config.extended_capabilities) {
        switch (place.kind) {
            case CapabilityKind::advanced_error_reporting:
                add_advanced_error_reporting(space, place.offset, config);
                break;
            case CapabilityKind::sriov:
                add_sriov(space, place.offset, config.sriov);
                break;
            default:
                add_extended_data(space, place, config);
                break;
        }
    }
}

}  // namespace cxsim::pcie
