// SPDX-License-Identifier: Apache-2.0
#include "model/params/config_error.h"

#include <fmt/format.h>

#include <utility>

namespace cxsim::model {
namespace {

std::string message(const Place& place, const std::string& key, const std::string& problem) {
    if (key.empty()) return fmt::format("{}: {}", place.text(), problem);
    return fmt::format("{}: {}: {}", place.text(), key, problem);
}

}  // namespace

std::string Place::text() const {
    return line == 0 ? file : fmt::format("{}:{}", file, line);
}

ConfigError::ConfigError(Place place, std::string key, const std::string& problem)
    : std::runtime_error(message(place, key, problem)),
      place_(std::move(place)),
      key_(std::move(key)) {}

}  // namespace cxsim::model
