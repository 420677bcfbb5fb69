// SPDX-License-Identifier: Apache-2.0
// Time computed ahead: a resource knows until when it is taken, a request learns when it will be
// done, and nobody schedules an event for the waiting in between.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "model/base/assert.h"
#include "model/base/units.h"

namespace cxsim::model {

/// A resource that serves one request after the other (a pipeline stage, a link direction).
class Timeline {
  public:
    /// Takes the resource for `work` from the first moment at or after `ready` at which it is
    /// free. Returns when the work is done.
    Picoseconds reserve(Picoseconds ready, Picoseconds work) {
        const Picoseconds start = std::max(ready, busy_until_);
        busy_until_ = start + work;
        busy_time_ += work;
        return busy_until_;
    }
    Picoseconds busy_until() const { return busy_until_; }
    /// Total time reserved so far: utilisation over a run is busy_time / duration.
    Picoseconds busy_time() const { return busy_time_; }
    void reset() { *this = {}; }

  private:
    Picoseconds busy_until_;
    Picoseconds busy_time_;
};

/// A pool of equal servers (DMA tags, command slots): each request takes the one free first.
/// Ends mostly come in the order of the requests: a request costs as many steps as there are
/// servers that are taken until later than it ends.
class TimelinePool {
  public:
    explicit TimelinePool(std::size_t servers) : free_at_(servers) {
        CX_ASSERT(servers > 0, "a pool without servers never serves");
    }

    /// First moment at or after `ready` at which a server is free.
    Picoseconds available(Picoseconds ready) const { return std::max(ready, free_at_[first_]); }

    /// Takes the server that is free first until `finish`, which must not lie before
    /// available(ready) of the same request.
    void occupy_until(Picoseconds finish) {
        const Picoseconds until = std::max(free_at_[first_], finish);
        std::size_t place = first_;  // now the last one: who is free later moves there
        first_ = first_ + 1 == free_at_.size() ? 0 : first_ + 1;
        while (place != first_) {
            const std::size_t before = (place == 0 ? free_at_.size() : place) - 1;
            if (free_at_[before] <= until) break;
            free_at_[place] = free_at_[before];
            place = before;
        }
        free_at_[place] = until;
    }
    std::size_t servers() const { return free_at_.size(); }
    void reset() { std::fill(free_at_.begin(), free_at_.end(), Picoseconds{}); }

  private:
    std::vector<Picoseconds> free_at_;  // a ring in ascending order from first_ on
    std::size_t first_ = 0;
};

}  // namespace cxsim::model
