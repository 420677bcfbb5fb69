// SPDX-License-Identifier: Apache-2.0
// Edits: the bytes are what they should be, every checksum stays right, the key stays in step.
#include "eth/offloads/packet.h"

#include "tests/unit/offloads/frames.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::eth {
namespace {

using namespace cxsim::test;

// Numbers of the driver's header; inner fields stand 0x30 above.
constexpr std::uint32_t kSmacHigh = 0x1, kSmacLow = 0x2, kEthertype = 0x3, kDmacHigh = 0x4,
                        kDmacLow = 0x5, kDscp = 0x6, kTcpFlags = 0x7, kTcpSport = 0x8,
                        kTcpDport = 0x9, kTtl = 0xa, kUdpSport = 0xb, kUdpDport = 0xc, kSipv6 = 0xd,
                        kDipv6 = 0x11, kSipv4 = 0x15, kDipv4 = 0x16, kFirstVid = 0x17,
                        kHopLimit = 0x47, kRegA = 0x49, kRegB = 0x50, kRegC0 = 0x51, kRegC7 = 0x58,
                        kTcpSeq = 0x59, kTcpAck = 0x5b, kInnerTcpSeq = 0x5a, kInner = 0x30;

class PacketBench {
  public:
    void take(const Bytes& frame, std::uint32_t synthetic = 0) {
        packet.drop();
        packet.take(make_frame(pool, frame, synthetic));
    }
    Bytes content() const { return content_of(packet.frame()); }
    /// A new packet of the same bytes has the same key, apart from metadata.
    void check_in_step() {
        const model::FlowKey key = packet.key();
        Packet fresh(config);
        fresh.take(pool.copy(packet.frame()));
        model::FlowKey other = fresh.key();
        using Match = prm::fte_match_param;
        using Misc2 = prm::fte_match_set_misc2;
        constexpr std::size_t registers =
            (Match::misc_parameters_2::kOffset + Misc2::metadata_reg_c_7::kOffset) / 8;
        std::copy_n(key.bytes.begin() + registers, 36, other.bytes.begin() + registers);
        CHECK(key.bytes == other.bytes);
    }

    model::FramePool pool;
    ParserConfig config;
    Packet packet{config};
};

TEST_CASE("fields are set where they are in the frame", "[packet]") {
    PacketBench bench;
    bench.take(named("tagged"));
    Packet& packet = bench.packet;
    CHECK(packet.set_field(kDmacHigh, 0, 0, 0x0a0b0c0d));
    CHECK(packet.set_field(kDmacLow, 0, 16, 0x0e0f));
    CHECK(packet.set_field(kSmacHigh, 0, 32, 0x1a1b1c1d));
    CHECK(packet.set_field(kSmacLow, 0, 16, 0x1e1f));
    CHECK(packet.set_field(kFirstVid, 0, 12, 0xabc));
    CHECK(packet.set_field(kDscp, 0, 6, 0x3f));
    CHECK(packet.set_field(kTtl, 0, 8, 5));
    CHECK(packet.set_field(kSipv4, 0, 0, 0x01010101));
    CHECK(packet.set_field(kDipv4, 0, 0, 0x02020202));
    CHECK(packet.set_field(kTcpSport, 0, 16, 77));
    CHECK(packet.set_field(kTcpDport, 0, 16, 88));
    CHECK(packet.set_field(kTcpSeq, 0, 0, 0x99999999));
    CHECK(packet.set_field(kTcpAck, 0, 0, 0x88888888));
    CHECK(packet.set_field(kTcpFlags, 0, 9, 0x1ff));
    Bytes expected = named("tagged");
    put(expected, 0, 0x0a0b0c0d0e0f, 6);
    put(expected, 6, 0x1a1b1c1d1e1f, 6);
    put(expected, 14, 0x6abc, 2);
    put(expected, 19, 0xfc, 1);
    put(expected, 26, 5, 1);
    put(expected, 30, 0x01010101, 4);
    put(expected, 34, 0x02020202, 4);
    put(expected, 38, 77, 2);
    put(expected, 40, 88, 2);
    put(expected, 42, 0x99999999, 4);
    put(expected, 46, 0x88888888, 4);
    put(expected, 50, 0x81ff, 2);
    const Bytes content = bench.content();
    put(expected, 28, number(content, 28, 2), 2);  // checksums
    put(expected, 54, number(content, 54, 2), 2);
    CHECK(content == expected);
    CHECK(right_frame(content));
    bench.check_in_step();
}

TEST_CASE("IPv6 fields are set where they are in the frame", "[packet]") {
    PacketBench bench;
    bench.take(named("udp over ipv6"));
    Packet& packet = bench.packet;
    for (std::uint32_t i = 0; i < 4; ++i) {
        CHECK(packet.set_field(kSipv6 + i, 0, 0, 0x10101010 * (i + 1)));
        CHECK(packet.set_field(kDipv6 + i, 0, 0, 0x01010101 * (i + 1)));
    }
    CHECK(packet.set_field(kDscp, 0, 6, 0x2a));
    CHECK(packet.set_field(kHopLimit, 0, 8, 3));
    CHECK(packet.set_field(kUdpSport, 0, 16, 1));
    CHECK(packet.set_field(kUdpDport, 0, 16, 2));
    const Bytes content = bench.content();
    CHECK(number(content, 14, 4) == 0x6a812345);
    CHECK(number(content, 21, 1) == 3);
    CHECK(number(content, 22, 8) == 0x1010101020202020);
    CHECK(number(content, 30, 8) == 0x3030303040404040);
    CHECK(number(content, 38, 8) == 0x0101010102020202);
    CHECK(number(content, 46, 8) == 0x0303030304040404);
    CHECK(number(content, 54, 4) == 0x00010002);
    CHECK(right_frame(content));
    bench.check_in_step();
    CHECK_FALSE(packet.set_field(kTtl, 0, 8, 3));
    CHECK_FALSE(packet.set_field(kSipv4, 0, 0, 3));
    CHECK_FALSE(packet.set_field(kTcpSport, 0, 16, 3));
}

TEST_CASE("parts of fields, sums and copies", "[packet]") {
    PacketBench bench;
    bench.take(named("tcp over ipv4"));
    Packet& packet = bench.packet;
    CHECK(packet.set_field(kSipv4, 8, 16, 0xffff1234));  // bits beyond the length do not count
    CHECK(number(bench.content(), 26, 4) == 0xc0123401);
    CHECK(packet.add_field(kTtl, 0xff));  // minus one
    CHECK(number(bench.content(), 22, 1) == 63);
    CHECK(packet.add_field(kTcpSeq, 0xffff'ffff));
    CHECK(number(bench.content(), 38, 4) == 999);
    CHECK(packet.copy_field(kSipv4, 8, kTcpDport, 4, 8));
    CHECK(number(bench.content(), 36, 2) == 0x0340);
    CHECK(packet.copy_field(kDipv4, 0, kRegC0, 0, 0));
    CHECK(packet.set_field(kRegC7, 4, 8, 0xaa));
    CHECK(packet.copy_field(kRegC0, 0, kRegB, 0, 32));
    CHECK(packet.metadata_b() == 0x0a000002);
    CHECK(packet.copy_field(kRegC0, 0, kTcpAck, 0, 0));
    CHECK(number(bench.content(), 42, 4) == 0x0a000002);
    CHECK(packet.add_field(kRegA, 5));
    using Misc2 = prm::fte_match_set_misc2;
    const auto view = packet.key().view().nested<prm::fte_match_param::misc_parameters_2>();
    CHECK(view.get<Misc2::metadata_reg_c_0>() == 0x0a000002);
    CHECK(view.get<Misc2::metadata_reg_c_7>() == 0xaa0);
    CHECK(view.get<Misc2::metadata_reg_a>() == 5);
    CHECK(right_frame(bench.content()));
    bench.check_in_step();
    // The next frame begins without metadata.
    bench.take(named("tcp over ipv4"));
    CHECK(view.get<Misc2::metadata_reg_c_0>() == 0);
    CHECK(packet.metadata_b() == 0);
}

TEST_CASE("a copy has frame, key and metadata, and goes its own way", "[packet]") {
    PacketBench bench;
    Packet packet(bench.config, &bench.pool);
    const Bytes frame = named("tcp over ipv4");
    packet.take(make_frame(bench.pool, frame, 100), {.vport = 7, .reg_a = 0xaaaa});
    REQUIRE(packet.set_field(kRegC0, 0, 0, 0x1234));
    REQUIRE(packet.set_field(kRegB, 0, 0, 0x5678));
    auto* twin = static_cast<Packet*>(packet.copy());
    REQUIRE(twin != nullptr);
    CHECK(content_of(twin->frame()) == frame);
    CHECK(twin->bytes() == packet.bytes());
    CHECK(twin->metadata_b() == 0x5678);
    CHECK(twin->key().bytes == packet.key().bytes);

    REQUIRE(twin->set_field(kSipv4, 0, 0, 0x01020304));
    REQUIRE(twin->push_vlan(0x8100, 5));
    REQUIRE(packet.set_field(kTcpDport, 0, 16, 99));
    CHECK(number(content_of(twin->frame()), 26 + 4, 4) == 0x01020304);
    CHECK(number(content_of(packet.frame()), 26, 4) == number(frame, 26, 4));
    CHECK(number(content_of(twin->frame()), 36 + 4, 2) == number(frame, 36, 2));
    CHECK(right_frame(content_of(twin->frame())));

    // A copy of the copy is the first packet's, too, and outlives the frame that goes.
    auto* third = static_cast<Packet*>(twin->copy());
    REQUIRE(third != nullptr);
    packet.release().reset();
    CHECK(content_of(third->frame()) == content_of(twin->frame()));
    CHECK(bench.pool.in_use() == 2);
    packet.drop();
    CHECK(bench.pool.in_use() == 0);
}

TEST_CASE("copies are used again and end somewhere", "[packet]") {
    PacketBench bench;
    Packet packet(bench.config, &bench.pool);
    const Bytes frame = named("tcp over ipv4");
    packet.take(make_frame(bench.pool, frame));
    const void* first = packet.copy();
    packet.drop();
    const std::uint64_t allocations = bench.pool.allocations();
    for (int i = 0; i < 10; ++i) {
        packet.take(make_frame(bench.pool, frame));
        CHECK(packet.copy() == first);
        packet.release();
    }
    packet.drop();
    CHECK(bench.pool.allocations() == allocations);

    packet.take(make_frame(bench.pool, frame));
    for (std::size_t i = 0; i < Packet::kMaxCopies; ++i) REQUIRE(packet.copy() != nullptr);
    CHECK(packet.copy() == nullptr);
    packet.drop();
    CHECK(bench.pool.in_use() == 0);

    bench.take(frame);
    CHECK(bench.packet.copy() == nullptr);  // no pool
}

TEST_CASE("tags do not make a frame longer than any frame", "[packet]") {
    PacketBench bench;
    Packet packet(bench.config, &bench.pool);
    Bytes frame = named("tcp over ipv4");
    frame.resize(model::FramePool::kMaxFrame - 2);
    packet.take(make_frame(bench.pool, frame));
    CHECK_FALSE(packet.push_vlan(0x8100, 5));
    CHECK(content_of(packet.frame()) == frame);
    CHECK(packet.copy() != nullptr);
    packet.drop();
}

TEST_CASE("edits that cannot be are refused and change nothing", "[packet]") {
    PacketBench bench;
    bench.take(named("tcp over ipv4"));
    Packet& packet = bench.packet;
    CHECK_FALSE(packet.set_field(kTtl, 0, 0, 1));  // 32 bits do not fit
    CHECK_FALSE(packet.set_field(kDscp, 3, 4, 1));
    CHECK_FALSE(packet.set_field(kSipv4, 31, 2, 1));
    CHECK_FALSE(packet.set_field(kSipv4, 40, 1, 1));
    CHECK_FALSE(packet.set_field(kFirstVid, 0, 12, 1));  // no tag
    CHECK_FALSE(packet.set_field(kUdpSport, 0, 16, 1));
    CHECK_FALSE(packet.set_field(kHopLimit, 0, 8, 1));
    CHECK_FALSE(packet.set_field(kSipv6, 0, 0, 1));
    CHECK_FALSE(packet.set_field(kInner + kSipv4, 0, 0, 1));
    CHECK_FALSE(packet.set_field(0, 0, 0, 1));
    CHECK_FALSE(packet.set_field(0x5d, 0, 0, 1));  // IPsec syndrome
    CHECK_FALSE(packet.set_field(0xfff, 0, 0, 1));
    CHECK_FALSE(packet.add_field(kUdpSport, 1));
    CHECK_FALSE(packet.copy_field(kUdpSport, 0, kTcpSport, 0, 16));
    CHECK_FALSE(packet.copy_field(kTcpSport, 8, kTcpDport, 0, 16));
    CHECK_FALSE(packet.copy_field(kTcpSport, 0, kTcpDport, 8, 16));
    CHECK_FALSE(packet.pop_vlan());
    CHECK_FALSE(packet.push_vlan(0x1234, 1));
    CHECK_FALSE(packet.decapsulate());
    CHECK_FALSE(packet.reformat(0x5, 0, 0, {}));
    CHECK_FALSE(packet.reformat(0x3, 0, 0, Bytes(14)));     // no tunnel
    CHECK_FALSE(packet.reformat(0xf, 0x9, 0, Bytes(4)));    // behind TCP_UDP_START
    CHECK_FALSE(packet.reformat(0xf, 0x1, 15, Bytes(4)));   // inside IP
    CHECK_FALSE(packet.reformat(0x10, 0x1, 12, Bytes(4)));  // into IP
    CHECK_FALSE(packet.reformat(0x0, 0, 0, Bytes(257)));    // no headroom
    CHECK(bench.content() == named("tcp over ipv4"));
    bench.check_in_step();
}

TEST_CASE("every field of every kind of frame: checksums right, key in step", "[packet]") {
    std::mt19937 random(1);
    PacketBench bench;
    std::size_t edits = 0;
    for (const NamedFrame& frame : frames_of_all_kinds()) {
        for (std::uint32_t field = 0; field < 0x80; ++field) {
            if (field == kEthertype || field == kInner + kEthertype) continue;  // below
            INFO(frame.name << ", field " << field);
            bench.take(frame.bytes);
            if (!bench.packet.add_field(field, static_cast<std::uint32_t>(random()) | 1)) {
                CHECK(bench.content() == frame.bytes);
                continue;
            }
            ++edits;
            bench.check_in_step();
            // Another destination port is another protocol, for the checker, too.
            if (field != kUdpDport) CHECK(right_frame(bench.content()));
        }
    }
    CHECK(edits > 400);
}

TEST_CASE("changing what follows changes the parse", "[packet]") {
    PacketBench bench;
    bench.take(named("vxlan"));
    CHECK(bench.packet.set_field(kUdpDport, 0, 16, 5000));
    CHECK_FALSE(bench.packet.headers().has_inner());
    CHECK_FALSE(bench.packet.set_field(kInner + kSipv4, 0, 0, 1));
    CHECK(bench.packet.set_field(kUdpDport, 0, 16, 4789));
    CHECK(bench.packet.set_field(kInner + kSipv4, 0, 0, 1));
    CHECK(right_frame(bench.content()));
    CHECK(bench.packet.set_field(kEthertype, 0, 16, 0x1234));
    CHECK_FALSE(bench.packet.headers().outer.has_l3());
    bench.check_in_step();
}

TEST_CASE("a UDP checksum of zero stays zero and is never made", "[packet]") {
    PacketBench bench;
    Bytes frame = ethernet(0x0800, ipv4({.checksum_upper = false}, udp(1, 2, text("ab"))));
    bench.take(frame);
    CHECK(bench.packet.set_field(kDipv4, 0, 0, 0x7f000001));
    CHECK(number(bench.content(), 40, 2) == 0);
    CHECK(right_frame(bench.content()));

    // All source ports: one of them would make the checksum 0.
    bool saturated = false;
    for (std::uint32_t port = 0; port <= 0xffff; ++port) {
        bench.take(ethernet(0x0800, ipv4({}, udp(1, 2, text("ab")))));
        CHECK(bench.packet.set_field(kUdpSport, 0, 16, port));
        const auto checksum = number(bench.content(), 40, 2);
        REQUIRE(checksum != 0);
        saturated = saturated || checksum == 0xffff;
    }
    CHECK(saturated);
}

TEST_CASE("the addresses of a first fragment take the checksum along", "[packet]") {
    // A datagram in two fragments; its checksum stands in the first.
    const Bytes whole = ipv4({.fragment = 0}, udp(1, 2, Bytes(40, std::byte{7})));
    const Bytes upper(whole.begin() + 20, whole.end());
    const Bytes first = ipv4({.fragment = 0x2000}, Bytes(upper.begin(), upper.begin() + 24));
    const Bytes second = ipv4({.fragment = 3}, Bytes(upper.begin() + 24, upper.end()));
    PacketBench bench;
    Bytes joined;
    for (const Bytes& part : {first, second}) {
        bench.take(ethernet(0x0800, part));
        CHECK(bench.packet.set_field(kDipv4, 0, 0, 0x0a0000fe));
        const Bytes content = bench.content();
        joined.insert(joined.end(), content.begin() + 34, content.end());
    }
    const Bytes again = ethernet(
        0x0800, ipv4({.destination = 0x0a0000fe, .fragment = 0, .checksum_upper = false}, joined));
    CHECK(right_frame(again));
}

TEST_CASE("tags are pushed in front and popped again", "[packet]") {
    PacketBench bench;
    for (const NamedFrame& frame : frames_of_all_kinds()) {
        INFO(frame.name);
        bench.take(frame.bytes);
        CHECK(bench.packet.push_vlan(0x8100, 0x2005));
        CHECK(bench.content() == tagged(frame.bytes, 0x2005));
        bench.check_in_step();
        CHECK(bench.packet.push_vlan(0x88a8, 0x0006));
        CHECK(bench.content() == tagged(tagged(frame.bytes, 0x2005), 6, 0x88a8));
        bench.check_in_step();
        CHECK(bench.packet.pop_vlan());
        CHECK(bench.packet.pop_vlan());
        CHECK(bench.content() == frame.bytes);
        bench.check_in_step();
    }
    bench.take(named("tcp over ipv4"));
    unsigned tags = 0;
    while (bench.packet.push_vlan(0x8100, 1)) ++tags;
    CHECK(tags == model::Frame::kHeadroom / 4);
    bench.take(Bytes(13));
    CHECK_FALSE(bench.packet.push_vlan(0x8100, 1));
}

/// Outer headers with lengths and checksums left to the card, as the driver writes them.
Bytes vxlan_template(bool v6, bool checksum) {
    const Bytes udp_part = udp(0, 4789, vxlan(0x123456, {}));
    Bytes out = v6 ? ethernet(0x86dd, ipv6({.checksum_upper = checksum}, udp_part))
                   : ethernet(0x0800, ipv4({.id = 0, .checksum_upper = checksum}, udp_part));
    put(out, v6 ? 18 : 16, 0, 2);
    put(out, v6 ? 58 : 38, 0, 2);
    if (!v6) put(out, 24, 0, 2);
    return out;
}

TEST_CASE("encapsulation completes the headers, decapsulation gives the frame back", "[packet]") {
    PacketBench bench;
    for (const bool v6 : {false, true}) {
        for (const bool checksum : {false, true}) {
            const Bytes outer = vxlan_template(v6, checksum);
            for (const char* name : {"tcp over ipv4", "udp over ipv6", "arp", "tagged"}) {
                INFO(name << (v6 ? ", IPv6" : ", IPv4") << (checksum ? ", checksum" : ""));
                bench.take(named(name));
                REQUIRE(bench.packet.reformat(0x0, 0, 0, outer));
                const Bytes content = bench.content();
                CHECK(content.size() == outer.size() + named(name).size());
                CHECK(right_frame(content));
                const std::size_t l4 = v6 ? 54 : 34;
                CHECK(number(content, l4, 2) >= 0xc000);
                CHECK((number(content, l4 + 6, 2) != 0) == checksum);
                CHECK(bench.packet.headers().tunnel == Tunnel::vxlan);
                bench.check_in_step();
                REQUIRE(bench.packet.decapsulate());
                CHECK(bench.content() == named(name));
                bench.check_in_step();
            }
        }
    }
}

TEST_CASE("a synthetic payload is counted in the lengths of a tunnel", "[packet]") {
    PacketBench bench;
    Bytes frame = ethernet(0x0800, ipv4({.protocol = 6, .fragment = 0}, tcp({}, Bytes(1000))));
    frame.resize(54);
    bench.take(frame, 1000);
    REQUIRE(bench.packet.reformat(0x0, 0, 0, vxlan_template(false, false)));
    CHECK(number(bench.content(), 16, 2) == 20 + 8 + 8 + 1054);
    CHECK(number(bench.content(), 38, 2) == 8 + 8 + 1054);
    CHECK(bench.packet.bytes() == 50 + 1054);
    REQUIRE(bench.packet.decapsulate());
    CHECK(bench.content() == frame);
    CHECK(bench.packet.frame().synthetic == 1000);
}

TEST_CASE("padding behind a tunnel does not get into the inner frame", "[packet]") {
    PacketBench bench;
    Bytes frame = named("vxlan");
    const std::size_t inner = frame.size() - 50;
    frame.resize(frame.size() + 10);
    bench.take(frame);
    REQUIRE(bench.packet.decapsulate());
    CHECK(bench.packet.bytes() == inner);
    bench.take(named("vxlan"), 10);
    REQUIRE(bench.packet.decapsulate());
    CHECK(bench.packet.bytes() == inner);
}

TEST_CASE("L3 tunnels lose and get their L2 header", "[packet]") {
    PacketBench bench;
    const Bytes inner = named("tcp over ipv4");
    const Bytes l2(inner.begin(), inner.begin() + 14);
    bench.take(named("mpls over udp"));
    REQUIRE(bench.packet.reformat(0x3, 0, 0, l2));
    CHECK(bench.content() == inner);
    bench.check_in_step();

    const Bytes packet(inner.begin() + 14, inner.end());
    Bytes outer =
        ethernet(0x0800, ipv4({.checksum_upper = false}, udp(9, 6635, big(0x00020140, 4))));
    bench.take(tagged(inner, 7));
    REQUIRE(bench.packet.reformat(0x4, 0, 0, outer));
    CHECK(bench.packet.bytes() == outer.size() + packet.size());
    CHECK(right_frame(bench.content()));
    CHECK(bench.packet.headers().tunnel == Tunnel::mpls_over_udp);
    CHECK(number(bench.content(), 34, 2) == 9);  // a port of the template stays
    bench.check_in_step();
    REQUIRE(bench.packet.reformat(0x3, 0, 0, l2));
    CHECK(bench.content() == inner);

    bench.take(named("vxlan"));
    CHECK_FALSE(bench.packet.reformat(0x3, 0, 0, l2));
    bench.take(named("gre with ipv4"));
    CHECK_FALSE(bench.packet.decapsulate());
    CHECK_FALSE(bench.packet.reformat(0x3, 0, 0, Bytes(13)));
}

TEST_CASE("headers are inserted and removed at the anchors", "[packet]") {
    PacketBench bench;
    const Bytes frame = named("tcp over ipv4");
    bench.take(frame);
    REQUIRE(bench.packet.reformat(0xf, 0x1, 12, big(0x81000064, 4)));
    CHECK(bench.content() == tagged(frame, 0x64));
    bench.check_in_step();
    REQUIRE(bench.packet.reformat(0x10, 0x1, 12, Bytes(4)));
    CHECK(bench.content() == frame);
    bench.check_in_step();
    // A tag of one's own between L2 and IP, and off again.
    REQUIRE(bench.packet.reformat(0xf, 0x7, 0, text("abcd")));
    CHECK(number(bench.content(), 14, 4) == 0x61626364);
}

TEST_CASE("packets serve frame after frame without memory", "[packet]") {
    PacketBench bench;
    for (int i = 0; i < 3; ++i) {
        for (const NamedFrame& frame : frames_of_all_kinds()) {
            bench.take(frame.bytes);
            bench.packet.key();
            bench.packet.push_vlan(0x8100, 1);
        }
    }
    CHECK(bench.pool.allocations() <= 2);
    CHECK(bench.pool.in_use() == 1);
    bench.packet.drop();
    CHECK(bench.packet.empty());
    CHECK(bench.pool.in_use() == 0);
}

}  // namespace
}  // namespace cxsim::eth
