// SPDX-License-Identifier: Apache-2.0
// What a host does to the time of PCIe requests, as data: pcie/host/profiles/*.ini.
#pragma once

#include "model/base/units.h"
#include "model/params/parameter.h"
#include "pcie/host/latency_tail.h"

#include <cstdint>
#include <span>
#include <string>

namespace cxsim::pcie {

struct HostProfile {
    std::string name;

    // From a read request understood by the root port to its first data ready to be sent.
    model::Picoseconds llc_read;      ///< The line lies in the last level cache (DDIO).
    model::Picoseconds memory_extra;  ///< Added when it does not.
    model::Picoseconds remote_extra;  ///< Added for memory of the other socket.
    /// From a posted write understood by the root port to its data seen by cores and reads.
    model::Picoseconds write_visible;
    /// Rate at which the root complex moves data between its port and cache or memory.
    model::BitsPerSecond bandwidth;

    bool iommu = false;
    model::Bytes iommu_page;
    std::uint32_t iotlb_entries = 0;
    model::Picoseconds iotlb_miss;    ///< Page walk.
    std::uint32_t iommu_walkers = 0;  ///< Walks at the same time.
    /// A read keeps its walker for this time more for each 64 bytes: until its data are there.
    model::Picoseconds iommu_read_line;

    std::uint32_t read_completion_boundary = 64;  ///< 64 or 128.
    bool rcb_chunks = false;  ///< Completions of one boundary each instead of Max_Payload_Size.

    // Credits that the root port advertises.
    std::uint32_t posted_headers = 0;
    std::uint32_t posted_data = 0;  ///< Units of 16 bytes.
    std::uint32_t non_posted_headers = 0;

    model::Picoseconds core_to_port;  ///< A core's MMIO access on its way to the link.
    model::Picoseconds port_to_core;  ///< Read data on their way back.

    LatencyTail read_tail;  ///< What reads of the card take more at times.
    LatencyTail core_tail;  ///< How late a core's access to the card leaves at times.
};

/// Throws model::ConfigError: unknown or missing key, bad value, value without a source word.
HostProfile load_host_profile(const model::IniFile& file,
                              std::span<const model::Override> overrides = {});
HostProfile load_host_profile(const std::string& path);

/// A host without any latency or limit: what remains is the link.
HostProfile ideal_host();

}  // namespace cxsim::pcie
