// SPDX-License-Identifier: Apache-2.0
// Objects by number. A lookup is one index into a vector; the lowest free number is given out
// first, so that the same commands get the same numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "model/resources/object.h"

namespace cxsim::model {

/// `T` derives from Object. Numbers run from `first` to `first + limit - 1`.
template <class T>
class ObjectTable {
  public:
    ObjectTable(ObjectKind kind, std::uint32_t first, std::uint32_t limit)
        : kind_(kind), first_(first), limit_(limit) {}

    /// Null when all numbers are taken.
    T* create() {
        if (count_ == limit_) return nullptr;
        std::uint32_t index = 0;
        if (!free_.empty()) {
            index = free_.top();
            free_.pop();
        } else {
            index = static_cast<std::uint32_t>(slots_.size());
            slots_.emplace_back();
        }
        slots_[index] = std::make_unique<T>();
        slots_[index]->id = {kind_, first_ + index};
        ++count_;
        return slots_[index].get();
    }

    T* find(std::uint32_t number) const {
        const std::uint32_t index = number - first_;  // wraps to a large value below `first`
        return index < slots_.size() ? slots_[index].get() : nullptr;
    }

    void erase(std::uint32_t number) {
        const std::uint32_t index = number - first_;
        slots_[index].reset();
        free_.push(index);
        --count_;
    }

    void clear() {
        slots_.clear();
        free_ = {};
        count_ = 0;
    }

    std::uint32_t size() const { return count_; }
    std::uint32_t limit() const { return limit_; }
    void set_limit(std::uint32_t limit) { limit_ = limit; }

    /// Calls `visit(T&)` for every object in the order of numbers.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const auto& slot : slots_) {
            if (slot) visit(*slot);
        }
    }

  private:
    ObjectKind kind_;
    std::uint32_t first_;
    std::uint32_t limit_;
    std::uint32_t count_ = 0;
    std::vector<std::unique_ptr<T>> slots_;
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_;
};

}  // namespace cxsim::model
