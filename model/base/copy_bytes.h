// SPDX-License-Identifier: Apache-2.0
// Copies of bytes on the packet path. std::ranges::copy out of constant bytes goes one by one in
// libstdc++ 12: eight instructions a byte.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace cxsim::model {

/// `to` has room for all of `from`; they do not overlap. Returns the end of what was written.
inline std::byte* copy_bytes(std::span<const std::byte> from, std::byte* to) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    return to + from.size();
}

}  // namespace cxsim::model
