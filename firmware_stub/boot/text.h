// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace cxsim::firmware_stub {

/// Writes `text` into a character field of a structure: cut to its size, zero behind.
inline void copy_text(std::string_view text, std::span<std::byte> field) {
    const std::size_t size = std::min(text.size(), field.size());
    std::transform(text.begin(), text.begin() + size, field.begin(),
                   [](char c) { return static_cast<std::byte>(c); });
    std::fill(field.begin() + static_cast<std::ptrdiff_t>(size), field.end(), std::byte{0});
}

}  // namespace cxsim::firmware_stub
