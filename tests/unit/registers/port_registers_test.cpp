// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_port.h"
#include "tests/unit/registers/register_bench.h"

#include <catch2/generators/catch_generators_range.hpp>

using namespace cxsim;
using namespace cxsim::test;
using prm::RegisterId;
using prm::Status;

TEST_CASE("PAOS switches the port and shows its state", "[registers]") {
    using Reg = prm::paos_reg;
    FakePort port;
    RegisterBench bench;
    auto reg = port_register<Reg>();
    REQUIRE(bench.read(RegisterId::PAOS, reg).ok());
    CHECK(reg.view().get<Reg::admin_status>() == 1);
    CHECK(reg.view().get<Reg::oper_status>() == 2);  // no cable
    CHECK(reg.view().get<Reg::e>() == 0);
    port.plug(true);
    bench.firmware.attach_port(port);
    REQUIRE(bench.read(RegisterId::PAOS, reg).ok());
    CHECK(reg.view().get<Reg::oper_status>() == 1);

    reg.view().set<Reg::admin_status>(2U);
    REQUIRE(bench.write(RegisterId::PAOS, reg).ok());
    CHECK(bench.port().admin_up);  // without ase the status is not written
    reg.view().set<Reg::admin_status>(2U);
    reg.view().set<Reg::ase>(1U);
    reg.view().set<Reg::e>(1U);
    REQUIRE(bench.write(RegisterId::PAOS, reg).ok());
    CHECK_FALSE(bench.port().admin_up);
    CHECK_FALSE(bench.port().reports_changes);  // nor e without ee
    CHECK(reg.view().get<Reg::oper_status>() == 2);
    CHECK(reg.view().get<Reg::ase>() == 0);

    reg = port_register<Reg>();
    reg.view().set<Reg::ee>(1U);
    reg.view().set<Reg::e>(1U);
    reg.view().set<Reg::ase>(1U);
    reg.view().set<Reg::admin_status>(3U);  // up once
    REQUIRE(bench.write(RegisterId::PAOS, reg).ok());
    CHECK(bench.port().admin_up);
    CHECK(bench.port().reports_changes);
    CHECK(reg.view().get<Reg::e>() == 1);

    auto bad = port_register<Reg>();
    bad.view().set<Reg::ase>(1U);
    bad.view().set<Reg::admin_status>(1U);
    check_register_refusals<Reg>(
        bench, RegisterId::PAOS, true, bad,
        {{"status 0", [](auto r) { r.template set<Reg::admin_status>(0U); }},
         {"disabled by fault", [](auto r) { r.template set<Reg::admin_status>(4U); }},
         {"port 0", [](auto r) { r.template set<Reg::local_port>(0U); }},
         {"port 2", [](auto r) { r.template set<Reg::local_port>(2U); }}});
    check_register_refusals<Reg>(
        bench, RegisterId::PAOS, false, bad,
        {{"port 2", [](auto r) { r.template set<Reg::local_port>(2U); }}});
}

TEST_CASE("PTYS shows the card's speeds and takes a choice of them", "[registers]") {
    using Reg = prm::ptys_reg;
    const auto name = GENERATE(from_range(model::card_names().begin(), model::card_names().end()));
    CAPTURE(name);
    RegisterBench bench(name);
    const auto* data = bench.card->capabilities().register_group("ptys_reg", 0);
    REQUIRE(data != nullptr);
    auto reg = port_register<Reg>();
    reg.view().set<Reg::proto_mask>(4U);
    REQUIRE(bench.read(RegisterId::PTYS, reg).ok());
    const auto legacy = reg.view().get<Reg::eth_proto_capability>();
    const auto extended = reg.view().get<Reg::ext_eth_proto_capability>();
    CHECK(legacy == data->get("eth_proto_capability"));
    CHECK(extended == data->get("ext_eth_proto_capability"));
    CHECK((legacy | extended) != 0);
    CHECK(reg.view().get<Reg::eth_proto_admin>() == legacy);
    CHECK(reg.view().get<Reg::ext_eth_proto_admin>() == extended);
    CHECK(reg.view().get<Reg::eth_proto_oper>() == 0);  // no link

    auto good = port_register<Reg>();
    good.view().set<Reg::proto_mask>(4U);
    const auto lowest = legacy & (~legacy + 1);
    if (legacy != 0) {
        good.view().set<Reg::eth_proto_admin>(lowest);
    } else {
        good.view().set<Reg::ext_eth_proto_admin>(extended & (~extended + 1));
    }
    auto wrote = good;
    REQUIRE(bench.write(RegisterId::PTYS, wrote).ok());
    if (legacy != 0) {
        CHECK(wrote.view().get<Reg::eth_proto_admin>() == lowest);
        CHECK(wrote.view().get<Reg::ext_eth_proto_admin>() == extended);  // the other mask stays
        CHECK(bench.port().eth_proto_admin == lowest);
    }
    static std::uint32_t beyond_legacy;
    static std::uint32_t beyond_extended;
    beyond_legacy = ~legacy & (legacy + 1);
    beyond_extended = ~extended & (extended + 1);
    check_register_refusals<Reg>(
        bench, RegisterId::PTYS, true, good,
        {{"legacy speed beyond",
          [](auto r) { r.template set<Reg::eth_proto_admin>(beyond_legacy); }},
         {"extended speed beyond",
          [](auto r) { r.template set<Reg::ext_eth_proto_admin>(beyond_extended); }},
         {"no speed",
          [](auto r) {
              r.template set<Reg::eth_proto_admin>(0U);
              r.template set<Reg::ext_eth_proto_admin>(0U);
          }},
         {"port 2", [](auto r) { r.template set<Reg::local_port>(2U); }},
         {"InfiniBand", [](auto r) { r.template set<Reg::proto_mask>(1U); }}});
    check_register_refusals<Reg>(
        bench, RegisterId::PTYS, false, good,
        {{"InfiniBand", [](auto r) { r.template set<Reg::proto_mask>(1U); }},
         {"no protocol", [](auto r) { r.template set<Reg::proto_mask>(0U); }},
         {"port 2", [](auto r) { r.template set<Reg::local_port>(2U); }}});
}

TEST_CASE("PTYS disables autonegotiation only where the port can", "[registers]") {
    using Reg = prm::ptys_reg;
    RegisterBench bench;
    auto reg = port_register<Reg>();
    reg.view().set<Reg::proto_mask>(4U);
    reg.view().set<Reg::eth_proto_admin>(bench.port().eth_proto_admin);
    reg.view().set<Reg::an_disable_admin>(1U);
    bench.port().config.ptys.view().set<Reg::an_disable_cap>(0U);
    auto refused = reg;
    CHECK(bench.write(RegisterId::PTYS, refused).status == Status::BAD_PARAM);
    CHECK_FALSE(bench.port().autonegotiation_disabled);
    bench.port().config.ptys.view().set<Reg::an_disable_cap>(1U);
    REQUIRE(bench.write(RegisterId::PTYS, reg).ok());
    CHECK(bench.port().autonegotiation_disabled);
    CHECK(reg.view().get<Reg::an_disable_admin>() == 1);
}

TEST_CASE("PMTU takes frames up to the port's maximum", "[registers]") {
    using Reg = prm::pmtu_reg;
    RegisterBench bench;
    auto reg = port_register<Reg>();
    REQUIRE(bench.read(RegisterId::PMTU, reg).ok());
    const auto maximum = reg.view().get<Reg::max_mtu>();
    CHECK(maximum == bench.port().config.max_mtu);
    CHECK(maximum >= 9216);
    CHECK(reg.view().get<Reg::admin_mtu>() == 1522);
    CHECK(reg.view().get<Reg::oper_mtu>() == 1522);
    reg.view().set<Reg::admin_mtu>(maximum);
    REQUIRE(bench.write(RegisterId::PMTU, reg).ok());
    CHECK(bench.port().admin_mtu == maximum);
    CHECK(reg.view().get<Reg::oper_mtu>() == maximum);
    check_register_refusals<Reg>(
        bench, RegisterId::PMTU, true, reg,
        {{"0", [](auto r) { r.template set<Reg::admin_mtu>(0U); }},
         {"one more", [](auto r) { r.template set<Reg::admin_mtu>(r.template get<Reg::max_mtu>() + 1); }},
         {"all ones", [](auto r) { r.template set<Reg::admin_mtu>(0xffffU); }},
         {"port 0", [](auto r) { r.template set<Reg::local_port>(0U); }}});
    check_register_refusals<Reg>(
        bench, RegisterId::PMTU, false, reg,
        {{"port 9", [](auto r) { r.template set<Reg::local_port>(9U); }}});
}

TEST_CASE("PFCC switches pause and priority flow control", "[registers]") {
    using Reg = prm::pfcc_reg;
    RegisterBench bench;
    auto reg = port_register<Reg>();
    REQUIRE(bench.read(RegisterId::PFCC, reg).ok());
    CHECK(reg.view().get<Reg::pptx>() == 1);
    CHECK(reg.view().get<Reg::pprx>() == 1);
    CHECK(reg.view().get<Reg::pfctx>() == 0);
    SECTION("pause off in one direction") {
        reg = port_register<Reg>();
        reg.view().set<Reg::pprx>(1U);
        REQUIRE(bench.write(RegisterId::PFCC, reg).ok());
        CHECK_FALSE(bench.port().pause_tx);
        CHECK(bench.port().pause_rx);
        CHECK(reg.view().get<Reg::pptx>() == 0);
    }
    SECTION("masks keep fields") {
        reg = port_register<Reg>();
        reg.view().set<Reg::pptx_mask_n>(1U);
        reg.view().set<Reg::pprx_mask_n>(1U);
        REQUIRE(bench.write(RegisterId::PFCC, reg).ok());
        CHECK(bench.port().pause_tx);
        CHECK(bench.port().pause_rx);
    }
    SECTION("priorities by mask; pause gives way") {
        reg = port_register<Reg>();
        reg.view().set<Reg::pptx>(1U);
        reg.view().set<Reg::pprx>(1U);
        reg.view().set<Reg::prio_mask_tx>(0x0fU);
        reg.view().set<Reg::pfctx>(0xffU);
        REQUIRE(bench.write(RegisterId::PFCC, reg).ok());
        CHECK(bench.port().pfc_tx == 0x0f);
        CHECK(bench.port().pfc_rx == 0);
        CHECK_FALSE(bench.port().pause_tx);
        CHECK(bench.port().pause_rx);
        reg = port_register<Reg>();
        reg.view().set<Reg::prio_mask_tx>(0x03U);
        REQUIRE(bench.write(RegisterId::PFCC, reg).ok());
        CHECK(bench.port().pfc_tx == 0x0c);
    }
    SECTION("another port") {
        for (const bool write : {false, true}) {
            check_register_refusals<Reg>(
                bench, RegisterId::PFCC, write, port_register<Reg>(),
                {{"port 2", [](auto r) {
                     r.template set<Reg::local_port>(2U);
                     r.template set<Reg::prio_mask_tx>(0xffU);
                     r.template set<Reg::pfctx>(0xffU);
                 }}});
        }
    }
}

TEST_CASE("PPLM takes the FEC modes that the card has", "[registers]") {
    using Reg = prm::pplm_reg;
    const auto name = GENERATE(from_range(model::card_names().begin(), model::card_names().end()));
    CAPTURE(name);
    RegisterBench bench(name);
    auto reg = port_register<Reg>();
    REQUIRE(bench.read(RegisterId::PPLM, reg).ok());
    const auto capability = reg.view().get<Reg::fec_override_cap_25g>();
    CHECK(reg.view().get<Reg::fec_mode_active>() == 0);
    CHECK(reg.view().get<Reg::fec_override_admin_25g>() == 0);
    REQUIRE(capability != 0);
    auto good = port_register<Reg>();
    good.view().set<Reg::fec_override_admin_25g>(capability & (~capability + 1));
    auto wrote = good;
    REQUIRE(bench.write(RegisterId::PPLM, wrote).ok());
    CHECK(wrote.view().get<Reg::fec_override_admin_25g>() == (capability & (~capability + 1)));
    auto again = port_register<Reg>();
    REQUIRE(bench.read(RegisterId::PPLM, again).ok());
    CHECK(std::ranges::equal(again.bytes(), wrote.bytes()));
    static std::uint32_t beyond;
    beyond = ~capability & (capability + 1) & 0xf;
    if (beyond != 0) {
        check_register_refusals<Reg>(
            bench, RegisterId::PPLM, true, good,
            {{"mode beyond", [](auto r) { r.template set<Reg::fec_override_admin_25g>(beyond); }}});
    }
    for (const bool write : {false, true}) {
        check_register_refusals<Reg>(
            bench, RegisterId::PPLM, write, good,
            {{"port 2", [](auto r) { r.template set<Reg::local_port>(2U); }}});
    }
}

TEST_CASE("PMLP maps the lanes of the port to its module", "[registers]") {
    using Reg = prm::pmlp_reg;
    const auto name = GENERATE(from_range(model::card_names().begin(), model::card_names().end()));
    RegisterBench bench(name);
    auto reg = port_register<Reg>();
    REQUIRE(bench.read(RegisterId::PMLP, reg).ok());
    const auto lanes = bench.card->identity().lanes();
    CHECK(reg.view().get<Reg::width>() == lanes);
    CHECK(reg.view().get<Reg::lane0_module_mapping>() == 0);
    CHECK(reg.view().get<Reg::lane1_module_mapping>() == (lanes > 1 ? 0x01010000U : 0U));
    CHECK(reg.view().get<Reg::lane3_module_mapping>() == (lanes > 3 ? 0x03030000U : 0U));
    CHECK(bench.write(RegisterId::PMLP, reg).status == Status::BAD_PARAM);
    check_register_refusals<Reg>(
        bench, RegisterId::PMLP, false, port_register<Reg>(),
        {{"port 0", [](auto r) { r.template set<Reg::local_port>(0U); }}});
}

TEST_CASE("PCMR switches the check of the frame check sequence", "[registers]") {
    using Reg = prm::pcmr_reg;
    RegisterBench bench;
    auto reg = port_register<Reg>();
    REQUIRE(bench.read(RegisterId::PCMR, reg).ok());
    CHECK(reg.view().get<Reg::fcs_cap>() == 1);
    CHECK(reg.view().get<Reg::fcs_chk>() == 1);
    reg.view().set<Reg::fcs_chk>(0U);
    REQUIRE(bench.write(RegisterId::PCMR, reg).ok());
    CHECK_FALSE(bench.port().check_fcs);
    CHECK(reg.view().get<Reg::fcs_chk>() == 0);
    auto good = port_register<Reg>();
    good.view().set<Reg::fcs_chk>(1U);
    check_register_refusals<Reg>(
        bench, RegisterId::PCMR, true, good,
        {{"time stamps over the CRC", [](auto r) { r.template set<Reg::rx_ts_over_crc>(1U); }},
         {"port 2", [](auto r) { r.template set<Reg::local_port>(2U); }}});
    check_register_refusals<Reg>(
        bench, RegisterId::PCMR, false, good,
        {{"port 2", [](auto r) { r.template set<Reg::local_port>(2U); }}});
}

TEST_CASE("PVLC shows one virtual lane and cannot be written", "[registers]") {
    using Reg = prm::pvlc_reg;
    RegisterBench bench;
    auto reg = port_register<Reg>();
    REQUIRE(bench.read(RegisterId::PVLC, reg).ok());
    CHECK(reg.view().get<Reg::vl_hw_cap>() == 1);
    CHECK(reg.view().get<Reg::vl_admin>() == 1);
    CHECK(reg.view().get<Reg::vl_operational>() == 1);
    CHECK(bench.write(RegisterId::PVLC, reg).status == Status::BAD_PARAM);
    check_register_refusals<Reg>(
        bench, RegisterId::PVLC, false, port_register<Reg>(),
        {{"port 2", [](auto r) { r.template set<Reg::local_port>(2U); }}});
}
