// SPDX-License-Identifier: Apache-2.0
// Trace records as text and JSON, by the declarations of their kinds and PRM reflection.
#pragma once

#include "model/trace/tracer.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace cxsim::model::trace {

/// The raw value of a member of at most 8 bytes.
std::uint64_t field_value(const Record& record, const Field& field);

/// The value as its format shows it: a name where there is one, else a number.
std::string field_text(const Tracer& tracer, const Record& record, const Field& field);

/// "12.345678us nic0.cmdif f0 command QUERY_HCA_CAP op_mod=0x1 …": one line without bytes.
std::string to_text(const Tracer& tracer, const Record& record);

/// The bytes of a record, decoded where a PRM layout is known, else as hexadecimal; each line
/// indented by two.
std::string blobs_to_text(const Record& record, Blobs blobs);

/// One object: time_ps, component, function, kind, the members, then input/output or data.
nlohmann::ordered_json to_json(const Tracer& tracer, const Record& record, Blobs blobs);

}  // namespace cxsim::model::trace
