// SPDX-License-Identifier: Apache-2.0
// The endpoint against published numbers. Bandwidth: the pcie-model of pcie-bench (SIGCOMM 2018),
// whose arithmetic gives the expected column. Latency: the same project's measurements with an
// NFP-6000 card in Gen3 x8.
#include "tests/support/pcie_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace cxsim;
using namespace cxsim::pcie;
using namespace cxsim::test;

namespace {

struct Row {
    LinkCase wire;
    Pattern pattern;
    std::uint64_t bytes;
    unsigned payload;
    unsigned read_request;
    double expected;  // Gb/s
};

double off(double value, double expected) {
    return (value - expected) / expected * 100;
}

}  // namespace

TEST_CASE("saturated bandwidth is within 3 % of the published arithmetic", "[calibration]") {
    using enum Pattern;
    // Expected: data bytes / wire bytes x TLP rate. E.g. Gen3 x8, MPS 256, 64 B writes:
    // 57.88 x 64 / (64 + 24) = 42.10.
    const std::vector<Row> rows{
        {kGen3x8, write, 4096, 256, 512, 52.92},    {kGen3x8, read, 4096, 256, 512, 53.69},
        {kGen3x8, both, 4096, 256, 512, 50.75},     {kGen3x16, write, 4096, 256, 512, 103.95},
        {kGen3x16, read, 4096, 256, 512, 105.46},   {kGen3x16, both, 4096, 256, 512, 99.68},
        {kGen4x16, write, 4096, 256, 512, 207.91},  {kGen4x16, read, 4096, 256, 512, 210.92},
        {kGen4x16, both, 4096, 256, 512, 199.36},   {kGen3x16, write, 4096, 512, 4096, 109.49},
        {kGen3x16, read, 4096, 512, 4096, 110.31},  {kGen3x16, both, 4096, 512, 4096, 108.88},
        {kGen4x16, write, 4096, 512, 4096, 218.98}, {kGen4x16, read, 4096, 512, 4096, 220.63},
        {kGen5x16, write, 4096, 512, 4096, 437.96}, {kGen5x16, read, 4096, 512, 4096, 441.26},
        {kGen5x16, both, 4096, 512, 4096, 435.53},  {kGen3x8, write, 64, 256, 512, 42.10},
        {kGen3x8, read, 64, 256, 512, 44.10},       {kGen3x8, both, 64, 256, 512, 33.08},
        {kGen3x16, write, 64, 256, 512, 82.69},     {kGen3x16, read, 64, 256, 512, 86.63},
        {kGen3x16, both, 64, 256, 512, 64.97},      {kGen4x16, write, 64, 256, 512, 165.4},
        {kGen4x16, read, 64, 256, 512, 173.3},      {kGen4x16, both, 64, 256, 512, 129.9},
        {kGen3x8, write, 4096, 512, 512, 54.75},    {kGen3x8, read, 4096, 512, 512, 55.16},
    };
    std::printf("%-9s %-6s %6s %5s %5s %9s %9s %7s\n", "link", "what", "bytes", "MPS", "MRRS",
                "expected", "model", "off");
    for (const Row& row : rows) {
        const double rate =
            saturated(row.wire, row.pattern, row.bytes, row.payload, row.read_request);
        const char* what = row.pattern == write ? "write" : row.pattern == read ? "read" : "both";
        std::printf("%-9s %-6s %6lu %5u %5u %9.2f %9.2f %+6.2f%%\n", row.wire.name, what,
                    static_cast<unsigned long>(row.bytes), row.payload, row.read_request,
                    row.expected, rate, off(rate, row.expected));
        CAPTURE(row.wire.name, what, row.bytes, row.payload, row.read_request, rate);
        CHECK(std::abs(off(rate, row.expected)) < 3.0);
    }
}

TEST_CASE("the TLP rate after DLLPs and SKP is within 3 % of the published one", "[calibration]") {
    struct RateRow {
        LinkCase wire;
        unsigned payload;
        double expected;
    };
    for (const RateRow& row : {RateRow{kGen3x8, 256, 57.88}, RateRow{kGen3x16, 256, 113.70},
                               RateRow{kGen4x16, 256, 227.40}, RateRow{kGen4x16, 512, 229.25},
                               RateRow{kGen5x16, 512, 458.49}}) {
        const double rate = tlp_rate(row.wire.generation, row.wire.width, row.payload).value / 1e9;
        CAPTURE(row.wire.name, row.payload, rate);
        CHECK(std::abs(off(rate, row.expected)) < 0.1);
    }
}

TEST_CASE("boundary-sized completions cost what their headers cost", "[calibration]") {
    LinkRegisters registers;
    Link link(registers, {.one_way = nanoseconds(75)}, 256);
    HostProfile profile = ideal_host();
    profile.rcb_chunks = true;
    RootComplex host(profile);
    DmaEngine dma({.tags = 256}, link, host, 1);
    Picoseconds last;
    for (std::uint64_t i = 0; i < 2048; ++i) {
        last = std::max(last, dma.read({0}, {}, {i * 4096}, 4096, {256, 512}));
    }
    // 57.88 x 64 / (64 + 20) = 44.10 Gb/s, the 64 byte row above.
    const double rate = 2048.0 * 4096 * 8 / last.nanoseconds();
    CHECK(std::abs(off(rate, 44.10)) < 3.0);
}

TEST_CASE("the read latency curve of two measured hosts is met within 10 %", "[calibration]") {
    struct Curve {
        const char* profile;
        std::vector<std::pair<std::uint64_t, double>> points;  // bytes, median ns
    };
    const std::vector<Curve> curves{
        {"broadwell_e5_2630v4",
         {{64, 546}, {128, 573}, {256, 626}, {512, 706}, {1024, 853}, {1536, 986}, {2048, 1133}}},
        {"haswell_e5_2637v3", {{64, 600}, {256, 666}, {512, 746}, {1024, 906}, {2048, 1173}}}};
    for (const Curve& curve : curves) {
        NfpBench bench(builtin_host_profile(curve.profile), true);
        std::printf("%s\n%8s %9s %9s %7s\n", curve.profile, "bytes", "measured", "model", "off");
        for (const auto& [bytes, measured] : curve.points) {
            const double latency = bench.median_read(bytes);
            std::printf("%8lu %9.0f %9.1f %+6.2f%%\n", static_cast<unsigned long>(bytes), measured,
                        latency, off(latency, measured));
            CAPTURE(curve.profile, bytes, latency);
            CHECK(std::abs(off(latency, measured)) < 10.0);
        }
        // Slope over the whole curve: 0.296 and 0.289 ns/B, +-15 %.
        const auto& [small, first] = curve.points.front();
        const auto& [large, last] = curve.points.back();
        const double slope = (last - first) / static_cast<double>(large - small);
        const double modelled =
            (bench.read(large) - bench.read(small)) / static_cast<double>(large - small);
        CHECK(std::abs(off(modelled, slope)) < 15.0);
    }
}

TEST_CASE("write then read of the same bytes is met within 10 %", "[calibration]") {
    struct Point {
        const char* profile;
        std::uint64_t bytes;
        double measured;
    };
    for (const Point& p :
         {Point{"broadwell_e5_2630v4", 64, 773}, Point{"broadwell_e5_2630v4", 2048, 1840},
          Point{"haswell_e5_2637v3", 64, 800}, Point{"haswell_e5_2637v3", 2048, 1880}}) {
        NfpBench bench(builtin_host_profile(p.profile), true);
        const double latency = bench.write_then_read(p.bytes);
        std::printf("%s write-read %lu: measured %.0f, model %.1f, %+.2f%%\n", p.profile,
                    static_cast<unsigned long>(p.bytes), p.measured, latency,
                    off(latency, p.measured));
        CAPTURE(p.profile, p.bytes, latency);
        CHECK(std::abs(off(latency, p.measured)) < 10.0);
    }
}

TEST_CASE("cache, socket and IO-TLB move a 64 byte read by what was measured", "[calibration]") {
    const HostProfile profile = builtin_host_profile("broadwell_e5_2630v4");
    NfpBench direct(profile, false);
    const double warm = direct.read(64);
    direct.host.set_default_placement({.in_llc = false});
    const double cold = direct.read(64);
    CHECK(std::abs(warm - 413) < 10);        // direct command, line in cache
    CHECK(std::abs(cold - 480) < 10);        // ... in memory
    CHECK(std::abs(cold - warm - 67) < 10);  // DDIO

    NfpBench engine(profile, true);
    const double local = engine.read(64);
    engine.host.set_default_placement({.in_llc = true, .remote_socket = true});
    const double remote = engine.read(64);
    CHECK(std::abs(off(remote - local, 107)) < 20);
    CHECK(std::abs(off(remote, 653)) < 10);

    HostProfile translated = profile;
    translated.iommu = true;
    NfpBench iommu(translated, false);
    const double miss = iommu.read(64);
    const double hit = iommu.read(64);
    CHECK(std::abs(off(miss - hit, 280)) < 15);
    CHECK(std::abs(off(miss, 693)) < 15);
    CHECK(std::abs(hit - warm) < 1);
}

TEST_CASE("random requests over 64 MiB fall to the rate of the page walkers", "[calibration]") {
    // 64 entries of 16384 pages: nearly all miss. Six walkers of 280 ns give 21.4 M/s to writes;
    // reads keep theirs for 19 ns a line, so that larger ones are slower.
    const HostProfile profile = builtin_host_profile("broadwell_e5_2630v4");
    struct Rate {
        bool write;
        std::uint64_t bytes;
        double measured;  // Gb/s
        double tolerance;
    };
    for (const Rate& r :
         {Rate{false, 64, 9.84, 10}, Rate{false, 256, 33.5, 5}, Rate{true, 64, 11.2, 5}}) {
        const double rate =
            random_rate(profile, r.write, r.bytes) * static_cast<double>(r.bytes) * 8 / 1000;
        std::printf("random %s of %lu B behind the IOMMU: measured %.2f Gb/s, model %.2f, %+.2f%%\n",
                    r.write ? "writes" : "reads", static_cast<unsigned long>(r.bytes), r.measured,
                    rate, off(rate, r.measured));
        CAPTURE(r.write, r.bytes, rate);
        CHECK(std::abs(off(rate, r.measured)) < r.tolerance);
    }
}

TEST_CASE("hosts have the tails that were measured", "[calibration]") {
    NfpBench quiet(builtin_host_profile("haswell_e5_2637v3"), true);
    const std::vector<double> e5 = quiet.reads(64, 100000);
    CHECK(std::abs(off(e5[50000], 600)) < 10);
    CHECK(std::abs(off(e5[99900], 626)) < 10);
    NfpBench managed(builtin_host_profile("haswell_e3_1226v3"), true);
    const std::vector<double> e3 = managed.reads(64, 100000);
    CHECK(std::abs(off(e3.front(), 506)) < 10);
    CHECK(std::abs(off(e3[50000], 1226)) < 10);
    CHECK(std::abs(off(e3[95000], 3933)) < 10);
    CHECK(e3[99900] > 13000);
}

TEST_CASE("MMIO latency is the sum of its stages", "[calibration]") {
    // A doorbell: core to port, one TLP of 24 + 8 bytes, the flight. No measurement at hand: the
    // sum is what the model promises.
    const HostProfile profile = builtin_host_profile("broadwell_e5_2630v4");
    Link link({}, {.one_way = nanoseconds(75)}, 256);
    const Picoseconds wire = link.rate().time_for({32});
    const Link::Passage passage = link.downstream(profile.core_to_port, Link::Tlp::memory_write, 8);
    const double off_by =
        (passage.arrived - (nanoseconds(300) + wire + nanoseconds(75))).nanoseconds();
    CHECK(std::abs(off_by) < 0.01);
}
