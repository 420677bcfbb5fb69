// SPDX-License-Identifier: Apache-2.0
// What independent bit errors do to the codewords of a FEC code: probabilities by the binomial
// distribution, draws of error counts.
#pragma once

#include "eth/link/link_mode.h"
#include "model/base/random.h"

#include <array>
#include <cstdint>
#include <vector>

namespace cxsim::eth {

/// Errors of some codewords.
struct CodewordErrors {
    std::int64_t symbols = 0;
    std::int64_t bits = 0;
    std::int64_t single = 0;  ///< codewords with one symbol in error
};

/// A code (not FecMode::none) at a bit error ratio.
class FecStatistics {
  public:
    FecStatistics(const FecFacts& code, double bit_error_ratio);

    /// Probability that a codeword has an error at all.
    double errored() const { return errored_; }
    /// ... has more errors than the code corrects.
    double uncorrectable() const { return uncorrectable_; }
    double corrected() const { return errored_ - uncorrectable_; }
    /// Of the codewords with errors, the share beyond correction.
    double uncorrectable_share() const { return errored_ > 0 ? uncorrectable_ / errored_ : 0.0; }

    /// Errors in `codewords` that are all correctable, with an error each (or all beyond
    /// correction). Exact for up to 64, a normal draw with the right mean and variance for more.
    CodewordErrors draw_corrected(model::RandomStream& random, std::int64_t codewords) const;
    CodewordErrors draw_uncorrectable(model::RandomStream& random, std::int64_t codewords) const;

  private:
    /// Symbol errors of one codeword under a condition, first value `lowest`.
    struct Conditional {
        std::uint32_t lowest = 1;
        std::vector<double> cumulative;
        double mean = 0;
        double variance = 0;
    };
    static Conditional conditional(const std::vector<double>& mass, std::uint32_t lowest,
                                   std::uint32_t highest);
    CodewordErrors draw(model::RandomStream& random, const Conditional& of,
                        std::int64_t codewords) const;

    std::uint32_t symbol_bits_;
    double errored_ = 0;
    double uncorrectable_ = 0;
    std::array<double, 10> bits_cumulative_{};  ///< bit errors of a symbol that has one
    double extra_bits_ = 0;                     ///< mean beyond the first
    Conditional when_corrected_;
    Conditional when_uncorrectable_;
};

}  // namespace cxsim::eth
