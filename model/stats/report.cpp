// SPDX-License-Identifier: Apache-2.0
#include "model/stats/report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <ostream>

namespace cxsim::model::stats {
namespace {

struct Row {
    std::string path;
    std::string value;
    std::string_view unit;
    std::string_view description;
    bool zero;
};

void collect(const Group& group, std::vector<Row>& rows) {
    const std::string prefix = group.path().empty() ? "" : group.path() + ".";
    for (const Counter* counter : group.counters()) {
        rows.push_back({prefix + counter->name(), fmt::format("{}", counter->value()),
                        unit_name(counter->unit()), counter->description(), counter->value() == 0});
    }
    for (const Formula* formula : group.formulas()) {
        const double value = formula->value();
        // 0/0 of a run without traffic is no number and stays empty.
        rows.push_back({prefix + formula->name(),
                        std::isfinite(value) ? fmt::format("{:.6g}", value) : "",
                        unit_name(formula->unit()), formula->description(),
                        !std::isfinite(value) || value == 0});
    }
    for (const Group* child : group.children()) collect(*child, rows);
}

/// RFC 4180: quotes around a field with comma, quote or line end.
std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

nlohmann::ordered_json to_json(const Group& group) {
    auto object = nlohmann::ordered_json::object();
    for (const Counter* counter : group.counters()) object[counter->name()] = counter->value();
    for (const Formula* formula : group.formulas()) {
        const double value = formula->value();
        if (std::isfinite(value)) {
            object[formula->name()] = value;
        } else {
            object[formula->name()] = nullptr;
        }
    }
    for (const Group* child : group.children()) object[child->name()] = to_json(*child);
    return object;
}

}  // namespace

void write_csv(std::ostream& out, const Group& root) {
    std::vector<Row> rows;
    collect(root, rows);
    out << "path,value,unit,description\n";
    for (const Row& row : rows) {
        fmt::print(out, "{},{},{},{}\n", csv_field(row.path), row.value, row.unit,
                   csv_field(row.description));
    }
}

void write_json(std::ostream& out, const Group& root) {
    nlohmann::ordered_json document = to_json(root);
    if (!root.path().empty()) document = {{root.path(), std::move(document)}};
    out << document.dump(2) << '\n';
}

void write_summary(std::ostream& out, const Group& root) {
    std::vector<Row> rows;
    collect(root, rows);
    std::erase_if(rows, [](const Row& row) { return row.zero; });
    if (rows.empty()) {
        out << "(all counters are zero)\n";
        return;
    }
    std::size_t path_width = 0;
    std::size_t value_width = 0;
    std::size_t unit_width = 0;
    for (const Row& row : rows) {
        path_width = std::max(path_width, row.path.size());
        value_width = std::max(value_width, row.value.size());
        unit_width = std::max(unit_width, row.unit.size());
    }
    for (const Row& row : rows) {
        fmt::print(out, "{:<{}}  {:>{}} {:<{}}  {}\n", row.path, path_width, row.value, value_width,
                   row.unit, unit_width, row.description);
    }
}

}  // namespace cxsim::model::stats
