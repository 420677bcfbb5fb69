// SPDX-License-Identifier: Apache-2.0
// The host profiles of pcie/host/profiles, built into the binary.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "pcie/host/host_profile.h"

namespace cxsim::pcie {

struct BuiltinProfile {
    std::string_view name;  ///< file name without .ini
    std::string_view text;
};

/// Sorted by name (generated from pcie/host/profiles).
std::span<const BuiltinProfile> builtin_profiles();

/// Throws model::ConfigError for a name that is none of them, the message lists them, and for an
/// override "host.<key>" that is no key or no value of one; other overrides are not looked at.
HostProfile builtin_host_profile(std::string_view name,
                                 std::span<const model::Override> overrides = {});

}  // namespace cxsim::pcie
