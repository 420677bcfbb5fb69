// SPDX-License-Identifier: Apache-2.0
#include "scenarios/prm_tools/coverage.h"

#include "firmware_stub/mailbox/command_table.h"
#include "firmware_stub/registers/register_table.h"
#include "model/prm/command.h"
#include "model/prm/register_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace cxsim::scenarios {
namespace {

struct Use {
    std::uint64_t count = 0;
    std::uint64_t refused = 0;
};

struct Uses {
    std::map<std::uint16_t, Use> commands;
    std::map<std::uint16_t, Use> registers;
};

Uses count(const std::vector<Recording>& recordings) {
    Uses uses;
    const auto add = [](Use& use, const Block& block) {
        ++use.count;
        use.refused += block.status == prm::Status::OK ? 0 : 1;
    };
    for (const Recording& recording : recordings) {
        for (const Block& block : recording.blocks) {
            if (block.kind != BlockKind::command) continue;
            add(uses.commands[block.opcode], block);
            if (static_cast<prm::Opcode>(block.opcode) != prm::Opcode::ACCESS_REG) continue;
            for (const RecordedValue& value : block.in) {
                if (value.path != "register_id") continue;
                const auto id = std::strtoul(value.text.c_str(), nullptr, 0);
                add(uses.registers[static_cast<std::uint16_t>(id)], block);
            }
        }
    }
    return uses;
}

void use(CoverageRow& row, const std::map<std::uint16_t, Use>& uses) {
    const auto place = uses.find(row.number);
    if (place == uses.end()) return;
    row.exercised = place->second.count;
    row.refused = place->second.refused;
}

std::string_view state(const CoverageRow& row) {
    if (row.handled) return "handled";
    return row.reason.empty() ? "FORGOTTEN" : "refused";
}

nlohmann::ordered_json rows_json(const std::vector<CoverageRow>& rows) {
    auto list = nlohmann::ordered_json::array();
    for (const CoverageRow& row : rows) {
        nlohmann::ordered_json entry{{"number", fmt::format("{:#x}", row.number)},
                                     {"name", row.name},
                                     {"state", state(row)}};
        if (!row.access.empty()) entry["access"] = row.access;
        if (!row.handled) entry["reason"] = row.reason;
        entry["exercised"] = row.exercised;
        entry["refused"] = row.refused;
        list.push_back(std::move(entry));
    }
    return list;
}

}  // namespace

Coverage coverage(const std::vector<Recording>& exercised) {
    const Uses uses = count(exercised);
    Coverage result;
    for (const prm::OpcodeInfo& info : prm::all_opcodes()) {
        CoverageRow row;
        row.number = info.opcode;
        row.name = info.name;
        row.handled = firmware_stub::find_command(info.opcode) != nullptr;
        if (!row.handled) {
            const auto* refusal = firmware_stub::find_unsupported(info.opcode);
            if (refusal != nullptr) row.reason = refusal->reason;
        }
        use(row, uses.commands);
        result.commands.push_back(std::move(row));
    }
    for (const prm::RegisterInfo& info : prm::all_registers()) {
        CoverageRow row;
        row.number = static_cast<std::uint16_t>(info.id);
        row.name = info.name;
        const auto* handler = firmware_stub::find_register(row.number);
        row.handled = handler != nullptr;
        if (row.handled) {
            row.access = std::string(handler->read != nullptr ? "r" : "") +
                         (handler->write != nullptr ? "w" : "");
        } else {
            row.reason = info.layout.empty() ? "no public layout"
                                             : "the card does not have it (PCAM, MCAM, QCAM)";
        }
        use(row, uses.registers);
        result.registers.push_back(std::move(row));
    }
    return result;
}

std::size_t Coverage::handled() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(commands, [](const CoverageRow& row) { return row.handled; }));
}

std::vector<std::string> Coverage::forgotten() const {
    std::vector<std::string> names;
    for (const CoverageRow& row : commands) {
        if (!row.handled && row.reason.empty()) names.push_back(row.name);
    }
    return names;
}

std::string Coverage::table() const {
    std::string text = fmt::format("{:>6}  {:<34} {:<10} {:>9} {:>8}  {}\n", "opcode", "command",
                                   "state", "exercised", "refused", "reason");
    for (const CoverageRow& row : commands) {
        text += fmt::format("{:>#6x}  {:<34} {:<10} {:>9} {:>8}  {}\n", row.number, row.name,
                            state(row), row.exercised, row.refused, row.reason);
    }
    text += fmt::format("\n{:>6}  {:<34} {:<10} {:>9} {:>8}  {}\n", "id", "access register",
                        "state", "exercised", "refused", "access or reason");
    for (const CoverageRow& row : registers) {
        text += fmt::format("{:>#6x}  {:<34} {:<10} {:>9} {:>8}  {}\n", row.number, row.name,
                            state(row), row.exercised, row.refused,
                            row.handled ? row.access : row.reason);
    }
    const auto used =
        std::ranges::count_if(commands, [](const CoverageRow& row) { return row.exercised != 0; });
    text += fmt::format(
        "\n{} opcodes: {} handled, {} refused with a reason, {} forgotten; {} exercised\n",
        commands.size(), handled(), commands.size() - handled() - forgotten().size(),
        forgotten().size(), used);
    return text;
}

nlohmann::ordered_json Coverage::json() const {
    return {{"opcodes", rows_json(commands)}, {"registers", rows_json(registers)}};
}

}  // namespace cxsim::scenarios
