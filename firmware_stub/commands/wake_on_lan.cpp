// SPDX-License-Identifier: Apache-2.0
// Which packets wake or reset the host while it sleeps.
#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;
using Cap = prm::cmd_hca_cap;

// Bits of wol_mode: secured magic packet is bit 1, then the others in the order of the
// capabilities. rol_mode has the first two of them.
std::uint32_t wake_modes(FunctionState& function) {
    return function.general<Cap::wol_s>() << 1 | function.general<Cap::wol_g>() << 2 |
           function.general<Cap::wol_a>() << 3 | function.general<Cap::wol_b>() << 4 |
           function.general<Cap::wol_m>() << 5 | function.general<Cap::wol_u>() << 6 |
           function.general<Cap::wol_p>() << 7;
}

std::uint32_t reset_modes(FunctionState& function) {
    return function.general<Cap::rol_s>() << 1 | function.general<Cap::rol_g>() << 2;
}

Reply set_wol_rol(CommandContext& context, ConstView<prm::set_wol_rol_in> in,
                  View<prm::set_wol_rol_out>) {
    using In = prm::set_wol_rol_in;
    FunctionState& function = context.function;
    const bool wake = in.get<In::wol_mode_valid>() != 0;
    const bool reset = in.get<In::rol_mode_valid>() != 0;
    if (wake && (in.get<In::wol_mode>() & ~wake_modes(function)) != 0) {
        return refuse(Status::BAD_PARAM, "wol_mode not supported");
    }
    if (reset && (in.get<In::rol_mode>() & ~reset_modes(function)) != 0) {
        return refuse(Status::BAD_PARAM, "rol_mode not supported");
    }
    if (wake) function.wake_on_lan = static_cast<std::uint8_t>(in.get<In::wol_mode>());
    if (reset) function.reset_on_lan = static_cast<std::uint8_t>(in.get<In::rol_mode>());
    return accept();
}

Reply query_wol_rol(CommandContext& context, ConstView<prm::query_wol_rol_in>,
                    View<prm::query_wol_rol_out> out) {
    out.set<prm::query_wol_rol_out::wol_mode>(context.function.wake_on_lan);
    out.set<prm::query_wol_rol_out::rol_mode>(context.function.reset_on_lan);
    return accept();
}

}  // namespace

std::vector<CommandRow> wake_on_lan_commands() {
    using prm::Opcode;
    return {
        command_row<&set_wol_rol>(Opcode::SET_WOL_ROL, Cost::set),
        command_row<&query_wol_rol>(Opcode::QUERY_WOL_ROL, Cost::query),
    };
}

}  // namespace cxsim::firmware_stub
