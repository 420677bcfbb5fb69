// SPDX-License-Identifier: Apache-2.0
// What a completion says of a received packet: checks, kinds of headers, checksum, stripped tag.
#pragma once

#include "eth/offloads/packet.h"
#include "model/prm/view.h"
#include "prm/layouts.h"

#include <cstddef>
#include <cstdint>

namespace cxsim::eth {

/// cqe64.l4_hdr_type
enum class CqeL4 : std::uint8_t {
    none = 0,
    tcp_no_ack = 1,
    udp = 2,
    tcp_ack_no_data = 3,
    tcp_ack_and_data = 4,
};
/// cqe64.l3_hdr_type
enum class CqeL3 : std::uint8_t { none = 0, ipv6 = 1, ipv4 = 2 };

struct ReceiveReport {
    bool l2_ok = false;
    bool l3_ok = false;  ///< IP header present, IPv4: with right checksums in every layer.
    bool l4_ok = false;  ///< TCP or UDP with right (or, UDP, no) checksums in every layer.
    CqeL3 l3_kind = CqeL3::none;
    CqeL4 l4_kind = CqeL4::none;
    bool ip_fragment = false;
    bool tunneled = false;  ///< outer_l3_tunneled: the kinds are those of the inner headers.
    bool has_vlan = false;  ///< A tag was taken off: vlan_info.
    std::uint16_t vlan_info = 0;
    std::uint16_t check_sum = 0;
    Roce roce = Roce::none;

    /// Fields of a completion for Ethernet; others stay as they are.
    void write(prm::View<prm::cqe64> cqe) const;
};

struct ReceiveOptions {
    bool strip_vlan = false;
    /// TIR's tunneled_offload_en: kinds and checks reach into tunnels.
    bool tunneled = true;
    /// per_protocol_networking_offload_caps.cqe_checksum_full: check_sum covers everything behind
    /// the 14 bytes of the Ethernet header, tags and padding included. Without it: from the IP
    /// header to the IP packet's end, 0 without IP.
    bool full_checksum = false;
};

/// Examines the packet, and takes the outermost tag off if it is a customer tag and the queue
/// strips. The checksum is of the frame as the host gets it.
ReceiveReport examine(Packet& packet, const ReceiveOptions& options);

}  // namespace cxsim::eth
