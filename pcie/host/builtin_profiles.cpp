// SPDX-License-Identifier: Apache-2.0
#include "pcie/host/builtin_profiles.h"

#include "model/params/ini_file.h"
#include "model/params/config_error.h"

namespace cxsim::pcie {

HostProfile builtin_host_profile(std::string_view name,
                                 std::span<const model::Override> overrides) {
    std::string known;
    for (const BuiltinProfile& profile : builtin_profiles()) {
        if (profile.name == name) {
            return load_host_profile(
                model::IniFile::parse(std::string(name) + ".ini", profile.text), overrides);
        }
        known += (known.empty() ? "" : ", ") + std::string(profile.name);
    }
    throw model::ConfigError({"host profile", 0}, std::string(name),
                             "no such profile; there are: " + known);
}

}  // namespace cxsim::pcie
