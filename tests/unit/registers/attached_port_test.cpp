// SPDX-License-Identifier: Apache-2.0
// Registers of a card that has a port behind them.
#include "firmware_stub/registers/port_modes.h"
#include "firmware_stub/registers/ppcnt_table.h"
#include "tests/support/fake_port.h"
#include "tests/unit/registers/register_bench.h"

#include <catch2/generators/catch_generators_range.hpp>

#include <set>
#include <string>

using namespace cxsim;
using namespace cxsim::test;
using firmware_stub::PpcntGroup;
using firmware_stub::PpcntRow;
using model::FecMode;
using model::LinkMode;
using prm::RegisterId;
using prm::Status;

namespace {

struct AttachedBench {
    explicit AttachedBench(std::string_view card = "connectx5") : bench(card) {
        port.plug(true);
        bench.firmware.attach_port(port);
    }
    FakePort port;
    RegisterBench bench;
};

prm::Buffer<prm::ppcnt_reg> ppcnt(PpcntGroup group, std::uint32_t priority = 0,
                                  bool clear = false) {
    using Reg = prm::ppcnt_reg;
    auto reg = port_register<Reg>();
    reg.view().set<Reg::grp>(static_cast<std::uint32_t>(group));
    reg.view().set<Reg::prio_tc>(priority);
    reg.view().set<Reg::clr>(clear ? 1U : 0U);
    return reg;
}

std::string name_of(const PpcntRow& row, std::uint32_t priority) {
    std::string name(row.counter);
    const auto place = name.find("{}");
    if (place != std::string::npos) name.replace(place, 2, std::to_string(priority));
    return name;
}

std::uint64_t field_of(const prm::Buffer<prm::ppcnt_reg>& reg, const PpcntRow& row) {
    const auto set = reg.view().bytes<prm::ppcnt_reg::counter_set>();
    return row.bytes == 8 ? model::load_be<std::uint64_t>(set.data() + row.offset)
                          : model::load_be<std::uint32_t>(set.data() + row.offset);
}

}  // namespace

TEST_CASE("every row of the PPCNT table shows its counter, and only it", "[ppcnt]") {
    AttachedBench attached;
    std::set<std::pair<PpcntGroup, std::uint32_t>> places;
    for (const PpcntRow& row : firmware_stub::ppcnt_rows()) {
        CAPTURE(static_cast<unsigned>(row.group), row.counter);
        CHECK(places.insert({row.group, row.offset}).second);  // no field twice
        const std::uint32_t priorities = indexed(row.group) ? 8 : 1;
        for (std::uint32_t priority = 0; priority < priorities; ++priority) {
            model::stats::Counter* counter =
                attached.port.port_counters.find(name_of(row, priority));
            REQUIRE(counter != nullptr);
            counter->set(0x1'2345'6789 * row.divisor);
            auto reg = ppcnt(row.group, priority);
            REQUIRE(attached.bench.read(RegisterId::PPCNT, reg).ok());
            CHECK(field_of(reg, row) == (row.bytes == 8 ? 0x1'2345'6789U : 0x2345'6789U));
            counter->set(0);
            REQUIRE(attached.bench.read(RegisterId::PPCNT, reg).ok());
            CHECK(field_of(reg, row) == 0);
        }
    }
}

TEST_CASE("clearing a PPCNT group zeroes what it shows and leaves the port's counters", "[ppcnt]") {
    AttachedBench attached;
    attached.port.port_counters.tx_frames += 10;
    attached.port.port_counters.rx_prio_frames[3] += 7;
    const PpcntRow* sent = nullptr;
    const PpcntRow* received = nullptr;
    for (const PpcntRow& row : firmware_stub::ppcnt_rows()) {
        if (row.counter == "tx_frames") sent = &row;
        if (row.counter == "rx_prio{}_frames") received = &row;
    }
    REQUIRE((sent != nullptr && received != nullptr));
    auto reg = ppcnt(PpcntGroup::ieee_802_3, 0, true);
    REQUIRE(attached.bench.read(RegisterId::PPCNT, reg).ok());
    CHECK(field_of(reg, *sent) == 10);  // what it was before
    attached.port.port_counters.tx_frames += 5;
    reg = ppcnt(PpcntGroup::ieee_802_3);
    REQUIRE(attached.bench.read(RegisterId::PPCNT, reg).ok());
    CHECK(field_of(reg, *sent) == 5);
    CHECK(attached.port.port_counters.tx_frames.value() == 15);
    reg = ppcnt(PpcntGroup::per_priority, 3);  // another group
    REQUIRE(attached.bench.read(RegisterId::PPCNT, reg).ok());
    CHECK(field_of(reg, *received) == 7);
}

TEST_CASE("the physical groups tell the time since they were cleared", "[ppcnt]") {
    AttachedBench attached;
    attached.bench.calendar.run_until(model::milliseconds(40));
    for (const PpcntGroup group : {PpcntGroup::physical_layer, PpcntGroup::physical_statistical}) {
        auto reg = ppcnt(group, 0, true);
        REQUIRE(attached.bench.read(RegisterId::PPCNT, reg).ok());
        const auto set = reg.view().bytes<prm::ppcnt_reg::counter_set>();
        const auto before = model::load_be<std::uint64_t>(set.data());
        CHECK(before ==
              static_cast<std::uint64_t>(attached.bench.calendar.now().value) / 1'000'000'000);
    }
    attached.bench.calendar.run_until(attached.bench.calendar.now() + model::milliseconds(25));
    auto reg = ppcnt(PpcntGroup::physical_layer);
    REQUIRE(attached.bench.read(RegisterId::PPCNT, reg).ok());
    CHECK(model::load_be<std::uint64_t>(reg.view().bytes<prm::ppcnt_reg::counter_set>().data()) ==
          25);
}

TEST_CASE("PTYS and PPLM show what the link came up with", "[registers]") {
    using Ptys = prm::ptys_reg;
    using Pplm = prm::pplm_reg;
    struct Row {
        const char* card;
        LinkMode mode;
        double gigabits;
        FecMode fec;
        std::uint32_t legacy;
        std::uint32_t extended;
    };
    for (const Row& row :
         {Row{"connectx4lx", LinkMode::speed_25g, 25, FecMode::rs_528_514, 1U << 27, 0},
          Row{"connectx5", LinkMode::speed_100g_4x, 100, FecMode::rs_528_514, 1U << 20, 0},
          Row{"connectx7", LinkMode::speed_400g_4x, 400, FecMode::rs_544_514, 0, 1U << 16}}) {
        CAPTURE(row.card);
        AttachedBench attached(row.card);
        attached.port.negotiate(row.mode, model::gigabits_per_second(row.gigabits), row.fec);
        auto ptys = port_register<Ptys>();
        ptys.view().set<Ptys::proto_mask>(4U);
        REQUIRE(attached.bench.read(RegisterId::PTYS, ptys).ok());
        CHECK(ptys.view().get<Ptys::eth_proto_oper>() == row.legacy);
        CHECK(ptys.view().get<Ptys::ext_eth_proto_oper>() == row.extended);
        CHECK(ptys.view().get<Ptys::data_rate_oper>() == row.gigabits * 10);
        CHECK(ptys.view().get<Ptys::an_status>() == 1);
        CHECK(ptys.view().get<Ptys::connector_type>() == 7);
        auto pplm = port_register<Pplm>();
        REQUIRE(attached.bench.read(RegisterId::PPLM, pplm).ok());
        CHECK(pplm.view().get<Pplm::fec_mode_active>() == mask_of(row.fec));

        attached.port.plug(false);
        ptys.view().set<Ptys::proto_mask>(4U);
        REQUIRE(attached.bench.read(RegisterId::PTYS, ptys).ok());
        CHECK(ptys.view().get<Ptys::eth_proto_oper>() == 0);
        CHECK(ptys.view().get<Ptys::ext_eth_proto_oper>() == 0);
        CHECK(ptys.view().get<Ptys::an_status>() == 0);
        CHECK(ptys.view().get<Ptys::connector_type>() == 0);
        REQUIRE(attached.bench.read(RegisterId::PPLM, pplm).ok());
        CHECK(pplm.view().get<Pplm::fec_mode_active>() == 0);
    }
}

TEST_CASE("what registers write arrives at the port", "[registers]") {
    AttachedBench attached;
    FakePort& port = attached.port;
    CHECK(port.settings().modes == firmware_stub::modes_of_legacy(0xf8f5f0d2));
    SECTION("speeds") {
        using Reg = prm::ptys_reg;
        auto reg = port_register<Reg>();
        reg.view().set<Reg::proto_mask>(4U);
        reg.view().set<Reg::eth_proto_admin>(1U << 27);
        reg.view().set<Reg::an_disable_admin>(1U);
        REQUIRE(attached.bench.write(RegisterId::PTYS, reg).ok());
        CHECK(port.settings().modes == mask_of(LinkMode::speed_25g));
        CHECK_FALSE(port.settings().autonegotiation);
        CHECK(reg.view().get<Reg::an_status>() == 0);
    }
    SECTION("MTU, check of the FCS, state") {
        auto mtu = port_register<prm::pmtu_reg>();
        mtu.view().set<prm::pmtu_reg::admin_mtu>(9022U);
        REQUIRE(attached.bench.write(RegisterId::PMTU, mtu).ok());
        CHECK(port.settings().mtu == 9022);
        auto pcmr = port_register<prm::pcmr_reg>();
        REQUIRE(attached.bench.write(RegisterId::PCMR, pcmr).ok());
        CHECK_FALSE(port.settings().check_fcs);
        auto paos = port_register<prm::paos_reg>();
        paos.view().set<prm::paos_reg::ase>(1U);
        paos.view().set<prm::paos_reg::admin_status>(2U);
        REQUIRE(attached.bench.write(RegisterId::PAOS, paos).ok());
        CHECK_FALSE(port.settings().admin_up);
        CHECK_FALSE(port.status().up);
    }
    SECTION("pause and what it means for the buffer") {
        CHECK(port.settings().pause_tx);
        CHECK_FALSE(port.settings().buffers[0].lossy);
        auto pfcc = port_register<prm::pfcc_reg>();
        REQUIRE(attached.bench.write(RegisterId::PFCC, pfcc).ok());
        CHECK_FALSE(port.settings().pause_tx);
        CHECK_FALSE(port.settings().pause_rx);
        CHECK(port.settings().buffers[0].lossy);
        pfcc = port_register<prm::pfcc_reg>();
        pfcc.view().set<prm::pfcc_reg::prio_mask_tx>(0xffU);
        pfcc.view().set<prm::pfcc_reg::prio_mask_rx>(0xffU);
        pfcc.view().set<prm::pfcc_reg::pfctx>(0x08U);
        pfcc.view().set<prm::pfcc_reg::pfcrx>(0x18U);
        REQUIRE(attached.bench.write(RegisterId::PFCC, pfcc).ok());
        CHECK(port.settings().pfc_tx == 0x08);
        CHECK(port.settings().pfc_rx == 0x18);
        CHECK_FALSE(port.settings().buffers[0].lossy);
    }
    SECTION("FEC by speed") {
        using Reg = prm::pplm_reg;
        auto reg = port_register<Reg>();
        reg.view().set<Reg::fec_override_admin_25g>(4U);
        reg.view().set<Reg::fec_override_admin_100g>(1U);
        REQUIRE(attached.bench.write(RegisterId::PPLM, reg).ok());
        const auto& fec = port.settings().fec;
        CHECK(fec[static_cast<std::size_t>(LinkMode::speed_25g)] == mask_of(FecMode::rs_528_514));
        CHECK(fec[static_cast<std::size_t>(LinkMode::speed_100g_4x)] == mask_of(FecMode::none));
        CHECK(fec[static_cast<std::size_t>(LinkMode::speed_40g_4x)] == 0);
    }
    SECTION("a reset of the card brings the defaults back") {
        auto mtu = port_register<prm::pmtu_reg>();
        mtu.view().set<prm::pmtu_reg::admin_mtu>(9022U);
        REQUIRE(attached.bench.write(RegisterId::PMTU, mtu).ok());
        attached.bench.firmware.function_reset({0}, model::ResetKind::conventional);
        CHECK(port.settings().mtu == 1522);
    }
}

TEST_CASE("an extended speed mask counts once it was written", "[registers]") {
    using Reg = prm::ptys_reg;
    AttachedBench attached("connectx6dx");
    auto reg = port_register<Reg>();
    reg.view().set<Reg::proto_mask>(4U);
    reg.view().set<Reg::ext_eth_proto_admin>(1U << 6);
    REQUIRE(attached.bench.write(RegisterId::PTYS, reg).ok());
    CHECK(attached.port.settings().modes == mask_of(LinkMode::speed_25g));
    reg = port_register<Reg>();
    reg.view().set<Reg::proto_mask>(4U);
    reg.view().set<Reg::eth_proto_admin>(1U << 12);
    REQUIRE(attached.bench.write(RegisterId::PTYS, reg).ok());
    CHECK(attached.port.settings().modes == mask_of(LinkMode::speed_10g));
}

TEST_CASE("PBMC and PPTB divide the receive buffer", "[registers]") {
    using Pbmc = prm::pbmc_reg;
    using Buffer = prm::bufferx_reg;
    AttachedBench attached;
    auto reg = port_register<Pbmc>();
    REQUIRE(attached.bench.read(RegisterId::PBMC, reg).ok());
    CHECK(reg.view().get<Pbmc::port_buffer_size>() == 2048);
    CHECK(reg.view().at<Pbmc::buffer>(0).get<Buffer::size>() == 2048);
    CHECK(reg.view().at<Pbmc::buffer>(0).get<Buffer::lossy>() == 0);
    CHECK(reg.view().at<Pbmc::buffer>(1).get<Buffer::size>() == 0);
    reg.view().set<Pbmc::port_buffer_size>(0U);
    reg.view().at<Pbmc::buffer>(0).set<Buffer::size>(1000U);
    reg.view().at<Pbmc::buffer>(0).set<Buffer::lossy>(1U);
    const auto second = reg.view().at<Pbmc::buffer>(3);
    second.set<Buffer::size>(1000U);
    second.set<Buffer::xoff_threshold>(700U);
    second.set<Buffer::xon_threshold>(600U);
    second.set<Buffer::lossy>(0U);
    const auto good = reg;
    REQUIRE(attached.bench.write(RegisterId::PBMC, reg).ok());
    const auto& buffer = attached.port.settings().buffers[3];
    CHECK(buffer.size.value == 128'000);
    CHECK(buffer.xoff.value == 89'600);
    CHECK(buffer.xon.value == 76'800);
    CHECK_FALSE(buffer.lossy);
    CHECK(attached.port.settings().buffers[0].lossy);

    using Pptb = prm::pptb_reg;
    auto map = port_register<Pptb>();
    map.view().set<Pptb::pm>(0x30U);
    map.view().set<Pptb::prio_x_buff>(0x77337777U);
    REQUIRE(attached.bench.write(RegisterId::PPTB, map).ok());
    CHECK(map.view().get<Pptb::prio_x_buff>() == 0x00330000);
    CHECK(attached.port.settings().buffer_of_priority[4] == 3);
    CHECK(attached.port.settings().buffer_of_priority[6] == 0);

    check_register_refusals<Pbmc>(
        attached.bench, RegisterId::PBMC, true, good,
        {{"more than there is",
          [](auto r) { r.template at<Pbmc::buffer>(1).template set<Buffer::size>(500U); }},
         {"xoff beyond the buffer",
          [](auto r) {
              r.template at<Pbmc::buffer>(3).template set<Buffer::xoff_threshold>(1001U);
          }},
         {"xon above xoff",
          [](auto r) { r.template at<Pbmc::buffer>(3).template set<Buffer::xon_threshold>(701U); }},
         {"extended port buffer",
          [](auto r) { r.template at<Pbmc::buffer>(3).template set<Buffer::epsb>(1U); }},
         {"refresh too late", [](auto r) { r.template set<Pbmc::xoff_timer_value>(5U); }},
         {"port 2", [](auto r) { r.template set<Pbmc::local_port>(2U); }}});
    auto pptb = port_register<Pptb>();
    pptb.view().set<Pptb::pm>(0xffU);
    check_register_refusals<Pptb>(
        attached.bench, RegisterId::PPTB, true, pptb,
        {{"buffer 8", [](auto r) { r.template set<Pptb::prio_x_buff>(8U << 12); }},
         {"untagged frames", [](auto r) { r.template set<Pptb::um>(1U); }},
         {"port 2", [](auto r) { r.template set<Pptb::local_port>(2U); }}});
}

TEST_CASE("buffers cannot be divided without a port", "[registers]") {
    RegisterBench bench;
    auto pbmc = port_register<prm::pbmc_reg>();
    CHECK(bench.read(RegisterId::PBMC, pbmc).status == Status::BAD_RES);
    auto pptb = port_register<prm::pptb_reg>();
    CHECK(bench.read(RegisterId::PPTB, pptb).status == Status::BAD_RES);
}

TEST_CASE("PDDR tells why the link is down", "[registers]") {
    using Reg = prm::pddr_reg;
    using Page = prm::pddr_troubleshooting_page;
    AttachedBench attached;
    const auto opcode = [&] {
        auto reg = port_register<Reg>();
        reg.view().set<Reg::page_select>(1U);
        REQUIRE(attached.bench.read(RegisterId::PDDR, reg).ok());
        const auto page = reg.view()
                              .nested<Reg::page_data>()
                              .nested<prm::pddr_reg_page_data_auto::pddr_troubleshooting_page>();
        CHECK(page.bytes<Page::status_message>()[0] != std::byte{0});
        return page.nested<Page::status_opcode>()
            .nested<prm::pddr_troubleshooting_page_status_opcode_auto::pddr_monitor_opcode>()
            .get<prm::pddr_monitor_opcode::monitor_opcode>();
    };
    CHECK(opcode() == 0);
    attached.port.plug(false);
    CHECK(opcode() == 1024);
    attached.port.set_reason(model::LinkDownReason::partner_down);
    CHECK(opcode() == 2);
    attached.port.set_reason(model::LinkDownReason::no_common_mode);
    CHECK(opcode() == 39);
    attached.port.set_reason(model::LinkDownReason::no_common_fec);
    CHECK(opcode() == 38);
    attached.bench.firmware.set_port_admin(false);
    CHECK(opcode() == 1);
    auto good = port_register<Reg>();
    good.view().set<Reg::page_select>(1U);
    check_register_refusals<Reg>(attached.bench, RegisterId::PDDR, false, good,
                                 {{"page 0", [](auto r) { r.template set<Reg::page_select>(0U); }},
                                  {"port 2", [](auto r) { r.template set<Reg::local_port>(2U); }}});
}

TEST_CASE("QPTS and QPDPM say where priorities come from, by entry", "[registers]") {
    using Trust = prm::qpts_reg;
    using Map = prm::qpdpm_reg;
    using Entry = prm::qpdpm_dscp_reg;
    AttachedBench attached;
    const FakePort& port = attached.port;
    auto trust = port_register<Trust>();
    REQUIRE(attached.bench.read(RegisterId::QPTS, trust).ok());
    CHECK(trust.view().get<Trust::trust_state>() == 1);
    CHECK_FALSE(port.settings().trust_dscp);
    auto map = port_register<Map>();
    REQUIRE(attached.bench.read(RegisterId::QPDPM, map).ok());
    for (std::size_t i = 0; i < 64; ++i) {
        CHECK(map.view().at<Map::dscp>(i).get<Entry::prio>() == i / 8);
        CHECK(map.view().at<Map::dscp>(i).get<Entry::e>() == 0);
    }
    SECTION("DSCPs are trusted") {
        trust.view().set<Trust::trust_state>(2U);
        REQUIRE(attached.bench.write(RegisterId::QPTS, trust).ok());
        CHECK(port.settings().trust_dscp);
        trust = port_register<Trust>();
        REQUIRE(attached.bench.read(RegisterId::QPTS, trust).ok());
        CHECK(trust.view().get<Trust::trust_state>() == 2);
        attached.bench.firmware.function_reset({0}, model::ResetKind::conventional);
        CHECK_FALSE(port.settings().trust_dscp);
    }
    SECTION("only entries that are marked change") {
        map.view().at<Map::dscp>(26).set<Entry::prio>(5U);
        map.view().at<Map::dscp>(26).set<Entry::e>(1U);
        map.view().at<Map::dscp>(27).set<Entry::prio>(5U);
        REQUIRE(attached.bench.write(RegisterId::QPDPM, map).ok());
        CHECK(port.settings().priority_of_dscp[26] == 5);
        CHECK(port.settings().priority_of_dscp[27] == 3);
        map = port_register<Map>();
        REQUIRE(attached.bench.read(RegisterId::QPDPM, map).ok());
        CHECK(map.view().at<Map::dscp>(26).get<Entry::prio>() == 5);
    }
    SECTION("what cannot be is refused and changes nothing") {
        for (const std::uint32_t state : {0U, 3U, 7U}) {
            trust.view().set<Trust::trust_state>(state);
            CHECK(attached.bench.write(RegisterId::QPTS, trust).status == Status::BAD_PARAM);
        }
        map.view().at<Map::dscp>(1).set<Entry::prio>(4U);
        map.view().at<Map::dscp>(1).set<Entry::e>(1U);
        map.view().at<Map::dscp>(2).set<Entry::prio>(8U);
        map.view().at<Map::dscp>(2).set<Entry::e>(1U);
        CHECK(attached.bench.write(RegisterId::QPDPM, map).status == Status::BAD_PARAM);
        CHECK(port.settings().priority_of_dscp[1] == 0);
        for (const bool write : {false, true}) {
            auto other = port_register<Map>();
            other.view().set<Map::local_port>(2U);
            CHECK(attached.bench.access(RegisterId::QPDPM, write, other.bytes()).status ==
                  Status::BAD_PARAM);
            auto none = port_register<Trust>();
            none.view().set<Trust::local_port>(0U);
            none.view().set<Trust::trust_state>(2U);
            CHECK(attached.bench.access(RegisterId::QPTS, write, none.bytes()).status ==
                  Status::BAD_PARAM);
        }
        CHECK_FALSE(port.settings().trust_dscp);
    }
}
