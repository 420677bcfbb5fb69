// SPDX-License-Identifier: Apache-2.0
// What messages are made of: bytes that follow from a message's number and their place in it, so
// that both sides know what must be where without keeping it.
#pragma once

#include "scenarios/driver/verbs_types.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace cxsim::test {

inline constexpr std::byte kGuard{0xa5};
/// On both sides of each message's place.
inline constexpr std::uint64_t kGuardBytes = 64;

/// SplitMix64's finalizer.
constexpr std::uint64_t mix(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

class Pattern {
  public:
    explicit Pattern(std::uint64_t longest) : words_((longest + 7) / 8) {}

    /// The message `number`, whole.
    std::span<const std::byte> make(std::uint64_t number, std::uint64_t bytes) {
        const std::uint64_t start = mix(number + 0x9e3779b97f4a7c15);
        const std::size_t count = static_cast<std::size_t>((bytes + 7) / 8);
        for (std::size_t i = 0; i < count; ++i) {
            words_[i] = start ^ ((i + 1) * 0x9e3779b97f4a7c15);
        }
        return std::as_bytes(std::span(words_)).first(bytes);
    }

  private:
    std::vector<std::uint64_t> words_;
};

/// A piece of a message's place, as offset into a region.
struct Piece {
    std::uint64_t at = 0;
    std::uint64_t bytes = 0;
};

inline bool is_guard(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte byte) { return byte == kGuard; });
}

}  // namespace cxsim::test
