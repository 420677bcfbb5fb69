// SPDX-License-Identifier: Apache-2.0
#include "eth/offloads/transmit.h"

#include "tests/unit/offloads/frames.h"

#include <catch2/catch_test_macros.hpp>

#include <array>

namespace cxsim::eth {
namespace {

using namespace cxsim::test;

/// Spoils the checksums of both layers, as a driver leaves them.
Bytes without_checksums(Bytes frame) {
    Headers headers;
    parse_headers(frame, static_cast<std::uint32_t>(frame.size()), {}, headers);
    for (const Layer* layer : {&headers.outer, &headers.inner}) {
        if (layer->l3_kind == L3::ipv4) put(frame, layer->l3 + 10U, 0xdead, 2);
        if (layer->l4_kind == L4::tcp) put(frame, layer->l4 + 16U, 0xbeef, 2);
        if (layer->l4_kind == L4::udp) put(frame, layer->l4 + 6U, 0xbeef, 2);
    }
    return frame;
}

Bytes sent(const Bytes& frame, const SendOffloads& offloads, std::uint32_t synthetic = 0) {
    model::FramePool pool;
    ParserConfig config;
    Packet packet(config);
    packet.take(make_frame(pool, frame, synthetic));
    REQUIRE(apply_send_offloads(packet, offloads));
    const Bytes content = content_of(packet.frame());
    packet.drop();
    return content;
}

constexpr SendOffloads kAll{
    .l3_checksum = true, .l4_checksum = true, .l3_inner_checksum = true, .l4_inner_checksum = true};

TEST_CASE("all checksums of every kind of frame can be filled in", "[transmit]") {
    unsigned filled = 0;
    for (const NamedFrame& frame : frames_of_all_kinds()) {
        INFO(frame.name);
        const Bytes spoilt = without_checksums(frame.bytes);
        // The card leaves a GRE checksum to the driver; it covers the inner headers.
        if (std::string_view(frame.name) == "gre with checksum") continue;
        CHECK(sent(spoilt, kAll) == frame.bytes);
        CHECK(sent(frame.bytes, kAll) == frame.bytes);
        CHECK(sent(spoilt, {}) == spoilt);
        filled += spoilt != frame.bytes ? 1 : 0;
    }
    CHECK(filled > 15);
}

TEST_CASE("each flag fills its checksum and no other", "[transmit]") {
    Bytes frame;
    for (const NamedFrame& known : frames_of_all_kinds()) {
        if (std::string_view(known.name) == "vxlan") frame = known.bytes;
    }
    const Bytes spoilt = without_checksums(frame);
    Headers headers;
    parse_headers(frame, static_cast<std::uint32_t>(frame.size()), {}, headers);
    const auto changed = [&](const SendOffloads& offloads) {
        const Bytes content = sent(spoilt, offloads);
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i + 1 < content.size(); i += 2) {
            if (number(content, i, 2) != number(spoilt, i, 2)) places.push_back(i);
        }
        return places;
    };
    using Places = std::vector<std::size_t>;
    CHECK(changed({.l3_checksum = true}) == Places{headers.outer.l3 + 10U});
    CHECK(changed({.l4_checksum = true}) == Places{headers.outer.l4 + 6U});
    CHECK(changed({.l3_inner_checksum = true}) == Places{headers.inner.l3 + 10U});
    CHECK(changed({.l4_inner_checksum = true}) == Places{headers.inner.l4 + 16U});
}

TEST_CASE("a UDP checksum that would be zero is sent as ffff", "[transmit]") {
    bool seen = false;
    for (unsigned port = 0; port <= 0xffff; ++port) {
        Bytes frame = ethernet(0x0800, ipv4({}, udp(static_cast<std::uint16_t>(port), 2, {})));
        Bytes spoilt = frame;
        put(spoilt, 40, 0, 2);
        fill_checksums(spoilt,
                       [&] {
                           Headers headers;
                           parse_headers(spoilt, static_cast<std::uint32_t>(spoilt.size()), {},
                                         headers);
                           return headers;
                       }(),
                       {.l4_checksum = true});
        REQUIRE(spoilt == frame);
        seen = seen || number(frame, 40, 2) == 0xffff;
    }
    CHECK(seen);
}

TEST_CASE("a synthetic payload counts as zeros", "[transmit]") {
    Bytes whole = ethernet(0x0800, ipv4({.protocol = 6, .fragment = 0}, tcp({}, Bytes(1001))));
    Bytes spoilt = without_checksums(whole);
    spoilt.resize(54);
    Bytes expected = whole;
    expected.resize(54);
    CHECK(sent(spoilt, kAll, 1001) == expected);
}

TEST_CASE("fragments and cut-off headers keep what they have", "[transmit]") {
    const Bytes fragment = ethernet(0x0800, ipv4({.fragment = 0x2000}, udp(1, 2, text("ab"))));
    CHECK(sent(fragment, kAll) == fragment);
    const Bytes cut(fragment.begin(), fragment.begin() + 30);
    CHECK(sent(cut, kAll) == cut);
    // A UDP length beyond the packet: no sum could be right.
    Bytes wrong = ethernet(0x0800, ipv4({}, udp(1, 2, text("ab"))));
    put(wrong, 38, 11, 2);
    CHECK(sent(wrong, kAll) == wrong);
    CHECK(sent(Bytes(5), kAll) == Bytes(5));
}

TEST_CASE("the tag of the WQE is inserted", "[transmit]") {
    const Bytes frame = ethernet(0x0800, ipv4({.protocol = 6}, tcp({}, text("data"))));
    SendOffloads offloads = kAll;
    offloads.insert_vlan = true;
    offloads.vlan_tci = 0x2123;
    CHECK(sent(without_checksums(frame), offloads) == tagged(frame, 0x2123));
    offloads.service_tag = true;
    CHECK(sent(frame, offloads) == tagged(frame, 0x2123, 0x88a8));
    model::FramePool pool;
    ParserConfig config;
    Packet packet(config);
    packet.take(make_frame(pool, Bytes(10)));
    CHECK_FALSE(apply_send_offloads(packet, offloads));
    packet.drop();
}

using Segment = prm::wqe_eth_seg;

TEST_CASE("a WQE's Ethernet segment is read", "[transmit]") {
    // The bytes as the driver's structure has them.
    Bytes raw(16);
    raw[0] = std::byte{25};                         // swp_outer_l4_offset
    raw[1] = std::byte{7};                          // swp_outer_l3_offset
    raw[2] = std::byte{60};                         // swp_inner_l4_offset
    raw[3] = std::byte{50};                         // swp_inner_l3_offset
    raw[4] = std::byte{0x80 | 0x40 | 0x20 | 0x10};  // cs_flags
    raw[5] = std::byte{0x10 | 0x02};                // swp_flags: outer IPv6, inner UDP
    put(raw, 6, 1448, 2);
    put(raw, 12, 54, 2);
    prm::ConstView<Segment> segment{std::span<const std::byte>(raw)};
    CHECK(inlined_header_bytes(segment) == 54);
    SendOffloads offloads = read_send_offloads(segment, true);
    CHECK(offloads.l3_checksum);
    CHECK(offloads.l4_checksum);
    CHECK(offloads.l3_inner_checksum);
    CHECK(offloads.l4_inner_checksum);
    CHECK(offloads.mss == 1448);
    CHECK_FALSE(offloads.insert_vlan);
    CHECK(offloads.software_parser.used());
    CHECK(offloads.software_parser.outer_l4 == 50);
    CHECK(offloads.software_parser.outer_l3 == 14);
    CHECK(offloads.software_parser.inner_l4 == 120);
    CHECK(offloads.software_parser.inner_l3 == 100);
    CHECK(offloads.software_parser.outer_l3_ipv6);
    CHECK_FALSE(offloads.software_parser.outer_l4_udp);
    CHECK_FALSE(offloads.software_parser.inner_l3_ipv6);
    CHECK(offloads.software_parser.inner_l4_udp);
    CHECK_FALSE(read_send_offloads(segment, false).software_parser.used());

    raw[4] = std::byte{0x40};
    put(raw, 12, 0x8000 | 0x4000, 2);
    put(raw, 14, 0x6005, 2);
    CHECK(inlined_header_bytes(segment) == 0);
    offloads = read_send_offloads(segment, false);
    CHECK(offloads.l3_checksum);
    CHECK_FALSE(offloads.l4_checksum);
    CHECK_FALSE(offloads.l3_inner_checksum);
    CHECK(offloads.insert_vlan);
    CHECK(offloads.vlan_tci == 0x6005);
    CHECK_FALSE(offloads.service_tag);
    put(raw, 12, 0x8001, 2);
    CHECK(read_send_offloads(segment, false).service_tag);
    CHECK(read_send_offloads(prm::ConstView<Segment>(Bytes(16)), true).any_checksum() == false);
}

TEST_CASE("the driver's own parsing reaches where the card's does not", "[transmit]") {
    // VXLAN on a port that nobody registered.
    const Bytes inner = ethernet(0x86dd, ipv6({}, udp(5, 6, text("data"))));
    const Bytes frame = ethernet(0x0800, ipv4({.fragment = 0}, udp(7, 9999, vxlan(1, inner))));
    Bytes spoilt = frame;
    put(spoilt, 50 + 14 + 40 + 6, 0xbeef, 2);
    put(spoilt, 24, 0, 2);
    CHECK(sent(spoilt, kAll) != frame);
    SendOffloads offloads = kAll;
    offloads.software_parser = {.outer_l3 = 14,
                                .outer_l4 = 34,
                                .inner_l3 = 64,
                                .inner_l4 = 104,
                                .outer_l4_udp = true,
                                .inner_l3_ipv6 = true,
                                .inner_l4_udp = true};
    CHECK(sent(spoilt, offloads) == frame);
    // The offsets count the tag that the card inserts.
    offloads.insert_vlan = true;
    offloads.vlan_tci = 5;
    SoftwareParser& parser = offloads.software_parser;
    for (auto* offset : {&parser.outer_l3, &parser.outer_l4, &parser.inner_l3, &parser.inner_l4}) {
        *offset = static_cast<std::uint16_t>(*offset + 4);
    }
    CHECK(sent(spoilt, offloads) == tagged(frame, 5));
}

TEST_CASE("padding is in no checksum, whoever parses", "[transmit]") {
    for (const bool v6 : {false, true}) {
        const Bytes segment = tcp({}, text("data"));
        Bytes frame = v6 ? ethernet(0x86dd, ipv6({.protocol = 6}, segment))
                         : ethernet(0x0800, ipv4({.protocol = 6}, segment));
        frame = frame + text("not zero");
        SendOffloads offloads = kAll;
        CHECK(sent(without_checksums(frame), offloads) == frame);
        offloads.software_parser = {.outer_l3 = 14,
                                    .outer_l4 = static_cast<std::uint16_t>(v6 ? 54 : 34),
                                    .outer_l3_ipv6 = v6};
        CHECK(sent(without_checksums(frame), offloads) == frame);
    }
}

TEST_CASE("offsets of a driver that lies are checked", "[transmit]") {
    const Bytes frame = ethernet(0x0800, ipv4({.protocol = 6}, tcp({}, text("data"))));
    std::mt19937 random(1);
    for (int i = 0; i < 20'000; ++i) {
        SendOffloads offloads = kAll;
        const auto any = [&] { return static_cast<std::uint16_t>(random() % 90 * 2); };
        const auto flag = [&] { return random() % 2 == 0; };
        offloads.software_parser = {any(), any(), any(), any(), flag(), flag(), flag(), flag()};
        Bytes content(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(
                                                         14 + random() % (frame.size() - 13)));
        content.shrink_to_fit();
        const auto size = static_cast<std::uint32_t>(content.size());
        const Headers headers = software_headers(content, size, offloads.software_parser);
        fill_checksums(content, headers, offloads);
        for (const Layer* layer : {&headers.outer, &headers.inner}) {
            CHECK(layer->end <= size);
            if (layer->has_l3()) CHECK(layer->l3_payload <= size);
            if (layer->has_l4()) CHECK(layer->payload <= layer->end);
        }
    }
}

}  // namespace
}  // namespace cxsim::eth
