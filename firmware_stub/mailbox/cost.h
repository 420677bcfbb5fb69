// SPDX-License-Identifier: Apache-2.0
// Latency classes of commands. How long each takes is the card's data (timing.ini, [command]).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/base/units.h"

namespace cxsim::firmware_stub {

enum class Cost : std::uint8_t {
    query,            ///< reads firmware state
    set,              ///< writes firmware state
    create_object,
    modify_object,
    destroy_object,
    pages,            ///< plus `per_page` for each page
    access_register,
    enable_hca,
    init_hca,
    teardown_hca,
    steering,         ///< rule tables
    refusal,          ///< unknown or malformed: found out at once
    count,
};

struct CommandTiming {
    std::array<model::Picoseconds, static_cast<std::size_t>(Cost::count)> of{};
    model::Picoseconds per_page;

    model::Picoseconds& operator[](Cost cost) { return of[static_cast<std::size_t>(cost)]; }
    model::Picoseconds operator[](Cost cost) const { return of[static_cast<std::size_t>(cost)]; }
};

}  // namespace cxsim::firmware_stub
