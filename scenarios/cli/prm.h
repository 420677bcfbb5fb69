// SPDX-License-Identifier: Apache-2.0
// What the parts of `cxsim prm` share.
#pragma once

#include "scenarios/cli/options.h"

#include <functional>
#include <string>
#include <string_view>

namespace cxsim::scenarios {

int run_prm_show(const Arguments& arguments);
int run_prm_record(const Arguments& arguments);
int run_prm_replay(const Arguments& arguments);
int run_prm_coverage(const Arguments& arguments);

/// Asks a running serve to watch a card and hands over the recording as it comes, until the serve
/// ends, SIGINT or SIGTERM, or `seconds` (0: no limit) have passed. `text` is empty when nothing
/// came for a while. Throws std::runtime_error when nobody serves there.
void watch_serve(const std::string& socket, unsigned card, double seconds,
                 const std::function<void(std::string_view text)>& text);

}  // namespace cxsim::scenarios
