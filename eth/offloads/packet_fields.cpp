// SPDX-License-Identifier: Apache-2.0
// Header fields by the PRM's numbers: where they are, and the checksums that follow a change.
#include "eth/offloads/layer_sums.h"
#include "eth/offloads/packet.h"
#include "eth/wire/checksum.h"
#include "eth/wire/ip.h"
#include "eth/wire/transport.h"
#include "eth/wire/tunnel.h"
#include "model/base/endian.h"
#include "model/prm/bits.h"

#include <array>

namespace cxsim::eth {
namespace {

using model::load_be;
using model::store_be;
using Match = prm::fte_match_param;
using Misc2 = prm::fte_match_set_misc2;

enum class Kind : std::uint8_t {
    none,
    smac_high,
    smac_low,
    ethertype,
    dmac_high,
    dmac_low,
    vid,
    dscp,
    ttl,
    hop_limit,
    ipv6_source,
    ipv6_destination,
    ipv4_source,
    ipv4_destination,
    tcp_flags,
    tcp_source,
    tcp_destination,
    tcp_sequence,
    tcp_acknowledgement,
    udp_source,
    udp_destination,
    reg_a,
    reg_b,
    reg_c,
};

struct Entry {
    Kind kind = Kind::none;
    bool inner = false;
    std::uint8_t index = 0;  ///< Word of an IPv6 address, register.
};

// Numbers as in MLX5_ACTION_IN_FIELD_* of the driver's header. That names the outer fields; the
// inner ones stand in the same order at 0x31 (public user-space drivers name them).
constexpr std::uint32_t kFields = 0x80;
constexpr std::uint32_t kInnerBase = 0x30;

constexpr std::array<Entry, kFields> make_table() {
    std::array<Entry, kFields> table{};
    constexpr Kind kOrder[] = {Kind::smac_high, Kind::smac_low,   Kind::ethertype,
                               Kind::dmac_high, Kind::dmac_low,   Kind::dscp,
                               Kind::tcp_flags, Kind::tcp_source, Kind::tcp_destination,
                               Kind::ttl,       Kind::udp_source, Kind::udp_destination};
    for (const bool inner : {false, true}) {
        std::size_t number = inner ? kInnerBase + 1 : 1;
        for (const Kind kind : kOrder) table[number++] = {kind, inner, 0};
        for (std::uint8_t i = 0; i < 4; ++i) table[number++] = {Kind::ipv6_source, inner, i};
        for (std::uint8_t i = 0; i < 4; ++i) table[number++] = {Kind::ipv6_destination, inner, i};
        table[number++] = {Kind::ipv4_source, inner, 0};
        table[number++] = {Kind::ipv4_destination, inner, 0};
    }
    table[0x17] = {Kind::vid, false, 0};
    table[0x47] = {Kind::hop_limit, false, 0};
    table[0x48] = {Kind::hop_limit, true, 0};
    table[0x49] = {Kind::reg_a, false, 0};
    table[0x50] = {Kind::reg_b, false, 0};
    for (std::uint8_t i = 0; i < 8; ++i) table[0x51U + i] = {Kind::reg_c, false, i};
    table[0x59] = {Kind::tcp_sequence, false, 0};
    table[0x5a] = {Kind::tcp_sequence, true, 0};
    table[0x5b] = {Kind::tcp_acknowledgement, false, 0};
    table[0x5c] = {Kind::tcp_acknowledgement, true, 0};
    return table;
}
constexpr std::array<Entry, kFields> kTable = make_table();

// reg_c_7 comes first in the layout.
static_assert(Misc2::metadata_reg_c_0::kOffset - Misc2::metadata_reg_c_7::kOffset == 7 * 32);

/// Where the L4 checksum of a layer is, also in the first fragment; 0 if there is none.
std::uint32_t l4_checksum_place(std::span<const std::byte> bytes, const Layer& layer) {
    if (!layer.has_l3()) return 0;
    std::uint32_t l4 = layer.l4;
    if (layer.fragment) {
        // A later fragment has no L4 header. IPv6 tells by the header in front of the payload.
        const bool first =
            layer.l3_kind == L3::ipv4
                ? ConstIpv4(bytes.data() + layer.l3).fragment_offset() == 0
                : layer.l3_payload == layer.l3 + kIpv6Bytes + kIpv6FragmentBytes &&
                      ConstIpv6Fragment(bytes.data() + layer.l3 + kIpv6Bytes).offset() == 0;
        if (!first) return 0;
        l4 = layer.l3_payload;
    } else if (!layer.has_l4()) {
        return 0;
    }
    std::uint32_t place = 0;
    switch (layer.protocol) {
        case kProtoTcp:
            place = l4 + ConstTcp::kChecksumOffset;
            break;
        case kProtoUdp:
            place = l4 + ConstUdp::kChecksumOffset;
            break;
        case kProtoIcmp:
        case kProtoIcmpv6:
            place = l4 + ConstIcmp::kChecksumOffset;
            break;
        default:
            return 0;
    }
    return place + 2 <= bytes.size() && place + 2 <= layer.end ? place : 0;
}

bool in_pseudo_header(const Layer& layer, std::uint32_t offset) {
    if (layer.protocol == kProtoIcmp) return false;
    const std::uint32_t from = layer.l3 + (layer.l3_kind == L3::ipv4 ? 12U : 8U);
    return offset >= from && offset < from + (layer.l3_kind == L3::ipv4 ? 8U : 32U);
}

}  // namespace

bool Packet::locate(std::uint32_t field, Place& place) {
    if (field >= kFields) return false;
    const Entry entry = kTable[field];
    const Headers& all = headers();
    const Layer& layer = entry.inner ? all.inner : all.outer;
    const auto in_frame = [&](bool there, std::uint32_t offset, std::uint8_t bytes,
                              std::uint8_t width, std::uint8_t shift = 0) {
        place.in = Place::In::frame;
        place.offset = offset;
        place.word_bytes = bytes;
        place.width = width;
        place.shift = shift;
        return there;
    };
    const bool l2 = layer.has_l2();
    const bool v4 = layer.l3_kind == L3::ipv4;
    const bool v6 = layer.l3_kind == L3::ipv6;
    const bool tcp = layer.l4_kind == L4::tcp;
    const bool udp = layer.l4_kind == L4::udp;
    switch (entry.kind) {
        case Kind::none:
            return false;
        case Kind::smac_high:
            return in_frame(l2, layer.l2 + 6U, 4, 32);
        case Kind::smac_low:
            return in_frame(l2, layer.l2 + 10U, 2, 16);
        case Kind::dmac_high:
            return in_frame(l2, layer.l2, 4, 32);
        case Kind::dmac_low:
            return in_frame(l2, layer.l2 + 4U, 2, 16);
        case Kind::ethertype:
            place.structural = true;
            return in_frame(l2, layer.l2 + 12U + layer.tags * kVlanTagBytes, 2, 16);
        case Kind::vid:
            return in_frame(layer.tags != 0, layer.l2 + 14U, 2, 12);
        case Kind::dscp:
            return v4 ? in_frame(true, layer.l3 + 1U, 1, 6, 2) : in_frame(v6, layer.l3, 4, 6, 22);
        case Kind::ttl:
            return in_frame(v4, layer.l3 + 8U, 1, 8);
        case Kind::hop_limit:
            return in_frame(v6, layer.l3 + 7U, 1, 8);
        case Kind::ipv4_source:
            return in_frame(v4, layer.l3 + 12U, 4, 32);
        case Kind::ipv4_destination:
            return in_frame(v4, layer.l3 + 16U, 4, 32);
        case Kind::ipv6_source:
            return in_frame(v6, layer.l3 + 8U + entry.index * 4U, 4, 32);
        case Kind::ipv6_destination:
            return in_frame(v6, layer.l3 + 24U + entry.index * 4U, 4, 32);
        case Kind::tcp_flags:
            return in_frame(tcp, layer.l4 + 12U, 2, 9);
        case Kind::tcp_source:
            return in_frame(tcp, layer.l4, 2, 16);
        case Kind::tcp_destination:
            return in_frame(tcp, layer.l4 + 2U, 2, 16);
        case Kind::tcp_sequence:
            return in_frame(tcp, layer.l4 + 4U, 4, 32);
        case Kind::tcp_acknowledgement:
            return in_frame(tcp, layer.l4 + 8U, 4, 32);
        case Kind::udp_source:
            return in_frame(udp, layer.l4, 2, 16);
        case Kind::udp_destination:
            place.structural = true;
            return in_frame(udp, layer.l4 + 2U, 2, 16);
        case Kind::reg_a:
        case Kind::reg_c: {
            const std::uint32_t bit = entry.kind == Kind::reg_a
                                          ? Misc2::metadata_reg_a::kOffset
                                          : Misc2::metadata_reg_c_0::kOffset - entry.index * 32U;
            place = {.in = Place::In::key,
                     .offset = Match::misc_parameters_2::kOffset / 8 + bit / 8};
            return true;
        }
        case Kind::reg_b:
            place = {.in = Place::In::reg_b};
            return true;
    }
    return false;
}

std::uint32_t Packet::read(const Place& place) const {
    if (place.in == Place::In::reg_b) return reg_b_;
    if (place.in == Place::In::key) {
        return load_be<std::uint32_t>(key_.bytes.data() + place.offset);
    }
    const std::byte* at = frame_->bytes().data() + place.offset;
    const std::uint32_t word = place.word_bytes == 1   ? std::to_integer<std::uint32_t>(*at)
                               : place.word_bytes == 2 ? load_be<std::uint16_t>(at)
                                                       : load_be<std::uint32_t>(at);
    return word >> place.shift & static_cast<std::uint32_t>(prm::field_mask(place.width));
}

void Packet::write(const Place& place, std::uint32_t value) {
    if (place.in == Place::In::reg_b) {
        reg_b_ = value;
        return;
    }
    if (place.in == Place::In::key) {
        store_be<std::uint32_t>(key_.bytes.data() + place.offset, value);
        return;
    }
    const std::span<std::byte> bytes = frame_->bytes();
    // Headers begin at even offsets and have even lengths, so that words of the sums are aligned.
    const std::uint32_t from = place.offset & ~1U;
    const std::uint32_t to = (place.offset + place.word_bytes + 1) & ~1U;
    const std::uint16_t before = internet_sum(bytes.subspan(from, to - from));
    std::byte* at = bytes.data() + place.offset;
    const auto mask = static_cast<std::uint32_t>(prm::field_mask(place.width)) << place.shift;
    const auto merged = [&](std::uint32_t old) {
        return (old & ~mask) | (value << place.shift & mask);
    };
    switch (place.word_bytes) {
        case 1:
            *at = static_cast<std::byte>(merged(std::to_integer<std::uint32_t>(*at)));
            break;
        case 2:
            store_be<std::uint16_t>(at,
                                    static_cast<std::uint16_t>(merged(load_be<std::uint16_t>(at))));
            break;
        default:
            store_be<std::uint32_t>(at, merged(load_be<std::uint32_t>(at)));
            break;
    }
    checksums_follow(from, before, internet_sum(bytes.subspan(from, to - from)));
    key_stale_ = true;
    stale_ = stale_ || place.structural;
}

void Packet::checksums_follow(std::uint32_t offset, std::uint16_t before, std::uint16_t after) {
    if (before == after) return;
    const std::span<std::byte> bytes = frame_->bytes();
    // Each sum that changes lies itself under the sums around it.
    const auto update = [&](std::uint32_t place, bool udp) {
        const auto old = load_be<std::uint16_t>(bytes.data() + place);
        if (udp && old == 0) return;
        std::uint16_t fresh = update_checksum(old, before, after);
        if (udp && fresh == 0) fresh = 0xffff;
        store_be<std::uint16_t>(bytes.data() + place, fresh);
        checksums_follow(place, old, fresh);
    };
    for (const Layer* layer : {&headers_.inner, &headers_.outer}) {
        if (!layer->has_l3()) continue;
        const std::uint32_t ip_sum = layer->l3 + static_cast<std::uint32_t>(Ipv4::kChecksumOffset);
        if (layer->l3_kind == L3::ipv4 && offset >= layer->l3 && offset < layer->l3_payload &&
            offset != ip_sum) {
            update(ip_sum, false);
        }
        const std::uint32_t place = l4_checksum_place(bytes, *layer);
        if (place == 0 || offset == place) continue;
        const std::uint32_t end =
            layer->has_l4() ? layer->l4 + l4_bytes(bytes, *layer) : layer->end;
        if ((offset >= layer->l3_payload && offset < end) || in_pseudo_header(*layer, offset)) {
            update(place, layer->protocol == kProtoUdp);
        }
    }
    if (headers_.tunnel == Tunnel::gre &&
        ConstGre(bytes.data() + headers_.tunnel_header).has_checksum()) {
        const std::uint32_t place =
            headers_.tunnel_header + static_cast<std::uint32_t>(Gre::kChecksumOffset);
        if (offset > place && offset < headers_.outer.end) update(place, false);
    }
}

bool Packet::set_field(std::uint32_t field, unsigned offset, unsigned length, std::uint32_t value) {
    if (length == 0) length = 32;
    Place place;
    if (!locate(field, place) || offset >= 32 || offset + length > place.width) return false;
    const auto mask = static_cast<std::uint32_t>(prm::field_mask(length)) << offset;
    write(place, (read(place) & ~mask) | (value << offset & mask));
    return true;
}

bool Packet::add_field(std::uint32_t field, std::uint32_t value) {
    Place place;
    if (!locate(field, place)) return false;
    write(place, (read(place) + value) & static_cast<std::uint32_t>(prm::field_mask(place.width)));
    return true;
}

bool Packet::copy_field(std::uint32_t from, unsigned from_offset, std::uint32_t to,
                        unsigned to_offset, unsigned length) {
    if (length == 0) length = 32;
    Place source;
    if (!locate(from, source) || from_offset >= 32 || from_offset + length > source.width) {
        return false;
    }
    return set_field(to, to_offset, length, read(source) >> from_offset);
}

}  // namespace cxsim::eth
