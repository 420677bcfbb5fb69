// SPDX-License-Identifier: Apache-2.0
// What a receive tells the driver besides its data: the completion's fields and the network header
// in front of a datagram.
#pragma once

#include "roce/wire/codec.h"
#include "roce/wire/packet.h"

#include <array>
#include <cstdint>
#include <span>

namespace cxsim::roce {

/// Fills a cleared CQE with what the message's last packet and its length say. `source_qp`: of
/// datagrams the DETH's, else the peer. `network_header`: kGrhBytes stand in front of the data.
void fill_completion(std::span<std::byte, 64> cqe, const ReceivedPacket& packet,
                     std::uint32_t source_qp, std::uint32_t bytes, bool network_header);

/// The 40 bytes in front of a datagram's payload: GRH or IPv6 header as it came; an IPv4 header
/// stands in the last 20, zeros before it (IBTA annex A17).
std::array<std::byte, kGrhBytes> network_header_of(const ReceivedPacket& packet);

}  // namespace cxsim::roce
