// SPDX-License-Identifier: Apache-2.0
#include "scenarios/testbed/interrupt_times.h"

#include <algorithm>
#include <vector>

#include "model/prm/view.h"
#include "prm/layouts.h"

namespace cxsim::scenarios {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kArm = prm::uar_page::eq_update_arm::kOffset / 8;
constexpr std::uint64_t kUpdate = prm::uar_page::eq_update::kOffset / 8;
constexpr std::uint32_t kCounterMask = 0xffffff;

// It has told its driver of events, and the driver has not taken them.
bool fired(const model::Eq& eq) {
    return !eq.armed && (eq.producer & kCounterMask) != eq.consumer;
}

}  // namespace

void InterruptTimes::sent(unsigned vector, Clock::time_point now) {
    unsigned candidates = 0;
    std::uint32_t eqn = 0;
    resources_.eqs.for_each([&](const model::Eq& eq) {
        if (eq.vector != vector || !fired(eq) || outstanding_.contains(eq.id.number)) return;
        ++candidates;
        eqn = eq.id.number;
    });
    if (candidates == 1) outstanding_.emplace(eqn, now);
}

void InterruptTimes::bar_written(std::uint64_t offset, std::span<const std::byte> data,
                                 Clock::time_point now) {
    if (outstanding_.empty() || data.size() != prm::eq_doorbell::kBytes) return;
    const std::uint64_t place = offset % kPageBytes;
    if (place != kArm && place != kUpdate) return;
    const auto eqn = prm::ConstView<prm::eq_doorbell>(data).get<prm::eq_doorbell::eqn>();
    const auto sample = outstanding_.find(eqn);
    const model::Eq* eq = resources_.eqs.find(eqn);
    if (sample == outstanding_.end() || eq == nullptr ||
        eq->view().get<prm::eqc::uar_page>() != offset / kPageBytes) {
        return;
    }
    // One that has not fired is a younger queue of that number, armed for the first time.
    if (fired(*eq)) samples_[count_++ % kWindow] = now - sample->second;
    outstanding_.erase(sample);
}

InterruptTimes::Summary InterruptTimes::summary() const {
    const auto size = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(count_, kWindow));
    if (size == 0) return {};
    std::vector<Clock::duration> sorted(samples_.begin(), samples_.begin() + size);
    std::ranges::sort(sorted);
    const auto us = [](Clock::duration time) {
        return std::chrono::duration<double, std::micro>(time).count();
    };
    return {count_, us(sorted[sorted.size() / 2]), us(sorted.front()), us(sorted.back())};
}

}  // namespace cxsim::scenarios
