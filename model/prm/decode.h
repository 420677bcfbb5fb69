// SPDX-License-Identifier: Apache-2.0
// PRM structures as text and JSON by field name, and back.
#pragma once

#include "model/prm/reflect.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cxsim::prm {

/// How to show a structure.
struct DecodeOptions {
    /// Leave out members that are zero. Reserved members are shown only when they are not zero.
    bool omit_zero = true;
    /// JSON: numbers as "0x..." strings. Text always shows hexadecimal.
    bool hex = false;
    /// Of a union that has a member named here, show this member only (else all members, since
    /// the data does not tell which is meant).
    std::span<const std::string_view> union_members = {};
    /// Show so many elements of an array at most (text only).
    std::size_t max_elements = 64;
};

/// One "name: value" per line, nested members indented by two more. Never fails: members that lie
/// beyond the end of `data` are left out.
std::string to_text(const LayoutInfo& layout, std::span<const std::byte> data,
                    const DecodeOptions& options = {}, std::size_t indent = 0);

/// Members in layout order. Byte arrays and fields wider than 64 bits are "0x..." strings.
nlohmann::ordered_json to_json(const LayoutInfo& layout, std::span<const std::byte> data,
                               const DecodeOptions& options = {});

/// Result of encode; `error` is empty on success and names the member otherwise.
struct Encoded {
    std::vector<std::byte> data;
    std::string error;

    explicit operator bool() const { return error.empty(); }
};

/// Bytes of a structure from the JSON that to_json writes; members not given are zero. Numbers may
/// be strings ("0x1f", "31"). A variable tail makes the result as long as its elements need.
/// Errors: unknown member, value that does not fit or has the wrong form, too many elements, two
/// members of a union that contradict each other.
Encoded encode(const LayoutInfo& layout, const nlohmann::ordered_json& json);

/// The same over existing bytes: members not given keep their value, `data` does not grow.
/// Returns the error, empty on success.
std::string encode_into(const LayoutInfo& layout, const nlohmann::ordered_json& json,
                        std::span<std::byte> data);

}  // namespace cxsim::prm
