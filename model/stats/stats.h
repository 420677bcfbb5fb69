// SPDX-License-Identifier: Apache-2.0
// Counters, declared once with unit and description; groups nest along the component path.
//
//     struct PortCounters : stats::Group {
//         using Group::Group;
//         stats::Counter rx_bytes{*this, "rx_bytes_phy", stats::Unit::bytes, "Bytes received"};
//     };
//     PortCounters port{nic, "port0"};   // "nic.port0.rx_bytes_phy"
//     port.rx_bytes += 64;               // a plain add
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cxsim::model::stats {

enum class Unit : std::uint8_t {
    count,
    packets,
    bytes,
    bits,
    events,
    commands,
    pages,
    picoseconds,
    bits_per_second,
    ratio,
};

std::string_view unit_name(Unit unit);

class Group;

/// A number that only grows, except by reset(). Member of a struct derived from Group.
class Counter {
  public:
    /// `name` has no dot and is unique in its group; both texts are literals or outlive the
    /// counter.
    Counter(Group& group, std::string name, Unit unit, std::string_view description);
    Counter(const Counter&) = delete;
    Counter& operator=(const Counter&) = delete;

    Counter& operator++() {
        ++value_;
        return *this;
    }
    Counter& operator+=(std::uint64_t n) {
        value_ += n;
        return *this;
    }
    std::uint64_t value() const { return value_; }
    /// For tests and for hardware that lets software preset or clear a counter.
    void set(std::uint64_t value) { value_ = value; }

    const std::string& name() const { return name_; }
    Unit unit() const { return unit_; }
    std::string_view description() const { return description_; }

  private:
    std::uint64_t value_ = 0;
    std::string name_;
    Unit unit_;
    std::string_view description_;
};

/// `N` counters that differ by an index: {0} in `pattern` is the index, e.g. "rx_prio{}_bytes".
template <std::size_t N>
class CounterArray {
  public:
    CounterArray(Group& group, std::string_view pattern, Unit unit, std::string_view description);

    Counter& operator[](std::size_t index) { return *counters_[index]; }
    const Counter& operator[](std::size_t index) const { return *counters_[index]; }
    static constexpr std::size_t size() { return N; }

  private:
    std::array<std::unique_ptr<Counter>, N> counters_;
};

/// A ratio or rate of counters, computed when a report is written, never stored.
class Formula {
  public:
    Formula(Group& group, std::string name, Unit unit, std::string_view description,
            std::function<double()> compute);
    Formula(const Formula&) = delete;
    Formula& operator=(const Formula&) = delete;

    double value() const { return compute_(); }
    const std::string& name() const { return name_; }
    Unit unit() const { return unit_; }
    std::string_view description() const { return description_; }

  private:
    std::string name_;
    Unit unit_;
    std::string_view description_;
    std::function<double()> compute_;
};

/// A component's counters and its parts' groups. The root stands for a simulation or a card; there
/// is no global registry.
class Group {
  public:
    /// A root. Its name starts every path, unless it is empty.
    explicit Group(std::string name);
    /// A part of `parent`, which must outlive it. `name` is unique among the parts, without dots.
    Group(Group& parent, std::string name);
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    const std::string& name() const { return name_; }
    /// "testbed.host0.nic.port0"
    std::string path() const;

    const std::vector<Counter*>& counters() const { return counters_; }
    const std::vector<const Formula*>& formulas() const { return formulas_; }
    const std::vector<Group*>& children() const { return children_; }

    /// `path` is relative: "port0.rx_bytes_phy". Null if there is none.
    Counter* find(std::string_view path);
    const Counter* find(std::string_view path) const;

    /// Calls visit(path, counter) for all counters below, in order of declaration.
    void visit(const std::function<void(const std::string&, const Counter&)>& visit) const;

    /// Zeroes all counters below.
    void reset();

  private:
    friend class Counter;
    friend class Formula;
    void require_unused(std::string_view name) const;

    Group* parent_ = nullptr;
    std::string name_;
    std::vector<Counter*> counters_;
    std::vector<const Formula*> formulas_;
    std::vector<Group*> children_;
};

namespace detail {
/// `pattern` with its {} replaced.
std::string indexed_name(std::string_view pattern, std::size_t index);
}  // namespace detail

template <std::size_t N>
CounterArray<N>::CounterArray(Group& group, std::string_view pattern, Unit unit,
                              std::string_view description) {
    for (std::size_t i = 0; i < N; ++i) {
        counters_[i] =
            std::make_unique<Counter>(group, detail::indexed_name(pattern, i), unit, description);
    }
}

}  // namespace cxsim::model::stats
