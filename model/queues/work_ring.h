// SPDX-License-Identifier: Apache-2.0
// Things in the order in which they were begun, for the few dozens that a queue has under way:
// grows to what was needed once, then allocates no more.
#pragma once

#include <cstddef>
#include <vector>

namespace cxsim::model {

template <class T>
class WorkRing {
  public:
    bool empty() const { return count_ == 0; }
    std::size_t size() const { return count_; }
    const T& front() const { return slots_[first_]; }
    /// The i-th oldest.
    const T& operator[](std::size_t i) const { return slots_[(first_ + i) & (slots_.size() - 1)]; }

    void push(const T& item) {
        if (count_ == slots_.size()) grow();
        slots_[(first_ + count_) & (slots_.size() - 1)] = item;
        ++count_;
    }
    void pop() {
        first_ = (first_ + 1) & (slots_.size() - 1);
        --count_;
    }
    /// Takes one out of the middle; those behind it move up.
    void remove(std::size_t i) {
        for (; i + 1 < count_; ++i) {
            slots_[(first_ + i) & (slots_.size() - 1)] = (*this)[i + 1];
        }
        --count_;
    }
    void clear() {
        first_ = 0;
        count_ = 0;
    }

  private:
    void grow() {
        std::vector<T> wider(slots_.empty() ? 8 : slots_.size() * 2);
        for (std::size_t i = 0; i < count_; ++i) wider[i] = (*this)[i];
        slots_.swap(wider);
        first_ = 0;
    }

    std::vector<T> slots_;  // a power of two
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

}  // namespace cxsim::model
