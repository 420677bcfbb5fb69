// SPDX-License-Identifier: Apache-2.0
// What the published numbers about PCIe were measured or computed with: a saturated link, and the
// NFP-6000 card of pcie-bench in Gen3 x8.
#pragma once

#include "pcie/dma/dma_engine.h"
#include "pcie/host/builtin_profiles.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cxsim::test {

using namespace pcie;
using model::nanoseconds;
using model::Picoseconds;

struct LinkCase {
    const char* name;
    LinkGeneration generation;
    unsigned width;
};

inline constexpr LinkCase kGen3x8{"Gen3 x8", LinkGeneration::gen3, 8};
inline constexpr LinkCase kGen3x16{"Gen3 x16", LinkGeneration::gen3, 16};
inline constexpr LinkCase kGen4x16{"Gen4 x16", LinkGeneration::gen4, 16};
inline constexpr LinkCase kGen5x16{"Gen5 x16", LinkGeneration::gen5, 16};

enum class Pattern { write, read, both };

/// Payload rate in Gb/s of many transfers of `bytes`, all ready at once; `both`: the rate of one
/// direction while the other does the same.
inline double saturated(const LinkCase& wire, Pattern pattern, std::uint64_t bytes,
                        unsigned payload, unsigned read_request) {
    LinkRegisters registers;
    registers.max_generation = registers.generation = wire.generation;
    registers.max_width = registers.width = wire.width;
    Link link(registers, {.one_way = nanoseconds(75)}, payload);
    HostProfile profile = ideal_host();
    profile.llc_read = nanoseconds(248);
    RootComplex host(profile);
    // Enough outstanding that the link is the limit: Gen5 x16 moves 57 B/ns, times 420 ns 24 KB.
    DmaEngine dma({.tags = 1024, .completion_buffer = {256 * 1024}}, link, host, 2);
    const RequestLimits limits{payload, read_request};
    const std::uint64_t transfers = 8 * 1024 * 1024 / bytes;
    const std::uint64_t window = 64ull << 20;
    Picoseconds last;
    for (std::uint64_t i = 0; i < transfers; ++i) {
        // Two functions: reads and writes of independent queues. A read never follows the
        // writes of its own function here.
        const model::HostAddress at{i * bytes % window};
        if (pattern != Pattern::write) last = std::max(last, dma.read({0}, {}, at, bytes, limits));
        if (pattern != Pattern::read) {
            last = std::max(last, dma.write({1}, {}, {window + at.value}, bytes, limits));
        }
    }
    return static_cast<double>(transfers * bytes) * 8 / last.nanoseconds();
}

/// Random reads or writes of `bytes` over 64 MiB behind the IOMMU, all ready at once: millions a
/// second.
inline double random_rate(HostProfile profile, bool write, std::uint64_t bytes) {
    profile.iommu = true;
    Link link({}, {.one_way = nanoseconds(75)}, 256);
    RootComplex host(profile);
    DmaEngine dma({.tags = 256}, link, host, 1);
    std::uint64_t state = 1;
    Picoseconds last;
    constexpr int kRequests = 20000;
    for (int i = 0; i < kRequests; ++i) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        const model::HostAddress at{(state >> 33) % (64ull << 20) / bytes * bytes};
        last = std::max(last, write ? dma.write({0}, {}, at, bytes, {256, 512})
                                    : dma.read({0}, {}, at, bytes, {256, 512}));
    }
    return kRequests / last.microseconds();
}

/// The card of the measurements, besides its link (75 ns one way, a guess that moves time
/// between card and host only): what its DMA engine adds to a direct command, 546 - 413 ns for
/// 64 bytes warm, of which 64 B at the copy rate are 9 ns; and the slope of 0.296 ns/B of which
/// the link explains 0.149.
struct NfpBench {
    NfpBench(const HostProfile& profile, bool engine)
        : link({}, {.one_way = nanoseconds(75)}, 256),
          host(profile),
          dma({.request_overhead = nanoseconds(engine ? 124 : 0),
               .copy_rate = {engine ? 8e9 / 0.147 : 0},
               .tags = 256},
              link, host, 1) {}
    /// Unloaded, far from what came before.
    double read(std::uint64_t bytes) {
        now += model::microseconds(100);
        return (dma.read({0}, now, {0x100000}, bytes, {256, 512}) - now).nanoseconds();
    }
    double median_read(std::uint64_t bytes) { return reads(bytes, 101)[50]; }
    /// What `count` reads took, sorted.
    std::vector<double> reads(std::uint64_t bytes, std::size_t count) {
        std::vector<double> times(count);
        for (double& time : times) time = read(bytes);
        std::sort(times.begin(), times.end());
        return times;
    }
    double write_then_read(std::uint64_t bytes) {
        now += model::microseconds(100);
        dma.write({0}, now, {0x100000}, bytes, {256, 512});
        return (dma.read({0}, now, {0x100000}, bytes, {256, 512}) - now).nanoseconds();
    }

    Link link;
    RootComplex host;
    DmaEngine dma;
    Picoseconds now;
};

}  // namespace cxsim::test
