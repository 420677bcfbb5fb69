// SPDX-License-Identifier: Apache-2.0
#include "eth/offloads/receive.h"

#include "eth/offloads/layer_sums.h"
#include "eth/wire/ethernet.h"

#include <utility>

namespace cxsim::eth {
namespace {

struct LayerCheck {
    bool l3_ok = false;
    bool l4_ok = false;
    std::uint16_t sum = 0;  ///< From the IP header to the packet's end.
};

/// One pass over the layer's bytes gives the sum and both checks. `size`: the frame's length.
LayerCheck check_layer(std::span<const std::byte> stored, std::uint32_t size, const Layer& layer) {
    LayerCheck check;
    if (!layer.has_l3()) return check;
    const std::byte* l3 = stored.data() + layer.l3;
    const std::uint16_t header_sum = internet_sum(content(stored, layer.l3, layer.l3_payload));
    const std::uint16_t upper_sum = internet_sum(content(stored, layer.l3_payload, layer.end));
    check.sum = add_sums(header_sum, upper_sum);
    if (layer.l3_kind == L3::ipv4) {
        const bool whole = layer.l3 + std::uint32_t{ConstIpv4(l3).total_bytes()} <= size;
        check.l3_ok = whole && header_sum == 0xffff;
    } else {
        check.l3_ok = layer.l3 + kIpv6Bytes + ConstIpv6(l3).payload_bytes() <= size;
    }
    if (layer.l4_kind != L4::tcp && layer.l4_kind != L4::udp) return check;
    if (layer.l4_kind == L4::udp && ConstUdp(stored.data() + layer.l4).checksum() == 0) {
        check.l4_ok = check.l3_ok;
        return check;
    }
    const std::uint32_t bytes = l4_bytes(stored, layer);
    if (bytes == 0 || !check.l3_ok) return check;
    const std::uint16_t sum =
        layer.l4 + bytes == layer.end
            ? upper_sum
            : internet_sum(content(stored, layer.l4, layer.l4 + std::size_t{bytes}));
    check.l4_ok = add_sums(sum, pseudo_sum(stored, layer, bytes)) == 0xffff;
    return check;
}

CqeL4 l4_kind(std::span<const std::byte> stored, const Layer& layer) {
    if (layer.l4_kind == L4::udp) return CqeL4::udp;
    if (layer.l4_kind != L4::tcp) return CqeL4::none;
    if ((ConstTcp(stored.data() + layer.l4).flags() & kTcpAck) == 0) return CqeL4::tcp_no_ack;
    return layer.end > layer.payload ? CqeL4::tcp_ack_and_data : CqeL4::tcp_ack_no_data;
}

}  // namespace

ReceiveReport examine(Packet& packet, const ReceiveOptions& options) {
    ReceiveReport report;
    if (options.strip_vlan) {
        const std::span<const std::byte> bytes = std::as_const(packet).frame().bytes();
        if (bytes.size() >= kEthernetBytes + kVlanTagBytes &&
            ConstEthernet(bytes.data()).type() == kEtherCustomerTag) {
            report.has_vlan = true;
            report.vlan_info = ConstVlanTag(bytes.data() + 12).tci();
            packet.pop_vlan();
        }
    }
    const std::span<const std::byte> stored = std::as_const(packet).frame().bytes();
    const std::uint32_t size = packet.bytes();
    const Headers& headers = packet.headers();
    report.l2_ok = !packet.frame().damaged;
    report.roce = headers.roce;
    report.tunneled = options.tunneled && headers.has_inner();

    const LayerCheck outer = check_layer(stored, size, headers.outer);
    const Layer& layer = report.tunneled ? headers.inner : headers.outer;
    report.l3_ok = outer.l3_ok;
    report.l4_ok = outer.l4_ok;
    if (report.tunneled) {
        const LayerCheck inner = check_layer(stored, size, headers.inner);
        report.l3_ok = outer.l3_ok && inner.l3_ok;
        report.l4_ok = inner.l4_ok && (headers.outer.l4_kind != L4::udp || outer.l4_ok);
    }
    if (layer.has_l3()) {
        report.l3_kind = layer.l3_kind == L3::ipv4 ? CqeL3::ipv4 : CqeL3::ipv6;
    }
    report.l4_kind = l4_kind(stored, layer);
    report.ip_fragment = layer.fragment;

    if (!options.full_checksum) {
        report.check_sum = outer.sum;
    } else if (!headers.outer.has_l3()) {
        report.check_sum = internet_sum(content(stored, kEthernetBytes, size));
    } else {
        const Layer& ip = headers.outer;
        const std::uint16_t front = internet_sum(content(stored, kEthernetBytes, ip.l3));
        const std::uint16_t padding = internet_sum(content(stored, ip.end, size));
        report.check_sum =
            add_sums_at(add_sums(front, outer.sum), padding, ip.end - kEthernetBytes);
    }
    return report;
}

void ReceiveReport::write(prm::View<prm::cqe64> cqe) const {
    using Cqe = prm::cqe64;
    cqe.set<Cqe::outer_l3_tunneled>(tunneled);
    cqe.set<Cqe::check_sum>(check_sum);
    cqe.set<Cqe::l2_ok>(l2_ok);
    cqe.set<Cqe::l3_ok>(l3_ok);
    cqe.set<Cqe::l4_ok>(l4_ok);
    cqe.set<Cqe::l3_hdr_type>(l3_kind);
    cqe.set<Cqe::l4_hdr_type>(l4_kind);
    cqe.set<Cqe::ip_frag>(ip_fragment);
    cqe.set<Cqe::has_vlan>(has_vlan);
    cqe.set<Cqe::vlan_info>(vlan_info);
}

}  // namespace cxsim::eth
