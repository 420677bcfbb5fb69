// SPDX-License-Identifier: Apache-2.0
// Text to typed value and back: "430ns", "64KiB", "25Gb/s", 0x15b3, true, words.
#pragma once

#include "model/base/units.h"

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cxsim::model {

/// A text that is no value of the wanted type; what() says what would be right.
class ValueError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Number and unit ps, ns, us, ms or s; must be a whole number of picoseconds, not negative.
Picoseconds parse_time(std::string_view text);
/// Number and unit B, KiB, MiB or GiB; must be a whole number of bytes.
Bytes parse_bytes(std::string_view text);
/// Number and unit b/s, kb/s, Mb/s, Gb/s or Tb/s; above 0.
BitsPerSecond parse_rate(std::string_view text);
/// Decimal or 0x hexadecimal, not above `limit`.
std::uint64_t parse_unsigned(std::string_view text, std::uint64_t limit);
/// true or false.
bool parse_bool(std::string_view text);
/// As it stands, or between double quotes where blanks at the ends matter.
std::string parse_text(std::string_view text);
/// Words separated by commas.
std::vector<std::string> parse_words(std::string_view text);

std::string format_time(Picoseconds time);
std::string format_bytes(Bytes bytes);
std::string format_rate(BitsPerSecond rate);
std::string format_words(const std::vector<std::string>& words);

/// What a parameter of type T is called in help texts and how it is read.
template <class T>
struct ValueTraits {
    static_assert(std::is_unsigned_v<T>, "a parameter's type has a unit or is an unsigned number");
    static std::string type_name() {
        return "NUMBER up to " + std::to_string(std::numeric_limits<T>::max());
    }
    static T parse(std::string_view text) {
        return static_cast<T>(parse_unsigned(text, std::numeric_limits<T>::max()));
    }
};

template <>
struct ValueTraits<bool> {
    static std::string type_name() { return "true|false"; }
    static bool parse(std::string_view text) { return parse_bool(text); }
};

template <>
struct ValueTraits<Picoseconds> {
    static std::string type_name() { return "TIME such as 430ns"; }
    static Picoseconds parse(std::string_view text) { return parse_time(text); }
};

template <>
struct ValueTraits<Bytes> {
    static std::string type_name() { return "SIZE such as 64KiB"; }
    static Bytes parse(std::string_view text) { return parse_bytes(text); }
};

template <>
struct ValueTraits<BitsPerSecond> {
    static std::string type_name() { return "RATE such as 25Gb/s"; }
    static BitsPerSecond parse(std::string_view text) { return parse_rate(text); }
};

template <>
struct ValueTraits<std::string> {
    static std::string type_name() { return "TEXT"; }
    static std::string parse(std::string_view text) { return parse_text(text); }
};

template <>
struct ValueTraits<std::vector<std::string>> {
    static std::string type_name() { return "WORD, WORD, ..."; }
    static std::vector<std::string> parse(std::string_view text) { return parse_words(text); }
};

}  // namespace cxsim::model
