// SPDX-License-Identifier: Apache-2.0
#include "eth/offloads/transmit.h"
#include "eth/wire/crc32.h"
#include "tests/unit/nic/nic_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

using Cqe64 = prm::cqe64;
using namespace model::flow_action;

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

TEST_CASE("a frame that only a sniffer took counts as discarded by steering", "[receive]") {
    NicBench bench;
    bench.open_receive();
    RuleSpec look;
    look.action = kForward;
    look.destinations = {{model::DestinationType::tir, bench.tir->id.number}};
    bench.set_root(FlowTableType::sniffer_rx, bench.table(FlowTableType::sniffer_rx, look));
    RuleSpec drop;
    const std::uint32_t dropping = bench.table(FlowTableType::nic_rx, drop);
    const auto packet = checked(ipv4_packet(17, 200));

    bench.receiver.receive(bench.calendar.now(), bench.frame_of(packet));
    CHECK(bench.receiver.counters().deliveries == 2);
    CHECK(bench.receiver.counters().steered_away == 0);

    bench.set_root(FlowTableType::nic_rx, dropping);
    bench.receiver.receive(bench.calendar.now(), bench.frame_of(packet));
    CHECK(bench.receiver.counters().deliveries == 3);
    CHECK(bench.receiver.counters().steered_away == 1);
    CHECK(bench.gate.receive_steering == 0);  // a rule wanted it so

    bench.steering.set_root(FlowTableType::nic_rx, std::nullopt);
    bench.receiver.receive(bench.calendar.now(), bench.frame_of(packet));
    bench.run();
    CHECK(bench.receiver.counters().deliveries == 4);
    CHECK(bench.receiver.counters().steered_away == 2);
    CHECK(bench.gate.receive_steering == 1);
    for (std::size_t i = 0; i < 4; ++i) CHECK(bench.received(i, packet.size()) == packet);
    CHECK(bench.frames.in_use() == 0);
}

TEST_CASE("a sniffer sees the frame as it came, the queue as the rules made it", "[receive]") {
    NicBench bench;
    bench.open_receive();
    RuleSpec look;
    look.action = kForward;
    look.destinations = {{model::DestinationType::tir, bench.tir->id.number}};
    bench.set_root(FlowTableType::sniffer_rx, bench.table(FlowTableType::sniffer_rx, look));
    RuleSpec edit = look;
    edit.action = kForward | kVlanPush;
    edit.push = 0x8100'6005;
    bench.set_root(FlowTableType::nic_rx, bench.table(FlowTableType::nic_rx, edit));
    const auto packet = checked(ipv4_packet(17, 200));
    auto tagged = packet;
    const std::byte tag[] = {std::byte{0x81}, std::byte{0}, std::byte{0x60}, std::byte{5}};
    tagged.insert(tagged.begin() + 12, std::begin(tag), std::end(tag));
    for (std::size_t i = 0; i < 2; ++i) {
        bench.receiver.receive(bench.calendar.now(), bench.frame_of(packet));
        bench.run();
        CHECK(bench.received(2 * i, packet.size()) == packet);
        CHECK(bench.received(2 * i + 1, tagged.size()) == tagged);
    }
    CHECK(bench.steering.counters().copies == 2);
    CHECK(bench.frames.in_use() == 0);
    CHECK(bench.frames.allocations() == 2);  // the second frame found both in the pool
}

TEST_CASE("register B of a rule's rewrite is in the completion", "[receive]") {
    NicBench bench;
    bench.open_receive();
    RuleSpec rule;
    rule.action = kForward | kModifyHeader;
    rule.destinations = {{model::DestinationType::tir, bench.tir->id.number}};
    rule.modify_header = bench.rewrite_of(FlowTableType::nic_rx, 0x50, 0, 0xcafe0001);
    bench.set_root(FlowTableType::nic_rx, bench.table(FlowTableType::nic_rx, rule));
    bench.receiver.receive(bench.calendar.now(), bench.frame_of(checked(ipv4_packet(17, 200))));
    bench.run();
    const auto cqe = bench.poll_cq(bench.completions);
    REQUIRE(cqe);
    CHECK(prm::ConstView<Cqe64>(cqe->bytes).get<Cqe64::ft_metadata>() == 0xcafe0001);
}

// Receives segments of one flow, 256 bytes each, through a TIR that merges for 32 us.
struct MergeBench : NicBench {
    MergeBench() { open_merging(); }
    void open_merging() {
        open_receive();
        rq->view().set<prm::rqc::wq, prm::wq::wq_type>(3U);  // 64 strides of 64 bytes
        rq->view().set<prm::rqc::wq, prm::wq::log_wqe_num_of_strides>(0xdU);
        const auto tirc = tir->view();
        tirc.set<prm::tirc::packet_merge_mask>(1U);
        tirc.set<prm::tirc::lro_max_ip_payload_size>(12U);
        tirc.set<prm::tirc::lro_timeout_period_usecs>(32U);
    }
    void close_queue() {
        const auto number = rq->id.number;
        engines.destroyed(rq->id);
        resources.rqs.erase(number);
        rq = nullptr;
    }
    void receive_segment() {
        auto packet = ipv4_packet(6, 256);
        packet[14 + 20 + 6] = std::byte{sequence_++};  // counts 256 bytes
        receiver.receive(calendar.now(), frame_of(checked(packet)));
    }

  private:
    std::uint8_t sequence_ = 0;
};

TEST_CASE("merging follows a TIR that is modified", "[receive]") {
    MergeBench bench;
    const auto tirc = bench.tir->view();
    const auto receive = [&] { bench.receive_segment(); };
    const auto segments_of_next = [&] {
        const auto cqe = bench.poll_cq(bench.completions);
        REQUIRE(cqe);
        return prm::ConstView<Cqe64>(cqe->bytes).get<Cqe64::lro_num_seg>();
    };
    receive();
    receive();
    CHECK(bench.receiver.counters().merged_packets == 0);

    tirc.set<prm::tirc::packet_merge_mask>(0U);
    receive();  // what was being merged comes first
    bench.run(microseconds(5));
    CHECK(bench.receiver.counters().merged_packets == 1);
    CHECK(bench.receiver.counters().merged_frames == 2);
    CHECK(segments_of_next() == 2);
    CHECK(segments_of_next() <= 1);

    tirc.set<prm::tirc::packet_merge_mask>(1U);
    tirc.set<prm::tirc::lro_timeout_period_usecs>(8U);
    receive();
    receive();
    bench.run(microseconds(20));
    CHECK(bench.receiver.counters().merged_packets == 2);
    CHECK(segments_of_next() == 2);
    CHECK(bench.frames.in_use() == 0);
}

TEST_CASE("what was being merged goes with its queue and reaches no other", "[receive]") {
    MergeBench bench;
    const std::uint32_t number = bench.rq->id.number;
    bench.receive_segment();
    bench.receive_segment();
    bench.close_queue();
    REQUIRE(bench.frames.in_use() == 2);

    SECTION("when the time is over") {
        bench.open_merging();
        REQUIRE(bench.rq->id.number == number);
        bench.run(microseconds(40));
        CHECK_FALSE(bench.poll_cq(bench.completions));
        CHECK(bench.receiver.counters().merged_packets == 0);
        CHECK(bench.receiver.counters().no_queue == 2);
    }
    SECTION("when the flow goes on") {
        bench.open_merging();
        REQUIRE(bench.rq->id.number == number);
        bench.receive_segment();
        CHECK(bench.receiver.counters().no_queue == 2);
        bench.run(microseconds(40));
        const auto cqe = bench.poll_cq(bench.completions);
        REQUIRE(cqe);
        const auto count = prm::ConstView<Cqe64>(cqe->bytes).get<Cqe64::byte_cnt>();
        CHECK((count & 0xffff) == 14 + 20 + 20 + 256);  // strides above
        CHECK_FALSE(bench.poll_cq(bench.completions));
        CHECK(bench.receiver.counters().merged_frames == 1);
    }
    SECTION("when the next queue does not merge") {
        bench.open_merging();
        bench.tir->view().set<prm::tirc::packet_merge_mask>(0U);
        bench.receive_segment();
        bench.run(microseconds(40));
        REQUIRE(bench.poll_cq(bench.completions));
        CHECK_FALSE(bench.poll_cq(bench.completions));
        CHECK(bench.receiver.counters().no_queue == 2);
    }
    SECTION("when there is no other") {
        bench.run(microseconds(40));
        CHECK(bench.receiver.counters().no_queue == 2);
    }
    SECTION("when the function is reset") {
        bench.receiver.reset();
        CHECK(bench.receiver.counters().no_queue == 2);
    }
    CHECK(bench.frames.in_use() == 0);
}

}  // namespace
}  // namespace cxsim::test
