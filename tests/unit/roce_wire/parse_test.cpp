// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/roce_wire/reference.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::roce {
namespace {

using namespace cxsim::test;

const OpcodeRow kSendOnly{0x04, "", true};
const OpcodeRow kWriteOnly{0x0a, "R", true};
const OpcodeRow kAcknowledge{0x11, "A", false};
const OpcodeRow kCnp{kCnpOpcode, "", false};

constexpr std::size_t kNetwork = 14;
/// Where the BTH begins in a frame without a tag.
std::size_t bth_of(NetworkKind kind) {
    return Path(description_of(kind)).header_bytes();
}

/// A right frame, to be spoilt.
Bytes frame_of(NetworkKind kind, const OpcodeRow& row, std::size_t payload = 0) {
    return reference_frame(
        description_of(kind), 7,
        reference_transport(row, headers_of(row), Bytes(payload, std::byte{0x33})));
}

/// With the IPv4 checksum and the ICRC made right again, so that only the spoilt field is wrong.
Bytes repaired(NetworkKind kind, Bytes frame) {
    if (kind == NetworkKind::roce_v2_ipv4) {
        put(frame, kNetwork + 10, 0, 2);
        put(frame, kNetwork + 10, ~naive_sum(View(frame).subspan(kNetwork, 20)) & 0xffff, 2);
    }
    const Bytes network(frame.begin() + kNetwork, frame.end() - 4);
    std::ranges::copy(reference_icrc(kind, network), frame.end() - 4);
    return frame;
}

Parsed parsed(const Bytes& frame, std::uint32_t synthetic = 0) {
    model::FramePool pool;
    ReceivedPacket packet;
    return parse(*make_frame(pool, frame, synthetic), packet);
}

bool looks(const Bytes& frame) {
    model::FramePool pool;
    return looks_like_roce(*make_frame(pool, frame));
}

void check_network(const ReceivedPacket& packet, const Path::Description& d) {
    CHECK(packet.kind == d.kind);
    CHECK(packet.source_mac == d.source_mac);
    CHECK(packet.destination_mac == d.destination_mac);
    CHECK(packet.has_vlan == d.has_vlan);
    CHECK(packet.vlan_tci == d.vlan_tci);
    CHECK(packet.source == d.source);
    CHECK(packet.destination == d.destination);
    CHECK(packet.traffic_class == d.traffic_class);
    CHECK(packet.hop_limit == d.hop_limit);
    CHECK(packet.flow_label == d.flow_label);
    CHECK(packet.source_port == d.source_port);
}

TEST_CASE("every opcode, network and length comes back as it was sent", "[roce_wire]") {
    model::FramePool pool;
    std::mt19937 random(6);
    ReceivedPacket packet;  // one for all: nothing may stay from the packet before
    std::uint32_t salt = 0;
    for (const OpcodeRow& row : all_opcodes()) {
        for (const NetworkKind kind : kKinds) {
            for (const bool vlan : {false, true}) {
                const Path path(description_of(kind, vlan));
                for (const std::size_t length : {0U, 1U, 2U, 3U, 4U, 257U}) {
                    if (length != 0 && !row.payload) continue;
                    const Bytes payload = random_bytes(random, length);
                    TransportHeaders headers = headers_of(row, ++salt & 0xff);
                    const auto frame = make_packet(pool, path, headers, payload);
                    headers.pad = static_cast<std::uint8_t>((4 - length % 4) % 4);
                    CAPTURE(int{row.opcode}, int(kind), vlan, length);
                    REQUIRE(looks_like_roce(*frame));
                    REQUIRE(parse(*frame, packet) == Parsed::packet);
                    check_network(packet, path.description());
                    REQUIRE(packet.headers == headers);
                    REQUIRE(packet.payload_bytes == length);
                    REQUIRE(std::ranges::equal(packet.payload, payload));
                    REQUIRE(packet.frame_bytes == frame->size());
                }
            }
        }
    }
}

TEST_CASE("counted bytes come back as a length", "[roce_wire]") {
    model::FramePool pool;
    ReceivedPacket packet;
    for (const NetworkKind kind : kKinds) {
        for (const bool vlan : {false, true}) {
            const Path path(description_of(kind, vlan));
            for (const std::uint32_t stored : {0U, 5U}) {
                for (const std::uint32_t synthetic : {1U, 2U, 3U, 4U, 1024U, 4096U}) {
                    const Bytes payload(stored, std::byte{0x77});
                    const auto frame =
                        make_packet(pool, path, headers_of(kWriteOnly), payload, synthetic);
                    CAPTURE(int(kind), vlan, stored, synthetic);
                    REQUIRE(parse(*frame, packet) == Parsed::packet);
                    REQUIRE(packet.payload_bytes == stored + synthetic);
                    REQUIRE(std::ranges::equal(packet.payload, payload));
                    REQUIRE(packet.headers.dma_bytes == headers_of(kWriteOnly).dma_bytes);
                    // The switch on the way counts the same bytes.
                    REQUIRE(packet.frame_bytes == frame->size());
                    --frame->synthetic;
                    REQUIRE(parse(*frame, packet) == Parsed::malformed);
                }
            }
        }
    }
}

TEST_CASE("padding to Ethernet's minimum and beyond is not payload", "[roce_wire]") {
    model::FramePool pool;
    ReceivedPacket packet;
    for (const NetworkKind kind : kKinds) {
        for (const OpcodeRow& row : {kSendOnly, kAcknowledge, kCnp}) {
            for (const std::size_t behind : {0U, 1U, 2U, 18U, 40U}) {
                const Bytes frame = frame_of(kind, row) + Bytes(behind, std::byte{0xee});
                CAPTURE(int(kind), int{row.opcode}, behind);
                REQUIRE(parse(*make_frame(pool, frame), packet) == Parsed::packet);
                REQUIRE(packet.payload_bytes == 0);
                REQUIRE(packet.payload.empty());
                REQUIRE(packet.frame_bytes == frame.size());
            }
        }
    }
    // 58 bytes, the only kind of packet shorter than the minimum: SEND without payload over IPv4.
    const Bytes shortest = frame_of(NetworkKind::roce_v2_ipv4, kSendOnly);
    REQUIRE(shortest.size() == 58);
    CHECK(parsed(shortest + Bytes(2)) == Parsed::packet);
}

TEST_CASE("what routers change does not matter to the invariant CRC", "[roce_wire]") {
    model::FramePool pool;
    ReceivedPacket packet;
    for (const NetworkKind kind : kKinds) {
        Bytes frame = frame_of(kind, kSendOnly, 9);
        if (kind == NetworkKind::roce_v2_ipv4) {
            put(frame, kNetwork + 1, 0x6b, 1);  // congestion experienced
            put(frame, kNetwork + 8, 12, 1);
            put(frame, kNetwork + 10, 0, 2);
            put(frame, kNetwork + 10, ~naive_sum(View(frame).subspan(kNetwork, 20)) & 0xffff, 2);
            put(frame, kNetwork + 26, 0x1234, 2);  // UDP checksum
        } else {
            put(frame, kNetwork, 0x66b54321, 4);
            put(frame, kNetwork + 7, 12, 1);
        }
        if (kind == NetworkKind::roce_v2_ipv6) put(frame, kNetwork + 46, 0x1234, 2);
        put(frame, bth_of(kind) + 4, 0xc0, 1);  // FECN, BECN
        CAPTURE(int(kind));
        REQUIRE(parse(*make_frame(pool, frame), packet) == Parsed::packet);
        CHECK(packet.congestion_experienced());
        CHECK(packet.dscp() == 26);
        CHECK(packet.hop_limit == 12);
        CHECK(packet.headers.fecn);
        CHECK(packet.headers.becn);
        // A tag that a switch adds or takes does not either.
        const Bytes with_tag = tagged(frame, 0x2005);
        REQUIRE(parse(*make_frame(pool, with_tag), packet) == Parsed::packet);
        CHECK(packet.vlan_tci == 0x2005);
    }
}

TEST_CASE("every flipped bit that the invariant CRC covers is found", "[roce_wire]") {
    for (const NetworkKind kind : kKinds) {
        const Bytes right = frame_of(kind, kWriteOnly, 6);
        REQUIRE(parsed(right) == Parsed::packet);
        const std::size_t bth = bth_of(kind);
        for (std::size_t at = bth; at < right.size(); ++at) {
            if (at == bth + 4) continue;
            for (unsigned bit = 0; bit < 8; ++bit) {
                Bytes frame = right;
                frame[at] ^= static_cast<std::byte>(1U << bit);
                const Parsed result = parsed(frame);
                CAPTURE(int(kind), at, bit);
                // Headers are looked at first.
                REQUIRE(result != Parsed::packet);
                if (at > bth + 1) REQUIRE(result == Parsed::bad_icrc);
            }
        }
        // Addresses are covered too; IPv4's by its own checksum before that.
        Bytes frame = right;
        frame[kNetwork + 15] ^= std::byte{1};
        CHECK(parsed(frame) ==
              (kind == NetworkKind::roce_v2_ipv4 ? Parsed::malformed : Parsed::bad_icrc));
    }
}

TEST_CASE("a frame cut off anywhere is refused without reading behind it", "[roce_wire]") {
    for (const NetworkKind kind : kKinds) {
        for (const OpcodeRow& row : all_opcodes()) {
            const Bytes frame = frame_of(kind, row, row.payload ? 5 : 0);
            for (std::size_t length = 0; length < frame.size(); ++length) {
                const Bytes cut(frame.begin(), frame.begin() + static_cast<long>(length));
                CAPTURE(int(kind), int{row.opcode}, length);
                REQUIRE(parsed(cut) == (looks(cut) ? Parsed::malformed : Parsed::not_roce));
            }
        }
    }
}

TEST_CASE("headers that are only counted are malformed", "[roce_wire]") {
    for (const NetworkKind kind : kKinds) {
        const Bytes frame = frame_of(kind, kWriteOnly, 8);
        for (std::size_t stored = bth_of(kind); stored < bth_of(kind) + 28; ++stored) {
            const Bytes front(frame.begin(), frame.begin() + static_cast<long>(stored));
            CHECK(parsed(front, static_cast<std::uint32_t>(frame.size() - stored)) ==
                  Parsed::malformed);
        }
    }
}

TEST_CASE("lengths that contradict each other are malformed", "[roce_wire]") {
    for (const NetworkKind kind : kKinds) {
        const Bytes right = frame_of(kind, kSendOnly, 16);
        const bool v4 = kind == NetworkKind::roce_v2_ipv4;
        const std::size_t ip_length = kNetwork + (v4 ? 2 : 4);
        const std::uint64_t length = number(right, ip_length, 2);
        CAPTURE(int(kind));
        for (const std::uint64_t wrong :
             {std::uint64_t{0}, std::uint64_t{7}, length - 16, length - 1, length + 1, length + 4,
              std::uint64_t{0xffff}}) {
            Bytes frame = right;
            put(frame, ip_length, wrong, 2);
            CAPTURE(wrong);
            // Of version 1 four bytes less are a shorter packet with another CRC.
            CHECK(parsed(repaired(kind, frame)) ==
                  (kind == NetworkKind::roce_v1 && wrong == length - 16 ? Parsed::bad_icrc
                                                                        : Parsed::malformed));
        }
        if (kind == NetworkKind::roce_v1) continue;
        const std::size_t udp_length = bth_of(kind) - 4;
        for (const std::uint64_t wrong : {0U, 8U, 43U, 45U, 0xffffU}) {
            Bytes frame = right;
            put(frame, udp_length, wrong, 2);
            CAPTURE(wrong);
            CHECK(parsed(repaired(kind, frame)) == Parsed::malformed);
        }
    }
}

TEST_CASE("a packet that is not whole words is malformed", "[roce_wire]") {
    for (const NetworkKind kind : kKinds) {
        for (const std::size_t odd : {1U, 2U, 3U}) {
            Bytes transport = reference_transport(kSendOnly, headers_of(kSendOnly), Bytes(8));
            transport = transport + Bytes(odd);
            CHECK(parsed(reference_frame(description_of(kind), 1, transport)) == Parsed::malformed);
        }
    }
}

TEST_CASE("padding longer than what is there is malformed", "[roce_wire]") {
    for (const NetworkKind kind : kKinds) {
        for (const unsigned pad : {1U, 2U, 3U}) {
            Bytes frame = frame_of(kind, kSendOnly);
            put(frame, bth_of(kind) + 1, 0x40 | pad << 4, 1);
            CHECK(parsed(repaired(kind, frame)) == Parsed::malformed);
            // In a word there is room for it.
            frame = frame_of(kind, kSendOnly, 4);
            put(frame, bth_of(kind) + 1, 0x40 | pad << 4, 1);
            CHECK(parsed(repaired(kind, frame)) == Parsed::packet);
        }
    }
}

TEST_CASE("payload behind an operation without one is malformed", "[roce_wire]") {
    for (const OpcodeRow& row : all_opcodes()) {
        if (row.payload) continue;
        Bytes transport = reference_transport(row, headers_of(row), {});
        transport = transport + Bytes(4);
        for (const NetworkKind kind : kKinds) {
            CHECK(parsed(reference_frame(description_of(kind), 1, transport)) == Parsed::malformed);
        }
    }
}

TEST_CASE("a CNP of another length is malformed, its reserved bytes are not looked at",
          "[roce_wire]") {
    const NetworkKind kind = NetworkKind::roce_v2_ipv4;
    Bytes bth = reference_transport(kCnp, headers_of(kCnp), {});
    bth.resize(kBthBytes);
    for (const std::size_t reserved : {0U, 4U, 12U, 16U, 20U}) {
        const Bytes transport = bth + Bytes(reserved, std::byte{0x5a});
        CHECK(parsed(reference_frame(description_of(kind), 1, transport)) ==
              (reserved == 16 ? Parsed::packet : Parsed::malformed));
    }
}

TEST_CASE("every opcode that no table has is malformed", "[roce_wire]") {
    bool known[256] = {};
    for (const OpcodeRow& row : all_opcodes()) known[row.opcode] = true;
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        if (known[opcode]) continue;
        for (const NetworkKind kind : kKinds) {
            Bytes frame = frame_of(kind, kSendOnly, 64);
            put(frame, bth_of(kind), opcode, 1);
            CAPTURE(opcode, int(kind));
            CHECK(parsed(repaired(kind, frame)) == Parsed::malformed);
        }
    }
}

TEST_CASE("another version of the transport is malformed", "[roce_wire]") {
    for (const NetworkKind kind : kKinds) {
        for (unsigned version = 1; version < 16; ++version) {
            Bytes frame = frame_of(kind, kSendOnly);
            put(frame, bth_of(kind) + 1, 0x40 | version, 1);
            CHECK(parsed(repaired(kind, frame)) == Parsed::malformed);
        }
    }
}

TEST_CASE("an IPv4 header with a wrong checksum or with options is malformed", "[roce_wire]") {
    const NetworkKind kind = NetworkKind::roce_v2_ipv4;
    Bytes frame = frame_of(kind, kSendOnly, 4);
    put(frame, kNetwork + 10, number(frame, kNetwork + 10, 2) ^ 0x100, 2);
    CHECK(parsed(frame) == Parsed::malformed);

    const Bytes transport = reference_transport(kSendOnly, headers_of(kSendOnly), {}) + Bytes(4);
    const Bytes with_options =
        ethernet(0x0800, ipv4({.options = Bytes(4, std::byte{1})}, udp(0xc000, 4791, transport)));
    CHECK(looks(with_options));
    CHECK(parsed(with_options) == Parsed::malformed);
}

TEST_CASE("a GRH of another version or with another next header is malformed", "[roce_wire]") {
    const NetworkKind kind = NetworkKind::roce_v1;
    Bytes frame = frame_of(kind, kSendOnly, 4);
    put(frame, kNetwork, 0x46, 1);
    CHECK(parsed(repaired(kind, frame)) == Parsed::malformed);
    frame = frame_of(kind, kSendOnly, 4);
    put(frame, kNetwork + 6, 17, 1);
    CHECK(parsed(repaired(kind, frame)) == Parsed::malformed);
}

TEST_CASE("reserved bits are not looked at", "[roce_wire]") {
    model::FramePool pool;
    ReceivedPacket packet;
    const OpcodeRow row{0x64, "D", true};
    for (const NetworkKind kind : kKinds) {
        Bytes frame = frame_of(kind, row, 3);
        const std::size_t bth = bth_of(kind);
        frame[bth + 4] |= std::byte{0x3f};
        frame[bth + 8] |= std::byte{0x7f};
        frame[bth + 16] = std::byte{0xff};  // DETH
        REQUIRE(parse(*make_frame(pool, repaired(kind, frame)), packet) == Parsed::packet);
        TransportHeaders expected = headers_of(row);
        expected.pad = 1;
        CHECK(packet.headers == expected);
    }
}

TEST_CASE("other frames are Ethernet's", "[roce_wire]") {
    for (const NamedFrame& frame : frames_of_all_kinds()) {
        const bool roce = std::string_view(frame.name).starts_with("roce");
        CAPTURE(frame.name);
        CHECK(looks(frame.bytes) == roce);
        CHECK((parsed(frame.bytes) == Parsed::not_roce) == !roce);
    }
    for (const NetworkKind kind : {NetworkKind::roce_v2_ipv4, NetworkKind::roce_v2_ipv6}) {
        const bool v4 = kind == NetworkKind::roce_v2_ipv4;
        const Bytes right = frame_of(kind, kSendOnly, 4);
        const auto spoilt = [&](std::size_t at, unsigned value, unsigned bytes) {
            Bytes frame = right;
            put(frame, at, value, bytes);
            return parsed(repaired(kind, frame));
        };
        CAPTURE(v4);
        CHECK(parsed(right) == Parsed::packet);
        CHECK(spoilt(bth_of(kind) - 6, 4790, 2) == Parsed::not_roce);
        CHECK(spoilt(kNetwork + (v4 ? 9U : 6U), 6, 1) == Parsed::not_roce);
        CHECK(spoilt(kNetwork, v4 ? 0x65U : 0x45U, 1) == Parsed::not_roce);
        if (v4) {
            CHECK(spoilt(kNetwork, 0x44, 1) == Parsed::not_roce);
            CHECK(spoilt(kNetwork + 6, 0x2000, 2) == Parsed::not_roce);
            CHECK(spoilt(kNetwork + 6, 0x0001, 2) == Parsed::not_roce);
            CHECK(spoilt(kNetwork + 6, 0x0000, 2) == Parsed::packet);  // may be fragmented
        }
        CHECK(parsed(tagged(right, 5)) == Parsed::packet);
        CHECK(parsed(tagged(tagged(right, 5), 6)) == Parsed::not_roce);
        CHECK(parsed(tagged(right, 5, 0x88a8)) == Parsed::not_roce);
    }
}

}  // namespace
}  // namespace cxsim::roce
