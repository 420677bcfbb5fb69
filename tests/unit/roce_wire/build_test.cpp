// SPDX-License-Identifier: Apache-2.0
#include "roce/wire/codec.h"
#include "tests/support/allocations.h"
#include "tests/unit/roce_wire/reference.h"

#include <catch2/catch_test_macros.hpp>

#include <utility>

namespace cxsim::roce {
namespace {

using namespace cxsim::test;

TEST_CASE("there are as many opcodes as the tables have", "[roce_wire]") {
    // RC 23, UC 12, UD 2, XRC 23, CNP.
    CHECK(all_opcodes().size() == 61);
}

TEST_CASE("every opcode's headers have the length of the tables", "[roce_wire]") {
    for (const OpcodeRow& row : all_opcodes()) {
        CAPTURE(int{row.opcode});
        const std::size_t reserved = row.opcode == kCnpOpcode ? kCnpReservedBytes : 0;
        CHECK(transport_header_bytes(row.opcode) + reserved ==
              reference_transport(row, headers_of(row), {}).size());
    }
}

TEST_CASE("packets of every opcode, network and length are those of the reference", "[roce_wire]") {
    model::FramePool pool;
    std::mt19937 random(4);
    std::uint32_t salt = 0;
    for (const OpcodeRow& row : all_opcodes()) {
        for (const NetworkKind kind : kKinds) {
            for (const bool vlan : {false, true}) {
                const Path path(description_of(kind, vlan));
                for (const std::size_t length : {0U, 1U, 2U, 3U, 4U, 65U}) {
                    if (length != 0 && !row.payload) continue;
                    const Bytes payload = random_bytes(random, length);
                    const TransportHeaders headers = headers_of(row, ++salt & 0xff);
                    const auto id = static_cast<std::uint16_t>(salt * 977);
                    const auto frame = make_packet(pool, path, headers, payload, 0, id);
                    CAPTURE(int{row.opcode}, int(kind), vlan, length);
                    REQUIRE(content_of(*frame) ==
                            reference_frame(path.description(), id,
                                            reference_transport(row, headers, payload)));
                    REQUIRE(frame->synthetic == 0);
                    REQUIRE(frame->priority == 3);
                }
            }
        }
    }
    CHECK(pool.in_use() == 0);
}

TEST_CASE("an IPv4 header is right for every identification", "[roce_wire]") {
    model::FramePool pool;
    const Path path(description_of(NetworkKind::roce_v2_ipv4));
    const TransportHeaders headers = headers_of({0x11, "A", false});
    for (std::uint32_t id = 0; id < 0x1'0000; ++id) {
        const auto frame = build(pool, path, headers, 0, 0, static_cast<std::uint16_t>(id));
        const View header = std::as_const(*frame).bytes().subspan(14, 20);
        REQUIRE(naive_sum(header) == 0xffff);
        REQUIRE(number(header, 4, 2) == id);
    }
}

TEST_CASE("fields wider than the wire's do not touch their neighbours", "[roce_wire]") {
    model::FramePool pool;
    const Path path(description_of(NetworkKind::roce_v2_ipv4));
    TransportHeaders headers = headers_of({0x64, "D", true});
    const auto right = make_packet(pool, path, headers, {});
    headers.destination_qp |= 0xff00'0000;
    headers.psn |= 0xff00'0000;
    headers.source_qp |= 0xff00'0000;
    headers.pad = 7;  // comes from the lengths
    CHECK(content_of(*make_packet(pool, path, headers, {})) == content_of(*right));
}

TEST_CASE("counted bytes have lengths and padding but no content", "[roce_wire]") {
    model::FramePool pool;
    const OpcodeRow row{0x0a, "R", true};
    for (const NetworkKind kind : kKinds) {
        const Path path(description_of(kind));
        for (const std::uint32_t stored : {0U, 3U, 16U}) {
            for (std::uint32_t synthetic = 1; synthetic <= 6; ++synthetic) {
                const Bytes payload(stored, std::byte{0x11});
                const auto frame = make_packet(pool, path, headers_of(row), payload, synthetic);
                const Bytes whole = payload + Bytes(synthetic);
                const Bytes full = reference_frame(
                    path.description(), 0x4586, reference_transport(row, headers_of(row), whole));
                CAPTURE(int(kind), stored, synthetic);
                REQUIRE(frame->size() == full.size());
                REQUIRE(frame->stored() == path.header_bytes() + 28 + stored);
                const auto begin = full.begin();
                REQUIRE(content_of(*frame) == Bytes(begin, begin + frame->stored()));
            }
        }
    }
}

TEST_CASE("an unsealed packet is rejected", "[roce_wire]") {
    model::FramePool pool;
    const Path path(description_of(NetworkKind::roce_v1));
    const auto frame = build(pool, path, headers_of({0x11, "A", false}), 0, 0, 1);
    ReceivedPacket packet;
    CHECK(parse(*frame, packet) == Parsed::bad_icrc);
    seal(*frame, path);
    CHECK(parse(*frame, packet) == Parsed::packet);
}

TEST_CASE("the longest packet of a path MTU of 4096 fits into a pool's frame", "[roce_wire]") {
    model::FramePool pool;
    std::mt19937 random(5);
    const Bytes payload = random_bytes(random, 4096);
    const Path path(description_of(NetworkKind::roce_v2_ipv6, true));
    const auto frame = make_packet(pool, path, headers_of({0xab, "XRI", true}), payload);
    ReceivedPacket packet;
    REQUIRE(parse(*frame, packet) == Parsed::packet);
    CHECK(std::ranges::equal(packet.payload, payload));
}

TEST_CASE("building, sealing and parsing allocate nothing after the first packets", "[roce_wire]") {
    model::FramePool pool;
    ReceivedPacket packet;
    const Bytes payload(4096, std::byte{0x5a});
    const Path paths[] = {Path(description_of(NetworkKind::roce_v1)),
                          Path(description_of(NetworkKind::roce_v2_ipv4, true)),
                          Path(description_of(NetworkKind::roce_v2_ipv6))};
    const TransportHeaders write = headers_of({0x0a, "R", true});
    const TransportHeaders ack = headers_of({0x11, "A", false});
    std::uint32_t packets = 0;
    const auto round = [&] {
        for (const Path& path : paths) {
            packets += parse(*make_packet(pool, path, write, payload), packet) == Parsed::packet;
            packets += parse(*make_packet(pool, path, ack, {}), packet) == Parsed::packet;
            packets += parse(*build(pool, path, write, 0, 4096, 1), packet) == Parsed::packet;
        }
    };
    round();
    const std::uint64_t before = g_allocations;
    const std::uint64_t frames_before = pool.allocations();
    for (int i = 0; i < 100; ++i) round();
    CHECK(g_allocations == before);
    CHECK(pool.allocations() == frames_before);
    CHECK(packets == 101 * 9);
}

}  // namespace
}  // namespace cxsim::roce
