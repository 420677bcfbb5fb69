// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ethernet_bench.h"

namespace cxsim::test {
namespace {

using prm::Opcode;
using prm::Status;
using Context = prm::flow_table_context;
namespace syndrome = firmware_stub::syndrome;

const std::string kRx = "flow_table_nic_cap.flow_table_properties_nic_receive.";

enum Action : std::uint32_t {
    kAllow = 1,
    kDrop = 2,
    kForward = 4,
    kCount = 8,
    kReformat = 0x10,
    kDecap = 0x20,
    kModifyHeader = 0x40,
};
constexpr std::uint32_t kToTable = 1;
constexpr std::uint32_t kToTir = 2;

struct RuleBench : EthernetBench {
    explicit RuleBench(std::vector<model::Override> overrides = {})
        : EthernetBench(std::move(overrides)),
          tirn(create_tir(create_rq())),
          table(create_table(1)),
          next(create_table(2)),
          group(create_group(table, 0, 3)) {}

    Answer<prm::set_fte_out> set(std::uint32_t index, std::uint32_t action,
                                 const std::vector<Destination>& destinations,
                                 const std::vector<std::uint32_t>& counters = {}) {
        return run<prm::set_fte_out>(
            entry_input(table, group, index, action, destinations, counters));
    }
    Answer<prm::query_fte_out> query(std::uint32_t index, std::size_t room) {
        using In = prm::query_fte_in;
        auto in = input<In>(Opcode::QUERY_FLOW_TABLE_ENTRY);
        in.view().set<In::table_id>(table);
        in.view().set<In::flow_index>(index);
        return run<prm::query_fte_out>(in, room);
    }
    Answer<prm::delete_fte_out> remove(std::uint32_t index) {
        using In = prm::delete_fte_in;
        auto in = input<In>(Opcode::DELETE_FLOW_TABLE_ENTRY);
        in.view().set<In::table_id>(table);
        in.view().set<In::flow_index>(index);
        return run<prm::delete_fte_out>(in);
    }
    std::uint32_t users_of_tir() { return resources().tirs.find(tirn)->users; }

    std::uint32_t tirn;
    std::uint32_t table;
    std::uint32_t next;
    std::uint32_t group;
};

TEST_CASE("a rule pins what it uses until it is deleted", "[flow_entry]") {
    RuleBench bench;
    const std::uint32_t counter = bench.alloc_counter();
    const std::uint64_t before = bench.digest();
    REQUIRE(bench.set(2, kForward | kCount, {{kToTir, bench.tirn}}, {counter}).ok());
    CHECK(bench.users_of_tir() == 1);
    const auto answer = bench.query(2, 16);
    REQUIRE(answer.ok());
    const auto context = answer.out.view().nested<prm::query_fte_out::flow_context>();
    CHECK(context.get<prm::flow_context::action>() == (kForward | kCount));
    CHECK(context.get<prm::flow_context::destination_list_size>() == 1);
    const prm::ConstView<prm::dest_format_struct> destination(
        context.bytes().subspan(prm::flow_context::kBytes, 8));
    CHECK(destination.get<prm::dest_format_struct::destination_id>() == bench.tirn);
    CHECK(refused(bench.query(2, 8), Status::BAD_OUTP_LEN));
    CHECK(refused(bench.query(1, 16), Status::BAD_RES_STATE));
    CHECK(refused(bench.destroy_group(bench.table, bench.group), Status::BAD_RES_STATE,
                  syndrome::kFlowGroupInUse));
    CHECK(refused(bench.by_number<prm::dealloc_flow_counter_in, prm::dealloc_flow_counter_out,
                                  prm::dealloc_flow_counter_in::flow_counter_id>(
                      Opcode::DEALLOC_FLOW_COUNTER, counter),
                  Status::BAD_RES_STATE));
    CHECK(refused(bench.set(2, kForward, {{kToTir, bench.tirn}}), Status::BAD_RES_STATE));
    CHECK(bench.remove(2).ok());
    CHECK(bench.users_of_tir() == 0);
    CHECK(bench.digest() == before);
    CHECK(refused(bench.remove(2), Status::BAD_RES_STATE));
    CHECK(refused(bench.remove(9), Status::BAD_RES_STATE));
}

TEST_CASE("a rule is modified field by field", "[flow_entry]") {
    RuleBench bench;
    REQUIRE(bench.set(0, kForward, {{kToTir, bench.tirn}}).ok());
    using In = prm::set_fte_in;
    const auto modify = [&](std::uint32_t action,
                            const std::vector<EthernetBench::Destination>& destinations,
                            std::uint32_t mask) {
        auto in = EthernetBench::entry_input(bench.table, bench.group, 0, action, destinations);
        in.view().set<In::op_mod>(1U);
        in.view().set<In::modify_enable_mask>(mask);
        in.view().set<In::flow_context, prm::flow_context::flow_tag>(7U);
        return bench.run<prm::set_fte_out>(in);
    };
    CHECK(modify(kForward, {{kToTable, bench.next}}, 4).ok());
    CHECK(bench.users_of_tir() == 0);
    CHECK(bench.resources().flow_tables.find(bench.next)->users == 1);
    const auto tag = [&] {
        return bench.query(0, 8)
            .get<prm::query_fte_out::flow_context, prm::flow_context::flow_tag>();
    };
    CHECK(tag() == 0);
    CHECK(modify(kForward, {{kToTir, bench.tirn}}, 2).ok());
    CHECK(tag() == 7);
    CHECK(bench.users_of_tir() == 0);
    // Drop without taking the destinations away contradicts itself, and nothing changes.
    const std::uint64_t before = bench.digest();
    CHECK(refused(modify(kDrop, {}, 1), Status::BAD_PARAM));
    CHECK(bench.digest() == before);
    CHECK(modify(kDrop, {}, 5).ok());
    CHECK(bench.resources().flow_tables.find(bench.next)->users == 0);
    CHECK(refused(modify(kDrop, {}, 0x10), Status::BAD_PARAM));
    CHECK(bench.remove(0).ok());
    CHECK(refused(modify(kDrop, {}, 1), Status::BAD_RES_STATE));
    RuleBench rigid(capability({{kRx + "flow_modify_en", "0"}}));
    REQUIRE(rigid.set(0, kDrop, {}).ok());
    auto in = EthernetBench::entry_input(rigid.table, rigid.group, 0, kDrop, {});
    in.view().set<In::op_mod>(1U);
    CHECK(refused(rigid.run<prm::set_fte_out>(in), Status::BAD_PARAM));
}

TEST_CASE("SET_FLOW_TABLE_ENTRY refuses rules that make no sense", "[flow_entry]") {
    // A card whose rules only forward, drop and count.
    RuleBench bench(capability({{kRx + "max_modify_header_actions", "0"},
                                {kRx + "reformat", "0"},
                                {kRx + "decap", "0"},
                                {kRx + "pop_vlan", "0"},
                                {kRx + "push_vlan", "0"}}));
    using In = prm::set_fte_in;
    using V = prm::View<In>;
    using Flow = prm::flow_context;
    check_refusals<prm::set_fte_out>(
        bench,
        EthernetBench::entry_input(bench.table, bench.group, 0, kForward, {{kToTir, bench.tirn}}),
        {
            {"table", [](V in) { in.set<In::table_id>(99U); }, Status::BAD_RES_STATE},
            {"group", [](V in) { in.set<In::flow_context, Flow::group_id>(99U); },
             Status::BAD_RES_STATE},
            {"index", [](V in) { in.set<In::flow_index>(4U); }, Status::BAD_PARAM},
            {"vport", [](V in) { in.set<In::vport_number>(3U); }, Status::BAD_PARAM},
            {"value",
             [](V in) {
                 in.set<In::flow_context, Flow::match_value, prm::fte_match_param::outer_headers,
                        prm::fte_match_set_lyr_2_4::ethertype>(0x800U);
             },
             Status::BAD_PARAM, syndrome::kFlowEntryUnmatchedBits},
            {"no fate", [](V in) { in.set<In::flow_context, Flow::action>(8U); }, Status::BAD_PARAM,
             syndrome::kFlowEntryNoAction},
            {"two fates", [](V in) { in.set<In::flow_context, Flow::action>(6U); },
             Status::BAD_PARAM},
            {"allow", [](V in) { in.set<In::flow_context, Flow::action>(1U); }, Status::BAD_PARAM},
            {"drop and rewrite", [](V in) { in.set<In::flow_context, Flow::action>(0x42U); },
             Status::BAD_PARAM, syndrome::kFlowEntryDropAndModify},
            {"rewrite", [](V in) { in.set<In::flow_context, Flow::action>(0x44U); },
             Status::BAD_PARAM},
            {"reformat", [](V in) { in.set<In::flow_context, Flow::action>(0x14U); },
             Status::BAD_PARAM},
            {"decap", [](V in) { in.set<In::flow_context, Flow::action>(0x24U); },
             Status::BAD_PARAM},
            {"pop", [](V in) { in.set<In::flow_context, Flow::action>(0x84U); }, Status::BAD_PARAM},
            {"push", [](V in) { in.set<In::flow_context, Flow::action>(0x104U); },
             Status::BAD_PARAM},
            {"decrypt", [](V in) { in.set<In::flow_context, Flow::action>(0x1004U); },
             Status::BAD_PARAM},
            {"meter", [](V in) { in.set<In::flow_context, Flow::action>(0x4004U); },
             Status::BAD_PARAM},
            {"count nothing", [](V in) { in.set<In::flow_context, Flow::action>(0xcU); },
             Status::BAD_PARAM},
            {"drop with a destination", [](V in) { in.set<In::flow_context, Flow::action>(2U); },
             Status::BAD_PARAM},
            {"source", [](V in) { in.set<In::flow_context, Flow::flow_source>(1U); },
             Status::BAD_PARAM},
            {"list", [](V in) { in.set<In::flow_context, Flow::destination_list_size>(2U); },
             Status::BAD_INP_LEN},
            {"no list", [](V in) { in.set<In::flow_context, Flow::destination_list_size>(0U); },
             Status::BAD_PARAM},
        });
}

TEST_CASE("SET_FLOW_TABLE_ENTRY refuses destinations that cannot be", "[flow_entry]") {
    RuleBench bench(capability({{kRx + "ignore_flow_level", "0"}}));
    const std::uint32_t shallow = bench.create_table(1);
    for (const EthernetBench::Destination& destination :
         std::initializer_list<EthernetBench::Destination>{{kToTir, 0xffffff},
                                                           {kToTable, 0xffffff},
                                                           {0, 0},
                                                           {8, 0},
                                                           {6, 1},
                                                           {10, bench.next},
                                                           {3, 1}}) {
        CAPTURE(destination.type, destination.number);
        CHECK(refused(bench.set(0, kForward, {destination}), Status::BAD_PARAM));
    }
    CHECK(refused(bench.set(0, kForward, {{kToTable, shallow}}), Status::BAD_PARAM,
                  syndrome::kFlowEntryDestinationLevel));
    auto ignore =
        EthernetBench::entry_input(bench.table, bench.group, 0, kForward, {{kToTable, shallow}});
    ignore.view().set<prm::set_fte_in::ignore_flow_level>(1U);
    CHECK(refused(bench.run<prm::set_fte_out>(ignore), Status::BAD_PARAM));
    CHECK(refused(bench.set(0, kForward | kCount, {{kToTir, bench.tirn}}, {0xffffff}),
                  Status::BAD_PARAM));
    CHECK(refused(bench.set(0, kForward, {{kToTir, bench.tirn}}, {bench.alloc_counter()}),
                  Status::BAD_PARAM));
    RuleBench able(capability({{kRx + "ignore_flow_level", "1"},
                               {kRx + "log_max_destination", "1"},
                               {kRx + "flow_counter", "0"},
                               {"flow_table_nic_cap.nic_rx_multi_path_tirs", "0"},
                               {"flow_table_nic_cap.nic_rx_multi_path_tirs_fts", "0"}}));
    auto back = EthernetBench::entry_input(able.table, able.group, 0, kForward,
                                           {{kToTable, able.create_table(0)}});
    CHECK(refused(able.run<prm::set_fte_out>(back), Status::BAD_PARAM,
                  syndrome::kFlowEntryDestinationLevel));
    back.view().set<prm::set_fte_in::ignore_flow_level>(1U);
    CHECK(able.run<prm::set_fte_out>(back).ok());
    const EthernetBench::Destination tir{kToTir, able.tirn};
    CHECK(refused(able.set(1, kForward, {tir, tir, tir}), Status::BAD_PARAM));
    CHECK(refused(able.set(1, kForward, {tir, tir}), Status::BAD_PARAM));
    CHECK(refused(able.set(1, kForward, {tir, {kToTable, able.next}}), Status::BAD_PARAM));
    CHECK(
        refused(able.set(1, kForward | kCount, {tir}, {able.alloc_counter()}), Status::BAD_PARAM));
}

// ---- Counters ----

Answer<prm::query_flow_counter_out> query_counters(EthernetBench& bench, std::uint32_t number,
                                                   std::uint32_t count, bool clear,
                                                   std::size_t room) {
    using In = prm::query_flow_counter_in;
    auto in = FirmwareBench::input<In>(Opcode::QUERY_FLOW_COUNTER);
    in.view().set<In::flow_counter_id>(number);
    in.view().set<In::num_of_counters>(count);
    in.view().set<In::clear>(clear);
    return bench.run<prm::query_flow_counter_out>(in, room * 16);
}

Answer<prm::dealloc_flow_counter_out> free_counter(EthernetBench& bench, std::uint32_t number) {
    return bench.by_number<prm::dealloc_flow_counter_in, prm::dealloc_flow_counter_out,
                           prm::dealloc_flow_counter_in::flow_counter_id>(
        Opcode::DEALLOC_FLOW_COUNTER, number);
}

TEST_CASE("a flow counter is read and cleared", "[flow_counter]") {
    EthernetBench bench;
    const std::uint64_t before = bench.digest();
    const std::uint32_t number = bench.alloc_counter();
    model::FlowCounter* counter = bench.resources().flow_counters.find(number);
    counter->packets = 3;
    counter->octets = 1000;
    using Out = prm::query_flow_counter_out;
    const auto packets = [](const Answer<Out>& answer, std::size_t index) {
        return answer.out.view()
            .at<Out::flow_statistics>(index)
            .get<prm::traffic_counter::packets>();
    };
    const auto answer = query_counters(bench, number, 0, true, 1);
    REQUIRE(answer.ok());
    CHECK(packets(answer, 0) == 3);
    CHECK(packets(query_counters(bench, number, 0, false, 1), 0) == 0);
    CHECK(refused(query_counters(bench, number, 0, false, 0), Status::BAD_OUTP_LEN));
    CHECK(refused(query_counters(bench, number + 1, 0, false, 1), Status::BAD_RES_STATE));
    CHECK(refused(query_counters(bench, number, 1025, false, 1025), Status::BAD_PARAM));
    CHECK(free_counter(bench, number).ok());
    CHECK(bench.digest() == before);
    CHECK(refused(free_counter(bench, number), Status::BAD_RES_STATE));
}

TEST_CASE("a block of flow counters has consecutive numbers and goes as one", "[flow_counter]") {
    EthernetBench bench;
    const std::uint64_t before = bench.digest();
    const std::uint32_t single = bench.alloc_counter();
    const std::uint32_t block = bench.alloc_counter(1);
    CHECK(bench.resources().flow_counters.size() == 129);
    bench.resources().flow_counters.find(block + 127)->packets = 9;
    const auto answer = query_counters(bench, block, 128, false, 128);
    REQUIRE(answer.ok());
    CHECK(answer.out.view()
              .at<prm::query_flow_counter_out::flow_statistics>(127)
              .get<prm::traffic_counter::packets>() == 9);
    // The driver reads aligned ranges; number 0 is in them and never allocated.
    CHECK(query_counters(bench, 0, 4, false, 4).ok());
    CHECK(refused(free_counter(bench, block + 1), Status::BAD_PARAM));
    bench.resources().pin({model::ObjectKind::flow_counter, block + 5});
    CHECK(refused(free_counter(bench, block), Status::BAD_RES_STATE));
    bench.resources().unpin({model::ObjectKind::flow_counter, block + 5});
    CHECK(free_counter(bench, block).ok());
    CHECK(bench.alloc_counter() == block);
    CHECK(bench.alloc_counter(1) == block + 1);
    CHECK(free_counter(bench, block + 1).ok());
    CHECK(free_counter(bench, block).ok());
    CHECK(free_counter(bench, single).ok());
    CHECK(bench.digest() == before);
    using In = prm::alloc_flow_counter_in;
    using V = prm::View<In>;
    check_refusals<prm::alloc_flow_counter_out>(
        bench, FirmwareBench::input<In>(Opcode::ALLOC_FLOW_COUNTER),
        {
            {"larger", [](V in) { in.set<In::flow_counter_bulk>(0x80U); }, Status::BAD_PARAM},
            {"two sizes", [](V in) { in.set<In::flow_counter_bulk>(3U); }, Status::BAD_PARAM},
            {"log", [](V in) { in.set<In::flow_counter_bulk_log_size>(1U); }, Status::BAD_PARAM},
        });
}

// ---- Header rewrites and reformats ----

prm::Buffer<prm::alloc_modify_header_context_in> rewrite_input(std::uint32_t count) {
    using In = prm::alloc_modify_header_context_in;
    auto in = FirmwareBench::input<In>(Opcode::ALLOC_MODIFY_HEADER_CONTEXT, 0, count * 8);
    in.view().set<In::num_of_actions>(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        const prm::View<prm::set_action_in> action(in.view().tail<In::actions>().subspan(i * 8, 8));
        action.set<prm::set_action_in::action_type>(1U);
    }
    return in;
}

TEST_CASE("a header rewrite is limited, used by a rule and freed after it", "[header_rewrite]") {
    RuleBench bench(capability({{kRx + "max_modify_header_actions", "2"}}));
    using In = prm::alloc_modify_header_context_in;
    const auto allocated = bench.run<prm::alloc_modify_header_context_out>(rewrite_input(2));
    REQUIRE(allocated.ok());
    const auto number = allocated.get<prm::alloc_modify_header_context_out::modify_header_id>();
    CHECK(refused(bench.run<prm::alloc_modify_header_context_out>(rewrite_input(3)),
                  Status::LIM_ERR, syndrome::kModifyHeaderTooLong));
    using V = prm::View<In>;
    check_refusals<prm::alloc_modify_header_context_out>(
        bench, rewrite_input(1),
        {
            {"none", [](V in) { in.set<In::num_of_actions>(0U); }, Status::BAD_PARAM},
            {"short", [](V in) { in.set<In::num_of_actions>(2U); }, Status::BAD_INP_LEN},
            {"type", [](V in) { in.set<In::table_type>(4U); }, Status::BAD_PARAM},
            {"action", [](V in) { in.tail<In::actions>()[0] = std::byte{0x40}; },
             Status::BAD_PARAM},
        });
    auto rule = EthernetBench::entry_input(bench.table, bench.group, 0, kForward | kModifyHeader,
                                           {{kToTir, bench.tirn}});
    CHECK(refused(bench.run<prm::set_fte_out>(rule), Status::BAD_RES_STATE));
    rule.view().set<prm::set_fte_in::flow_context, prm::flow_context::modify_header_id>(number);
    REQUIRE(bench.run<prm::set_fte_out>(rule).ok());
    const auto free = [&] {
        return bench.by_number<prm::dealloc_modify_header_context_in,
                               prm::dealloc_modify_header_context_out,
                               prm::dealloc_modify_header_context_in::modify_header_id>(
            Opcode::DEALLOC_MODIFY_HEADER_CONTEXT, number);
    };
    CHECK(refused(free(), Status::BAD_RES_STATE, syndrome::kModifyHeaderInUse));
    REQUIRE(bench.remove(0).ok());
    CHECK(free().ok());
    CHECK(refused(free(), Status::BAD_RES_STATE));
}

prm::Buffer<prm::alloc_packet_reformat_context_in> reformat_input(std::uint32_t type,
                                                                  std::uint32_t size) {
    using In = prm::alloc_packet_reformat_context_in;
    auto in =
        FirmwareBench::input<In>(Opcode::ALLOC_PACKET_REFORMAT_CONTEXT, 0, size > 2 ? size - 2 : 0);
    const auto context = in.view().nested<In::packet_reformat_context>();
    context.set<prm::packet_reformat_context_in::reformat_type>(type);
    context.set<prm::packet_reformat_context_in::reformat_data_size>(size);
    for (std::uint32_t i = 0; i < size; ++i) {
        context.bytes()[6 + i] = static_cast<std::byte>(i + 1);
    }
    return in;
}

TEST_CASE("a packet reformat keeps its header and is freed after its rule", "[header_rewrite]") {
    RuleBench bench(
        capability({{kRx + "reformat", "1"}, {"flow_table_nic_cap.max_encap_header_size", "64"}}));
    using Out = prm::alloc_packet_reformat_context_out;
    const auto allocated = bench.run<Out>(reformat_input(2, 50));
    REQUIRE(allocated.ok());
    const auto number = allocated.get<Out::packet_reformat_id>();
    const auto query = [&](std::size_t room) {
        return bench.by_number<prm::query_packet_reformat_context_in,
                               prm::query_packet_reformat_context_out,
                               prm::query_packet_reformat_context_in::packet_reformat_id>(
            Opcode::QUERY_PACKET_REFORMAT_CONTEXT, number, room);
    };
    const auto answer = query(56);
    REQUIRE(answer.ok());
    CHECK(answer.out.bytes().back() == std::byte{50});
    CHECK(refused(query(55), Status::BAD_OUTP_LEN));
    CHECK(refused(bench.run<Out>(reformat_input(2, 65)), Status::BAD_PARAM));
    CHECK(refused(bench.run<Out>(reformat_input(0xf, 14)), Status::BAD_PARAM));  // not offered
    CHECK(refused(bench.run<Out>(reformat_input(0x11, 14)), Status::BAD_PARAM));
    auto truncated = reformat_input(2, 10);
    truncated.view()
        .nested<prm::alloc_packet_reformat_context_in::packet_reformat_context>()
        .set<prm::packet_reformat_context_in::reformat_data_size>(11U);
    CHECK(refused(bench.run<Out>(truncated), Status::BAD_INP_LEN));

    auto table_in = EthernetBench::table_input(1);
    table_in.view().set<prm::create_flow_table_in::flow_table_context, Context::reformat_en>(1U);
    const auto table = bench.run<prm::create_flow_table_out>(table_in);
    REQUIRE(table.ok());
    bench.table = table.get<prm::create_flow_table_out::table_id>();
    bench.group = bench.create_group(bench.table, 0, 3);
    auto rule = EthernetBench::entry_input(bench.table, bench.group, 0, kForward | kReformat,
                                           {{kToTir, bench.tirn}});
    rule.view().set<prm::set_fte_in::flow_context, prm::flow_context::packet_reformat_id>(number);
    REQUIRE(bench.run<prm::set_fte_out>(rule).ok());
    const auto free = [&] {
        return bench.by_number<prm::dealloc_packet_reformat_context_in,
                               prm::dealloc_packet_reformat_context_out,
                               prm::dealloc_packet_reformat_context_in::packet_reformat_id>(
            Opcode::DEALLOC_PACKET_REFORMAT_CONTEXT, number);
    };
    CHECK(refused(free(), Status::BAD_RES_STATE, syndrome::kReformatInUse));
    REQUIRE(bench.remove(0).ok());
    CHECK(free().ok());
    CHECK(refused(free(), Status::BAD_RES_STATE));
    CHECK(refused(query(56), Status::BAD_RES_STATE));
    CHECK(refused(bench.run<prm::set_fte_out>(rule), Status::BAD_RES_STATE,
                  syndrome::kFlowEntryReformatGone));
}

}  // namespace
}  // namespace cxsim::test
