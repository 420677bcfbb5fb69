// SPDX-License-Identifier: Apache-2.0
// What a rule does to the packet, whom it goes to, and what is counted.
#include "tests/support/steering_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

namespace cxsim::test {
namespace {

using model::DropReason;
using model::FlowKey;
using model::FlowTableType;
using Headers = prm::fte_match_set_lyr_2_4;
using Misc2 = prm::fte_match_set_misc2;
using namespace model::flow_action;

constexpr std::uint32_t kRegisterA = 0x49;
constexpr std::uint32_t kRegisterB = 0x50;
constexpr std::uint32_t kRegisterC0 = 0x51;
constexpr std::uint32_t kRegisterC7 = 0x58;
constexpr std::uint32_t kTtl = 0x0a;
constexpr std::uint32_t kTcpDestination = 0x09;

struct ActionBench : SteeringBench {
    ActionBench() : table_number(root()), group_number(group(table_number, 0, 9, {})) {}

    const model::Deliveries& run(const RuleSpec& spec) {
        rule(group_number, 0, spec);
        return receive(packet);
    }
    static RuleSpec forward(std::uint32_t more_actions = 0) {
        RuleSpec spec;
        spec.action = kForward | more_actions;
        spec.destinations = {to_tir(1)};
        return spec;
    }
    std::uint64_t reason(DropReason why) const { return counted()[FlowTableType::nic_rx][why]; }

    std::uint32_t table_number;
    std::uint32_t group_number;
    KeyPacket packet;
};

template <class Field>
std::uint32_t misc2(model::SteeredPacket& packet) {
    return packet.key().view().get<prm::fte_match_param::misc_parameters_2, Field>();
}

TEST_CASE("counters of a rule count its packets and their octets", "[steering]") {
    ActionBench bench;
    const std::uint32_t one = bench.counter();
    const std::uint32_t two = bench.counter();
    const std::uint32_t three = bench.counter();
    RuleSpec spec = ActionBench::forward(kCount);
    spec.counters = {one, three};
    bench.rule(bench.group_number, 0, spec);
    for (const std::uint32_t octets : {60U, 1514U, 9014U}) {
        KeyPacket packet({}, octets);
        CHECK(bench.receive(packet).size() == 1);
    }
    spec = {};
    spec.action = kDrop | kCount;
    spec.counters = {three};
    bench.rule(bench.group_number, 0, spec);
    KeyPacket packet({}, 100);
    CHECK(bench.receive(packet).empty());
    const auto counter = [&](std::uint32_t number) {
        const auto& found = *bench.resources.flow_counters.find(number);
        return std::pair(found.packets, found.octets);
    };
    CHECK(counter(one) == std::pair<std::uint64_t, std::uint64_t>(3, 60 + 1514 + 9014));
    CHECK(counter(two) == std::pair<std::uint64_t, std::uint64_t>(0, 0));
    CHECK(counter(three) == std::pair<std::uint64_t, std::uint64_t>(4, 60 + 1514 + 9014 + 100));
}

TEST_CASE("the last flow tag that a rule gives stays", "[steering]") {
    ActionBench bench;
    const std::uint32_t next = bench.table();
    const std::uint32_t group = bench.group(next, 0, 0, {});
    bench.rule(group, 0, ActionBench::forward());
    RuleSpec spec = ActionBench::forward();
    spec.destinations = {to_table(next)};
    spec.flow_tag = 0xabcdef;
    CHECK(bench.run(spec)[0].flow_tag == 0xabcdef);
    RuleSpec tagged = ActionBench::forward();
    tagged.flow_tag = 5;
    bench.rule(group, 0, tagged);
    CHECK(bench.run(spec)[0].flow_tag == 5);
}

TEST_CASE("actions are done in the order of the card's pipeline", "[steering]") {
    ActionBench bench;
    model::PacketReformat* push = bench.resources.packet_reformats.create();
    push->reformat_type = 2;
    push->data.resize(50);
    RuleSpec spec = ActionBench::forward(kDecap | kVlanPop | kVlanPop2 | kModifyHeader | kVlanPush |
                                         kVlanPush2 | kReformat);
    spec.modify_header = bench.rewrite({SteeringBench::set_action(1, 0x11223344),
                                        SteeringBench::add_action(kTtl, 0xff),
                                        SteeringBench::copy_action(1, 2, 4, 6, 8)});
    spec.reformat = push->id.number;
    spec.push = 0x8100'6005;
    spec.push_2 = 0x88a8'0fff;
    CHECK(bench.run(spec).size() == 1);
    CHECK(bench.packet.edits == std::vector<std::string>{"decap", "pop", "pop",
                                                         "set 1 0 0 287454020", "add 10 255",
                                                         "copy 1 2 4 6 8", "push 33024 24581",
                                                         "push 34984 4095", "reformat 2 0 0 50"});
    CHECK(bench.counted().edits == 9);
    CHECK(bench.counted().copies == 0);
}

TEST_CASE("a reformat that takes headers away comes before the rewrite", "[steering]") {
    for (const std::uint8_t type : {std::uint8_t{3}, std::uint8_t{16}}) {
        ActionBench bench;
        model::PacketReformat* pull = bench.resources.packet_reformats.create();
        pull->reformat_type = type;
        pull->parameter_0 = 1;
        pull->parameter_1 = 2;
        RuleSpec spec = ActionBench::forward(kModifyHeader | kReformat);
        spec.modify_header = bench.rewrite({SteeringBench::add_action(kTtl, 0xff)});
        spec.reformat = pull->id.number;
        CHECK(bench.run(spec).size() == 1);
        CHECK(
            bench.packet.edits ==
            std::vector<std::string>{"reformat " + std::to_string(type) + " 1 2 0", "add 10 255"});
    }
}

TEST_CASE("a packet that cannot be changed so is dropped and counted", "[steering]") {
    for (const char* edit : {"decap", "pop", "add 10 255", "push 33024 1", "reformat 2 0 0 0"}) {
        ActionBench bench;
        bench.packet.refused = edit;
        RuleSpec spec =
            ActionBench::forward(kDecap | kVlanPop | kModifyHeader | kVlanPush | kReformat);
        spec.modify_header = bench.rewrite({SteeringBench::add_action(kTtl, 0xff)});
        spec.push = 0x8100'0001;
        model::PacketReformat* push = bench.resources.packet_reformats.create();
        push->reformat_type = 2;
        spec.reformat = push->id.number;
        CAPTURE(edit);
        CHECK(bench.run(spec).empty());
        CHECK(bench.deliveries.drop_reason() == DropReason::edit_failed);
        CHECK(bench.reason(DropReason::edit_failed) == 1);
    }
}

TEST_CASE("metadata registers are set, added to and copied, and later tables match them",
          "[steering]") {
    ActionBench bench;
    RuleSpec spec = ActionBench::forward(kModifyHeader);
    spec.modify_header = bench.rewrite({
        SteeringBench::set_action(kRegisterC0, 0xaabbccdd),
        SteeringBench::set_action(kRegisterC0, 0x5, 8, 4),                // 0xaabbc5dd
        SteeringBench::copy_action(kRegisterC0, 0, kRegisterC7, 16, 12),  // 0x05dd0000
        SteeringBench::add_action(kRegisterC7, 0xffffffff),               // 0x05dcffff
        SteeringBench::copy_action(kRegisterC7, 0, kRegisterB, 0, 0),
        SteeringBench::set_action(kRegisterA, 7),
    });
    const std::uint32_t next = bench.table();
    FlowKey mask;
    mask.view().set<prm::fte_match_param::misc_parameters_2, Misc2::metadata_reg_c_0>(0xffffffffU);
    mask.view().set<prm::fte_match_param::misc_parameters_2, Misc2::metadata_reg_c_7>(0xffffU);
    FlowKey value;
    value.view().set<prm::fte_match_param::misc_parameters_2, Misc2::metadata_reg_c_0>(0xaabbc5ddU);
    value.view().set<prm::fte_match_param::misc_parameters_2, Misc2::metadata_reg_c_7>(0xffffU);
    RuleSpec second = ActionBench::forward();
    second.value = value;
    bench.rule(bench.group(next, 0, 0, mask), 0, second);
    spec.destinations = {to_table(next)};
    const auto& deliveries = bench.run(spec);
    REQUIRE(deliveries.size() == 1);
    CHECK(deliveries[0].metadata == 0x05dcffff);
    CHECK(misc2<Misc2::metadata_reg_c_7>(bench.packet) == 0x05dcffff);
    CHECK(misc2<Misc2::metadata_reg_a>(bench.packet) == 7);
    CHECK(bench.packet.edits.empty());
}

TEST_CASE("headers and registers are copied into each other", "[steering]") {
    ActionBench bench;
    bench.packet = KeyPacket(outer<Headers::tcp_dport>(0x1234));
    RuleSpec spec = ActionBench::forward(kModifyHeader);
    spec.modify_header = bench.rewrite({
        SteeringBench::copy_action(kTcpDestination, 4, kRegisterC0, 8, 8),
        SteeringBench::copy_action(kRegisterC0, 8, kTtl, 0, 8),
    });
    CHECK(bench.run(spec).size() == 1);
    CHECK(misc2<Misc2::metadata_reg_c_0>(bench.packet) == 0x2300);
    CHECK(bench.packet.edits == std::vector<std::string>{"set 10 0 8 35"});
    // Beyond the field, beyond the register, from a field that no key has.
    for (const std::uint64_t bad :
         {SteeringBench::copy_action(kTcpDestination, 8, kRegisterC0, 0, 9),
          SteeringBench::copy_action(kTcpDestination, 0, kRegisterC0, 24, 9),
          SteeringBench::set_action(kRegisterC0, 1, 30, 3),
          SteeringBench::copy_action(0x7ff, 0, kRegisterC0, 0, 1)}) {
        spec.modify_header = bench.rewrite({bad});
        CHECK(bench.run(spec).empty());
        CHECK(misc2<Misc2::metadata_reg_c_0>(bench.packet) == 0x2300);
    }
    CHECK(bench.reason(DropReason::edit_failed) == 4);
}

TEST_CASE("each register has its own bits of the key", "[steering]") {
    ActionBench bench;
    std::vector<std::uint64_t> actions;
    for (std::uint32_t i = 0; i < 8; ++i) {
        actions.push_back(SteeringBench::set_action(kRegisterC0 + i, 100 + i));
    }
    RuleSpec spec = ActionBench::forward(kModifyHeader);
    spec.modify_header = bench.rewrite(actions);
    CHECK(bench.run(spec).size() == 1);
    CHECK(misc2<Misc2::metadata_reg_c_0>(bench.packet) == 100);
    CHECK(misc2<Misc2::metadata_reg_c_1>(bench.packet) == 101);
    CHECK(misc2<Misc2::metadata_reg_c_2>(bench.packet) == 102);
    CHECK(misc2<Misc2::metadata_reg_c_3>(bench.packet) == 103);
    CHECK(misc2<Misc2::metadata_reg_c_4>(bench.packet) == 104);
    CHECK(misc2<Misc2::metadata_reg_c_5>(bench.packet) == 105);
    CHECK(misc2<Misc2::metadata_reg_c_6>(bench.packet) == 106);
    CHECK(misc2<Misc2::metadata_reg_c_7>(bench.packet) == 107);
    CHECK(misc2<Misc2::metadata_reg_a>(bench.packet) == 0);
}

TEST_CASE("a rule with several destinations delivers to each", "[steering]") {
    ActionBench bench;
    const std::uint32_t next = bench.table();
    bench.rule(bench.group(next, 0, 0, {}), 0, ActionBench::forward());
    RuleSpec spec = ActionBench::forward();
    spec.destinations = {to_tir(5), to_table(next), to_tir(6), to_table(bench.table())};
    const auto& deliveries = bench.run(spec);
    REQUIRE(deliveries.size() == 3);
    CHECK(deliveries[0].number == 5);
    CHECK(deliveries[1].number == 6);
    CHECK(deliveries[2].number == 1);
    for (const auto& delivery : deliveries) CHECK(delivery.packet == &bench.packet);
    // The empty table drops its branch, the packet was delivered.
    CHECK(deliveries.drops() == 1);
    const auto& space = bench.counted()[FlowTableType::nic_rx];
    CHECK(space.packets == 1);
    CHECK(space.delivered == 1);
    CHECK(space.deliveries == 3);
    CHECK(space[DropReason::miss] == 1);
}

TEST_CASE("a change for one destination is not seen by the others", "[steering]") {
    ActionBench bench;
    RuleSpec second = ActionBench::forward(kVlanPop | kModifyHeader);
    second.modify_header = bench.rewrite({SteeringBench::set_action(kRegisterC0, 9)});
    std::vector<std::uint32_t> next{bench.table(), bench.table()};
    for (const std::uint32_t table : next) {
        second.destinations = {to_tir(table + 100)};
        bench.rule(bench.group(table, 0, 0, {}), 0, second);
    }
    RuleSpec spec = ActionBench::forward();
    spec.destinations = {to_tir(5), to_table(next[0]), to_table(next[1])};
    const auto& deliveries = bench.run(spec);
    REQUIRE(deliveries.size() == 3);
    CHECK(deliveries[0].packet == &bench.packet);
    CHECK(bench.packet.edits.empty());
    CHECK(misc2<Misc2::metadata_reg_c_0>(bench.packet) == 0);
    for (std::size_t i : {1U, 2U}) {
        CHECK(deliveries[i].number == next[i - 1] + 100);
        CHECK(deliveries[i].packet != &bench.packet);
        CHECK(dynamic_cast<KeyPacket*>(deliveries[i].packet)->edits.size() == 1);
        CHECK(misc2<Misc2::metadata_reg_c_0>(*deliveries[i].packet) == 9);
    }
    CHECK(deliveries[1].packet != deliveries[2].packet);
    CHECK(bench.counted().copies == 2);
    bench.packet.copyable = false;
    CHECK(bench.run(spec).size() == 1);
    CHECK(bench.reason(DropReason::no_copy) == 2);
}

TEST_CASE("more destinations than a packet may have are dropped and counted", "[steering]") {
    ActionBench bench;
    RuleSpec spec = ActionBench::forward();
    const std::uint32_t next = bench.table();
    bench.rule(bench.group(next, 0, 0, {}), 0, ActionBench::forward());
    spec.destinations.assign(model::Deliveries::kCapacity - 1, to_tir(4));
    spec.destinations.insert(spec.destinations.end(), 5, to_table(next));
    CHECK(bench.run(spec).size() == model::Deliveries::kCapacity);
    CHECK(bench.deliveries.drops() == 4);
    CHECK(bench.reason(DropReason::no_room) == 4);
}

TEST_CASE("a rule is changed and deleted under traffic", "[steering]") {
    ActionBench bench;
    CHECK(bench.run(ActionBench::forward())[0].number == 1);
    RuleSpec spec = ActionBench::forward(kCount);
    spec.destinations = {to_tir(2), to_tir(3)};
    spec.counters = {bench.counter()};
    CHECK(bench.run(spec).size() == 2);
    // Back to less: nothing of the richer rule stays.
    CHECK(bench.run(ActionBench::forward()).size() == 1);
    CHECK(bench.resources.flow_counters.find(spec.counters[0])->packets == 1);
    bench.remove(bench.group_number, 0);
    CHECK(bench.receive(bench.packet).empty());
    CHECK(bench.run(ActionBench::forward()).size() == 1);
}

TEST_CASE("sniffers see packets beside their way", "[steering]") {
    ActionBench bench;
    RuleSpec change = ActionBench::forward(kVlanPop);
    bench.rule(bench.group_number, 0, change);
    const std::uint32_t tap = bench.root(FlowTableType::sniffer_rx);
    const std::uint32_t tap_group = bench.group(tap, 0, 0, {});
    // Its table is empty: nothing is seen, nothing is dropped.
    CHECK(bench.receive(bench.packet).size() == 1);
    CHECK(bench.deliveries.drops() == 0);
    CHECK(bench.counted()[FlowTableType::sniffer_rx].dropped == 1);
    RuleSpec sniff;
    sniff.action = kForward;
    sniff.destinations = {to_tir(77)};
    bench.rule(tap_group, 0, sniff);
    KeyPacket packet;
    const auto& deliveries = bench.receive(packet);
    REQUIRE(deliveries.size() == 2);
    CHECK(deliveries[0].sniffer);
    CHECK(deliveries[0].number == 77);
    CHECK(deliveries[0].packet == &packet);
    CHECK(packet.edits.empty());  // as it came in
    CHECK_FALSE(deliveries[1].sniffer);
    CHECK(dynamic_cast<KeyPacket*>(deliveries[1].packet)->edits.size() == 1);
    CHECK(bench.counted()[FlowTableType::sniffer_rx].delivered == 1);
    CHECK(bench.counted()[FlowTableType::nic_rx].packets == 2);
}

TEST_CASE("the transmit sniffer sees what leaves", "[steering]") {
    SteeringBench bench;
    const std::uint32_t group = bench.group(bench.root(FlowTableType::nic_tx), 0, 0, {});
    RuleSpec spec;
    spec.action = kAllow | kVlanPush;
    spec.push = 0x8100'0003;
    bench.rule(group, 0, spec);
    const std::uint32_t tap = bench.group(bench.root(FlowTableType::sniffer_tx), 0, 0, {});
    RuleSpec sniff;
    sniff.action = kForward;
    sniff.destinations = {to_tir(77)};
    bench.rule(tap, 0, sniff);
    KeyPacket packet;
    const auto& deliveries = bench.transmit(packet);
    REQUIRE(deliveries.size() == 2);
    CHECK(deliveries[0].kind == model::Delivery::Kind::wire);
    CHECK(deliveries[1].sniffer);
    CHECK(deliveries[1].number == 77);
    CHECK(packet.edits == std::vector<std::string>{"push 33024 3"});
    // Allowing is nothing that a sniffer does.
    sniff = {};
    sniff.action = kAllow;
    bench.rule(tap, 0, sniff);
    CHECK(bench.transmit(packet).size() == 1);
    // What is dropped is not seen.
    spec = {};
    bench.rule(group, 0, spec);
    CHECK(bench.transmit(packet).empty());
    CHECK(bench.counted()[FlowTableType::sniffer_tx].packets == 2);
}

}  // namespace
}  // namespace cxsim::test
