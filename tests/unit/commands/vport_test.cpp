// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ethernet_bench.h"
#include "tests/support/fake_port.h"

namespace cxsim::test {
namespace {

using prm::Opcode;
using prm::Status;
using Context = prm::nic_vport_context;
using Select = prm::modify_nic_vport_field_select;

Answer<prm::query_nic_vport_context_out> query_context(EthernetBench& bench, std::uint32_t list = 0,
                                                       std::size_t room = 0) {
    using In = prm::query_nic_vport_context_in;
    auto in = FirmwareBench::input<In>(Opcode::QUERY_NIC_VPORT_CONTEXT);
    in.view().set<In::allowed_list_type>(list);
    return bench.run<prm::query_nic_vport_context_out>(in, room * 8);
}

template <class Field>
auto shown(EthernetBench& bench) {
    const auto answer = query_context(bench);
    REQUIRE(answer.ok());
    return answer.template get<prm::query_nic_vport_context_out::nic_vport_context, Field>();
}

prm::Buffer<prm::modify_nic_vport_context_in> modify_input(std::size_t list_elements = 0) {
    return FirmwareBench::input<prm::modify_nic_vport_context_in>(Opcode::MODIFY_NIC_VPORT_CONTEXT,
                                                                  0, list_elements * 8);
}

template <class SelectField, class Field>
prm::Buffer<prm::modify_nic_vport_context_in> set_field(std::uint64_t value) {
    using In = prm::modify_nic_vport_context_in;
    auto in = modify_input();
    in.view().set<In::field_select, SelectField>(1U);
    in.view().set<In::nic_vport_context, Field>(value);
    return in;
}

prm::Buffer<prm::modify_nic_vport_context_in> list_input(
    std::uint32_t type, const std::vector<std::uint64_t>& elements) {
    using In = prm::modify_nic_vport_context_in;
    auto in = modify_input(elements.size());
    in.view().set<In::field_select, Select::addresses_list>(1U);
    const auto context = in.view().nested<In::nic_vport_context>();
    context.set<Context::allowed_list_type>(type);
    context.set<Context::allowed_list_size>(elements.size());
    for (std::size_t i = 0; i < elements.size(); ++i) {
        context.set_at<Context::current_uc_mac_address>(i, elements[i]);
    }
    return in;
}

TEST_CASE("the vport starts with its address, guids and MTU", "[vport]") {
    EthernetBench bench;
    const auto answer = query_context(bench);
    REQUIRE(answer.ok());
    const auto context =
        answer.out.view().nested<prm::query_nic_vport_context_out::nic_vport_context>();
    CHECK(context.get<Context::permanent_address, prm::mac_address_layout::mac_addr_31_0>() ==
          0xa1123456);
    CHECK(context.get<Context::node_guid>() == bench.config.node_guid);
    CHECK(context.get<Context::mtu>() == 1522);
    CHECK(context.get<Context::roce_en>() == 0);
}

TEST_CASE("fields of the vport context change when they are selected", "[vport]") {
    EthernetBench bench;
    bench.firmware.port().config.max_mtu = 10240;
    using Out = prm::modify_nic_vport_context_out;
    CHECK(bench.run<Out>(set_field<Select::mtu, Context::mtu>(9000)).ok());
    CHECK(shown<Context::mtu>(bench) == 9000);
    CHECK(bench.run<Out>(set_field<Select::roce_en, Context::roce_en>(1)).ok());
    CHECK(shown<Context::roce_en>(bench) == 1);
    CHECK(bench.run<Out>(set_field<Select::promisc, Context::promisc_all>(1)).ok());
    CHECK(shown<Context::promisc_all>(bench) == 1);
    CHECK(bench.run<Out>(set_field<Select::min_inline, Context::min_wqe_inline_mode>(2)).ok());
    CHECK(shown<Context::min_wqe_inline_mode>(bench) == 2);
    CHECK(bench.run<Out>(set_field<Select::disable_uc_local_lb, Context::disable_uc_local_lb>(1))
              .ok());
    CHECK(shown<Context::disable_uc_local_lb>(bench) == 1);
    CHECK(bench.run<Out>(set_field<Select::change_event, Context::event_on_mtu>(1)).ok());
    CHECK(shown<Context::event_on_mtu>(bench) == 1);
    CHECK(shown<Context::mtu>(bench) == 9000);
}

TEST_CASE("address and VLAN lists come back as they were set", "[vport]") {
    EthernetBench bench;
    using Out = prm::modify_nic_vport_context_out;
    using Query = prm::query_nic_vport_context_out;
    const std::vector<std::vector<std::uint64_t>> lists{
        {0x0c42a1123456, 0x020000000001},
        {0x01005e000001, 0x333300000001},
        {std::uint64_t{5} << 32, std::uint64_t{4094} << 32}};
    for (std::uint32_t type = 0; type < lists.size(); ++type) {
        REQUIRE(bench.run<Out>(list_input(type, lists[type])).ok());
    }
    for (std::uint32_t type = 0; type < lists.size(); ++type) {
        CAPTURE(type);
        const auto answer = query_context(bench, type, 2);
        REQUIRE(answer.ok());
        const auto context = answer.out.view().nested<Query::nic_vport_context>();
        CHECK(context.get<Context::allowed_list_size>() == 2);
        for (std::size_t i = 0; i < 2; ++i) {
            CHECK(context.at<Context::current_uc_mac_address>(i) == lists[type][i]);
        }
    }
    CHECK(bench.function().vport().vlan_list == std::vector<std::uint16_t>{5, 4094});
    REQUIRE(bench.run<Out>(list_input(0, {})).ok());
    CHECK(bench.function().vport().unicast_list.empty());
    CHECK(query_context(bench, 1, 0).ok());
}

TEST_CASE("the vport's gate knows its addresses and whether frames come back", "[vport]") {
    EthernetBench bench;
    using Out = prm::modify_nic_vport_context_out;
    const model::VportGate& gate = bench.function().vport().gate;
    const std::uint64_t own = 0x0c42a1123456;
    CHECK(gate.stations == std::vector{own});
    CHECK((gate.loop_unicast && gate.loop_multicast));
    REQUIRE(bench.run<Out>(list_input(0, {0x020000000001})).ok());
    CHECK(gate.is_station(0x020000000001));
    CHECK(gate.is_station(own));
    REQUIRE(bench.run<Out>(list_input(0, {})).ok());
    CHECK_FALSE(gate.is_station(0x020000000001));
    REQUIRE(bench.run<Out>(set_field<Select::disable_uc_local_lb, Context::disable_uc_local_lb>(1))
                .ok());
    CHECK((!gate.loop_unicast && gate.loop_multicast));
    REQUIRE(bench.run<Out>(set_field<Select::disable_mc_local_lb, Context::disable_mc_local_lb>(1))
                .ok());
    CHECK_FALSE(gate.loop_multicast);
}

TEST_CASE("MODIFY_NIC_VPORT_CONTEXT refuses what does not fit", "[vport]") {
    EthernetBench bench;
    using Out = prm::modify_nic_vport_context_out;
    const auto check = [&](const prm::Buffer<prm::modify_nic_vport_context_in>& in,
                           Status status = Status::BAD_PARAM) {
        CHECK(refused(bench.run<Out>(in), status));
    };
    bench.firmware.port().config.max_mtu = 10240;
    check(set_field<Select::mtu, Context::mtu>(0));
    check(set_field<Select::mtu, Context::mtu>(10241));
    check(set_field<Select::min_inline, Context::min_wqe_inline_mode>(4));
    check(set_field<Select::node_guid, Context::node_guid>(1));
    check(set_field<Select::port_guid, Context::port_guid>(1));
    check(set_field<Select::affiliation, Context::affiliation_criteria>(1));
    check(set_field<Select::permanent_address, Context::mtu>(1));  // address stays zero
    check(list_input(0, {0x01005e000001}));
    check(list_input(1, {0x020000000001}));
    check(list_input(3, {}));
    check(list_input(0, std::vector<std::uint64_t>(129, 0x020000000001)));
    auto truncated = list_input(0, {0x020000000001});
    truncated.view()
        .set<prm::modify_nic_vport_context_in::nic_vport_context, Context::allowed_list_size>(2U);
    check(truncated, Status::BAD_INP_LEN);
    auto other = set_field<Select::mtu, Context::mtu>(1500);
    other.view().set<prm::modify_nic_vport_context_in::other_vport>(1U);
    check(other);
    other.view().set<prm::modify_nic_vport_context_in::other_vport>(0U);
    other.view().set<prm::modify_nic_vport_context_in::vport_number>(1U);
    check(other);
    CHECK(refused(query_context(bench, 3), Status::BAD_PARAM));
    CHECK(shown<Context::mtu>(bench) == 1522);

    EthernetBench plain(capability({{"cmd_hca_cap.roce", "0"},
                                    {"cmd_hca_cap.disable_local_lb_uc", "0"},
                                    {"cmd_hca_cap.disable_local_lb_mc", "0"}}));
    CHECK(refused(plain.run<Out>(set_field<Select::roce_en, Context::roce_en>(1)),
                  Status::BAD_PARAM));
    CHECK(plain.run<Out>(set_field<Select::roce_en, Context::roce_en>(0)).ok());
    CHECK(refused(
        plain.run<Out>(set_field<Select::disable_uc_local_lb, Context::disable_uc_local_lb>(1)),
        Status::BAD_PARAM));
    CHECK(refused(
        plain.run<Out>(set_field<Select::disable_mc_local_lb, Context::disable_mc_local_lb>(1)),
        Status::BAD_PARAM));
}

Answer<prm::query_vport_state_out> query_state(EthernetBench& bench, std::uint32_t op_mod) {
    return bench.run<prm::query_vport_state_out>(
        FirmwareBench::input<prm::query_vport_state_in>(Opcode::QUERY_VPORT_STATE, op_mod));
}

Answer<prm::modify_vport_state_out> modify_state(EthernetBench& bench, std::uint32_t op_mod,
                                                 std::uint32_t state) {
    using In = prm::modify_vport_state_in;
    auto in = FirmwareBench::input<In>(Opcode::MODIFY_VPORT_STATE, op_mod);
    in.view().set<In::admin_state>(state);
    return bench.run<prm::modify_vport_state_out>(in);
}

TEST_CASE("the vport is up when the port and its administrator say so", "[vport]") {
    FakePort port;
    EthernetBench bench;
    using Out = prm::query_vport_state_out;
    bench.firmware.attach_port(port);
    CHECK(query_state(bench, 0).get<Out::state>() == 0);
    CHECK(query_state(bench, 0).get<Out::admin_state>() == 1);
    port.plug(true);
    REQUIRE(bench.firmware.port().operational());
    CHECK(query_state(bench, 0).get<Out::state>() == 1);
    CHECK(query_state(bench, 2).get<Out::state>() == 1);
    CHECK(modify_state(bench, 0, 0).ok());
    CHECK(query_state(bench, 0).get<Out::state>() == 0);
    CHECK(query_state(bench, 0).get<Out::admin_state>() == 0);
    CHECK(refused(query_state(bench, 1), Status::BAD_PARAM));
    CHECK(refused(query_state(bench, 3), Status::BAD_PARAM));
    CHECK(refused(modify_state(bench, 0, 3), Status::BAD_PARAM));
    CHECK(refused(modify_state(bench, 1, 1), Status::BAD_PARAM));
    CHECK(refused(modify_state(bench, 2, 1), Status::BAD_PARAM));
    auto other = FirmwareBench::input<prm::query_vport_state_in>(Opcode::QUERY_VPORT_STATE);
    other.view().set<prm::query_vport_state_in::other_vport>(1U);
    CHECK(refused(bench.run<Out>(other), Status::BAD_PARAM));
}

TEST_CASE("vport counters are shown and cleared", "[vport]") {
    EthernetBench bench;
    using In = prm::query_vport_counter_in;
    using Out = prm::query_vport_counter_out;
    bench.function().vport().counters.received_eth_unicast = {3, 300};
    bench.function().vport().counters.local_loopback = {1, 64};
    auto in = FirmwareBench::input<In>(Opcode::QUERY_VPORT_COUNTER);
    in.view().set<In::clear>(1U);
    const auto answer = bench.run<Out>(in);
    REQUIRE(answer.ok());
    CHECK(answer.get<Out::received_eth_unicast, prm::traffic_counter::packets>() == 3);
    CHECK(answer.get<Out::received_eth_unicast, prm::traffic_counter::octets>() == 300);
    CHECK(answer.get<Out::local_loopback, prm::traffic_counter::packets>() == 1);
    CHECK(bench.run<Out>(in).get<Out::received_eth_unicast, prm::traffic_counter::packets>() == 0);
    in.view().set<In::port_num>(2U);
    CHECK(refused(bench.run<Out>(in), Status::BAD_PARAM));
    in.view().set<In::port_num>(0U);
    in.view().set<In::vport_number>(1U);
    CHECK(refused(bench.run<Out>(in), Status::BAD_PARAM));
    EthernetBench plain(capability({{"cmd_hca_cap.vport_counters", "0"}}));
    CHECK(refused(plain.run<Out>(FirmwareBench::input<In>(Opcode::QUERY_VPORT_COUNTER)),
                  Status::BAD_PARAM));
}

TEST_CASE("QUERY_VNIC_ENV counts refused commands", "[vport]") {
    EthernetBench bench(
        capability({{"per_protocol_networking_offload_caps.max_vxlan_udp_ports", "1"}}));
    using In = prm::query_vnic_env_in;
    using Out = prm::query_vnic_env_out;
    using Statistics = prm::vnic_diagnostic_statistics;
    CHECK(refused(query_context(bench, 3), Status::BAD_PARAM));
    using Add = prm::add_vxlan_udp_dport_in;
    auto add = FirmwareBench::input<Add>(Opcode::ADD_VXLAN_UDP_DPORT);
    add.view().set<Add::vxlan_udp_port>(8471U);
    REQUIRE(bench.run<prm::add_vxlan_udp_dport_out>(add).ok());
    add.view().set<Add::vxlan_udp_port>(8472U);
    CHECK(refused(bench.run<prm::add_vxlan_udp_dport_out>(add), Status::LIM_ERR));
    const auto answer = bench.run<Out>(FirmwareBench::input<In>(Opcode::QUERY_VNIC_ENV));
    REQUIRE(answer.ok());
    CHECK(answer.get<Out::vport_env, Statistics::invalid_command>() == 2);
    CHECK(answer.get<Out::vport_env, Statistics::quota_exceeded_command>() == 1);
}

TEST_CASE("QUERY_VNIC_ENV counts the queues in error", "[vport]") {
    EthernetBench bench;
    using In = prm::query_vnic_env_in;
    using Out = prm::query_vnic_env_out;
    const auto errors = [&] {
        const auto answer = bench.run<Out>(FirmwareBench::input<In>(Opcode::QUERY_VNIC_ENV));
        REQUIRE(answer.ok());
        return answer.get<Out::vport_env, prm::vnic_diagnostic_statistics::total_error_queues>();
    };
    CHECK(errors() == 0);
    const std::uint32_t sqn = bench.create_sq(bench.create_tis());
    REQUIRE(bench.run<prm::modify_sq_out>(EthernetBench::modify_sq(sqn, 0, 3)).ok());
    CHECK(errors() == 1);
    auto other = FirmwareBench::input<In>(Opcode::QUERY_VNIC_ENV);
    other.view().set<In::vport_number>(1U);
    CHECK(refused(bench.run<Out>(other), Status::BAD_PARAM));
}

// ---- Tunnel ports, MAC table, wake on LAN ----

template <class In, class Out>
Answer<Out> port_command(EthernetBench& bench, Opcode opcode, std::uint32_t port) {
    auto in = FirmwareBench::input<In>(opcode);
    in.view().template set<typename In::vxlan_udp_port>(port);
    return bench.run<Out>(in);
}

TEST_CASE("VXLAN ports are added once and deleted once", "[tunnel_ports]") {
    EthernetBench bench(
        capability({{"per_protocol_networking_offload_caps.max_vxlan_udp_ports", "2"}}));
    const std::uint64_t before = bench.digest();
    const auto add = [&](std::uint32_t port) {
        return port_command<prm::add_vxlan_udp_dport_in, prm::add_vxlan_udp_dport_out>(
            bench, Opcode::ADD_VXLAN_UDP_DPORT, port);
    };
    const auto remove = [&](std::uint32_t port) {
        return port_command<prm::delete_vxlan_udp_dport_in, prm::delete_vxlan_udp_dport_out>(
            bench, Opcode::DELETE_VXLAN_UDP_DPORT, port);
    };
    CHECK(add(4790).ok());
    CHECK(refused(add(4790), Status::BAD_PARAM));
    CHECK(refused(add(0), Status::BAD_PARAM));
    CHECK(add(8472).ok());
    CHECK(refused(add(1234), Status::LIM_ERR));
    CHECK(remove(4790).ok());
    CHECK(refused(remove(4790), Status::BAD_RES_STATE));
    CHECK(remove(8472).ok());
    CHECK(bench.digest() == before);
}

TEST_CASE("the IANA VXLAN port is always there: added and deleted at any time", "[tunnel_ports]") {
    EthernetBench bench;
    const std::uint64_t before = bench.digest();
    for (int round = 0; round < 2; ++round) {
        CHECK(port_command<prm::add_vxlan_udp_dport_in, prm::add_vxlan_udp_dport_out>(
                  bench, Opcode::ADD_VXLAN_UDP_DPORT, 4789)
                  .ok());
    }
    // As after a reload: the driver deletes what it added to an earlier function.
    for (int round = 0; round < 3; ++round) {
        CHECK(port_command<prm::delete_vxlan_udp_dport_in, prm::delete_vxlan_udp_dport_out>(
                  bench, Opcode::DELETE_VXLAN_UDP_DPORT, 4789)
                  .ok());
    }
    CHECK(bench.digest() == before);
}

TEST_CASE("the MAC table belongs to the e-switch manager", "[l2_table]") {
    using Set = prm::set_l2_table_entry_in;
    auto set = FirmwareBench::input<Set>(Opcode::SET_L2_TABLE_ENTRY);
    set.view().set<Set::table_index>(3U);
    set.view().set<Set::mac_address, prm::mac_address_layout::mac_addr_31_0>(0x12345678U);
    const auto query = [](EthernetBench& bench, std::uint32_t index) {
        return bench.by_number<prm::query_l2_table_entry_in, prm::query_l2_table_entry_out,
                               prm::query_l2_table_entry_in::table_index>(
            Opcode::QUERY_L2_TABLE_ENTRY, index);
    };
    const auto remove = [](EthernetBench& bench, std::uint32_t index) {
        return bench.by_number<prm::delete_l2_table_entry_in, prm::delete_l2_table_entry_out,
                               prm::delete_l2_table_entry_in::table_index>(
            Opcode::DELETE_L2_TABLE_ENTRY, index);
    };
    EthernetBench plain;
    CHECK(refused(plain.run<prm::set_l2_table_entry_out>(set), Status::BAD_OP));
    CHECK(refused(query(plain, 3), Status::BAD_OP));
    CHECK(refused(remove(plain, 3), Status::BAD_OP));
    auto silent = FirmwareBench::input<Set>(Opcode::SET_L2_TABLE_ENTRY);
    silent.view().set<Set::silent_mode_valid>(1U);
    silent.view().set<Set::silent_mode>(1U);
    CHECK(refused(plain.run<prm::set_l2_table_entry_out>(silent), Status::BAD_PARAM));

    EthernetBench manager(capability({{"cmd_hca_cap.eswitch_manager", "1"},
                                      {"cmd_hca_cap.log_max_l2_table", "3"},
                                      {"cmd_hca_cap.silent_mode", "1"}}));
    REQUIRE(manager.run<prm::set_l2_table_entry_out>(set).ok());
    const auto answer = query(manager, 3);
    REQUIRE(answer.ok());
    CHECK(answer.get<prm::query_l2_table_entry_out::mac_address,
                     prm::mac_address_layout::mac_addr_31_0>() == 0x12345678);
    CHECK(refused(query(manager, 4), Status::BAD_RES_STATE));
    CHECK(refused(query(manager, 8), Status::BAD_PARAM));
    CHECK(remove(manager, 3).ok());
    CHECK(refused(remove(manager, 3), Status::BAD_RES_STATE));
    CHECK(manager.run<prm::set_l2_table_entry_out>(silent).ok());
    CHECK(manager.function().silent_mode);
}

TEST_CASE("wake on LAN takes the modes of the card", "[wake_on_lan]") {
    using In = prm::set_wol_rol_in;
    auto in = FirmwareBench::input<In>(Opcode::SET_WOL_ROL);
    in.view().set<In::wol_mode_valid>(1U);
    in.view().set<In::wol_mode>(4U);
    EthernetBench plain;
    CHECK(refused(plain.run<prm::set_wol_rol_out>(in), Status::BAD_PARAM));
    EthernetBench bench(capability({{"cmd_hca_cap.wol_g", "1"}}));
    REQUIRE(bench.run<prm::set_wol_rol_out>(in).ok());
    const auto answer = bench.run<prm::query_wol_rol_out>(
        FirmwareBench::input<prm::query_wol_rol_in>(Opcode::QUERY_WOL_ROL));
    CHECK(answer.get<prm::query_wol_rol_out::wol_mode>() == 4);
    in.view().set<In::rol_mode_valid>(1U);
    in.view().set<In::rol_mode>(4U);
    CHECK(refused(bench.run<prm::set_wol_rol_out>(in), Status::BAD_PARAM));
}

// ---- Scheduling ----

prm::Buffer<prm::create_scheduling_element_in> element_input(std::uint32_t type,
                                                             std::uint32_t parent) {
    using In = prm::create_scheduling_element_in;
    auto in = FirmwareBench::input<In>(Opcode::CREATE_SCHEDULING_ELEMENT);
    in.view().set<In::scheduling_hierarchy>(3U);
    in.view().set<In::scheduling_context, prm::scheduling_context::element_type>(type);
    in.view().set<In::scheduling_context, prm::scheduling_context::parent_element_id>(parent);
    return in;
}

TEST_CASE("scheduling elements form a tree that is taken down from the leaves", "[scheduling]") {
    EthernetBench bench(capability({{"qos_cap.nic_sq_scheduling", "1"},
                                    {"qos_cap.nic_bw_share", "1"},
                                    {"qos_cap.nic_rate_limit", "1"},
                                    {"qos_cap.nic_element_type", "0x11"},
                                    {"qos_cap.nic_tsar_type", "1"},
                                    {"qos_cap.max_tsar_bw_share", "100"}}));
    using Out = prm::create_scheduling_element_out;
    using Element = prm::scheduling_context;
    const std::uint64_t before = bench.digest();
    const auto root = bench.run<Out>(element_input(0, 0));
    REQUIRE(root.ok());
    const auto root_id = root.get<Out::scheduling_element_id>();
    const auto leaf = bench.run<Out>(element_input(4, root_id));
    REQUIRE(leaf.ok());
    const auto leaf_id = leaf.get<Out::scheduling_element_id>();

    using Modify = prm::modify_scheduling_element_in;
    auto modify = FirmwareBench::input<Modify>(Opcode::MODIFY_SCHEDULING_ELEMENT);
    modify.view().set<Modify::scheduling_hierarchy>(3U);
    modify.view().set<Modify::scheduling_element_id>(leaf_id);
    modify.view().set<Modify::modify_bitmask>(3U);
    modify.view().set<Modify::scheduling_context, Element::bw_share>(50U);
    modify.view().set<Modify::scheduling_context, Element::max_average_bw>(1000U);
    REQUIRE(bench.run<prm::modify_scheduling_element_out>(modify).ok());
    const auto query = [&](std::uint32_t number) {
        using In = prm::query_scheduling_element_in;
        auto in = FirmwareBench::input<In>(Opcode::QUERY_SCHEDULING_ELEMENT);
        in.view().set<In::scheduling_hierarchy>(3U);
        in.view().set<In::scheduling_element_id>(number);
        return bench.run<prm::query_scheduling_element_out>(in);
    };
    CHECK(query(leaf_id)
              .get<prm::query_scheduling_element_out::scheduling_context, Element::bw_share>() ==
          50);
    using V = prm::View<Modify>;
    check_refusals<prm::modify_scheduling_element_out>(
        bench, modify,
        {
            {"share", [](V in) { in.set<Modify::scheduling_context, Element::bw_share>(101U); },
             Status::BAD_PARAM},
            {"mask", [](V in) { in.set<Modify::modify_bitmask>(4U); }, Status::BAD_PARAM},
            {"number", [](V in) { in.set<Modify::scheduling_element_id>(99U); },
             Status::BAD_RES_STATE},
            {"hierarchy", [](V in) { in.set<Modify::scheduling_hierarchy>(2U); },
             Status::BAD_PARAM},
        });
    using In = prm::create_scheduling_element_in;
    using C = prm::View<In>;
    check_refusals<Out>(
        bench, element_input(4, root_id),
        {
            {"hierarchy", [](C in) { in.set<In::scheduling_hierarchy>(2U); }, Status::BAD_PARAM},
            {"type", [](C in) { in.set<In::scheduling_context, Element::element_type>(1U); },
             Status::BAD_PARAM},
            {"no parent",
             [](C in) { in.set<In::scheduling_context, Element::parent_element_id>(0U); },
             Status::BAD_PARAM},
            {"parent",
             [](C in) { in.set<In::scheduling_context, Element::parent_element_id>(99U); },
             Status::BAD_PARAM},
            {"share", [](C in) { in.set<In::scheduling_context, Element::bw_share>(101U); },
             Status::BAD_PARAM},
        });
    CHECK(refused(bench.run<Out>(element_input(4, leaf_id)), Status::BAD_PARAM));
    const auto destroy = [&](std::uint32_t number) {
        using Destroy = prm::destroy_scheduling_element_in;
        auto in = FirmwareBench::input<Destroy>(Opcode::DESTROY_SCHEDULING_ELEMENT);
        in.view().set<Destroy::scheduling_hierarchy>(3U);
        in.view().set<Destroy::scheduling_element_id>(number);
        return bench.run<prm::destroy_scheduling_element_out>(in);
    };
    CHECK(refused(destroy(root_id), Status::BAD_RES_STATE));
    CHECK(destroy(leaf_id).ok());
    CHECK(destroy(root_id).ok());
    CHECK(bench.digest() == before);
    CHECK(refused(destroy(root_id), Status::BAD_RES_STATE));
    CHECK(refused(query(root_id), Status::BAD_RES_STATE));
    EthernetBench plain;
    CHECK(refused(plain.run<Out>(element_input(0, 0)), Status::BAD_PARAM));
}

}  // namespace
}  // namespace cxsim::test
