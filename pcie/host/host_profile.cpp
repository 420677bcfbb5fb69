// SPDX-License-Identifier: Apache-2.0
#include "pcie/host/host_profile.h"

#include <bit>
#include <fstream>
#include <sstream>

namespace cxsim::pcie {

namespace {

using model::BitsPerSecond;
using model::Bytes;
using model::Parameter;
using model::Picoseconds;

struct HostParameters : model::ParameterGroup {
    HostParameters() : ParameterGroup("host") {}

    Parameter<std::string> name{*this, "host.name", "What the measurements call the host."};
    Parameter<Picoseconds> llc_read{*this, "memory.llc_read",
                                    "Root port to data ready for a line in the last level cache."};
    Parameter<Picoseconds> memory_extra{*this, "memory.memory_extra",
                                        "More for a line that is in memory only."};
    Parameter<Picoseconds> remote_extra{*this, "memory.remote_extra",
                                        "More for memory of the other socket."};
    Parameter<Picoseconds> write_visible{*this, "memory.write_visible",
                                         "Root port to visible data of a posted write."};
    Parameter<BitsPerSecond> bandwidth{*this, "memory.bandwidth",
                                       "Between root port and cache or memory."};
    Parameter<bool> iommu{*this, "iommu.enabled", "Translate addresses."};
    Parameter<Bytes> iommu_page{*this, "iommu.page", "Page size of the mappings."};
    Parameter<std::uint32_t> iotlb_entries{*this, "iommu.iotlb_entries", "Cached translations."};
    Parameter<Picoseconds> iotlb_miss{*this, "iommu.miss", "Time of a page walk."};
    Parameter<std::uint32_t> walkers{*this, "iommu.walkers", "Page walks at the same time."};
    Parameter<Picoseconds> read_line{*this, "iommu.read_line",
                                     "A read keeps its walker so long for each 64 bytes."};
    Parameter<std::uint32_t> rcb{*this, "completions.boundary", "Read completion boundary, bytes."};
    Parameter<bool> rcb_chunks{*this, "completions.rcb_chunks",
                               "One completion per boundary instead of maximum payload."};
    Parameter<std::uint32_t> posted_headers{*this, "credits.posted_headers",
                                            "Posted header credits of the root port."};
    Parameter<std::uint32_t> posted_data{*this, "credits.posted_data",
                                         "Posted data credits, 16 bytes each."};
    Parameter<std::uint32_t> non_posted_headers{*this, "credits.non_posted_headers",
                                                "Non-posted header credits of the root port."};
    Parameter<Picoseconds> core_to_port{*this, "mmio.core_to_port",
                                        "Core to root port for an access to the card."};
    Parameter<Picoseconds> port_to_core{*this, "mmio.port_to_core",
                                        "Root port to core for data read from the card."};
    Parameter<LatencyTail> read_tail{*this, "tail.read",
                                     "What the slowest reads take more, by their share."};
    Parameter<LatencyTail> core_tail{*this, "tail.core",
                                     "How late a core's slowest accesses leave, by their share."};
};

}  // namespace

HostProfile load_host_profile(const model::IniFile& file,
                              std::span<const model::Override> overrides) {
    HostParameters p;
    p.load(file, overrides);
    HostProfile profile;
    profile.name = p.name();
    profile.llc_read = p.llc_read();
    profile.memory_extra = p.memory_extra();
    profile.remote_extra = p.remote_extra();
    profile.write_visible = p.write_visible();
    profile.bandwidth = p.bandwidth();
    profile.iommu = p.iommu();
    profile.iommu_page = p.iommu_page();
    profile.iotlb_entries = p.iotlb_entries();
    profile.iotlb_miss = p.iotlb_miss();
    profile.iommu_walkers = p.walkers();
    profile.iommu_read_line = p.read_line();
    profile.read_completion_boundary = p.rcb();
    profile.rcb_chunks = p.rcb_chunks();
    profile.posted_headers = p.posted_headers();
    profile.posted_data = p.posted_data();
    profile.non_posted_headers = p.non_posted_headers();
    profile.core_to_port = p.core_to_port();
    profile.port_to_core = p.port_to_core();
    profile.read_tail = p.read_tail();
    profile.core_tail = p.core_tail();

    const auto require = [&](bool good, const char* key, const char* problem) {
        if (!good) throw model::ConfigError({file.name(), 0}, key, problem);
    };
    require(profile.read_completion_boundary == 64 || profile.read_completion_boundary == 128,
            "completions.boundary", "must be 64 or 128");
    require(profile.posted_headers > 0 && profile.non_posted_headers > 0, "credits",
            "a port without header credits accepts nothing");
    require(profile.posted_data >= 256, "credits.posted_data",
            "must hold one TLP of 4096 bytes: 256 or more");
    require(!profile.iommu ||
                (profile.iotlb_entries > 0 && profile.iommu_walkers > 0 &&
                 profile.iommu_page.value >= 4096 && std::has_single_bit(profile.iommu_page.value)),
            "iommu", "needs entries, walkers and a page size that is a power of two from 4KiB");
    return profile;
}

HostProfile load_host_profile(const std::string& path) {
    std::ifstream stream(path);
    if (!stream) throw model::ConfigError({path, 0}, "file", "cannot be read");
    std::ostringstream text;
    text << stream.rdbuf();
    return load_host_profile(model::IniFile::parse(path, text.str()));
}

HostProfile ideal_host() {
    HostProfile profile;
    profile.name = "ideal";
    profile.bandwidth = model::gigabits_per_second(1e6);
    profile.iommu_page = {4096};
    profile.posted_headers = 1024;
    profile.posted_data = 16384;
    profile.non_posted_headers = 1024;
    return profile;
}

}  // namespace cxsim::pcie
