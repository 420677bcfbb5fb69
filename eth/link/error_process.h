// SPDX-License-Identifier: Apache-2.0
// The bit errors of one direction of a link and what FEC makes of them, without simulating bits:
// the next error (or codeword with errors) is drawn as a distance, everything before it is clean.
// That is exact in distribution, since errors are independent: nothing is drawn for a frame
// between two errors. Idle time passes in one step, when somebody asks.
#pragma once

#include "eth/link/fec_code.h"
#include "eth/link/link_mode.h"
#include "eth/link/phy_counters.h"
#include "model/base/random.h"

#include <cstdint>
#include <optional>

namespace cxsim::eth {

class ErrorProcess {
  public:
    explicit ErrorProcess(model::RandomStream random) : random_(random) {}

    /// The link came up at `at`.
    void start(model::Picoseconds at, const ModeFacts& mode, const FecFacts& fec,
               double bit_error_ratio);
    /// The link went down. Accounts up to `at`.
    void stop(model::Picoseconds at, PhyCounters& counters);
    /// For what is sent from now on. Accounts up to `at`.
    void set_bit_error_ratio(model::Picoseconds at, double ratio, PhyCounters& counters);

    /// Whether a frame from `first_bit` (of the preamble) to `last_bit` is hit beyond correction.
    /// Frames come in the order of their times.
    bool frame(model::Picoseconds first_bit, model::Picoseconds last_bit, PhyCounters& counters);
    /// Everything that has passed until `at`.
    void account(model::Picoseconds at, PhyCounters& counters);

  private:
    double unit_at(model::Picoseconds at) const {
        return static_cast<double>((at - start_).value) * units_per_picosecond_;
    }
    /// Accounts for the units below `end` (bits, or codewords). Returns whether one of them is
    /// beyond correction.
    bool pass(std::int64_t end, PhyCounters& counters);
    bool pass_bits(std::int64_t end, PhyCounters& counters);
    bool pass_codewords(std::int64_t end, PhyCounters& counters);
    void spread_raw(std::int64_t bits, PhyCounters& counters);
    void redraw();

    model::RandomStream random_;
    const ModeFacts* mode_ = nullptr;  ///< null: down
    const FecFacts* fec_ = nullptr;
    double ratio_ = 0;
    std::optional<FecStatistics> statistics_;
    model::Picoseconds start_;
    double units_per_picosecond_ = 0;  ///< MAC bits, or groups of codewords
    std::int64_t group_ = 1;           ///< codewords that arrive together
    std::int64_t passed_ = 0;          ///< units accounted for
    std::int64_t next_error_ = 0;      ///< first unit with an error
    bool last_group_bad_ = false;
    double line_bits_ = 0;  ///< counted as received so far
};

}  // namespace cxsim::eth
