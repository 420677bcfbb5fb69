// SPDX-License-Identifier: Apache-2.0
#include "eth/offloads/transmit.h"
#include "eth/wire/crc32.h"
#include "tests/unit/nic/nic_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

using Cqe64 = prm::cqe64;

// A packet with right checksums.
std::vector<std::byte> checked(std::vector<std::byte> packet) {
    eth::ParserConfig config;
    eth::Headers headers;
    parse_headers(packet, static_cast<std::uint32_t>(packet.size()), config, headers);
    eth::SendOffloads offloads;
    offloads.l3_checksum = offloads.l4_checksum = true;
    fill_checksums(packet, headers, offloads);
    return packet;
}

TEST_CASE("a frame goes through the tables to the queue, and the completion describes it",
          "[receive]") {
    NicBench bench;
    bench.open_receive();
    const auto packet = checked(ipv4_packet(17, 200));
    bench.receiver.receive(bench.calendar.now(), bench.frame_of(packet));
    bench.run();
    CHECK(bench.received(0, packet.size()) == packet);
    const auto cqe = bench.poll_cq(bench.completions);
    REQUIRE(cqe);
    const prm::ConstView<Cqe64> view(cqe->bytes);
    CHECK(view.get<Cqe64::byte_cnt>() == packet.size());
    CHECK((view.get<Cqe64::flow, prm::cqe64_flow::flow_tag>()) == 0x1234);
    CHECK(view.get<Cqe64::l3_ok>() == 1);
    CHECK(view.get<Cqe64::l4_ok>() == 1);
    CHECK(view.get<Cqe64::l3_hdr_type>() == 2);
    CHECK(view.get<Cqe64::l4_hdr_type>() == 2);
    CHECK(bench.traffic.received_eth_unicast.octets == packet.size());
    CHECK(bench.frames.in_use() == 0);
}

TEST_CASE("without a root table every frame is discarded by steering and counted", "[receive]") {
    NicBench bench;
    const auto packet = ipv4_packet(17, 200);
    bench.receiver.receive(bench.calendar.now(), bench.frame_of(packet));
    CHECK(bench.gate.receive_steering == 1);
    CHECK(bench.receiver.counters().steered_away == 1);
    CHECK(bench.frames.in_use() == 0);
}

TEST_CASE("a vport that is down takes nothing", "[receive]") {
    NicBench bench;
    bench.open_receive();
    bench.gate.open = false;
    bench.receiver.receive(bench.calendar.now(), bench.frame_of(ipv4_packet(17, 200)));
    CHECK(bench.gate.receive_vport_down == 1);
    CHECK(bench.traffic.received_eth_unicast.packets == 0);
    CHECK(bench.frames.in_use() == 0);
}

TEST_CASE("tags are stripped when the queue says so", "[receive]") {
    for (const bool strip : {true, false}) {
        NicBench bench;
        bench.open_receive();
        bench.rq->view().set<prm::rqc::vsd>(strip ? 0U : 1U);
        const auto packet = checked(ipv4_packet(17, 200));
        auto tagged = packet;
        const std::byte tag[] = {std::byte{0x81}, std::byte{0}, std::byte{0x60}, std::byte{5}};
        tagged.insert(tagged.begin() + 12, std::begin(tag), std::end(tag));
        bench.receiver.receive(bench.calendar.now(), bench.frame_of(tagged));
        bench.run();
        const auto cqe = bench.poll_cq(bench.completions);
        REQUIRE(cqe);
        const prm::ConstView<Cqe64> view(cqe->bytes);
        CHECK(view.get<Cqe64::has_vlan>() == (strip ? 1 : 0));
        if (strip) CHECK(view.get<Cqe64::vlan_info>() == 0x6005);
        const auto& expected = strip ? packet : tagged;
        CHECK(bench.received(0, expected.size()) == expected);
        CHECK(view.get<Cqe64::byte_cnt>() == expected.size());
    }
}

TEST_CASE("a queue that wants the FCS gets it behind the frame", "[receive]") {
    NicBench bench;
    bench.open_receive();
    bench.rq->view().set<prm::rqc::scatter_fcs>(1U);
    const auto packet = checked(ipv4_packet(17, 200));
    bench.receiver.receive(bench.calendar.now(), bench.frame_of(packet));
    bench.run();
    auto expected = packet;
    const auto fcs = eth::frame_check_sequence(packet);
    expected.insert(expected.end(), fcs.begin(), fcs.end());
    CHECK(bench.received(0, expected.size()) == expected);
}

TEST_CASE("when the buffers run out the frame is lost, and each frame is accounted for",
          "[receive]") {
    NicBench bench;
    bench.open_receive(3);
    for (int i = 0; i < 5; ++i) {
        bench.receiver.receive(bench.calendar.now(), bench.frame_of(ipv4_packet(17, 100)));
    }
    bench.run();
    const eth::ReceiveCounters& counters = bench.receiver.counters();
    CHECK(counters.frames == 5);
    CHECK(counters.deliveries == 5);
    CHECK(counters.refused == 2);
    CHECK(bench.counters().received == 3);
    CHECK(bench.counters().receive_no_buffer == 2);
    CHECK(bench.frames.in_use() == 0);
}

}  // namespace
}  // namespace cxsim::test
