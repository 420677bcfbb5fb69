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
class TimelinePool {
  public:
    explicit TimelinePool(std::size_t servers) : free_at_(servers) {
        CX_ASSERT(servers > 0, "a pool without servers never serves");
    }

    /// First moment at or after `ready` at which a server is free.
    Picoseconds available(Picoseconds ready) const { return std::max(ready, free_at_.front()); }

    /// Takes the server that is free first until `finish`, which must not lie before
    /// available(ready) of the same request.
    void occupy_until(Picoseconds finish) {
        std::pop_heap(free_at_.begin(), free_at_.end(), later);
        free_at_.back() = std::max(free_at_.back(), finish);
        std::push_heap(free_at_.begin(), free_at_.end(), later);
    }
    std::size_t servers() const { return free_at_.size(); }
    void reset() { std::fill(free_at_.begin(), free_at_.end(), Picoseconds{}); }

  private:
    static bool later(Picoseconds a, Picoseconds b) { return a > b; }
    std::vector<Picoseconds> free_at_;  // min-heap
};

}  // namespace cxsim::model
