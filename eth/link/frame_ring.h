// SPDX-License-Identifier: Apache-2.0
// Frames in the order of their times. Takes memory only while it grows.
#pragma once

#include "model/base/assert.h"
#include "model/base/units.h"
#include "model/ports/frame.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace cxsim::eth {

class FrameRing {
  public:
    struct Entry {
        model::Picoseconds at;
        model::FramePtr frame;
    };

    FrameRing() : entries_(16) {}

    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    const Entry& front() const { return entries_[head_]; }

    void push(model::Picoseconds at, model::FramePtr frame) {
        if (size_ == entries_.size()) grow();
        Entry& entry = entries_[(head_ + size_) & (entries_.size() - 1)];
        entry.at = at;
        entry.frame = std::move(frame);
        ++size_;
    }
    model::FramePtr pop() {
        CX_ASSERT(size_ > 0, "no frame waits");
        model::FramePtr frame = std::move(entries_[head_].frame);
        head_ = (head_ + 1) & (entries_.size() - 1);
        --size_;
        return frame;
    }
    /// Gives all frames back. Returns how many there were.
    std::size_t clear() {
        const std::size_t count = size_;
        while (!empty()) pop();
        return count;
    }

  private:
    void grow() {
        std::vector<Entry> larger(entries_.size() * 2);
        for (std::size_t i = 0; i < size_; ++i) {
            larger[i] = std::move(entries_[(head_ + i) & (entries_.size() - 1)]);
        }
        entries_ = std::move(larger);
        head_ = 0;
    }

    std::vector<Entry> entries_;  // a power of two
    std::size_t head_ = 0;
    std::size_t size_ = 0;
};

}  // namespace cxsim::eth
