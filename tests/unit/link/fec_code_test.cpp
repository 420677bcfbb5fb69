// SPDX-License-Identifier: Apache-2.0
#include "eth/link/fec_code.h"

#include "eth/link/error_process.h"
#include "eth/link/sampling.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <cmath>

using namespace cxsim;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using eth::CodewordErrors;
using eth::FecStatistics;
using model::FecMode;
using model::LinkMode;
using model::RandomStream;

TEST_CASE("codeword error ratios are the published binomial tails", "[fec]") {
    struct Row {
        FecMode mode;
        double bit_error_ratio;
        double codeword_error_ratio;
    };
    const Row rows[] = {
        {FecMode::rs_528_514, 1e-5, 1.36e-15},   {FecMode::rs_528_514, 2.1e-5, 4.87e-13},
        {FecMode::rs_528_514, 5e-5, 4.40e-10},   {FecMode::rs_528_514, 1e-4, 8.93e-8},
        {FecMode::rs_528_514, 2.4e-4, 5.15e-5},  {FecMode::rs_528_514, 5e-4, 5.6e-3},
        {FecMode::rs_528_514, 1e-3, 0.16},       {FecMode::rs_544_514, 1e-4, 1.36e-18},
        {FecMode::rs_544_514, 2.2e-4, 2.24e-13}, {FecMode::rs_544_514, 2.4e-4, 8.15e-13},
        {FecMode::rs_544_514, 3e-4, 2.14e-11},   {FecMode::rs_544_514, 5e-4, 2.79e-8},
        {FecMode::rs_544_514, 1e-3, 1.53e-4},
    };
    for (const Row& row : rows) {
        INFO(eth::facts_of(row.mode).name << " at " << row.bit_error_ratio);
        const FecStatistics statistics(eth::facts_of(row.mode), row.bit_error_ratio);
        CHECK_THAT(statistics.uncorrectable(), WithinRel(row.codeword_error_ratio, 0.05));
    }
}

TEST_CASE("the FireCode fails when two errors lie further apart than a burst", "[fec]") {
    // Two errors among 2112 bits, seldom within 11 of each other.
    const double ratio = 1e-7;
    const FecStatistics statistics(eth::facts_of(FecMode::firecode), ratio);
    const double pairs = 2112.0 * 2111.0 / 2 - (2112.0 * 10 - 55);
    CHECK_THAT(statistics.uncorrectable(), WithinRel(pairs * ratio * ratio, 0.001));
    CHECK_THAT(statistics.errored(), WithinRel(2112 * ratio, 0.001));
}

TEST_CASE("without errors no codeword has one", "[fec]") {
    const FecStatistics statistics(eth::facts_of(FecMode::rs_544_514), 0.0);
    CHECK(statistics.errored() == 0);
    CHECK(statistics.uncorrectable() == 0);
    CHECK(statistics.uncorrectable_share() == 0);
}

TEST_CASE("drawn symbol and bit errors have the mean of the conditional distribution", "[fec]") {
    RandomStream random(7, "test");
    const double ratio = 5e-4;
    const FecStatistics statistics(eth::facts_of(FecMode::rs_528_514), ratio);
    // Given 1 to 7 symbol errors: almost all the errors there are; E[bits] = 5280 * ratio in all.
    std::int64_t one_by_one = 0;
    std::int64_t in_bulk = 0;
    std::int64_t single_each = 0;
    std::int64_t single_bulk = 0;
    constexpr std::int64_t kCodewords = 64 * 2000;
    for (int i = 0; i < 2000; ++i) {
        const CodewordErrors errors = statistics.draw_corrected(random, 64);
        one_by_one += errors.bits;
        single_each += errors.single;
        CHECK(errors.bits >= errors.symbols);
        CHECK(errors.symbols >= 64);
    }
    const CodewordErrors bulk = statistics.draw_corrected(random, kCodewords);
    in_bulk = bulk.bits;
    single_bulk = bulk.single;
    CHECK_THAT(static_cast<double>(in_bulk), WithinRel(static_cast<double>(one_by_one), 0.01));
    CHECK_THAT(static_cast<double>(single_bulk), WithinRel(static_cast<double>(single_each), 0.03));
    const CodewordErrors bad = statistics.draw_uncorrectable(random, 64);
    CHECK(bad.symbols >= 64 * 8);
}

TEST_CASE("counts of successes have mean and variance of the binomial distribution", "[sampling]") {
    RandomStream random(3, "test");
    struct Row {
        std::int64_t n;
        double p;
    };
    for (const Row& row : {Row{10, 0.3}, Row{10, 0.8}, Row{1'000'000, 1e-6}, Row{100'000, 0.01},
                           Row{100'000'000'000, 1e-9}, Row{4'000'000'000, 0.1}}) {
        INFO(row.n << " of " << row.p);
        constexpr int kDraws = 20'000;
        double sum = 0;
        double squares = 0;
        const double mean = static_cast<double>(row.n) * row.p;
        for (int i = 0; i < kDraws; ++i) {
            const std::int64_t drawn = eth::draw_successes(random, row.n, row.p);
            CHECK((drawn >= 0 && drawn <= row.n));
            const double off = static_cast<double>(drawn) - mean;
            sum += off;
            squares += off * off;
        }
        const double variance = mean * (1 - row.p);
        // Five standard errors of the mean; of the variance 5 %.
        CHECK_THAT(sum / kDraws, WithinAbs(0, 5 * std::sqrt(variance / kDraws)));
        CHECK_THAT(squares / kDraws, WithinRel(variance, 0.06));
    }
    CHECK(eth::draw_successes(random, 0, 0.5) == 0);
    CHECK(eth::draw_successes(random, 10, 0.0) == 0);
    CHECK(eth::draw_successes(random, 10, 1.0) == 10);
}

TEST_CASE("gaps are geometric and never end without errors", "[sampling]") {
    RandomStream random(5, "test");
    CHECK(eth::draw_gap(random, 0) == eth::kNever);
    CHECK(eth::draw_gap(random, 1) == 0);
    double sum = 0;
    for (int i = 0; i < 100'000; ++i) sum += static_cast<double>(eth::draw_gap(random, 1e-3));
    CHECK_THAT(sum / 100'000, WithinRel(999.0, 0.02));
}
