// SPDX-License-Identifier: Apache-2.0
// Draws of counts: how many of n, how long until the next.
#pragma once

#include "model/base/random.h"

#include <cstdint>

namespace cxsim::eth {

/// Stands for "never" among counts; sums of two still fit.
constexpr std::int64_t kNever = INT64_MAX / 4;

/// Failures before the first success of probability `p`: geometric, exact for p down to 1e-300
/// (p <= 0: kNever).
std::int64_t draw_gap(model::RandomStream& random, double p);

/// Successes among `n` trials of probability `p`. Exact up to 2^31 trials or 30 expected
/// successes; beyond, a Poisson (p below 1e-7) or normal draw, whose error nobody can see in
/// counts of that size.
std::int64_t draw_successes(model::RandomStream& random, std::int64_t n, double p);

/// Standard normal.
double draw_normal(model::RandomStream& random);

}  // namespace cxsim::eth
