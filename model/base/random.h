// SPDX-License-Identifier: Apache-2.0
// Seeded random streams, one per component: the same seed and component path give the same draws,
// whatever the other components do.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cxsim::model {

/// xoshiro256** (Blackman and Vigna, 2018), seeded by SplitMix64 over the run's seed and the
/// component's path. Satisfies UniformRandomBitGenerator.
class RandomStream {
  public:
    using result_type = std::uint64_t;

    RandomStream(std::uint64_t seed, std::string_view component);

    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return UINT64_MAX; }
    result_type operator()();

    /// Uniform in [0, bound); bound must be above 0. No modulo bias (Lemire's method).
    std::uint64_t below(std::uint64_t bound);
    /// Uniform in [0, 1) with 53 bits.
    double uniform();

  private:
    std::array<std::uint64_t, 4> state_;
};

}  // namespace cxsim::model
