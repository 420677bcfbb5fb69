// SPDX-License-Identifier: Apache-2.0
#include "roce/responder/completion.h"

#include "eth/wire/checksum.h"
#include "eth/wire/ip.h"
#include "eth/wire/protocol.h"
#include "model/base/endian.h"
#include "model/prm/view.h"
#include "prm/layouts.h"
#include "roce/wire/headers.h"

#include <algorithm>

namespace cxsim::roce {
namespace {

// cqe64.opcode
constexpr std::uint32_t kResponderWriteImmediate = 1;
constexpr std::uint32_t kResponderSend = 2;
constexpr std::uint32_t kResponderSendImmediate = 3;
constexpr std::uint32_t kResponderSendInvalidate = 4;
// cqe64.grh
constexpr std::uint32_t kGrhInBuffer = 1;

// The CQE's number of the network layer.
std::uint32_t network_type(NetworkKind kind) {
    switch (kind) {
        case NetworkKind::roce_v1:
            return 0;
        case NetworkKind::roce_v2_ipv6:
            return 1;
        case NetworkKind::roce_v2_ipv4:
            return 2;
    }
    return 0;
}

std::uint32_t opcode(const OperationTraits& traits) {
    if (traits.write) return kResponderWriteImmediate;
    if (traits.immediate) return kResponderSendImmediate;
    return traits.invalidate ? kResponderSendInvalidate : kResponderSend;
}

std::uint32_t transport_bytes(const ReceivedPacket& packet) {
    return transport_header_bytes(packet.headers.opcode) + packet.payload_bytes +
           packet.headers.pad + kIcrcBytes;
}

}  // namespace

void fill_completion(std::span<std::byte, 64> cqe, const ReceivedPacket& packet,
                     std::uint32_t source_qp, std::uint32_t bytes, bool network_header) {
    using prm::cqe64;
    const prm::View<cqe64> view{std::span<std::byte>(cqe)};
    const OperationTraits& traits = packet.headers.traits();
    const std::uint32_t network = network_type(packet.kind);
    view.set<cqe64::opcode>(opcode(traits));
    view.set<cqe64::byte_cnt>(bytes);
    view.set<cqe64::rqpn>(source_qp);
    view.set<cqe64::grh>(network_header ? kGrhInBuffer : 0U);
    // mlx5_ib's handle_responder() reads the network type of RoCE from the low bits of sl.
    view.set<cqe64::sl>(network);
    view.set<cqe64::l3_hdr_type>(network);
    view.set<cqe64::se>(packet.headers.solicited);
    if (packet.has_vlan) {
        view.set<cqe64::has_vlan>(1U);
        view.set<cqe64::vlan_info>(packet.vlan_tci);
    }
    if (traits.immediate) {
        view.set<cqe64::immediate>(packet.headers.immediate);
    } else if (traits.invalidate) {
        view.set<cqe64::inval_rkey>(packet.headers.invalidated_key);
    } else if (network_header) {
        view.set<cqe64::pkey>(packet.headers.pkey);
    }
}

std::array<std::byte, kGrhBytes> network_header_of(const ReceivedPacket& packet) {
    std::array<std::byte, kGrhBytes> bytes{};
    const std::uint32_t behind = transport_bytes(packet);
    if (packet.kind == NetworkKind::roce_v2_ipv4) {
        std::byte* place = bytes.data() + kGrhBytes - eth::kIpv4Bytes;
        const eth::Ipv4 ip(place);
        ip.set_version_and_bytes(eth::kIpv4Bytes);
        ip.set_traffic_class(packet.traffic_class);
        ip.set_total_bytes(static_cast<std::uint16_t>(eth::kIpv4Bytes + eth::kUdpBytes + behind));
        ip.set_fragment(true, false, 0);
        ip.set_ttl(packet.hop_limit);
        ip.set_protocol(eth::kProtoUdp);
        std::copy_n(packet.source.begin() + 12, 4, place + eth::Ipv4::kSourceOffset);
        std::copy_n(packet.destination.begin() + 12, 4, place + eth::Ipv4::kSourceOffset + 4);
        // The kernel tells an IPv4 header from garbage by its checksum.
        ip.set_checksum(eth::internet_checksum(std::span(bytes).last<eth::kIpv4Bytes>()));
        return bytes;
    }
    const bool grh = packet.kind == NetworkKind::roce_v1;
    const eth::Ipv6 ip(bytes.data());
    ip.set_first_word(packet.traffic_class, packet.flow_label);
    ip.set_payload_bytes(static_cast<std::uint16_t>(behind + (grh ? 0 : eth::kUdpBytes)));
    ip.set_next_header(grh ? kNextHeaderBth : eth::kProtoUdp);
    ip.set_hop_limit(packet.hop_limit);
    std::ranges::copy(packet.source, ip.source());
    std::ranges::copy(packet.destination, ip.destination());
    return bytes;
}

}  // namespace cxsim::roce
