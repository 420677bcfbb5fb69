// SPDX-License-Identifier: Apache-2.0
#include "model/params/capabilities.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace cxsim::model;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

Capabilities parse(const std::string& text) {
    return Capabilities(IniFile::parse("caps.ini", text));
}

void require_error(const std::string& text, const std::string& message) {
    CAPTURE(text);
    CHECK_THROWS_MATCHES(parse(text), ConfigError, MessageMatches(ContainsSubstring(message)));
}

}  // namespace

TEST_CASE("a member path lands where the driver reads it", "[capabilities]") {
    const Capabilities caps = parse("[cmd_hca_cap]\nlog_max_qp = 17 # guess\n");
    const CapabilityImage* image = caps.max("cmd_hca_cap");
    REQUIRE(image != nullptr);
    CHECK(image->bytes().size() == image->layout().bytes());
    // log_max_srq_sz and log_max_qp_sz are the first bytes of their dword, log_max_qp its last.
    CHECK(std::to_integer<int>(image->bytes()[0x13]) == 17);
    CHECK(image->get("log_max_qp") == 17);
    CHECK(image->get("log_max_cq") == 0);
    CHECK(caps.max("qos_cap") == nullptr);
    CHECK(caps.max_value("qos_cap", "packet_pacing") == 0);
}

TEST_CASE("current starts as the maximum and differs where the file says so", "[capabilities]") {
    const Capabilities caps = parse(
        "[cmd_hca_cap current]\nroce = 0 # spec\n"
        "[cmd_hca_cap]\nroce = 1 # spec\nlog_max_qp = 18 # guess\n");
    CHECK(caps.max("cmd_hca_cap")->get("roce") == 1);
    CHECK(caps.current("cmd_hca_cap")->get("roce") == 0);
    CHECK(caps.current("cmd_hca_cap")->get("log_max_qp") == 18);
}

TEST_CASE("nested members and elements of arrays can be named", "[capabilities]") {
    const Capabilities caps = parse(
        "[flow_table_nic_cap]\n"
        "flow_table_properties_nic_receive.ft_field_support.outer_dmac = 1 # guess\n"
        "[per_protocol_networking_offload_caps]\nlro_timer_supported_periods[3] = 1024 # guess\n");
    CHECK(caps.max("flow_table_nic_cap")
              ->get("flow_table_properties_nic_receive.ft_field_support.outer_dmac") == 1);
    CHECK(caps.max_value("per_protocol_networking_offload_caps",
                         "lro_timer_supported_periods[3]") == 1024);
}

TEST_CASE("register groups are images of their own", "[capabilities]") {
    const Capabilities caps = parse(
        "[mcam_reg group 0]\nmng_access_reg_cap_mask.access_regs.mcqi = 1 # spec\n"
        "[mcam_reg group 2]\naccess_reg_group = 2 # spec\n");
    REQUIRE(caps.register_group("mcam_reg", 0) != nullptr);
    CHECK(caps.register_group("mcam_reg", 0)->get("mng_access_reg_cap_mask.access_regs.mcqi") == 1);
    CHECK(caps.register_group("mcam_reg", 2)->get("access_reg_group") == 2);
    CHECK(caps.register_group("mcam_reg", 1) == nullptr);
    CHECK(caps.max("mcam_reg") == nullptr);
}

TEST_CASE("names and widths are checked by reflection", "[capabilities]") {
    require_error("[cmd_hca_capp]\nlog_max_qp = 1 # guess\n", "caps.ini:2: cmd_hca_capp");
    require_error("[cmd_hca_cap]\nlog_max_qpp = 1 # guess\n", "no member 'log_max_qpp'");
    require_error("[cmd_hca_cap]\nlog_max_qp = 32 # guess\n", "at most 31");
    require_error("[cmd_hca_cap]\nlog_max_qp = many # guess\n", "no unsigned number");
    require_error("[flow_table_nic_cap]\nflow_table_properties_nic_receive = 1 # guess\n",
                  "is a structure");
    require_error(
        "[per_protocol_networking_offload_caps]\nlro_timer_supported_periods = 1 # guess\n",
        "array");
    require_error(
        "[per_protocol_networking_offload_caps]\nlro_timer_supported_periods[4] = 1 # guess\n",
        "no member");
    require_error("[cmd_hca_cap power-on]\nroce = 1 # guess\n", "[LAYOUT current]");
    require_error("[mcam_reg group x]\naccess_reg_group = 1 # guess\n", "[LAYOUT group NUMBER]");
    require_error("[cmd_hca_cap current]\nroce = 1 # guess\n", "no [cmd_hca_cap]");
}
