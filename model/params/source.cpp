// SPDX-License-Identifier: Apache-2.0
#include "model/params/source.h"

#include <array>

namespace cxsim::model {
namespace {

constexpr std::array<std::string_view, 7> kNames = {"measured", "vendor", "paper",       "fitted",
                                                    "guess",    "spec",   "command line"};

}  // namespace

std::string_view source_name(Source source) {
    return kNames[static_cast<std::size_t>(source)];
}

std::optional<Source> parse_source(std::string_view word) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(Source::command_line); ++i) {
        if (kNames[i] == word) return static_cast<Source>(i);
    }
    return std::nullopt;
}

}  // namespace cxsim::model
