// SPDX-License-Identifier: Apache-2.0
// PCIe: arithmetic of the link, saturated transfers, and what hosts do to single requests.
#include "tests/perf/calibration/cases.h"
#include "tests/support/pcie_bench.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

namespace cxsim::calibration {
namespace {

using namespace pcie;
using test::NfpBench;
using test::Pattern;

double in_gigabits(model::BitsPerSecond rate) {
    return rate.value / 1e9;
}

Quantities link_arithmetic() {
    Quantities q;
    const auto raw = [&](const char* name, LinkGeneration generation, unsigned width) {
        q[name] = in_gigabits(encoded_rate(generation, width));
    };
    raw("raw_gen3_x8", LinkGeneration::gen3, 8);
    raw("raw_gen3_x16", LinkGeneration::gen3, 16);
    raw("raw_gen4_x16", LinkGeneration::gen4, 16);
    raw("raw_gen5_x16", LinkGeneration::gen5, 16);
    q["encoding_gen1"] = encoded_rate(LinkGeneration::gen1, 1).value / 2.5e9;
    q["encoding_gen2"] = encoded_rate(LinkGeneration::gen2, 1).value / 5e9;
    q["encoding_gen3"] = encoded_rate(LinkGeneration::gen3, 1).value / 8e9;
    q["encoding_gen4"] = encoded_rate(LinkGeneration::gen4, 1).value / 16e9;
    q["encoding_gen5"] = encoded_rate(LinkGeneration::gen5, 1).value / 32e9;
    const TlpOverhead wide = tlp_overhead(true, false);
    q["write_64"] = static_cast<double>(wide.memory_write.value);
    q["read_64"] = static_cast<double>(wide.memory_read.value);
    q["completion"] = static_cast<double>(wide.completion.value);
    q["write_32"] = static_cast<double>(tlp_overhead(false, false).memory_write.value);
    q["ecrc"] = static_cast<double>(tlp_overhead(true, true).memory_write.value -
                                    wide.memory_write.value);
    for (const unsigned width : {8U, 16U}) {
        for (const unsigned payload : {128U, 256U, 512U}) {
            q[fmt::format("distance_x{}_{}", width, payload)] =
                dllp_distance(LinkGeneration::gen3, width, payload);
        }
    }
    // What DLLPs and SKP ordered sets take, as bytes of each: of the tax at a known distance the
    // part that changes with the distance are the two DLLPs, the rest is SKP.
    const double few = 1 - tlp_rate(LinkGeneration::gen3, 8, 256).value /
                               encoded_rate(LinkGeneration::gen3, 8).value;
    const double many = 1 - tlp_rate(LinkGeneration::gen3, 8, 128).value /
                                encoded_rate(LinkGeneration::gen3, 8).value;
    const double dllp = (many - few) / (2.0 / 163 - 2.0 / 203);
    q["dllp_bytes"] = dllp;
    q["skp_interval"] = 4 / (few - 2 * dllp / 203);
    const auto tlp = [&](const char* name, LinkGeneration generation, unsigned width,
                         unsigned payload) {
        q[name] = in_gigabits(tlp_rate(generation, width, payload));
    };
    tlp("tlp_gen3_x8_256", LinkGeneration::gen3, 8, 256);
    tlp("tlp_gen3_x16_256", LinkGeneration::gen3, 16, 256);
    tlp("tlp_gen4_x16_256", LinkGeneration::gen4, 16, 256);
    tlp("tlp_gen4_x16_512", LinkGeneration::gen4, 16, 512);
    tlp("tlp_gen5_x16_512", LinkGeneration::gen5, 16, 512);
    return q;
}

Quantities saturated_links() {
    Quantities q;
    struct Slot {
        const char* name;
        test::LinkCase wire;
    };
    struct Direction {
        const char* name;
        Pattern pattern;
    };
    struct Size {
        std::uint64_t bytes;
        unsigned payload;
        unsigned read_request;
    };
    for (const Slot& link : {Slot{"gen3_x8", test::kGen3x8}, Slot{"gen3_x16", test::kGen3x16},
                             Slot{"gen4_x16", test::kGen4x16}, Slot{"gen5_x16", test::kGen5x16}}) {
        for (const Direction way : {Direction{"w", Pattern::write}, Direction{"r", Pattern::read},
                                    Direction{"rw", Pattern::both}}) {
            for (const Size size : {Size{4096, 256, 512}, Size{4096, 512, 4096},
                                    Size{64, 256, 512}}) {
                q[fmt::format("{}_{}_{}_{}", link.name, size.bytes, size.payload, way.name)] =
                    test::saturated(link.wire, way.pattern, size.bytes, size.payload,
                                    size.read_request);
            }
        }
    }
    return q;
}

Quantities hosts() {
    Quantities q;
    struct Host {
        const char* name;
        const char* profile;
    };
    for (const Host& host :
         {Host{"bdw", "broadwell_e5_2630v4"}, Host{"hsw", "haswell_e5_2637v3"}}) {
        NfpBench bench(builtin_host_profile(host.profile), true);
        for (const std::uint64_t bytes : {64, 128, 256, 512, 1024, 1536, 2048}) {
            q[fmt::format("{}_read_{}", host.name, bytes)] = bench.median_read(bytes);
        }
        q[fmt::format("{}_write_read_64", host.name)] = bench.write_then_read(64);
        q[fmt::format("{}_write_read_2048", host.name)] = bench.write_then_read(2048);
    }
    q["bdw_slope"] = (q["bdw_read_2048"] - q["bdw_read_64"]) / (2048 - 64);
    const HostProfile profile = builtin_host_profile("broadwell_e5_2630v4");
    NfpBench direct(profile, false);
    q["direct_warm"] = direct.read(64);
    direct.host.set_default_placement({.in_llc = false});
    q["direct_cold"] = direct.read(64);
    q["ddio"] = q["direct_cold"] - q["direct_warm"];
    NfpBench engine(profile, true);
    engine.host.set_default_placement({.in_llc = true, .remote_socket = true});
    q["remote"] = engine.read(64) - q["bdw_read_64"];
    HostProfile translated = profile;
    translated.iommu = true;
    NfpBench iommu(translated, false);
    const double miss = iommu.read(64);
    q["iotlb_miss"] = miss - iommu.read(64);
    q["iommu_read_64"] = test::random_rate(profile, false, 64) * 64 * 8 / 1000;
    q["iommu_read_256"] = test::random_rate(profile, false, 256) * 256 * 8 / 1000;
    q["iommu_write_64"] = test::random_rate(profile, true, 64) * 64 * 8 / 1000;
    // Tails: as many reads as show them.
    NfpBench hsw(builtin_host_profile("haswell_e5_2637v3"), true);
    const std::vector<double> quiet = hsw.reads(64, 4000000);
    q["hsw_read_p999"] = quiet[quiet.size() / 1000 * 999];
    q["hsw_read_max"] = quiet.back();
    NfpBench e3(builtin_host_profile("haswell_e3_1226v3"), true);
    const std::vector<double> managed = e3.reads(64, 1000000);
    q["e3_read_min"] = managed.front();
    q["e3_read_median"] = managed[managed.size() / 2];
    q["e3_read_p95"] = managed[managed.size() / 100 * 95];
    q["e3_read_p999"] = managed[managed.size() / 1000 * 999];
    return q;
}

/// Completions of a read of 256 bytes, 16 bytes past a boundary of 64.
Quantities completions() {
    Quantities q;
    for (const bool chunks : {false, true}) {
        for (const unsigned boundary : {64U, 128U}) {
            HostProfile profile = ideal_host();
            profile.rcb_chunks = chunks;
            profile.read_completion_boundary = boundary;
            Link link({}, {.one_way = model::nanoseconds(75)}, 256);
            RootComplex host(profile);
            DmaEngine dma({.tags = 256}, link, host, 1);
            dma.read({0}, {}, {0x1010}, 256, {256, 512});
            q[fmt::format("{}_{}", chunks ? "chunks" : "large", boundary)] =
                static_cast<double>(dma.statistics().completions);
        }
    }
    return q;
}

}  // namespace

void add_pcie_cases(std::map<std::string, Measure, std::less<>>& into) {
    into["pcie_link"] = [](auto) { return link_arithmetic(); };
    into["pcie_saturated"] = [](auto) { return saturated_links(); };
    into["pcie_hosts"] = [](auto) { return hosts(); };
    into["pcie_completions"] = [](auto) { return completions(); };
}

}  // namespace cxsim::calibration
