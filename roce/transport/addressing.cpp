// SPDX-License-Identifier: Apache-2.0
#include "roce/transport/addressing.h"

#include <algorithm>

namespace cxsim::roce {
namespace {

constexpr std::uint8_t kEct0 = 2;             // ECN-capable transport, as cards send by default
constexpr std::uint16_t kFirstPort = 0xc000;  // UDP source ports of RoCEv2
constexpr std::uint32_t kPortBits = 14;

Path::Description from(const LocalAddress& local) {
    Path::Description path;
    path.kind = local.kind;
    path.source_mac = local.mac;
    path.source = local.gid;
    path.has_vlan = local.has_vlan;
    path.vlan_tci = local.vlan;
    return path;
}

template <class Bytes>
Gid gid_of(const Bytes& bytes) {
    Gid gid{};
    std::ranges::copy(bytes, gid.begin());
    return gid;
}

void set_priority(Path::Description& path, std::uint32_t priority) {
    path.priority = static_cast<std::uint8_t>(priority & 7);
    path.vlan_tci = static_cast<std::uint16_t>((path.vlan_tci & 0xfff) | path.priority << 13);
}

// A port that trusts DSCPs has version 2 in the queue of its DSCP, whatever priority was asked for.
Path with_queue(Path::Description& path, const AddressTable& table) {
    if (path.kind != NetworkKind::roce_v1) {
        const auto dscp = static_cast<std::uint8_t>(path.traffic_class >> 2);
        if (const auto queue = table.queue_of_dscp(dscp)) path.priority = *queue;
    }
    return Path(path);
}

// A driver that gives no port: one for each pair of queues, the same for both directions.
std::uint16_t port_or_default(std::uint32_t given, std::uint32_t local_qp,
                              std::uint32_t remote_qp) {
    if (given != 0) return static_cast<std::uint16_t>(given);
    std::uint32_t mixed = local_qp * remote_qp;
    mixed ^= mixed >> 20;
    mixed ^= mixed >> kPortBits;
    return static_cast<std::uint16_t>(kFirstPort | (mixed & ((1U << kPortBits) - 1)));
}

}  // namespace

std::optional<Path> path_of(prm::ConstView<prm::ads> address, std::uint32_t local_qp,
                            std::uint32_t remote_qp, const AddressTable& table) {
    using prm::ads;
    const auto local = table.address(address.get<ads::src_addr_index>());
    if (!local) return std::nullopt;
    Path::Description path = from(*local);
    path.destination_mac.value =
        static_cast<std::uint64_t>(address.get<ads::rmac_47_32>()) << 32 |
        address.get<ads::rmac_31_0>();
    path.destination = gid_of(address.bytes<ads::rgid_rip>());
    path.hop_limit = static_cast<std::uint8_t>(address.get<ads::hop_limit>());
    path.flow_label = address.get<ads::flow_label>();
    const std::uint32_t ecn = address.get<ads::f_ecn>() != 0 ? address.get<ads::ecn>() : kEct0;
    const std::uint32_t dscp = path.kind == NetworkKind::roce_v1 ? address.get<ads::tclass>() >> 2
                                                                 : address.get<ads::dscp>();
    path.traffic_class = static_cast<std::uint8_t>(dscp << 2 | ecn);
    path.source_port = port_or_default(address.get<ads::udp_sport>(), local_qp, remote_qp);
    set_priority(path, address.get<ads::eth_prio>());
    return with_queue(path, table);
}

std::optional<Path> path_of(std::span<const std::byte> address_vector, std::uint32_t local_qp,
                            const AddressTable& table) {
    using prm::av;
    using prm::base_av;
    if (address_vector.size() < av::kBytes) return std::nullopt;
    const prm::ConstView<av> address(address_vector);
    const auto base = address.nested<av::base>();
    const auto local = table.address(address.get<av::src_addr_index>());
    if (!local) return std::nullopt;
    Path::Description path = from(*local);
    for (const std::byte byte : address.bytes<av::rmac>()) {
        path.destination_mac.value =
            path.destination_mac.value << 8 | std::to_integer<std::uint64_t>(byte);
    }
    path.destination = gid_of(address.bytes<av::rgid>());
    path.hop_limit = static_cast<std::uint8_t>(address.get<av::hop_limit>());
    path.flow_label = address.get<av::flow_label>();
    path.traffic_class = static_cast<std::uint8_t>(address.get<av::tclass>());
    path.source_port =
        port_or_default(base.get<base_av::udp_sport>(), local_qp, base.get<base_av::dqp_dct>());
    // On Ethernet the field holds the priority's three bits above one that says nothing.
    set_priority(path, base.get<base_av::sl>() >> 1);
    return with_queue(path, table);
}

Path reply_path(const ReceivedPacket& packet, std::uint8_t traffic_class, std::uint8_t priority,
                const AddressTable& table) {
    Path::Description path;
    path.kind = packet.kind;
    path.source_mac = packet.destination_mac;
    path.destination_mac = packet.source_mac;
    path.source = packet.destination;
    path.destination = packet.source;
    path.has_vlan = packet.has_vlan;
    path.vlan_tci = packet.vlan_tci & 0xfff;
    path.traffic_class = traffic_class;
    path.flow_label = packet.flow_label;
    path.source_port = packet.source_port;
    set_priority(path, priority);
    return with_queue(path, table);
}

}  // namespace cxsim::roce
