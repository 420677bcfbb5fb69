// SPDX-License-Identifier: Apache-2.0
// The configurations of published measurements by name, and what each yields.
#pragma once

#include "model/params/parameter.h"

#include <functional>
#include <map>
#include <span>
#include <string>

namespace cxsim::calibration {

using Quantities = std::map<std::string, double>;
/// `overrides`: of the cards' data, beyond those of the configuration.
using Measure = std::function<Quantities(std::span<const model::Override> overrides)>;

const std::map<std::string, Measure, std::less<>>& cases();

// The parts of cases().
void add_latency_cases(std::map<std::string, Measure, std::less<>>& into);
void add_rate_cases(std::map<std::string, Measure, std::less<>>& into);
void add_cache_cases(std::map<std::string, Measure, std::less<>>& into);
void add_pcie_cases(std::map<std::string, Measure, std::less<>>& into);
void add_transport_cases(std::map<std::string, Measure, std::less<>>& into);

}  // namespace cxsim::calibration
