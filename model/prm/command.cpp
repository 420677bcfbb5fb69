// SPDX-License-Identifier: Apache-2.0
#include "model/prm/command.h"

#include <algorithm>

namespace cxsim::prm {

namespace {

const LayoutInfo* layout_at(std::int32_t index) {
    return index < 0 ? nullptr : &all_layouts()[static_cast<std::size_t>(index)];
}

const detail::SelectedLayouts* find_selected(std::uint16_t opcode, std::uint16_t selector) {
    for (const auto& row : detail::selected_table()) {
        if (row.opcode == opcode && row.selector == selector) return &row;
    }
    return nullptr;
}

}  // namespace

std::span<const OpcodeInfo> all_opcodes() {
    return detail::opcode_table();
}

const OpcodeInfo* find_opcode(std::uint16_t opcode) {
    const auto table = all_opcodes();
    const auto found = std::lower_bound(
        table.begin(), table.end(), opcode,
        [](const OpcodeInfo& info, std::uint16_t key) { return info.opcode < key; });
    return found != table.end() && found->opcode == opcode ? &*found : nullptr;
}

std::string_view opcode_name(std::uint16_t opcode) {
    const OpcodeInfo* info = find_opcode(opcode);
    return info != nullptr ? info->name : std::string_view{};
}

std::uint16_t opcode_by_name(std::string_view name) {
    constexpr std::string_view prefix = "MLX5_CMD_OP_";
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    for (const OpcodeInfo& info : all_opcodes()) {
        if (info.name == name) return info.opcode;
    }
    return 0;
}

const LayoutInfo* input_layout(std::uint16_t opcode, std::uint16_t selector) {
    if (const auto* row = find_selected(opcode, selector);
        row != nullptr && row->input_index >= 0) {
        return layout_at(row->input_index);
    }
    const OpcodeInfo* info = find_opcode(opcode);
    return info != nullptr ? layout_at(info->input_index) : nullptr;
}

const LayoutInfo* output_layout(std::uint16_t opcode, std::uint16_t selector) {
    if (const auto* row = find_selected(opcode, selector);
        row != nullptr && row->output_index >= 0) {
        return layout_at(row->output_index);
    }
    const OpcodeInfo* info = find_opcode(opcode);
    return info != nullptr ? layout_at(info->output_index) : nullptr;
}

std::uint16_t layout_selector(std::span<const std::byte> input) {
    // obj_type of a general object and op_mod of any other command are the same 16 bits.
    if (input.size() < 8) return 0;
    return static_cast<std::uint16_t>(detail::load_bits(input.data(), 48, 16));
}

}  // namespace cxsim::prm
