// SPDX-License-Identifier: Apache-2.0
#include "eth/link/switch.h"

#include "eth/link/traffic_class.h"
#include "eth/wire/ethernet.h"
#include "model/base/assert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace cxsim::eth {

using model::FramePtr;
using model::Picoseconds;

namespace {

// 802.1Q: frames to these addresses stay on their link.
bool stays_on_link(MacAddress address) {
    return (address.value & 0xffff'ffff'fff0) == 0x0180'c200'0000;
}

const SwitchConfig& checked(const SwitchConfig& config) {
    CX_ASSERT(config.ports >= 2, "a switch has two ports at least");
    if (const char* problem = config.settings.problem(config.ports)) {
        throw std::invalid_argument(problem);
    }
    return config;
}

}  // namespace

Switch::Switch(model::Calendar& calendar, const SwitchConfig& config, model::FramePool& frames,
               model::stats::Group& statistics)
    : config_(checked(config)),
      frames_(frames),
      counters_(statistics, config.name),
      keeps_books_(config.settings.lossless != 0 || config.settings.shared_buffer.value != 0),
      marks_(std::any_of(config.settings.ecn.begin(), config.settings.ecn.end(),
                         [](const EcnThresholds& each) { return each.on(); })),
      random_(config.settings.seed, config.name + ".marks"),
      buffer_(config_.settings, config.ports) {
    stations_.reserve(config.table_size);
    for (unsigned i = 0; i < config.ports; ++i) {
        MacConfig port = config.port;
        port.name = "port" + std::to_string(i);
        ports_.push_back(std::make_unique<Port>(*this, i, calendar, port, frames, counters_));
        model::PortSettings settings;
        settings.modes = config.settings.modes != 0 ? config.settings.modes : all_modes_mask();
        settings.mtu = config.mtu;
        settings.pfc_rx = settings.pfc_tx = config.settings.lossless;
        settings.pause_rx = config.settings.obey_pause;
        ports_[i]->mac.configure(settings);
        ports_[i]->mac.set_receiver(ports_[i].get());
        if (keeps_books_ || marks_) ports_[i]->mac.set_queue_observer(ports_[i].get());
    }
}

Switch::~Switch() = default;

Mac& Switch::port(unsigned index) {
    CX_ASSERT(index < ports_.size(), "no such port");
    return ports_[index]->mac;
}

void Switch::learn(Picoseconds at, unsigned from, MacAddress source) {
    if (source.multicast()) return;
    const auto known = stations_.find(source.value);
    if (known != stations_.end()) {
        known->second = {from, at};
    } else if (stations_.size() < config_.table_size) {
        stations_.emplace(source.value, Station{from, at});
    } else {
        ++counters_.table_full;
    }
}

unsigned Switch::port_of(Picoseconds at, MacAddress destination) const {
    if (destination.multicast()) return ports();
    const auto known = stations_.find(destination.value);
    if (known == stations_.end()) return ports();
    const bool old = config_.ageing > Picoseconds{} && at - known->second.seen > config_.ageing;
    return old ? ports() : known->second.port;
}

void Switch::forward(Picoseconds at, unsigned from, FramePtr frame) {
    ++counters_.received;
    if (frame->stored() < kEthernetBytes) {
        ++counters_.filtered;
        return;
    }
    const ConstEthernet header(frame->bytes().data());
    const MacAddress destination = header.destination();
    learn(at, from, header.source());
    if (stays_on_link(destination)) {
        ++counters_.filtered;
        return;
    }
    const unsigned to = port_of(at, destination);
    if (to == from) {
        ++counters_.filtered;
        return;
    }
    if (config_.settings.trust_dscp) {
        if (const auto dscp = dscp_of_untagged(*frame)) {
            frame->priority = config_.settings.priority_of_dscp[*dscp];
        }
    }
    if (to < ports()) {
        send(at, from, to, std::move(frame));
        return;
    }
    ++counters_.flooded;
    for (unsigned i = 0; i < ports(); ++i) {
        if (i != from) send(at, from, i, frames_.copy(*frame));
    }
}

void Switch::send(Picoseconds at, unsigned from, unsigned to, FramePtr frame) {
    Port& port = *ports_[to];
    if (!port.mac.link_up()) {
        ++counters_.dropped_no_link;
        return;
    }
    const unsigned priority = frame->priority;
    const std::uint32_t bytes = wire_bytes_of(frame->size());
    if (!has_room(from, port.mac, priority, bytes)) return;
    ++counters_.forwarded;
    // What is longer than the port sends, it drops and counts itself.
    const bool waits = octets_of(frame->size()) <= port.mac.settings().mtu;
    if (keeps_books_ && waits) take(from, port, priority, bytes);
    if (waits) {
        port.peak[priority] =
            std::max(port.peak[priority], port.mac.queued_bytes(priority) + bytes);
    }
    port.mac.transmit(at + config_.latency, std::move(frame));
}

bool Switch::has_room(unsigned from, const Mac& to, unsigned priority, std::uint32_t bytes) {
    const SwitchSettings& settings = config_.settings;
    if (keeps_books_ && !buffer_.has_room(from, priority, bytes)) {
        ++counters_.dropped_buffer_full;
        return false;
    }
    const bool lossless = (settings.lossless >> priority & 1) != 0;
    if (settings.shared_buffer.value != 0 && lossless) return true;
    if (to.queued_bytes(priority) + bytes > config_.queue_limit.value) {
        ++counters_.dropped_queue_full;
        return false;
    }
    return true;
}

// ---- Marks

// The queue is what the frame leaves behind: a mark made on leaving tells of now, not of when the
// frame came.
void Switch::frame_leaves(Port& port, model::Frame& frame) {
    const unsigned priority = frame.priority;
    if (keeps_books_) give_back(port, priority);
    const EcnThresholds& thresholds = config_.settings.ecn[priority];
    const double probability = thresholds.probability({port.mac.queued_bytes(priority)});
    if (probability <= 0) return;
    if (probability < 1 && random_.uniform() >= probability) return;
    switch (mark_congestion(frame)) {
        case Marking::marked:
            ++counters_.marked;
            break;
        case Marking::not_capable:
            ++counters_.not_markable;
            break;
        case Marking::was_marked:
            break;
    }
}

// ---- Books

void Switch::Origins::push(const Origin& origin) {
    if (size_ == ring_.size()) {
        std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(head_), ring_.end());
        head_ = 0;
        ring_.resize(ring_.size() * 2);
    }
    ring_[(head_ + size_) & (ring_.size() - 1)] = origin;
    ++size_;
}

Switch::Origins::Origin Switch::Origins::pop() {
    CX_ASSERT(size_ > 0, "a frame leaves that never came");
    const Origin origin = ring_[head_];
    head_ = (head_ + 1) & (ring_.size() - 1);
    --size_;
    return origin;
}

void Switch::take(unsigned from, Port& to, unsigned priority, std::uint32_t bytes) {
    to.origins[priority].push({from, bytes});
    buffer_.take(from, priority, bytes);
    const auto bit = static_cast<std::uint8_t>(1U << priority);
    if ((config_.settings.lossless & bit) == 0) return;
    Port& origin = *ports_[from];
    if ((origin.paused & bit) == 0 && buffer_.must_pause(from, priority)) {
        origin.paused |= bit;
        ++counters_.pauses_sent;
    }
    tell(origin);
}

void Switch::give_back(Port& to, unsigned priority) {
    if (!keeps_books_) return;
    const Origins::Origin origin = to.origins[priority].pop();
    buffer_.give_back(origin.port, priority, origin.bytes);
    Port& port = *ports_[origin.port];
    const auto bit = static_cast<std::uint8_t>(1U << priority);
    if ((port.paused & bit) == 0 || !buffer_.may_resume(origin.port, priority)) return;
    port.paused &= static_cast<std::uint8_t>(~bit);
    ++counters_.resumes_sent;
    tell(port);
}

// A port forgets what it told when its link goes down: with the next frame it is told again.
void Switch::tell(Port& port) {
    if (port.mac.held_priorities() != port.paused) port.mac.hold_other_end(port.paused);
}

model::Bytes Switch::queued(unsigned port, unsigned priority) const {
    CX_ASSERT(port < ports_.size() && priority < kPriorities, "no such queue");
    return {ports_[port]->mac.queued_bytes(priority)};
}

model::Bytes Switch::held_of(unsigned port, unsigned priority) const {
    CX_ASSERT(port < ports_.size() && priority < kPriorities, "no such queue");
    return {buffer_.held_of(port, priority)};
}

model::Bytes Switch::peak_queued(unsigned port, unsigned priority) const {
    CX_ASSERT(port < ports_.size() && priority < kPriorities, "no such queue");
    return {ports_[port]->peak[priority]};
}

void Switch::reset_peaks() {
    for (const auto& port : ports_) {
        for (unsigned i = 0; i < kPriorities; ++i) port->peak[i] = port->mac.queued_bytes(i);
    }
    buffer_.reset_peak();
}

std::uint8_t Switch::paused_priorities(unsigned port) const {
    CX_ASSERT(port < ports_.size(), "no such port");
    return ports_[port]->paused;
}

model::Bytes SwitchSettings::set_apart(unsigned ports) const {
    const auto classes = static_cast<std::uint64_t>(std::popcount(lossless));
    return {ports * classes * (reserve.value + headroom.value)};
}

const char* SwitchSettings::problem(unsigned ports) const {
    for (const EcnThresholds& each : ecn) {
        if (each.on() && each.kmin > each.kmax) return "ECN: kmin above kmax";
        if (!(each.pmax >= 0 && each.pmax <= 1)) return "ECN: pmax is a probability";
    }
    for (const std::uint8_t priority : priority_of_dscp) {
        if (priority >= kPriorities) return "priorities are 0 to 7";
    }
    if (!(alpha >= 0 && std::isfinite(alpha))) return "alpha is 0 or more";
    if (alpha > 0) {
        if (shared_buffer.value == 0) return "dynamic thresholds need a shared buffer";
        if (xoff.value != 0 || xon.value != 0) return "either alpha or xoff and xon";
        if (set_apart(ports) >= shared_buffer) return "more set apart than the shared buffer has";
        return nullptr;
    }
    if (reserve.value != 0 || headroom.value != 0 || resume_offset.value != 0) {
        return "reserve, headroom and resume_offset belong to dynamic thresholds";
    }
    if (lossless == 0) return nullptr;
    if (xoff.value == 0) return "lossless priorities need xoff or alpha";
    if (xon > xoff) return "xon above xoff";
    if (shared_buffer.value != 0 && xoff >= shared_buffer) return "xoff beyond the shared buffer";
    return nullptr;
}

}  // namespace cxsim::eth
