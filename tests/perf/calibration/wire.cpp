// SPDX-License-Identifier: Apache-2.0
#include "tests/perf/calibration/wire.h"

#include "eth/link/link_mode.h"
#include "eth/wire/checksum.h"
#include "eth/wire/ethernet.h"
#include "model/base/endian.h"
#include "roce/wire/codec.h"

#include <string>

namespace cxsim::calibration {
namespace {

constexpr std::size_t kTypeOfService = 15;  // of an untagged frame with IPv4
constexpr std::size_t kIpChecksum = 24;
constexpr std::byte kCongestionExperienced{3};
// Fitted: a 40 Gb/s switch that adds 269 ns one way, serialization and a second cable included.
constexpr model::Picoseconds kSwitchLatency = model::nanoseconds(245);

/// Sets the mark in the IPv4 header and makes its checksum good (RFC 1624). The ICRC does not cover
/// the field.
void mark(model::Frame& frame) {
    const auto bytes = frame.bytes();
    const auto before = model::load_be<std::uint16_t>(bytes.data() + kTypeOfService - 1);
    bytes[kTypeOfService] |= kCongestionExperienced;
    const auto after = model::load_be<std::uint16_t>(bytes.data() + kTypeOfService - 1);
    std::uint32_t sum = static_cast<std::uint16_t>(
        ~model::load_be<std::uint16_t>(bytes.data() + kIpChecksum));
    sum += static_cast<std::uint16_t>(~before);
    sum += after;
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
    model::store_be<std::uint16_t>(bytes.data() + kIpChecksum, static_cast<std::uint16_t>(~sum));
}

}  // namespace

Filter::Filter(model::Calendar& calendar, model::FramePool& frames,
               model::stats::Group& statistics) {
    for (unsigned i = 0; i < 2; ++i) {
        eth::MacConfig config;
        config.name = "filter_port" + std::to_string(i);
        ports_[i] = std::make_unique<Port>(*this, i, calendar, config, frames, statistics);
        model::PortSettings settings;
        settings.modes = eth::all_modes_mask();
        settings.mtu = 10'000;
        ports_[i]->mac.configure(settings);
        ports_[i]->mac.set_receiver(ports_[i].get());
    }
}

void Filter::pass(model::Picoseconds at, unsigned from, model::FramePtr frame) {
    roce::ReceivedPacket packet;
    if (roce::parse(*frame, packet) == roce::Parsed::packet) {
        Passed passed{at, from == 0, false, false, packet.headers, packet.payload_bytes,
                      frame->size()};
        passed.lost = loses != nullptr && loses(passed);
        passed.marked = !passed.lost && marks != nullptr && marks(passed);
        if (passed.marked) mark(*frame);
        passed_.push_back(passed);
        if (passed.lost) return;
    }
    ports_[1 - from]->mac.transmit(at, std::move(frame));
}

eth::Link& Wire::add_link(model::Kernel& kernel, const WireOptions& options) {
    eth::LinkConfig config;
    config.name = "link" + std::to_string(links_.size());
    config.delay = options.delay;
    links_.push_back(std::make_unique<eth::Link>(kernel.calendar(), config, statistics_));
    return *links_.back();
}

void Wire::connect(model::Kernel& kernel, model::FramePool& frames, eth::Mac& a, eth::Mac& b,
                   const WireOptions& options) {
    if (options.between == Between::cable) {
        eth::Link& link = add_link(kernel, options);
        a.connect(link, 0);
        b.connect(link, 1);
        return;
    }
    eth::Mac* left = nullptr;
    eth::Mac* right = nullptr;
    if (options.between == Between::network_switch) {
        eth::SwitchConfig config;
        config.ports = 2;
        config.latency = kSwitchLatency;
        config.settings.modes = options.modes;
        switch_ = std::make_unique<eth::Switch>(kernel.calendar(), config, frames, statistics_);
        left = &switch_->port(0);
        right = &switch_->port(1);
    } else {
        filter_ = std::make_unique<Filter>(kernel.calendar(), frames, statistics_);
        left = &filter_->port(0);
        right = &filter_->port(1);
    }
    eth::Link& first = add_link(kernel, options);
    a.connect(first, 0);
    left->connect(first, 1);
    eth::Link& second = add_link(kernel, options);
    b.connect(second, 0);
    right->connect(second, 1);
}

}  // namespace cxsim::calibration
