// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/mailbox/command_table.h"

#include <algorithm>
#include <vector>

#include "firmware_stub/boot/function_state.h"
#include "firmware_stub/commands/families.h"
#include "firmware_stub/mailbox/syndromes.h"
#include "model/base/endian.h"

namespace cxsim::firmware_stub {
namespace {

// Every input starts with opcode and uid (or reserved), op_mod in the low half of the second dword.
constexpr std::size_t kUidOffset = 2;
constexpr std::size_t kOpModOffset = 6;
constexpr std::size_t kHeaderBytes = 8;
// Numbers from here on never were in the registry and are taken as the kernel's own.
constexpr std::uint16_t kFirstHostUid = 0xfff0;

std::vector<CommandRow> join_families() {
    std::vector<CommandRow> rows;
    for (const auto& family : command_families()) rows.insert(rows.end(), family.begin(), family.end());
    std::sort(rows.begin(), rows.end(),
              [](const CommandRow& a, const CommandRow& b) { return a.opcode < b.opcode; });
    return rows;
}

Reply check(FunctionState& function, const CommandRow& row, std::span<const std::byte> input,
            std::size_t output_size) {
    if (input.size() < row.input->bytes()) {
        return refuse(prm::Status::BAD_INP_LEN, "input shorter than its layout");
    }
    if (output_size < row.output->bytes()) {
        return refuse(prm::Status::BAD_OUTP_LEN, "output shorter than its layout");
    }
    const auto uid = model::load_be<std::uint16_t>(input.data() + kUidOffset);
    if (row.input->find("uid") != nullptr && uid != 0 && uid < kFirstHostUid) {
        return refuse(prm::Status::BAD_PARAM, syndrome::kUidNotRegistered,
                      "uid was not given out by CREATE_UCTX");
    }
    if (function.phase() < row.phase) {
        return refuse(prm::Status::BAD_SYS_STATE, row.phase == Phase::initialised
                                                      ? "before INIT_HCA"
                                                      : "before ENABLE_HCA");
    }
    const auto op_mod = model::load_be<std::uint16_t>(input.data() + kOpModOffset);
    if (row.op_mods != CommandRow::kAnyOpMod &&
        (op_mod >= 32 || ((row.op_mods >> op_mod) & 1) == 0)) {
        return refuse(prm::Status::BAD_PARAM, "op_mod not defined for this command");
    }
    if (row.check_reserved && !prm::reserved_bits_set(*row.input, input, 1).empty()) {
        return refuse(prm::Status::BAD_PARAM, "a reserved field is not zero");
    }
    if (row.cost == Cost::create_object && function.pages().exhausted()) {
        return refuse(prm::Status::BAD_RES, "no host page left for another context");
    }
    return accept();
}

}  // namespace

std::string_view to_string(Phase phase) {
    switch (phase) {
        case Phase::reset: return "reset";
        case Phase::enabled: return "enabled";
        case Phase::initialised: return "initialised";
    }
    return "unknown";
}

std::span<const CommandRow> all_commands() {
    static const std::vector<CommandRow> rows = join_families();
    return rows;
}

const CommandRow* find_command(std::uint16_t opcode) {
    const auto rows = all_commands();
    const auto place = std::lower_bound(
        rows.begin(), rows.end(), opcode,
        [](const CommandRow& row, std::uint16_t wanted) {
            return static_cast<std::uint16_t>(row.opcode) < wanted;
        });
    const bool found = place != rows.end() && static_cast<std::uint16_t>(place->opcode) == opcode;
    return found ? &*place : nullptr;
}

const UnsupportedRow* find_unsupported(std::uint16_t opcode) {
    for (const UnsupportedRow& row : unsupported_commands()) {
        if (static_cast<std::uint16_t>(row.opcode) == opcode) return &row;
    }
    return nullptr;
}

Reply run_command(CommandContext& context, std::span<const std::byte> input,
                  std::span<std::byte> output) {
    Reply reply;
    if (input.size() < kHeaderBytes) {
        reply = refuse(prm::Status::BAD_INP_LEN, "input shorter than a command header");
    } else if (const CommandRow* row = find_command(model::load_be<std::uint16_t>(input.data()))) {
        reply = check(context.function, *row, input, output.size());
        if (reply.ok()) reply = row->handler(context, input, output);
    } else if (const UnsupportedRow* known =
                   find_unsupported(model::load_be<std::uint16_t>(input.data()))) {
        reply = refuse(prm::Status::BAD_OP, known->reason);
    } else {
        reply = refuse(prm::Status::BAD_OP, "opcode unknown");
    }
    if (!reply.ok()) ++context.function.refused_commands;
    if (reply.status == prm::Status::LIM_ERR) ++context.function.commands_beyond_limits;
    if (output.size() >= kHeaderBytes) {
        if (!reply.ok()) std::fill(output.begin(), output.end(), std::byte{0});
        output[0] = static_cast<std::byte>(reply.status);
        model::store_be<std::uint32_t>(output.data() + 4, reply.syndrome);
    }
    return reply;
}

model::Picoseconds command_latency(const CommandTiming& timing, std::span<const std::byte> input) {
    if (input.size() < kHeaderBytes) return timing[Cost::refusal];
    const auto opcode = model::load_be<std::uint16_t>(input.data());
    const CommandRow* row = find_command(opcode);
    if (row == nullptr) return timing[Cost::refusal];
    model::Picoseconds latency = timing[row->cost];
    if (row->cost == Cost::pages && input.size() >= row->input->bytes() &&
        row->opcode == prm::Opcode::MANAGE_PAGES) {
        const auto pages = prm::ConstView<prm::manage_pages_in>(input)
                               .get<prm::manage_pages_in::input_num_entries>();
        latency += timing.per_page * std::min<std::int64_t>(pages, 1 << 16);
    }
    return latency;
}

}  // namespace cxsim::firmware_stub
