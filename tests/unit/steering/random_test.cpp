// SPDX-License-Identifier: Apache-2.0
// Random tables, rules and packets against the plain matcher, and the index alone against a map.
#include "model/base/random.h"

#include "model/steering/group_index.h"
#include "tests/support/naive_steering.h"
#include "tests/support/steering_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <map>
#include <vector>

namespace cxsim::test {
namespace {

using model::FlowKey;
using model::FlowTableType;
using namespace model::flow_action;

struct Group {
    std::size_t table;  ///< place among the tables
    std::uint32_t number;
    std::uint32_t start;
    std::uint32_t end;
    FlowKey mask;
};

/// Tables 0 to n-1 of a namespace, chained by random rules that change all the time.
struct RandomTables {
    RandomTables(std::uint64_t seed, FlowTableType table_type)
        : random(seed, "steering"), type(table_type) {
        for (int i = 0; i < 8; ++i) tables.push_back(bench.table(type));
        for (int i = 0; i < 6; ++i) counters.push_back(bench.counter());
        for (const std::uint32_t field : {0x49U, 0x50U, 0x51U, 0x52U, 0x58U}) {
            rewrites.push_back(
                bench.rewrite({SteeringBench::set_action(field, random.below(3)),
                               SteeringBench::set_action(0x50, random.below(1000))}));
        }
        for (std::size_t table = 0; table < tables.size(); ++table) {
            std::uint32_t start = 0;
            for (std::uint64_t i = 0; i < 4; ++i) {
                const auto end = static_cast<std::uint32_t>(start + random.below(6));
                Group group{table, 0, start, end, key(3)};
                group.number = bench.group(tables[table], start, end, group.mask);
                groups.push_back(group);
                start = end + 1;
            }
        }
        root = tables[0];
        bench.steering.set_root(type, root);
    }

    template <class T>
    const T& pick(const std::vector<T>& list) {
        return list[random.below(list.size())];
    }

    /// Few bits in few places, so that packets meet rules.
    FlowKey key(std::uint64_t words) {
        static constexpr std::size_t kPlaces[] = {3, 11, 40, 70, 128, 214, 216, 224, 291, 400, 511};
        FlowKey made;
        for (std::uint64_t i = 0; i < words; ++i) {
            made.bytes[kPlaces[random.below(std::size(kPlaces))]] |=
                static_cast<std::byte>(random.below(4));
        }
        return made;
    }

    /// A table behind `place`, now and then any: that may make a loop.
    std::uint32_t next_table(std::size_t place) {
        if (random.below(40) == 0 || place + 1 == tables.size()) return pick(tables);
        return tables[place + 1 + random.below(tables.size() - place - 1)];
    }

    RuleSpec spec(const Group& group) {
        const FlowKey& mask = group.mask;
        RuleSpec made;
        made.value = key(8);
        for (std::size_t i = 0; i < made.value.bytes.size(); ++i) {
            made.value.bytes[i] &= mask.bytes[i];
        }
        const std::uint64_t kind = random.below(10);
        if (kind == 0) {
            made.action = kDrop;
        } else if (kind < 6 && type == FlowTableType::nic_tx) {
            made.action = kAllow;
        } else {
            made.action = kForward;
            const std::uint64_t count = random.below(5) == 0 ? 1 + random.below(3) : 1;
            for (std::uint64_t i = 0; i < count; ++i) {
                const bool last = group.table + 1 == tables.size();
                if (type == FlowTableType::nic_tx || (!last && random.below(2) == 0)) {
                    made.destinations.push_back(to_table(next_table(group.table)));
                } else {
                    made.destinations.push_back(
                        to_tir(static_cast<std::uint32_t>(1 + random.below(9))));
                }
            }
        }
        if (random.below(2) == 0) {
            made.action |= kCount;
            for (std::uint64_t i = 0; i <= random.below(2); ++i) {
                made.counters.push_back(pick(counters));
            }
        }
        if (random.below(3) == 0)
            made.flow_tag = static_cast<std::uint32_t>(random.below(1U << 24));
        if ((made.action & kDrop) == 0 && random.below(4) == 0) {
            made.action |= kModifyHeader;
            made.modify_header = pick(rewrites);
        }
        return made;
    }

    void change() {
        const Group& group = pick(groups);
        const auto index =
            static_cast<std::uint32_t>(group.start + random.below(group.end - group.start + 1));
        model::FlowGroup& owner = *bench.resources.flow_groups.find(group.number);
        const auto entry = owner.entries.find(index);
        const std::uint64_t what = random.below(12);
        if (what == 0) {
            const std::size_t table = random.below(tables.size());
            const auto miss =
                random.below(3) == 0 ? std::nullopt : std::optional(next_table(table));
            bench.modify_miss(tables[table], miss);
        } else if (what == 1) {
            root = random.below(8) == 0 ? std::nullopt : std::optional(pick(tables));
            bench.steering.set_root(type, root);
        } else if (entry != owner.entries.end() && what < 6) {
            bench.remove(group.number, index);
        } else {
            RuleSpec made = spec(group);
            if (entry != owner.entries.end()) {
                // A change keeps what is matched.
                const auto old = prm::ConstView<prm::flow_context>(entry->second.context)
                                     .bytes<prm::flow_context::match_value>();
                std::copy(old.begin(), old.end(), made.value.bytes.begin());
            }
            bench.rule(group.number, index, made);
        }
    }

    void compare() {
        const FlowKey packet_key = key(8);
        KeyPacket packet(packet_key);
        const std::uint64_t probes = bench.counted().probes;
        const auto& deliveries =
            type == FlowTableType::nic_tx ? bench.transmit(packet) : bench.receive(packet);
        naive.run(type, root, packet_key);
        // A tree of destinations beyond the room is cut in another order; see actions_test.
        if (bench.counted()[type][model::DropReason::no_room] != no_room) {
            no_room = bench.counted()[type][model::DropReason::no_room];
            cut = true;
            return;
        }
        REQUIRE(deliveries.size() == naive.results.size());
        REQUIRE(deliveries.drops() == naive.drops.size());
        REQUIRE(bench.counted().probes - probes == naive.probes);
        for (std::size_t i = 0; i < deliveries.size(); ++i) {
            const auto& expected = naive.results[i];
            REQUIRE(deliveries[i].kind == expected.kind);
            REQUIRE(deliveries[i].number == expected.number);
            REQUIRE(deliveries[i].flow_tag == expected.flow_tag);
            REQUIRE(deliveries[i].metadata == expected.register_b);
            REQUIRE(deliveries[i].packet->key().bytes == expected.key.bytes);
        }
        delivered += deliveries.empty() ? 0 : 1;
    }

    SteeringBench bench;
    NaiveSteering naive{bench.resources};
    model::RandomStream random;
    FlowTableType type;
    std::vector<std::uint32_t> tables;
    std::vector<std::uint32_t> counters;
    std::vector<std::uint32_t> rewrites;
    std::vector<Group> groups;
    std::optional<std::uint32_t> root;
    std::uint64_t no_room = 0;
    std::uint64_t delivered = 0;
    bool cut = false;  ///< flow counters are not comparable any more
};

void compare_all(FlowTableType type) {
    std::uint64_t delivered = 0;
    int counted = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        CAPTURE(seed);
        RandomTables tables(seed, type);
        for (int step = 0; step < 300; ++step) {
            tables.change();
            tables.compare();
        }
        const auto& space = tables.bench.counted()[type];
        CHECK(space.packets == space.delivered + space.dropped);
        delivered += tables.delivered;
        if (tables.cut) continue;
        ++counted;
        for (const std::uint32_t counter : tables.counters) {
            const auto& found = *tables.bench.resources.flow_counters.find(counter);
            CHECK(found.packets == tables.naive.hits[counter]);
            CHECK(found.octets == 64 * found.packets);
        }
    }
    CHECK(delivered > 700);
    CHECK(counted >= 6);
}

TEST_CASE("random rules receive as the plain matcher says", "[steering]") {
    compare_all(FlowTableType::nic_rx);
}

TEST_CASE("random rules transmit as the plain matcher says", "[steering]") {
    compare_all(FlowTableType::nic_tx);
}

TEST_CASE("the index finds what an ordered map finds", "[steering]") {
    FlowKey mask;
    mask.bytes[20] = std::byte{0xff};
    mask.bytes[21] = std::byte{0x0f};
    mask.bytes[333] = std::byte{0xf0};
    model::GroupIndex index(mask.bytes);
    std::map<std::vector<std::byte>, std::map<std::uint32_t, std::uint32_t>> plain;
    model::RandomStream random(3, "index");
    const auto random_key = [&](bool masked) {
        FlowKey key;
        key.bytes[20] = static_cast<std::byte>(random.below(64));
        key.bytes[21] = static_cast<std::byte>(random.below(4));
        key.bytes[333] = static_cast<std::byte>(random.below(2) << 4);
        if (!masked) key.bytes[22] = std::byte{0xff};
        return key;
    };
    const auto value_of = [&](FlowKey key) {
        for (std::size_t i = 0; i < key.bytes.size(); ++i) key.bytes[i] &= mask.bytes[i];
        return std::vector<std::byte>(key.bytes.begin(), key.bytes.end());
    };
    std::size_t rules = 0;
    std::uint64_t comparisons = 0;
    for (int step = 0; step < 40'000; ++step) {
        const FlowKey key = random_key(true);
        auto& same = plain[value_of(key)];
        const auto flow_index = static_cast<std::uint32_t>(random.below(4));
        if (same.contains(flow_index) && random.below(3) != 0) {
            index.remove(key.bytes, flow_index);
            same.erase(flow_index);
            --rules;
        } else {
            rules += same.contains(flow_index) ? 0 : 1;
            const auto tag = static_cast<std::uint32_t>(step);
            model::CompiledRule rule;
            rule.index = flow_index;
            rule.flow_tag = tag;
            index.set(key.bytes, std::move(rule));
            same[flow_index] = tag;
        }
        REQUIRE(index.rules() == rules);
        const FlowKey wanted = random_key(false);
        const auto place = plain.find(value_of(wanted));
        const model::CompiledRule* found = index.find(wanted, comparisons);
        if (place == plain.end() || place->second.empty()) {
            REQUIRE(found == nullptr);
        } else {
            REQUIRE(found != nullptr);
            REQUIRE(found->index == place->second.begin()->first);
            REQUIRE(found->flow_tag == place->second.begin()->second);
        }
    }
}

}  // namespace
}  // namespace cxsim::test
