// SPDX-License-Identifier: Apache-2.0
// Registers in front of a real port on a link with bit errors.
#include "eth/link/link.h"
#include "eth/mac/mac.h"
#include "tests/unit/registers/register_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <cmath>

using namespace cxsim;
using namespace cxsim::test;
using model::milliseconds;
using prm::RegisterId;

namespace {

struct LinkedBench {
    LinkedBench()
        : link(bench.calendar, {}, statistics),
          mac(bench.calendar, named("port0"), frames, statistics),
          partner(bench.calendar, named("partner"), frames, statistics) {
        model::PortSettings settings;
        settings.modes = eth::all_modes_mask();
        partner.configure(settings);
        partner.connect(link, 1);
        mac.connect(link, 0);
        bench.firmware.attach_port(mac);
    }
    // The bench owns the calendar and goes last: its firmware lets go of the port before.
    ~LinkedBench() {
        mac.set_listener(nullptr);
        bench.firmware.port().control = nullptr;
    }
    eth::MacConfig named(const char* name) {
        eth::MacConfig config = eth::mac_config(bench.card->timing(), {2, 0, 0, 0, 0, 1});
        config.name = name;
        return config;
    }
    template <class Reg>
    prm::Buffer<Reg> read(RegisterId id, auto&& prepare) {
        auto reg = port_register<Reg>();
        prepare(reg.view());
        REQUIRE(bench.read(id, reg).ok());
        return reg;
    }
    bool up() {
        const auto paos = read<prm::paos_reg>(RegisterId::PAOS, [](auto) {});
        return paos.view().template get<prm::paos_reg::oper_status>() == 1;
    }
    std::uint32_t fec() {
        return read<prm::pplm_reg>(RegisterId::PPLM, [](auto) {})
            .view()
            .template get<prm::pplm_reg::fec_mode_active>();
    }
    prm::Buffer<prm::ppcnt_reg> counters(std::uint32_t group) {
        return read<prm::ppcnt_reg>(
            RegisterId::PPCNT, [&](auto view) { view.template set<prm::ppcnt_reg::grp>(group); });
    }

    RegisterBench bench;
    model::FramePool frames;
    model::stats::Group statistics{"card"};
    eth::Link link;
    eth::Mac mac;
    eth::Mac partner;
};

}  // namespace

TEST_CASE("the link comes up as long after the port as the card's data say", "[port]") {
    LinkedBench bench;
    model::Calendar& calendar = bench.bench.calendar;
    const model::Picoseconds begin = calendar.now();
    const model::Picoseconds time = bench.bench.card->timing().link_up();
    calendar.run_until(begin + time - model::picoseconds(1));
    CHECK_FALSE(bench.up());
    CHECK(bench.fec() == 0);
    calendar.run_until(begin + time);
    CHECK(bench.up());
    CHECK(bench.fec() == mask_of(model::FecMode::rs_528_514));
    const auto ptys = bench.read<prm::ptys_reg>(
        RegisterId::PTYS, [](auto view) { view.template set<prm::ptys_reg::proto_mask>(4U); });
    CHECK(ptys.view().get<prm::ptys_reg::eth_proto_oper>() == 1U << 20);  // 100GBASE-CR4

    bench.bench.firmware.set_port_admin(false);
    CHECK_FALSE(bench.up());
    bench.bench.firmware.set_port_admin(true);
    CHECK_FALSE(bench.up());
    calendar.run_until(calendar.now() + time);
    CHECK(bench.up());
}

TEST_CASE("another FEC mode brings the link up anew, with it", "[port]") {
    LinkedBench bench;
    model::Calendar& calendar = bench.bench.calendar;
    const model::Picoseconds time = bench.bench.card->timing().link_up();
    calendar.run_until(calendar.now() + time);
    REQUIRE(bench.up());
    auto pplm = port_register<prm::pplm_reg>();
    pplm.view().set<prm::pplm_reg::fec_override_admin_100g>(1U);  // none
    REQUIRE(bench.bench.write(RegisterId::PPLM, pplm).ok());
    CHECK_FALSE(bench.up());
    calendar.run_until(calendar.now() + time);
    CHECK(bench.up());
    CHECK(bench.fec() == mask_of(model::FecMode::none));
}

TEST_CASE("the physical groups of PPCNT agree on an idle link with bit errors", "[port]") {
    LinkedBench bench;
    model::Calendar& calendar = bench.bench.calendar;
    REQUIRE(bench.link.set_bit_error_ratio(0, 1e-4));
    calendar.run_until(calendar.now() + bench.bench.card->timing().link_up());
    calendar.run_until(calendar.now() + milliseconds(50));
    using Layer = prm::phys_layer_cntrs;
    using Statistics = prm::phys_layer_statistical_cntrs;
    const auto value = [](const auto& reg, std::uint32_t offset_bits) {
        return static_cast<double>(model::load_be<std::uint64_t>(
            reg.view().template bytes<prm::ppcnt_reg::counter_set>().data() + offset_bits / 8));
    };
    const auto layer = bench.counters(0x12);
    const auto statistics = bench.counters(0x16);
    const double blocks = value(layer, Layer::rs_fec_corrected_blocks_high::kOffset) +
                          value(layer, Layer::rs_fec_no_errors_blocks_high::kOffset) +
                          value(layer, Layer::rs_fec_uncorrectable_blocks_high::kOffset);
    CHECK(blocks == 976'562);  // whole ones of 51.2 ns in 50 ms
    const double bits = value(statistics, Statistics::phy_received_bits_high::kOffset);
    CHECK(std::abs(bits - 103.125e9 * 0.05) <= 1);
    const double corrected = value(statistics, Statistics::phy_corrected_bits_high::kOffset);
    CHECK(std::abs(corrected / (bits * 1e-4) - 1) < 0.01);
    const double left = value(statistics, Statistics::phy_symbol_errors_high::kOffset);
    CHECK(left == value(layer, Layer::symbol_errors_high::kOffset));
    double lanes = 0;
    for (std::uint32_t lane = 0; lane < 4; ++lane) {
        lanes += value(statistics, Statistics::phy_corrected_bits_lane0_high::kOffset + lane * 64);
    }
    CHECK(lanes == corrected + left);
}
