// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/commands/families.h"

namespace cxsim::firmware_stub {

std::vector<std::vector<CommandRow>> command_families() {
    return {
        hca_commands(),
        page_commands(),
        event_queue_commands(),
        protection_commands(),
    };
}

}  // namespace cxsim::firmware_stub
