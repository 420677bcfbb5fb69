// SPDX-License-Identifier: Apache-2.0
// Connections that have something to send, in the order in which they get the port.
#pragma once

#include "model/sim/calendar.h"

#include <cstdint>
#include <vector>

namespace cxsim::roce {

class SendTurns {
  public:
    struct Entry {
        std::uint32_t number = 0;
        std::uint32_t generation = 0;
        std::uint64_t tag = 0;
    };

    bool empty() const { return count_ == 0; }
    const Entry& front() const { return ring_[first_]; }
    void push(const Entry& entry) {
        if (count_ == ring_.size()) grow();
        ring_[(first_ + count_) & (ring_.size() - 1)] = entry;
        ++count_;
    }
    void pop() {
        first_ = (first_ + 1) & (ring_.size() - 1);
        --count_;
    }

    model::EventHandle event;  ///< the next turn, if `scheduled`
    bool scheduled = false;
    bool serving = false;      ///< turns are being given right now

  private:
    void grow() {
        std::vector<Entry> larger(ring_.empty() ? 8 : 2 * ring_.size());
        for (std::size_t i = 0; i < count_; ++i) {
            larger[i] = ring_[(first_ + i) & (ring_.size() - 1)];
        }
        ring_.swap(larger);
        first_ = 0;
    }

    std::vector<Entry> ring_;  // a power of two
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

}  // namespace cxsim::roce
