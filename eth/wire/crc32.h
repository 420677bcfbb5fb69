// SPDX-License-Identifier: Apache-2.0
// CRC-32 of IEEE 802.3: the frame check sequence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cxsim::eth {

/// CRC over `bytes`; pass an earlier result as `start` to go on.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t start = 0);

/// The frame check sequence in the order of the wire: least significant byte first.
std::array<std::byte, 4> frame_check_sequence(std::span<const std::byte> frame);

}  // namespace cxsim::eth
