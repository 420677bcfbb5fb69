// SPDX-License-Identifier: Apache-2.0
#include "eth/mac/mac.h"

#include "model/base/assert.h"

#include <algorithm>
#include <bit>

namespace cxsim::eth {

using model::Bytes;
using model::EventArguments;
using model::Frame;
using model::FramePtr;
using model::Picoseconds;

MacConfig mac_config(const model::FirmwareTiming& timing,
                     const std::array<std::uint8_t, 6>& address) {
    MacConfig config;
    for (const std::uint8_t byte : address) {
        config.address.value = config.address.value << 8 | byte;
    }
    config.link_up = timing.link_up();
    config.mac_latency = timing.mac_latency();
    config.fec_firecode = timing.fec_firecode();
    config.fec_rs528 = timing.fec_rs528();
    config.fec_rs544 = timing.fec_rs544();
    config.receive_buffer = timing.receive_buffer();
    config.transmit_buffer = timing.transmit_buffer();
    return config;
}

Mac::Mac(model::Calendar& calendar, const MacConfig& config, model::FramePool& frames,
         model::stats::Group& statistics)
    : calendar_(calendar), config_(config), frames_(frames), counters_(statistics, config.name) {
    apply_buffers();
}

Mac::~Mac() {
    listener_ = nullptr;
    observer_ = nullptr;
    disconnect();
    calendar_.cancel(pause_event_);
    calendar_.cancel(watch_event_);
}

void Mac::connect(Link& link, unsigned end) {
    CX_ASSERT(link_ == nullptr, "a port has one link");
    link_ = &link;
    end_ = end;
    line_ = &link.attach(end, *this);
}

void Mac::disconnect() {
    if (link_ == nullptr) return;
    line_->account();
    Link& link = *link_;
    link.detach(end_);
    link_removed();
}

void Mac::link_removed() {
    link_ = nullptr;
    line_ = nullptr;
    link_state_changed({});
}

namespace {
constexpr std::uint64_t kPausedBuffers = 64;  // in units of the transmit buffer
}  // namespace

// ---- Link

LinkOffer Mac::link_offer() const {
    return {settings_.admin_up, settings_.modes, settings_.fec, config_.link_up};
}

Picoseconds Mac::receive_latency(const LinkState& state) const {
    Picoseconds decode;
    switch (state.fec->mode) {
        case model::FecMode::none:
            break;
        case model::FecMode::firecode:
            decode = config_.fec_firecode;
            break;
        case model::FecMode::rs_528_514:
        case model::FecMode::ll_rs_271_257:
            decode = config_.fec_rs528;
            break;
        case model::FecMode::rs_544_514:
            decode = config_.fec_rs544;
            break;
    }
    return config_.mac_latency + decode + codeword_time(*state.mode, state.fec->mode);
}

void Mac::link_state_changed(const LinkState& state) {
    const bool was_up = state_.up();
    const bool same_mode = state_.mode == state.mode && state_.fec == state.fec;
    if (was_up && !same_mode) {
        settle_told_pauses();
        resume_sending();
    }
    state_ = state;
    if (same_mode) return;
    frame_times_ = {};
    drop_queues();
    announce_global_ = told_global_ = false;
    announce_ = told_ = held_ = 0;
    for (BufferState& buffer : buffer_states_) buffer = {};
    calendar_.cancel(watch_event_);
    watch_at_ = Picoseconds::max();
    wire_free_ = calendar_.now();
    if (state.up()) up_since_ = calendar_.now();
    apply_buffers();
    if (listener_ != nullptr && was_up != state.up()) listener_->link_changed(state.up());
}

void Mac::configure(const model::PortSettings& settings) {
    const bool offer_differs = settings.admin_up != settings_.admin_up ||
                               settings.modes != settings_.modes || settings.fec != settings_.fec;
    const bool pause_differs =
        settings.pause_rx != settings_.pause_rx || settings.pause_tx != settings_.pause_tx ||
        settings.pfc_rx != settings_.pfc_rx || settings.pfc_tx != settings_.pfc_tx ||
        settings.buffer_of_priority != settings_.buffer_of_priority ||
        settings.buffers != settings_.buffers;
    if (pause_differs) {
        let_other_end_go();
        resume_sending();
    }
    settings_ = settings;
    for (std::uint8_t& buffer : settings_.buffer_of_priority) {
        CX_ASSERT(buffer < kBuffers, "a priority lies in a buffer of the port");
    }
    apply_buffers();
    if (offer_differs && line_ != nullptr) line_->offer_changed();
    schedule_serve();
}

model::PortStatus Mac::status() const {
    model::PortStatus status;
    status.up = state_.up();
    status.reason = state_.reason;
    if (!settings_.admin_up) status.reason = model::LinkDownReason::admin_down;
    status.cable_present = link_ != nullptr && link_->plugged();
    status.partner_modes = state_.partner_modes;
    status.time_to_up = state_.time_to_up;
    if (state_.up()) {
        status.mode = state_.mode->mode;
        status.rate = state_.mode->rate;
        status.lanes = state_.mode->lanes;
        status.fec = state_.fec->mode;
    }
    return status;
}

const model::stats::Group& Mac::counters() {
    if (line_ != nullptr) line_->account();
    settle_pauses();
    settle_told_pauses();
    return counters_;
}

// ---- Sending

void Mac::transmit(Picoseconds ready, FramePtr frame) {
    ++counters_.tx_accepted;
    if (!state_.up()) {
        ++counters_.tx_no_link;
        ++counters_.tx_discards;
        return;
    }
    if (octets_of(frame->size()) > settings_.mtu) {
        ++counters_.tx_oversize;
        ++counters_.tx_discards;
        return;
    }
    CX_ASSERT(frame->priority < kPriorities, "a priority is 0 to 7");
    const unsigned priority = frame->priority;
    Queue& queue = queues_[priority];
    const Picoseconds now = calendar_.now();
    const bool behind_others = !queue.frames.empty();
    queue.bytes += wire_bytes_of(frame->size());
    waiting_ = static_cast<std::uint8_t>(waiting_ | 1U << priority);
    queue.frames.push(std::max(ready, now), std::move(frame));
    // Then the next start is known and stays what it is, unless a pause ends in between.
    const bool known = serve_at_ > now && serve_at_ != Picoseconds::max();
    if (behind_others && known && pause_end_at_ == Picoseconds::max()) return;
    schedule_serve();
}

Picoseconds Mac::room_at(Picoseconds at, unsigned priority) {
    const Queue& queue = queues_[priority];
    if (!state_.up() || queue.bytes < config_.transmit_buffer.value) return at;
    Picoseconds begin = std::max({at, wire_free_, queue.frames.front().at});
    const Bytes excess{queue.bytes - config_.transmit_buffer.value + 1};
    // The other end mostly lets go long before a pause has run out: senders bring more in growing
    // steps as if it had, until what they brought is a lot.
    const bool many = queue.bytes > kPausedBuffers * config_.transmit_buffer.value;
    if (queue.paused && many) begin = std::max(begin, queue.paused_until);
    return begin + state_.mode->rate.time_for(excess);
}

std::size_t Mac::queued_frames() const {
    std::size_t count = 0;
    for (const Queue& queue : queues_) count += queue.frames.size();
    return count;
}

// The first moment at which a frame may start, if nothing changes before and no pause ends.
Picoseconds Mac::next_start() const {
    if (!state_.up()) return Picoseconds::max();
    if (control_frame_waits()) return wire_free_;
    Picoseconds next = Picoseconds::max();
    for (unsigned left = waiting_; left != 0; left &= left - 1) {
        const Queue& queue = queues_[static_cast<unsigned>(std::countr_zero(left))];
        if (queue.paused && queue.paused_until > calendar_.now()) continue;
        next = std::min(next, queue.frames.front().at);
    }
    return next == Picoseconds::max() ? next : std::max(next, wire_free_);
}

// One event stands for the next start; a frame that can start now needs none.
void Mac::schedule_serve() {
    if (serving_) return;  // serve() calls at its end
    // Ends of pauses have an event of their own: they lie far ahead and mostly come to nothing, so
    // one that fires too early and looks again is better than many that are taken back.
    for (unsigned left = waiting_; left != 0; left &= left - 1) {
        const Queue& queue = queues_[static_cast<unsigned>(std::countr_zero(left))];
        if (!queue.paused || queue.paused_until <= calendar_.now() ||
            queue.paused_until >= pause_end_at_) {
            continue;
        }
        calendar_.cancel(pause_event_);
        pause_end_at_ = queue.paused_until;
        pause_event_ = calendar_.schedule<&Mac::pause_ended>(pause_end_at_, this);
    }
    const Picoseconds next = next_start();
    const bool starts = next <= calendar_.now();
    if (next == serve_at_ && !starts) return;
    if (serve_at_ != Picoseconds::max()) calendar_.cancel(serve_event_);
    if (starts) {
        serve({});
        return;
    }
    serve_at_ = next;
    if (next != Picoseconds::max()) {
        serve_event_ = calendar_.schedule<&Mac::serve>(next, this);
    }
}

void Mac::pause_ended(const EventArguments&) {
    pause_end_at_ = Picoseconds::max();
    schedule_serve();
}

// Strict priority: the highest one that has a frame and is not paused; control frames before all.
void Mac::serve(const EventArguments&) {
    const Picoseconds now = calendar_.now();
    serve_at_ = Picoseconds::max();
    serving_ = true;  // an observer may have this port send a control frame
    if (control_frame_waits()) {
        FramePtr frame = next_control_frame();
        count_sent(*frame, true);
        start_frame(std::move(frame));
    } else {
        for (unsigned left = waiting_; left != 0;) {
            const auto priority = static_cast<unsigned>(std::bit_width(left)) - 1;
            left &= ~(1U << priority);
            Queue& queue = queues_[priority];
            if (queue.frames.front().at > now) continue;
            if (queue.paused && queue.paused_until > now) continue;
            FramePtr frame = queue.frames.pop();
            queue.bytes -= wire_bytes_of(frame->size());
            if (queue.frames.empty()) waiting_ &= static_cast<std::uint8_t>(~(1U << priority));
            if (observer_ != nullptr) observer_->frame_leaves(*frame);
            count_sent(*frame, false);
            start_frame(std::move(frame));
            break;
        }
    }
    serving_ = false;
    schedule_serve();
}

void Mac::start_frame(FramePtr frame) {
    const std::uint32_t size = frame->size();
    if (size < kMinFrameBytes) {
        const std::uint32_t padding = kMinFrameBytes - size;
        if (frame->synthetic == 0 && frame->tailroom() >= padding) {
            frame->resize(kMinFrameBytes);
            std::fill_n(frame->bytes().begin() + size, padding, std::byte{0});
        } else {
            frame->synthetic += padding;
        }
    }
    const FrameTimes& times = frame_times(size);
    const Picoseconds now = calendar_.now();
    const Picoseconds first_bit = now + config_.mac_latency;
    wire_free_ = now + times.whole;
    line_->send(first_bit, first_bit + times.last_bit, std::move(frame));
}

const Mac::FrameTimes& Mac::frame_times(std::uint32_t size) {
    if (frame_times_.size != size) {
        const model::BitsPerSecond rate = state_.mode->rate;
        frame_times_ = {size, rate.time_for({wire_bytes_of(size)}),
                        rate.time_for({kPreambleBytes + octets_of(size)})};
    }
    return frame_times_;
}

void Mac::count_sent(const Frame& frame, bool control) {
    const std::uint32_t octets = octets_of(frame.size());
    ++counters_.tx_frames;
    counters_.tx_octets += octets;
    const auto bytes = frame.bytes();
    const MacAddress to =
        bytes.size() >= 6 ? ConstEthernet(bytes.data()).destination() : MacAddress{};
    if (to.broadcast()) {
        ++counters_.tx_broadcast;
    } else if (to.multicast()) {
        ++counters_.tx_multicast;
    } else {
        ++counters_.tx_unicast;
    }
    if (control) {
        ++counters_.tx_control;
        ++counters_.tx_pause;
        return;
    }
    ++counters_.tx_prio_frames[frame.priority];
    counters_.tx_prio_octets[frame.priority] += octets;
}

void Mac::drop_queues() {
    for (unsigned priority = 0; priority < kPriorities; ++priority) {
        Queue& queue = queues_[priority];
        const std::size_t dropped = queue.frames.clear();
        queue.bytes = 0;
        if (observer_ != nullptr && dropped > 0) observer_->queue_dropped(priority, dropped);
        counters_.tx_no_link += dropped;
        counters_.tx_discards += dropped;
    }
    waiting_ = 0;
    calendar_.cancel(serve_event_);
    serve_at_ = Picoseconds::max();
}

}  // namespace cxsim::eth
