// SPDX-License-Identifier: Apache-2.0
// Command opcodes: names and layouts of inputs and outputs.
#pragma once

#include "model/prm/reflect.h"
#include "prm/opcodes.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace cxsim::prm {

/// One command of the header.
struct OpcodeInfo {
    std::uint16_t opcode;
    std::string_view name;      ///< without MLX5_CMD_OP_
    std::int32_t input_index;   ///< into all_layouts(); -1: the header has no layout
    std::int32_t output_index;  ///< likewise
};

/// All commands, sorted by opcode.
std::span<const OpcodeInfo> all_opcodes();

/// Null for an opcode that the header does not name.
const OpcodeInfo* find_opcode(std::uint16_t opcode);

/// Empty for an unknown opcode.
std::string_view opcode_name(std::uint16_t opcode);

/// 0 for an unknown name. Takes the name with or without MLX5_CMD_OP_.
std::uint16_t opcode_by_name(std::string_view name);

/// Layout of a command's input; null if unknown. `selector` is the object type of general-object
/// commands and the op_mod of others; one without a layout of its own gets the command's plain one.
const LayoutInfo* input_layout(std::uint16_t opcode, std::uint16_t selector = 0);

/// Likewise for the output.
const LayoutInfo* output_layout(std::uint16_t opcode, std::uint16_t selector = 0);

inline std::string_view opcode_name(Opcode opcode) {
    return opcode_name(static_cast<std::uint16_t>(opcode));
}
inline const LayoutInfo* input_layout(Opcode opcode, std::uint16_t selector = 0) {
    return input_layout(static_cast<std::uint16_t>(opcode), selector);
}
inline const LayoutInfo* output_layout(Opcode opcode, std::uint16_t selector = 0) {
    return output_layout(static_cast<std::uint16_t>(opcode), selector);
}

/// What input_layout wants as selector, read from a command's input (0 if it is too short).
std::uint16_t layout_selector(std::span<const std::byte> input);

namespace detail {

/// Layouts of one object type of a command.
struct SelectedLayouts {
    std::uint16_t opcode;
    std::uint16_t selector;
    std::int32_t input_index;
    std::int32_t output_index;
};

std::span<const OpcodeInfo> opcode_table();
std::span<const SelectedLayouts> selected_table();

}  // namespace detail
}  // namespace cxsim::prm
