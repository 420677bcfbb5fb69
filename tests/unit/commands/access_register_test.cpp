// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/registers/register_table.h"
#include "tests/support/firmware_bench.h"

using namespace cxsim;
using namespace cxsim::test;
using firmware_stub::Phase;
using prm::Opcode;
using prm::RegisterId;
using prm::Status;

namespace {

using In = prm::access_register_in;
using Out = prm::access_register_out;

constexpr std::uint32_t kWrite = 0;
constexpr std::uint32_t kRead = 1;

prm::Buffer<In> register_input(RegisterId id, std::uint32_t op_mod, std::size_t data_bytes) {
    auto in = FirmwareBench::input<In>(Opcode::ACCESS_REG, op_mod, data_bytes);
    in.view().set<In::register_id>(static_cast<std::uint32_t>(id));
    return in;
}

prm::Buffer<In> read_pmtu(std::uint32_t local_port = 1) {
    auto in = register_input(RegisterId::PMTU, kRead, prm::pmtu_reg::kBytes);
    prm::View<prm::pmtu_reg>(in.view().tail<In::register_data>())
        .set<prm::pmtu_reg::local_port>(local_port);
    return in;
}

}  // namespace

TEST_CASE("a register is read through ACCESS_REG", "[access_register]") {
    FirmwareBench bench;
    const auto answer = bench.run<Out>(read_pmtu(), prm::pmtu_reg::kBytes);
    REQUIRE(answer.ok());
    const prm::ConstView<prm::pmtu_reg> reg(answer.out.view().tail<Out::register_data>());
    CHECK(reg.get<prm::pmtu_reg::local_port>() == 1);
    CHECK(reg.get<prm::pmtu_reg::admin_mtu>() == bench.firmware.port().admin_mtu);
}

TEST_CASE("a register is written through ACCESS_REG", "[access_register]") {
    FirmwareBench bench;
    bench.firmware.port().config.max_mtu = 9978;
    auto in = register_input(RegisterId::PMTU, kWrite, prm::pmtu_reg::kBytes);
    const prm::View<prm::pmtu_reg> reg(in.view().tail<In::register_data>());
    reg.set<prm::pmtu_reg::local_port>(1U);
    reg.set<prm::pmtu_reg::admin_mtu>(4000U);
    REQUIRE(bench.run<Out>(in, prm::pmtu_reg::kBytes).ok());
    CHECK(bench.firmware.port().admin_mtu == 4000);
}

TEST_CASE("room beyond the register stays as it is", "[access_register]") {
    FirmwareBench bench;
    const auto answer = bench.run<Out>(read_pmtu(), prm::pmtu_reg::kBytes + 32);
    REQUIRE(answer.ok());
    const auto tail = answer.out.view().tail<Out::register_data>().subspan(prm::pmtu_reg::kBytes);
    CHECK(std::ranges::all_of(tail, [](std::byte b) { return b == std::byte{0}; }));
}

TEST_CASE("registers answer from ENABLE_HCA on", "[access_register]") {
    FirmwareBench bench;
    bench.function().set_phase(Phase::enabled);
    CHECK(bench.run<Out>(read_pmtu(), prm::pmtu_reg::kBytes).ok());
    bench.function().set_phase(Phase::reset);
    CHECK(refused(bench.run<Out>(read_pmtu(), prm::pmtu_reg::kBytes), Status::BAD_SYS_STATE));
}

TEST_CASE("refusals of registers are refusals of the command", "[access_register]") {
    FirmwareBench bench;
    SECTION("unknown register") {
        auto in = read_pmtu();
        in.view().set<In::register_id>(0xfff0U);
        CHECK(refused(bench.run<Out>(in, 64), Status::BAD_PARAM, 0x6c4d48));
    }
    SECTION("no such port") {
        CHECK(refused(bench.run<Out>(read_pmtu(2), 64), Status::BAD_PARAM));
    }
    SECTION("data shorter than the register") {
        const auto in = register_input(RegisterId::PMTU, kRead, prm::pmtu_reg::kBytes - 4);
        CHECK(refused(bench.run<Out>(in, 64), Status::BAD_INP_LEN));
    }
    SECTION("no data") {
        CHECK(refused(bench.run<Out>(register_input(RegisterId::PMTU, kRead, 0), 64), Status::BAD_INP_LEN));
    }
    SECTION("no room for the answer") {
        CHECK(refused(bench.run<Out>(read_pmtu(), prm::pmtu_reg::kBytes - 4),
                      Status::BAD_OUTP_LEN));
    }
    SECTION("a read-only register is written") {
        const auto in = register_input(RegisterId::PMLP, kWrite, prm::pmlp_reg::kBytes);
        CHECK(refused(bench.run<Out>(in, prm::pmlp_reg::kBytes), Status::BAD_PARAM));
    }
    SECTION("op_mod 2") {
        const auto in = register_input(RegisterId::PMTU, 2, prm::pmtu_reg::kBytes);
        CHECK(refused(bench.run<Out>(in, prm::pmtu_reg::kBytes), Status::BAD_PARAM));
    }
}
