// SPDX-License-Identifier: Apache-2.0
// Credits computed ahead: a request learns when enough of what earlier ones hold has come back.
#pragma once

#include "model/base/assert.h"
#include "model/base/units.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cxsim::pcie {

/// Flow control credits of one type, or a buffer. Who asks for now takes what comes back first,
/// though others have taken credits for a later time: requests are not made in the order in which
/// they become ready.
class CreditWindow {
  public:
    /// `capacity` units at the start; requests of up to that many.
    explicit CreditWindow(std::uint32_t capacity) : capacity_(capacity), free_(capacity) {
        CX_ASSERT(capacity > 0, "a window without credits blocks for ever");
        // Each holder has at least one unit, so there are never more than `capacity` of them.
        ring_.resize(capacity);
    }

    /// Takes `units` (1 to capacity) at the first moment at or after `ready` at which they are
    /// there. The caller must say with give_back() when they return, before the next acquire().
    model::Picoseconds acquire(model::Picoseconds ready, std::uint32_t units) {
        CX_ASSERT(units > 0 && units <= capacity_, "{} of {} credits", units, capacity_);
        while (free_ < units) {
            ready = std::max(ready, ring_[head_].back_at);
            pop();
        }
        free_ -= units;
        return ready;
    }

    /// When `units` just acquired will be back.
    void give_back(model::Picoseconds at, std::uint32_t units) {
        CX_ASSERT(count_ < ring_.size(), "more holders than credits");
        // Most come back last: the place is found from the end.
        std::size_t place = slot(count_++);
        for (std::size_t i = count_ - 1; i > 0; --i) {
            const std::size_t before = slot(i - 1);
            if (ring_[before].back_at <= at) break;
            ring_[place] = ring_[before];
            place = before;
        }
        ring_[place] = {at, units};
    }

    std::uint32_t capacity() const { return capacity_; }
    void reset() {
        head_ = count_ = 0;
        free_ = capacity_;
    }

  private:
    struct Holder {
        model::Picoseconds back_at;
        std::uint32_t units;
    };
    std::size_t slot(std::size_t index) const {
        const std::size_t place = head_ + index;
        return place < ring_.size() ? place : place - ring_.size();
    }
    void pop() {
        free_ += ring_[head_].units;
        if (++head_ == ring_.size()) head_ = 0;
        --count_;
    }

    std::uint32_t capacity_;
    std::uint32_t free_;
    std::vector<Holder> ring_;  // by back_at from head_ on
    std::size_t head_ = 0;
    std::size_t count_ = 0;
};

}  // namespace cxsim::pcie
