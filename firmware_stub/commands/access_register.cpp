// SPDX-License-Identifier: Apache-2.0
// ACCESS_REG: the door to the registers of firmware_stub/registers.
#include <algorithm>
#include <vector>

#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"
#include "firmware_stub/registers/register_table.h"

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;

constexpr std::uint32_t kWrite = 0;

Reply access_reg(CommandContext& context, ConstView<prm::access_register_in> in,
                 View<prm::access_register_out> out) {
    using In = prm::access_register_in;
    const auto id = static_cast<std::uint16_t>(in.get<In::register_id>());
    const std::span<const std::byte> sent = in.tail<In::register_data>();
    const std::span<std::byte> answer = out.tail<prm::access_register_out::register_data>();
    if (answer.size() < sent.size()) {
        return refuse(Status::BAD_OUTP_LEN, "no room for the register");
    }
    const RegisterRow* row = find_register(id);
    if (row != nullptr && sent.size() < row->layout->bytes()) {
        return refuse(Status::BAD_INP_LEN, "register data shorter than its layout");
    }
    // The answer may be longer than what was sent: registers with a variable tail.
    std::copy(sent.begin(), sent.end(), answer.begin());
    return access_register(context, id, in.get<In::op_mod>() == kWrite, answer);
}

}  // namespace

std::vector<CommandRow> access_register_commands() {
    return {
        command_row<&access_reg>(prm::Opcode::ACCESS_REG, Cost::access_register, Phase::enabled)
            .with_op_mods(0b11)
            .without_reserved_check(),  // the tail has a layout of its own
    };
}

}  // namespace cxsim::firmware_stub
