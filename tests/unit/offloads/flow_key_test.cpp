// SPDX-License-Identifier: Apache-2.0
#include "eth/offloads/packet.h"
#include "tests/unit/offloads/frames.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::eth {
namespace {

using namespace cxsim::test;
using Match = prm::fte_match_param;
using Lyr = prm::fte_match_set_lyr_2_4;
using Misc = prm::fte_match_set_misc;
using Misc2 = prm::fte_match_set_misc2;
using Misc3 = prm::fte_match_set_misc3;
using Misc5 = prm::fte_match_set_misc5;

class KeyBench {
  public:
    model::FlowKey& key(const Bytes& frame, const Origin& origin = {}) {
        packet.drop();
        packet.take(make_frame(pool, frame), origin);
        return packet.key();
    }
    model::FlowKey& key(std::string_view name) {
        for (const NamedFrame& frame : frames_of_all_kinds()) {
            if (name == frame.name) return key(frame.bytes);
        }
        FAIL("no frame " << name);
        return packet.key();
    }
    template <class... P>
    auto outer() {
        return packet.key().view().get<Match::outer_headers, P...>();
    }
    template <class... P>
    auto inner() {
        return packet.key().view().get<Match::inner_headers, P...>();
    }
    template <class... P>
    auto misc() {
        return packet.key().view().get<Match::misc_parameters, P...>();
    }
    template <class... P>
    auto misc2() {
        return packet.key().view().get<Match::misc_parameters_2, P...>();
    }
    template <class... P>
    auto misc3() {
        return packet.key().view().get<Match::misc_parameters_3, P...>();
    }
    template <class... P>
    auto misc5() {
        return packet.key().view().get<Match::misc_parameters_5, P...>();
    }

    model::FramePool pool;
    ParserConfig config;
    Packet packet{config};
};

TEST_CASE("the key of a TCP segment over IPv4 has every field", "[key]") {
    KeyBench bench;
    bench.key(tagged(ethernet(0x0800,
                              ipv4({.source = 0x01020304,
                                    .destination = 0x05060708,
                                    .protocol = 6,
                                    .traffic_class = 0xb9,
                                    .ttl = 33},
                                   tcp({.source = 1111,
                                        .destination = 2222,
                                        .sequence = 0xaabbccdd,
                                        .ack = 0x11223344,
                                        .flags = 0x112},
                                       {})),
                              0x0a0b0c0d0e0f, 0x1a1b1c1d1e1f),
                     0xb123));
    CHECK(bench.outer<Lyr::smac_47_16>() == 0x1a1b1c1d);
    CHECK(bench.outer<Lyr::smac_15_0>() == 0x1e1f);
    CHECK(bench.outer<Lyr::dmac_47_16>() == 0x0a0b0c0d);
    CHECK(bench.outer<Lyr::dmac_15_0>() == 0x0e0f);
    CHECK(bench.outer<Lyr::ethertype>() == 0x0800);
    CHECK(bench.outer<Lyr::first_prio>() == 5);
    CHECK(bench.outer<Lyr::first_cfi>() == 1);
    CHECK(bench.outer<Lyr::first_vid>() == 0x123);
    CHECK(bench.outer<Lyr::cvlan_tag>() == 1);
    CHECK(bench.outer<Lyr::svlan_tag>() == 0);
    CHECK(bench.outer<Lyr::ip_protocol>() == 6);
    CHECK(bench.outer<Lyr::ip_dscp>() == 0x2e);
    CHECK(bench.outer<Lyr::ip_ecn>() == 1);
    CHECK(bench.outer<Lyr::frag>() == 0);
    CHECK(bench.outer<Lyr::ip_version>() == 4);
    CHECK(bench.outer<Lyr::tcp_flags>() == 0x112);
    CHECK(bench.outer<Lyr::tcp_sport>() == 1111);
    CHECK(bench.outer<Lyr::tcp_dport>() == 2222);
    CHECK(bench.outer<Lyr::udp_sport>() == 0);
    CHECK(bench.outer<Lyr::l4_type>() == 1);
    CHECK(bench.outer<Lyr::ipv4_ihl>() == 5);
    CHECK(bench.outer<Lyr::ttl_hoplimit>() == 33);
    using V4 = prm::ipv6_layout_ipv4_layout_auto;
    CHECK(bench.outer<Lyr::src_ipv4_src_ipv6, V4::ipv4_layout, prm::ipv4_layout::ipv4>() ==
          0x01020304);
    CHECK(bench.outer<Lyr::dst_ipv4_dst_ipv6, V4::ipv4_layout, prm::ipv4_layout::ipv4>() ==
          0x05060708);
    CHECK(bench.misc3<Misc3::outer_tcp_seq_num>() == 0xaabbccdd);
    CHECK(bench.misc3<Misc3::outer_tcp_ack_num>() == 0x11223344);
    CHECK(bench.misc3<Misc3::inner_tcp_seq_num>() == 0);
}

TEST_CASE("the key of a datagram over IPv6 has every field", "[key]") {
    KeyBench bench;
    bench.key(tagged(tagged(ethernet(0x86dd, ipv6({.source = 0x1111,
                                                   .destination = 0x2222,
                                                   .traffic_class = 0x0a,
                                                   .flow_label = 0xfedcb,
                                                   .hop_limit = 9},
                                                  udp(3, 4, {}))),
                            0x2065),
                     0x4066, 0x88a8));
    CHECK(bench.outer<Lyr::ip_version>() == 6);
    CHECK(bench.outer<Lyr::ip_dscp>() == 2);
    CHECK(bench.outer<Lyr::ip_ecn>() == 2);
    CHECK(bench.outer<Lyr::ttl_hoplimit>() == 9);
    CHECK(bench.outer<Lyr::ipv4_ihl>() == 0);
    CHECK(bench.outer<Lyr::l4_type>() == 2);
    CHECK(bench.outer<Lyr::udp_sport>() == 3);
    CHECK(bench.outer<Lyr::udp_dport>() == 4);
    CHECK(bench.outer<Lyr::svlan_tag>() == 1);
    CHECK(bench.outer<Lyr::cvlan_tag>() == 0);
    CHECK(bench.outer<Lyr::first_vid>() == 0x66);
    CHECK(bench.outer<Lyr::first_prio>() == 2);
    CHECK(bench.misc<Misc::outer_second_cvlan_tag>() == 1);
    CHECK(bench.misc<Misc::outer_second_svlan_tag>() == 0);
    CHECK(bench.misc<Misc::outer_second_vid>() == 0x65);
    CHECK(bench.misc<Misc::outer_second_prio>() == 1);
    CHECK(bench.misc<Misc::outer_ipv6_flow_label>() == 0xfedcb);
    const auto source =
        bench.packet.key().view().bytes<Match::outer_headers, Lyr::src_ipv4_src_ipv6>();
    CHECK(number(source, 0, 8) == 0xfd00'0000'0000'0000);
    CHECK(number(source, 8, 8) == 0x1111);
    const auto destination =
        bench.packet.key().view().bytes<Match::outer_headers, Lyr::dst_ipv4_dst_ipv6>();
    CHECK(number(destination, 8, 8) == 0x2222);
}

TEST_CASE("the key of a tunnel has both layers and the tunnel's own fields", "[key]") {
    KeyBench bench;
    bench.key("vxlan");
    CHECK(bench.misc<Misc::vxlan_vni>() == 0xabcdef);
    CHECK(bench.outer<Lyr::udp_dport>() == 4789);
    CHECK(bench.inner<Lyr::tcp_dport>() == 80);
    CHECK(bench.inner<Lyr::ethertype>() == 0x0800);
    CHECK(bench.inner<Lyr::dmac_15_0>() == 2);
    CHECK(bench.misc3<Misc3::inner_tcp_seq_num>() == 1000);
    CHECK(bench.misc3<Misc3::inner_tcp_ack_num>() == 2000);
    CHECK(bench.misc3<Misc3::outer_tcp_seq_num>() == 0);
    CHECK(bench.misc5<Misc5::tunnel_header_0>() == 0x08000000);
    CHECK(bench.misc5<Misc5::tunnel_header_1>() == 0xabcdef00);

    bench.key("vxlan over ipv6 with tags");
    CHECK(bench.outer<Lyr::first_vid>() == 9);
    CHECK(bench.inner<Lyr::first_vid>() == 5);
    CHECK(bench.misc<Misc::inner_ipv6_flow_label>() == 0x12345);

    bench.key("geneve");
    CHECK(bench.misc<Misc::geneve_vni>() == 77);
    CHECK(bench.misc<Misc::geneve_opt_len>() == 2);
    CHECK(bench.misc<Misc::geneve_protocol_type>() == 0x6558);
    CHECK(bench.misc<Misc::geneve_oam>() == 0);
    CHECK(bench.misc<Misc::vxlan_vni>() == 0);
    CHECK(bench.misc5<Misc5::tunnel_header_2>() == 0x01020304);

    bench.key("nvgre");
    CHECK(bench.misc<Misc::gre_k_present>() == 1);
    CHECK(bench.misc<Misc::gre_c_present>() == 0);
    CHECK(bench.misc<Misc::gre_protocol>() == 0x6558);
    CHECK(bench.misc<Misc::gre_key, prm::gre_key::key>() == 0x11223344);
    CHECK(bench.inner<Lyr::udp_dport>() == 6);

    bench.key("gre with checksum");
    CHECK(bench.misc<Misc::gre_c_present>() == 1);
    CHECK(bench.misc<Misc::gre_k_present>() == 0);

    bench.key("ipv6 in ipv4");
    CHECK(bench.outer<Lyr::ip_protocol>() == 41);
    CHECK(bench.inner<Lyr::ip_version>() == 6);
    CHECK(bench.inner<Lyr::ethertype>() == 0x86dd);

    bench.key("vxlan-gpe with ipv4");
    CHECK(bench.misc3<Misc3::outer_vxlan_gpe_vni>() == 0x55);
    CHECK(bench.misc3<Misc3::outer_vxlan_gpe_next_protocol>() == 1);
    CHECK(bench.misc3<Misc3::outer_vxlan_gpe_flags>() == 0x0c);
}

TEST_CASE("labels, ICMP, RoCE and ESP have their fields", "[key]") {
    KeyBench bench;
    bench.key("mpls");
    using Label = prm::fte_match_mpls;
    CHECK(bench.misc2<Misc2::outer_first_mpls, Label::mpls_label>() == 0x44);
    CHECK(bench.misc2<Misc2::outer_first_mpls, Label::mpls_s_bos>() == 1);
    CHECK(bench.misc2<Misc2::outer_first_mpls, Label::mpls_ttl>() == 0x40);
    bench.key("mpls over udp");
    CHECK(bench.misc2<Misc2::outer_first_mpls_over_udp, Label::mpls_label>() == 0x10);
    CHECK(bench.misc2<Misc2::outer_first_mpls, Label::mpls_label>() == 0);
    bench.key("mpls over gre");
    CHECK(bench.misc2<Misc2::outer_first_mpls_over_gre, Label::mpls_label>() == 0x30);
    bench.key("icmp");
    CHECK(bench.misc3<Misc3::icmp_type>() == 8);
    CHECK(bench.misc3<Misc3::icmp_header_data>() == 0x00010002);
    CHECK(bench.misc3<Misc3::icmpv6_type>() == 0);
    CHECK(bench.outer<Lyr::l4_type>() == 3);
    bench.key("icmpv6");
    CHECK(bench.misc3<Misc3::icmpv6_type>() == 128);
    CHECK(bench.misc3<Misc3::icmpv6_header_data>() == 0x00030004);
    CHECK(bench.misc3<Misc3::icmp_type>() == 0);
    bench.key("roce v2");
    CHECK(bench.misc<Misc::bth_opcode>() == 4);
    CHECK(bench.misc<Misc::bth_dst_qp>() == 0x123);
    bench.key("roce v1");
    CHECK(bench.misc<Misc::bth_opcode>() == 0x64);
    CHECK(bench.misc<Misc::bth_dst_qp>() == 0x456);
    bench.key("esp");
    CHECK(bench.misc<Misc::outer_esp_spi>() == 0xcafe0001);
    bench.key("ipv4 fragment");
    CHECK(bench.outer<Lyr::frag>() == 1);
    CHECK(bench.outer<Lyr::udp_dport>() == 0);
}

TEST_CASE("a key holds nothing of the frame before", "[key]") {
    const auto frames = frames_of_all_kinds();
    KeyBench used;
    for (const NamedFrame& before : frames) {
        for (const NamedFrame& frame : frames) {
            used.key(before.bytes, {.vport = 9, .vhca_id = 8, .sqn = 7, .reg_a = 6});
            KeyBench fresh;
            INFO(before.name << ", then " << frame.name);
            REQUIRE(used.key(frame.bytes).bytes == fresh.key(frame.bytes).bytes);
        }
    }
}

TEST_CASE("where a packet comes from is in its key", "[key]") {
    KeyBench bench;
    bench.key(frames_of_all_kinds()[21].bytes,
              {.vport = 0xffff, .vhca_id = 0x1234, .sqn = 0xabcdef, .reg_a = 0xdeadbeef});
    CHECK(bench.misc<Misc::source_port>() == 0xffff);
    CHECK(bench.misc<Misc::source_eswitch_owner_vhca_id>() == 0x1234);
    CHECK(bench.misc<Misc::source_sqn>() == 0xabcdef);
    CHECK(bench.misc2<Misc2::metadata_reg_a>() == 0xdeadbeef);
}

}  // namespace
}  // namespace cxsim::eth
