// SPDX-License-Identifier: Apache-2.0
#include "model/prm/bits.h"
#include "model/prm/command.h"
#include "prm/layouts.h"

#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>

using namespace cxsim::prm;

TEST_CASE("every opcode has layouts or is known to have none in the header", "[prm]") {
    const std::set<std::string> none{
        "QUERY_XRQ_DC_PARAMS_ENTRY",
        "SET_XRQ_DC_PARAMS_ENTRY",
        "QUERY_XRQ_ERROR_PARAMS",
        "RELEASE_XRQ_ERROR",
        "MODIFY_XRQ",
        "QUERY_RATE_LIMIT",
        "CREATE_QOS_PARA_VPORT",
        "DESTROY_QOS_PARA_VPORT",
        "QUERY_VHCA_STATE",
        "MODIFY_VHCA_STATE",
        "GENERATE_WQE",
    };
    const std::set<std::string> only_input{"QUERY_MODIFY_HEADER_CONTEXT"};
    std::set<std::string> without_input, without_output;
    for (const OpcodeInfo& info : all_opcodes()) {
        if (input_layout(info.opcode) == nullptr) without_input.emplace(info.name);
        if (output_layout(info.opcode) == nullptr) without_output.emplace(info.name);
    }
    for (const auto& name : only_input) CHECK(without_output.erase(name) == 1);
    CHECK(without_input == none);
    CHECK(without_output == none);
    CHECK(all_opcodes().size() >= 198);
}

TEST_CASE("every input starts with an opcode, every output with status and syndrome", "[prm]") {
    const auto place = [](const LayoutInfo& layout, std::string name) {
        // General objects have it in a header, which is the first member.
        auto found = find_path(layout, name);
        if (!found) found = find_path(layout, std::string(layout.fields[0].name) + "." + name);
        return found ? std::pair(found->bit_offset, found->bit_width) : std::pair(~0u, 0u);
    };
    const auto check = [&](std::uint16_t opcode, std::uint16_t selector) {
        INFO(opcode_name(opcode) << " " << selector);
        if (const LayoutInfo* in = input_layout(opcode, selector)) {
            CHECK(place(*in, "opcode") == std::pair(0u, 16u));
        }
        if (const LayoutInfo* out = output_layout(opcode, selector)) {
            CHECK(place(*out, "status") == std::pair(0u, 8u));
            CHECK(place(*out, "syndrome") == std::pair(32u, 32u));
        }
    };
    for (const OpcodeInfo& info : all_opcodes()) check(info.opcode, 0);
    for (const auto& row : detail::selected_table()) check(row.opcode, row.selector);
    CHECK(detail::selected_table().size() >= 25);
}

TEST_CASE("opcodes have the header's names without prefix", "[prm]") {
    CHECK(opcode_name(0x100) == "QUERY_HCA_CAP");
    CHECK(opcode_name(Opcode::_2RST_QP) == "2RST_QP");
    CHECK(opcode_name(0xb22) == "QUERY_VUID");
    CHECK(opcode_name(0xa00) == "CREATE_GENERAL_OBJECT");
    CHECK(opcode_name(0x7777) == "");
    CHECK(find_opcode(0x7777) == nullptr);
    CHECK(opcode_by_name("CREATE_CQ") == 0x400);
    CHECK(opcode_by_name("MLX5_CMD_OP_CREATE_CQ") == 0x400);
    CHECK(opcode_by_name("CREATE_NOTHING") == 0);
    CHECK(opcode_by_name("MAX") == 0);
    std::uint16_t last = 0;
    for (const OpcodeInfo& info : all_opcodes()) {
        CHECK(info.opcode > last);
        CHECK(opcode_by_name(info.name) == info.opcode);
        last = info.opcode;
    }
}

TEST_CASE("commands whose layouts have other names find them", "[prm]") {
    CHECK(input_layout(Opcode::ACCESS_REG)->name == "access_register_in");
    CHECK(output_layout(Opcode::ACCESS_REG)->name == "access_register_out");
    CHECK(input_layout(Opcode::SET_FLOW_TABLE_ENTRY)->name == "set_fte_in");
    CHECK(input_layout(Opcode::_2ERR_QP)->name == "qp_2err_in");
    CHECK(input_layout(Opcode::SQD_RTS_QP)->name == "sqd2rts_qp_in");
    CHECK(&layout_info<create_cq_in>() == input_layout(Opcode::CREATE_CQ));
    CHECK(input_layout(0x7777) == nullptr);
    CHECK(output_layout(0x7777) == nullptr);
}

TEST_CASE("general objects find their layout by object type", "[prm]") {
    CHECK(input_layout(Opcode::CREATE_GENERAL_OBJECT, 0x0d)->name == "create_virtio_net_q_in");
    CHECK(output_layout(Opcode::QUERY_GENERAL_OBJECT, 0x20)->name == "query_sampler_obj_out");
    // A type with no layout of its own, or none in this direction, has the common header.
    CHECK(input_layout(Opcode::QUERY_GENERAL_OBJECT, 0x20)->name == "general_obj_in_cmd_hdr");
    CHECK(input_layout(Opcode::CREATE_GENERAL_OBJECT, 0x99)->name == "general_obj_in_cmd_hdr");
    // Other commands ignore an op_mod that selects no layout.
    CHECK(input_layout(Opcode::QUERY_HCA_CAP, 0x41)->name == "query_hca_cap_in");
}

TEST_CASE("the selector is read from the input's second dword", "[prm]") {
    std::byte input[16] = {};
    set_bits(input, general_obj_in_cmd_hdr::obj_type::kOffset, 16, 0x0d);
    CHECK(layout_selector(input) == 0x0d);
    CHECK(query_hca_cap_in::op_mod::kOffset == general_obj_in_cmd_hdr::obj_type::kOffset);
    CHECK(layout_selector(std::span<const std::byte>(input).first(7)) == 0);
}
