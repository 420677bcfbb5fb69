// SPDX-License-Identifier: Apache-2.0
// Header and standard capabilities. Values that no data gives are those of the dumps of all four
// card families (they do not differ).
#include "pcie/config_space/capabilities.h"
#include "pcie/config_space/registers.h"

#include <array>

namespace cxsim::pcie {

namespace {

constexpr std::uint32_t bit(unsigned n) {
    return 1u << n;
}

/// Low dword mask of a memory BAR of 2^log2 bytes.
constexpr std::uint32_t size_mask(unsigned log2) {
    return log2 >= 32 ? 0 : ~static_cast<std::uint32_t>((std::uint64_t{1} << log2) - 1);
}

/// High dword mask: address bits 32 and up that are not fixed by the size.
constexpr std::uint32_t size_mask_high(unsigned log2) {
    return log2 <= 32 ? ~0u : ~static_cast<std::uint32_t>((std::uint64_t{1} << (log2 - 32)) - 1);
}

// A memory BAR, 64-bit and prefetchable.
constexpr std::uint32_t kMemory64Prefetchable = 0xc;

unsigned log2_of(unsigned value) {
    unsigned log2 = 0;
    while ((1u << log2) < value) ++log2;
    return log2;
}

}  // namespace

void add_type0_header(ConfigSpace& space, const FunctionConfig& config) {
    const bool vf = config.virtual_function;
    // No I/O BAR, so I/O space stays 0. A VF has neither memory enable (VF MSE of its PF counts)
    // nor BARs of its own (SR-IOV 9.3.4.1).
    const std::uint32_t command =
        vf ? reg::kCommandBusMaster
           : reg::kCommandMemory | reg::kCommandBusMaster | bit(6) | reg::kCommandSerr | bit(10);
    const std::array<Register, 8> table{{
        {.offset = reg::kCommand, .bytes = 2, .name = "Command", .rw = command},
        {.offset = reg::kStatus, .bytes = 2, .name = "Status", .rw1c = 0xf900},
        {.offset = 0x0c, .bytes = 1, .name = "Cache Line Size", .rw = vf ? 0u : 0xffu},
        {.offset = reg::kBar0,
         .bytes = 4,
         .name = "BAR0",
         .rw = vf ? 0 : size_mask(config.bar0_log2)},
        {.offset = reg::kBar0 + 4,
         .bytes = 4,
         .name = "BAR1",
         .rw = vf ? 0 : size_mask_high(config.bar0_log2)},
        {.offset = reg::kExpansionRom,
         .bytes = 4,
         .name = "Expansion ROM",
         .rw = config.rom_log2 == 0 ? 0 : size_mask(config.rom_log2) | 1u},
        {.offset = 0x3c, .bytes = 1, .name = "Interrupt Line", .rw = vf ? 0u : 0xffu},
        {.offset = reg::kLegacyGatewayAddress,
         .bytes = 4,
         .name = "legacy gateway address",
         .rw = config.gateway ? ~0u : 0},
    }};
    space.declare(0, table);

    // SR-IOV 9.3.4.1.1: a VF reads 0xffff here, software takes the ids from the PF.
    space.initialize(0x00, 2, vf ? 0xffff : config.vendor);
    space.initialize(0x02, 2, vf ? 0xffff : config.device);
    space.initialize(reg::kStatus, 2, bit(4));  // Capabilities List
    space.initialize(0x08, 4, config.class_code << 8 | config.revision);
    space.initialize(0x0e, 1, config.multi_function ? 0x80 : 0x00);
    if (!vf) space.initialize(reg::kBar0, 4, kMemory64Prefetchable);
    space.initialize(0x2c, 2, config.subsystem_vendor);
    space.initialize(0x2e, 2, config.subsystem);
    space.initialize(0x3c, 1, vf ? 0 : 0xff);  // no interrupt line known: as in the dumps
    space.initialize(0x3d, 1, config.interrupt_pin);
}

void add_power_management(ConfigSpace& space, std::uint8_t at, const FunctionConfig& config) {
    static constexpr std::array<Register, 1> kTable{{
        // PME can wake from D3cold: enable and status are sticky.
        {.offset = reg::kPmcsr,
         .bytes = 2,
         .name = "PMCSR",
         .rw = 0x0103,
         .rw1c = bit(15),
         .sticky = bit(8) | bit(15)},
    }};
    space.declare(at, kTable);
    space.link_capability(0x01, at);
    // Version 3, AuxCurrent 375 mA, PME from D3cold.
    space.initialize(static_cast<std::uint16_t>(at + 2), 2, 0x81c3);
    space.initialize(static_cast<std::uint16_t>(at + reg::kPmcsr), 2,
                     config.no_soft_reset ? bit(3) : 0);
}

void add_vital_product_data(ConfigSpace& space, std::uint8_t at) {
    static constexpr std::array<Register, 2> kTable{{
        {.offset = reg::kVpdAddress, .bytes = 2, .name = "VPD Address", .rw = 0xffff},
        {.offset = reg::kVpdData, .bytes = 4, .name = "VPD Data", .rw = ~0u},
    }};
    space.declare(at, kTable);
    space.link_capability(0x03, at);
}

void add_pci_express(ConfigSpace& space, std::uint8_t at, const FunctionConfig& config) {
    const DeviceRegisters& device = config.express;
    const LinkRegisters& link = config.link;
    const bool vf = config.virtual_function;
    const std::uint32_t ten_bit_enable = device.ten_bit_tag_requester ? bit(12) : 0;
    // A VF leaves everything but errors, transactions pending and FLR to its PF (SR-IOV 9.3.5).
    const std::array<Register, 6> table{{
        {.offset = reg::kDevCtl,
         .bytes = 2,
         .name = "DevCtl",
         .rw = vf ? 0 : 0x79ffu,
         .flr_keeps = 0x00e0},  // Max_Payload_Size
        {.offset = reg::kDevSta, .bytes = 2, .name = "DevSta", .rw1c = 0x000f},
        {.offset = reg::kLnkCtl,
         .bytes = 2,
         .name = "LnkCtl",
         .rw = vf ? 0 : 0x02cbu,
         .flr_keeps = 0x02cb},  // ASPM, RCB, common clock, extended synch, width disable
        {.offset = 0x28,
         .bytes = 2,
         .name = "DevCtl2",
         .rw = vf ? 0 : 0x001f | bit(6) | ten_bit_enable},
        {.offset = 0x30,
         .bytes = 2,
         .name = "LnkCtl2",
         .rw = vf ? 0 : 0xffbfu,
         .sticky = 0xffff,
         .flr_keeps = 0xffff},
        {.offset = 0x32, .bytes = 2, .name = "LnkSta2", .rw1c = bit(5), .flr_keeps = 0xffff},
    }};
    space.declare(at, table);
    space.link_capability(0x10, at);

    const auto put = [&](unsigned offset, unsigned bytes, std::uint32_t value) {
        space.initialize(static_cast<std::uint16_t>(at + offset), bytes, value);
    };
    put(0x02, 2, 0x0002);  // version 2, Endpoint
    // Extended tags, latencies unlimited, role-based error reporting, FLR. Slot power with the
    // scale 1.0 W.
    put(reg::kDevCap, 4,
        (log2_of(device.max_payload) - 7) | bit(5) | 0x7u << 6 | 0x7u << 9 | bit(15) |
            (device.slot_power_watts & 0xff) << 18 | bit(28));
    // Reset values of 7.5.3.4: relaxed ordering, extended tag, no snoop; MPS 128, MRRS 512.
    put(reg::kDevCtl, 2, vf ? 0 : 0x2910);
    const auto generation = static_cast<unsigned>(link.generation);
    const auto max_generation = static_cast<unsigned>(link.max_generation);
    // L0s exit latency 111b, L1 exit latency 010b (2 to 4 us), ASPM optionality compliance.
    put(0x0c, 4,
        max_generation | link.max_width << 4 | (link.aspm_support & 3u) << 10 | 0x7u << 12 |
            0x2u << 15 | bit(22));
    put(0x12, 2, vf ? 0 : generation | link.width << 4 | bit(12));  // LnkSta: slot clock
    // Completion timeout ranges A, B, C and its disable.
    put(0x24, 4,
        0x17 | (device.atomic_completer ? 0x7u << 7 : 0) |
            (device.ten_bit_tag_completer ? bit(16) : 0) |
            (device.ten_bit_tag_requester ? bit(17) : 0));
    const std::uint32_t speeds = ((1u << max_generation) - 1) << 1;
    put(0x2c, 4, speeds | (link.retimer_presence_detect ? bit(23) | bit(24) : 0));
    put(0x30, 2, vf ? 0 : max_generation);
    // Equalization complete, all three phases; only from 8 GT/s, only on the lowest function.
    const bool equalized = generation >= 3 && config.lowest_function;
    put(0x32, 2, equalized ? 0x001e : 0);
}

void add_msix(ConfigSpace& space, std::uint8_t at, const MsixConfig& config) {
    static constexpr std::array<Register, 1> kTable{{
        {.offset = reg::kMsixControl,
         .bytes = 2,
         .name = "MSI-X control",
         .rw = reg::kMsixEnable | reg::kMsixFunctionMask},
    }};
    space.declare(at, kTable);
    space.link_capability(0x11, at);
    space.initialize(static_cast<std::uint16_t>(at + reg::kMsixControl), 2, config.vectors - 1);
    space.initialize(static_cast<std::uint16_t>(at + 4), 4, config.table_offset);  // BIR 0
    space.initialize(static_cast<std::uint16_t>(at + 8), 4, config.pba_offset);
}

void add_vendor_gateway(ConfigSpace& space, std::uint8_t at) {
    // The gateway's own rules (semaphore, flag) are in vendor_gateway.cpp; here only what is
    // plainly writable.
    static constexpr std::array<Register, 1> kTable{{
        {.offset = 0x14, .bytes = 4, .name = "gateway data", .rw = ~0u},
    }};
    space.declare(at, kTable);
    space.link_capability(0x09, at);
    space.initialize(static_cast<std::uint16_t>(at + 2), 1, 0x18);  // length; byte 3: type 0
}

}  // namespace cxsim::pcie
