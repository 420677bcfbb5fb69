// SPDX-License-Identifier: Apache-2.0
#include "eth/link/error_process.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <cmath>
#include <vector>

using namespace cxsim;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using eth::ErrorProcess;
using eth::FecStatistics;
using eth::PhyCounters;
using model::FecMode;
using model::LinkMode;
using model::Picoseconds;
using model::picoseconds;
using model::RandomStream;

namespace {

struct Line {
    Line(LinkMode link_mode, FecMode fec, double ratio, std::uint64_t seed = 1)
        : mode(eth::facts_of(link_mode)), process(RandomStream(seed, "line")) {
        process.start({}, mode, eth::facts_of(fec), ratio);
    }
    /// Frames of `octets` (with FCS) back to back; returns how many were damaged.
    std::uint64_t frames(std::uint64_t count, std::uint32_t octets, std::uint32_t gap = 12) {
        std::uint64_t damaged = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            const Picoseconds end = at + mode.rate.time_for({8 + std::uint64_t{octets}});
            if (process.frame(at, end, phy)) ++damaged;
            at = end + mode.rate.time_for({gap});
        }
        return damaged;
    }
    std::uint64_t codewords() const {
        return phy.rs_corrected_blocks.value() + phy.rs_uncorrectable_blocks.value() +
               phy.rs_no_errors_blocks.value();
    }

    const eth::ModeFacts& mode;
    ErrorProcess process;
    model::stats::Group root{"root"};
    PhyCounters phy{root, "phy"};
    Picoseconds at;
};

double count(const model::stats::Counter& counter) {
    return static_cast<double>(counter.value());
}

}  // namespace

TEST_CASE("codewords fail as often as the binomial tail says", "[errors]") {
    struct Row {
        LinkMode mode;
        FecMode fec;
        double ratio;
        std::int64_t milliseconds;
    };
    // Times long enough that five standard errors stay within 5 %.
    for (const Row& row : {Row{LinkMode::speed_100g_4x, FecMode::rs_528_514, 5e-4, 200},
                           Row{LinkMode::speed_25g, FecMode::rs_528_514, 1e-3, 100},
                           Row{LinkMode::speed_100g_2x, FecMode::rs_544_514, 1e-3, 5000},
                           Row{LinkMode::speed_200g_4x, FecMode::rs_544_514, 1e-3, 3000},
                           Row{LinkMode::speed_400g_4x, FecMode::rs_544_514, 1e-3, 1000}}) {
        Line line(row.mode, row.fec, row.ratio);
        INFO(line.mode.name);
        for (int step = 1; step <= 100; ++step) {
            line.process.account(model::microseconds(row.milliseconds * 10 * step), line.phy);
        }
        const double expected = FecStatistics(eth::facts_of(row.fec), row.ratio).uncorrectable();
        const double seconds = static_cast<double>(row.milliseconds) * 1e-3;
        const double blocks =
            line.mode.line_rate.value * seconds / eth::facts_of(row.fec).codeword_bits;
        CHECK_THAT(static_cast<double>(line.codewords()), WithinRel(blocks, 1e-4));
        CHECK_THAT(count(line.phy.rs_uncorrectable_blocks) / blocks, WithinRel(expected, 0.05));
        // All error bits are found again: corrected or not.
        const double errors = count(line.phy.corrected_bits) + count(line.phy.symbol_errors);
        CHECK_THAT(errors, WithinRel(line.mode.line_rate.value * seconds * row.ratio, 0.01));
        CHECK_THAT(count(line.phy.received_bits),
                   WithinRel(line.mode.line_rate.value * seconds, 1e-9));
        double raw = 0;
        for (std::size_t i = 0; i < PhyCounters::kLanes; ++i) raw += count(line.phy.raw_errors[i]);
        CHECK(raw == errors);
        CHECK_THAT(count(line.phy.raw_errors[0]), WithinRel(raw / line.mode.lanes, 0.02));
    }
}

TEST_CASE("codewords drawn frame by frame fail as often as those drawn in bulk", "[errors]") {
    Line line(LinkMode::speed_100g_4x, FecMode::rs_528_514, 5e-4);
    line.frames(400'000, 1518);
    line.process.account(line.at, line.phy);
    const double expected = FecStatistics(eth::facts_of(FecMode::rs_528_514), 5e-4).uncorrectable();
    const double blocks = static_cast<double>(line.codewords());
    CHECK_THAT(blocks, WithinRel(400'000.0 * 1538 / 640, 0.001));
    CHECK_THAT(count(line.phy.rs_uncorrectable_blocks) / blocks, WithinRel(expected, 0.05));
}

TEST_CASE("without FEC frames are lost by the arithmetic of their bits", "[errors]") {
    struct Row {
        double ratio;
        std::uint32_t octets;
        std::uint64_t frames;
    };
    for (const Row& row : {Row{1e-6, 1518, 400'000}, Row{1e-5, 1518, 100'000},
                           Row{1e-4, 64, 200'000}, Row{1e-3, 64, 50'000}}) {
        INFO(row.ratio << " " << row.octets);
        Line line(LinkMode::speed_25g, FecMode::none, row.ratio);
        const double damaged = static_cast<double>(line.frames(row.frames, row.octets));
        const double expected = -std::expm1(8.0 * row.octets * std::log1p(-row.ratio));
        const double n = static_cast<double>(row.frames);
        CHECK_THAT(damaged / n, WithinAbs(expected, 5 * std::sqrt(expected / n)));
        line.process.account(line.at, line.phy);
        CHECK(line.phy.corrected_bits.value() == 0);
        CHECK_THAT(count(line.phy.symbol_errors),
                   WithinRel(count(line.phy.received_bits) * row.ratio, 0.1));
    }
}

TEST_CASE("a bad codeword damages every frame that it carries a part of", "[errors]") {
    // 64-byte frames: 7.6 of them in the 640 bytes of a codeword.
    Line line(LinkMode::speed_100g_4x, FecMode::rs_528_514, 5e-4);
    const double damaged = static_cast<double>(line.frames(500'000, 64));
    const double bad = count(line.phy.rs_uncorrectable_blocks);
    // A frame with its preamble takes 72 of 84 bytes: it touches 1 + 72/640 codewords.
    const double frames = 500'000;
    const double share = FecStatistics(eth::facts_of(FecMode::rs_528_514), 5e-4).uncorrectable();
    CHECK_THAT(damaged / frames, WithinRel(share * (1 + 72.0 / 640), 0.1));
    CHECK(damaged > 6 * bad);
}

TEST_CASE("errors below the FEC's power damage nothing and are counted", "[errors]") {
    Line line(LinkMode::speed_100g_2x, FecMode::rs_544_514, 1e-5);
    CHECK(line.frames(100'000, 1518) == 0);
    line.process.account(line.at, line.phy);
    CHECK(line.phy.rs_corrected_blocks.value() > 0);
    CHECK(line.phy.rs_uncorrectable_blocks.value() == 0);
    CHECK(line.phy.symbol_errors.value() == 0);
    CHECK_THAT(count(line.phy.corrected_bits),
               WithinRel(count(line.phy.received_bits) * 1e-5, 0.05));
    CHECK(line.phy.rs_single_error_blocks.value() > 0);
    CHECK(line.phy.rs_single_error_blocks.value() < line.phy.rs_corrected_blocks.value());
    CHECK(line.phy.rs_corrected_symbols.value() <= line.phy.corrected_bits.value());
}

TEST_CASE("FireCode blocks are counted on their lanes", "[errors]") {
    Line line(LinkMode::speed_50g_2x, FecMode::firecode, 1e-5);
    line.process.account(model::milliseconds(100), line.phy);
    const FecStatistics statistics(eth::facts_of(FecMode::firecode), 1e-5);
    const double blocks = line.mode.line_rate.value * 0.1 / 2112;
    const double bad =
        count(line.phy.fc_uncorrectable_blocks[0]) + count(line.phy.fc_uncorrectable_blocks[1]);
    CHECK_THAT(bad / blocks, WithinRel(statistics.uncorrectable(), 0.1));
    CHECK(line.phy.fc_corrected_blocks[0].value() > 0);
    CHECK(line.phy.fc_corrected_blocks[1].value() > 0);
    CHECK(line.phy.fc_corrected_blocks[2].value() == 0);
    CHECK(line.codewords() == 0);
}

TEST_CASE("a new bit error ratio holds from its moment on", "[errors]") {
    Line line(LinkMode::speed_25g, FecMode::none, 0.0);
    CHECK(line.frames(10'000, 1518) == 0);
    line.process.set_bit_error_ratio(line.at, 1e-4, line.phy);
    CHECK(line.phy.symbol_errors.value() == 0);
    CHECK(line.frames(1000, 1518) > 500);
    line.process.set_bit_error_ratio(line.at, 0.0, line.phy);
    const auto errors = line.phy.symbol_errors.value();
    CHECK(line.frames(10'000, 1518) == 0);
    line.process.account(line.at, line.phy);
    CHECK(line.phy.symbol_errors.value() == errors);
}

TEST_CASE("the same seed breaks the same frames", "[errors]") {
    std::vector<bool> runs[3];
    for (int run = 0; run < 3; ++run) {
        Line line(LinkMode::speed_25g, FecMode::none, 1e-5, run == 2 ? 9 : 4);
        for (int i = 0; i < 500; ++i) runs[run].push_back(line.frames(1, 1518) != 0);
    }
    CHECK(runs[0] == runs[1]);
    CHECK(runs[0] != runs[2]);
}
