// SPDX-License-Identifier: Apache-2.0
// Datagrams: the network header in front of the data, and the completion.
#include "eth/wire/checksum.h"
#include "eth/wire/ip.h"
#include "model/prm/view.h"
#include "prm/layouts.h"
#include "tests/unit/roce/responder_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using cxsim::test::ResponderBench;
using model::nanoseconds;
using prm::cqe64;
using roce::NetworkKind;
using Op = roce::Operation;
using CqeView = prm::ConstView<cqe64>;

namespace {

constexpr std::uint32_t kSource = 0x77;

roce::ReceivedPacket datagram(ResponderBench& bench, NetworkKind kind,
                              std::span<const std::byte> payload, Op operation = Op::send_only) {
    auto headers = bench.headers(operation);
    headers.source_qp = kSource;
    headers.pkey = 0x8123;
    headers.immediate = 0xcafe'f00d;
    headers.pad = static_cast<std::uint8_t>(-payload.size() & 3U);
    roce::ReceivedPacket packet = ResponderBench::arrived(headers, payload);
    packet.kind = kind;
    packet.traffic_class = 0x6a;
    packet.hop_limit = 61;
    packet.flow_label = 0x54321;
    if (kind != NetworkKind::roce_v2_ipv4) {
        for (std::size_t i = 0; i < 16; ++i) {
            packet.source[i] = static_cast<std::byte>(0x20 + i);
            packet.destination[i] = static_cast<std::byte>(0x40 + i);
        }
    }
    return packet;
}

void receive(ResponderBench& bench, const roce::ReceivedPacket& packet) {
    bench.responder.request(bench.connection, nanoseconds(100), packet);
}

}  // namespace

TEST_CASE("a datagram over IPv4 has its IP header in the last 20 of 40 bytes", "[responder]") {
    ResponderBench bench(roce::WireService::ud);
    bench.host.pattern(ResponderBench::kBuffer, 256, 1);
    bench.queues.post_receive(5, ResponderBench::kBuffer, 256);
    const auto data = bench.data(50, 3);
    receive(bench, datagram(bench, NetworkKind::roce_v2_ipv4, data));

    CHECK(bench.host_untouched(ResponderBench::kBuffer, 20));
    const auto header = bench.host.bytes(ResponderBench::kBuffer + 20, 20);
    const eth::ConstIpv4 ip(header.data());
    CHECK(ip.version() == 4);
    CHECK(ip.header_bytes() == 20);
    CHECK(ip.traffic_class() == 0x6a);
    // IP, UDP, BTH, DETH, payload, pad, ICRC
    CHECK(ip.total_bytes() == 20 + 8 + 12 + 8 + 50 + 2 + 4);
    CHECK(ip.ttl() == 61);
    CHECK(ip.protocol() == 17);
    CHECK(ip.dont_fragment());
    CHECK(ip.source() == 0xc000'0202);
    CHECK(ip.destination() == 0xc000'0201);
    CHECK(eth::internet_checksum(header) == 0);  // right: the kernel checks it
    CHECK(bench.host_holds(ResponderBench::kBuffer + 40, data));

    REQUIRE(bench.queues.received.size() == 1);
    const CqeView cqe(bench.queues.received[0].cqe);
    CHECK(cqe.get<cqe64::opcode>() == 2);
    CHECK(cqe.get<cqe64::byte_cnt>() == 90);
    CHECK(cqe.get<cqe64::rqpn>() == kSource);
    CHECK(cqe.get<cqe64::grh>() == 1);
    CHECK(cqe.get<cqe64::sl>() == 2);
    CHECK(cqe.get<cqe64::l3_hdr_type>() == 2);
    CHECK(cqe.get<cqe64::pkey>() == 0x8123);
    CHECK(bench.queues.received[0].at == nanoseconds(100));  // the write is not waited for
    CHECK(bench.connection.responder.receive.needed == 90);
}

TEST_CASE("a datagram over IPv6 and one of version 1 have their header as it came", "[responder]") {
    for (const NetworkKind kind : {NetworkKind::roce_v2_ipv6, NetworkKind::roce_v1}) {
        const bool grh = kind == NetworkKind::roce_v1;
        ResponderBench bench(roce::WireService::ud);
        bench.queues.post_receive(5, ResponderBench::kBuffer, 256);
        const auto data = bench.data(8, 3);
        const auto packet = datagram(bench, kind, data);
        receive(bench, packet);
        const auto header = bench.host.bytes(ResponderBench::kBuffer, 40);
        const eth::ConstIpv6 ip(header.data());
        CHECK(ip.version() == 6);
        CHECK(ip.traffic_class() == 0x6a);
        CHECK(ip.flow_label() == 0x54321);
        CHECK(ip.payload_bytes() == (grh ? 0 : 8) + 12 + 8 + 8 + 4);
        CHECK(ip.next_header() == (grh ? 0x1b : 17));
        CHECK(ip.hop_limit() == 61);
        CHECK(std::ranges::equal(std::span(ip.source(), 16), packet.source));
        CHECK(std::ranges::equal(std::span(ip.destination(), 16), packet.destination));
        CHECK(bench.host_holds(ResponderBench::kBuffer + 40, data));
        REQUIRE(bench.queues.received.size() == 1);
        const CqeView cqe(bench.queues.received[0].cqe);
        CHECK(cqe.get<cqe64::sl>() == (grh ? 0U : 1U));
        CHECK(cqe.get<cqe64::l3_hdr_type>() == (grh ? 0U : 1U));
        CHECK(cqe.get<cqe64::grh>() == 1);
    }
}

TEST_CASE("a datagram's completion has its VLAN, immediate and solicitation", "[responder]") {
    ResponderBench bench(roce::WireService::ud);
    bench.queues.post_receive(5, ResponderBench::kBuffer, 256, 0x44);
    auto packet =
        datagram(bench, NetworkKind::roce_v2_ipv4, bench.data(4), Op::send_only_immediate);
    packet.has_vlan = true;
    packet.vlan_tci = 0x6007;
    packet.headers.solicited = true;
    receive(bench, packet);
    REQUIRE(bench.queues.received.size() == 1);
    CHECK(bench.queues.received[0].solicited);
    CHECK(bench.queues.received[0].shared_number == 0x44);
    const CqeView cqe(bench.queues.received[0].cqe);
    CHECK(cqe.get<cqe64::opcode>() == 3);
    CHECK(cqe.get<cqe64::immediate>() == 0xcafe'f00d);
    CHECK(cqe.get<cqe64::has_vlan>() == 1);
    CHECK(cqe.get<cqe64::vlan_info>() == 0x6007);
}

TEST_CASE("datagrams without a receive are dropped and counted; sequence numbers do not matter",
          "[responder]") {
    ResponderBench bench(roce::WireService::ud);
    receive(bench, datagram(bench, NetworkKind::roce_v2_ipv4, bench.data(4)));
    CHECK(bench.counters.dropped_no_buffer == 1);
    bench.queues.post_receive(1, ResponderBench::kBuffer, 44);
    bench.queues.post_receive(2, ResponderBench::kBuffer + 256, 40);
    bench.psn = 0x70'0000;
    receive(bench, datagram(bench, NetworkKind::roce_v2_ipv4, bench.data(4)));
    bench.psn = 17;
    receive(bench, datagram(bench, NetworkKind::roce_v2_ipv4, {}));
    CHECK(bench.queues.received.size() == 2);
    CHECK(bench.counters.messages_received == 2);
    bench.settle();
    CHECK(bench.output.packets.empty());
}

TEST_CASE("a datagram that does not fit with its network header is a local length error",
          "[responder]") {
    ResponderBench bench(roce::WireService::ud);
    bench.queues.post_receive(1, ResponderBench::kBuffer, 43);
    receive(bench, datagram(bench, NetworkKind::roce_v2_ipv4, bench.data(4)));
    REQUIRE(bench.queues.receive_failures.size() == 1);
    CHECK(bench.queues.receive_failures[0].status.syndrome == 0x01);
    CHECK(bench.host.writes == 0);
    CHECK(bench.queues.received.empty());
}

TEST_CASE("a datagram beyond the MTU is malformed", "[responder]") {
    ResponderBench bench(roce::WireService::ud);
    bench.queues.post_receive(1, ResponderBench::kBuffer, 1024);
    receive(bench, datagram(bench, NetworkKind::roce_v2_ipv4, bench.data(257)));
    CHECK(bench.counters.malformed == 1);
    CHECK(bench.queues.posted.size() == 1);
}

TEST_CASE("the host refuses a datagram's memory: local protection error", "[responder]") {
    ResponderBench bench(roce::WireService::ud);
    bench.queues.post_receive(1, bench.host.limit - 8, 256);
    receive(bench, datagram(bench, NetworkKind::roce_v2_ipv4, bench.data(4)));
    REQUIRE(bench.queues.receive_failures.size() == 1);
    CHECK(bench.queues.receive_failures[0].status.syndrome == 0x04);
}
