// SPDX-License-Identifier: Apache-2.0
#include "eth/link/switch.h"

#include "eth/wire/ethernet.h"
#include "model/base/assert.h"

namespace cxsim::eth {

using model::FramePtr;
using model::Picoseconds;

namespace {

// 802.1Q: frames to these addresses stay on their link.
bool stays_on_link(MacAddress address) {
    return (address.value & 0xffff'ffff'fff0) == 0x0180'c200'0000;
}

}  // namespace

Switch::Switch(model::Calendar& calendar, const SwitchConfig& config, model::FramePool& frames,
               model::stats::Group& statistics)
    : config_(config), frames_(frames), counters_(statistics, config.name) {
    CX_ASSERT(config.ports >= 2, "a switch has two ports at least");
    stations_.reserve(config.table_size);
    for (unsigned i = 0; i < config.ports; ++i) {
        MacConfig port = config.port;
        port.name = "port" + std::to_string(i);
        ports_.push_back(std::make_unique<Port>(*this, i, calendar, port, frames, counters_));
        model::PortSettings settings;
        settings.modes = all_modes_mask();
        settings.mtu = config.mtu;
        ports_[i]->mac.configure(settings);
        ports_[i]->mac.set_receiver(ports_[i].get());
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
    if (to < ports()) {
        send(at, to, std::move(frame));
        return;
    }
    ++counters_.flooded;
    for (unsigned i = 0; i < ports(); ++i) {
        if (i != from) send(at, i, frames_.copy(*frame));
    }
}

void Switch::send(Picoseconds at, unsigned to, FramePtr frame) {
    Mac& port = ports_[to]->mac;
    if (!port.link_up()) {
        ++counters_.dropped_no_link;
        return;
    }
    const unsigned priority = frame->priority;
    if (port.queued_bytes(priority) + wire_bytes_of(frame->size()) > config_.queue_limit.value) {
        ++counters_.dropped_queue_full;
        return;
    }
    ++counters_.forwarded;
    port.transmit(at + config_.latency, std::move(frame));
}

}  // namespace cxsim::eth
