// SPDX-License-Identifier: Apache-2.0
// Modify-header lists: what is done to header fields goes to the packet, what is done to metadata
// registers is done here.
#pragma once

#include "model/steering/steered_packet.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace cxsim::model {

/// Does set_action_in.field name a metadata register? Register B is not in a packet's key.
bool is_metadata_register(std::uint32_t field);

/// Performs one action of 8 bytes (set_action_in, add_action_in or copy_action_in). `register_b` is
/// the packet's. False: the packet cannot be changed so; it is unchanged.
bool rewrite(std::span<const std::byte> action, SteeredPacket& packet, std::uint32_t& register_b);

}  // namespace cxsim::model
