// SPDX-License-Identifier: Apache-2.0
// Blocks of a recording for people (text) and scripts (JSON Lines).
#pragma once

#include "scenarios/prm_tools/recording.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <set>
#include <string>

namespace cxsim::scenarios {

struct ShowFilter {
    std::set<std::uint16_t> opcodes;  ///< empty: all, and what is no command
    bool refused = false;             ///< only commands that were not carried out

    bool takes(const Block& block) const;
};

/// Several lines, the last with its end.
std::string block_text(const Block& block);
nlohmann::ordered_json block_json(const Block& block);

}  // namespace cxsim::scenarios
