// SPDX-License-Identifier: Apache-2.0
// A resource reserved ahead of time by several users whose requests do not become ready in the
// order in which they are made: a request may use a gap before what others reserved for later.
#pragma once

#include "model/base/units.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace cxsim::pcie {

/// One direction of a link, a memory channel. A completion that was reserved for 500 ns ahead does
/// not delay the doorbell that crosses now. Bounded memory: of more than kIntervals separate busy
/// intervals the earliest is closed, nothing can be reserved before its end any more.
class GapTimeline {
  public:
    /// Gaps shorter than `min_gap` serve nobody and are closed at once.
    explicit GapTimeline(model::Picoseconds min_gap = {}) : min_gap_(min_gap) {}

    struct Slot {
        model::Picoseconds start;
        model::Picoseconds end;
    };

    /// Takes `work` from the first moment at or after `ready` at which it fits without a break.
    Slot reserve(model::Picoseconds ready, model::Picoseconds work) {
        busy_time_ += work;
        model::Picoseconds start = std::max(ready, floor_);
        // From the end: the usual request goes behind everything that is reserved.
        std::size_t at = count_;
        while (at > 0 && busy(at - 1).end > start) --at;
        // `at`: first interval that ends after start.
        while (at < count_ && busy(at).start < start + work) {
            start = std::max(start, busy(at).end);
            ++at;
        }
        insert(at, {start, start + work});
        return {start, start + work};
    }

    model::Picoseconds busy_time() const { return busy_time_; }
    std::size_t intervals() const { return count_; }
    void reset() { *this = GapTimeline(min_gap_); }

  private:
    static constexpr std::size_t kIntervals = 64;  // a power of two

    Slot& busy(std::size_t index) { return ring_[(first_ + index) & (kIntervals - 1)]; }
    bool joins(const Slot& a, const Slot& b) const { return b.start - a.end <= min_gap_; }

    /// Puts `slot` before busy(at); it overlaps neither neighbour.
    void insert(std::size_t at, Slot slot) {
        const bool left = at > 0 && joins(busy(at - 1), slot);
        const bool right = at < count_ && joins(slot, busy(at));
        if (left && right) {
            busy(at - 1).end = busy(at).end;
            for (--count_; at < count_; ++at) busy(at) = busy(at + 1);
        } else if (left) {
            busy(at - 1).end = slot.end;
        } else if (right) {
            busy(at).start = slot.start;
        } else {
            if (count_ == kIntervals) {
                if (at == 0) {  // older than all that is remembered: it closes the past
                    floor_ = std::max(floor_, slot.end);
                    return;
                }
                floor_ = busy(0).end;
                ++first_;
                --count_;
                --at;
            }
            for (std::size_t i = count_++; i > at; --i) busy(i) = busy(i - 1);
            busy(at) = slot;
        }
    }

    std::array<Slot, kIntervals> ring_{};  // in the order of time from first_ on
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    model::Picoseconds floor_;
    model::Picoseconds min_gap_;
    model::Picoseconds busy_time_;
};

}  // namespace cxsim::pcie
