// SPDX-License-Identifier: Apache-2.0
// Stateless offloads of a send WQE (wqe_eth_seg): checksums, VLAN insertion.
#pragma once

#include "eth/offloads/headers.h"
#include "eth/offloads/packet.h"
#include "model/prm/view.h"
#include "prm/layouts.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace cxsim::eth {

/// Software parser: the driver says where headers are (bytes from the frame's first byte, in
/// the WQE in units of 2; 0 is none). Any non-zero offset replaces the card's own parser.
struct SoftwareParser {
    std::uint16_t outer_l3 = 0;
    std::uint16_t outer_l4 = 0;
    std::uint16_t inner_l3 = 0;
    std::uint16_t inner_l4 = 0;
    bool outer_l3_ipv6 = false;
    bool outer_l4_udp = false;
    bool inner_l3_ipv6 = false;
    bool inner_l4_udp = false;

    bool used() const { return (outer_l3 | outer_l4 | inner_l3 | inner_l4) != 0; }
};

/// What a WQE asks for. Defaults ask for nothing.
struct SendOffloads {
    bool l3_checksum = false;  ///< IPv4 header, outermost
    bool l4_checksum = false;  ///< TCP or UDP, outermost
    bool l3_inner_checksum = false;
    bool l4_inner_checksum = false;
    bool insert_vlan = false;
    bool service_tag = false;  ///< 0x88a8 instead of 0x8100
    std::uint16_t vlan_tci = 0;
    std::uint16_t mss = 0;

    SoftwareParser software_parser = {};

    bool any_checksum() const {
        return l3_checksum || l4_checksum || l3_inner_checksum || l4_inner_checksum;
    }
};

/// Bytes of inlined headers (0 to 1023) that the segment announces; they begin in
/// inline_hdr.start. VLAN insertion takes the same place: then there are none.
std::uint32_t inlined_header_bytes(prm::ConstView<prm::wqe_eth_seg> segment);

/// `software_parser`: the card offers it (per_protocol_networking_offload_caps.swp); without it
/// the offsets are ignored.
SendOffloads read_send_offloads(prm::ConstView<prm::wqe_eth_seg> segment, bool software_parser);

/// Headers as the driver described them; an offset that lies outside of `stored` or holds no such
/// header counts as none.
Headers software_headers(std::span<const std::byte> stored, std::uint32_t size,
                         const SoftwareParser& parser);

/// Computes the checksums asked for, inner ones first, and writes them into `stored`. Those whose
/// header is not there, or that lie in a fragment, are left out. A synthetic tail counts as zeros.
void fill_checksums(std::span<std::byte> stored, const Headers& headers,
                    const SendOffloads& offloads);

/// Everything a SEND asks for on its packet, before flow tables see it: the tag, then checksums.
/// False: no room for the tag.
bool apply_send_offloads(Packet& packet, const SendOffloads& offloads);

}  // namespace cxsim::eth
