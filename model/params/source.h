// SPDX-License-Identifier: Apache-2.0
// The source word that every value carries.
#pragma once

#include "model/params/config_error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cxsim::model {

/// How we know a value. Files use the first six words; `command_line` is what an override gets.
enum class Source : std::uint8_t {
    measured,  ///< Seen on a real card or in a published dump of one.
    vendor,    ///< The maker's documents.
    paper,     ///< A publication's measurement.
    fitted,    ///< Chosen so that a published curve comes out.
    guess,     ///< Plausible, unverified; listed in every run's report.
    spec,      ///< Follows from a specification, the driver's source, or a modelling decision.
    command_line,
};

std::string_view source_name(Source source);
/// The six words allowed in files; anything else is nullopt.
std::optional<Source> parse_source(std::string_view word);

/// A value as written, with how it is known and where it stands.
struct SourcedText {
    std::string text;
    Source source = Source::guess;
    std::string note;
    Place place;
};

}  // namespace cxsim::model
