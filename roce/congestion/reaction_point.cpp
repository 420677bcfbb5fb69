// SPDX-License-Identifier: Apache-2.0
#include "roce/congestion/reaction_point.h"

#include "model/base/assert.h"

#include <algorithm>
#include <cmath>

namespace cxsim::roce {

using model::BitsPerSecond;
using model::Picoseconds;

namespace {

constexpr double kMegabit = 1e6;
constexpr double kUnits = 1024;  // of alpha and its gain
// Decreases are looked for this much behind the updates of alpha, so that these come first.
constexpr Picoseconds kDecreaseOffset = model::nanoseconds(1);

constexpr Picoseconds never() {
    return Picoseconds::max();
}

// Steps `next` by whole periods until it lies behind `at`; returns how many.
std::uint64_t pass(Picoseconds& next, Picoseconds period, Picoseconds at) {
    if (next > at) return 0;
    const std::int64_t steps = (at - next).value / period.value + 1;
    next += steps * period;
    return static_cast<std::uint64_t>(steps);
}

// By squaring: the same bits with every mathematics library.
double power(double base, std::uint64_t exponent) {
    double result = 1;
    for (; exponent != 0 && result > 0; exponent >>= 1, base *= base) {
        if ((exponent & 1) != 0) result *= base;
    }
    return result;
}

}  // namespace

// ---- What flows share

ReactionPoints::ReactionPoints(model::CongestionControl& control, BitsPerSecond port_rate)
    : control_(control), port_rate_(port_rate) {
    CX_ASSERT(control.flows == nullptr, "a function has one set of flows");
    CX_ASSERT(port_rate.value > 0, "a port has a speed");
    control.flows = this;
}

ReactionPoints::~ReactionPoints() {
    CX_ASSERT(first_ == nullptr, "flows go before what they share");
    control_.flows = nullptr;
}

void ReactionPoints::set_port_rate(Picoseconds now, BitsPerSecond rate) {
    CX_ASSERT(rate.value > 0, "a port has a speed");
    settle(now);
    port_rate_ = rate;
    changed(now);
}

void ReactionPoints::settle(Picoseconds now) {
    for (ReactionPoint* flow = first_; flow != nullptr;) {
        ReactionPoint* const next = flow->next_;
        flow->settle(now);  // may take it out of the list
        flow->fix_alpha();
        flow = next;
    }
}

void ReactionPoints::changed(Picoseconds now) {
    for (ReactionPoint* flow = first_; flow != nullptr;) {
        ReactionPoint* const next = flow->next_;
        flow->settings_changed(now);
        flow = next;
    }
}

// ---- A flow

ReactionPoint::ReactionPoint(ReactionPoints& shared, unsigned priority)
    : shared_(shared), priority_(priority) {
    CX_ASSERT(priority < model::CongestionControl::kPriorities, "a priority is 0 to 7");
}

ReactionPoint::~ReactionPoint() {
    if (limited_) release();
}

bool ReactionPoint::enabled() const {
    return shared_.control_.reaction_point_state[priority_].enable;
}

// What alpha moves by, of the way to 1 or to 0.
double ReactionPoint::gain() const {
    const double g = std::min(settings().dce_tcp_g / kUnits, 1.0);
    return settings().gain_reading == model::GainReading::keeps ? 1 - g : g;
}

double ReactionPoint::highest_rate() const {
    const double port = shared_.port_rate_.value;
    const std::uint32_t set = settings().rpg_max_rate;
    return set == 0 ? port : std::min(set * kMegabit, port);
}

// The rates' unit is the lowest one that the limiter knows.
double ReactionPoint::lowest_rate() const {
    return std::min(std::max(settings().rpg_min_rate, 1U) * kMegabit, highest_rate());
}

BitsPerSecond ReactionPoint::rate() const {
    return limited_ ? BitsPerSecond{current_} : shared_.port_rate_;
}

BitsPerSecond ReactionPoint::target_rate() const {
    return limited_ ? BitsPerSecond{target_} : shared_.port_rate_;
}

// The periods without a CNP are a power, whatever the steps in which they were made up for.
double ReactionPoint::alpha() const {
    if (!limited_) return 0;
    return alpha_ * power(1 - gain(), quiet_periods_);
}

// Before the gain may change.
void ReactionPoint::fix_alpha() {
    alpha_ = alpha();
    quiet_periods_ = 0;
}

void ReactionPoint::limit(Picoseconds at) {
    limited_ = true;
    alpha_ = settings().initial_alpha_value / kUnits;
    quiet_periods_ = 0;
    notified_for_alpha_ = false;
    notified_for_decrease_ = true;
    recovering_ = false;
    time_stage_ = byte_stage_ = 0;
    bytes_ = 0;
    const std::uint32_t first = settings().rate_to_set_on_first_cnp;
    const double wanted = first == 0 ? highest_rate() : first * kMegabit;
    target_ = current_ = std::clamp(wanted, lowest_rate(), highest_rate());
    debt_ = 0;
    debt_at_ = at;
    last_start_ = at;
    clock_ = at;
    const model::ReactionPointSettings& set = settings();
    const auto period = model::microseconds(set.dce_tcp_rtt);
    next_alpha_ = set.dce_tcp_rtt == 0 ? never() : at + period;
    next_increase_ = never();
    next_decrease_ = never();
    if (set.rate_reduce_monitor_period != 0) {
        next_decrease_ = at + model::microseconds(set.rate_reduce_monitor_period) + kDecreaseOffset;
    }
    ++shared_.control_.limited_flows;
    previous_ = nullptr;
    next_ = shared_.first_;
    if (next_ != nullptr) next_->previous_ = this;
    shared_.first_ = this;
    if (set.rate_reduce_monitor_period == 0) decrease(at);
}

void ReactionPoint::release() {
    limited_ = false;
    --shared_.control_.limited_flows;
    (previous_ != nullptr ? previous_->next_ : shared_.first_) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
    next_ = previous_ = nullptr;
}

// ---- Time

void ReactionPoint::settle(Picoseconds at) {
    if (!limited_) return;
    const model::ReactionPointSettings& set = settings();
    // At one moment the increase comes first: its timer was set before.
    while (limited_) {
        const Picoseconds decrease_at = notified_for_decrease_ ? next_decrease_ : never();
        if (std::min(next_increase_, decrease_at) > at) break;
        if (next_increase_ <= decrease_at) {
            const Picoseconds now = next_increase_;
            next_increase_ =
                set.rpg_time_reset == 0 ? never() : now + model::microseconds(set.rpg_time_reset);
            increase(now);
            if (time_stage_ <= set.rpg_threshold) ++time_stage_;
        } else {
            decrease(decrease_at);
            next_decrease_ = decrease_at + model::microseconds(set.rate_reduce_monitor_period);
        }
    }
    if (!limited_) return;
    clock_ = std::max(clock_, at);
    update_alpha(at);
    if (!notified_for_decrease_ && next_decrease_ != never()) {
        pass(next_decrease_, model::microseconds(set.rate_reduce_monitor_period), at);
    }
}

void ReactionPoint::update_alpha(Picoseconds at) {
    if (next_alpha_ > at) return;
    std::uint64_t periods = pass(next_alpha_, model::microseconds(settings().dce_tcp_rtt), at);
    if (notified_for_alpha_) {
        const double g = gain();
        alpha_ = (1 - g) * alpha() + g;
        quiet_periods_ = 0;
        notified_for_alpha_ = false;
        --periods;
    }
    quiet_periods_ += periods;
}

void ReactionPoint::decrease(Picoseconds at) {
    update_alpha(at);
    drain(at);
    const model::ReactionPointSettings& set = settings();
    // As 802.1Qau has it for the byte counter; the parameter adds the timer.
    const bool raised = byte_stage_ > 0 || (set.clamp_tgt_rate_after_time_inc && time_stage_ > 0);
    if (set.clamp_tgt_rate || raised) target_ = current_;
    const double part = alpha() * kUnits / static_cast<double>(1U << set.rpg_gd);
    const double kept = std::max(1 - part, set.rpg_min_dec_fac / 100.0);
    current_ = std::max(lowest_rate(), current_ * kept);
    notified_for_decrease_ = false;
    recovering_ = true;
    time_stage_ = byte_stage_ = 0;
    bytes_ = 0;
    next_increase_ =
        set.rpg_time_reset == 0 ? never() : at + model::microseconds(set.rpg_time_reset);
}

// By timer or bytes; the caller counts the stage afterwards.
void ReactionPoint::increase(Picoseconds at) {
    drain(at);
    const model::ReactionPointSettings& set = settings();
    std::uint32_t leading = std::max(time_stage_, byte_stage_);
    std::uint32_t trailing = std::min(time_stage_, byte_stage_);
    if (set.rpg_byte_reset == 0 || set.rpg_time_reset == 0) trailing = leading;
    double step = 0;
    if (leading >= set.rpg_threshold) {
        step = trailing > set.rpg_threshold ? set.rpg_hai_rate : set.rpg_ai_rate;
    }
    target_ = std::min(target_ + step * kMegabit, highest_rate());
    current_ = (current_ + target_) / 2;
    // Halving the distance never arrives: the unit of the rates is near enough. A notification
    // that waits to be acted on keeps the limit.
    if (current_ >= highest_rate() - kMegabit && !notified_for_decrease_) release();
}

void ReactionPoint::count_bytes(Picoseconds at, std::uint32_t bytes) {
    const std::uint32_t reset = settings().rpg_byte_reset;
    if (!recovering_ || reset == 0) return;
    bytes_ += bytes;
    while (limited_ && bytes_ >= reset) {
        bytes_ -= reset;
        increase(at);
        if (byte_stage_ <= settings().rpg_threshold) ++byte_stage_;
    }
}

// ---- Settings

void ReactionPoint::settings_changed(Picoseconds at) {
    if (!limited_) return;
    if (!enabled()) {
        release();
        return;
    }
    at = std::max(at, clock_);
    drain(at);
    target_ = std::min(target_, highest_rate());
    current_ = std::clamp(current_, lowest_rate(), highest_rate());
    // Timers that run end as they were set; those without a period stop, stopped ones start.
    const model::ReactionPointSettings& set = settings();
    const auto follow = [at](Picoseconds& next, std::uint32_t period, Picoseconds offset = {}) {
        if (period == 0) next = never();
        if (period != 0 && next == never()) next = at + model::microseconds(period) + offset;
    };
    follow(next_alpha_, set.dce_tcp_rtt);
    follow(next_decrease_, set.rate_reduce_monitor_period, kDecreaseOffset);
    if (recovering_) follow(next_increase_, set.rpg_time_reset);
    if (set.rate_reduce_monitor_period == 0 && notified_for_decrease_) decrease(at);
}

void ReactionPoint::set_priority(Picoseconds at, unsigned priority) {
    CX_ASSERT(priority < model::CongestionControl::kPriorities, "a priority is 0 to 7");
    settle(at);
    priority_ = priority;
    if (limited_ && !enabled()) release();
}

// ---- Notifications

void ReactionPoint::notice(Picoseconds at) {
    settle(at);
    at = std::max(at, clock_);
    if (!limited_) {
        limit(at);
        return;
    }
    notified_for_alpha_ = true;
    notified_for_decrease_ = true;
    if (next_decrease_ == never()) decrease(at);
}

void ReactionPoint::notified(Picoseconds at) {
    if (!enabled()) {
        ++shared_.control_.cnps_ignored;
        return;
    }
    ++shared_.control_.cnps_handled;
    notice(at);
}

void ReactionPoint::restarted(Picoseconds at) {
    if (!settings().slow_restart || !enabled()) return;
    ++shared_.control_.slow_restarts;
    notice(at);
}

// ---- Pacing

// What was reserved flows off at the current rate: a decrease delays what comes, not what went.
void ReactionPoint::drain(Picoseconds at) {
    if (at <= debt_at_) return;
    debt_ = std::max(0.0, debt_ - current_ * (at - debt_at_).seconds());
    debt_at_ = at;
}

Picoseconds ReactionPoint::reserve(Picoseconds at, std::uint32_t wire_bytes) {
    if (!limited_) return at;
    settle(at);
    if (!limited_) return at;
    const Picoseconds now = std::max(at, clock_);
    drain(now);
    Picoseconds start = at;
    if (debt_ > 0) start = now + Picoseconds{std::llround(std::ceil(debt_ / current_ * 1e12))};
    start = std::max(start, last_start_);
    last_start_ = start;
    debt_ += wire_bytes * 8.0;
    count_bytes(now, wire_bytes);
    return start;
}

}  // namespace cxsim::roce
