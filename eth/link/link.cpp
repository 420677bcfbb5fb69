// SPDX-License-Identifier: Apache-2.0
#include "eth/link/link.h"

#include "model/base/assert.h"

#include <algorithm>

namespace cxsim::eth {

using model::Calendar;
using model::EventArguments;
using model::FramePtr;
using model::LinkDownReason;
using model::Picoseconds;

namespace {

bool possible_ratio(double ratio) {
    return ratio >= 0 && ratio <= Link::kMaxBitErrorRatio;  // false for NaN
}

bool same(const LinkState& a, const LinkState& b) {
    return a.mode == b.mode && a.fec == b.fec && a.reason == b.reason &&
           a.partner_modes == b.partner_modes;
}

}  // namespace

Link::Link(Calendar& calendar, const LinkConfig& config, model::stats::Group& statistics)
    : calendar_(calendar),
      config_(config),
      counters_(statistics, config.name),
      directions_{Direction(model::RandomStream(config.seed, config.name + ".to_end0")),
                  Direction(model::RandomStream(config.seed, config.name + ".to_end1"))} {
    CX_ASSERT(
        possible_ratio(config.bit_error_ratio[0]) && possible_ratio(config.bit_error_ratio[1]),
        "a bit error ratio is 0 to 1e-3");
    for (unsigned i = 0; i < 2; ++i) {
        ends_[i].link = this;
        ends_[i].index = i;
    }
}

Link::~Link() {
    calendar_.cancel(training_);
    for (Direction& direction : directions_) {
        calendar_.cancel(direction.arrival);
        direction.frames.clear();
    }
    for (End& end : ends_) {
        if (end.device != nullptr) end.device->link_removed();
    }
}

LinkPort& Link::attach(unsigned end, LinkDevice& device) {
    CX_ASSERT(end < 2 && ends_[end].device == nullptr, "an end of a link takes one device");
    ends_[end].device = &device;
    ends_[end].told = {};
    negotiate(end);
    return ends_[end];
}

void Link::detach(unsigned end) {
    CX_ASSERT(end < 2, "a link has two ends");
    ends_[end].device = nullptr;
    negotiate(end);
}

// ---- State

LinkState Link::agreement() const {
    LinkState state;
    if (!config_.plugged || ends_[0].device == nullptr || ends_[1].device == nullptr) return state;
    const LinkOffer offers[2] = {ends_[0].device->link_offer(), ends_[1].device->link_offer()};
    state.reason = LinkDownReason::partner_down;
    if (!offers[0].enabled || !offers[1].enabled) return state;
    const ModeFacts* mode = best_mode(offers[0].modes & offers[1].modes);
    state.reason = LinkDownReason::no_common_mode;
    if (mode == nullptr) return state;
    const auto index = static_cast<std::size_t>(mode->mode);
    const FecFacts* fec = common_fec(*mode, offers[0].fec[index], offers[1].fec[index]);
    state.reason = LinkDownReason::no_common_fec;
    if (fec == nullptr) return state;
    state.reason = LinkDownReason::none;
    state.mode = mode;
    state.fec = fec;
    state.time_to_up = std::max(offers[0].bring_up, offers[1].bring_up);
    return state;
}

LinkState Link::seen_from(unsigned end, LinkState common) const {
    const LinkDevice* partner = ends_[1 - end].device;
    if (!ends_[end].device->link_offer().enabled) {
        common.reason = LinkDownReason::admin_down;
    } else if (!config_.plugged || partner == nullptr) {
        common.reason = LinkDownReason::no_cable;
    }
    if (config_.plugged && partner != nullptr) {
        const LinkOffer offer = partner->link_offer();
        if (offer.enabled) common.partner_modes = offer.modes;
    }
    return common;
}

void Link::negotiate(unsigned initiator) {
    const LinkState wanted = agreement();
    const auto agrees = [&](const LinkState& with) {
        return wanted.up() && wanted.mode == with.mode && wanted.fec == with.fec;
    };
    if (state_.up() && !agrees(state_)) take_down(initiator);
    if (pending_.up() && !agrees(pending_)) {
        calendar_.cancel(training_);
        pending_ = {};
    }
    if (!state_.up()) {
        if (wanted.up() && !pending_.up()) {
            pending_ = wanted;
            training_since_ = calendar_.now();
            training_ =
                calendar_.schedule<&Link::bring_up>(training_since_ + wanted.time_to_up, this);
        }
        state_.reason = wanted.up() ? LinkDownReason::training : wanted.reason;
    }
    tell();
}

void Link::bring_up(const EventArguments&) {
    state_ = pending_;
    state_.time_to_up = calendar_.now() - training_since_;
    pending_ = {};
    for (unsigned end = 0; end < 2; ++end) {
        Direction& direction = directions_[end];
        direction.latency = ends_[end].device->receive_latency(state_);
        direction.errors.start(calendar_.now(), *state_.mode, *state_.fec,
                               config_.bit_error_ratio[end]);
    }
    tell();
}

void Link::take_down(unsigned initiator) {
    for (unsigned end = 0; end < 2; ++end) {
        Direction& direction = directions_[end];
        calendar_.cancel(direction.arrival);
        counters_.lost[end] += direction.frames.clear();
        if (ends_[end].device == nullptr) continue;
        PhyCounters& phy = ends_[end].device->phy_counters();
        direction.errors.stop(calendar_.now(), phy);
        if (end != initiator) ++phy.link_down_events;
    }
    state_ = {};
}

// A device may change its offer when it hears of the state: then the inner round has told all.
void Link::tell() {
    for (unsigned end = 0; end < 2; ++end) {
        if (ends_[end].device == nullptr) continue;
        const LinkState seen = seen_from(end, state_);
        if (same(seen, ends_[end].told)) continue;
        ends_[end].told = seen;
        ends_[end].device->link_state_changed(seen);
    }
}

void Link::set_plugged(bool plugged) {
    config_.plugged = plugged;
    negotiate(kNobody);
}

bool Link::set_bit_error_ratio(unsigned end, double ratio) {
    if (end >= 2 || !possible_ratio(ratio)) return false;
    config_.bit_error_ratio[end] = ratio;
    if (state_.up()) {
        directions_[end].errors.set_bit_error_ratio(calendar_.now(), ratio,
                                                    ends_[end].device->phy_counters());
    }
    return true;
}

// ---- Frames

void Link::send(unsigned from, Picoseconds first_bit, Picoseconds last_bit, FramePtr frame) {
    CX_ASSERT(state_.up(), "nothing is sent without a link");
    const unsigned to = 1 - from;
    Direction& direction = directions_[to];
    ++counters_.sent[to];
    if (observers_[from] != nullptr) {
        observers_[from]->frame_seen(first_bit, LinkObserver::Direction::sent, *frame);
    }
    if (direction.errors.frame(first_bit, last_bit, ends_[to].device->phy_counters())) {
        ++counters_.damaged[to];
        frame->damaged = true;
    }
    direction.last_arrival =
        std::max(last_bit + config_.delay + direction.latency, direction.last_arrival);
    const bool idle = direction.frames.empty();
    direction.frames.push(direction.last_arrival, std::move(frame));
    if (idle) schedule_arrival(to);
}

// Only the first frame of a direction stands in the calendar.
void Link::schedule_arrival(unsigned end) {
    Direction& direction = directions_[end];
    direction.arrival = calendar_.schedule<&Link::arrive>(direction.frames.front().at, this, {end});
}

void Link::arrive(const EventArguments& arguments) {
    const auto end = static_cast<unsigned>(arguments.a);
    Direction& direction = directions_[end];
    FramePtr frame = direction.frames.pop();
    if (!direction.frames.empty()) schedule_arrival(end);
    ++counters_.delivered[end];
    if (observers_[end] != nullptr) {
        observers_[end]->frame_seen(calendar_.now(), LinkObserver::Direction::received, *frame);
    }
    ends_[end].device->frame_arrived(std::move(frame));
}

void Link::account(unsigned end) {
    if (!state_.up()) return;
    directions_[end].errors.account(calendar_.now(), ends_[end].device->phy_counters());
}

}  // namespace cxsim::eth
