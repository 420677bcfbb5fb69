// SPDX-License-Identifier: Apache-2.0
// Flow control of a port (IEEE 802.3 annex 31B, 802.1Q clause 36): being paused, and pausing the
// other end when buffers fill.
#include "eth/mac/mac.h"
#include "eth/wire/mac_control.h"

#include <algorithm>

namespace cxsim::eth {

using model::EventArguments;
using model::Frame;
using model::FramePtr;
using model::Picoseconds;

namespace {

std::uint64_t count_of(Picoseconds duration) {
    return static_cast<std::uint64_t>(duration.value);
}

// What still arrives after a pause frame was sent, in bytes: the driver's formula for a cable of
// 7 m, the default of its setting. Below 40 Gb/s it counts as for 40.
std::uint64_t pause_headroom(double gigabits, std::uint32_t mtu) {
    constexpr double kCableMetres = 7;
    return static_cast<std::uint64_t>((301 + 2.16 * kCableMetres) * std::max(gigabits, 40.0) +
                                      2.72 * mtu);
}

}  // namespace

Picoseconds Mac::quanta_time(std::uint32_t quanta) const {
    return state_.mode->rate.time_for({std::uint64_t{quanta} * kPauseQuantumBits / 8});
}

// ---- Being paused

void Mac::take_control_frame(const Frame& frame) {
    ++counters_.rx_control;
    const std::optional<MacControl> control = decode_mac_control(frame.bytes());
    if (!control) {
        ++counters_.rx_unsupported_control;
        return;
    }
    ++counters_.rx_pause;
    settle_pauses();
    if (control->kind == MacControl::Kind::pause) {
        ++counters_.rx_prio_pause[0];
        if (!settings_.pause_rx) return;
        for (unsigned i = 0; i < kPriorities; ++i) pause_sending(i, control->quanta[0]);
    } else {
        for (unsigned i = 0; i < kPriorities; ++i) {
            if ((control->enabled & (1U << i)) == 0) continue;
            ++counters_.rx_prio_pause[i];
            if ((settings_.pfc_rx & (1U << i)) != 0) pause_sending(i, control->quanta[i]);
        }
    }
    schedule_serve();
}

void Mac::pause_sending(unsigned priority, std::uint16_t quanta) {
    Queue& queue = queues_[priority];
    const bool counts = !settings_.pause_rx || priority == 0;  // a global pause counts once
    const Picoseconds now = calendar_.now();
    queue.paused_until = now + quanta_time(quanta);
    if (quanta != 0 && !queue.paused) {
        queue.paused = true;
        queue.paused_since = now;
        if (counts) ++counters_.rx_prio_pause_transition[priority];
    }
    if (quanta == 0) queue.paused = false;
}

// Counts what has passed of each pause and forgets those that have ended.
void Mac::settle_pauses() {
    const Picoseconds now = calendar_.now();
    for (unsigned i = 0; i < kPriorities; ++i) {
        Queue& queue = queues_[i];
        if (!queue.paused) continue;
        const Picoseconds until = std::min(now, queue.paused_until);
        if (!settings_.pause_rx || i == 0) {
            counters_.rx_prio_pause_duration[i] += count_of(until - queue.paused_since);
        }
        queue.paused_since = until;
        queue.paused = queue.paused_until > now;
    }
}

void Mac::resume_sending() {
    settle_pauses();
    for (Queue& queue : queues_) queue.paused = false;
}

// ---- Pausing the other end

void Mac::apply_buffers() {
    const bool divided = std::any_of(settings_.buffers.begin(), settings_.buffers.end(),
                                     [](const auto& buffer) { return buffer.size.value != 0; });
    const double gigabits = state_.up() ? state_.mode->rate.value * 1e-9 : 0.0;
    const std::uint64_t headroom = pause_headroom(gigabits, settings_.mtu);
    for (unsigned i = 0; i < kBuffers; ++i) {
        const model::ReceiveBufferSettings& wanted = settings_.buffers[i];
        ReceiveBuffers::Limits limits{wanted.size.value, wanted.xoff.value, wanted.xon.value,
                                      wanted.lossy};
        // Nobody has divided the buffer: one for all.
        if (!divided) limits.size = i == 0 ? config_.receive_buffer.value : 0;
        if (limits.xoff == 0) {
            const bool roomy = limits.size >= headroom + 2 * std::uint64_t{settings_.mtu};
            limits.xoff = roomy ? limits.size - headroom : limits.size / 2;
            limits.xon = roomy ? limits.xoff - settings_.mtu : limits.size / 4;
        }
        buffers_.set_limits(i, limits);
    }
}

std::uint8_t Mac::pausable_priorities(unsigned buffer) const {
    if (buffers_.limits(buffer).lossy) return 0;
    std::uint8_t mask = 0;
    for (unsigned i = 0; i < kPriorities; ++i) {
        if (settings_.buffer_of_priority[i] == buffer) {
            mask |= static_cast<std::uint8_t>(1U << i);
        }
    }
    return mask & settings_.pfc_tx;
}

void Mac::check_xoff(unsigned buffer) {
    if (buffer_states_[buffer].paused || !state_.up()) return;
    const ReceiveBuffers::Limits& limits = buffers_.limits(buffer);
    if (limits.lossy || buffers_.held(calendar_.now(), buffer) <= limits.xoff) return;
    if (!settings_.pause_tx && pausable_priorities(buffer) == 0) return;
    tell_pause(buffer, true);
    schedule_watch();
}

void Mac::tell_pause(unsigned buffer, bool pause) {
    const Picoseconds now = calendar_.now();
    settle_told_pauses();
    BufferState& state = buffer_states_[buffer];
    if (pause && !state.paused) state.since = now;
    state.paused = pause;
    if (pause) state.refresh_at = now + quanta_time(settings_.pause_refresh);
    if (settings_.pause_tx) {
        announce_global_ = true;
        const bool before = told_global_;
        told_global_ = std::any_of(buffer_states_.begin(), buffer_states_.end(),
                                   [](const BufferState& each) { return each.paused; });
        if (told_global_ && !before) told_since_[0] = now;
    } else {
        const std::uint8_t priorities = pausable_priorities(buffer);
        announce_ |= priorities;
        for (unsigned i = 0; i < kPriorities; ++i) {
            if (pause && (priorities & ~told_ & (1U << i)) != 0) told_since_[i] = now;
        }
        told_ = static_cast<std::uint8_t>(pause ? told_ | priorities
                                                : (told_ & ~priorities) | held_);
    }
    schedule_serve();
}

std::uint8_t Mac::priorities_paused_by_buffers() const {
    std::uint8_t mask = 0;
    if (settings_.pause_tx) return mask;
    for (unsigned i = 0; i < kBuffers; ++i) {
        if (buffer_states_[i].paused) mask |= pausable_priorities(i);
    }
    return mask;
}

void Mac::hold_other_end(std::uint8_t priorities) {
    if (!state_.up()) return;
    const Picoseconds now = calendar_.now();
    settle_told_pauses();
    const std::uint8_t wanted = priorities & settings_.pfc_tx;
    const auto told = static_cast<std::uint8_t>(priorities_paused_by_buffers() | wanted);
    const auto changed = static_cast<std::uint8_t>(told ^ told_);
    for (unsigned i = 0; i < kPriorities; ++i) {
        if ((told & changed & (1U << i)) != 0) told_since_[i] = now;
    }
    announce_ |= changed;
    told_ = told;
    if (held_ == 0) held_refresh_at_ = now + quanta_time(settings_.pause_refresh);
    held_ = wanted;
    schedule_watch();
    schedule_serve();
}

// Counts for how long the other end has been told to pause.
void Mac::settle_told_pauses() {
    const Picoseconds now = calendar_.now();
    for (unsigned i = 0; i < kPriorities; ++i) {
        const bool told = (told_ & (1U << i)) != 0 || (i == 0 && told_global_);
        if (!told) continue;
        counters_.tx_prio_pause_duration[i] += count_of(now - told_since_[i]);
        told_since_[i] = now;
    }
}

// Before the rules change: nobody stays paused by the old ones.
void Mac::let_other_end_go() {
    if (!state_.up()) return;
    hold_other_end(0);
    for (unsigned i = 0; i < kBuffers; ++i) {
        if (buffer_states_[i].paused) tell_pause(i, false);
    }
    schedule_watch();
}

// One event for the next buffer that drains to its xon threshold or needs its pause repeated.
void Mac::schedule_watch() {
    const Picoseconds now = calendar_.now();
    Picoseconds next = held_ != 0 ? held_refresh_at_ : Picoseconds::max();
    for (unsigned i = 0; i < kBuffers; ++i) {
        if (!buffer_states_[i].paused) continue;
        next = std::min({next, buffer_states_[i].refresh_at,
                         buffers_.time_of_level(now, i, buffers_.limits(i).xon)});
    }
    if (watch_at_ <= next) return;  // an event that comes early looks again
    calendar_.cancel(watch_event_);
    watch_at_ = next;
    watch_event_ = calendar_.schedule<&Mac::watch>(next, this);
}

void Mac::watch(const EventArguments&) {
    watch_at_ = Picoseconds::max();
    const Picoseconds now = calendar_.now();
    for (unsigned i = 0; i < kBuffers; ++i) {
        if (!buffer_states_[i].paused) continue;
        if (buffers_.held(now, i) <= buffers_.limits(i).xon) {
            tell_pause(i, false);
        } else if (buffer_states_[i].refresh_at <= now) {
            tell_pause(i, true);
        }
    }
    if (held_ != 0 && held_refresh_at_ <= now) {
        announce_ |= held_;
        held_refresh_at_ = now + quanta_time(settings_.pause_refresh);
        schedule_serve();
    }
    schedule_watch();
}

FramePtr Mac::next_control_frame() {
    MacControl control;
    if (announce_global_) {
        control.quanta[0] = told_global_ ? settings_.pause_quanta : std::uint16_t{0};
        ++counters_.tx_prio_pause[0];
        announce_global_ = false;
    } else {
        control.kind = MacControl::Kind::priority;
        control.enabled = announce_;
        for (unsigned i = 0; i < kPriorities; ++i) {
            if ((announce_ & (1U << i)) == 0) continue;
            control.quanta[i] =
                (told_ & (1U << i)) != 0 ? settings_.pause_quanta : std::uint16_t{0};
            ++counters_.tx_prio_pause[i];
        }
        announce_ = 0;
    }
    FramePtr frame = frames_.make(kMinFrameBytes);
    encode_mac_control(control, config_.address, frame->bytes());
    return frame;
}

}  // namespace cxsim::eth
