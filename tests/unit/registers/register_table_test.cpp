// SPDX-License-Identifier: Apache-2.0
#include "model/base/random.h"
#include "tests/unit/registers/register_bench.h"

#include <catch2/generators/catch_generators_range.hpp>

#include <set>

using namespace cxsim;
using namespace cxsim::test;
using firmware_stub::all_registers;
using firmware_stub::RegisterRow;
using prm::RegisterId;
using prm::Status;

TEST_CASE("each register has an id of its own, a layout and a direction", "[registers]") {
    std::set<RegisterId> ids;
    for (const RegisterRow& row : all_registers()) {
        const auto id = static_cast<std::uint16_t>(row.id);
        CAPTURE(id);
        CHECK(ids.insert(row.id).second);
        CHECK((row.read != nullptr || row.write != nullptr));
        CHECK(firmware_stub::find_register(id) == &row);
        const prm::RegisterInfo* known = prm::find_register(id);
        REQUIRE(known != nullptr);
        CHECK(known->layout == row.layout->name);
    }
    CHECK(ids.size() >= 20);
    CHECK(firmware_stub::find_register(0xfff0) == nullptr);
}

TEST_CASE("a register that is too short, unknown or the wrong way round is refused",
          "[registers]") {
    RegisterBench bench;
    for (const RegisterRow& row : all_registers()) {
        CAPTURE(static_cast<std::uint16_t>(row.id));
        std::vector<std::byte> data(row.layout->bytes());
        for (const bool write : {false, true}) {
            const auto short_data = std::span(data).first(data.size() - 1);
            CHECK(bench.access(row.id, write, short_data).status == Status::BAD_INP_LEN);
            CHECK(bench.access(row.id, write, {}).status == Status::BAD_INP_LEN);
            if ((write ? row.write : row.read) != nullptr) continue;
            const auto reply = bench.access(row.id, write, data);
            CHECK(reply.status == Status::BAD_PARAM);
            CHECK_FALSE(reply.reason.empty());
        }
    }
    std::vector<std::byte> data(1024);
    for (std::uint32_t id = 0; id < 0x10000; ++id) {
        if (firmware_stub::find_register(static_cast<std::uint16_t>(id)) != nullptr) continue;
        const auto reply = bench.access(static_cast<RegisterId>(id), (id & 1) != 0, data);
        if (reply.status != Status::BAD_PARAM || reply.syndrome != 0x6c4d48) {
            FAIL("register " << id << " is not refused as unknown");
        }
    }
}

TEST_CASE("no contents of any register do harm", "[registers]") {
    const auto name = GENERATE(from_range(model::card_names().begin(), model::card_names().end()));
    CAPTURE(name);
    RegisterBench bench(name);
    model::RandomStream random(1, "registers");
    std::size_t accepted = 0;
    for (int round = 0; round < 300; ++round) {
        for (const RegisterRow& row : all_registers()) {
            std::vector<std::byte> data(row.layout->bytes() + random.below(3) * 4);
            // All random, few random bits, or random behind a port that there is.
            const auto kind = random.below(3);
            for (std::byte& byte : data) {
                if (kind != 1 || random.below(16) == 0) {
                    byte = static_cast<std::byte>(random.below(256));
                }
            }
            if (kind == 2) data[0] = std::byte{0}, data[1] = std::byte{1};
            const auto reply = bench.access(row.id, random.below(2) == 1, data);
            accepted += reply.ok() ? 1 : 0;
            if (!reply.ok() && reply.reason.empty()) FAIL("a refusal without a reason");
        }
    }
    CHECK(accepted > 100);
}

TEST_CASE("PCAM, MCAM and QCAM are the card's data", "[registers]") {
    const auto name = GENERATE(from_range(model::card_names().begin(), model::card_names().end()));
    CAPTURE(name);
    RegisterBench bench(name);
    const auto check = [&]<class Reg>(RegisterId id, const char* layout) {
        std::size_t groups = 0;
        for (std::uint32_t group = 0; group < 256; ++group) {
            prm::Buffer<Reg> reg;
            reg.view().template set<typename Reg::access_reg_group>(group);
            const auto* image = bench.card->capabilities().register_group(layout, group);
            const auto reply = bench.read(id, reg);
            CAPTURE(layout, group);
            if (image == nullptr) {
                CHECK(reply.status == Status::BAD_PARAM);
                continue;
            }
            ++groups;
            REQUIRE(reply.ok());
            CHECK(reg.view().template get<typename Reg::access_reg_group>() == group);
            reg.view().template set<typename Reg::access_reg_group>(
                image->get("access_reg_group"));
            CHECK(std::ranges::equal(reg.bytes(), image->bytes()));
            reg.view().template set<typename Reg::access_reg_group>(group);
            reg.view().template set<typename Reg::feature_group>(1U);
            CHECK(bench.read(id, reg).status == Status::BAD_PARAM);
            CHECK(bench.write(id, reg).status == Status::BAD_PARAM);
        }
        CHECK(groups >= 1);
    };
    check.operator()<prm::pcam_reg>(RegisterId::PCAM, "pcam_reg");
    check.operator()<prm::mcam_reg>(RegisterId::MCAM, "mcam_reg");
    check.operator()<prm::qcam_reg>(RegisterId::QCAM, "qcam_reg");
}

TEST_CASE("PPCNT of a port without a MAC counts nothing", "[registers]") {
    using Reg = prm::ppcnt_reg;
    RegisterBench bench;
    for (const std::uint32_t group : {0x0U, 0x1U, 0x2U, 0x3U, 0x5U, 0x10U, 0x11U, 0x12U}) {
        for (const bool write : {false, true}) {  // clr comes as a write
            auto reg = port_register<Reg>();
            reg.view().set<Reg::grp>(group);
            const auto counters = reg.view().bytes<Reg::counter_set>();
            std::ranges::fill(counters, std::byte{0xff});
            CAPTURE(group, write);
            REQUIRE(bench.access(RegisterId::PPCNT, write, reg.bytes()).ok());
            CHECK(std::ranges::all_of(counters, [](std::byte b) { return b == std::byte{0}; }));
        }
    }
    auto good = port_register<Reg>();
    good.view().set<Reg::grp>(0x10U);
    good.view().set<Reg::prio_tc>(7U);
    REQUIRE(bench.read(RegisterId::PPCNT, good).ok());
    check_register_refusals<Reg>(
        bench, RegisterId::PPCNT, false, good,
        {{"port 2", [](auto r) { r.template set<Reg::local_port>(2U); }, Status::BAD_PARAM,
          0x1e5585},
         {"group 4", [](auto r) { r.template set<Reg::grp>(4U); }},
         {"group 0x3f", [](auto r) { r.template set<Reg::grp>(0x3fU); }},
         {"priority 8", [](auto r) { r.template set<Reg::prio_tc>(8U); }},
         {"priority of a group without",
          [](auto r) { r.template set<Reg::grp>(0U); }}});
}
