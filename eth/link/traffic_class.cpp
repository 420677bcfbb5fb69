// SPDX-License-Identifier: Apache-2.0
#include "eth/link/traffic_class.h"

#include "eth/wire/checksum.h"
#include "eth/wire/ethernet.h"
#include "eth/wire/ip.h"
#include "model/base/endian.h"

namespace cxsim::eth {
namespace {

constexpr std::size_t kTagBytes = 4;
constexpr unsigned kMaxTags = 2;
constexpr std::size_t kIpv4Bytes = 20;
constexpr std::size_t kIpv6Bytes = 40;
constexpr std::uint8_t kEcn = 3;
constexpr std::uint8_t kCongestionExperienced = 3;

struct Place {
    std::uint16_t type = 0;  ///< 0: neither IPv4 nor IPv6
    std::size_t offset = 0;
    unsigned tags = 0;
};

Place find_ip(std::span<const std::byte> bytes) {
    Place place;
    std::size_t type_at = kEthernetBytes - 2;
    while (bytes.size() >= type_at + 2) {
        const auto type = model::load_be<std::uint16_t>(bytes.data() + type_at);
        if (is_vlan_type(type)) {
            if (place.tags == kMaxTags) return place;
            ++place.tags;
            type_at += kTagBytes;
            continue;
        }
        place.offset = type_at + 2;
        const std::size_t rest = bytes.size() - place.offset;
        const std::byte* header = bytes.data() + place.offset;
        if (type == kEtherIpv4 && rest >= kIpv4Bytes && ConstIpv4(header).version() == 4) {
            place.type = type;
        }
        if (type == kEtherIpv6 && rest >= kIpv6Bytes && ConstIpv6(header).version() == 6) {
            place.type = type;
        }
        return place;
    }
    return place;
}

std::optional<std::uint8_t> dscp_at(const model::Frame& frame, const Place& place) {
    if (place.type == 0) return std::nullopt;
    const std::byte* header = frame.bytes().data() + place.offset;
    const std::uint8_t traffic_class = place.type == kEtherIpv4 ? ConstIpv4(header).traffic_class()
                                                                : ConstIpv6(header).traffic_class();
    return static_cast<std::uint8_t>(traffic_class >> 2);
}

}  // namespace

std::optional<std::uint8_t> dscp_of_untagged(const model::Frame& frame) {
    const Place place = find_ip(frame.bytes());
    return place.tags == 0 ? dscp_at(frame, place) : std::nullopt;
}

std::optional<std::uint8_t> dscp_of(const model::Frame& frame) {
    return dscp_at(frame, find_ip(frame.bytes()));
}

Marking mark_congestion(model::Frame& frame) {
    const Place place = find_ip(frame.bytes());
    if (place.type == 0) return Marking::not_capable;
    std::byte* header = frame.bytes().data() + place.offset;
    const bool version_4 = place.type == kEtherIpv4;
    const std::uint8_t before =
        version_4 ? ConstIpv4(header).traffic_class() : ConstIpv6(header).traffic_class();
    if ((before & kEcn) == 0) return Marking::not_capable;
    if ((before & kEcn) == kCongestionExperienced) return Marking::was_marked;
    const auto after = static_cast<std::uint8_t>(before | kCongestionExperienced);
    if (version_4) {
        const Ipv4 ip(header);
        const auto word = model::load_be<std::uint16_t>(header);
        ip.set_traffic_class(after);
        ip.set_checksum(
            update_checksum(ip.checksum(), word, model::load_be<std::uint16_t>(header)));
    } else {
        const Ipv6 ip(header);
        ip.set_first_word(after, ip.flow_label());
    }
    return Marking::marked;
}

}  // namespace cxsim::eth
