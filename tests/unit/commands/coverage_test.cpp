// SPDX-License-Identifier: Apache-2.0
// Every opcode of the header is handled or refused with a reason, and not both.
#include "firmware_stub/mailbox/command_table.h"
#include "model/prm/command.h"
#include "tests/support/firmware_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>

using namespace cxsim;
using namespace cxsim::test;

TEST_CASE("no opcode of the header is forgotten", "[coverage]") {
    for (const prm::OpcodeInfo& info : prm::all_opcodes()) {
        INFO(info.name);
        const bool handled = firmware_stub::find_command(info.opcode) != nullptr;
        const auto* refused = firmware_stub::find_unsupported(info.opcode);
        CHECK(handled != (refused != nullptr));
        if (refused != nullptr) CHECK(std::string(refused->reason).size() > 10);
    }
}

TEST_CASE("no opcode stands in a table twice or is unknown to the header", "[coverage]") {
    std::set<std::uint16_t> seen;
    for (const firmware_stub::CommandRow& row : firmware_stub::all_commands()) {
        const auto opcode = static_cast<std::uint16_t>(row.opcode);
        INFO(prm::opcode_name(opcode));
        CHECK(prm::find_opcode(opcode) != nullptr);
        CHECK(seen.insert(opcode).second);
        CHECK(row.handler != nullptr);
    }
    for (const firmware_stub::UnsupportedRow& row : firmware_stub::unsupported_commands()) {
        const auto opcode = static_cast<std::uint16_t>(row.opcode);
        INFO(prm::opcode_name(opcode));
        CHECK(prm::find_opcode(opcode) != nullptr);
        CHECK(seen.insert(opcode).second);
    }
}

TEST_CASE("what is not offered is refused as an unknown opcode is, and counted", "[coverage]") {
    FirmwareBench bench;
    const std::uint64_t before = bench.digest();
    for (const firmware_stub::UnsupportedRow& row : firmware_stub::unsupported_commands()) {
        const auto opcode = static_cast<std::uint16_t>(row.opcode);
        INFO(prm::opcode_name(opcode));
        std::vector<std::byte> in(256);
        std::vector<std::byte> out(256);
        model::store_be<std::uint16_t>(in.data(), opcode);
        firmware_stub::CommandContext context{bench.firmware, bench.function(),
                                              bench.calendar.now()};
        const std::uint64_t refused = bench.function().refused_commands;
        const auto reply = firmware_stub::run_command(context, in, out);
        CHECK(reply.status == prm::Status::BAD_OP);
        CHECK(reply.reason == row.reason);
        CHECK(out[0] == static_cast<std::byte>(prm::Status::BAD_OP));
        CHECK(bench.function().refused_commands == refused + 1);
    }
    CHECK(bench.digest() == before);
}
