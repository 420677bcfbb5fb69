// SPDX-License-Identifier: Apache-2.0
#include "scenarios/testbed/pacer.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace cxsim::scenarios {
namespace {

// Wall time that a slice should take at most: fine enough for any budget.
constexpr model::Picoseconds kGrain = model::microseconds(100);
constexpr model::Picoseconds kShortestSlice = model::microseconds(1);

}  // namespace

Pacer::WallClock Pacer::steady_clock() {
    return [] {
        const auto time = std::chrono::steady_clock::now().time_since_epoch();
        return model::nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
    };
}

Pacer::Pacer(model::Kernel& kernel, WallClock wall)
    : kernel_(kernel), wall_(std::move(wall)), start_(wall_() - kernel.now()) {}

bool Pacer::catch_up(model::Picoseconds budget) {
    const model::Picoseconds began = wall_();
    const model::Picoseconds target = began - start_ - given_up_;
    model::Picoseconds before = began;
    while (kernel_.now() < target) {
        const model::Picoseconds stretch = std::min(target - kernel_.now(), slice_);
        kernel_.run_until(kernel_.now() + stretch);
        const model::Picoseconds after = wall_();
        const model::Picoseconds took = after - before;
        if (took > kGrain) {
            slice_ = std::max(stretch / (took.value / kGrain.value + 1), kShortestSlice);
        } else if (took < kGrain / 4) {
            slice_ = std::min(slice_ * 2, kLongestSlice);
        }
        before = after;
        if (after - began >= budget) break;
    }
    if (kernel_.now() >= target) return true;
    stand_still();
    return false;
}

void Pacer::stand_still() {
    const model::Picoseconds lag = now() - kernel_.now();
    if (lag > kLongestLag) given_up_ += lag - kLongestLag;
}

}  // namespace cxsim::scenarios
