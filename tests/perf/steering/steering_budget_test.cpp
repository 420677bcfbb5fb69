// SPDX-License-Identifier: Apache-2.0
// Budgets of the flow tables: one probe a group whatever the number of rules, nothing allocated for
// a packet, and a lookup among a million rules that takes about as long as one among few.
#include "model/base/random.h"
#include "model/steering/group_index.h"
#include "tests/support/allocations.h"
#include "tests/support/steering_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <memory>
#include <vector>

namespace cxsim::test {
namespace {

using model::FlowKey;
using Headers = prm::fte_match_set_lyr_2_4;
using namespace model::flow_action;

double seconds_of(const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The five fields of a connection, of the outer headers, for connection `number`.
FlowKey connection(std::uint32_t number) {
    FlowKey key;
    const auto headers = key.view().nested<prm::fte_match_param::outer_headers>();
    headers.set<Headers::ip_version>(4U);
    headers.set<Headers::ip_protocol>(6U);
    headers.nested<Headers::src_ipv4_src_ipv6>()
        .nested<prm::ipv6_layout_ipv4_layout_auto::ipv4_layout>()
        .set<prm::ipv4_layout::ipv4>(0x0a000000U + (number >> 8));
    headers.set<Headers::tcp_dport>(80U);
    headers.set<Headers::tcp_sport>(1024 + (number & 0xff));
    return key;
}

FlowKey connection_mask() {
    FlowKey key;
    const auto headers = key.view().nested<prm::fte_match_param::outer_headers>();
    headers.set<Headers::ip_version>(0xfU);
    headers.set<Headers::ip_protocol>(0xffU);
    for (auto& byte : headers.bytes<Headers::src_ipv4_src_ipv6>()) byte = std::byte{0xff};
    headers.set<Headers::tcp_dport>(0xffffU);
    headers.set<Headers::tcp_sport>(0xffffU);
    return key;
}

RuleSpec forward(const FlowKey& value, std::uint32_t tirn) {
    RuleSpec spec;
    spec.value = value;
    spec.action = kForward;
    spec.destinations = {to_tir(tirn)};
    return spec;
}

TEST_CASE("the hook sees allocations of the steering budget", "[perf]") {
    const std::uint64_t before = g_allocations;
    const auto block = std::make_unique<int>(1);
    CHECK(g_allocations == before + 1);
}

TEST_CASE("a packet takes one probe a group, whatever the number of rules", "[perf]") {
    // Five groups; the packets of the last one pass four others.
    for (const std::uint32_t rules : {1U, 10U, 100U, 1000U, 10'000U, 100'000U, 1'000'000U}) {
        SteeringBench bench;
        const std::uint32_t root = bench.root();
        const std::uint32_t step = 1U << 20;
        std::vector<std::uint32_t> groups;
        for (std::uint32_t i = 0; i < 5; ++i) {
            groups.push_back(bench.group(root, i * step, (i + 1) * step - 1, connection_mask()));
            // Connections that no packet belongs to.
            bench.rule(groups[i], i * step, forward(connection(0x1000000 + i), 1));
        }
        RuleSpec spec = forward({}, 7);
        for (std::uint32_t i = 1; i <= rules && i < step; ++i) {
            spec.value = connection(i);
            bench.rule(groups[4], 4 * step + i, spec);
            // The index keeps what it needs; a million full contexts are a gigabyte.
            bench.resources.flow_groups.find(groups[4])->entries[4 * step + i].context = {};
        }
        model::RandomStream random(1, "budget");
        const auto before = bench.counted();
        const std::uint32_t packets = 1000;
        for (std::uint32_t i = 0; i < packets; ++i) {
            KeyPacket packet(connection(static_cast<std::uint32_t>(1 + random.below(rules))));
            REQUIRE(bench.receive(packet).size() == 1);
        }
        CAPTURE(rules);
        CHECK(bench.counted().probes - before.probes == 5 * packets);
        CHECK(bench.counted().tables_visited - before.tables_visited == packets);
        // A second comparison happens where two of 2^32 hashes are equal.
        CHECK(bench.counted().comparisons - before.comparisons <= packets + packets / 100);
    }
}

TEST_CASE("a lookup among a million rules takes little longer than among few", "[perf]") {
    const auto build = [](std::uint32_t rules) {
        auto index = std::make_unique<model::GroupIndex>(connection_mask().bytes);
        for (std::uint32_t i = 0; i < rules; ++i) {
            model::CompiledRule rule;
            rule.index = i;
            index->set(connection(i).bytes, std::move(rule));
        }
        return index;
    };
    std::vector<FlowKey> keys;
    model::RandomStream random(2, "ratio");
    for (int i = 0; i < 2000; ++i) {
        keys.push_back(connection(static_cast<std::uint32_t>(random.below(1'000'000))));
    }
    const auto few = build(1000);
    const auto many = build(1'000'000);
    std::uint64_t comparisons = 0;
    std::uint64_t found = 0;
    const auto look = [&](const model::GroupIndex& index) {
        return seconds_of([&] {
            for (const FlowKey& key : keys) found += index.find(key, comparisons) != nullptr;
        });
    };
    // The best of several turns each: others use the machine, too. A linear search would take a
    // thousand times as long; what is left are cache misses.
    double among_few = 1e9;
    double among_many = 1e9;
    for (int turn = 0; turn < 25; ++turn) {
        among_few = std::min(among_few, look(*few));
        among_many = std::min(among_many, look(*many));
    }
    CAPTURE(among_few, among_many, comparisons);
    CHECK(found >= 25 * keys.size());
    CHECK(among_many < 8 * among_few);
}

TEST_CASE("rules are added and removed at one price", "[perf]") {
    // Without a rebuild: so many changes of one rule among many cost as those among few.
    const auto churn = [](std::uint32_t rules) {
        model::GroupIndex index(connection_mask().bytes);
        const auto set = [&](std::uint32_t number) {
            model::CompiledRule rule;
            rule.index = number;
            index.set(connection(number).bytes, std::move(rule));
        };
        for (std::uint32_t i = 0; i < rules; ++i) set(i);
        double best = 1e9;
        for (int turn = 0; turn < 10; ++turn) {
            best = std::min(best, seconds_of([&] {
                                for (std::uint32_t i = 0; i < 500; ++i) {
                                    index.remove(connection(i).bytes, i);
                                    set(i);
                                }
                            }));
        }
        CHECK(index.rules() == rules);
        return best;
    };
    const double few = churn(1000);
    const double many = churn(300'000);
    CAPTURE(few, many);
    CHECK(many < 8 * few);
}

TEST_CASE("a packet allocates nothing once the steering is warm", "[perf]") {
    SteeringBench bench;
    // Two tables, a counter, a rewrite of registers, several destinations, RSS.
    const std::uint32_t root = bench.root();
    const std::uint32_t next = bench.table();
    RuleSpec first = forward(connection(5), 1);
    first.action |= kCount | kModifyHeader;
    first.counters = {bench.counter()};
    first.modify_header = bench.rewrite({SteeringBench::set_action(0x51, 4)});
    first.destinations = {to_tir(1), to_table(next), to_tir(2)};
    bench.rule(bench.group(root, 0, 9, connection_mask()), 0, first);
    bench.rule(bench.group(next, 0, 9, connection_mask()), 0, forward(connection(5), 3));
    bench.rule(bench.group(bench.root(model::FlowTableType::nic_tx), 0, 0, {}), 0, [] {
        RuleSpec allow;
        allow.action = kAllow;
        return allow;
    }());
    model::Rqt& rqt = *bench.resources.rqts.create();
    for (int i = 0; i < 4; ++i) rqt.entries.push_back(bench.resources.rqs.create()->id.number);
    rqt.view().set<prm::rqtc::rqt_actual_size>(4U);
    model::Tir& tir = *bench.resources.tirs.create();
    tir.view().set<prm::tirc::disp_type>(1U);
    tir.view().set<prm::tirc::rx_hash_fn>(2U);
    tir.view().set<prm::tirc::indirect_table>(rqt.id.number);
    tir.view()
        .nested<prm::tirc::rx_hash_field_selector_outer>()
        .set<prm::rx_hash_field_select::selected_fields>(0xfU);
    KeyPacket packet(connection(5));
    std::size_t deliveries = 0;
    std::size_t found = 0;
    const auto run = [&] {
        for (int i = 0; i < 1000; ++i) {
            deliveries += bench.receive(packet).size();
            deliveries += bench.transmit(packet).size();
            found += bench.steering.choose_rq(tir, packet.key()).found ? 1 : 0;
        }
    };
    run();
    const std::uint64_t before = g_allocations;
    run();
    const std::uint64_t allocations = g_allocations - before;
    CHECK(allocations == 0);
    CHECK(deliveries == 2 * 1000 * 4);
    CHECK(found == 2000);
    CHECK(bench.resources.flow_counters.find(first.counters[0])->packets == 2000);
}

}  // namespace
}  // namespace cxsim::test
