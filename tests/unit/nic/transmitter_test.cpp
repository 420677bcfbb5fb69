// SPDX-License-Identifier: Apache-2.0
#include "eth/wire/checksum.h"
#include "tests/unit/nic/nic_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

constexpr std::uint8_t kSend = 0x0a;
constexpr std::uint8_t kLso = 0x0e;
constexpr std::uint8_t kMulti = 0x29;
const auto kNoFlags = [](prm::View<prm::wqe_eth_seg>) {};

TEST_CASE("a send gathers headers and payload into one frame of its TIS's priority", "[transmit]") {
    NicBench bench;
    const auto packet = ipv4_packet(17, 200);
    const std::span<const std::byte> all(packet);
    bench.send(kSend, NicBench::ethernet_segment(all.first(18), kNoFlags) +
                          bench.buffer(all.subspan(18, 50)) + bench.buffer(all.subspan(68)));
    REQUIRE(bench.port.sent.size() == 1);
    CHECK(bench.sent(0) == packet);
    CHECK(bench.port.sent[0].frame->priority == 3);
    CHECK(bench.port.sent[0].ready > Picoseconds{});
    const auto cqe = bench.poll_cq(bench.completions);
    REQUIRE(cqe);
    CHECK(cqe->opcode == 0);
    CHECK(bench.traffic.transmitted_eth_unicast.packets == 1);
    CHECK(bench.traffic.transmitted_eth_unicast.octets == packet.size());
}

TEST_CASE("short frames are padded with zeros to 60 bytes", "[transmit]") {
    NicBench bench;
    const auto packet = ipv4_packet(17, 1);  // 43 bytes
    bench.send(kSend, NicBench::ethernet_segment(packet, kNoFlags));
    REQUIRE(bench.port.sent.size() == 1);
    auto expected = packet;
    expected.resize(60);
    CHECK(bench.sent(0) == expected);
    CHECK(bench.traffic.transmitted_eth_unicast.octets == packet.size());
}

TEST_CASE("checksums are filled where the WQE asks for them", "[transmit]") {
    NicBench bench;
    const auto packet = ipv4_packet(6, 333);
    bench.send(kSend, NicBench::ethernet_segment(std::span(packet).first(18),
                                                 [](prm::View<prm::wqe_eth_seg> segment) {
                                                     segment.set<prm::wqe_eth_seg::l3_csum>(1U);
                                                     segment.set<prm::wqe_eth_seg::l4_csum>(1U);
                                                 }) +
                          bench.buffer(std::span(packet).subspan(18)));
    REQUIRE(bench.port.sent.size() == 1);
    eth::ParserConfig config;
    eth::Packet parsed(config);
    parsed.take(std::move(bench.port.sent[0].frame));
    const eth::ReceiveReport report = examine(parsed, {});
    CHECK(report.l3_ok);
    CHECK(report.l4_ok);
}

TEST_CASE("a VLAN tag is inserted behind the addresses", "[transmit]") {
    NicBench bench;
    const auto packet = ipv4_packet(17, 100);
    bench.send(kSend, NicBench::ethernet_segment({},
                                                 [](prm::View<prm::wqe_eth_seg> segment) {
                                                     using Insert = prm::wqe_eth_seg_insert;
                                                     segment.set<prm::wqe_eth_seg::insert,
                                                                 Insert::insert_vlan>(1U);
                                                     segment.set<prm::wqe_eth_seg::insert,
                                                                 Insert::vlan_tci>(0x6005U);
                                                 }) +
                          bench.buffer(packet));
    REQUIRE(bench.port.sent.size() == 1);
    auto expected = packet;
    const std::byte tag[] = {std::byte{0x81}, std::byte{0}, std::byte{0x60}, std::byte{5}};
    expected.insert(expected.begin() + 12, std::begin(tag), std::end(tag));
    CHECK(bench.sent(0) == expected);
}

TEST_CASE("a large send becomes segments with right checksums and all the payload", "[transmit]") {
    NicBench bench;
    const auto packet = ipv4_packet(6, 10'000);
    const std::span<const std::byte> all(packet);
    bench.send(kLso, NicBench::ethernet_segment(all.first(54),
                                                [](prm::View<prm::wqe_eth_seg> segment) {
                                                    segment.set<prm::wqe_eth_seg::l3_csum>(1U);
                                                    segment.set<prm::wqe_eth_seg::l4_csum>(1U);
                                                    segment.set<prm::wqe_eth_seg::mss>(1448U);
                                                }) +
                         bench.buffer(all.subspan(54, 4000)) + bench.buffer(all.subspan(4054)));
    REQUIRE(bench.port.sent.size() == 7);
    CHECK(bench.transmitter.counters().segmented_wqes == 1);
    std::vector<std::byte> payload;
    eth::ParserConfig config;
    eth::Packet parsed(config);
    for (auto& sent : bench.port.sent) {
        parsed.take(std::move(sent.frame));
        const eth::ReceiveReport report = examine(parsed, {});
        CHECK(report.l3_ok);
        CHECK(report.l4_ok);
        const auto bytes = parsed.frame().bytes().subspan(54);
        payload.insert(payload.end(), bytes.begin(), bytes.end());
        parsed.drop();
    }
    CHECK(std::ranges::equal(payload, all.subspan(54)));
    CHECK(bench.poll_cq(bench.completions));
}

TEST_CASE("a multi-packet WQE sends one frame for each descriptor", "[transmit]") {
    NicBench bench;
    const auto first = ipv4_packet(17, 100);
    const auto second = ipv4_packet(17, 30);
    std::vector<std::byte> inlined(4 + second.size());
    model::store_be<std::uint32_t>(inlined.data(),
                                   0x80000000U | static_cast<std::uint32_t>(second.size()));
    std::ranges::copy(second, inlined.begin() + 4);
    inlined.resize((inlined.size() + 15) / 16 * 16);
    bench.send(kMulti, NicBench::ethernet_segment({}, kNoFlags) + bench.buffer(first) + inlined +
                           bench.buffer(first));
    REQUIRE(bench.port.sent.size() == 3);
    CHECK(bench.sent(0) == first);
    auto padded = second;
    padded.resize(std::max<std::size_t>(second.size(), 60));
    CHECK(bench.sent(1) == padded);
    CHECK(bench.sent(2) == first);
    CHECK(bench.poll_cq(bench.completions));
    CHECK_FALSE(bench.poll_cq(bench.completions));  // one completion for all

    NicBench without{eth::PipelineOptions{}};
    without.send(kMulti, NicBench::ethernet_segment({}, kNoFlags) + without.buffer(first));
    without.run(milliseconds(1));
    const auto cqe = without.poll_cq(without.completions);
    REQUIRE(cqe);
    CHECK(cqe->opcode == 13);
}

TEST_CASE("a vport that is down lets nothing out, the WQE completes", "[transmit]") {
    NicBench bench;
    bench.gate.open = false;
    bench.send(kSend, NicBench::ethernet_segment(ipv4_packet(17, 100), kNoFlags));
    CHECK(bench.port.sent.empty());
    CHECK(bench.gate.transmit_vport_down == 1);
    CHECK(bench.poll_cq(bench.completions));
    CHECK(bench.frames.in_use() == 0);
}

TEST_CASE("a frame to the vport's own address comes back if both vport and TIR let it",
          "[transmit][loopback]") {
    struct Case {
        bool station, vport, tir;
    };
    for (const Case& now : {Case{true, true, true}, Case{true, true, false},
                            Case{true, false, true}, Case{false, true, true}}) {
        CAPTURE(now.station, now.vport, now.tir);
        NicBench bench;
        bench.open_receive();
        bench.gate.loop_unicast = now.vport;
        bench.gate.stations = {now.station ? 0x0200'0000'0000U : 0x0200'0000'0001U};
        bench.tir->view().set<prm::tirc::self_lb_block>(now.tir ? 1U : 2U);
        const auto packet = ipv4_packet(17, 100);
        bench.send(kSend, NicBench::ethernet_segment({}, kNoFlags) + bench.buffer(packet));
        const bool back = now.station && now.vport;
        CHECK(bench.port.sent.size() == (back ? 0 : 1));
        CHECK(bench.transmitter.counters().looped == (back ? 1 : 0));
        CHECK(bench.receiver.counters().looped == (back ? 1 : 0));
        CHECK(bench.receiver.counters().loop_blocked == (back && !now.tir ? 1 : 0));
        CHECK((bench.received(0, packet.size()) == packet) == (back && now.tir));
        CHECK(bench.traffic.local_loopback.octets == (back ? packet.size() : 0));
        CHECK(bench.traffic.transmitted_eth_unicast.packets == 1);
        CHECK(bench.traffic.received_eth_unicast.packets == (back ? 1 : 0));
        bench.port.sent.clear();
        CHECK(bench.frames.in_use() == 0);
    }
}

TEST_CASE("a frame to a group leaves, and comes back if the vport says so",
          "[transmit][loopback]") {
    for (const bool loop : {true, false}) {
        CAPTURE(loop);
        NicBench bench;
        bench.open_receive();
        bench.gate.loop_multicast = loop;
        bench.tir->view().set<prm::tirc::self_lb_block>(2U);
        const auto packet = ipv4_packet(17, 100, 0x33);
        bench.send(kSend, NicBench::ethernet_segment({}, kNoFlags) + bench.buffer(packet));
        CHECK(bench.port.sent.size() == 1);
        CHECK((bench.received(0, packet.size()) == packet) == loop);
    }
}

TEST_CASE("the sender waits until the port has room", "[transmit]") {
    NicBench bench;
    bench.port.room = bench.calendar.now() + microseconds(50);
    const auto packet = ipv4_packet(17, 100);
    const auto wqe = NicBench::ethernet_segment(packet, kNoFlags);
    bench.post(bench.driver, kSend, 0, wqe);
    bench.ring(bench.driver, bench.post(bench.driver, kSend, 0, wqe));
    bench.run(microseconds(40));
    CHECK(bench.port.sent.size() == 1);
    bench.run(microseconds(40));
    CHECK(bench.port.sent.size() == 2);
}

TEST_CASE("a frame that no port takes and a host that refuses end in error completions",
          "[transmit]") {
    NicBench bench;
    bench.send(kSend, NicBench::ethernet_segment({}, kNoFlags) +
                          bench.buffer(std::vector<std::byte>(20'000)));
    bench.run(milliseconds(1));
    auto cqe = bench.poll_cq(bench.completions);
    REQUIRE(cqe);
    CHECK(cqe->syndrome == 1);  // local length
    CHECK(bench.transmitter.counters().too_long == 1);
    CHECK(bench.port.sent.empty());
    CHECK(bench.frames.in_use() == 0);

    NicBench other;
    const auto segment = other.buffer(ipv4_packet(17, 100));
    other.host.refuse(model::load_be<std::uint64_t>(segment.data() + 8), 16);
    other.send(kSend, NicBench::ethernet_segment({}, kNoFlags) + segment);
    other.run(milliseconds(1));
    cqe = other.poll_cq(other.completions);
    REQUIRE(cqe);
    CHECK(cqe->syndrome == 4);
    CHECK(other.transmitter.counters().gather_failures == 1);
}

TEST_CASE("the wire and the sniffer get the packet as the transmit rules made it", "[transmit]") {
    using namespace model::flow_action;
    NicBench bench;
    bench.open_receive();
    RuleSpec edit;
    edit.action = kAllow | kVlanPush;
    edit.push = 0x8100'6005;
    bench.set_root(FlowTableType::nic_tx, bench.table(FlowTableType::nic_tx, edit));
    const auto packet = ipv4_packet(17, 100);
    auto tagged = packet;
    const std::byte tag[] = {std::byte{0x81}, std::byte{0}, std::byte{0x60}, std::byte{5}};
    tagged.insert(tagged.begin() + 12, std::begin(tag), std::end(tag));
    bench.send(kSend, NicBench::ethernet_segment({}, kNoFlags) + bench.buffer(packet));
    REQUIRE(bench.port.sent.size() == 1);
    CHECK(bench.sent(0) == tagged);

    // A sniffer whose rule edits gets a copy; what leaves stays as it is.
    RuleSpec look;
    look.action = kForward | kVlanPop;
    look.destinations = {{model::DestinationType::tir, bench.tir->id.number}};
    bench.set_root(FlowTableType::sniffer_tx, bench.table(FlowTableType::sniffer_tx, look));
    bench.send(kSend, NicBench::ethernet_segment({}, kNoFlags) + bench.buffer(packet));
    REQUIRE(bench.port.sent.size() == 2);
    CHECK(bench.sent(1) == tagged);
    CHECK(bench.received(0, packet.size()) == packet);
    CHECK(bench.traffic.transmitted_eth_unicast.octets == 2 * tagged.size());
    bench.port.sent.clear();
    CHECK(bench.frames.in_use() == 0);
}

TEST_CASE("a packet that two tables allow leaves twice, as each made it", "[transmit]") {
    using namespace model::flow_action;
    NicBench bench;
    RuleSpec allow;
    allow.action = kAllow;
    RuleSpec edit;
    edit.action = kAllow | kVlanPush;
    edit.push = 0x8100'6005;
    using model::DestinationType;
    RuleSpec both;
    both.action = kForward;
    both.destinations = {
        {DestinationType::flow_table, bench.table(FlowTableType::nic_tx, allow)},
        {DestinationType::flow_table, bench.table(FlowTableType::nic_tx, edit)},
        {DestinationType::flow_table, bench.table(FlowTableType::nic_tx, allow)},
    };
    bench.set_root(FlowTableType::nic_tx, bench.table(FlowTableType::nic_tx, both));
    const auto packet = ipv4_packet(17, 100);
    bench.send(kSend, NicBench::ethernet_segment({}, kNoFlags) + bench.buffer(packet));
    REQUIRE(bench.port.sent.size() == 3);
    CHECK(bench.sent(0) == packet);
    CHECK(bench.sent(1).size() == packet.size() + 4);
    CHECK(bench.sent(2) == packet);
    CHECK(bench.transmitter.counters().frames == 3);
    bench.port.sent.clear();
    CHECK(bench.frames.in_use() == 0);
}

TEST_CASE("a transmit rule that drops lets nothing out", "[transmit]") {
    NicBench bench;
    bench.set_root(FlowTableType::nic_tx, bench.table(FlowTableType::nic_tx, RuleSpec{}));
    bench.send(kSend, NicBench::ethernet_segment(ipv4_packet(17, 100), kNoFlags));
    CHECK(bench.port.sent.empty());
    CHECK(bench.transmitter.counters().steered_away == 1);
    CHECK(bench.poll_cq(bench.completions));
    CHECK(bench.frames.in_use() == 0);
}

}  // namespace
}  // namespace cxsim::test
