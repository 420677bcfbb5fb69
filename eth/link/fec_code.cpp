// SPDX-License-Identifier: Apache-2.0
#include "eth/link/fec_code.h"

#include "eth/link/sampling.h"
#include "model/base/assert.h"

#include <algorithm>
#include <cmath>

namespace cxsim::eth {

using model::FecMode;
using model::RandomStream;

namespace {

constexpr std::int64_t kDrawEach = 64;

// Binomial probabilities of 0 to n successes, by logarithms: no underflow on the way.
std::vector<double> binomial(std::uint32_t n, double p) {
    std::vector<double> mass(n + 1, 0.0);
    if (p <= 0) {
        mass[0] = 1;
        return mass;
    }
    const double log_p = std::log(p);
    const double log_q = std::log1p(-p);
    for (std::uint32_t k = 0; k <= n; ++k) {
        const double log_choose =
            std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0);
        mass[k] = std::exp(log_choose + k * log_p + (n - k) * log_q);
    }
    return mass;
}

double sum(const std::vector<double>& mass, std::size_t from, std::size_t to) {
    double total = 0;
    for (std::size_t k = to; k > from; --k) total += mass[k - 1];  // the small ones first
    return total;
}

}  // namespace

FecStatistics::Conditional FecStatistics::conditional(const std::vector<double>& mass,
                                                      std::uint32_t lowest, std::uint32_t highest) {
    Conditional of;
    of.lowest = lowest;
    const double total = sum(mass, lowest, highest + 1);
    double so_far = 0;
    double squares = 0;
    for (std::uint32_t k = lowest; k <= highest; ++k) {
        // Without any probability the lowest count stands for all.
        const double share = total > 0 ? mass[k] / total : (k == lowest ? 1.0 : 0.0);
        so_far += share;
        of.cumulative.push_back(so_far);
        of.mean += share * k;
        squares += share * k * k;
        if (so_far > 1.0 - 1e-15) break;
    }
    of.variance = std::max(0.0, squares - of.mean * of.mean);
    return of;
}

FecStatistics::FecStatistics(const FecFacts& code, double bit_error_ratio)
    : symbol_bits_(code.symbol_bits) {
    CX_ASSERT(code.mode != FecMode::none, "no code, no codewords");
    const double log_good = std::log1p(-bit_error_ratio);
    const double symbol = -std::expm1(code.symbol_bits * log_good);
    errored_ = -std::expm1(static_cast<double>(code.codeword_bits) * log_good);
    std::vector<double> mass = binomial(code.symbols, symbol);

    if (code.mode == FecMode::firecode) {
        // Correctable: all errors lie within a burst of 11 bits. Sum over the first error's place;
        // everything behind its burst is clean. What is left fails; for tiny ratios that is the
        // chance of two errors further apart, computed as such to keep its digits.
        const auto n = static_cast<std::int64_t>(code.symbols);
        const auto burst = static_cast<std::int64_t>(code.correctable);
        double fails = 0;
        for (std::int64_t first = 0; first < n; ++first) {
            const auto behind = static_cast<double>(std::max<std::int64_t>(0, n - first - burst));
            fails += std::exp(static_cast<double>(first) * log_good) * bit_error_ratio *
                     -std::expm1(behind * log_good);
        }
        uncorrectable_ = fails;
        // Approximation: bit counts of a corrected burst are those of blocks with few errors;
        // two and more errors within 11 bits are rarer than 1 % of them below 1e-3.
        when_corrected_ = conditional(mass, 1, 2);
        when_uncorrectable_ = conditional(mass, 2, code.symbols);
    } else {
        uncorrectable_ = sum(mass, code.correctable + 1, code.symbols + 1);
        when_corrected_ = conditional(mass, 1, code.correctable);
        when_uncorrectable_ = conditional(mass, code.correctable + 1, code.symbols);
    }

    const std::vector<double> bits = binomial(code.symbol_bits, bit_error_ratio);
    double so_far = 0;
    double mean = 0;
    for (std::uint32_t k = 1; k <= code.symbol_bits; ++k) {
        const double share = symbol > 0 ? bits[k] / symbol : (k == 1 ? 1.0 : 0.0);
        so_far += share;
        mean += share * k;
        bits_cumulative_[k - 1] = so_far;
    }
    extra_bits_ = std::max(0.0, mean - 1.0);
}

CodewordErrors FecStatistics::draw(RandomStream& random, const Conditional& of,
                                   std::int64_t codewords) const {
    CodewordErrors errors;
    if (codewords <= 0) return errors;
    if (codewords > kDrawEach) {
        const auto n = static_cast<double>(codewords);
        const double drawn = n * of.mean + std::sqrt(n * of.variance) * draw_normal(random);
        errors.symbols = std::max(static_cast<std::int64_t>(of.lowest) * codewords,
                                  static_cast<std::int64_t>(std::llround(drawn)));
        errors.bits = errors.symbols + draw_successes(random, errors.symbols, extra_bits_);
        if (of.lowest == 1) errors.single = draw_successes(random, codewords, of.cumulative[0]);
        return errors;
    }
    for (std::int64_t i = 0; i < codewords; ++i) {
        const double u = random.uniform();
        std::size_t k = 0;
        while (k + 1 < of.cumulative.size() && u >= of.cumulative[k]) ++k;
        const auto symbols = static_cast<std::int64_t>(of.lowest + k);
        errors.symbols += symbols;
        if (symbols == 1) ++errors.single;
        for (std::int64_t symbol = 0; symbol < symbols; ++symbol) {
            ++errors.bits;
            if (extra_bits_ <= 0) continue;
            const double v = random.uniform();
            for (std::uint32_t bit = 0; bit + 1 < symbol_bits_ && v >= bits_cumulative_[bit];
                 ++bit) {
                ++errors.bits;
            }
        }
    }
    return errors;
}

CodewordErrors FecStatistics::draw_corrected(RandomStream& random, std::int64_t codewords) const {
    return draw(random, when_corrected_, codewords);
}

CodewordErrors FecStatistics::draw_uncorrectable(RandomStream& random,
                                                 std::int64_t codewords) const {
    return draw(random, when_uncorrectable_, codewords);
}

}  // namespace cxsim::eth
