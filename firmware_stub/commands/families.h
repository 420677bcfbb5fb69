// SPDX-License-Identifier: Apache-2.0
// The command families. To add one: a file with handlers and a table, a line here and one in
// families.cpp, a test file beside the others.
#pragma once

#include <span>
#include <vector>

#include "firmware_stub/mailbox/command_table.h"

namespace cxsim::firmware_stub {

std::vector<CommandRow> hca_commands();
std::vector<CommandRow> page_commands();
std::vector<CommandRow> event_queue_commands();
std::vector<CommandRow> protection_commands();

/// All of the above.
std::vector<std::vector<CommandRow>> command_families();

}  // namespace cxsim::firmware_stub
