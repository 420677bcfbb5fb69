// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/roce_wire/real_packets.h"

#include "eth/wire/pcap.h"
#include "tests/unit/roce_wire/reference.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>

namespace cxsim::roce {
namespace {

using namespace cxsim::test;

Bytes from_hex(std::string_view hex) {
    Bytes out;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        out.push_back(
            static_cast<std::byte>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16)));
    }
    return out;
}
Bytes bytes_of_packet(const RealPacket& packet) {
    return from_hex(packet.front) + Bytes(packet.zeros) + from_hex(packet.back);
}

/// The identification is not among the parsed values: no receiver needs it.
std::uint16_t identification_of(View frame, const ReceivedPacket& packet) {
    if (packet.kind != NetworkKind::roce_v2_ipv4) return 0;
    return static_cast<std::uint16_t>(number(frame, packet.has_vlan ? 22 : 18, 2));
}

/// The packet made anew from what was understood of it.
Bytes rebuilt(model::FramePool& pool, View frame, const ReceivedPacket& packet) {
    Path::Description d;
    d.kind = packet.kind;
    d.source_mac = packet.source_mac;
    d.destination_mac = packet.destination_mac;
    d.has_vlan = packet.has_vlan;
    d.vlan_tci = packet.vlan_tci;
    d.source = packet.source;
    d.destination = packet.destination;
    d.traffic_class = packet.traffic_class;
    d.hop_limit = packet.hop_limit;
    d.flow_label = packet.flow_label;
    d.source_port = packet.source_port;
    const Bytes payload(packet.payload.begin(), packet.payload.end());
    return content_of(
        *make_packet(pool, Path(d), packet.headers, payload, 0, identification_of(frame, packet)));
}

TEST_CASE("packets of real cards are understood, and made anew byte for byte", "[roce_wire]") {
    model::FramePool pool;
    ReceivedPacket packet;
    for (const RealPacket& real : kRealPackets) {
        const Bytes bytes = bytes_of_packet(real);
        const auto frame = make_frame(pool, bytes);
        CAPTURE(real.name, int(real.kind));
        REQUIRE(parse(*frame, packet) == Parsed::packet);
        CHECK(packet.kind == real.kind);
        CHECK(rebuilt(pool, bytes, packet) == bytes);
    }
}

TEST_CASE("the invariant CRC of real packets is the one they carry", "[roce_wire]") {
    for (const RealPacket& real : kRealPackets) {
        const Bytes bytes = bytes_of_packet(real);
        const View network = View(bytes).subspan(14);
        CAPTURE(real.name, int(real.kind));
        const auto icrc = invariant_crc(real.kind, network.first(network.size() - 4));
        CHECK(std::ranges::equal(icrc, network.last(4)));
    }
}

TEST_CASE("fields of real packets are what a dissector shows", "[roce_wire]") {
    model::FramePool pool;
    ReceivedPacket packet;
    std::vector<model::FramePtr> frames;
    const auto understand = [&](std::size_t index) -> const TransportHeaders& {
        frames.push_back(make_frame(pool, bytes_of_packet(kRealPackets[index])));
        REQUIRE(parse(*frames.back(), packet) == Parsed::packet);
        return packet.headers;
    };
    const TransportHeaders mad = understand(0);
    CHECK(mad.opcode == 0x64);
    CHECK(mad.destination_qp == 1);
    CHECK(mad.source_qp == 1);
    CHECK(mad.queue_key == 0x8001'0000);
    CHECK_FALSE(mad.ack_request);
    CHECK(mad.migrated);
    CHECK(mad.pkey == 0xffff);
    CHECK(packet.payload_bytes == 256);
    CHECK(packet.source_port == 50939);
    CHECK(packet.traffic_class == 2);
    CHECK(packet.hop_limit == 64);

    const TransportHeaders ack = understand(2);
    CHECK(ack.opcode == 0x11);
    CHECK(ack.destination_qp == 0x137);
    CHECK(ack.psn == 12510074);
    CHECK(aeth_kind(ack.syndrome) == AethKind::ack);
    CHECK(aeth_value(ack.syndrome) == 0);
    CHECK(ack.msn == 1);
    CHECK(packet.dscp() == 26);
    CHECK_FALSE(packet.congestion_experienced());

    const TransportHeaders write = understand(3);
    CHECK(write.opcode == 0x0a);
    CHECK(write.address == 0x55f1'c8c8'9050);
    CHECK(write.key == 0xafac);
    CHECK(write.dma_bytes == 1024);
    CHECK(write.ack_request);
    CHECK(packet.payload_bytes == 1024);

    const TransportHeaders acknowledged = understand(9);
    CHECK(packet.kind == NetworkKind::roce_v1);
    CHECK(acknowledged.psn == 16700022);
    CHECK(acknowledged.syndrome == kUnlimitedCredits);
    CHECK(packet.source_port == 0);
    CHECK(packet.source[10] == std::byte{0xff});
}

TEST_CASE("all packets of captures of real cards have right ICRCs", "[roce_wire]") {
    const char* const place = std::getenv("CXSIM_REAL_PCAPS");
    if (place == nullptr) SKIP("CXSIM_REAL_PCAPS names no directory of captures");
    model::FramePool pool;
    ReceivedPacket packet;
    std::map<std::string, unsigned> counts;
    std::uint64_t packets = 0;
    for (const auto& file : std::filesystem::directory_iterator(place)) {
        if (file.path().extension() != ".pcap") continue;
        eth::PcapReader reader(file.path().string());
        REQUIRE(reader.ok());
        for (unsigned index = 1; auto record = reader.next(); ++index) {
            const auto frame = make_frame(pool, record->bytes);
            CAPTURE(file.path().filename().string(), index);
            const Parsed result = parse(*frame, packet);
            if (result == Parsed::not_roce) {
                ++counts["other"];
                continue;
            }
            REQUIRE(result == Parsed::packet);
            REQUIRE(rebuilt(pool, record->bytes, packet) == record->bytes);
            ++packets;
            ++counts[(packet.kind == NetworkKind::roce_v1 ? "v1 opcode " : "v2 opcode ") +
                     std::to_string(packet.headers.opcode)];
        }
    }
    for (const auto& [what, count] : counts) std::cout << what << ": " << count << '\n';
    CHECK(packets > 0);
}

}  // namespace
}  // namespace cxsim::roce
