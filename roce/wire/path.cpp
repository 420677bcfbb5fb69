// SPDX-License-Identifier: Apache-2.0
#include "eth/wire/checksum.h"
#include "eth/wire/ip.h"
#include "eth/wire/transport.h"
#include "model/base/endian.h"
#include "roce/wire/codec.h"
#include "roce/wire/headers.h"

#include <algorithm>

namespace cxsim::roce {
namespace {

/// Of an IPv4 address as a GID, ::ffff:a.b.c.d (annex A17).
std::uint32_t ipv4_of(const Gid& gid) {
    return model::load_be<std::uint32_t>(gid.data() + 12);
}

std::uint16_t ether_type(NetworkKind kind) {
    switch (kind) {
        case NetworkKind::roce_v1:
            return eth::kEtherRoce;
        case NetworkKind::roce_v2_ipv4:
            return eth::kEtherIpv4;
        case NetworkKind::roce_v2_ipv6:
            break;
    }
    return eth::kEtherIpv6;
}

void write_ipv4(std::byte* at, const Path::Description& d) {
    const eth::Ipv4 ip(at);
    ip.set_version_and_bytes(eth::kIpv4Bytes);
    ip.set_traffic_class(d.traffic_class);
    ip.set_fragment(true, false, 0);
    ip.set_ttl(d.hop_limit);
    ip.set_protocol(eth::kProtoUdp);
    ip.set_source(ipv4_of(d.source));
    ip.set_destination(ipv4_of(d.destination));
    // Length and identification count as zero: build() adds them.
    ip.set_checksum(eth::internet_checksum({at, eth::kIpv4Bytes}));
}

/// IPv6 or a GRH: they share their layout.
void write_ipv6(std::byte* at, const Path::Description& d, std::uint8_t next_header) {
    const eth::Ipv6 ip(at);
    ip.set_first_word(d.traffic_class, d.flow_label);
    ip.set_next_header(next_header);
    ip.set_hop_limit(d.hop_limit);
    std::ranges::copy(d.source, ip.source());
    std::ranges::copy(d.destination, ip.destination());
}

}  // namespace

Path::Path(const Description& description) : description_(description) {
    const eth::Ethernet ethernet(headers_.data());
    ethernet.set_destination(description.destination_mac);
    ethernet.set_source(description.source_mac);
    std::uint32_t at = eth::kEthernetBytes;
    if (description.has_vlan) {
        const eth::VlanTag tag(headers_.data() + eth::kEthernetBytes - 2);
        tag.set_tpid(eth::kEtherCustomerTag);
        tag.set_tci(description.vlan_tci);
        at += eth::kVlanTagBytes;
    }
    model::store_be<std::uint16_t>(headers_.data() + at - 2, ether_type(description.kind));
    std::byte* const network = headers_.data() + at;
    switch (description.kind) {
        case NetworkKind::roce_v1:
            write_ipv6(network, description, kNextHeaderBth);
            at += kGrhBytes;
            break;
        case NetworkKind::roce_v2_ipv4:
            write_ipv4(network, description);
            at += eth::kIpv4Bytes;
            break;
        case NetworkKind::roce_v2_ipv6:
            write_ipv6(network, description, eth::kProtoUdp);
            at += eth::kIpv6Bytes;
            break;
    }
    if (description.kind != NetworkKind::roce_v1) {
        // The checksum stays 0, as real cards send it: the invariant CRC protects more.
        const eth::Udp udp(headers_.data() + at);
        udp.set_source(description.source_port);
        udp.set_destination(eth::kPortRoce);
        at += eth::kUdpBytes;
    }
    header_bytes_ = at;
}

}  // namespace cxsim::roce
