// SPDX-License-Identifier: Apache-2.0
#include "eth/offloads/segmenter.h"

#include "tests/unit/offloads/frames.h"

#include <catch2/catch_test_macros.hpp>

#include <functional>

namespace cxsim::eth {
namespace {

using namespace cxsim::test;

/// How the inner L4 header is wrapped, and where it and its IP header are then.
struct Wrapping {
    const char* name;
    std::function<Bytes(const Bytes& upper, bool is_udp)> wrap;
    std::size_t l4;
    bool checksums_outer_udp = false;
};

std::vector<Wrapping> wrappings() {
    const auto v4 = [](const Bytes& upper, bool is_udp) {
        return ipv4({.protocol = is_udp ? 17U : 6U, .id = 0xfffe}, upper);
    };
    const auto v6 = [](const Bytes& upper, bool is_udp) {
        return ipv6({.protocol = is_udp ? 17U : 6U}, upper);
    };
    const auto outer = [](unsigned protocol, const Bytes& upper) {
        return ethernet(0x0800, ipv4({.source = 0x01020304,
                                      .destination = 0x05060708,
                                      .protocol = protocol,
                                      .id = 100,
                                      .fragment = 0,
                                      .checksum_upper = false},
                                     upper));
    };
    return {
        {"IPv4", [=](const Bytes& u, bool d) { return ethernet(0x0800, v4(u, d)); }, 34},
        {"IPv6", [=](const Bytes& u, bool d) { return ethernet(0x86dd, v6(u, d)); }, 54},
        {"tagged", [=](const Bytes& u, bool d) { return tagged(ethernet(0x0800, v4(u, d)), 5); },
         38},
        {"VXLAN",
         [=](const Bytes& u, bool d) {
             return outer(17, udp(9, 4789, vxlan(1, ethernet(0x0800, v4(u, d)))));
         },
         84},
        {"VXLAN over IPv6",
         [=](const Bytes& u, bool d) {
             return ethernet(0x86dd, ipv6({.checksum_upper = false},
                                          udp(9, 4789, vxlan(1, ethernet(0x86dd, v6(u, d))))));
         },
         14 + 40 + 16 + 14 + 40},
        {"GENEVE",
         [=](const Bytes& u, bool d) {
             return outer(17,
                          udp(9, 6081, geneve(1, 0x6558, Bytes(8), ethernet(0x0800, v4(u, d)))));
         },
         92},
        {"GRE", [=](const Bytes& u, bool d) { return outer(47, gre(0x0800, v4(u, d))); }, 58},
        {"NVGRE",
         [=](const Bytes& u, bool d) {
             return outer(47, gre_key(0x6558, 5, ethernet(0x86dd, v6(u, d))));
         },
         34 + 8 + 14 + 40},
        {"IP in IP", [=](const Bytes& u, bool d) { return outer(4, v4(u, d)); }, 54},
        {"IPv6 in IP", [=](const Bytes& u, bool d) { return outer(41, v6(u, d)); }, 74},
    };
}

std::vector<Bytes> segments(Segmenter& segmenter, const Bytes& payload) {
    model::FramePool pool;
    std::vector<Bytes> frames;
    for (std::uint32_t i = 0; i < segmenter.count(); ++i) {
        const Segmenter::Piece piece = segmenter.piece(i);
        model::FramePtr frame = pool.make(segmenter.header_bytes() + piece.bytes);
        segmenter.write_headers(i, frame->bytes());
        std::copy_n(payload.begin() + static_cast<std::ptrdiff_t>(piece.offset), piece.bytes,
                    frame->bytes().begin() + segmenter.header_bytes());
        segmenter.finish(*frame);
        frames.push_back(content_of(*frame));
    }
    return frames;
}

SendOffloads all_checksums(std::uint16_t mss) {
    SendOffloads offloads;
    offloads.l3_checksum = true;
    offloads.l3_inner_checksum = true;
    offloads.l4_inner_checksum = true;
    offloads.mss = mss;
    return offloads;
}

TEST_CASE("TCP segments are right and join to the payload again", "[segmenter]") {
    std::mt19937 random(1);
    for (const Wrapping& wrapping : wrappings()) {
        for (const std::size_t bytes : {1U, 99U, 100U, 101U, 1000U, 5'000U, 64'321U}) {
            const std::uint16_t mss = bytes > 20'000 ? 1448 : 100;
            INFO(wrapping.name << ", " << bytes << " bytes");
            const Bytes payload = random_bytes(random, bytes);
            const TcpFields fields{
                .sequence = 0xffff'ff00, .flags = 0x199, .options = tcp_option_timestamp(1, 2)};
            const Bytes headers = wrapping.wrap(tcp(fields, {}), false);
            SendOffloads offloads = all_checksums(mss);
            offloads.l4_checksum = wrapping.l4 < 58 && std::string_view("GRE") != wrapping.name &&
                                   std::string_view("IP in IP") != wrapping.name;
            Segmenter segmenter;
            REQUIRE(segmenter.start(headers, bytes, offloads, {}));
            REQUIRE(segmenter.count() == (bytes + mss - 1) / mss);
            const std::vector<Bytes> frames = segments(segmenter, payload);
            Bytes joined;
            for (std::size_t i = 0; i < frames.size(); ++i) {
                const Bytes& frame = frames[i];
                const bool last = i + 1 == frames.size();
                INFO("segment " << i);
                REQUIRE(right_frame(frame));
                const std::size_t l4 = wrapping.l4;
                REQUIRE(number(frame, l4 + 4, 4) == ((0xffff'ff00 + i * mss) & 0xffff'ffff));
                // FIN, PSH at the end, CWR in front; NS and ACK everywhere.
                const unsigned flags = 0x110 | (last ? 0x009 : 0) | (i == 0 ? 0x080 : 0);
                REQUIRE(number(frame, l4 + 12, 2) == (8U << 12 | flags));
                REQUIRE(View(frame).subspan(l4 + 20, 12)[3] == std::byte{10});
                joined.insert(joined.end(), frame.begin() + static_cast<std::ptrdiff_t>(l4 + 32),
                              frame.end());
            }
            CHECK(joined == payload);
        }
    }
}

TEST_CASE("UDP segments have lengths and checksums of their own", "[segmenter]") {
    std::mt19937 random(2);
    for (const Wrapping& wrapping : wrappings()) {
        INFO(wrapping.name);
        const Bytes payload = random_bytes(random, 3'333);
        // The driver writes the length of a full segment.
        Bytes upper = udp(5, 6, {});
        put(upper, 4, 1008, 2);
        const Bytes headers = wrapping.wrap(upper, true);
        SendOffloads offloads = all_checksums(1000);
        offloads.l4_checksum = wrapping.l4 < 58 && std::string_view("GRE") != wrapping.name &&
                               std::string_view("IP in IP") != wrapping.name;
        Segmenter segmenter;
        REQUIRE(segmenter.start(headers, payload.size(), offloads, {}));
        REQUIRE(segmenter.count() == 4);
        Bytes joined;
        for (const Bytes& frame : segments(segmenter, payload)) {
            REQUIRE(right_frame(frame));
            REQUIRE(number(frame, wrapping.l4 + 6, 2) != 0);
            joined.insert(joined.end(),
                          frame.begin() + static_cast<std::ptrdiff_t>(wrapping.l4 + 8),
                          frame.end());
        }
        CHECK(joined == payload);
    }
}

TEST_CASE("IPv4 ids count up, the outer one as the card does it", "[segmenter]") {
    const auto all = wrappings();
    const Bytes headers = all[3].wrap(tcp({}, {}), false);
    const Bytes payload(500);
    for (const bool constant : {false, true}) {
        Segmenter segmenter;
        REQUIRE(
            segmenter.start(headers, 500, all_checksums(100), {}, {.constant_outer_id = constant}));
        const auto frames = segments(segmenter, payload);
        for (std::size_t i = 0; i < frames.size(); ++i) {
            CHECK(right_frame(frames[i]));
            CHECK(number(frames[i], 18, 2) == (constant ? 100 : 100 + i));
            CHECK(number(frames[i], 68, 2) == ((0xfffe + i) & 0xffff));
        }
    }
}

TEST_CASE("an outer UDP checksum stays, is made on demand, and zero stays zero", "[segmenter]") {
    const auto all = wrappings();
    const Bytes payload(300, std::byte{5});
    Bytes headers = all[3].wrap(tcp({}, {}), false);
    SendOffloads offloads = all_checksums(100);
    Segmenter segmenter;
    REQUIRE(segmenter.start(headers, 300, offloads, {}));
    for (const Bytes& frame : segments(segmenter, payload)) CHECK(number(frame, 40, 2) == 0);
    // A driver with equal segments may have computed the one checksum of all (partial GSO).
    put(headers, 40, 0x1234, 2);
    REQUIRE(segmenter.start(headers, 300, offloads, {}));
    for (const Bytes& frame : segments(segmenter, payload)) CHECK(number(frame, 40, 2) == 0x1234);
    offloads.l4_checksum = true;
    REQUIRE(segmenter.start(headers, 300, offloads, {}));
    for (const Bytes& frame : segments(segmenter, payload)) {
        CHECK(number(frame, 40, 2) != 0);
        CHECK(right_frame(frame));
    }
}

TEST_CASE("lengths that the driver left open do not matter", "[segmenter]") {
    for (const std::size_t which : {0U, 1U, 3U}) {
        const Wrapping wrapping = wrappings()[which];
        Bytes headers = wrapping.wrap(tcp({}, {}), false);
        const Bytes filled = headers;
        put(headers, which == 1 ? 18 : 16, 0, 2);  // more than 64 KiB: 0
        Segmenter one;
        Segmenter other;
        SendOffloads offloads = all_checksums(1000);
        offloads.l4_checksum = which != 3;
        REQUIRE(one.start(headers, 70'000, offloads, {}));
        REQUIRE(other.start(filled, 70'000, offloads, {}));
        std::mt19937 random(3);
        const Bytes payload = random_bytes(random, 70'000);
        CHECK(segments(one, payload) == segments(other, payload));
        for (const Bytes& frame : segments(one, payload)) CHECK(right_frame(frame));
    }
}

TEST_CASE("the driver's own parsing is followed", "[segmenter]") {
    // VXLAN on a port that nobody registered.
    const Bytes inner = ethernet(0x0800, ipv4({.protocol = 6}, tcp({}, {})));
    Bytes headers = ethernet(
        0x0800, ipv4({.fragment = 0, .checksum_upper = false}, udp(7, 9999, vxlan(1, inner))));
    SendOffloads offloads = all_checksums(700);
    offloads.software_parser = {
        .outer_l3 = 14, .outer_l4 = 34, .inner_l3 = 64, .inner_l4 = 84, .outer_l4_udp = true};
    Segmenter segmenter;
    REQUIRE(segmenter.start(headers, 2000, offloads, {}));
    std::mt19937 random(4);
    for (Bytes frame : segments(segmenter, random_bytes(random, 2000))) {
        CHECK(number(frame, 38, 2) == frame.size() - 34);
        put(frame, 36, 4789, 2);  // a port that the checker knows
        CHECK(right_frame(frame));
    }
}

TEST_CASE("a synthetic payload makes the same headers as zeros", "[segmenter]") {
    const Bytes headers = wrappings()[0].wrap(tcp({}, {}), false);
    SendOffloads offloads = all_checksums(1000);
    offloads.l4_checksum = true;
    Segmenter segmenter;
    REQUIRE(segmenter.start(headers, 2500, offloads, {}));
    const auto frames = segments(segmenter, Bytes(2500));
    model::FramePool pool;
    for (std::uint32_t i = 0; i < segmenter.count(); ++i) {
        model::FramePtr frame = pool.make(segmenter.header_bytes());
        frame->synthetic = segmenter.piece(i).bytes;
        segmenter.write_headers(i, frame->bytes());
        segmenter.finish(*frame);
        CHECK(content_of(*frame) == Bytes(frames[i].begin(), frames[i].begin() + 54));
    }
}

TEST_CASE("a large send without payload is one segment", "[segmenter]") {
    const Bytes headers = wrappings()[0].wrap(tcp({.flags = 0x199}, {}), false);
    Segmenter segmenter;
    SendOffloads offloads = all_checksums(1000);
    offloads.l4_checksum = true;
    REQUIRE(segmenter.start(headers, 0, offloads, {}));
    const auto frames = segments(segmenter, {});
    REQUIRE(frames.size() == 1);
    CHECK(number(frames[0], 46, 2) == (5U << 12 | 0x199));
    CHECK(right_frame(frames[0]));
}

TEST_CASE("what cannot be segmented is refused", "[segmenter]") {
    const Bytes headers = wrappings()[0].wrap(tcp({}, {}), false);
    const SendOffloads offloads = all_checksums(1000);
    Segmenter segmenter;
    CHECK_FALSE(segmenter.start(headers, 100, all_checksums(0), {}));
    CHECK_FALSE(segmenter.start(View(headers).first(53), 100, offloads, {}));
    CHECK_FALSE(segmenter.start({}, 100, offloads, {}));
    CHECK_FALSE(segmenter.start(ethernet(0x0806, Bytes(28)), 100, offloads, {}));
    CHECK_FALSE(segmenter.start(ethernet(0x0800, ipv4({.protocol = 1}, icmp(8, 0, 1, {}))), 100,
                                offloads, {}));
    CHECK_FALSE(segmenter.start(ethernet(0x0800, ipv4({.fragment = 0x2000}, udp(1, 2, {}))), 100,
                                offloads, {}));
    CHECK_FALSE(segmenter.start(headers + Bytes(1000), 100, offloads, {}));
    CHECK_FALSE(segmenter.start(headers, 20'000, all_checksums(17'000), {}));
    CHECK(segmenter.start(headers, 1000, all_checksums(17'000), {}));
    CHECK(segmenter.start(headers, 512 * 1024, offloads, {}));
    CHECK_FALSE(segmenter.start(headers, 512 * 1024 + 1, offloads, {}));
    CHECK_FALSE(segmenter.start(headers, 5'001, offloads, {}, {.max_payload_bytes = 5'000}));
    // An inner packet without L4: the outer UDP header is not what is segmented.
    CHECK_FALSE(segmenter.start(wrappings()[3].wrap(Bytes(4), false), 100, offloads, {}));
}

}  // namespace
}  // namespace cxsim::eth
