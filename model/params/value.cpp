// SPDX-License-Identifier: Apache-2.0
#include "model/params/value.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace cxsim::model {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};

constexpr std::array<Unit, 5> kTimes = {
    {{"s", 1'000'000'000'000}, {"ms", 1'000'000'000}, {"us", 1'000'000}, {"ns", 1'000}, {"ps", 1}}};
constexpr std::array<Unit, 4> kSizes = {{{"GiB", std::uint64_t{1} << 30},
                                         {"MiB", std::uint64_t{1} << 20},
                                         {"KiB", std::uint64_t{1} << 10},
                                         {"B", 1}}};
constexpr std::array<Unit, 5> kRates = {{{"Tb/s", 1'000'000'000'000},
                                         {"Gb/s", 1'000'000'000},
                                         {"Mb/s", 1'000'000},
                                         {"kb/s", 1'000},
                                         {"b/s", 1}}};

/// "<digits>[.<digits>]<unit>" as a whole number of the smallest unit: no rounding, so that a file
/// and what a report prints are the same value.
template <std::size_t N>
std::uint64_t parse_exact(std::string_view text, const std::array<Unit, N>& units,
                          std::string_view expected) {
    const auto refuse = [&](std::string_view why) {
        throw ValueError(fmt::format("'{}' {}; expected {}", text, why, expected));
    };
    const auto unit_at = text.find_first_not_of("0123456789.");
    if (unit_at == std::string_view::npos || unit_at == 0) refuse("has no number with a unit");
    std::string_view number = text.substr(0, unit_at);
    std::string_view name = text.substr(unit_at);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    std::uint64_t factor = 0;
    for (const Unit& unit : units) {
        if (unit.name == name) factor = unit.factor;
    }
    if (factor == 0) refuse("has the wrong unit");

    unsigned __int128 digits = 0;
    unsigned __int128 scale = 1;
    bool fraction = false;
    bool any = false;
    for (const char c : number) {
        if (c == '.') {
            if (fraction) refuse("is no number");
            fraction = true;
            continue;
        }
        any = true;
        digits = digits * 10 + static_cast<unsigned>(c - '0');
        if (fraction) scale *= 10;
        if (digits > UINT64_MAX || scale > UINT64_MAX) refuse("has too many digits");
    }
    if (!any) refuse("is no number");
    const unsigned __int128 product = digits * factor;
    if (product % scale != 0) {
        refuse(fmt::format("is no whole number of {}", units.back().name));
    }
    const unsigned __int128 result = product / scale;
    if (result > UINT64_MAX) refuse("is too large");
    return static_cast<std::uint64_t>(result);
}

/// The largest unit that leaves a whole number.
template <std::size_t N>
std::string format_exact(std::uint64_t value, const std::array<Unit, N>& units) {
    for (const Unit& unit : units) {
        if (value != 0 && value % unit.factor == 0) {
            return fmt::format("{}{}", value / unit.factor, unit.name);
        }
    }
    return fmt::format("0{}", units.back().name);
}

}  // namespace

Picoseconds parse_time(std::string_view text) {
    const auto value = parse_exact(text, kTimes, "a time such as 430ns (ps, ns, us, ms, s)");
    if (value > static_cast<std::uint64_t>(INT64_MAX)) {
        throw ValueError(fmt::format("'{}' is too long; at most 106 days", text));
    }
    return {static_cast<std::int64_t>(value)};
}

Bytes parse_bytes(std::string_view text) {
    return {parse_exact(text, kSizes, "a size such as 64KiB (B, KiB, MiB, GiB)")};
}

BitsPerSecond parse_rate(std::string_view text) {
    const auto value =
        parse_exact(text, kRates, "a rate such as 25Gb/s (b/s, kb/s, Mb/s, Gb/s, Tb/s)");
    if (value == 0) throw ValueError(fmt::format("'{}' is no rate above 0", text));
    return {static_cast<double>(value)};
}

std::uint64_t parse_unsigned(std::string_view text, std::uint64_t limit) {
    const bool hex = text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X";
    const std::string_view digits = hex ? text.substr(2) : text;
    std::uint64_t value = 0;
    const auto* end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, value, hex ? 16 : 10);
    if (digits.empty() || at != end || error == std::errc::invalid_argument) {
        throw ValueError(fmt::format("'{}' is no unsigned number (decimal or 0x...)", text));
    }
    if (error == std::errc::result_out_of_range || value > limit) {
        throw ValueError(fmt::format("{} is above the largest possible value {}", text, limit));
    }
    return value;
}

bool parse_bool(std::string_view text) {
    if (text == "true") return true;
    if (text == "false") return false;
    throw ValueError(fmt::format("'{}' is neither true nor false", text));
}

std::string parse_text(std::string_view text) {
    if (text.empty() || text.front() != '"') return std::string(text);
    if (text.size() < 2 || text.back() != '"') {
        throw ValueError(fmt::format("{} lacks the closing double quote", text));
    }
    return std::string(text.substr(1, text.size() - 2));
}

std::vector<std::string> parse_words(std::string_view text) {
    std::vector<std::string> words;
    for (;;) {
        const auto comma = text.find(',');
        std::string_view word = text.substr(0, comma);
        while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
        while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
        if (word.empty()) throw ValueError("an empty word between commas");
        words.emplace_back(word);
        if (comma == std::string_view::npos) return words;
        text.remove_prefix(comma + 1);
    }
}

std::string format_time(Picoseconds time) {
    if (time.value < 0) return "-" + format_time({-time.value});
    return format_exact(static_cast<std::uint64_t>(time.value), kTimes);
}

std::string format_bytes(Bytes bytes) {
    return format_exact(bytes.value, kSizes);
}

std::string format_rate(BitsPerSecond rate) {
    return format_exact(static_cast<std::uint64_t>(std::llround(rate.value)), kRates);
}

std::string format_words(const std::vector<std::string>& words) {
    return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace cxsim::model
