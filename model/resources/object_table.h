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

/// `T` derives from Object. Numbers run from `first` to `first + limit - 1`. Objects with parts of
/// variable size (those that have a `charge`) are charged to `account`, in bytes, if there is one.
template <class T>
class ObjectTable {
  public:
    ObjectTable(ObjectKind kind, std::uint32_t first, std::uint32_t limit,
                std::uint64_t* account = nullptr)
        : kind_(kind), first_(first), limit_(limit), account_(account) {}

    /// Null when all numbers are taken.
    T* create() {
        if (count_ == limit_) return nullptr;
        // A number that a block took since it was freed may still be listed.
        while (!free_.empty() && slots_[free_.top()]) free_.pop();
        std::uint32_t index = 0;
        if (!free_.empty()) {
            index = free_.top();
            free_.pop();
        } else {
            index = static_cast<std::uint32_t>(slots_.size());
            slots_.emplace_back();
        }
        return fill(index);
    }

    /// `count` objects with consecutive numbers (the lowest run there is); returns the first. Null
    /// when no run is free.
    T* create_block(std::uint32_t count) {
        std::uint32_t start = 0;
        std::uint32_t run = 0;
        for (std::uint32_t i = 0; i < slots_.size() && run < count; ++i) {
            run = slots_[i] ? 0 : run + 1;
            if (run == 0) start = i + 1;
        }
        if (count == 0 || std::uint64_t{start} + count > limit_) return nullptr;
        if (slots_.size() < start + count) slots_.resize(start + count);
        for (std::uint32_t i = 0; i < count; ++i) fill(start + i);
        return slots_[start].get();
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
    T* fill(std::uint32_t index) {
        slots_[index] = std::make_unique<T>();
        slots_[index]->id = {kind_, first_ + index};
        if constexpr (requires(T& object, std::uint64_t& sum) { object.charge(sum); }) {
            if (account_ != nullptr) slots_[index]->charge(*account_);
        }
        ++count_;
        return slots_[index].get();
    }

    ObjectKind kind_;
    std::uint32_t first_;
    std::uint32_t limit_;
    std::uint64_t* account_;
    std::uint32_t count_ = 0;
    std::vector<std::unique_ptr<T>> slots_;
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_;
};

}  // namespace cxsim::model
