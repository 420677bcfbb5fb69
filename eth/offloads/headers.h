// SPDX-License-Identifier: Apache-2.0
// Where a frame's headers are, found in one pass. A header that is cut off, or that lies in the
// frame's synthetic tail, is not there; nothing behind it is, either.
#pragma once

#include "eth/wire/protocol.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cxsim::eth {

/// UDP destination ports that mean tunnels; what the driver registers with the port.
struct ParserConfig {
    std::vector<std::uint16_t> vxlan_ports{kPortVxlan};
    std::uint16_t geneve_port = kPortGeneve;
    std::uint16_t vxlan_gpe_port = kPortVxlanGpe;
    std::uint16_t mpls_port = kPortMpls;

    bool is_vxlan(std::uint16_t port) const {
        for (const std::uint16_t known : vxlan_ports) {
            if (known == port) return true;
        }
        return false;
    }
    void add_vxlan_port(std::uint16_t port);
    void remove_vxlan_port(std::uint16_t port);
};

enum class L3 : std::uint8_t { none, ipv4, ipv6 };
enum class L4 : std::uint8_t { none, tcp, udp, icmp, icmpv6, esp };
enum class Tunnel : std::uint8_t {
    none,
    vxlan,
    vxlan_gpe,
    geneve,
    gre,            ///< GRE, NVGRE included, with an Ethernet frame, IP or MPLS inside.
    ip_in_ip,       ///< IPv4 or IPv6 in IPv4 or IPv6.
    mpls_over_udp,  ///< RFC 7510.
};
enum class Roce : std::uint8_t { none, v1, v2 };

/// Offsets are in bytes from the frame's first byte; kAbsent: no such header.
struct Layer {
    static constexpr std::uint16_t kAbsent = 0xffff;

    std::uint16_t l2 = kAbsent;
    std::uint16_t ethertype = 0;  ///< Behind the tags.
    std::uint8_t tags = 0;        ///< 0 to 2 VLAN tags, from l2 + 12 on.
    L3 l3_kind = L3::none;
    L4 l4_kind = L4::none;
    std::uint8_t protocol = 0;  ///< Behind IPv6's extension headers.
    bool fragment = false;      ///< Its L4 header counts as absent, also in the first fragment.
    bool options = false;       ///< IPv4 options or IPv6 extension headers.
    std::uint16_t l3 = kAbsent;
    std::uint16_t l4 = kAbsent;
    /// Behind the L4 header (UDP, TCP with options, ICMP's 8 bytes); kAbsent as l4.
    std::uint16_t payload = kAbsent;
    /// End of the IP packet by its own length field, at most the frame's length. What lies behind
    /// is padding. Without L3: the frame's length.
    std::uint32_t end = 0;

    bool has_l2() const { return l2 != kAbsent; }
    bool has_l3() const { return l3 != kAbsent; }
    bool has_l4() const { return l4 != kAbsent; }
    /// Where the IP header's upper layer begins, extension headers skipped; kAbsent as l3.
    std::uint16_t l3_payload = kAbsent;
};

struct Headers {
    Layer outer;
    Layer inner;  ///< Only with a tunnel; l2 is absent when an IP packet is inside.
    Tunnel tunnel = Tunnel::none;
    Roce roce = Roce::none;
    std::uint16_t tunnel_header = Layer::kAbsent;  ///< VXLAN, GENEVE, GRE header, labels over UDP.
    std::uint16_t mpls = Layer::kAbsent;           ///< First label, wherever it is.
    std::uint16_t bth = Layer::kAbsent;            ///< RoCE's base transport header.

    bool has_inner() const { return inner.has_l2() || inner.has_l3(); }
    /// The layer that a host behind the tunnel talks to: inner if there is one.
    const Layer& innermost() const { return has_inner() ? inner : outer; }
};

/// `stored`: the frame's content; `size`: its length with a synthetic tail, at least
/// stored.size(). The cost is bounded: 2 tags, 8 extension headers and 8 labels a layer, 1 tunnel.
void parse_headers(std::span<const std::byte> stored, std::uint32_t size,
                   const ParserConfig& config, Headers& headers);

/// The same for headers whose length fields are not filled in yet (large send): IP packets reach
/// to the end.
void parse_template(std::span<const std::byte> stored, const ParserConfig& config,
                    Headers& headers);

}  // namespace cxsim::eth
