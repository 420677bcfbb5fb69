// SPDX-License-Identifier: Apache-2.0
// Commands of the header that this card refuses, with the reason that `cxsim prm coverage` prints.
// A command leaves this list when its family handles it.
#include <array>

#include "firmware_stub/mailbox/command_table.h"

namespace cxsim::firmware_stub {

std::span<const UnsupportedRow> unsupported_commands() {
    static constexpr std::array<UnsupportedRow, 1> rows{{
        {prm::Opcode::GEN_EQE, "debug aid of the firmware, no capability offers it"},
    }};
    return rows;
}

}  // namespace cxsim::firmware_stub
