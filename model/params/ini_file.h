// SPDX-License-Identifier: Apache-2.0
// Parameter files: `[section]`, then `key = value  # source: note`, one a line.
#pragma once

#include "model/params/source.h"

#include <string>
#include <string_view>
#include <vector>

namespace cxsim::model {

struct IniEntry {
    std::string section;
    std::string key;
    SourcedText value;

    /// "section.key", as Program_options and overrides name it.
    std::string path() const { return section.empty() ? key : section + "." + key; }
};

/// A parsed parameter file. Boost.Program_options parses; a pass over the lines before it keeps
/// what the library throws away: line numbers and the comment with the source word.
class IniFile {
  public:
    /// Throws ConfigError for a line that is no key, a value without a source word, a repeated
    /// key. `name` is what errors print.
    static IniFile parse(const std::string& name, std::string_view text);

    const std::string& name() const { return name_; }
    /// In the order of the file.
    const std::vector<IniEntry>& entries() const { return entries_; }

  private:
    std::string name_;
    std::vector<IniEntry> entries_;
};

}  // namespace cxsim::model
