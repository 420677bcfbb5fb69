// SPDX-License-Identifier: Apache-2.0
#include "model/params/parameter.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <algorithm>
#include <numeric>

namespace cxsim::model {
namespace {

namespace po = boost::program_options;

/// Levenshtein distance, for "did you mean".
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t substitute = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({substitute, row[j + 1] + 1, row[j] + 1});
        }
    }
    return row.back();
}

}  // namespace

ParameterBase::ParameterBase(ParameterGroup& group, std::string_view name,
                             std::string_view description)
    : name_(name), description_(description) {
    group.parameters_.push_back(this);
}

void ParameterBase::set(const SourcedText& value) {
    try {
        parse(value.text);
    } catch (const ValueError& error) {
        throw ConfigError(value.place, std::string(name_),
                          fmt::format("{} ({}: {})", error.what(), type_name(), description_));
    }
    set_ = true;
    text_ = value.text;
    source_ = value.source;
    note_ = value.note;
}

bool ParameterGroup::accept_unknown(const IniEntry&) {
    return false;
}

ParameterBase* ParameterGroup::find(std::string_view key) const {
    for (ParameterBase* parameter : parameters_) {
        if (parameter->name() == key) return parameter;
    }
    return nullptr;
}

void ParameterGroup::refuse_unknown(const Place& place, const std::string& key) const {
    std::string_view nearest;
    std::size_t best = SIZE_MAX;
    for (const ParameterBase* parameter : parameters_) {
        const std::size_t d = distance(parameter->name(), key);
        if (d < best) {
            best = d;
            nearest = parameter->name();
        }
    }
    throw ConfigError(place, key,
                      fmt::format("no such key in {}; the nearest is '{}'", name_, nearest));
}

void ParameterGroup::load(const IniFile& file, std::span<const Override> overrides) {
    for (const IniEntry& entry : file.entries()) {
        if (ParameterBase* parameter = find(entry.path())) {
            parameter->set(entry.value);
        } else if (!accept_unknown(entry)) {
            refuse_unknown(entry.value.place, entry.path());
        }
    }
    const std::string prefix = fmt::format("{}.", name_);
    for (const Override& entry : overrides) {
        if (entry.key.compare(0, prefix.size(), prefix) != 0) continue;
        const std::string key = entry.key.substr(prefix.size());
        const Place place{"command line", 0};
        ParameterBase* parameter = find(key);
        if (parameter == nullptr) refuse_unknown(place, key);
        parameter->set({entry.value, Source::command_line, "", place});
    }
    for (const ParameterBase* parameter : parameters_) {
        if (!parameter->is_set()) {
            throw ConfigError({file.name(), 0}, std::string(parameter->name()),
                              fmt::format("missing; expected {} ({})", parameter->type_name(),
                                          parameter->description()));
        }
    }
}

void ParameterGroup::describe(po::options_description& options) const {
    for (const ParameterBase* parameter : parameters_) {
        const std::string key = fmt::format("{}.{}", name_, parameter->name());
        options.add_options()(key.c_str(),
                              po::value<std::string>()->value_name(parameter->type_name()),
                              std::string(parameter->description()).c_str());
    }
}

std::vector<ParameterRow> ParameterGroup::rows() const {
    std::vector<ParameterRow> rows;
    for (const ParameterBase* parameter : parameters_) {
        rows.push_back({fmt::format("{}.{}", name_, parameter->name()), parameter->text(),
                        parameter->source(), parameter->note()});
    }
    append_rows(rows);
    return rows;
}

std::vector<Override> overrides_from(const po::parsed_options& parsed) {
    std::vector<Override> overrides;
    for (const auto& option : parsed.options) {
        if (option.string_key.find('.') == std::string::npos || option.value.size() != 1) continue;
        overrides.push_back({option.string_key, option.value.front()});
    }
    return overrides;
}

}  // namespace cxsim::model
