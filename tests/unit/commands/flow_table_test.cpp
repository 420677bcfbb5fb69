// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ethernet_bench.h"

namespace cxsim::test {
namespace {

using prm::Opcode;
using prm::Status;
using Context = prm::flow_table_context;
namespace syndrome = firmware_stub::syndrome;

const std::string kRx = "flow_table_nic_cap.flow_table_properties_nic_receive.";

// ---- Tables ----

prm::Buffer<prm::set_flow_table_root_in> root_input(std::uint32_t table, std::uint32_t op_mod = 0) {
    using In = prm::set_flow_table_root_in;
    auto in = FirmwareBench::input<In>(Opcode::SET_FLOW_TABLE_ROOT, op_mod);
    in.view().set<In::table_id>(table);
    return in;
}

TEST_CASE("tables are chained by misses, and the next one is held", "[flow_table]") {
    EthernetBench bench;
    const std::uint64_t before = bench.digest();
    const std::uint32_t last = bench.create_table(5);
    auto in = EthernetBench::table_input(2);
    in.view().set<prm::create_flow_table_in::flow_table_context, Context::table_miss_action>(1U);
    in.view().set<prm::create_flow_table_in::flow_table_context, Context::table_miss_id>(last);
    const auto created = bench.run<prm::create_flow_table_out>(in);
    REQUIRE(created.ok());
    const auto first = created.get<prm::create_flow_table_out::table_id>();
    CHECK(refused(bench.destroy_table(last), Status::BAD_PARAM, syndrome::kFlowTableInUse));
    const auto query = [&] {
        return bench.by_number<prm::query_flow_table_in, prm::query_flow_table_out,
                               prm::query_flow_table_in::table_id>(Opcode::QUERY_FLOW_TABLE, first);
    };
    REQUIRE(query().ok());
    CHECK(query().get<prm::query_flow_table_out::flow_table_context, Context::table_miss_id>() ==
          last);
    CHECK(query().get<prm::query_flow_table_out::flow_table_context, Context::level>() == 2);
    using Modify = prm::modify_flow_table_in;
    auto modify = FirmwareBench::input<Modify>(Opcode::MODIFY_FLOW_TABLE);
    modify.view().set<Modify::table_id>(first);
    modify.view().set<Modify::modify_field_select>(1U);
    REQUIRE(bench.run<prm::modify_flow_table_out>(modify).ok());
    CHECK(
        query().get<prm::query_flow_table_out::flow_table_context, Context::table_miss_action>() ==
        0);
    CHECK(bench.destroy_table(last).ok());
    CHECK(bench.destroy_table(first).ok());
    CHECK(bench.digest() == before);
    CHECK(refused(bench.destroy_table(first), Status::BAD_PARAM, syndrome::kFlowTableGone));
    CHECK(refused(query(), Status::BAD_RES_STATE));
}

TEST_CASE("CREATE_FLOW_TABLE refuses what the card's tables cannot do", "[flow_table]") {
    EthernetBench bench(
        capability({{kRx + "max_ft_level", "64"},
                    {kRx + "log_max_ft_size", "22"},
                    {kRx + "reformat", "0"},
                    {kRx + "decap", "0"},
                    {"flow_table_nic_cap.flow_table_properties_nic_transmit.ft_support", "0"}}));
    using In = prm::create_flow_table_in;
    using V = prm::View<In>;
    check_refusals<prm::create_flow_table_out>(
        bench, EthernetBench::table_input(3),
        {
            {"vport", [](V in) { in.set<In::vport_number>(0xfffeU); }, Status::BAD_PARAM,
             syndrome::kFlowTableOtherVport},
            {"other vport", [](V in) { in.set<In::other_vport>(1U); }, Status::BAD_PARAM},
            {"transmit", [](V in) { in.set<In::table_type>(1U); }, Status::BAD_PARAM},
            {"e-switch", [](V in) { in.set<In::table_type>(4U); }, Status::BAD_PARAM},
            {"unknown type", [](V in) { in.set<In::table_type>(99U); }, Status::BAD_PARAM},
            {"reformat", [](V in) { in.set<In::flow_table_context, Context::reformat_en>(1U); },
             Status::BAD_PARAM},
            {"decap", [](V in) { in.set<In::flow_table_context, Context::decap_en>(1U); },
             Status::BAD_PARAM},
            {"termination",
             [](V in) { in.set<In::flow_table_context, Context::termination_table>(1U); },
             Status::BAD_PARAM},
            {"software", [](V in) { in.set<In::flow_table_context, Context::sw_owner>(1U); },
             Status::BAD_PARAM},
            {"WQE rules", [](V in) { in.set<In::flow_table_context, Context::rtc_valid>(1U); },
             Status::BAD_PARAM},
            {"size", [](V in) { in.set<In::flow_table_context, Context::log_size>(23U); },
             Status::BAD_PARAM},
            {"level", [](V in) { in.set<In::flow_table_context, Context::level>(65U); },
             Status::BAD_PARAM},
            {"miss action",
             [](V in) { in.set<In::flow_table_context, Context::table_miss_action>(3U); },
             Status::BAD_PARAM},
            {"miss domain",
             [](V in) { in.set<In::flow_table_context, Context::table_miss_action>(2U); },
             Status::BAD_PARAM},
            {"miss table",
             [](V in) { in.set<In::flow_table_context, Context::table_miss_action>(1U); },
             Status::BAD_PARAM},
        });
    const std::uint32_t shallow = bench.create_table(3);
    auto in = EthernetBench::table_input(3);
    in.view().set<In::flow_table_context, Context::table_miss_action>(1U);
    in.view().set<In::flow_table_context, Context::table_miss_id>(shallow);
    CHECK(refused(bench.run<prm::create_flow_table_out>(in), Status::BAD_PARAM));
}

TEST_CASE("MODIFY_FLOW_TABLE refuses unknown tables and fields", "[flow_table]") {
    EthernetBench bench;
    using In = prm::modify_flow_table_in;
    using V = prm::View<In>;
    auto in = FirmwareBench::input<In>(Opcode::MODIFY_FLOW_TABLE);
    in.view().set<In::table_id>(bench.create_table(1));
    in.view().set<In::modify_field_select>(1U);
    check_refusals<prm::modify_flow_table_out>(
        bench, in,
        {
            {"table", [](V v) { v.set<In::table_id>(99U); }, Status::BAD_RES_STATE},
            {"type", [](V v) { v.set<In::table_type>(1U); }, Status::BAD_RES_STATE},
            {"field", [](V v) { v.set<In::modify_field_select>(2U); }, Status::BAD_PARAM},
            {"vport", [](V v) { v.set<In::vport_number>(1U); }, Status::BAD_PARAM},
            {"miss", [](V v) { v.set<In::flow_table_context, Context::table_miss_action>(1U); },
             Status::BAD_PARAM},
        });
}

TEST_CASE("the root table is set, replaced and goes with its table", "[flow_table]") {
    EthernetBench bench;
    const std::uint32_t first = bench.create_table(1);
    const std::uint32_t second = bench.create_table(1);
    CHECK(bench.run<prm::set_flow_table_root_out>(root_input(first)).ok());
    CHECK(bench.run<prm::set_flow_table_root_out>(root_input(second)).ok());
    CHECK(bench.function().flow_table_roots.at(0) == second);
    CHECK(bench.destroy_table(second).ok());
    CHECK(bench.function().flow_table_roots.empty());
    CHECK(refused(bench.run<prm::set_flow_table_root_out>(root_input(second)),
                  Status::BAD_RES_STATE));
    using In = prm::set_flow_table_root_in;
    using V = prm::View<In>;
    check_refusals<prm::set_flow_table_root_out>(
        bench, root_input(first),
        {
            {"type", [](V in) { in.set<In::table_type>(4U); }, Status::BAD_PARAM},
            {"underlay", [](V in) { in.set<In::underlay_qpn>(1U); }, Status::BAD_PARAM},
            {"vport", [](V in) { in.set<In::other_vport>(1U); }, Status::BAD_PARAM},
            {"owner", [](V in) { in.set<In::table_eswitch_owner_vhca_id_valid>(1U); },
             Status::BAD_PARAM},
            {"op_mod", [](V in) { in.set<In::op_mod>(2U); }, Status::BAD_PARAM},
            {"reset", [](V in) { in.set<In::op_mod>(1U); }, Status::BAD_PARAM},
        });
    EthernetBench able(capability({{kRx + "reset_root_to_default", "1"}}));
    const std::uint32_t table = able.create_table(1);
    REQUIRE(able.run<prm::set_flow_table_root_out>(root_input(table)).ok());
    CHECK(able.run<prm::set_flow_table_root_out>(root_input(0, 1)).ok());
    CHECK(able.function().flow_table_roots.empty());
}

// ---- Groups ----

TEST_CASE("a flow group keeps its range and mask", "[flow_group]") {
    EthernetBench bench;
    const std::uint32_t table = bench.create_table(1);
    const std::uint64_t before = bench.digest();
    const std::uint32_t group = bench.create_group(table, 4, 7);
    using In = prm::query_flow_group_in;
    using Out = prm::query_flow_group_out;
    auto in = FirmwareBench::input<In>(Opcode::QUERY_FLOW_GROUP);
    in.view().set<In::table_id>(table);
    in.view().set<In::group_id>(group);
    const auto answer = bench.run<Out>(in);
    REQUIRE(answer.ok());
    CHECK(answer.get<Out::start_flow_index>() == 4);
    CHECK(answer.get<Out::end_flow_index>() == 7);
    CHECK(answer.get<Out::match_criteria_enable>() == 1);
    CHECK(answer.get<Out::match_criteria, prm::fte_match_param::outer_headers,
                     prm::fte_match_set_lyr_2_4::dmac_15_0>() == 0xffff);
    CHECK(refused(bench.destroy_table(table), Status::BAD_PARAM, syndrome::kFlowTableInUse));
    CHECK(bench.destroy_group(table, group).ok());
    CHECK(bench.digest() == before);
    CHECK(refused(bench.destroy_group(table, group), Status::BAD_RES_STATE,
                  syndrome::kFlowGroupInUse));
    CHECK(refused(bench.run<Out>(in), Status::BAD_RES_STATE));
}

TEST_CASE("CREATE_FLOW_GROUP refuses ranges and masks that do not fit", "[flow_group]") {
    EthernetBench bench;
    using In = prm::create_flow_group_in;
    using V = prm::View<In>;
    const std::uint32_t table = bench.create_table(1);
    bench.create_group(table, 4, 7);
    check_refusals<prm::create_flow_group_out>(
        bench, EthernetBench::group_input(table, 8, 9),
        {
            {"table", [](V in) { in.set<In::table_id>(99U); }, Status::BAD_RES_STATE},
            {"type", [](V in) { in.set<In::table_type>(1U); }, Status::BAD_RES_STATE},
            {"vport", [](V in) { in.set<In::vport_number>(1U); }, Status::BAD_PARAM},
            {"overlap at the start", [](V in) { in.set<In::start_flow_index>(7U); },
             Status::BAD_PARAM},
            {"overlap around", [](V in) { in.set<In::start_flow_index>(2U); }, Status::BAD_PARAM},
            {"backwards", [](V in) { in.set<In::end_flow_index>(7U); }, Status::BAD_PARAM},
            {"beyond", [](V in) { in.set<In::end_flow_index>(16U); }, Status::BAD_PARAM},
            {"hash", [](V in) { in.set<In::group_type>(1U); }, Status::BAD_PARAM},
            {"definer", [](V in) { in.set<In::match_definer_id>(1U); }, Status::BAD_PARAM},
            {"criteria", [](V in) { in.set<In::match_criteria_enable>(0x81U); }, Status::BAD_PARAM},
            {"mask empty", [](V in) { in.set<In::match_criteria_enable>(3U); }, Status::BAD_PARAM,
             syndrome::kFlowGroupMaskEmpty},
            {"mask not enabled", [](V in) { in.set<In::match_criteria_enable>(0U); },
             Status::BAD_PARAM, syndrome::kFlowGroupMaskNotEnabled},
        });
}

TEST_CASE("CREATE_FLOW_GROUP asks which fields the table can match", "[flow_group]") {
    EthernetBench bench(capability({{kRx + "ft_field_support.outer_frag", "0"},
                                    {kRx + "ft_field_bitmask_support.outer_dmac", "0"},
                                    {kRx + "ft_field_support.bth_dst_qp", "0"}}));
    using In = prm::create_flow_group_in;
    using V = prm::View<In>;
    using Match = prm::fte_match_param;
    using Headers = prm::fte_match_set_lyr_2_4;
    const std::uint32_t table = bench.create_table(1);
    check_refusals<prm::create_flow_group_out>(
        bench, EthernetBench::group_input(table, 0, 3),
        {
            {"not offered",
             [](V in) { in.set<In::match_criteria, Match::outer_headers, Headers::frag>(1U); },
             Status::BAD_PARAM},
            {"in part",
             [](V in) {
                 in.set<In::match_criteria, Match::outer_headers, Headers::dmac_15_0>(0x8000U);
             },
             Status::BAD_PARAM},
            {"misc",
             [](V in) {
                 in.set<In::match_criteria_enable>(3U);
                 in.set<In::match_criteria, Match::misc_parameters,
                        prm::fte_match_set_misc::bth_dst_qp>(0xffffffU);
             },
             Status::BAD_PARAM},
        });
    auto in = EthernetBench::group_input(table, 0, 3);
    in.view().set<In::match_criteria, Match::outer_headers, Headers::ip_version>(0xfU);
    CHECK(bench.run<prm::create_flow_group_out>(in).ok());
}

}  // namespace
}  // namespace cxsim::test
