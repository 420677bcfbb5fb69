// SPDX-License-Identifier: Apache-2.0
// Units in the type: simulated time, sizes and rates never travel as bare integers.
#pragma once

#include <compare>
#include <cstdint>

namespace cxsim::model {

/// Simulated time or a duration, in picoseconds. 64 bits hold 106 days.
struct Picoseconds {
    std::int64_t value = 0;

    friend constexpr auto operator<=>(Picoseconds, Picoseconds) = default;
    constexpr Picoseconds& operator+=(Picoseconds other) {
        value += other.value;
        return *this;
    }
    constexpr Picoseconds& operator-=(Picoseconds other) {
        value -= other.value;
        return *this;
    }
    friend constexpr Picoseconds operator+(Picoseconds a, Picoseconds b) {
        return {a.value + b.value};
    }
    friend constexpr Picoseconds operator-(Picoseconds a, Picoseconds b) {
        return {a.value - b.value};
    }
    friend constexpr Picoseconds operator*(Picoseconds a, std::int64_t n) { return {a.value * n}; }
    friend constexpr Picoseconds operator*(std::int64_t n, Picoseconds a) { return {a.value * n}; }
    friend constexpr Picoseconds operator/(Picoseconds a, std::int64_t n) { return {a.value / n}; }

    constexpr double nanoseconds() const { return static_cast<double>(value) * 1e-3; }
    constexpr double microseconds() const { return static_cast<double>(value) * 1e-6; }
    constexpr double seconds() const { return static_cast<double>(value) * 1e-12; }
    static constexpr Picoseconds max() { return {INT64_MAX}; }
};

constexpr Picoseconds picoseconds(std::int64_t n) { return {n}; }
constexpr Picoseconds nanoseconds(std::int64_t n) { return {n * 1'000}; }
constexpr Picoseconds microseconds(std::int64_t n) { return {n * 1'000'000}; }
constexpr Picoseconds milliseconds(std::int64_t n) { return {n * 1'000'000'000}; }
constexpr Picoseconds seconds(std::int64_t n) { return {n * 1'000'000'000'000}; }

/// A number of bytes: a payload, a window, a buffer.
struct Bytes {
    std::uint64_t value = 0;

    friend constexpr auto operator<=>(Bytes, Bytes) = default;
    friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
    friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
    friend constexpr Bytes operator*(Bytes a, std::uint64_t n) { return {a.value * n}; }
    constexpr Bytes& operator+=(Bytes other) {
        value += other.value;
        return *this;
    }
};

/// A data rate in bits per second.
struct BitsPerSecond {
    double value = 0;

    friend constexpr auto operator<=>(BitsPerSecond, BitsPerSecond) = default;
    /// Time that `size` takes at this rate, rounded up to a picosecond. The rate must be above 0.
    constexpr Picoseconds time_for(Bytes size) const {
        const double exact = static_cast<double>(size.value) * 8.0 * 1e12 / value;
        const auto floor = static_cast<std::int64_t>(exact);
        return {static_cast<double>(floor) < exact ? floor + 1 : floor};
    }
};

constexpr BitsPerSecond gigabits_per_second(double n) { return {n * 1e9}; }

}  // namespace cxsim::model
