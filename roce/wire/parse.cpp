// SPDX-License-Identifier: Apache-2.0
#include "eth/wire/checksum.h"
#include "eth/wire/ip.h"
#include "eth/wire/transport.h"
#include "roce/wire/codec.h"
#include "roce/wire/headers.h"

#include <algorithm>
#include <cstring>

namespace cxsim::roce {
namespace {

using Bytes = std::span<const std::byte>;

/// What tells a RoCE packet from others, and where its parts are. Offsets from the frame's start.
struct Place {
    NetworkKind kind = NetworkKind::roce_v2_ipv4;
    bool has_vlan = false;
    std::uint32_t network = 0;
    std::uint32_t udp = 0;  ///< version 2
};

bool to_roce_port(Bytes bytes, std::uint32_t udp) {
    return bytes.size() >= udp + eth::kUdpBytes &&
           eth::ConstUdp(bytes.data() + udp).destination() == eth::kPortRoce;
}

bool find(Bytes bytes, Place& place) {
    if (bytes.size() < eth::kEthernetBytes) return false;
    std::uint32_t at = eth::kEthernetBytes;
    std::uint16_t type = eth::ConstEthernet(bytes.data()).type();
    place.has_vlan = type == eth::kEtherCustomerTag;
    if (place.has_vlan) {
        at += eth::kVlanTagBytes;
        if (bytes.size() < at) return false;
        type = model::load_be<std::uint16_t>(bytes.data() + at - 2);
    }
    place.network = at;
    switch (type) {
        case eth::kEtherRoce:
            place.kind = NetworkKind::roce_v1;
            return true;
        case eth::kEtherIpv4: {
            if (bytes.size() < at + eth::kIpv4Bytes) return false;
            const eth::ConstIpv4 ip(bytes.data() + at);
            if (ip.version() != 4 || ip.header_bytes() < eth::kIpv4Bytes || ip.fragment() ||
                ip.protocol() != eth::kProtoUdp) {
                return false;
            }
            place.kind = NetworkKind::roce_v2_ipv4;
            place.udp = at + ip.header_bytes();
            return to_roce_port(bytes, place.udp);
        }
        case eth::kEtherIpv6: {
            if (bytes.size() < at + eth::kIpv6Bytes) return false;
            const eth::ConstIpv6 ip(bytes.data() + at);
            if (ip.version() != 6 || ip.next_header() != eth::kProtoUdp) return false;
            place.kind = NetworkKind::roce_v2_ipv6;
            place.udp = at + eth::kIpv6Bytes;
            return to_roce_port(bytes, place.udp);
        }
        default:
            return false;
    }
}

/// Where the transport begins and how long it is, ICRC included.
struct Transport {
    std::uint32_t begin = 0;
    std::uint32_t bytes = 0;
};

bool read_udp(Bytes bytes, const Place& place, std::uint32_t ip_payload, ReceivedPacket& into,
              Transport& transport) {
    const eth::ConstUdp udp(bytes.data() + place.udp);
    if (udp.length() != ip_payload || ip_payload < eth::kUdpBytes) return false;
    into.source_port = udp.source();
    transport = {place.udp + eth::kUdpBytes, ip_payload - eth::kUdpBytes};
    return true;
}

bool read_ipv4(Bytes bytes, const Place& place, ReceivedPacket& into, Transport& transport) {
    const std::byte* const at = bytes.data() + place.network;
    const eth::ConstIpv4 ip(at);
    // Annex A17: no options. A right header sums up to ones.
    if (ip.header_bytes() != eth::kIpv4Bytes) return false;
    if (eth::internet_sum({at, eth::kIpv4Bytes}) != 0xffff) return false;
    if (ip.total_bytes() < eth::kIpv4Bytes) return false;
    const auto as_gid = [](std::uint32_t address, Gid& gid) {
        model::store_be<std::uint64_t>(gid.data(), 0);
        model::store_be<std::uint32_t>(gid.data() + 8, 0xffff);
        model::store_be<std::uint32_t>(gid.data() + 12, address);
    };
    as_gid(ip.source(), into.source);
    as_gid(ip.destination(), into.destination);
    into.traffic_class = ip.traffic_class();
    into.hop_limit = ip.ttl();
    into.flow_label = 0;
    return read_udp(bytes, place, ip.total_bytes() - eth::kIpv4Bytes, into, transport);
}

/// IPv6 or a GRH.
bool read_ipv6(Bytes bytes, const Place& place, ReceivedPacket& into, Transport& transport) {
    if (bytes.size() < place.network + eth::kIpv6Bytes) return false;
    const eth::ConstIpv6 ip(bytes.data() + place.network);
    if (ip.version() != 6) return false;
    std::copy_n(ip.source(), into.source.size(), into.source.begin());
    std::copy_n(ip.destination(), into.destination.size(), into.destination.begin());
    into.traffic_class = ip.traffic_class();
    into.hop_limit = ip.hop_limit();
    into.flow_label = ip.flow_label();
    if (place.kind == NetworkKind::roce_v2_ipv6) {
        return read_udp(bytes, place, ip.payload_bytes(), into, transport);
    }
    if (ip.next_header() != kNextHeaderBth) return false;
    into.source_port = 0;
    transport = {place.network + kGrhBytes, ip.payload_bytes()};
    return true;
}

class Reader {
  public:
    explicit Reader(const std::byte* at) : at_(at) {}
    template <class T>
    void operator()(T& value) {
        value = model::load_be<T>(at_);
        at_ += sizeof(T);
    }
    void low24(std::uint32_t& value) {
        (*this)(value);
        value &= 0xff'ffffU;
    }
    void high8_low24(std::uint8_t& high, std::uint32_t& low) {
        (*this)(low);
        high = static_cast<std::uint8_t>(low >> 24);
        low &= 0xff'ffffU;
    }

  private:
    const std::byte* at_;
};

/// `stored`: what is there of the transport.
bool read_transport(Bytes stored, std::uint32_t bytes, ReceivedPacket& into) {
    if (stored.size() < kBthBytes || bytes < kBthBytes + kIcrcBytes) return false;
    const ConstBth bth(stored.data());
    if (bth.version() != 0) return false;
    TransportHeaders& headers = into.headers;
    headers = {};
    headers.opcode = bth.opcode();
    headers.solicited = bth.solicited();
    headers.migrated = bth.migrated();
    headers.pad = bth.pad();
    headers.pkey = bth.pkey();
    headers.fecn = bth.fecn();
    headers.becn = bth.becn();
    headers.destination_qp = bth.destination_qp();
    headers.ack_request = bth.ack_request();
    headers.psn = bth.psn();
    into.payload = {};
    into.payload_bytes = 0;
    if (headers.opcode == kCnpOpcode) {
        return headers.pad == 0 && bytes == kBthBytes + kCnpReservedBytes + kIcrcBytes;
    }
    if (!allowed(headers.service(), headers.operation())) return false;
    const std::uint32_t front = transport_header_bytes(headers.opcode);
    if (stored.size() < front || bytes < front + headers.pad + kIcrcBytes) return false;
    if ((bytes - front) % 4 != 0) return false;
    Reader reader(stored.data() + kBthBytes);
    for_each_extended_field(headers, reader);
    into.payload_bytes = bytes - front - headers.pad - kIcrcBytes;
    into.payload =
        stored.subspan(front, std::min<std::size_t>(into.payload_bytes, stored.size() - front));
    const bool has_any = into.payload_bytes + headers.pad != 0;
    return !has_any || headers.traits().payload;
}

}  // namespace

bool looks_like_roce(const model::Frame& frame) {
    Place place;
    return find(frame.bytes(), place);
}

Parsed parse(const model::Frame& frame, ReceivedPacket& into) {
    const Bytes bytes = frame.bytes();
    Place place;
    if (!find(bytes, place)) return Parsed::not_roce;
    const eth::ConstEthernet ethernet(bytes.data());
    into.kind = place.kind;
    into.destination_mac = ethernet.destination();
    into.source_mac = ethernet.source();
    into.has_vlan = place.has_vlan;
    into.vlan_tci =
        place.has_vlan ? eth::ConstVlanTag(bytes.data() + eth::kEthernetBytes - 2).tci() : 0;
    into.frame_bytes = frame.size();

    Transport transport;
    const bool good = place.kind == NetworkKind::roce_v2_ipv4
                          ? read_ipv4(bytes, place, into, transport)
                          : read_ipv6(bytes, place, into, transport);
    if (!good) return Parsed::malformed;
    // A frame may be longer (padding to Ethernet's minimum), a packet not.
    const std::uint32_t end = transport.begin + transport.bytes;
    if (end > frame.size()) return Parsed::malformed;
    const Bytes packet = bytes.first(std::min<std::size_t>(bytes.size(), end));
    if (!read_transport(packet.subspan(transport.begin), transport.bytes, into)) {
        return Parsed::malformed;
    }
    if (end > bytes.size()) return Parsed::packet;  // counted bytes: there is no CRC to look at
    const auto icrc =
        invariant_crc(place.kind, packet.first(end - kIcrcBytes).subspan(place.network));
    const bool right = std::memcmp(icrc.data(), packet.last(kIcrcBytes).data(), kIcrcBytes) == 0;
    return right ? Parsed::packet : Parsed::bad_icrc;
}

}  // namespace cxsim::roce
