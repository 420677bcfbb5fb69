// SPDX-License-Identifier: Apache-2.0
#include "scenarios/prm_tools/show.h"

#include "model/prm/command.h"
#include "model/prm/event_type.h"
#include "model/prm/register_id.h"
#include "scenarios/driver/error.h"

#include <fmt/format.h>

namespace cxsim::scenarios {
namespace {

constexpr std::string_view kResets[] = {"conventional", "function_level", "power_state"};

std::string_view kind_name(BlockKind kind) {
    switch (kind) {
        case BlockKind::command:
            return "command";
        case BlockKind::event:
            return "event";
        case BlockKind::reset:
            return "reset";
        case BlockKind::queue:
            return "queue";
        case BlockKind::nic_interface:
            return "nic_interface";
        case BlockKind::lost:
            return "lost";
        case BlockKind::undelivered:
            return "undelivered";
    }
    return "";
}

std::string status_text(prm::Status status) {
    const std::string_view name = prm::status_name(status);
    return name.empty() ? fmt::format("{:#x}", static_cast<unsigned>(status)) : std::string(name);
}

// Name of the access register of an ACCESS_REG command; empty for others.
std::string register_of(const Block& block) {
    if (static_cast<prm::Opcode>(block.opcode) != prm::Opcode::ACCESS_REG) return {};
    for (const RecordedValue& value : block.in) {
        if (value.path != "register_id") continue;
        const auto id = static_cast<std::uint16_t>(std::strtoul(value.text.c_str(), nullptr, 0));
        const std::string_view name = prm::register_name(id);
        return name.empty() ? value.text : std::string(name);
    }
    return {};
}

void add_values(std::string& text, std::string_view word,
                const std::vector<RecordedValue>& values) {
    for (const RecordedValue& value : values) {
        text += fmt::format("    {} {} = {}\n", word, value.path, value.text);
    }
}

nlohmann::ordered_json values_json(const std::vector<RecordedValue>& values) {
    auto object = nlohmann::ordered_json::object();
    for (const RecordedValue& value : values) object[value.path] = value.text;
    return object;
}

}  // namespace

bool ShowFilter::takes(const Block& block) const {
    if (!opcodes.empty() && (block.kind != BlockKind::command || !opcodes.contains(block.opcode))) {
        return false;
    }
    if (!refused) return true;
    return block.kind == BlockKind::undelivered || block.kind == BlockKind::lost ||
           (block.kind == BlockKind::command && block.status != prm::Status::OK);
}

std::string block_text(const Block& block) {
    std::string text = fmt::format("{:>14.6f} ms f{} ", block.at.seconds() * 1e3, block.function);
    switch (block.kind) {
        case BlockKind::command: {
            text += command_name(block.opcode);
            if (const std::string reg = register_of(block); !reg.empty()) {
                text += fmt::format(" {} {}", block.op_mod == 0 ? "write" : "read", reg);
            } else if (block.op_mod != 0) {
                text += fmt::format(" op_mod {:#x}", block.op_mod);
            }
            text += fmt::format(": {}", status_text(block.status));
            if (block.syndrome != 0) text += fmt::format(" syndrome {:#x}", block.syndrome);
            if (block.status != prm::Status::OK && !block.reason.empty()) {
                text += fmt::format(" ({})", block.reason);
            }
            text += fmt::format(", {:.3f} us\n", block.took.microseconds());
            add_values(text, "in ", block.in);
            add_values(text, "out", block.out);
            add_values(text, "out", block.told);
            return text;
        }
        case BlockKind::event: {
            const std::string_view name = prm::event_type_name(block.event_type);
            text += fmt::format(
                "event {} on {}",
                name.empty() ? fmt::format("{:#x}", block.event_type) : std::string(name),
                block.event_queue);
            if (block.event_subtype != 0)
                text += fmt::format(" subtype {:#x}", block.event_subtype);
            text += '\n';
            add_values(text, "   ", block.data);
            return text;
        }
        case BlockKind::reset:
            return text + fmt::format("reset {}\n", kResets[static_cast<std::size_t>(block.reset)]);
        case BlockKind::queue:
            return text + "command queue handed over\n";
        case BlockKind::nic_interface:
            return text + fmt::format("nic_interface set to {}\n", block.nic_interface);
        case BlockKind::lost:
            return text + "a command that never ended\n";
        case BlockKind::undelivered:
            return text + fmt::format("a command that was not delivered: {}\n",
                                      prm::delivery_status_name(block.delivery));
    }
    return text;
}

nlohmann::ordered_json block_json(const Block& block) {
    nlohmann::ordered_json json{
        {"kind", kind_name(block.kind)}, {"time_ps", block.at.value}, {"function", block.function}};
    switch (block.kind) {
        case BlockKind::command:
            json["number"] = block.number;
            json["opcode"] = command_name(block.opcode);
            json["op_mod"] = block.op_mod;
            if (const std::string reg = register_of(block); !reg.empty()) json["register"] = reg;
            json["took_ps"] = block.took.value;
            json["status"] = status_text(block.status);
            json["syndrome"] = block.syndrome;
            if (block.status != prm::Status::OK) json["reason"] = block.reason;
            json["input"] = values_json(block.in);
            json["output"] = values_json(block.out);
            if (!block.told.empty()) json["output_moving"] = values_json(block.told);
            break;
        case BlockKind::event:
            json["type"] = prm::event_type_name(block.event_type);
            json["type_number"] = block.event_type;
            json["subtype"] = block.event_subtype;
            json["queue"] = block.event_queue;
            json["data"] = values_json(block.data);
            break;
        case BlockKind::reset:
            json["reset"] = kResets[static_cast<std::size_t>(block.reset)];
            break;
        case BlockKind::nic_interface:
            json["value"] = block.nic_interface;
            break;
        case BlockKind::undelivered:
            json["delivery"] = prm::delivery_status_name(block.delivery);
            break;
        case BlockKind::queue:
        case BlockKind::lost:
            break;
    }
    return json;
}

}  // namespace cxsim::scenarios
