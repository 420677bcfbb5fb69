// SPDX-License-Identifier: Apache-2.0
// Which rule a packet meets: masks of every field, order of groups and rules, misses, chains.
#include "model/prm/reflect.h"
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
using namespace model::flow_action;

struct KeyField {
    std::string name;
    std::uint32_t offset;
    std::uint32_t width;
};

void collect(const prm::LayoutInfo& layout, std::uint32_t base, const std::string& prefix,
             std::vector<KeyField>& fields) {
    for (const prm::FieldInfo& field : layout.fields) {
        if (field.reserved) continue;
        const std::string name = prefix + std::string(field.name);
        for (std::uint32_t i = 0; i < field.count; ++i) {
            const std::uint32_t offset = base + field.bit_offset + i * field.bit_width;
            if (field.nested != nullptr) {
                collect(*field.nested, offset, name + ".", fields);
            } else {
                fields.push_back({name, offset, field.bit_width});
            }
        }
    }
}

std::vector<KeyField> all_fields() {
    std::vector<KeyField> fields;
    collect(prm::layout_info<prm::fte_match_param>(), 0, "", fields);
    return fields;
}

void flip(FlowKey& key, std::uint32_t bit) {
    key.bytes[bit / 8] ^= std::byte{0x80} >> (bit % 8);
}

RuleSpec forward(const FlowKey& value, std::uint32_t tirn) {
    RuleSpec spec;
    spec.value = value;
    spec.action = kForward;
    spec.destinations = {to_tir(tirn)};
    return spec;
}

/// The TIR that a packet with `key` reaches; 0: dropped.
std::uint32_t tir_of(SteeringBench& bench, const FlowKey& key) {
    KeyPacket packet(key);
    const auto& deliveries = bench.receive(packet);
    if (deliveries.empty()) return 0;
    CHECK(deliveries.size() == 1);
    CHECK(deliveries[0].kind == model::Delivery::Kind::tir);
    return deliveries[0].number;
}

TEST_CASE("a group matches with any field of the PRM", "[steering]") {
    const auto fields = all_fields();
    CHECK(fields.size() > 130);
    for (const KeyField& field : fields) {
        CAPTURE(field.name);
        SteeringBench bench;
        FlowKey mask;
        FlowKey value;
        for (std::uint32_t i = 0; i < field.width; ++i) flip(mask, field.offset + i);
        flip(value, field.offset);
        if (field.width > 2) flip(value, field.offset + field.width - 1);
        bench.rule(bench.group(bench.root(), 0, 1, mask), 0, forward(value, 7));
        CHECK(tir_of(bench, value) == 7);
        FlowKey around = value;
        for (std::size_t i = 0; i < around.bytes.size(); ++i) around.bytes[i] |= ~mask.bytes[i];
        CHECK(tir_of(bench, around) == 7);
        for (std::uint32_t i = 0; i < field.width; ++i) {
            FlowKey other = around;
            flip(other, field.offset + i);
            CHECK(tir_of(bench, other) == 0);
        }
    }
}

TEST_CASE("an empty mask matches all packets", "[steering]") {
    SteeringBench bench;
    bench.rule(bench.group(bench.root(), 0, 0, {}), 0, forward({}, 3));
    CHECK(tir_of(bench, {}) == 3);
    FlowKey key;
    key.bytes.fill(std::byte{0xff});
    CHECK(tir_of(bench, key) == 3);
}

TEST_CASE("groups are asked in the order of their indices", "[steering]") {
    SteeringBench bench;
    const std::uint32_t root = bench.root();
    const FlowKey port = outer<Headers::tcp_dport>(80);
    const FlowKey port_mask = outer<Headers::tcp_dport>(0xffff);
    const FlowKey address = outer<Headers::dmac_15_0>(5);
    const FlowKey address_mask = outer<Headers::dmac_15_0>(0xffff);
    // Made in the other order than asked.
    const std::uint32_t last = bench.group(root, 20, 29, {});
    const std::uint32_t second = bench.group(root, 10, 19, port_mask);
    const std::uint32_t first = bench.group(root, 0, 9, address_mask);
    bench.rule(last, 20, forward({}, 1));
    bench.rule(second, 10, forward(port, 2));
    bench.rule(first, 0, forward(address, 3));
    FlowKey both = outer<Headers::tcp_dport>(80, address);
    CHECK(tir_of(bench, both) == 3);
    CHECK(tir_of(bench, port) == 2);
    CHECK(tir_of(bench, {}) == 1);
    bench.remove(first, 0);
    CHECK(tir_of(bench, both) == 2);
    bench.rule(first, 9, forward(address, 4));
    CHECK(tir_of(bench, both) == 4);
    // A group without rules costs nothing.
    bench.remove(second, 10);
    const std::uint64_t probes = bench.counted().probes;
    CHECK(tir_of(bench, {}) == 1);
    CHECK(bench.counted().probes == probes + 2);
}

TEST_CASE("of rules with one value the lowest index wins", "[steering]") {
    SteeringBench bench;
    const std::uint32_t group = bench.group(bench.root(), 0, 99, outer<Headers::first_vid>(0xfff));
    const FlowKey value = outer<Headers::first_vid>(42);
    for (const std::uint32_t index : {50U, 20U, 70U, 10U, 60U}) {
        bench.rule(group, index, forward(value, index));
    }
    bench.rule(group, 5, forward(outer<Headers::first_vid>(41), 5));
    CHECK(tir_of(bench, value) == 10);
    bench.rule(group, 20, forward(value, 21));  // changed, still behind
    CHECK(tir_of(bench, value) == 10);
    bench.remove(group, 10);
    CHECK(tir_of(bench, value) == 21);
    bench.remove(group, 60);
    bench.remove(group, 20);
    CHECK(tir_of(bench, value) == 50);
    bench.remove(group, 50);
    CHECK(tir_of(bench, value) == 70);
    bench.remove(group, 70);
    CHECK(tir_of(bench, value) == 0);
    CHECK(tir_of(bench, outer<Headers::first_vid>(41)) == 5);
}

TEST_CASE("a received packet that meets no rule is dropped and counted", "[steering]") {
    SteeringBench bench;
    KeyPacket packet({}, 100);
    CHECK(bench.receive(packet).empty());
    CHECK(bench.deliveries.drops() == 1);
    CHECK(bench.deliveries.drop_reason() == DropReason::miss);
    bench.root();
    CHECK(bench.receive(packet).empty());
    const auto& space = bench.counted()[FlowTableType::nic_rx];
    CHECK(space.packets == 2);
    CHECK(space.octets == 200);
    CHECK(space.dropped == 2);
    CHECK(space.delivered == 0);
    CHECK(space[DropReason::miss] == 2);
    CHECK(bench.counted()[FlowTableType::nic_tx].packets == 0);
}

TEST_CASE("a packet to transmit that meets no rule may leave", "[steering]") {
    SteeringBench bench;
    KeyPacket packet;
    CHECK_FALSE(bench.steering.transmit_tables());
    const auto leaves = [&] {
        const auto& deliveries = bench.transmit(packet);
        return deliveries.size() == 1 && deliveries[0].kind == model::Delivery::Kind::wire &&
               deliveries[0].packet == &packet;
    };
    CHECK(leaves());
    const std::uint32_t root = bench.root(FlowTableType::nic_tx);
    CHECK(bench.steering.transmit_tables());
    CHECK(leaves());
    const std::uint32_t group = bench.group(root, 0, 1, {});
    RuleSpec spec;
    spec.action = kAllow;
    bench.rule(group, 0, spec);
    CHECK(leaves());
    spec.action = kDrop;
    bench.rule(group, 0, spec);
    CHECK(bench.transmit(packet).empty());
    CHECK(bench.deliveries.drop_reason() == DropReason::action);
    CHECK(bench.counted()[FlowTableType::nic_tx][DropReason::action] == 1);
    CHECK(bench.counted()[FlowTableType::nic_tx].delivered == 3);
}

TEST_CASE("a miss goes to the table that is named, however deep", "[steering]") {
    SteeringBench bench;
    const std::uint32_t end = bench.table();
    bench.rule(bench.group(end, 0, 0, {}), 0, forward({}, 9));
    std::uint32_t next = end;
    for (int level = 0; level < 300; ++level) next = bench.table(FlowTableType::nic_rx, next);
    bench.steering.set_root(FlowTableType::nic_rx, next);
    CHECK(tir_of(bench, {}) == 9);
    CHECK(bench.counted().tables_visited == 301);
    const std::uint32_t other = bench.table();
    bench.rule(bench.group(other, 0, 0, {}), 0, forward({}, 8));
    bench.modify_miss(next, other);
    CHECK(tir_of(bench, {}) == 8);
    bench.modify_miss(next, std::nullopt);
    CHECK(tir_of(bench, {}) == 0);
}

TEST_CASE("a loop of tables ends", "[steering]") {
    SteeringBench bench;
    const std::uint32_t one = bench.root();
    const std::uint32_t two = bench.table();
    RuleSpec spec;
    spec.action = kForward;
    spec.destinations = {to_table(two)};
    const std::uint32_t group = bench.group(one, 0, 1, {});
    bench.rule(group, 0, spec);
    spec.destinations = {to_table(one)};
    bench.rule(bench.group(two, 0, 1, {}), 0, spec);
    CHECK(tir_of(bench, {}) == 0);
    CHECK(bench.deliveries.drop_reason() == DropReason::walk_limit);
    CHECK(bench.counted().tables_visited == model::Steering::kMaxTables);
    // A fan of loops ends with the packet's budget, not with each branch's.
    spec.destinations = {to_table(two), to_table(two), to_table(one)};
    bench.rule(group, 0, spec);
    CHECK(tir_of(bench, {}) == 0);
    CHECK(bench.counted().tables_visited == 2 * model::Steering::kMaxTables);
    const auto& space = bench.counted()[FlowTableType::nic_rx];
    CHECK(space[DropReason::walk_limit] + space[DropReason::no_room] > 100);
    CHECK(space.dropped == 2);
}

TEST_CASE("more groups than a packet may ask are taken for a loop", "[steering]") {
    SteeringBench bench;
    const std::uint32_t root = bench.root();
    FlowKey mask = outer<Headers::tcp_dport>(0xffff);
    for (std::uint32_t i = 0; i < 1000; ++i) {
        bench.rule(bench.group(root, i, i, mask), i, forward(outer<Headers::tcp_dport>(7), 1));
    }
    bench.modify_miss(root, root);
    CHECK(tir_of(bench, {}) == 0);
    CHECK(bench.deliveries.drop_reason() == DropReason::walk_limit);
    CHECK(bench.counted().probes <= model::Steering::kMaxProbes + 1);
    CHECK(tir_of(bench, outer<Headers::tcp_dport>(7)) == 1);
}

TEST_CASE("the root changes under traffic", "[steering]") {
    SteeringBench bench;
    const std::uint32_t one = bench.root();
    const std::uint32_t group = bench.group(one, 0, 0, {});
    bench.rule(group, 0, forward({}, 1));
    const std::uint32_t two = bench.table();
    bench.rule(bench.group(two, 0, 0, {}), 0, forward({}, 2));
    CHECK(tir_of(bench, {}) == 1);
    bench.steering.set_root(FlowTableType::nic_rx, two);
    CHECK(tir_of(bench, {}) == 2);
    bench.steering.set_root(FlowTableType::nic_rx, one);
    // As the driver leaves: rule, group, then the table that still is the root.
    bench.remove(group, 0);
    bench.destroy_group(group);
    CHECK(tir_of(bench, {}) == 0);
    bench.destroy_table(one);
    CHECK(tir_of(bench, {}) == 0);
    bench.steering.set_root(FlowTableType::nic_rx, two);
    CHECK(tir_of(bench, {}) == 2);
    bench.steering.set_root(FlowTableType::nic_rx, std::nullopt);
    CHECK(tir_of(bench, {}) == 0);
}

TEST_CASE("a reset leaves no table and no count", "[steering]") {
    SteeringBench bench;
    bench.rule(bench.group(bench.root(), 0, 0, {}), 0, forward({}, 1));
    CHECK(tir_of(bench, {}) == 1);
    bench.steering.reset();
    bench.resources.clear();
    CHECK(bench.counted().rules_hit == 0);
    CHECK(bench.counted()[FlowTableType::nic_rx].packets == 0);
    CHECK(tir_of(bench, {}) == 0);
    bench.rule(bench.group(bench.root(), 0, 0, {}), 0, forward({}, 2));
    CHECK(tir_of(bench, {}) == 2);
}

}  // namespace
}  // namespace cxsim::test
