// SPDX-License-Identifier: Apache-2.0
// The traffic class of IP packets as a switch reads and changes it.
#pragma once

#include "model/ports/frame.h"

#include <cstdint>
#include <optional>

namespace cxsim::eth {

/// DSCP (0 to 63) of an IPv4 or IPv6 packet; nothing if the frame has a VLAN tag or is another.
std::optional<std::uint8_t> dscp_of_untagged(const model::Frame& frame);

/// The same whatever tags the frame has, two at most.
std::optional<std::uint8_t> dscp_of(const model::Frame& frame);

enum class Marking : std::uint8_t {
    marked,
    was_marked,   ///< by somebody before
    not_capable,  ///< no IP packet, or its transport does not know of marks (RFC 3168: not ECT)
};

/// Sets "congestion experienced" of an IPv4 (checksum included) or IPv6 packet behind at most two
/// VLAN tags.
Marking mark_congestion(model::Frame& frame);

}  // namespace cxsim::eth
