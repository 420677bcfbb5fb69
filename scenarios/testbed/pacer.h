// SPDX-License-Identifier: Apache-2.0
// Simulated time that follows the wall clock, for cards whose software runs in real time.
#pragma once

#include <functional>

#include "model/sim/kernel.h"

namespace cxsim::scenarios {

/// Keeps simulated time at the wall clock's, never ahead of it. A machine that is too slow for what
/// the cards do makes simulated time slower: what it lags behind by more than `kLongestLag` is given
/// up for good. Otherwise each access of a guest would wait until all of the lag is simulated, the
/// cards' timers would expire meanwhile, what they resend would add to the lag, and so on.
class Pacer {
  public:
    /// Time since an arbitrary start; monotonic.
    using WallClock = std::function<model::Picoseconds()>;

    static constexpr model::Picoseconds kLongestLag = model::milliseconds(10);
    /// Longest stretch of simulated time between two looks at the wall clock.
    static constexpr model::Picoseconds kLongestSlice = model::microseconds(500);

    /// Starts with simulated time as it is. The kernel outlives the pacer.
    explicit Pacer(model::Kernel& kernel, WallClock wall = steady_clock());

    /// Where simulated time should be: wall time since the start without what was given up. Not
    /// monotonic: it goes back when time is given up.
    model::Picoseconds now() const { return elapsed() - given_up_; }
    /// Wall time since the start.
    model::Picoseconds elapsed() const { return wall_() - start_; }

    /// Simulates up to now() as it is at the call, but leaves off when that has taken `budget` of
    /// wall time, by up to a slice more. Returns whether it got there.
    bool catch_up(model::Picoseconds budget);

    /// Simulates nothing: for times in which nobody could take what comes out. Counts as lag.
    void stand_still();

    /// What simulated time lost against the wall clock since the start.
    model::Picoseconds given_up() const { return given_up_; }

    /// The machine's monotonic clock.
    static WallClock steady_clock();

  private:
    model::Kernel& kernel_;
    WallClock wall_;
    model::Picoseconds start_;  // wall_() when simulated time was 0
    model::Picoseconds given_up_;
    model::Picoseconds slice_ = kLongestSlice;
};

}  // namespace cxsim::scenarios
