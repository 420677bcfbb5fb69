// SPDX-License-Identifier: Apache-2.0
#include "eth/offloads/headers.h"

#include "tests/unit/offloads/frames.h"

#include <catch2/catch_test_macros.hpp>

#include <memory>

namespace cxsim::eth {
namespace {

using namespace cxsim::test;

Headers parse(const Bytes& frame, std::uint32_t synthetic = 0, const ParserConfig& config = {}) {
    Headers headers;
    parse_headers(frame, static_cast<std::uint32_t>(frame.size()) + synthetic, config, headers);
    return headers;
}

const Bytes& frame_of(std::string_view name) {
    static const auto frames = frames_of_all_kinds();
    for (const NamedFrame& frame : frames) {
        if (name == frame.name) return frame.bytes;
    }
    FAIL("no frame " << name);
    return frames.front().bytes;
}

TEST_CASE("the frames of the tests have right checksums", "[headers]") {
    for (const NamedFrame& frame : frames_of_all_kinds()) {
        INFO(frame.name);
        CHECK(right_frame(frame.bytes));
    }
}

TEST_CASE("a TCP segment's headers are found", "[headers]") {
    const Headers headers = parse(frame_of("tcp over ipv4"));
    CHECK(headers.outer.l2 == 0);
    CHECK(headers.outer.ethertype == 0x0800);
    CHECK(headers.outer.tags == 0);
    CHECK(headers.outer.l3_kind == L3::ipv4);
    CHECK(headers.outer.l3 == 14);
    CHECK(headers.outer.l4_kind == L4::tcp);
    CHECK(headers.outer.l4 == 34);
    CHECK(headers.outer.payload == 66);
    CHECK(headers.outer.end == frame_of("tcp over ipv4").size());
    CHECK_FALSE(headers.has_inner());
    CHECK(headers.tunnel == Tunnel::none);
    CHECK(&headers.innermost() == &headers.outer);
}

TEST_CASE("tags, options and extension headers are skipped", "[headers]") {
    Headers headers = parse(frame_of("tagged twice"));
    CHECK(headers.outer.tags == 2);
    CHECK(headers.outer.ethertype == 0x0800);
    CHECK(headers.outer.l3 == 22);
    CHECK(headers.outer.l4_kind == L4::tcp);

    headers = parse(tagged(frame_of("tagged twice"), 3));
    CHECK(headers.outer.tags == 2);
    CHECK(headers.outer.ethertype == 0x8100);
    CHECK_FALSE(headers.outer.has_l3());

    headers = parse(frame_of("ipv4 with options"));
    CHECK(headers.outer.options);
    CHECK(headers.outer.l4 == 38);

    headers = parse(frame_of("ipv6 with options"));
    CHECK(headers.outer.options);
    CHECK(headers.outer.protocol == 6);
    CHECK(headers.outer.l4 == 14 + 40 + 16);
    CHECK(headers.outer.l3_payload == 14 + 40 + 16);
}

TEST_CASE("fragments have no L4 header", "[headers]") {
    for (const char* name : {"ipv4 fragment", "ipv6 fragment"}) {
        INFO(name);
        const Headers headers = parse(frame_of(name));
        CHECK(headers.outer.fragment);
        CHECK(headers.outer.protocol == 17);
        CHECK_FALSE(headers.outer.has_l4());
    }
}

TEST_CASE("the IP length tells padding from content", "[headers]") {
    Bytes frame = ethernet(0x0800, ipv4({}, udp(1, 2, text("ab"))));
    const auto end = static_cast<std::uint32_t>(frame.size());
    frame.resize(60);
    CHECK(parse(frame).outer.end == end);
    // A header beyond the end is padding, too.
    put(frame, 16, 27, 2);
    CHECK_FALSE(parse(frame).outer.has_l4());
    // A length beyond the frame is cut.
    put(frame, 16, 9000, 2);
    CHECK(parse(frame).outer.end == 60);
    // With a synthetic tail it is not.
    CHECK(parse(frame, 10'000).outer.end == 9014);
}

TEST_CASE("tunnels are looked into", "[headers]") {
    struct Case {
        const char* name;
        Tunnel tunnel;
        bool l2;
        L3 inner;
        L4 l4;
    };
    for (const Case& c : std::initializer_list<Case>{
             {"vxlan", Tunnel::vxlan, true, L3::ipv4, L4::tcp},
             {"vxlan over ipv6 with tags", Tunnel::vxlan, true, L3::ipv6, L4::udp},
             {"geneve", Tunnel::geneve, true, L3::ipv4, L4::tcp},
             {"geneve with ipv6", Tunnel::geneve, false, L3::ipv6, L4::udp},
             {"nvgre", Tunnel::gre, true, L3::ipv6, L4::udp},
             {"gre with ipv4", Tunnel::gre, false, L3::ipv4, L4::tcp},
             {"gre with checksum", Tunnel::gre, true, L3::ipv4, L4::tcp},
             {"ipv4 in ipv4", Tunnel::ip_in_ip, false, L3::ipv4, L4::tcp},
             {"ipv6 in ipv4", Tunnel::ip_in_ip, false, L3::ipv6, L4::udp},
             {"ipv4 in ipv6", Tunnel::ip_in_ip, false, L3::ipv4, L4::tcp},
             {"vxlan-gpe with ipv4", Tunnel::vxlan_gpe, false, L3::ipv4, L4::tcp},
             {"mpls over udp", Tunnel::mpls_over_udp, false, L3::ipv4, L4::tcp},
             {"mpls over gre", Tunnel::gre, false, L3::ipv6, L4::udp}}) {
        INFO(c.name);
        const Headers headers = parse(frame_of(c.name));
        CHECK(headers.tunnel == c.tunnel);
        CHECK(headers.has_inner());
        CHECK(headers.inner.has_l2() == c.l2);
        CHECK(headers.inner.l3_kind == c.inner);
        CHECK(headers.inner.l4_kind == c.l4);
        CHECK(headers.inner.end == frame_of(c.name).size());
        CHECK(&headers.innermost() == &headers.inner);
    }
    CHECK(parse(frame_of("vxlan over ipv6 with tags")).outer.tags == 1);
    CHECK(parse(frame_of("vxlan over ipv6 with tags")).inner.tags == 1);
}

TEST_CASE("what lies behind the outer packet's end is no tunnel", "[headers]") {
    Bytes frame = frame_of("vxlan");
    put(frame, 16, 28 + 8, 2);  // the outer packet ends behind the VXLAN header
    CHECK(parse(frame).tunnel == Tunnel::vxlan);
    CHECK_FALSE(parse(frame).has_inner());
    put(frame, 16, 28 + 7, 2);
    CHECK(parse(frame).tunnel == Tunnel::none);
    put(frame, 16, 28 + 8 + 34, 2);  // behind the inner IP header
    CHECK(parse(frame).inner.has_l3());
    CHECK_FALSE(parse(frame).inner.has_l4());
    CHECK(parse(frame).inner.end == 14 + 28 + 8 + 34);
}

TEST_CASE("RoCE is recognised by EtherType and by port", "[headers]") {
    const Headers v2 = parse(frame_of("roce v2"));
    CHECK(v2.roce == Roce::v2);
    CHECK(v2.bth == 42);
    const Headers v1 = parse(frame_of("roce v1"));
    CHECK(v1.roce == Roce::v1);
    CHECK(v1.bth == 54);
}

TEST_CASE("VXLAN ports are configured", "[headers]") {
    const Bytes inner = frame_of("tcp over ipv4");
    const Bytes frame = ethernet(0x0800, ipv4({}, udp(7, 8472, vxlan(1, inner))));
    ParserConfig config;
    CHECK(parse(frame).tunnel == Tunnel::none);
    config.add_vxlan_port(8472);
    config.add_vxlan_port(8472);
    CHECK(config.vxlan_ports.size() == 2);
    CHECK(parse(frame, 0, config).tunnel == Tunnel::vxlan);
    CHECK(parse(frame_of("vxlan"), 0, config).tunnel == Tunnel::vxlan);
    config.remove_vxlan_port(8472);
    CHECK(parse(frame, 0, config).tunnel == Tunnel::none);
    config.geneve_port = 8472;
    CHECK(parse(ethernet(0x0800, ipv4({}, udp(7, 8472, geneve(1, 0x6558, {}, inner)))), 0, config)
              .inner.l4_kind == L4::tcp);
}

TEST_CASE("headers that contradict themselves are not there", "[headers]") {
    Bytes frame = frame_of("tcp over ipv4");
    frame[14] = std::byte{0x44};  // IPv4 header of 16 bytes
    CHECK_FALSE(parse(frame).outer.has_l3());
    frame[14] = std::byte{0x65};  // version 6 under IPv4's EtherType
    CHECK_FALSE(parse(frame).outer.has_l3());
    frame = frame_of("tcp over ipv4");
    frame[46] = std::byte{0x40};  // TCP header of 16 bytes
    CHECK_FALSE(parse(frame).outer.has_l4());
    frame[46] = std::byte{0xf0};  // 60 bytes, fewer than the option bytes sent
    CHECK(parse(frame).outer.payload == 94);
    frame.resize(80);
    CHECK_FALSE(parse(frame).outer.has_l4());
    frame = frame_of("geneve");
    frame[42] = std::byte{0x3f};  // longer than the frame
    frame.resize(120);
    CHECK(parse(frame).tunnel == Tunnel::none);
    frame = frame_of("gre with ipv4");
    frame[34] = std::byte{0x40};  // source routing
    CHECK(parse(frame).tunnel == Tunnel::none);
}

TEST_CASE("endless chains end", "[headers]") {
    Bytes extensions;
    for (int i = 0; i < 100; ++i) extensions = extensions + bytes_of({60, 0, 1, 4, 0, 0, 0, 0});
    const Bytes frame = ethernet(
        0x86dd, ipv6({.protocol = 6, .first_header = 60, .extensions = extensions}, tcp({}, {})));
    CHECK_FALSE(parse(frame).outer.has_l4());
    Bytes labels;
    for (int i = 0; i < 100; ++i) labels = labels + big(0x00010040, 4);
    const Headers headers = parse(ethernet(0x0800, ipv4({}, udp(7, 6635, labels))));
    CHECK(headers.tunnel == Tunnel::mpls_over_udp);
    CHECK_FALSE(headers.has_inner());
}

/// Each cut is parsed in memory of exactly its size, so that a sanitizer sees any read beyond.
TEST_CASE("a frame cut at any byte is parsed inside its bytes", "[headers]") {
    for (const NamedFrame& frame : frames_of_all_kinds()) {
        INFO(frame.name);
        const Headers whole = parse(frame.bytes);
        for (std::size_t cut = 0; cut <= frame.bytes.size(); ++cut) {
            INFO("cut at " << cut);
            const auto exact = std::make_unique<std::byte[]>(cut);
            std::copy_n(frame.bytes.begin(), cut, exact.get());
            for (const std::uint32_t synthetic :
                 {0U, static_cast<std::uint32_t>(frame.bytes.size() - cut)}) {
                Headers headers;
                const auto size = static_cast<std::uint32_t>(cut) + synthetic;
                parse_headers({exact.get(), cut}, size, {}, headers);
                for (const Layer* layer : {&headers.outer, &headers.inner}) {
                    CHECK(layer->end <= size);
                    if (layer->has_l2()) CHECK(layer->l2 + 14U + layer->tags * 4U <= cut);
                    if (layer->has_l3()) CHECK(layer->l3_payload <= cut);
                    if (layer->has_l4()) CHECK(layer->payload <= cut);
                    if (layer->has_l4()) CHECK(layer->payload <= layer->end);
                }
                // What is found is what is there.
                if (headers.outer.has_l3()) CHECK(headers.outer.l3 == whole.outer.l3);
                if (headers.outer.has_l4()) CHECK(headers.outer.l4 == whole.outer.l4);
                if (headers.inner.has_l3()) CHECK(headers.inner.l3 == whole.inner.l3);
                if (headers.inner.has_l4()) CHECK(headers.inner.l4 == whole.inner.l4);
                if (synthetic != 0) CHECK(headers.outer.end <= whole.outer.end);
            }
        }
    }
}

}  // namespace
}  // namespace cxsim::eth
