// SPDX-License-Identifier: Apache-2.0
// What makes the firmware of one card different from another's; filled from its data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "firmware_stub/boot/page_supply.h"
#include "firmware_stub/mailbox/cost.h"
#include "firmware_stub/registers/port.h"
#include "model/memory/context_caches.h"
#include "model/params/capabilities.h"
#include "model/queues/queue_context.h"
#include "model/resources/resources.h"

namespace cxsim::firmware_stub {

struct FirmwareConfig {
    // Identity
    std::uint16_t firmware_major = 0;
    std::uint16_t firmware_minor = 0;
    std::uint16_t firmware_subminor = 0;
    std::string psid;                   ///< 16 characters at most
    std::uint16_t vsd_vendor_id = 0x15b3;
    std::uint32_t hw_id = 0;            ///< as in the health buffer
    std::uint16_t device_id = 0;        ///< PCI device
    std::string node_description;       ///< 64 characters at most
    std::uint64_t device_frequency_khz = 0;
    std::uint64_t node_guid = 0;        ///< of the first function; the others count up
    std::uint64_t system_image_guid = 0;
    std::array<std::uint8_t, 6> base_mac{};

    const model::Capabilities* capabilities = nullptr;  ///< outlives the firmware
    model::ResourceLimits limits;

    std::uint32_t interrupt_vectors = 0;  ///< MSI-X table size of a function

    // Command interface
    std::uint32_t log_command_slots = 5;
    std::uint32_t log_command_stride = 6;
    std::size_t command_processors = 1;  ///< commands worked on at once
    CommandTiming command_timing;
    model::QueueTiming queue_timing;

    // Boot and health
    model::Picoseconds initialisation_time;  ///< reset until the initializing bit clears
    model::Picoseconds health_period;        ///< one count of the health counter
    PageParameters pages;

    /// What a function has at hand of its contexts; without entries all of them.
    model::ContextCacheConfig context_caches{.entries = {}};
    model::stats::Group* statistics = nullptr;  ///< where functions count; outlives the firmware

    PortConfig port;
};

/// Object limits that the general capabilities (cmd_hca_cap and friends) promise; UAR pages fill
/// what BAR0 of `bar_bytes` has left.
model::ResourceLimits limits_from(const model::Capabilities& capabilities,
                                  std::uint64_t bar_bytes);

}  // namespace cxsim::firmware_stub
