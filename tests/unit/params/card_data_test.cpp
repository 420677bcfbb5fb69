// SPDX-License-Identifier: Apache-2.0
#include "model/params/card_data.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <filesystem>
#include <fstream>
#include <set>

using namespace cxsim::model;
namespace prm = cxsim::prm;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

std::string_view any_card() {
    return GENERATE(from_range(card_names().begin(), card_names().end()));
}

}  // namespace

TEST_CASE("the four cards are built in", "[card]") {
    const std::vector<std::string_view> expected = {"connectx4lx", "connectx5", "connectx6dx",
                                                    "connectx7"};
    CHECK(std::vector<std::string_view>(card_names().begin(), card_names().end()) == expected);
}

TEST_CASE("every card loads and every value has a source word and a note", "[card]") {
    const CardData card = load_card(any_card());
    CAPTURE(card.name());
    CHECK(card.rows().size() > 200);
    for (const ParameterRow& row : card.rows()) {
        CAPTURE(row.name);
        CHECK(row.source != Source::command_line);
        CHECK_FALSE(row.note.empty());
    }
    CHECK_THAT(describe_card(card), ContainsSubstring("identity.pci.vendor_id = 0x15b3  # "));
}

TEST_CASE("what the driver needs for a netdev is there", "[card]") {
    // Each of these at 0 makes mlx5_core or mlx5e refuse the card or dereference null.
    const CardData card = load_card(any_card());
    CAPTURE(card.name());
    const Capabilities& caps = card.capabilities();
    for (const char* field : {"log_max_eq",      "num_of_uars_per_page", "num_ports",
                              "port_type",       "eth_net_offloads",     "nic_flow_table",
                              "max_wqe_sz_sq",   "cqe_version",          "log_max_tir",
                              "log_max_tis",     "log_max_rqt",          "log_max_rqt_size",
                              "log_max_mkey",    "log_max_pd",           "log_max_transport_domain",
                              "log_bf_reg_size", "log_max_vlan_list",    "log_max_current_mc_list",
                              "umr_ptr_rlky",    "max_qp_cnt",           "device_frequency_khz"}) {
        CAPTURE(field);
        CHECK(caps.current("cmd_hca_cap")->get(field) > 0);
    }
    for (const char* field : {"csum_cap", "vlan_cap", "max_lso_cap", "rss_ind_tbl_cap",
                              "self_lb_en_modifiable", "reg_umr_sq"}) {
        CAPTURE(field);
        CHECK(caps.current("per_protocol_networking_offload_caps")->get(field) > 0);
    }
    const CapabilityImage* flow = caps.current("flow_table_nic_cap");
    REQUIRE(flow != nullptr);
    CHECK(flow->get("flow_table_properties_nic_receive.ft_support") == 1);
    CHECK(flow->get("flow_table_properties_nic_receive.log_max_ft_size") > 0);
    CHECK(flow->get("flow_table_properties_nic_receive.max_ft_level") >= 3);
}

TEST_CASE("what the driver needs for an IB device is there", "[card]") {
    const CardData card = load_card(any_card());
    CAPTURE(card.name());
    const Capabilities& caps = card.capabilities();
    for (const char* field : {"xrc", "roce", "log_max_qp", "log_max_qp_sz", "log_max_cq",
                              "log_max_cq_sz", "log_max_srq", "log_max_srq_sz", "log_max_xrcd",
                              "log_max_rmp", "max_wqe_sz_rq", "log_max_msg", "rc", "ud", "uc"}) {
        CAPTURE(field);
        CHECK(caps.current("cmd_hca_cap")->get(field) > 0);
    }
    CHECK((caps.max_value("roce_cap", "l3_type") & 6) == 6);
    CHECK((caps.max_value("roce_cap", "roce_version") & 5) == 5);
    CHECK(caps.max_value("roce_cap", "roce_address_table_size") > 0);
}

TEST_CASE("a capability bit and its group go together", "[card]") {
    // The driver queries a group when the bit says so; a group without a bit is dead data.
    const CardData card = load_card(any_card());
    CAPTURE(card.name());
    const Capabilities& caps = card.capabilities();
    const std::pair<const char*, const char*> groups[] = {
        {"hca_cap_2", "cmd_hca_cap_2"},
        {"eth_net_offloads", "per_protocol_networking_offload_caps"},
        {"pg", "odp_cap"},
        {"atomic", "atomic_caps"},
        {"roce", "roce_cap"},
        {"nic_flow_table", "flow_table_nic_cap"},
        {"eswitch_manager", "e_switch_cap"},
        {"qos", "qos_cap"},
        {"debug", "debug_cap"},
        {"device_memory", "device_mem_cap"},
        {"event_cap", "device_event_cap"},
        {"port_selection_cap", "port_selection_cap"},
        {"vector_calc", "vector_calc_cap"}};
    for (const auto& [bit, group] : groups) {
        CAPTURE(bit, group);
        CHECK((caps.max_value("cmd_hca_cap", bit) != 0) == (caps.max(group) != nullptr));
    }
    CHECK((caps.max_value("cmd_hca_cap", "pcam_reg") != 0) ==
          (caps.register_group("pcam_reg", 0) != nullptr));
    CHECK((caps.max_value("cmd_hca_cap", "qcam_reg") != 0) ==
          (caps.register_group("qcam_reg", 0) != nullptr));
    for (const unsigned group : {0u, 2u, 3u}) {
        CAPTURE(group);
        const CapabilityImage* image = caps.register_group("mcam_reg", group);
        REQUIRE(image != nullptr);
        CHECK(image->get("access_reg_group") == group);
    }
}

TEST_CASE("current values never exceed the maximum", "[card]") {
    const CardData card = load_card(any_card());
    const Capabilities& caps = card.capabilities();
    unsigned smaller = 0;
    for (const std::string_view layout : caps.layouts()) {
        for (const auto& field : prm::find_layout(layout)->fields) {
            if (field.nested != nullptr || field.array || field.bit_width > 64) continue;
            CAPTURE(card.name(), layout, field.name);
            const auto maximum = caps.max(layout)->get(field.name);
            const auto current = caps.current(layout)->get(field.name);
            CHECK(current <= maximum);
            if (current < maximum) ++smaller;
        }
    }
    CHECK(smaller >= 4);  // 4 KiB UARs, signatures, page release, atomic endianness at least
}

TEST_CASE("ids are those of the real family, versions in a range of our own", "[card]") {
    struct Row {
        const char* name;
        unsigned device, vf, major, generation, width;
    };
    const auto row = GENERATE(
        Row{"connectx4lx", 0x1015, 0x1016, 14, 3, 8}, Row{"connectx5", 0x1017, 0x1018, 16, 3, 16},
        Row{"connectx6dx", 0x101d, 0x101e, 22, 4, 16}, Row{"connectx7", 0x1021, 0x101e, 28, 5, 16});
    const CardData card = load_card(row.name);
    const Identity& id = card.identity();
    CHECK(id.vendor_id() == 0x15b3);
    CHECK(id.device_id() == row.device);
    CHECK(id.vf_device_id() == row.vf);
    CHECK(id.firmware_major() == row.major);
    CHECK(id.firmware_subminor() >= 9000);
    CHECK(id.firmware_subminor() <= 9999);
    CHECK(id.link_generation() == row.generation);
    CHECK(id.link_width() == row.width);
    CHECK(id.psid().substr(0, 3) == "MT_");
    CHECK(id.class_code() == 0x020000);
    CHECK(id.physical_layer_16gt() == (row.generation >= 4));
    CHECK(id.physical_layer_32gt() == (row.generation >= 5));
}

TEST_CASE("a directory replaces the built-in files", "[card]") {
    const auto directory = std::filesystem::temp_directory_path() / "cxsim_card_data_test";
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory / "mycard");
    const CardFiles files = card_files("connectx5");
    const auto write = [&](const char* name, const std::string& text) {
        std::ofstream(directory / "mycard" / name) << text;
    };
    write("identity.ini", files.identity.text);
    write("capabilities.ini", files.capabilities.text);
    CHECK_THROWS_MATCHES(load_card("mycard", {directory, {}}), ConfigError,
                         MessageMatches(ContainsSubstring("timing.ini")));
    write("timing.ini", files.timing.text);
    CHECK(load_card("mycard", {directory, {}}).identity().device_id() == 0x1017);
    CHECK_THROWS_AS(load_card("../mycard", {directory, {}}), ConfigError);
    write("capabilities.ini", "[cmd_hca_cap]\nlog_max_qp = 32 # guess\n");
    CHECK_THROWS_MATCHES(load_card("mycard", {directory, {}}), ConfigError,
                         MessageMatches(ContainsSubstring("capabilities.ini:2: ") &&
                                        ContainsSubstring("does not fit the 5 bits")));
    std::filesystem::remove_all(directory);
}

TEST_CASE("an unknown card is an error that lists the known ones", "[card]") {
    CHECK_THROWS_MATCHES(load_card("connectx99"), ConfigError,
                         MessageMatches(ContainsSubstring("connectx6dx")));
}

TEST_CASE("overrides reach all three files; a stray one is refused", "[card]") {
    const CardData card = load_card("connectx5", {{},
                                                  {{"timing.command.query", "1us"},
                                                   {"identity.firmware.minor", "40"},
                                                   {"capabilities.cmd_hca_cap.log_max_qp", "10"}}});
    CHECK(card.timing().query() == microseconds(1));
    CHECK(card.identity().firmware_version() == "16.40.9001");
    CHECK(card.capabilities().max_value("cmd_hca_cap", "log_max_qp") == 10);
    CHECK(card.capabilities().current("cmd_hca_cap")->get("log_max_qp") == 10);
    CHECK_THROWS_MATCHES(load_card("connectx5", {{}, {{"timings.command.query", "1us"}}}),
                         ConfigError, MessageMatches(ContainsSubstring("timing.")));
    CHECK_THROWS_AS(load_card("connectx5", {{}, {{"capabilities.cmd_hca_cap", "1"}}}), ConfigError);
    CHECK_THROWS_AS(load_card("connectx4lx", {{}, {{"capabilities.qos_cap.packet_pacing", "1"}}}),
                    ConfigError);
}

TEST_CASE("impossible identities and times are refused", "[card]") {
    const std::pair<const char*, const char*> bad[] = {
        {"identity.pci.bar0_size", "3MiB"},
        {"identity.pci.link_width", "3"},
        {"identity.pci.link_generation", "6"},
        {"identity.pci.max_payload", "64B"},
        {"identity.pci.msix_vectors", "4096"},
        {"identity.pci.msix_pba_offset", "0x2010"},
        {"identity.firmware.psid", "MT_00000000000000"},
        {"identity.board.mac_prefix", "0x08c0"},
        {"identity.pci.class_code", "0x1020000"},
        {"timing.command.processors", "0"},
        {"timing.health.counter_period", "0s"},
        {"timing.health.counter_period", "2s"},
        {"timing.pages.low_water", "100000"},
        {"timing.pages.init", "100000"},
        {"timing.pcie.tags", "0"},
        {"timing.pcie.tags", "257"},
        {"timing.pcie.completion_buffer", "64B"},
        {"timing.boot.initialization", "120s"}};
    for (const auto& [key, value] : bad) {
        CAPTURE(key);
        CHECK_THROWS_AS(load_card("connectx5", {{}, {{key, value}}}), ConfigError);
    }
}

TEST_CASE("boards differ by instance and repeat with the seed", "[card]") {
    const CardData card = load_card("connectx6dx");
    std::set<std::array<std::uint8_t, 6>> macs;
    std::set<std::string> serials;
    for (std::uint16_t i = 0; i < 1000; ++i) {
        const BoardIdentity board = make_board(card, 42, i);
        macs.insert(board.mac);
        serials.insert(board.serial);
        CHECK((board.mac[0] & 3) == 2);
    }
    CHECK(macs.size() == 1000);
    CHECK(serials.size() == 1000);
    const BoardIdentity board = make_board(card, 42, 7, 1);
    const BoardIdentity again = make_board(card, 42, 7, 1);
    CHECK(board.mac == again.mac);
    CHECK(board.vpd_read_only == again.vpd_read_only);
    CHECK(board.uuid.size() == 32);
    CHECK(function_mac(board, 3)[5] == 3);
    CHECK(guid_from_mac({0x02, 0xc0, 0x11, 0x22, 0x33, 0x44}) == 0x02c0110300223344);
    for (const auto& [keyword, value] : board.vpd_read_only) {
        CAPTURE(keyword, value);
        CHECK(value.find('{') == std::string::npos);
        if (keyword == "SN") CHECK(value == board.serial);
        if (keyword == "VU") CHECK(value == board.serial + "MLNXS0D0F1");
    }
}
