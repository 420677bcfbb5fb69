// SPDX-License-Identifier: Apache-2.0
#include "model/params/ini_file.h"

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <set>
#include <sstream>
#include <utility>

namespace cxsim::model {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kBlank = " \t\r";
constexpr std::string_view kExpectedSource =
    "expected '# SOURCE: note' with SOURCE one of measured, vendor, paper, fitted, guess, spec";

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

struct Comment {
    Source source;
    std::string note;
};

Comment parse_comment(const Place& place, const std::string& key, std::string_view comment) {
    const auto colon = comment.find(':');
    const std::string_view word = trim(comment.substr(0, colon));
    const auto source = parse_source(word);
    if (!source) {
        if (word.empty()) {
            throw ConfigError(place, key, fmt::format("no source word; {}", kExpectedSource));
        }
        throw ConfigError(place, key,
                          fmt::format("'{}' is no source word; {}", word, kExpectedSource));
    }
    const auto note =
        colon == std::string_view::npos ? std::string_view{} : trim(comment.substr(colon + 1));
    return {*source, std::string(note)};
}

/// Everything but the values, which are the library's to parse.
std::vector<IniEntry> scan_lines(const std::string& name, std::string_view text) {
    std::vector<IniEntry> entries;
    std::set<std::string> seen;
    std::string section;
    unsigned number = 0;
    while (!text.empty()) {
        ++number;
        const auto end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);

        const Place place{name, number};
        const auto hash = line.find('#');
        const std::string_view content = trim(line.substr(0, hash));
        if (content.empty()) continue;
        if (content.front() == '[') {
            if (content.back() != ']') throw ConfigError(place, "", "section without ']'");
            section = trim(content.substr(1, content.size() - 2));
            if (section.empty()) throw ConfigError(place, "", "section without a name");
            continue;
        }
        const auto equals = content.find('=');
        const std::string key(trim(content.substr(0, equals)));
        if (equals == std::string_view::npos || key.empty()) {
            throw ConfigError(place, key, "expected 'key = value  # source: note'");
        }
        if (section.empty()) throw ConfigError(place, key, "stands before the first [section]");
        if (trim(content.substr(equals + 1)).empty()) throw ConfigError(place, key, "no value");
        const auto comment = hash == std::string_view::npos ? "" : line.substr(hash + 1);
        auto [source, note] = parse_comment(place, key, comment);
        entries.push_back({section, key, {"", source, std::move(note), place}});
        if (!seen.insert(entries.back().path()).second) {
            throw ConfigError(place, entries.back().path(), "stands here for the second time");
        }
    }
    return entries;
}

}  // namespace

IniFile IniFile::parse(const std::string& name, std::string_view text) {
    IniFile file;
    file.name_ = name;
    file.entries_ = scan_lines(name, text);

    std::istringstream stream{std::string(text)};
    const po::options_description nothing;
    po::parsed_options parsed(&nothing);
    try {
        parsed = po::parse_config_file(stream, nothing, true);
    } catch (const po::error& error) {
        throw ConfigError({name, 0}, "", error.what());
    }
    if (parsed.options.size() != file.entries_.size()) {
        throw ConfigError({name, 0}, "", "could not be read as 'key = value' lines");
    }
    for (std::size_t i = 0; i < file.entries_.size(); ++i) {
        auto& entry = file.entries_[i];
        const auto& option = parsed.options[i];
        if (option.string_key != entry.path() || option.value.size() != 1) {
            throw ConfigError(entry.value.place, entry.path(),
                              "could not be read as 'key = value'");
        }
        entry.value.text = option.value.front();
    }
    return file;
}

}  // namespace cxsim::model
