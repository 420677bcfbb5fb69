// SPDX-License-Identifier: Apache-2.0
// The receiving side of a port: checks, buffers, hand-over to the pipeline.
#include "eth/link/traffic_class.h"
#include "eth/mac/mac.h"
#include "eth/wire/mac_control.h"

#include <algorithm>

namespace cxsim::eth {

using model::Frame;
using model::FramePtr;
using model::Picoseconds;

namespace {

constexpr std::uint32_t kMinPayload = 46;
constexpr std::uint16_t kMaxLengthField = 1500;
constexpr std::uint64_t kAlmostFullPercent = 85;

// By DSCP or by tag, as the port trusts; what has neither has the lowest priority.
unsigned priority_of(const Frame& frame, const model::PortSettings& settings) {
    if (settings.trust_dscp) {
        const auto dscp = dscp_of(frame);
        return dscp ? settings.priority_of_dscp[*dscp] : 0;
    }
    const auto bytes = frame.bytes();
    if (bytes.size() < kEthernetBytes + 2) return 0;
    const ConstEthernet header(bytes.data());
    if (!is_vlan_type(header.type())) return 0;
    return ConstVlanTag(bytes.data() + kEthernetBytes - 2).priority();
}

// Index of the first limit that holds `octets`. Ten limits: searching by halves takes longer.
std::size_t size_class(std::uint32_t octets) {
    std::size_t index = 0;
    while (index < kSizeLimits.size() && octets > kSizeLimits[index]) ++index;
    return index;
}

bool length_field_disagrees(const Frame& frame) {
    const auto bytes = frame.bytes();
    if (bytes.size() < kEthernetBytes) return false;
    const std::uint32_t length = ConstEthernet(bytes.data()).type();
    if (length > kMaxLengthField) return false;
    const std::uint32_t payload = frame.size() - kEthernetBytes;
    return std::max(length, kMinPayload) != payload;
}

}  // namespace

void Mac::frame_arrived(FramePtr frame) {
    const std::uint32_t octets = frame->size() + kFcsBytes;
    ++counters_.rx_events;
    counters_.rx_event_octets += octets;
    const bool damaged = frame->damaged;
    // A codeword beyond correction is marked as such: a coding error, not only a wrong FCS.
    if (damaged && state_.up() && state_.fec->mode != model::FecMode::none) {
        ++counters_.rx_symbol_errors;
    }
    if (octets < kMinFrameBytes + kFcsBytes || octets > settings_.mtu) {
        const bool small = octets < kMinFrameBytes + kFcsBytes;
        if (small) {
            ++(damaged ? counters_.rx_fragments : counters_.rx_undersize);
        } else {
            ++(damaged ? counters_.rx_jabbers : counters_.rx_oversize);
        }
        ++counters_.rx_errors;
        return;
    }
    if (damaged) {
        ++counters_.rx_fcs_errors;
        if (settings_.check_fcs) {
            ++counters_.rx_errors;
            return;
        }
        ++counters_.rx_damaged_kept;
    } else {
        count_received(*frame, octets);
        if (is_mac_control(frame->bytes())) {
            take_control_frame(*frame);
            return;
        }
    }
    deliver(std::move(frame), octets);
}

void Mac::count_received(const Frame& frame, std::uint32_t octets) {
    ++counters_.rx_frames;
    counters_.rx_octets += octets;
    const auto bytes = frame.bytes();
    const MacAddress to =
        bytes.size() >= 6 ? ConstEthernet(bytes.data()).destination() : MacAddress{};
    if (to.broadcast()) {
        ++counters_.rx_broadcast;
    } else if (to.multicast()) {
        ++counters_.rx_multicast;
    } else {
        ++counters_.rx_unicast;
    }
    ++counters_.rx_sizes[size_class(octets)];
    if (length_field_disagrees(frame)) ++counters_.rx_in_range_length;
}

void Mac::deliver(FramePtr frame, std::uint32_t octets) {
    const Picoseconds now = calendar_.now();
    const unsigned priority = priority_of(*frame, settings_);
    const unsigned buffer = settings_.buffer_of_priority[priority];
    frame->priority = static_cast<std::uint8_t>(priority);  // the sender's is not on the wire
    ++counters_.rx_prio_frames[priority];
    counters_.rx_prio_octets[priority] += octets;
    if (receiver_ == nullptr) {
        ++counters_.rx_no_receiver;
        return;
    }
    if (!buffers_.fits(now, buffer, octets)) {
        ++counters_.rx_discards;
        ++counters_.rx_prio_discards[priority];
        if (!buffer_states_[buffer].full) ++counters_.rx_buffer_full;
        buffer_states_[buffer].full = true;
        return;
    }
    buffer_states_[buffer].full = false;
    ++counters_.rx_delivered;
    const Picoseconds release = receiver_->receive(now, std::move(frame));
    if (release <= now) return;
    buffers_.take(buffer, octets, release);
    note_fill(buffer);
    check_xoff(buffer);
}

void Mac::note_fill(unsigned buffer) {
    BufferState& state = buffer_states_[buffer];
    const bool above = buffers_.held(calendar_.now(), buffer) * 100 >
                       buffers_.limits(buffer).size * kAlmostFullPercent;
    if (above && !state.almost_full) ++counters_.rx_buffer_almost_full;
    state.almost_full = above;
}

}  // namespace cxsim::eth
