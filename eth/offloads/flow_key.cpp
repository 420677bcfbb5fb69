// SPDX-License-Identifier: Apache-2.0
#include "eth/offloads/flow_key.h"

#include "eth/wire/ethernet.h"
#include "eth/wire/ip.h"
#include "eth/wire/transport.h"
#include "eth/wire/tunnel.h"
#include "model/base/endian.h"

#include <algorithm>
#include <cstring>

namespace cxsim::eth {
namespace {

using model::load_be;
using model::store_be;
using Match = prm::fte_match_param;
using Lyr = prm::fte_match_set_lyr_2_4;
using Misc = prm::fte_match_set_misc;
using Misc2 = prm::fte_match_set_misc2;
using Misc3 = prm::fte_match_set_misc3;
using Misc5 = prm::fte_match_set_misc5;

// The fields are written a dword at a time, in the order of the layouts; these hold them in place.
template <class Field>
constexpr bool at(std::uint32_t dword, std::uint32_t high, std::uint32_t low) {
    return Field::kOffset == dword * 32 + 31 - high && Field::kWidth == high - low + 1;
}
static_assert(at<Lyr::smac_47_16>(0, 31, 0) && at<Lyr::ethertype>(1, 15, 0));
static_assert(at<Lyr::dmac_47_16>(2, 31, 0) && at<Lyr::first_prio>(3, 15, 13));
static_assert(at<Lyr::ip_protocol>(4, 31, 24) && at<Lyr::ip_dscp>(4, 23, 18));
static_assert(at<Lyr::ip_ecn>(4, 17, 16) && at<Lyr::cvlan_tag>(4, 15, 15));
static_assert(at<Lyr::svlan_tag>(4, 14, 14) && at<Lyr::frag>(4, 13, 13));
static_assert(at<Lyr::ip_version>(4, 12, 9) && at<Lyr::tcp_flags>(4, 8, 0));
static_assert(at<Lyr::tcp_sport>(5, 31, 16) && at<Lyr::tcp_dport>(5, 15, 0));
static_assert(at<Lyr::l4_type>(6, 31, 30) && at<Lyr::ipv4_ihl>(6, 15, 12));
static_assert(at<Lyr::ttl_hoplimit>(6, 7, 0) && at<Lyr::udp_sport>(7, 31, 16));
static_assert(Lyr::src_ipv4_src_ipv6::kOffset == 8 * 32);
static_assert(Lyr::dst_ipv4_dst_ipv6::kOffset == 12 * 32 && Lyr::kBytes == 64);
static_assert(at<Misc::gre_c_present>(0, 31, 31) && at<Misc::gre_k_present>(0, 29, 29));
static_assert(at<Misc::gre_s_present>(0, 28, 28) && at<Misc::source_sqn>(0, 23, 0));
static_assert(at<Misc::outer_second_prio>(2, 31, 29) && at<Misc::inner_second_prio>(2, 15, 13));
static_assert(at<Misc::outer_second_cvlan_tag>(3, 31, 31) && at<Misc::gre_protocol>(3, 15, 0));
static_assert(at<Misc::inner_second_cvlan_tag>(3, 30, 30));
static_assert(at<Misc::outer_second_svlan_tag>(3, 29, 29));
static_assert(at<Misc::inner_second_svlan_tag>(3, 28, 28));
static_assert(at<Misc::vxlan_vni>(5, 31, 8) && at<Misc::bth_opcode>(5, 7, 0));
static_assert(at<Misc::geneve_vni>(6, 31, 8) && at<Misc::geneve_oam>(6, 0, 0));
static_assert(at<Misc::outer_ipv6_flow_label>(7, 19, 0));
static_assert(at<Misc::inner_ipv6_flow_label>(8, 19, 0));
static_assert(at<Misc::geneve_opt_len>(9, 21, 16) && at<Misc::geneve_protocol_type>(9, 15, 0));
static_assert(at<Misc::bth_dst_qp>(10, 23, 0) && at<Misc::inner_esp_spi>(11, 31, 0));
static_assert(at<Misc::outer_esp_spi>(12, 31, 0) && Misc::kBytes == 64);
static_assert(Misc2::outer_first_mpls::kOffset == 0 && Misc2::inner_first_mpls::kOffset == 32);
static_assert(Misc2::outer_first_mpls_over_gre::kOffset == 64);
static_assert(Misc2::outer_first_mpls_over_udp::kOffset == 96);
static_assert(at<Misc3::inner_tcp_seq_num>(0, 31, 0) && at<Misc3::outer_tcp_ack_num>(3, 31, 0));
static_assert(at<Misc3::outer_vxlan_gpe_vni>(4, 23, 0) && at<Misc3::icmp_header_data>(6, 31, 0));
static_assert(at<Misc3::outer_vxlan_gpe_next_protocol>(5, 31, 24));
static_assert(at<Misc3::outer_vxlan_gpe_flags>(5, 23, 16));
static_assert(at<Misc3::icmpv6_header_data>(7, 31, 0) && at<Misc3::icmp_type>(8, 31, 24));
static_assert(at<Misc3::icmpv6_type>(8, 15, 8) && Misc3::kBytes == 64);
static_assert(at<Misc5::tunnel_header_0>(4, 31, 0) && at<Misc5::tunnel_header_3>(7, 31, 0));

/// l4_type: 0 none, 1 TCP, 2 UDP, 3 ICMP.
constexpr std::uint32_t l4_type(L4 kind) {
    switch (kind) {
        case L4::tcp:
            return 1;
        case L4::udp:
            return 2;
        case L4::icmp:
        case L4::icmpv6:
            return 3;
        default:
            return 0;
    }
}

void store(std::byte* out, std::uint32_t dword, std::uint32_t value) {
    store_be<std::uint32_t>(out + dword * 4, value);
}

/// `out`: 64 bytes, all zero.
void fill_layer(const std::byte* frame, const Layer& layer, std::byte* out) {
    std::uint32_t word = 0;
    if (layer.has_l2()) {
        const std::byte* l2 = frame + layer.l2;
        std::memcpy(out, l2 + 6, 6);
        std::memcpy(out + 8, l2, 6);
        if (layer.tags != 0) {
            std::memcpy(out + 14, l2 + 14, 2);
            word |= ConstEthernet(l2).type() == kEtherCustomerTag ? 1U << 15 : 1U << 14;
        }
    }
    store_be<std::uint16_t>(out + 6, layer.ethertype);
    if (layer.has_l3()) {
        const std::byte* l3 = frame + layer.l3;
        std::uint32_t ihl_and_ttl = 0;
        word |= std::uint32_t{layer.protocol} << 24;
        word |= layer.fragment ? 1U << 13 : 0U;
        if (layer.l3_kind == L3::ipv4) {
            const ConstIpv4 ip(l3);
            word |= std::uint32_t{ip.traffic_class()} << 16 | 4U << 9;
            ihl_and_ttl = ip.header_bytes() / 4 << 12 | ip.ttl();
            std::memcpy(out + 44, l3 + 12, 4);
            std::memcpy(out + 60, l3 + 16, 4);
        } else {
            const ConstIpv6 ip(l3);
            word |= std::uint32_t{ip.traffic_class()} << 16 | 6U << 9;
            ihl_and_ttl = ip.hop_limit();
            std::memcpy(out + 32, l3 + ConstIpv6::kSourceOffset, 32);
        }
        store(out, 6, l4_type(layer.l4_kind) << 30 | ihl_and_ttl);
    }
    if (layer.l4_kind == L4::tcp) {
        word |= ConstTcp(frame + layer.l4).flags();
        std::memcpy(out + 20, frame + layer.l4, 4);
    } else if (layer.l4_kind == L4::udp) {
        std::memcpy(out + 28, frame + layer.l4, 4);
    }
    store(out, 4, word);
}

std::uint32_t flow_label(const std::byte* frame, const Layer& layer) {
    return layer.l3_kind == L3::ipv6 ? ConstIpv6(frame + layer.l3).flow_label() : 0;
}

std::uint32_t security_index(const std::byte* frame, const Layer& layer) {
    return layer.l4_kind == L4::esp ? load_be<std::uint32_t>(frame + layer.l4) : 0;
}

/// `out` from dword 2 on is zero; dwords 0 and 1 hold metadata.
void fill_misc(const std::byte* frame, const Headers& headers, std::byte* out) {
    std::uint32_t first = load_be<std::uint32_t>(out) & 0x0fff'ffff;
    std::uint32_t tags = 0;
    std::uint32_t kinds = 0;
    const auto second_tag = [&](const Layer& layer, unsigned shift, unsigned customer) {
        if (layer.tags < 2) return;
        const ConstVlanTag tag(frame + layer.l2 + 12 + kVlanTagBytes);
        tags |= std::uint32_t{tag.tci()} << shift;
        kinds |= 1U << (tag.tpid() == kEtherCustomerTag ? customer : customer - 2);
    };
    second_tag(headers.outer, 16, 31);
    second_tag(headers.inner, 0, 30);
    const std::byte* tunnel =
        headers.tunnel == Tunnel::none ? nullptr : frame + headers.tunnel_header;
    switch (headers.tunnel) {
        case Tunnel::gre: {
            const ConstGre gre(tunnel);
            first |= (gre.has_checksum() ? 1U << 31 : 0U) | (gre.has_key() ? 1U << 29 : 0U) |
                     (gre.has_sequence() ? 1U << 28 : 0U);
            kinds |= gre.protocol();
            if (gre.has_key()) store(out, 4, gre.key());
            break;
        }
        case Tunnel::vxlan:
            store(out, 5, ConstVxlan(tunnel).vni() << 8);
            break;
        case Tunnel::geneve: {
            const ConstGeneve geneve(tunnel);
            store(out, 6, geneve.vni() << 8 | (geneve.control() ? 1U : 0U));
            store(out, 9, std::uint32_t{geneve.option_words()} << 16 | geneve.protocol());
            break;
        }
        default:
            break;
    }
    store(out, 0, first);
    store(out, 2, tags);
    store(out, 3, kinds);
    if (headers.roce != Roce::none) {
        const std::byte* bth = frame + headers.bth;
        store(out, 5, std::to_integer<std::uint32_t>(bth[0]));
        store(out, 10, load_be<std::uint32_t>(bth + 4) & 0xff'ffff);
    }
    store(out, 7, flow_label(frame, headers.outer));
    store(out, 8, flow_label(frame, headers.inner));
    store(out, 11, security_index(frame, headers.inner));
    store(out, 12, security_index(frame, headers.outer));
}

/// `out`: the four label fields, all zero.
void fill_mpls(const std::byte* frame, const Headers& headers, std::byte* out) {
    if (headers.mpls == Layer::kAbsent) return;
    const std::uint32_t field = headers.tunnel == Tunnel::gre             ? 2
                                : headers.tunnel == Tunnel::mpls_over_udp ? 3
                                                                          : 0;
    store(out, field, ConstMpls(frame + headers.mpls).word());
}

/// `out`: 64 bytes, all zero. Returns whether anything was written.
bool fill_misc_3(const std::byte* frame, const Headers& headers, std::byte* out) {
    bool used = false;
    const auto tcp = [&](const Layer& layer, std::uint32_t first) {
        if (layer.l4_kind != L4::tcp) return;
        const ConstTcp header(frame + layer.l4);
        store(out, first, header.sequence());
        store(out, first + 2, header.acknowledgement());
        used = true;
    };
    tcp(headers.inner, 0);
    tcp(headers.outer, 1);
    if (headers.tunnel == Tunnel::vxlan_gpe) {
        const ConstVxlan vxlan(frame + headers.tunnel_header);
        store(out, 4, vxlan.vni());
        store(out, 5,
              std::uint32_t{vxlan.next_protocol()} << 24 | std::uint32_t{vxlan.flags()} << 16);
        used = true;
    }
    std::uint32_t types = 0;
    const auto icmp = [&](const Layer& layer) {
        if (layer.l4_kind != L4::icmp && layer.l4_kind != L4::icmpv6) return;
        const ConstIcmp header(frame + layer.l4);
        const bool v6 = layer.l4_kind == L4::icmpv6;
        store(out, v6 ? 7 : 6, header.rest());
        const auto type = static_cast<std::uint32_t>(header.type() << 8 | header.code());
        types |= v6 ? type : type << 16;
        used = true;
    };
    icmp(headers.innermost());
    if (types != 0) store(out, 8, types);
    return used;
}

}  // namespace

void fill_flow_key(std::span<const std::byte> stored, const Headers& headers, model::FlowKey& key,
                   KeyParts& used) {
    const std::byte* frame = stored.data();
    std::byte* out = key.bytes.data();
    std::byte* outer = out + Match::outer_headers::kOffset / 8;
    std::memset(outer, 0, Lyr::kBytes);
    fill_layer(frame, headers.outer, outer);

    std::byte* inner = out + Match::inner_headers::kOffset / 8;
    if (used.inner) std::memset(inner, 0, Lyr::kBytes);
    used.inner = headers.has_inner();
    if (used.inner) fill_layer(frame, headers.inner, inner);

    std::byte* misc = out + Match::misc_parameters::kOffset / 8;
    std::memset(misc + 8, 0, Misc::kBytes - 8);
    fill_misc(frame, headers, misc);

    std::byte* mpls = out + Match::misc_parameters_2::kOffset / 8;
    std::memset(mpls, 0, 16);
    fill_mpls(frame, headers, mpls);

    std::byte* misc_3 = out + Match::misc_parameters_3::kOffset / 8;
    if (used.misc_3) std::memset(misc_3, 0, Misc3::kBytes);
    used.misc_3 = fill_misc_3(frame, headers, misc_3);

    // The first 16 bytes of a tunnel header over UDP, as far as they are there.
    std::byte* raw =
        out + Match::misc_parameters_5::kOffset / 8 + Misc5::tunnel_header_0::kOffset / 8;
    if (used.misc_5) std::memset(raw, 0, 16);
    used.misc_5 = headers.tunnel != Tunnel::none && headers.outer.l4_kind == L4::udp;
    if (used.misc_5) {
        const auto left = stored.size() - headers.tunnel_header;
        std::memcpy(raw, frame + headers.tunnel_header, std::min<std::size_t>(left, 16));
    }
}

}  // namespace cxsim::eth
