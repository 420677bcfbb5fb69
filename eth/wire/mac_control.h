// SPDX-License-Identifier: Apache-2.0
// MAC control frames: PAUSE (802.3 annex 31B) and priority-based flow control (802.1Qbb).
#pragma once

#include "eth/wire/ethernet.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cxsim::eth {

/// Reserved multicast that bridges do not forward.
inline constexpr MacAddress kMacControlAddress{0x0180'c200'0001};
/// One quantum is the time of 512 bits at the port's rate.
inline constexpr std::uint32_t kPauseQuantumBits = 512;

struct MacControl {
    enum class Kind : std::uint8_t { pause, priority };
    Kind kind = Kind::pause;
    /// Quanta: [0] for PAUSE, one a priority for PFC. 0 ends the pause.
    std::array<std::uint16_t, 8> quanta{};
    /// PFC: the priorities whose quanta count, one bit each.
    std::uint8_t enabled = 0;

    friend bool operator==(const MacControl&, const MacControl&) = default;
};

/// Writes the frame from `source` into the first kMinFrameBytes of `frame` (at least that long).
void encode_mac_control(const MacControl& control, MacAddress source, std::span<std::byte> frame);

/// Empty: no MAC control frame, cut off, or of another opcode.
std::optional<MacControl> decode_mac_control(std::span<const std::byte> frame);

/// Whether the frame's EtherType says MAC control: such frames are never passed up.
bool is_mac_control(std::span<const std::byte> frame);

}  // namespace cxsim::eth
