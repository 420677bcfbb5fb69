// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/registers/register_bench.h"

using namespace cxsim;
using namespace cxsim::test;
using prm::RegisterId;
using prm::Status;

TEST_CASE("HOST_ENDIANNESS knows little-endian hosts", "[registers]") {
    using Reg = prm::register_host_endianness;
    RegisterBench bench;
    prm::Buffer<Reg> reg;
    CHECK(bench.write(RegisterId::HOST_ENDIANNESS, reg).ok());
    reg.view().set<Reg::he>(1U);
    CHECK(bench.write(RegisterId::HOST_ENDIANNESS, reg).status == Status::BAD_PARAM);
    REQUIRE(bench.read(RegisterId::HOST_ENDIANNESS, reg).ok());
    CHECK(reg.view().get<Reg::he>() == 0);
}

TEST_CASE("DTOR leaves the driver's timeouts alone", "[registers]") {
    RegisterBench bench;
    prm::Buffer<prm::dtor_reg> reg;
    std::ranges::fill(reg.bytes(), std::byte{0xff});
    REQUIRE(bench.read(RegisterId::DTOR, reg).ok());
    CHECK(std::ranges::all_of(reg.bytes(), [](std::byte b) { return b == std::byte{0}; }));
    CHECK(bench.write(RegisterId::DTOR, reg).status == Status::BAD_PARAM);
}

TEST_CASE("MCQS lists the boot image and nothing else", "[registers]") {
    using Reg = prm::mcqs_reg;
    RegisterBench bench;
    prm::Buffer<Reg> reg;
    REQUIRE(bench.read(RegisterId::MCQS, reg).ok());
    CHECK(reg.view().get<Reg::last_index_flag>() == 1);
    CHECK(reg.view().get<Reg::identifier>() == 1);
    CHECK(reg.view().get<Reg::component_update_state>() == 0);
    for (const std::uint32_t index : {1U, 2U, 0xffffU}) {
        reg.view().set<Reg::component_index>(index);
        CHECK(bench.read(RegisterId::MCQS, reg).status == Status::BAD_PARAM);
    }
    CHECK(bench.write(RegisterId::MCQS, reg).status == Status::BAD_PARAM);
}

namespace {

prm::Buffer<prm::mcqi_reg> mcqi(std::uint32_t info_type, std::uint32_t size,
                                std::size_t room = 512) {
    prm::Buffer<prm::mcqi_reg> reg(room);
    reg.view().set<prm::mcqi_reg::info_type>(info_type);
    reg.view().set<prm::mcqi_reg::data_size>(size);
    return reg;
}

}  // namespace

TEST_CASE("MCQI tells the version of the boot image", "[registers]") {
    using Reg = prm::mcqi_reg;
    RegisterBench bench;
    auto reg = mcqi(1, prm::mcqi_version::kBytes);
    REQUIRE(bench.read(RegisterId::MCQI, reg).ok());
    CHECK(reg.view().get<Reg::info_size>() == prm::mcqi_version::kBytes);
    const prm::ConstView<prm::mcqi_version> version(reg.bytes().subspan(Reg::kBytes));
    CHECK(version.get<prm::mcqi_version::version>() == ((16U << 24) | (35U << 16) | 4030));
    SECTION("capabilities") {
        auto caps = mcqi(0, prm::mcqi_cap::kBytes);
        REQUIRE(bench.read(RegisterId::MCQI, caps).ok());
        const prm::ConstView<prm::mcqi_cap> view(caps.bytes().subspan(Reg::kBytes));
        CHECK(view.get<prm::mcqi_cap::supported_info_bitmask>() == 0b11);
    }
    SECTION("a part of it, from an offset") {
        auto part = mcqi(1, 8);
        part.view().set<Reg::offset>(4U);
        REQUIRE(bench.read(RegisterId::MCQI, part).ok());
        CHECK(std::ranges::equal(part.bytes().subspan(Reg::kBytes, 8),
                                 reg.bytes().subspan(Reg::kBytes + 4, 8)));
        CHECK(part.bytes()[Reg::kBytes + 8] == std::byte{0});
    }
    SECTION("what there is not is refused") {
        const auto status = [&](auto spoil, std::uint32_t type = 1) {
            auto bad = mcqi(type, 8);
            spoil(bad.view());
            return bench.read(RegisterId::MCQI, bad).status;
        };
        CHECK(status([](auto r) { r.template set<Reg::component_index>(1U); }) ==
              Status::BAD_PARAM);
        CHECK(status([](auto r) { r.template set<Reg::read_pending_component>(1U); }) ==
              Status::BAD_RES);
        CHECK(status([](auto r) { r.template set<Reg::offset>(0x10000U); }) == Status::BAD_PARAM);
        CHECK(status([](auto r) { r.template set<Reg::data_size>(513U); }) == Status::BAD_PARAM);
        CHECK(status([](auto) {}, 2) == Status::BAD_PARAM);
        CHECK(status([](auto) {}, 31) == Status::BAD_PARAM);
    }
    SECTION("without room for data only the size is told") {
        auto bare = mcqi(1, 0, 0);
        REQUIRE(bench.read(RegisterId::MCQI, bare).ok());
        CHECK(bare.view().get<Reg::info_size>() == prm::mcqi_version::kBytes);
    }
}

TEST_CASE("MFRL negotiates a reset of the firmware with the driver", "[registers]") {
    using Reg = prm::mfrl_reg;
    using UpdateReset = firmware_stub::Firmware::UpdateReset;
    RegisterBench bench;
    prm::Buffer<Reg> reg;
    REQUIRE(bench.read(RegisterId::MFRL, reg).ok());
    CHECK(reg.view().get<Reg::reset_level>() == 0x48);  // PCI reset, power cycle
    CHECK(reg.view().get<Reg::reset_type>() == 1);
    const auto write = [&](std::uint32_t level, std::uint32_t start, std::uint32_t answer,
                           std::uint32_t type = 0) {
        prm::Buffer<Reg> request;
        request.view().set<Reg::reset_level>(level);
        request.view().set<Reg::pci_sync_for_fw_update_start>(start);
        request.view().set<Reg::pci_sync_for_fw_update_resp>(answer);
        request.view().set<Reg::rst_type_sel>(type);
        return bench.write(RegisterId::MFRL, request);
    };
    CHECK(write(0x40, 1, 0).status == Status::BAD_PARAM);
    CHECK(write(0x8, 1, 0, 1).status == Status::BAD_PARAM);
    CHECK(write(0x8, 0, 0).status == Status::BAD_PARAM);
    CHECK(write(0x8, 0, 3).status == Status::BAD_PARAM);
    CHECK(write(0x8, 0, 1).status == Status::BAD_SYS_STATE);  // nobody asked
    CHECK(write(0x8, 0, 1).syndrome == 0x685f19);
    CHECK(bench.firmware.update_reset() == UpdateReset::idle);
    REQUIRE(write(0x8, 1, 0).ok());
    CHECK(bench.firmware.update_reset() == UpdateReset::negotiating);
    CHECK(write(0x8, 1, 0).status == Status::BAD_SYS_STATE);
    SECTION("the driver refuses") {
        REQUIRE(write(0x8, 0, 2).ok());
        CHECK(bench.firmware.update_reset() == UpdateReset::idle);
    }
    SECTION("the driver agrees") {
        REQUIRE(write(0x8, 0, 1).ok());
        CHECK(bench.firmware.update_reset() == UpdateReset::now);
        bench.firmware.function_reset({0}, model::ResetKind::conventional);
        CHECK(bench.firmware.update_reset() == UpdateReset::idle);
    }
}

TEST_CASE("NODE_DESC is kept as it is written", "[registers]") {
    RegisterBench bench;
    prm::Buffer<prm::set_node_in> reg;
    for (std::size_t i = 0; i < 64; ++i) reg.bytes()[i] = static_cast<std::byte>('a' + i % 26);
    REQUIRE(bench.write(RegisterId::NODE_DESC, reg).ok());
    prm::Buffer<prm::set_node_in> back;
    REQUIRE(bench.read(RegisterId::NODE_DESC, back).ok());
    CHECK(std::equal(back.bytes().begin(), back.bytes().begin() + 64, reg.bytes().begin()));
}

TEST_CASE("MCIA reports an empty cage inside the register", "[registers]") {
    using Reg = prm::mcia_reg;
    RegisterBench bench;
    prm::Buffer<Reg> reg;
    reg.view().set<Reg::module>(bench.port().config.module);
    reg.view().set<Reg::size>(48U);
    const auto data = reg.view().bytes<Reg::dwords>();
    std::ranges::fill(data, std::byte{0xff});
    REQUIRE(bench.read(RegisterId::MCIA, reg).ok());
    CHECK(reg.view().get<Reg::status>() == 3);
    CHECK(std::ranges::all_of(data, [](std::byte b) { return b == std::byte{0}; }));
    reg.view().set<Reg::module>(bench.port().config.module + 1);
    REQUIRE(bench.read(RegisterId::MCIA, reg).ok());
    CHECK(reg.view().get<Reg::status>() == 1);
}

TEST_CASE("MGIR tells tools who the card is", "[registers]") {
    using Reg = prm::mgir_reg;
    RegisterBench bench;
    prm::Buffer<Reg> reg;
    REQUIRE(bench.read(RegisterId::MGIR, reg).ok());
    CHECK(reg.view().get<Reg::hw_info, prm::mgir_hardware_info::device_id>() == 0x1017);
    CHECK(reg.view().get<Reg::hw_info, prm::mgir_hardware_info::hw_dev_id>() == 0x20d);
    CHECK(reg.view().get<Reg::fw_info, prm::mgir_fw_info::extended_major>() == 16);
    CHECK(reg.view().get<Reg::fw_info, prm::mgir_fw_info::extended_minor>() == 35);
    CHECK(reg.view().get<Reg::fw_info, prm::mgir_fw_info::extended_sub_minor>() == 4030);
    const auto psid = reg.view().nested<Reg::fw_info>().bytes<prm::mgir_fw_info::psid>();
    CHECK(std::string(reinterpret_cast<const char*>(psid.data()), 13) == "MT_0000000000");
    CHECK(bench.write(RegisterId::MGIR, reg).status == Status::BAD_PARAM);
}
