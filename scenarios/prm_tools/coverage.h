// SPDX-License-Identifier: Apache-2.0
// What of the command interface is handled, what is refused and why, and what recordings used.
#pragma once

#include "scenarios/prm_tools/recording.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cxsim::scenarios {

struct CoverageRow {
    std::uint16_t number = 0;
    std::string name;
    bool handled = false;
    std::string access;  ///< of a register: "r", "w", "rw"
    std::string reason;  ///< of a refusal; empty with `handled` false: forgotten
    std::uint64_t exercised = 0;
    std::uint64_t refused = 0;  ///< of those
};

struct Coverage {
    std::vector<CoverageRow> commands;   ///< every opcode of the header
    std::vector<CoverageRow> registers;  ///< every access register that is known

    std::size_t handled() const;
    /// Opcodes neither handled nor refused with a reason: our bug.
    std::vector<std::string> forgotten() const;
    std::string table() const;
    nlohmann::ordered_json json() const;
};

Coverage coverage(const std::vector<Recording>& exercised = {});

}  // namespace cxsim::scenarios
