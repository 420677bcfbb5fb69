// SPDX-License-Identifier: Apache-2.0
// Statistics as CSV, JSON and a table for people.
#pragma once

#include "model/stats/stats.h"

#include <iosfwd>

namespace cxsim::model::stats {

/// "path,value,unit,description" lines with a header; formulas included.
void write_csv(std::ostream& out, const Group& root);

/// Objects nested as the groups; a counter is a number, a formula a number or null.
void write_json(std::ostream& out, const Group& root);

/// A table of everything that is not zero, for the end of a run.
void write_summary(std::ostream& out, const Group& root);

}  // namespace cxsim::model::stats
