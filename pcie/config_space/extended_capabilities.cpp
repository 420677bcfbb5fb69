// SPDX-License-Identifier: Apache-2.0
#include "model/base/assert.h"
#include "pcie/config_space/capabilities.h"
#include "pcie/config_space/registers.h"

#include <algorithm>
#include <array>

namespace cxsim::pcie {

namespace {

constexpr std::uint32_t bit(unsigned n) {
    return 1u << n;
}

// Errors a function can report: DLP, poisoned, FC, completion timeout, completer abort,
// unexpected completion, receiver overflow, malformed, ECRC, unsupported request, ACS.
constexpr std::uint32_t kUncorrectable = 0x003ff010;
// Receiver error, bad TLP, bad DLLP, rollover, timeout, advisory non-fatal.
constexpr std::uint32_t kCorrectable = 0x000031c1;

std::uint16_t at(std::uint16_t base, unsigned offset) {
    return static_cast<std::uint16_t>(base + offset);
}

void add_alternative_routing_id(ConfigSpace& space, std::uint16_t base,
                                const FunctionConfig& config) {
    space.link_extended(0x000e, 1, base);
    space.initialize(at(base, 4), 2, static_cast<std::uint32_t>(config.ari_next_function) << 8);
}

void add_secondary_pci_express(ConfigSpace& space, std::uint16_t base,
                               const FunctionConfig& config) {
    static constexpr std::array<Register, 2> kTable{{
        {.offset = 0x04, .bytes = 4, .name = "LnkCtl3", .rw = 0xfe00},
        {.offset = 0x08,
         .bytes = 4,
         .name = "LaneErrStat",
         .rw1c = 0xffffffff,
         .sticky = 0xffffffff},
    }};
    space.declare(base, kTable);
    space.link_extended(0x0019, 1, base);
    // Lane equalization: upstream port preset and hint fields, value 7 and 7 in every lane.
    for (unsigned lane = 0; lane < config.link.max_width; ++lane) {
        space.initialize(at(base, 0x0c + 2 * lane), 2, 0x7f00);
    }
}

void add_physical_layer_16gt(ConfigSpace& space, std::uint16_t base, const FunctionConfig& config) {
    static constexpr std::array<Register, 4> kTable{{
        {.offset = 0x0c, .bytes = 4, .name = "16GT status", .rw1c = bit(4), .flr_keeps = 0x1f},
        {.offset = 0x10, .bytes = 4, .name = "local parity", .rw1c = ~0u, .sticky = ~0u},
        {.offset = 0x14, .bytes = 4, .name = "first retimer parity", .rw1c = ~0u, .sticky = ~0u},
        {.offset = 0x18, .bytes = 4, .name = "second retimer parity", .rw1c = ~0u, .sticky = ~0u},
    }};
    space.declare(base, kTable);
    space.link_extended(0x0026, 1, base);
    space.initialize(at(base, 0x0c), 4, config.link.generation >= LinkGeneration::gen4 ? 0x0f : 0);
    for (unsigned lane = 0; lane < config.link.max_width; ++lane) {
        space.initialize(at(base, 0x20 + lane), 1, 0x7f);
    }
}

void add_physical_layer_32gt(ConfigSpace& space, std::uint16_t base, const FunctionConfig& config) {
    static constexpr std::array<Register, 2> kTable{{
        {.offset = 0x08, .bytes = 4, .name = "32GT control", .rw = 0x3, .flr_keeps = 0x3},
        {.offset = 0x0c, .bytes = 4, .name = "32GT status", .rw1c = bit(4), .flr_keeps = 0x1f},
    }};
    space.declare(base, kTable);
    space.link_extended(0x002a, 1, base);
    space.initialize(at(base, 0x0c), 4, config.link.generation >= LinkGeneration::gen5 ? 0x0f : 0);
    for (unsigned lane = 0; lane < config.link.max_width; ++lane) {
        space.initialize(at(base, 0x20 + lane), 1, 0x7f);
    }
}

void add_lane_margining(ConfigSpace& space, std::uint16_t base, const FunctionConfig& config) {
    space.link_extended(0x0027, 1, base);
    space.initialize(at(base, 4), 2, 0);
    // Not ready (status bit 0 clear): software is told that there is nothing to margin. The lane
    // control words take what is written.
    for (unsigned lane = 0; lane < config.link.max_width; ++lane) {
        const std::array<Register, 1> table{{
            {.offset = static_cast<std::uint16_t>(8 + 4 * lane),
             .bytes = 2,
             .name = "margining lane control",
             .rw = 0xff7f},
        }};
        space.declare(base, table);
        space.initialize(at(base, 8 + 4 * lane), 2, 0x9c38);  // 7.7.8.4: no command
    }
}

void add_precision_time_measurement(ConfigSpace& space, std::uint16_t base) {
    static constexpr std::array<Register, 1> kTable{{
        {.offset = 0x08, .bytes = 4, .name = "PTMControl", .rw = 0xff01},
    }};
    space.declare(base, kTable);
    space.link_extended(0x001f, 1, base);
    space.initialize(at(base, 4), 4, 0x1);  // requester capable
}

void add_data_link_feature(ConfigSpace& space, std::uint16_t base) {
    space.link_extended(0x0025, 1, base);
    // Scaled flow control offered, exchange enabled; the peer's answer is valid and the same.
    space.initialize(at(base, 4), 4, bit(31) | bit(0));
    space.initialize(at(base, 8), 4, bit(31) | bit(0));
}

void add_device_serial_number(ConfigSpace& space, std::uint16_t base, std::uint64_t serial) {
    space.link_extended(0x0003, 1, base);
    space.initialize(at(base, 4), 4, static_cast<std::uint32_t>(serial));
    space.initialize(at(base, 8), 4, static_cast<std::uint32_t>(serial >> 32));
}

void add_vendor_specific_extended(ConfigSpace& space, std::uint16_t base) {
    space.link_extended(0x000b, 1, base);
    space.initialize(at(base, 4), 4, 0x00cu << 20);  // length 12
}

}  // namespace

void add_advanced_error_reporting(ConfigSpace& space, std::uint16_t base,
                                  const FunctionConfig& config) {
    static constexpr std::array<Register, 10> kTable{{
        {.offset = reg::kAerUncorrectableStatus,
         .bytes = 4,
         .name = "UESta",
         .rw1c = kUncorrectable,
         .sticky = kUncorrectable},
        {.offset = reg::kAerUncorrectableMask,
         .bytes = 4,
         .name = "UEMsk",
         .rw = kUncorrectable,
         .sticky = kUncorrectable},
        {.offset = reg::kAerUncorrectableSeverity,
         .bytes = 4,
         .name = "UESvrt",
         .rw = kUncorrectable,
         .sticky = kUncorrectable},
        {.offset = reg::kAerCorrectableStatus,
         .bytes = 4,
         .name = "CESta",
         .rw1c = kCorrectable,
         .sticky = kCorrectable},
        {.offset = reg::kAerCorrectableMask,
         .bytes = 4,
         .name = "CEMsk",
         .rw = kCorrectable,
         .sticky = kCorrectable},
        {.offset = reg::kAerControl,
         .bytes = 4,
         .name = "AERCap",
         .rw = bit(6) | bit(8),
         .sticky = bit(6) | bit(8) | 0x1f},
        {.offset = reg::kAerHeaderLog, .bytes = 4, .name = "HeaderLog 0", .sticky = ~0u},
        {.offset = reg::kAerHeaderLog + 4, .bytes = 4, .name = "HeaderLog 1", .sticky = ~0u},
        {.offset = reg::kAerHeaderLog + 8, .bytes = 4, .name = "HeaderLog 2", .sticky = ~0u},
        {.offset = reg::kAerHeaderLog + 12, .bytes = 4, .name = "HeaderLog 3", .sticky = ~0u},
    }};
    space.declare(base, kTable);
    space.link_extended(0x0001, 1, base);
    // Severity as in the dumps: DLP, FC, receiver overflow, malformed fatal.
    space.initialize(at(base, reg::kAerUncorrectableSeverity), 4,
                     bit(4) | bit(13) | bit(17) | bit(18));
    space.initialize(at(base, reg::kAerCorrectableMask), 4, bit(13));
    // ECRC generation and check capable.
    space.initialize(at(base, reg::kAerControl), 4,
                     bit(5) | bit(7) | (config.error_pointer_is_8 ? 8u : 4u));
}

void add_sriov(ConfigSpace& space, std::uint16_t base, const SriovConfig& config) {
    const std::uint32_t control =
        reg::kSriovVfEnable | reg::kSriovVfMemory | (config.ari_hierarchy_writable ? bit(4) : 0);
    const unsigned log2 = config.vf_bar0_log2;
    const std::array<Register, 5> table{{
        {.offset = reg::kSriovControl, .bytes = 2, .name = "IOVCtl", .rw = control},
        {.offset = reg::kSriovNumVfs, .bytes = 2, .name = "NumVFs", .rw = 0xffff},
        {.offset = 0x20, .bytes = 4, .name = "System Page Size", .rw = config.supported_page_sizes},
        {.offset = reg::kSriovVfBar0,
         .bytes = 4,
         .name = "VF BAR0",
         .rw = log2 >= 32 ? 0 : ~static_cast<std::uint32_t>((std::uint64_t{1} << log2) - 1)},
        {.offset = reg::kSriovVfBar0 + 4, .bytes = 4, .name = "VF BAR1", .rw = ~0u},
    }};
    space.declare(base, table);
    space.link_extended(0x0010, 1, base);
    space.initialize(at(base, 0x0c), 2, config.total_vfs);  // InitialVFs
    space.initialize(at(base, 0x0e), 2, config.total_vfs);
    space.initialize(at(base, 0x12), 1, config.function_dependency_link);
    space.initialize(at(base, 0x14), 2, config.first_vf_offset);
    space.initialize(at(base, 0x16), 2, config.vf_stride);
    space.initialize(at(base, 0x1a), 2, config.vf_device);
    space.initialize(at(base, 0x1c), 4, config.supported_page_sizes);
    space.initialize(at(base, 0x20), 4, 1);
    space.initialize(at(base, reg::kSriovVfBar0), 4, 0xc);  // 64-bit, prefetchable
}

void add_extended_data(ConfigSpace& space, const CapabilityPlace& place,
                       const FunctionConfig& config) {
    switch (place.kind) {
        case CapabilityKind::alternative_routing_id:
            return add_alternative_routing_id(space, place.offset, config);
        case CapabilityKind::secondary_pci_express:
            return add_secondary_pci_express(space, place.offset, config);
        case CapabilityKind::access_control_services:
            return space.link_extended(0x000d, 1, place.offset);  // all bits 0 on these cards
        case CapabilityKind::device_serial_number:
            return add_device_serial_number(space, place.offset, config.serial_number);
        case CapabilityKind::precision_time_measurement:
            return add_precision_time_measurement(space, place.offset);
        case CapabilityKind::lane_margining:
            return add_lane_margining(space, place.offset, config);
        case CapabilityKind::physical_layer_16gt:
            return add_physical_layer_16gt(space, place.offset, config);
        case CapabilityKind::physical_layer_32gt:
            return add_physical_layer_32gt(space, place.offset, config);
        case CapabilityKind::data_link_feature:
            return add_data_link_feature(space, place.offset);
        case CapabilityKind::vendor_specific_extended:
            return add_vendor_specific_extended(space, place.offset);
        default:
            break;
    }
    CX_ASSERT(false, "capability {} is no extended one", static_cast<int>(place.kind));
}

}  // namespace cxsim::pcie
