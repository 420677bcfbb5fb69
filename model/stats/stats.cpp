// SPDX-License-Identifier: Apache-2.0
#include "model/stats/stats.h"

#include "model/base/assert.h"

#include <fmt/format.h>

#include <algorithm>

namespace cxsim::model::stats {
namespace {

constexpr std::array<std::string_view, 10> kUnitNames = {
    "",      "packets", "bytes",           "bits", "events", "commands",
    "pages", "ps",      "bits_per_second", "ratio"};

}  // namespace

std::string_view unit_name(Unit unit) {
    return kUnitNames[static_cast<std::size_t>(unit)];
}

Counter::Counter(Group& group, std::string name, Unit unit, std::string_view description)
    : name_(std::move(name)), unit_(unit), description_(description) {
    group.require_unused(name_);
    group.counters_.push_back(this);
}

Formula::Formula(Group& group, std::string name, Unit unit, std::string_view description,
                 std::function<double()> compute)
    : name_(std::move(name)), unit_(unit), description_(description), compute_(std::move(compute)) {
    group.require_unused(name_);
    group.formulas_.push_back(this);
}

Group::Group(std::string name) : name_(std::move(name)) {}

Group::Group(Group& parent, std::string name) : parent_(&parent), name_(std::move(name)) {
    parent.require_unused(name_);
    parent.children_.push_back(this);
}

Group::~Group() {
    if (parent_ != nullptr) std::erase(parent_->children_, this);
}

void Group::require_unused(std::string_view name) const {
    CX_ASSERT(!name.empty() && name.find('.') == std::string_view::npos, "'{}' in {}", name,
              path());
    const auto same = [&](const auto* other) { return other->name() == name; };
    CX_ASSERT(std::none_of(counters_.begin(), counters_.end(), same) &&
                  std::none_of(formulas_.begin(), formulas_.end(), same) &&
                  std::none_of(children_.begin(), children_.end(), same),
              "{} exists twice in {}", name, path());
}

std::string Group::path() const {
    if (parent_ == nullptr) return name_;
    const std::string above = parent_->path();
    return above.empty() ? name_ : fmt::format("{}.{}", above, name_);
}

const Counter* Group::find(std::string_view path) const {
    const auto dot = path.find('.');
    const std::string_view first = path.substr(0, dot);
    if (dot == std::string_view::npos) {
        for (const Counter* counter : counters_) {
            if (counter->name() == first) return counter;
        }
        return nullptr;
    }
    for (const Group* child : children_) {
        if (child->name() == first) return child->find(path.substr(dot + 1));
    }
    return nullptr;
}

Counter* Group::find(std::string_view path) {
    return const_cast<Counter*>(std::as_const(*this).find(path));
}

void Group::visit(const std::function<void(const std::string&, const Counter&)>& visit) const {
    const std::string prefix = path();
    for (const Counter* counter : counters_) {
        visit(prefix.empty() ? counter->name() : fmt::format("{}.{}", prefix, counter->name()),
              *counter);
    }
    for (const Group* child : children_) child->visit(visit);
}

void Group::reset() {
    for (Counter* counter : counters_) counter->set(0);
    for (Group* child : children_) child->reset();
}

namespace detail {

std::string indexed_name(std::string_view pattern, std::size_t index) {
    return fmt::format(fmt::runtime(pattern), index);
}

}  // namespace detail
}  // namespace cxsim::model::stats
