// SPDX-License-Identifier: Apache-2.0
// The typed views against bytes written down by hand.
#include "eth/wire/ethernet.h"
#include "eth/wire/ip.h"
#include "eth/wire/transport.h"
#include "eth/wire/tunnel.h"
#include "tests/unit/offloads/frames.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::eth {
namespace {

using namespace cxsim::test;

TEST_CASE("Ethernet and tags are read and written", "[wire]") {
    const Bytes bytes = bytes_of({0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x11, 0x12, 0x13, 0x14, 0x15,
                                  0x16, 0x81, 0x00, 0xb0, 0x64, 0x08, 0x00});
    const ConstEthernet header(bytes.data());
    CHECK(header.destination() == MacAddress{0x010203040506});
    CHECK(header.destination().multicast());
    CHECK(header.source() == MacAddress{0x111213141516});
    CHECK(header.type() == 0x8100);
    const ConstVlanTag tag(bytes.data() + 12);
    CHECK(tag.tpid() == 0x8100);
    CHECK(tag.priority() == 5);
    CHECK(tag.drop_eligible());
    CHECK(tag.vlan() == 100);

    Bytes copy(18);
    const Ethernet out(copy.data());
    out.set_destination(header.destination());
    out.set_source(header.source());
    VlanTag(copy.data() + 12).set_tpid(0x8100);
    VlanTag(copy.data() + 12).set_tci(0xb064);
    put(copy, 16, 0x0800, 2);
    CHECK(copy == bytes);
    CHECK(MacAddress{0xffffffffffff}.broadcast());
    CHECK_FALSE(MacAddress{0x0200'0000'0001}.multicast());
}

TEST_CASE("ARP is read and written", "[wire]") {
    const Bytes bytes = bytes_of({0, 1, 8, 0, 6, 4, 0, 2}) + big(0x0200'0000'0001, 6) +
                        big(0x0a000001, 4) + big(0x0200'0000'0002, 6) + big(0x0a000002, 4);
    const ConstArp arp(bytes.data());
    CHECK(arp.for_ipv4());
    CHECK(arp.operation() == ConstArp::kReply);
    CHECK(arp.sender() == MacAddress{0x0200'0000'0001});
    CHECK(arp.sender_ip() == 0x0a000001);
    CHECK(arp.target() == MacAddress{0x0200'0000'0002});
    CHECK(arp.target_ip() == 0x0a000002);
    Bytes copy(kArpBytes);
    const Arp out(copy.data());
    out.set_for_ipv4();
    out.set_operation(Arp::kReply);
    out.set_sender({0x0200'0000'0001}, 0x0a000001);
    out.set_target({0x0200'0000'0002}, 0x0a000002);
    CHECK(copy == bytes);
}

TEST_CASE("IPv4 is read and written", "[wire]") {
    const Bytes bytes = ipv4({.source = 0xc0a80001,
                              .destination = 0xc0a800c7,
                              .protocol = 6,
                              .traffic_class = 0xb9,
                              .id = 0x1234,
                              .fragment = 0x2003,
                              .ttl = 17,
                              .options = bytes_of({1, 1, 1, 0})},
                             Bytes(8));
    const ConstIpv4 ip(bytes.data());
    CHECK(ip.version() == 4);
    CHECK(ip.header_bytes() == 24);
    CHECK(ip.traffic_class() == 0xb9);
    CHECK(ip.total_bytes() == 32);
    CHECK(ip.id() == 0x1234);
    CHECK_FALSE(ip.dont_fragment());
    CHECK(ip.more_fragments());
    CHECK(ip.fragment_offset() == 24);
    CHECK(ip.fragment());
    CHECK(ip.ttl() == 17);
    CHECK(ip.protocol() == 6);
    CHECK(ip.source() == 0xc0a80001);
    CHECK(ip.destination() == 0xc0a800c7);

    Bytes copy = Bytes(20) + bytes_of({1, 1, 1, 0}) + Bytes(8);
    const Ipv4 out(copy.data());
    out.set_version_and_bytes(24);
    out.set_traffic_class(0xb9);
    out.set_total_bytes(32);
    out.set_id(0x1234);
    out.set_fragment(false, true, 24);
    out.set_ttl(17);
    out.set_protocol(6);
    out.set_source(0xc0a80001);
    out.set_destination(0xc0a800c7);
    out.set_checksum(ip.checksum());
    CHECK(copy == bytes);
    out.set_fragment(true, false, 0);
    CHECK(ConstIpv4(copy.data()).dont_fragment());
    CHECK_FALSE(ConstIpv4(copy.data()).fragment());
}

TEST_CASE("IPv6 and its extension headers are read and written", "[wire]") {
    const Bytes extension = bytes_of({44, 1}) + Bytes(14);
    const Bytes fragment = bytes_of({6, 0, 0x05, 0xa9, 0xde, 0xad, 0xbe, 0xef});
    const Bytes bytes = ipv6({.protocol = 6,
                              .traffic_class = 0xb9,
                              .flow_label = 0xabcde,
                              .hop_limit = 3,
                              .first_header = 0,
                              .extensions = extension + fragment},
                             Bytes(20));
    const ConstIpv6 ip(bytes.data());
    CHECK(ip.version() == 6);
    CHECK(ip.traffic_class() == 0xb9);
    CHECK(ip.flow_label() == 0xabcde);
    CHECK(ip.payload_bytes() == 44);
    CHECK(ip.next_header() == 0);
    CHECK(ip.hop_limit() == 3);
    CHECK(number(View(ip.source(), 16), 15, 1) == 1);
    CHECK(number(View(ip.destination(), 16), 15, 1) == 2);
    const ConstIpv6Extension options(bytes.data() + 40);
    CHECK(options.next_header() == kProtoFragment);
    CHECK(options.bytes(kProtoHopByHop) == 16);
    CHECK(options.bytes(kProtoAuthentication) == 12);
    const ConstIpv6Fragment part(bytes.data() + 56);
    CHECK(part.next_header() == 6);
    CHECK(part.offset() == 0x05a8);
    CHECK(part.more());
    CHECK(part.id() == 0xdeadbeef);

    Bytes copy = Bytes(8) + Bytes(bytes.begin() + 8, bytes.end());
    const Ipv6 out(copy.data());
    out.set_first_word(0xb9, 0xabcde);
    out.set_payload_bytes(44);
    out.set_next_header(0);
    out.set_hop_limit(3);
    Ipv6Fragment(copy.data() + 56).set(6, 0x05a8, true, 0xdeadbeef);
    CHECK(copy == bytes);
}

TEST_CASE("TCP, UDP and ICMP are read and written", "[wire]") {
    const Bytes segment = tcp({.source = 1,
                               .destination = 2,
                               .sequence = 0x01020304,
                               .ack = 0x05060708,
                               .flags = 0x1c3,
                               .window = 9,
                               .options = tcp_option_timestamp(1, 2)},
                              {});
    const ConstTcp header(segment.data());
    CHECK(header.source() == 1);
    CHECK(header.destination() == 2);
    CHECK(header.sequence() == 0x01020304);
    CHECK(header.acknowledgement() == 0x05060708);
    CHECK(header.header_bytes() == 32);
    CHECK(header.flags() == (kTcpNs | kTcpCwr | kTcpEce | kTcpSyn | kTcpFin));
    CHECK(header.window() == 9);
    Bytes copy = Bytes(20) + tcp_option_timestamp(1, 2);
    const Tcp out(copy.data());
    out.set_source(1);
    out.set_destination(2);
    out.set_sequence(0x01020304);
    out.set_acknowledgement(0x05060708);
    out.set_bytes_and_flags(32, 0);
    out.set_flags(0x1c3);
    out.set_window(9);
    CHECK(copy == segment);
    CHECK(header.checksum() == 0);

    const Bytes datagram = udp(3, 4, text("abc"));
    const ConstUdp short_header(datagram.data());
    CHECK(short_header.source() == 3);
    CHECK(short_header.destination() == 4);
    CHECK(short_header.length() == 11);

    const Bytes echo = icmp(8, 1, 0x00070009, {});
    CHECK(ConstIcmp(echo.data()).type() == 8);
    CHECK(ConstIcmp(echo.data()).code() == 1);
    CHECK(ConstIcmp(echo.data()).rest() == 0x00070009);
}

TEST_CASE("tunnel headers are read and written", "[wire]") {
    const Bytes key = gre_key(0x6558, 0x11223344, {});
    CHECK(ConstGre(key.data()).header_bytes() == 8);
    CHECK(ConstGre(key.data()).key() == 0x11223344);
    CHECK(ConstGre(key.data()).protocol() == 0x6558);
    CHECK(ConstGre(key.data()).plain());
    const Bytes all = big(0xb000, 2) + big(0x0800, 2) + big(0x1111, 4) + big(0x2222, 4) + big(3, 4);
    CHECK(ConstGre(all.data()).header_bytes() == 16);
    CHECK(ConstGre(all.data()).key() == 0x2222);
    CHECK_FALSE(ConstGre(big(0x4000'0800, 4).data()).plain());
    CHECK_FALSE(ConstGre(big(0x0001'880b, 4).data()).plain());
    Bytes copy(8);
    Gre(copy.data()).set_flags_and_protocol(false, true, false, 0x6558);
    Gre(copy.data()).set_key(0x11223344);
    CHECK(copy == key);

    const Bytes vni = vxlan(0xabcdef, {});
    CHECK(ConstVxlan(vni.data()).vni() == 0xabcdef);
    CHECK(ConstVxlan(vni.data()).flags() == 8);
    Vxlan(copy.data()).set(0xabcdef);
    CHECK(copy == vni);
    Vxlan(copy.data()).set_generic(5, 2);
    CHECK(copy == big(0x0c00'0002'0000'0500, 8));
    CHECK(ConstVxlan(copy.data()).next_protocol() == 2);

    const Bytes options = geneve(0x123456, 0x6558, Bytes(12), {});
    CHECK(ConstGeneve(options.data()).header_bytes() == 20);
    CHECK(ConstGeneve(options.data()).vni() == 0x123456);
    CHECK(ConstGeneve(options.data()).protocol() == 0x6558);
    CHECK_FALSE(ConstGeneve(options.data()).control());
    Geneve(copy.data()).set(3, 0x6558, 0x123456);
    CHECK(copy == Bytes(options.begin(), options.begin() + 8));

    Mpls(copy.data()).set(0xfffff, 5, true, 64);
    CHECK(number(copy, 0, 4) == 0xfffffb40);
    CHECK(ConstMpls(copy.data()).label() == 0xfffff);
    CHECK(ConstMpls(copy.data()).bottom());
    CHECK(ConstMpls(copy.data()).ttl() == 64);
}

}  // namespace
}  // namespace cxsim::eth
