// SPDX-License-Identifier: Apache-2.0
#include "eth/offloads/headers.h"

#include "eth/wire/ethernet.h"
#include "eth/wire/ip.h"
#include "eth/wire/transport.h"
#include "eth/wire/tunnel.h"

#include <algorithm>

namespace cxsim::eth {
namespace {

constexpr unsigned kMaxExtensions = 8;
constexpr unsigned kMaxLabels = 8;
/// Headers behind this are not looked for, so that every offset fits.
constexpr std::size_t kMaxParsed = 0x8000;

/// The frame and how far it goes; every header is asked for by has() before it is looked at.
struct Bytes {
    const std::byte* data;
    std::uint32_t stored;
    std::uint32_t size;
    bool lengths;  // IP's length fields count

    bool has(std::uint32_t offset, std::uint32_t count) const {
        return offset <= stored && count <= stored - offset;
    }
    const std::byte* at(std::uint32_t offset) const { return data + offset; }
    std::uint32_t end(std::uint32_t by_length) const {
        return lengths ? std::min(size, by_length) : size;
    }
};

constexpr std::uint16_t place(std::uint32_t offset) {
    return static_cast<std::uint16_t>(offset);
}

/// Ethernet header and up to two tags; returns where the EtherType's header begins, 0 if cut off.
std::uint32_t parse_l2(const Bytes& frame, std::uint32_t offset, Layer& layer) {
    if (!frame.has(offset, kEthernetBytes)) return 0;
    layer.l2 = place(offset);
    layer.ethertype = ConstEthernet(frame.at(offset)).type();
    std::uint32_t next = offset + kEthernetBytes;
    while (is_vlan_type(layer.ethertype) && layer.tags < 2 && frame.has(next, kVlanTagBytes)) {
        ++layer.tags;
        layer.ethertype = model::load_be<std::uint16_t>(frame.at(next + 2));
        next += kVlanTagBytes;
    }
    return next;
}

void parse_l4(const Bytes& frame, std::uint32_t offset, Layer& layer) {
    const auto found = [&](L4 kind, std::uint32_t bytes) {
        layer.l4_kind = kind;
        layer.l4 = place(offset);
        layer.payload = place(offset + bytes);
    };
    // Headers beyond the IP packet's end are padding.
    const auto whole = [&](std::uint32_t bytes) {
        return frame.has(offset, bytes) && offset + bytes <= layer.end;
    };
    switch (layer.protocol) {
        case kProtoTcp: {
            if (!whole(kTcpBytes)) return;
            const std::uint32_t bytes = ConstTcp(frame.at(offset)).header_bytes();
            if (bytes >= kTcpBytes && whole(bytes)) found(L4::tcp, bytes);
            return;
        }
        case kProtoUdp:
            if (whole(kUdpBytes)) found(L4::udp, kUdpBytes);
            return;
        case kProtoIcmp:
            if (layer.l3_kind == L3::ipv4 && whole(kIcmpBytes)) found(L4::icmp, kIcmpBytes);
            return;
        case kProtoIcmpv6:
            if (layer.l3_kind == L3::ipv6 && whole(kIcmpBytes)) found(L4::icmpv6, kIcmpBytes);
            return;
        case kProtoEsp:
            if (whole(8)) found(L4::esp, 8);
            return;
        default:
            return;
    }
}

void parse_ipv4(const Bytes& frame, std::uint32_t offset, Layer& layer) {
    if (!frame.has(offset, kIpv4Bytes)) return;
    const ConstIpv4 ip(frame.at(offset));
    const std::uint32_t bytes = ip.header_bytes();
    if (ip.version() != 4 || bytes < kIpv4Bytes || !frame.has(offset, bytes)) return;
    layer.l3_kind = L3::ipv4;
    layer.l3 = place(offset);
    layer.l3_payload = place(offset + bytes);
    layer.protocol = ip.protocol();
    layer.options = bytes > kIpv4Bytes;
    layer.fragment = ip.fragment();
    layer.end = frame.end(offset + std::max<std::uint32_t>(ip.total_bytes(), bytes));
    if (!layer.fragment) parse_l4(frame, offset + bytes, layer);
}

void parse_ipv6(const Bytes& frame, std::uint32_t offset, Layer& layer) {
    if (!frame.has(offset, kIpv6Bytes)) return;
    const ConstIpv6 ip(frame.at(offset));
    if (ip.version() != 6) return;
    layer.l3_kind = L3::ipv6;
    layer.l3 = place(offset);
    layer.protocol = ip.next_header();
    layer.end = frame.end(offset + kIpv6Bytes + ip.payload_bytes());
    std::uint32_t next = offset + kIpv6Bytes;
    bool whole = true;
    for (unsigned i = 0; i < kMaxExtensions && whole; ++i) {
        const std::uint8_t kind = layer.protocol;
        if (kind == kProtoFragment) {
            whole = frame.has(next, kIpv6FragmentBytes);
            if (!whole) break;
            const ConstIpv6Fragment fragment(frame.at(next));
            layer.options = true;
            layer.fragment = layer.fragment || fragment.offset() != 0 || fragment.more();
            layer.protocol = fragment.next_header();
            next += kIpv6FragmentBytes;
            if (fragment.offset() != 0) break;  // what follows is in the middle of something
        } else if (kind == kProtoHopByHop || kind == kProtoRouting ||
                   kind == kProtoDestinationOptions || kind == kProtoAuthentication) {
            whole = frame.has(next, 8);
            if (!whole) break;
            const ConstIpv6Extension extension(frame.at(next));
            const std::uint32_t bytes = extension.bytes(kind);
            whole = frame.has(next, bytes);
            if (!whole) break;
            layer.options = true;
            layer.protocol = extension.next_header();
            next += bytes;
        } else {
            break;
        }
    }
    layer.l3_payload = place(next);
    if (whole && !layer.fragment) parse_l4(frame, next, layer);
}

void parse_l3(const Bytes& frame, std::uint32_t offset, std::uint16_t ethertype, Layer& layer) {
    if (ethertype == kEtherIpv4) {
        parse_ipv4(frame, offset, layer);
    } else if (ethertype == kEtherIpv6) {
        parse_ipv6(frame, offset, layer);
    }
}

/// Returns where the stack ends, 0 if it is cut off or too deep.
std::uint32_t parse_labels(const Bytes& frame, std::uint32_t offset, Headers& headers) {
    if (!frame.has(offset, kMplsBytes)) return 0;
    headers.mpls = place(offset);
    for (unsigned i = 0; i < kMaxLabels; ++i, offset += kMplsBytes) {
        if (!frame.has(offset, kMplsBytes)) return 0;
        if (ConstMpls(frame.at(offset)).bottom()) return offset + kMplsBytes;
    }
    return 0;
}

void parse_inner_frame(const Bytes& frame, std::uint32_t offset, Headers& headers) {
    Layer& inner = headers.inner;
    const std::uint32_t l3 = parse_l2(frame, offset, inner);
    if (l3 != 0) parse_l3(frame, l3, inner.ethertype, inner);
}

void parse_inner(const Bytes& frame, std::uint32_t offset, std::uint16_t ethertype,
                 Headers& headers) {
    if (ethertype == kEtherTransparentBridging) {
        parse_inner_frame(frame, offset, headers);
        return;
    }
    headers.inner.ethertype = ethertype;
    if (ethertype == kEtherMpls || ethertype == kEtherMplsMulticast) {
        const std::uint32_t next = parse_labels(frame, offset, headers);
        if (next == 0 || !frame.has(next, 1)) return;
        // Labels do not say what they carry; IP is told by its version.
        const unsigned version = std::to_integer<unsigned>(*frame.at(next)) >> 4;
        headers.inner.ethertype = version == 4 ? kEtherIpv4 : version == 6 ? kEtherIpv6 : 0;
        parse_l3(frame, next, headers.inner.ethertype, headers.inner);
        return;
    }
    parse_l3(frame, offset, ethertype, headers.inner);
}

void parse_udp_tunnel(const Bytes& frame, const ParserConfig& config, Headers& headers) {
    const std::uint32_t offset = headers.outer.payload;
    const std::uint16_t port = ConstUdp(frame.at(headers.outer.l4)).destination();
    const auto begin = [&](Tunnel kind) {
        headers.tunnel = kind;
        headers.tunnel_header = place(offset);
    };
    if (config.is_vxlan(port)) {
        if (!frame.has(offset, kVxlanBytes)) return;
        begin(Tunnel::vxlan);
        parse_inner_frame(frame, offset + kVxlanBytes, headers);
    } else if (port == config.geneve_port) {
        if (!frame.has(offset, kGeneveBytes)) return;
        const ConstGeneve geneve(frame.at(offset));
        if (geneve.version() != 0 || !frame.has(offset, geneve.header_bytes())) return;
        begin(Tunnel::geneve);
        parse_inner(frame, offset + geneve.header_bytes(), geneve.protocol(), headers);
    } else if (port == config.vxlan_gpe_port) {
        if (!frame.has(offset, kVxlanBytes)) return;
        begin(Tunnel::vxlan_gpe);
        constexpr std::uint16_t kProtocols[] = {0, kEtherIpv4, kEtherIpv6,
                                                kEtherTransparentBridging};
        const std::uint8_t next = ConstVxlan(frame.at(offset)).next_protocol();
        if (next < std::size(kProtocols)) {
            parse_inner(frame, offset + kVxlanBytes, kProtocols[next], headers);
        }
    } else if (port == config.mpls_port) {
        if (!frame.has(offset, kMplsBytes)) return;
        begin(Tunnel::mpls_over_udp);
        parse_inner(frame, offset, kEtherMpls, headers);
    } else if (port == kPortRoce && frame.has(offset, kBthBytes)) {
        headers.roce = Roce::v2;
        headers.bth = place(offset);
    }
}

void parse_gre(const Bytes& frame, std::uint32_t offset, Headers& headers) {
    if (!frame.has(offset, kGreBytes)) return;
    const ConstGre gre(frame.at(offset));
    if (!gre.plain() || !frame.has(offset, gre.header_bytes())) return;
    headers.tunnel = Tunnel::gre;
    headers.tunnel_header = place(offset);
    parse_inner(frame, offset + gre.header_bytes(), gre.protocol(), headers);
}

}  // namespace

void ParserConfig::add_vxlan_port(std::uint16_t port) {
    if (!is_vxlan(port)) vxlan_ports.push_back(port);
}

void ParserConfig::remove_vxlan_port(std::uint16_t port) {
    std::erase(vxlan_ports, port);
}

namespace {

void parse(Bytes frame, const ParserConfig& config, Headers& headers) {
    headers = Headers{};
    Layer& outer = headers.outer;
    outer.end = frame.size;
    headers.inner.end = frame.size;
    const std::uint32_t l3 = parse_l2(frame, 0, outer);
    if (l3 == 0) return;
    if (outer.ethertype == kEtherRoce) {
        // Version 1 has a global route header (40 bytes) in front of the transport header.
        if (frame.has(l3, kIpv6Bytes + kBthBytes)) {
            headers.roce = Roce::v1;
            headers.bth = place(l3 + kIpv6Bytes);
        }
        return;
    }
    if (outer.ethertype == kEtherMpls || outer.ethertype == kEtherMplsMulticast) {
        parse_labels(frame, l3, headers);
        return;
    }
    parse_l3(frame, l3, outer.ethertype, outer);
    if (!outer.has_l3() || outer.fragment) return;
    // Nothing of a tunnel lies behind the outer packet's end.
    frame.size = outer.end;
    frame.stored = std::min(frame.stored, outer.end);
    headers.inner.end = outer.end;
    if (outer.l4_kind == L4::udp) {
        parse_udp_tunnel(frame, config, headers);
    } else if (outer.protocol == kProtoGre) {
        parse_gre(frame, outer.l3_payload, headers);
    } else if (outer.protocol == kProtoIpv4 || outer.protocol == kProtoIpv6) {
        const std::uint16_t inside = outer.protocol == kProtoIpv4 ? kEtherIpv4 : kEtherIpv6;
        parse_inner(frame, outer.l3_payload, inside, headers);
        if (headers.inner.has_l3()) {
            headers.tunnel = Tunnel::ip_in_ip;
            headers.tunnel_header = outer.l3_payload;
        }
    }
}

std::uint32_t parsed_bytes(std::span<const std::byte> stored) {
    return static_cast<std::uint32_t>(std::min(stored.size(), kMaxParsed));
}

}  // namespace

void parse_headers(std::span<const std::byte> stored, std::uint32_t size,
                   const ParserConfig& config, Headers& headers) {
    parse({stored.data(), parsed_bytes(stored), size, true}, config, headers);
}

void parse_template(std::span<const std::byte> stored, const ParserConfig& config,
                    Headers& headers) {
    const std::uint32_t bytes = parsed_bytes(stored);
    parse({stored.data(), bytes, bytes, false}, config, headers);
}

}  // namespace cxsim::eth
