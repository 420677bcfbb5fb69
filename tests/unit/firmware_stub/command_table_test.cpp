// SPDX-License-Identifier: Apache-2.0
#include "tests/support/firmware_bench.h"

#include <array>
#include <set>

using namespace cxsim;
using namespace cxsim::test;
using firmware_stub::all_commands;
using firmware_stub::CommandContext;
using firmware_stub::CommandRow;
using firmware_stub::Cost;
using firmware_stub::Phase;
using firmware_stub::Reply;
using prm::Opcode;
using prm::Status;

namespace {

std::vector<std::byte> header(std::uint16_t opcode, std::size_t bytes, std::uint16_t op_mod = 0) {
    std::vector<std::byte> input(bytes);
    model::store_be<std::uint16_t>(input.data(), opcode);
    if (bytes >= 8) model::store_be<std::uint16_t>(input.data() + 6, op_mod);
    return input;
}

std::uint16_t number(Opcode opcode) {
    return static_cast<std::uint16_t>(opcode);
}

std::uint16_t first_op_mod(const CommandRow& row) {
    std::uint16_t op_mod = 0;
    while (((row.op_mods >> op_mod) & 1) == 0) ++op_mod;
    return op_mod;
}

struct Ran {
    Reply reply;
    std::vector<std::byte> output;
};

// The function's phase is set by hand: what is tested is what comes before the handlers.
Ran run(FirmwareBench& bench, const std::vector<std::byte>& input, std::size_t output_bytes) {
    Ran ran{{}, std::vector<std::byte>(output_bytes)};
    CommandContext context{bench.firmware, bench.function(), bench.calendar.now()};
    ran.reply = firmware_stub::run_command(context, input, ran.output);
    return ran;
}

}  // namespace

TEST_CASE("commands are sorted by opcode and each is known to the header", "[commands]") {
    std::set<std::uint16_t> seen;
    std::uint16_t last = 0;
    for (const CommandRow& row : all_commands()) {
        CAPTURE(number(row.opcode));
        CHECK(seen.insert(number(row.opcode)).second);
        CHECK(number(row.opcode) >= last);
        last = number(row.opcode);
        CHECK(prm::find_opcode(last) != nullptr);
        CHECK(firmware_stub::find_command(last) == &row);
        CHECK(firmware_stub::find_unsupported(last) == nullptr);
        CHECK(row.op_mods != 0);
        CHECK(row.input->bytes() >= 8);
        CHECK(row.output->bytes() >= 8);
    }
}

TEST_CASE("every opcode of the header is handled or refused for a reason", "[commands]") {
    for (const prm::OpcodeInfo& info : prm::all_opcodes()) {
        CAPTURE(info.name, info.opcode);
        const bool handled = firmware_stub::find_command(info.opcode) != nullptr;
        const auto* refused = firmware_stub::find_unsupported(info.opcode);
        CHECK(handled != (refused != nullptr));
        if (refused != nullptr) CHECK(std::string_view(refused->reason).size() > 10);
    }
}

TEST_CASE("a known command that is not offered is refused as an unknown one", "[commands]") {
    FirmwareBench bench;
    for (const auto& row : firmware_stub::unsupported_commands()) {
        const Ran ran = run(bench, header(number(row.opcode), 64), 64);
        CAPTURE(number(row.opcode));
        CHECK(ran.reply.status == Status::BAD_OP);
        CHECK(ran.reply.syndrome == 0);
        CHECK(ran.reply.reason == row.reason);
    }
    for (const int value : {0, 1, 0x7ff, 0xfff, 0xffff}) {
        const auto opcode = static_cast<std::uint16_t>(value);
        const Ran ran = run(bench, header(opcode, 16), 16);
        CAPTURE(opcode);
        CHECK(ran.reply.status == Status::BAD_OP);
        CHECK(ran.reply.reason == "opcode unknown");
    }
}

TEST_CASE("inputs and outputs shorter than their layout are refused by length", "[commands]") {
    FirmwareBench bench;
    const std::uint64_t before = bench.digest();
    for (const CommandRow& row : all_commands()) {
        CAPTURE(number(row.opcode));
        bench.function().set_phase(row.phase);
        const auto op_mod = first_op_mod(row);
        const std::size_t in = row.input->bytes();
        const std::size_t out = row.output->bytes();
        const Ran short_in = run(bench, header(number(row.opcode), in - 1, op_mod), out);
        CHECK(short_in.reply.status == Status::BAD_INP_LEN);
        const Ran short_out = run(bench, header(number(row.opcode), in, op_mod), out - 1);
        CHECK(short_out.reply.status == Status::BAD_OUTP_LEN);
        CHECK(bench.digest() == before);
    }
    for (const std::size_t bytes : {0U, 1U, 2U, 7U}) {
        const Ran ran = run(bench, header(0, std::max<std::size_t>(bytes, 2)), 16);
        CHECK(ran.reply.status == Status::BAD_INP_LEN);
    }
}

TEST_CASE("an output without room for a header is left alone", "[commands]") {
    FirmwareBench bench;
    Ran ran{{}, std::vector<std::byte>(7, std::byte{0x5a})};
    CommandContext context{bench.firmware, bench.function(), bench.calendar.now()};
    ran.reply = firmware_stub::run_command(context, header(number(Opcode::NOP), 16), ran.output);
    CHECK(ran.reply.status == Status::BAD_OUTP_LEN);
    CHECK(ran.output == std::vector<std::byte>(7, std::byte{0x5a}));
}

TEST_CASE("a user context that was not given out is refused before anything else", "[commands]") {
    FirmwareBench bench;
    for (const CommandRow& row : all_commands()) {
        if (row.input->find("uid") == nullptr) continue;
        CAPTURE(number(row.opcode));
        bench.function().set_phase(Phase::reset);
        auto input = header(number(row.opcode), row.input->bytes(), 0xffff);
        std::fill(input.begin() + 8, input.end(), std::byte{0xff});
        for (const int uid : {1, 2, 0x7fff, 0xffef}) {
            model::store_be<std::uint16_t>(input.data() + 2, static_cast<std::uint16_t>(uid));
            const Ran ran = run(bench, input, row.output->bytes());
            CHECK(ran.reply.status == Status::BAD_PARAM);
            CHECK(ran.reply.syndrome == 0x76555f);
        }
        // The kernel's own marks are above the registry.
        model::store_be<std::uint16_t>(input.data() + 2, 0xffff);
        CHECK(run(bench, input, row.output->bytes()).reply.syndrome != 0x76555f);
    }
}

TEST_CASE("a command before its phase is refused by system state", "[commands]") {
    FirmwareBench bench;
    const std::uint64_t before = bench.digest();
    for (const CommandRow& row : all_commands()) {
        CAPTURE(number(row.opcode));
        for (const Phase phase : {Phase::reset, Phase::enabled}) {
            if (phase >= row.phase) continue;
            bench.function().set_phase(phase);
            const Ran ran = run(bench, header(number(row.opcode), row.input->bytes(),
                                              first_op_mod(row)),
                                row.output->bytes());
            CHECK(ran.reply.status == Status::BAD_SYS_STATE);
        }
        CHECK(bench.digest() == before);
    }
    CHECK(firmware_stub::to_string(Phase::reset) == "reset");
    CHECK(firmware_stub::to_string(Phase::enabled) == "enabled");
    CHECK(firmware_stub::to_string(Phase::initialised) == "initialised");
}

TEST_CASE("an op_mod that a command does not define is refused", "[commands]") {
    FirmwareBench bench;
    const std::uint64_t before = bench.digest();
    for (const CommandRow& row : all_commands()) {
        if (row.op_mods == CommandRow::kAnyOpMod) continue;
        CAPTURE(number(row.opcode));
        bench.function().set_phase(row.phase);
        for (const int value : {0, 1, 2, 3, 4, 5, 31, 32, 33, 0x8000, 0xffff}) {
            const auto op_mod = static_cast<std::uint16_t>(value);
            if (op_mod < 32 && ((row.op_mods >> op_mod) & 1) != 0) continue;
            const Ran ran = run(bench, header(number(row.opcode), row.input->bytes(), op_mod),
                                row.output->bytes());
            CHECK(ran.reply.status == Status::BAD_PARAM);
            CHECK(ran.reply.reason == "op_mod not defined for this command");
        }
        CHECK(bench.digest() == before);
    }
}

TEST_CASE("a reserved bit that is set is refused where the row says so", "[commands]") {
    FirmwareBench bench;
    const std::uint64_t before = bench.digest();
    std::size_t unchecked = 0;
    for (const CommandRow& row : all_commands()) {
        unchecked += row.check_reserved ? 0 : 1;
        if (!row.check_reserved) continue;
        for (const prm::FieldInfo& field : row.input->fields) {
            // The first dwords are opcode, uid and op_mod; a reserved half there is checked, too.
            if (!field.reserved || field.nested != nullptr || field.bit_offset < 32) continue;
            CAPTURE(number(row.opcode), field.name);
            bench.function().set_phase(row.phase);
            auto input = header(number(row.opcode), row.input->bytes(), first_op_mod(row));
            for (const std::uint32_t bit : {0U, field.bit_width * field.count - 1}) {
                prm::set_bits(input, field.bit_offset + bit, 1, 1);
                const Ran ran = run(bench, input, row.output->bytes());
                CHECK(ran.reply.status == Status::BAD_PARAM);
                CHECK(ran.reply.reason == "a reserved field is not zero");
                prm::set_bits(input, field.bit_offset + bit, 1, 0);
            }
        }
        CHECK(bench.digest() == before);
    }
    CHECK(unchecked < all_commands().size() / 4);
}

TEST_CASE("a refusal carries status and syndrome and nothing else", "[commands]") {
    FirmwareBench bench;
    auto input = header(number(Opcode::QUERY_HCA_CAP), 16, 0x7e);
    std::vector<std::byte> output(4112, std::byte{0});
    CommandContext context{bench.firmware, bench.function(), bench.calendar.now()};
    const Reply reply = firmware_stub::run_command(context, input, output);
    CHECK(reply.status == Status::BAD_PARAM);
    CHECK(output[0] == std::byte{0x3});
    CHECK(model::load_be<std::uint32_t>(output.data() + 4) == 0x5add95);
    CHECK(std::all_of(output.begin() + 8, output.end(),
                      [](std::byte b) { return b == std::byte{0}; }));
}

TEST_CASE("refusals are counted for the function, limits of their own", "[commands]") {
    FirmwareBench bench("connectx5", capability({{"cmd_hca_cap.log_max_pd", "1"}}));
    const auto refused_before = bench.function().refused_commands;
    bench.alloc_pd();  // 2^1 less the one that is reserved
    const auto answer =
        bench.run<prm::alloc_pd_out>(bench.input<prm::alloc_pd_in>(Opcode::ALLOC_PD));
    CHECK(answer.reply.status == Status::LIM_ERR);
    CHECK(bench.function().refused_commands == refused_before + 1);
    CHECK(bench.function().commands_beyond_limits == 1);
}

TEST_CASE("a command's time is its class's, pages count one by one", "[commands]") {
    firmware_stub::CommandTiming timing;
    for (std::size_t i = 0; i < timing.of.size(); ++i) {
        timing.of[i] = model::microseconds(static_cast<std::int64_t>(i) + 1);
    }
    timing.per_page = model::nanoseconds(50);
    const auto latency = [&](const std::vector<std::byte>& input) {
        return firmware_stub::command_latency(timing, input);
    };
    CHECK(latency(header(number(Opcode::QUERY_ADAPTER), 16)) == timing[Cost::query]);
    CHECK(latency(header(number(Opcode::INIT_HCA), 16)) == timing[Cost::init_hca]);
    CHECK(latency(header(number(Opcode::ACCESS_REG), 16)) == timing[Cost::access_register]);
    CHECK(latency(header(0xffff, 16)) == timing[Cost::refusal]);
    CHECK(latency(header(number(Opcode::CREATE_UCTX), 16)) == timing[Cost::refusal]);
    CHECK(latency(header(number(Opcode::NOP), 4)) == timing[Cost::refusal]);
    CHECK(latency({}) == timing[Cost::refusal]);
    auto pages = FirmwareBench::input<prm::manage_pages_in>(Opcode::MANAGE_PAGES, 1);
    const auto time_of = [&](std::uint32_t count) {
        pages.view().set<prm::manage_pages_in::input_num_entries>(count);
        return latency({pages.bytes().begin(), pages.bytes().end()});
    };
    CHECK(time_of(0) == timing[Cost::pages]);
    CHECK(time_of(512) == timing[Cost::pages] + timing.per_page * 512);
    // A count that no command can carry does not stop the firmware for hours.
    CHECK(time_of(0xffffffff) == timing[Cost::pages] + timing.per_page * (1 << 16));
}
