// SPDX-License-Identifier: Apache-2.0
// Where a configured value was written, and the error that says so.
#pragma once

#include <stdexcept>
#include <string>

namespace cxsim::model {

/// Where a value comes from: a line of a file, or the command line (`line` 0).
struct Place {
    std::string file;
    unsigned line = 0;

    /// "file:line", or the file alone when there is no line.
    std::string text() const;
};

/// A configuration that cannot be used. Thrown before the simulation starts, never after.
/// what() names place, key, what is wrong, and what would be right.
class ConfigError : public std::runtime_error {
  public:
    ConfigError(Place place, std::string key, const std::string& problem);

    const Place& place() const { return place_; }
    const std::string& key() const { return key_; }

  private:
    Place place_;
    std::string key_;
};

}  // namespace cxsim::model
