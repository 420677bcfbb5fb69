// SPDX-License-Identifier: Apache-2.0
// Steering commands as packets see them: each command takes effect at once, and counters tell.
#include "tests/support/ethernet_bench.h"
#include "tests/support/steering_bench.h"

namespace cxsim::test {
namespace {

using model::FlowTableType;
using prm::Opcode;
using prm::Status;
using Headers = prm::fte_match_set_lyr_2_4;
using namespace model::flow_action;

constexpr std::uint32_t kToTable = 1;
constexpr std::uint32_t kToTir = 2;

/// Rules match the whole destination MAC; that of a packet is 0x0000'0000'00nn.
struct TrafficBench : EthernetBench {
    explicit TrafficBench(std::vector<model::Override> overrides = {})
        : EthernetBench(std::move(overrides)), tirn(create_tir(create_rq())) {}

    model::Steering& steering() { return function().steering(); }

    static prm::Buffer<prm::set_fte_in> rule_input(
        std::uint32_t table, std::uint32_t group, std::uint32_t index, std::uint32_t mac,
        std::uint32_t action, const std::vector<Destination>& destinations,
        const std::vector<std::uint32_t>& counters = {}) {
        auto in = entry_input(table, group, index, action, destinations, counters);
        in.view()
            .nested<prm::set_fte_in::flow_context>()
            .nested<prm::flow_context::match_value>()
            .set<prm::fte_match_param::outer_headers, Headers::dmac_15_0>(mac);
        return in;
    }
    void set_rule(std::uint32_t table, std::uint32_t group, std::uint32_t index, std::uint32_t mac,
                  std::uint32_t action, const std::vector<Destination>& destinations,
                  const std::vector<std::uint32_t>& counters = {}) {
        REQUIRE(run<prm::set_fte_out>(
                    rule_input(table, group, index, mac, action, destinations, counters))
                    .ok());
    }
    void set_root(std::uint32_t table) {
        using In = prm::set_flow_table_root_in;
        auto in = input<In>(Opcode::SET_FLOW_TABLE_ROOT);
        in.view().set<In::table_id>(table);
        REQUIRE(run<prm::set_flow_table_root_out>(in).ok());
    }
    void remove_rule(std::uint32_t table, std::uint32_t index) {
        using In = prm::delete_fte_in;
        auto in = input<In>(Opcode::DELETE_FLOW_TABLE_ENTRY);
        in.view().set<In::table_id>(table);
        in.view().set<In::flow_index>(index);
        REQUIRE(run<prm::delete_fte_out>(in).ok());
    }
    /// The only TIR that a packet reaches; 0: none.
    std::uint32_t tir_of(std::uint32_t mac, std::uint32_t octets = 64) {
        KeyPacket packet(outer<Headers::dmac_15_0>(mac), octets);
        steering().receive(packet, deliveries);
        REQUIRE(deliveries.size() <= 1);
        return deliveries.empty() ? 0 : deliveries[0].number;
    }
    struct Counts {
        std::uint64_t packets;
        std::uint64_t octets;
        friend bool operator==(const Counts&, const Counts&) = default;
    };
    std::vector<Counts> query(std::uint32_t counter, std::uint32_t count, bool clear = false) {
        using In = prm::query_flow_counter_in;
        using Out = prm::query_flow_counter_out;
        auto in = input<In>(Opcode::QUERY_FLOW_COUNTER);
        in.view().set<In::flow_counter_id>(counter);
        in.view().set<In::num_of_counters>(count);
        in.view().set<In::clear>(clear);
        const auto answer = run<Out>(in, std::max(count, 1U) * prm::traffic_counter::kBytes);
        REQUIRE(answer.ok());
        std::vector<Counts> all;
        for (std::uint32_t i = 0; i < std::max(count, 1U); ++i) {
            const auto place = answer.out.view().template at<Out::flow_statistics>(i);
            all.push_back({place.template get<prm::traffic_counter::packets>(),
                           place.template get<prm::traffic_counter::octets>()});
        }
        return all;
    }

    std::uint32_t tirn;
    model::Deliveries deliveries;
};

TEST_CASE("packets follow the rules that commands make, at once", "[flow_traffic]") {
    TrafficBench bench;
    const std::uint32_t table = bench.create_table(1);
    CHECK(bench.tir_of(5) == 0);
    bench.set_root(table);
    const std::uint32_t group = bench.create_group(table, 0, 3);
    CHECK(bench.tir_of(5) == 0);
    bench.set_rule(table, group, 1, 5, kForward, {{kToTir, bench.tirn}});
    CHECK(bench.tir_of(5) == bench.tirn);
    CHECK(bench.tir_of(6) == 0);
    const std::uint32_t next = bench.create_table(2);
    const std::uint32_t other = bench.create_tir(bench.create_rq());
    bench.set_rule(next, bench.create_group(next, 0, 0), 0, 5, kForward, {{kToTir, other}});
    // Modify: to the next table.
    auto in = TrafficBench::rule_input(table, group, 1, 5, kForward, {{kToTable, next}});
    in.view().set<prm::set_fte_in::op_mod>(1U);
    in.view().set<prm::set_fte_in::modify_enable_mask>(4U);
    REQUIRE(bench.run<prm::set_fte_out>(in).ok());
    CHECK(bench.tir_of(5) == other);
    // A refused change changes nothing.
    in.view().set<prm::set_fte_in::modify_enable_mask>(0x10U);
    CHECK(refused(bench.run<prm::set_fte_out>(in), Status::BAD_PARAM));
    CHECK(bench.tir_of(5) == other);
    bench.remove_rule(table, 1);
    CHECK(bench.tir_of(5) == 0);
    bench.set_root(next);
    CHECK(bench.tir_of(5) == other);
}

TEST_CASE("a table's misses go where MODIFY_FLOW_TABLE says", "[flow_traffic]") {
    TrafficBench bench;
    const std::uint32_t table = bench.create_table(1);
    const std::uint32_t next = bench.create_table(2);
    bench.set_root(table);
    bench.set_rule(next, bench.create_group(next, 0, 0), 0, 5, kForward, {{kToTir, bench.tirn}});
    CHECK(bench.tir_of(5) == 0);
    using In = prm::modify_flow_table_in;
    using Context = prm::flow_table_context;
    auto in = FirmwareBench::input<In>(Opcode::MODIFY_FLOW_TABLE);
    in.view().set<In::table_id>(table);
    in.view().set<In::modify_field_select>(1U);
    in.view().set<In::flow_table_context, Context::table_miss_action>(1U);
    in.view().set<In::flow_table_context, Context::table_miss_id>(next);
    REQUIRE(bench.run<prm::modify_flow_table_out>(in).ok());
    CHECK(bench.tir_of(5) == bench.tirn);
    CHECK(bench.tir_of(6) == 0);
    in.view().set<In::flow_table_context, Context::table_miss_action>(0U);
    REQUIRE(bench.run<prm::modify_flow_table_out>(in).ok());
    CHECK(bench.tir_of(5) == 0);
}

TEST_CASE("flow counters are read, in blocks and cleared", "[flow_traffic]") {
    TrafficBench bench;
    const std::uint32_t table = bench.create_table(1);
    bench.set_root(table);
    const std::uint32_t group = bench.create_group(table, 0, 3);
    const std::uint32_t block = bench.alloc_counter(1);
    bench.set_rule(table, group, 0, 5, kForward | kCount, {{kToTir, bench.tirn}}, {block + 2});
    bench.set_rule(table, group, 1, 6, kDrop | kCount, {}, {block + 3});
    for (int i = 0; i < 3; ++i) CHECK(bench.tir_of(5, 1000) == bench.tirn);
    CHECK(bench.tir_of(6, 60) == 0);
    CHECK(bench.tir_of(7) == 0);
    const TrafficBench::Counts none{0, 0};
    const TrafficBench::Counts forwarded{3, 3000};
    const TrafficBench::Counts dropped{1, 60};
    CHECK(bench.query(block, 4) ==
          std::vector<TrafficBench::Counts>{none, none, forwarded, dropped});
    CHECK(bench.query(block + 2, 0, true) == std::vector<TrafficBench::Counts>{forwarded});
    CHECK(bench.query(block, 4, true) ==
          std::vector<TrafficBench::Counts>{none, none, none, dropped});
    CHECK(bench.tir_of(6, 60) == 0);
    CHECK(bench.query(block, 4) == std::vector<TrafficBench::Counts>{none, none, none, dropped});
}

TEST_CASE("sent packets follow transmit tables, and header rewrites are done", "[flow_traffic]") {
    const std::string tx = "flow_table_nic_cap.flow_table_properties_nic_transmit.";
    TrafficBench bench(capability({{tx + "ft_support", "1"},
                                   {tx + "log_max_ft_size", "10"},
                                   {tx + "max_ft_level", "10"},
                                   {tx + "max_modify_header_actions", "4"}}));
    auto made = EthernetBench::table_input(1);
    made.view().set<prm::create_flow_table_in::table_type>(1U);
    const auto created = bench.run<prm::create_flow_table_out>(made);
    REQUIRE(created.ok());
    const auto table = created.get<prm::create_flow_table_out::table_id>();
    // All packets: the mask is empty.
    auto group_in = FirmwareBench::input<prm::create_flow_group_in>(Opcode::CREATE_FLOW_GROUP);
    group_in.view().set<prm::create_flow_group_in::table_type>(1U);
    group_in.view().set<prm::create_flow_group_in::table_id>(table);
    const auto grouped = bench.run<prm::create_flow_group_out>(group_in);
    REQUIRE(grouped.ok());
    auto root = FirmwareBench::input<prm::set_flow_table_root_in>(Opcode::SET_FLOW_TABLE_ROOT);
    root.view().set<prm::set_flow_table_root_in::table_type>(1U);
    root.view().set<prm::set_flow_table_root_in::table_id>(table);
    REQUIRE(bench.run<prm::set_flow_table_root_out>(root).ok());
    using Rewrite = prm::alloc_modify_header_context_in;
    auto rewrite = FirmwareBench::input<Rewrite>(Opcode::ALLOC_MODIFY_HEADER_CONTEXT, 0, 16);
    rewrite.view().set<Rewrite::table_type>(1U);
    rewrite.view().set<Rewrite::num_of_actions>(2U);
    const auto actions = rewrite.view().tail<Rewrite::actions>();
    model::store_be<std::uint64_t>(actions.data(), SteeringBench::set_action(1, 0x11223344));
    model::store_be<std::uint64_t>(actions.data() + 8, SteeringBench::add_action(0xa, 0xff));
    const auto allocated = bench.run<prm::alloc_modify_header_context_out>(rewrite);
    REQUIRE(allocated.ok());
    auto rule = EthernetBench::entry_input(
        table, grouped.get<prm::create_flow_group_out::group_id>(), 0, kAllow | kModifyHeader, {});
    rule.view().set<prm::set_fte_in::table_type>(1U);
    rule.view().set<prm::set_fte_in::flow_context, prm::flow_context::modify_header_id>(
        allocated.get<prm::alloc_modify_header_context_out::modify_header_id>());
    REQUIRE(bench.run<prm::set_fte_out>(rule).ok());
    KeyPacket packet;
    bench.steering().transmit(packet, bench.deliveries);
    REQUIRE(bench.deliveries.size() == 1);
    CHECK(bench.deliveries[0].kind == model::Delivery::Kind::wire);
    CHECK(packet.edits == std::vector<std::string>{"set 1 0 0 287454020", "add 10 255"});
}

TEST_CASE("nothing is left to meet after the last table, or a teardown", "[flow_traffic]") {
    TrafficBench bench;
    const std::uint32_t table = bench.create_table(1);
    bench.set_root(table);
    const std::uint32_t group = bench.create_group(table, 0, 3);
    bench.set_rule(table, group, 0, 5, kForward, {{kToTir, bench.tirn}});
    CHECK(bench.tir_of(5) == bench.tirn);
    bench.remove_rule(table, 0);
    REQUIRE(bench.destroy_group(table, group).ok());
    REQUIRE(bench.destroy_table(table).ok());
    CHECK(bench.tir_of(5) == 0);
    const std::uint32_t again = bench.create_table(1);
    bench.set_root(again);
    bench.set_rule(again, bench.create_group(again, 0, 3), 0, 5, kForward, {{kToTir, bench.tirn}});
    CHECK(bench.tir_of(5) == bench.tirn);
    bench.function().tear_down();
    CHECK(bench.tir_of(5) == 0);
    CHECK(bench.steering().counters()[FlowTableType::nic_rx].packets == 1);
}

}  // namespace
}  // namespace cxsim::test
