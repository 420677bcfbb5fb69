// SPDX-License-Identifier: Apache-2.0
#include "model/prm/command.h"
#include "model/prm/register_id.h"
#include "scenarios/prm_tools/coverage.h"
#include "scenarios/prm_tools/show.h"
#include "tests/integration/prm_tools/recording_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace cxsim;
using namespace cxsim::test;
using Catch::Matchers::ContainsSubstring;
using scenarios::BlockKind;
using scenarios::parse_recording;

namespace {

constexpr const char* kHead =
    "cxsim-prm-recording 1\ncard connectx5\nseed 7\ninstance 2\nhost some_host\n"
    "set timing.command.query=5us\nclock wall\n\n";

std::string with_head(const std::string& text) {
    return kHead + text;
}

std::vector<std::byte> example(std::size_t size) {
    std::vector<std::byte> data(size);
    for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>(i * 37 + 11);
    return data;
}

// Every bit of a message comes back from its named values.
void check_lossless(const scenarios::Message& message, const std::vector<std::byte>& data) {
    std::vector<std::byte> back(data.size());
    for (const scenarios::NamedValue& value : message.decode(data)) {
        const auto place = message.find(value.path);
        INFO(value.path);
        REQUIRE(place);
        switch (place->form) {
            case scenarios::ValueForm::number:
                put_number(back, *place, value.number);
                break;
            case scenarios::ValueForm::bytes:
                put_bytes(back, *place, value.bytes);
                break;
            case scenarios::ValueForm::addresses:
                put_addresses(back, *place, value.addresses);
                break;
        }
    }
    CHECK(back == data);
}

}  // namespace

TEST_CASE("a recording is read with all that it says", "[recording]") {
    const auto recording =
        parse_recording(with_head("reset function_level\n  # at 0.5 s\n"
                                  "queue\n  # at 1.0 s\n"
                                  "command QUERY_HCA_CAP op_mod 0x3 bytes 16 4112\n"
                                  "  # 1: at 1.500000000 s, took 12.500 us, slot 3\n"
                                  "  in function_id = 0x1\n"
                                  "  status BAD_PARAM syndrome 0x5add95\n"
                                  "  # capability group not supported\n"
                                  "command QUERY_Q_COUNTER bytes 32 256\n"
                                  "  # 2: at 2.5 s, took 1.0 us, slot 0\n"
                                  "  in counter_set_id = $qcounter1\n"
                                  "  status OK\n"
                                  "  # out out_of_buffer = 0x7\n"
                                  "event PORT_CHANGE $eq2 subtype 0x4\n"
                                  "  data event_data.port_state_change_event.port_num = 0x1\n"
                                  "nic_interface 1\nlost\nundelivered TOK_ERR\n"),
                        "test");
    CHECK(recording.header.card == "connectx5");
    CHECK(recording.header.seed == 7);
    CHECK(recording.header.instance == 2);
    CHECK(recording.header.host == "some_host");
    CHECK(recording.header.overrides == std::vector<std::string>{"timing.command.query=5us"});
    CHECK(recording.header.wall_clock);
    REQUIRE(recording.blocks.size() == 8);
    CHECK(recording.blocks[0].reset == model::ResetKind::function_level);
    CHECK(recording.blocks[1].kind == BlockKind::queue);
    const scenarios::Block& refused = recording.blocks[2];
    CHECK(refused.number == 1);
    CHECK(refused.line == 13);
    CHECK(refused.op_mod == 3);
    CHECK(refused.input_bytes == 16);
    CHECK(refused.output_bytes == 4112);
    CHECK(refused.at == model::milliseconds(1500));
    CHECK(refused.took == model::nanoseconds(12500));
    CHECK(refused.status == prm::Status::BAD_PARAM);
    CHECK(refused.syndrome == 0x5add95);
    CHECK(refused.reason == "capability group not supported");
    CHECK(recording.blocks[3].told.size() == 1);
    CHECK(recording.blocks[3].out.empty());
    CHECK(recording.blocks[4].event_type == 9);
    CHECK(recording.blocks[4].event_subtype == 4);
    CHECK(recording.blocks[4].data.size() == 1);
    CHECK(recording.blocks[5].nic_interface == 1);
    CHECK(recording.blocks[6].kind == BlockKind::lost);
    CHECK(recording.blocks[7].delivery == prm::DeliveryStatus::TOK_ERR);
    CHECK(recording.duration() == model::seconds(1) + model::microseconds(1));
}

TEST_CASE("damaged recordings are refused with file and line", "[recording]") {
    const auto message = [](const std::string& text) {
        try {
            parse_recording(text, "bad.rec");
        } catch (const model::ConfigError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK_THAT(message(""), ContainsSubstring("bad.rec:1"));
    CHECK_THAT(message("something else\n"), ContainsSubstring("not a recording"));
    CHECK_THAT(message(with_head("command NO_SUCH_THING bytes 16 16\n")),
               ContainsSubstring("bad.rec:9") && ContainsSubstring("NO_SUCH_THING"));
    CHECK_THAT(message(with_head("command NOP bytes 16\n")), ContainsSubstring("bytes"));
    CHECK_THAT(message(with_head("command NOP bytes 16 99999999999\n")),
               ContainsSubstring("bytes"));
    CHECK_THAT(message(with_head("command NOP bytes 16 16\n  status FINE\n")),
               ContainsSubstring("bad.rec:10") && ContainsSubstring("FINE"));
    CHECK_THAT(message(with_head("command NOP bytes 16 16\n  in x\n")),
               ContainsSubstring("bad.rec:10"));
    CHECK_THAT(message(with_head("  in x = 1\n")), ContainsSubstring("outside of a block"));
    CHECK_THAT(message(with_head("reset warm\n")), ContainsSubstring("warm"));
    CHECK_THAT(message(with_head("event NOTHING $eq1\n")), ContainsSubstring("NOTHING"));
    CHECK_THAT(message(with_head("dance\n")), ContainsSubstring("dance"));
}

TEST_CASE("values that a command does not have end a replay with the block's line", "[replay]") {
    model::Kernel kernel;
    Plugged plugged(kernel, "card", "connectx5");
    const auto message = [&](const std::string& inner) {
        try {
            replay(plugged,
                   parse_recording(with_head("queue\ncommand NOP bytes 16 16\n" + inner), "x"));
        } catch (const scenarios::DriverError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK_THAT(message("  in no_such_member = 0x1\n"),
               ContainsSubstring("line 10") && ContainsSubstring("no_such_member"));
    CHECK_THAT(message("  in raw[0x4] = 0x1ffffffff\n"), ContainsSubstring("line 10"));
    CHECK_THAT(message("  in raw[0x4] = banana\n"), ContainsSubstring("banana"));
    CHECK_THAT(message("  in raw[0x4] = $buf1[99999999999]\n"), ContainsSubstring("line 10"));
    CHECK_THAT(message("  in raw[0x4] = $key1[4]\n"), ContainsSubstring("line 10"));
}

TEST_CASE("no bit of a message is lost in its named values", "[message]") {
    using prm::Opcode;
    std::size_t checked = 0;
    for (const prm::OpcodeInfo& info : prm::all_opcodes()) {
        INFO(info.name);
        for (const std::size_t size : {16, 20, 300, 1000}) {
            std::vector<std::byte> data = example(size);
            data[0] = static_cast<std::byte>(info.opcode >> 8);
            data[1] = static_cast<std::byte>(info.opcode);
            check_lossless(scenarios::Message::input(data), data);
            check_lossless(scenarios::Message::output(data), example(size));
            ++checked;
        }
    }
    CHECK(checked == 4 * prm::all_opcodes().size());
    for (const prm::RegisterInfo& info : prm::all_registers()) {
        INFO(info.name);
        std::vector<std::byte> data(400);
        data[0] = std::byte{0x08};
        data[1] = std::byte{0x05};
        data[10] = static_cast<std::byte>(static_cast<unsigned>(info.id) >> 8);
        data[11] = static_cast<std::byte>(info.id);
        for (std::size_t i = 16; i < data.size(); ++i) data[i] = static_cast<std::byte>(i);
        check_lossless(scenarios::Message::input(data), data);
    }
    for (unsigned type = 0; type < 256; ++type) {
        check_lossless(scenarios::Message::event(static_cast<std::uint8_t>(type)), example(64));
    }
}

TEST_CASE("blocks are shown as text and JSON, filtered", "[show]") {
    const auto recording = parse_recording(
        with_head("command ACCESS_REG op_mod 0x1 bytes 32 32\n"
                  "  in register_id = 0x5006\n  in paos_reg.local_port = 0x1\n"
                  "  status OK\n  out paos_reg.oper_status = 0x2\n"
                  "command CREATE_CQ bytes 280 16\n  status BAD_RES syndrome 0x12\n  # no such EQ\n"
                  "event COMP $eq4\n"),
        "test");
    const auto& blocks = recording.blocks;
    CHECK_THAT(block_text(blocks[0]), ContainsSubstring("ACCESS_REG read PAOS: OK"));
    CHECK_THAT(block_text(blocks[1]), ContainsSubstring("BAD_RES syndrome 0x12 (no such EQ)"));
    CHECK_THAT(block_text(blocks[2]), ContainsSubstring("event COMP on $eq4"));
    const auto json = block_json(blocks[0]);
    CHECK(json.at("register") == "PAOS");
    CHECK(json.at("output").at("paos_reg.oper_status") == "0x2");
    CHECK(block_json(blocks[1]).at("status") == "BAD_RES");
    scenarios::ShowFilter filter;
    CHECK(filter.takes(blocks[2]));
    filter.refused = true;
    CHECK_FALSE(filter.takes(blocks[0]));
    CHECK(filter.takes(blocks[1]));
    CHECK_FALSE(filter.takes(blocks[2]));
    filter = {};
    filter.opcodes = {blocks[0].opcode};
    CHECK(filter.takes(blocks[0]));
    CHECK_FALSE(filter.takes(blocks[1]));
    CHECK_FALSE(filter.takes(blocks[2]));
}

TEST_CASE("coverage names every opcode and counts what recordings used", "[coverage]") {
    const auto recording = parse_recording(
        with_head("command ACCESS_REG op_mod 0x1 bytes 32 32\n  in register_id = 0x5006\n"
                  "  status BAD_PARAM\n"
                  "command ALLOC_PD bytes 16 16\n  status OK\n"
                  "command ALLOC_PD bytes 16 16\n  status OK\n"),
        "test");
    const auto result = scenarios::coverage({recording});
    CHECK(result.commands.size() == prm::all_opcodes().size());
    CHECK(result.forgotten().empty());
    CHECK(result.handled() > 100);
    const auto row = [](const auto& rows, std::string_view name) {
        const auto place = std::ranges::find(rows, name, &scenarios::CoverageRow::name);
        REQUIRE(place != rows.end());
        return *place;
    };
    CHECK(row(result.commands, "ALLOC_PD").exercised == 2);
    CHECK(row(result.commands, "ALLOC_PD").handled);
    CHECK(row(result.commands, "ACCESS_REG").refused == 1);
    CHECK(row(result.registers, "PAOS").exercised == 1);
    CHECK(row(result.registers, "PAOS").access == "rw");
    CHECK_FALSE(row(result.commands, "CREATE_UCTX").reason.empty());
    CHECK_THAT(result.table(), ContainsSubstring("0 forgotten"));
}
