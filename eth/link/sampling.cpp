// SPDX-License-Identifier: Apache-2.0
#include "eth/link/sampling.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace cxsim::eth {

using model::RandomStream;

namespace {

constexpr double kFewSuccesses = 30;
constexpr double kRare = 1e-7;
constexpr double kManySuccesses = 1e8;

// (0, 1]: its logarithm is finite.
double positive_uniform(RandomStream& random) {
    return 1.0 - random.uniform();
}

}  // namespace

std::int64_t draw_gap(RandomStream& random, double p) {
    if (p <= 0) return kNever;
    if (p >= 1) return 0;
    const double gap = std::floor(std::log(positive_uniform(random)) / std::log1p(-p));
    return gap < static_cast<double>(kNever) ? static_cast<std::int64_t>(gap) : kNever;
}

double draw_normal(RandomStream& random) {
    // Box and Muller; the second value is not kept, so that streams stay easy to follow.
    const double radius = std::sqrt(-2.0 * std::log(positive_uniform(random)));
    return radius * std::cos(2.0 * std::numbers::pi * random.uniform());
}

std::int64_t draw_successes(RandomStream& random, std::int64_t n, double p) {
    if (n <= 0 || p <= 0) return 0;
    if (p >= 1) return n;
    if (p > 0.5) return n - draw_successes(random, n, 1.0 - p);
    const double mean = static_cast<double>(n) * p;
    if (mean < kFewSuccesses) {
        // From success to success: exact, and as many draws as there are successes.
        std::int64_t count = 0;
        for (std::int64_t at = draw_gap(random, p); at < n; at += 1 + draw_gap(random, p)) {
            ++count;
        }
        return count;
    }
    if (mean > kManySuccesses) {
        const double drawn = mean + std::sqrt(mean * (1.0 - p)) * draw_normal(random);
        return std::clamp<std::int64_t>(std::llround(drawn), 0, n);
    }
    if (p < kRare) {
        std::poisson_distribution<std::int64_t> distribution(mean);
        return std::min(distribution(random), n);
    }
    std::binomial_distribution<std::int64_t> distribution(n, p);
    return distribution(random);
}

}  // namespace cxsim::eth
