// SPDX-License-Identifier: Apache-2.0
#include "eth/offloads/transmit.h"

#include "eth/offloads/layer_sums.h"
#include "eth/wire/ethernet.h"

namespace cxsim::eth {
namespace {

using Segment = prm::wqe_eth_seg;

void fill_l3(std::span<std::byte> stored, const Layer& layer) {
    if (layer.l3_kind != L3::ipv4) return;
    const Ipv4 ip(stored.data() + layer.l3);
    ip.set_checksum(0);
    ip.set_checksum(internet_checksum({ip.data(), ip.header_bytes()}));
}

void fill_l4(std::span<std::byte> stored, const Layer& layer) {
    if (layer.l4_kind != L4::tcp && layer.l4_kind != L4::udp) return;
    const bool udp = layer.l4_kind == L4::udp;
    const std::uint32_t bytes = l4_bytes(stored, layer);
    if (bytes == 0) return;
    std::byte* field =
        stored.data() + layer.l4 + (udp ? Udp::kChecksumOffset : Tcp::kChecksumOffset);
    model::store_be<std::uint16_t>(field, 0);
    const std::uint16_t checksum = internet_checksum(content(stored, layer.l4, layer.l4 + bytes),
                                                     pseudo_sum(stored, layer, bytes));
    model::store_be<std::uint16_t>(field, udp && checksum == 0 ? 0xffff : checksum);
}

/// One layer as the software parser describes it.
void describe(std::span<const std::byte> stored, std::uint32_t size, std::uint32_t l3, bool ipv6,
              std::uint32_t l4, bool udp, Layer& layer) {
    const auto whole = [&](std::uint32_t offset, std::uint32_t bytes) {
        return offset + bytes <= stored.size();
    };
    layer.end = size;
    if (l3 == 0 || !whole(l3, ipv6 ? kIpv6Bytes : kIpv4Bytes)) return;
    const ConstIpv4 ip(stored.data() + l3);
    if (ip.version() != (ipv6 ? 6 : 4)) return;
    std::uint32_t payload = l3 + kIpv6Bytes;
    std::uint32_t end = payload + ConstIpv6(stored.data() + l3).payload_bytes();
    if (!ipv6) {
        payload = l3 + ip.header_bytes();
        end = l3 + ip.total_bytes();
        if (ip.header_bytes() < kIpv4Bytes || payload > stored.size()) return;
    }
    layer.l3_kind = ipv6 ? L3::ipv6 : L3::ipv4;
    layer.l3 = static_cast<std::uint16_t>(l3);
    layer.l3_payload = static_cast<std::uint16_t>(payload);
    // Large sends have no length yet.
    layer.end = end > payload && end < size ? end : size;
    const std::uint32_t bytes = udp ? kUdpBytes : kTcpBytes;
    if (l4 < payload || !whole(l4, bytes) || l4 + bytes > layer.end) return;
    const std::uint32_t header = udp ? bytes : ConstTcp(stored.data() + l4).header_bytes();
    if (header < bytes || !whole(l4, header) || l4 + header > layer.end) return;
    layer.l4_kind = udp ? L4::udp : L4::tcp;
    layer.protocol = udp ? kProtoUdp : kProtoTcp;
    layer.l4 = static_cast<std::uint16_t>(l4);
    layer.payload = static_cast<std::uint16_t>(l4 + header);
}

}  // namespace

std::uint32_t inlined_header_bytes(prm::ConstView<Segment> segment) {
    if (segment.get<Segment::insert, prm::wqe_eth_seg_insert::insert_vlan>() != 0) return 0;
    return segment.get<Segment::inline_hdr, prm::wqe_eth_seg_inline_hdr::sz>() & 0x3ff;
}

SendOffloads read_send_offloads(prm::ConstView<Segment> segment, bool software_parser) {
    SendOffloads offloads;
    offloads.l3_checksum = segment.get<Segment::l3_csum>() != 0;
    offloads.l4_checksum = segment.get<Segment::l4_csum>() != 0;
    offloads.l3_inner_checksum = segment.get<Segment::l3_inner_csum>() != 0;
    offloads.l4_inner_checksum = segment.get<Segment::l4_inner_csum>() != 0;
    offloads.mss = static_cast<std::uint16_t>(segment.get<Segment::mss>());
    using Insert = prm::wqe_eth_seg_insert;
    offloads.insert_vlan = segment.get<Segment::insert, Insert::insert_vlan>() != 0;
    if (offloads.insert_vlan) {
        offloads.service_tag = segment.get<Segment::insert, Insert::svlan>() != 0;
        offloads.vlan_tci =
            static_cast<std::uint16_t>(segment.get<Segment::insert, Insert::vlan_tci>());
    }
    if (!software_parser) return offloads;
    SoftwareParser& parser = offloads.software_parser;
    const auto in_bytes = [](std::uint32_t words) { return static_cast<std::uint16_t>(words * 2); };
    parser.outer_l3 = in_bytes(segment.get<Segment::swp_outer_l3_offset>());
    parser.outer_l4 = in_bytes(segment.get<Segment::swp_outer_l4_offset>());
    parser.inner_l3 = in_bytes(segment.get<Segment::swp_inner_l3_offset>());
    parser.inner_l4 = in_bytes(segment.get<Segment::swp_inner_l4_offset>());
    parser.outer_l3_ipv6 = segment.get<Segment::swp_outer_l3_ipv6>() != 0;
    parser.outer_l4_udp = segment.get<Segment::swp_outer_l4_udp>() != 0;
    parser.inner_l3_ipv6 = segment.get<Segment::swp_inner_l3_ipv6>() != 0;
    parser.inner_l4_udp = segment.get<Segment::swp_inner_l4_udp>() != 0;
    return offloads;
}

Headers software_headers(std::span<const std::byte> stored, std::uint32_t size,
                         const SoftwareParser& parser) {
    Headers headers;
    if (stored.size() >= kEthernetBytes) headers.outer.l2 = 0;
    describe(stored, size, parser.outer_l3, parser.outer_l3_ipv6, parser.outer_l4,
             parser.outer_l4_udp, headers.outer);
    describe(stored, size, parser.inner_l3, parser.inner_l3_ipv6, parser.inner_l4,
             parser.inner_l4_udp, headers.inner);
    return headers;
}

void fill_checksums(std::span<std::byte> stored, const Headers& headers,
                    const SendOffloads& offloads) {
    // Inner before outer, since the outer L4 checksum covers the inner ones.
    if (offloads.l3_inner_checksum) fill_l3(stored, headers.inner);
    if (offloads.l4_inner_checksum) fill_l4(stored, headers.inner);
    if (offloads.l3_checksum) fill_l3(stored, headers.outer);
    if (offloads.l4_checksum) fill_l4(stored, headers.outer);
}

bool apply_send_offloads(Packet& packet, const SendOffloads& offloads) {
    // The tag first: the driver's offsets count it in.
    if (offloads.insert_vlan &&
        !packet.push_vlan(offloads.service_tag ? kEtherServiceTag : kEtherCustomerTag,
                          offloads.vlan_tci)) {
        return false;
    }
    if (!offloads.any_checksum()) return true;
    const std::span<std::byte> bytes = packet.frame().bytes();
    if (offloads.software_parser.used()) {
        fill_checksums(bytes, software_headers(bytes, packet.bytes(), offloads.software_parser),
                       offloads);
    } else {
        fill_checksums(bytes, packet.headers(), offloads);
    }
    return true;
}

}  // namespace cxsim::eth
