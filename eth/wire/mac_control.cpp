// SPDX-License-Identifier: Apache-2.0
#include "eth/wire/mac_control.h"

#include "model/base/assert.h"
#include "model/base/endian.h"

#include <algorithm>

namespace cxsim::eth {
namespace {

using model::load_be;
using model::store_be;

constexpr std::uint16_t kOpcodePause = 0x0001;
constexpr std::uint16_t kOpcodePriority = 0x0101;
constexpr std::size_t kOpcode = 14;
constexpr std::size_t kOperands = 16;
constexpr std::size_t kPauseBytes = kOperands + 2;
constexpr std::size_t kPriorityBytes = kOperands + 2 + 8 * 2;

}  // namespace

void encode_mac_control(const MacControl& control, MacAddress source, std::span<std::byte> frame) {
    CX_ASSERT(frame.size() >= kMinFrameBytes, "a MAC control frame has the minimum size");
    std::fill_n(frame.begin(), kMinFrameBytes, std::byte{0});
    const Ethernet header(frame.data());
    header.set_destination(kMacControlAddress);
    header.set_source(source);
    header.set_type(kEtherMacControl);
    std::byte* operands = frame.data() + kOperands;
    if (control.kind == MacControl::Kind::pause) {
        store_be<std::uint16_t>(frame.data() + kOpcode, kOpcodePause);
        store_be<std::uint16_t>(operands, control.quanta[0]);
        return;
    }
    store_be<std::uint16_t>(frame.data() + kOpcode, kOpcodePriority);
    store_be<std::uint16_t>(operands, control.enabled);
    for (std::size_t i = 0; i < control.quanta.size(); ++i) {
        store_be<std::uint16_t>(operands + 2 + 2 * i, control.quanta[i]);
    }
}

std::optional<MacControl> decode_mac_control(std::span<const std::byte> frame) {
    if (!is_mac_control(frame) || frame.size() < kPauseBytes) return std::nullopt;
    MacControl control;
    const auto opcode = load_be<std::uint16_t>(frame.data() + kOpcode);
    const std::byte* operands = frame.data() + kOperands;
    if (opcode == kOpcodePause) {
        control.quanta[0] = load_be<std::uint16_t>(operands);
        return control;
    }
    if (opcode != kOpcodePriority || frame.size() < kPriorityBytes) return std::nullopt;
    control.kind = MacControl::Kind::priority;
    // The high byte of the enable vector is reserved.
    control.enabled = std::to_integer<std::uint8_t>(operands[1]);
    for (std::size_t i = 0; i < control.quanta.size(); ++i) {
        control.quanta[i] = load_be<std::uint16_t>(operands + 2 + 2 * i);
    }
    return control;
}

bool is_mac_control(std::span<const std::byte> frame) {
    return frame.size() >= kEthernetBytes && ConstEthernet(frame.data()).type() == kEtherMacControl;
}

}  // namespace cxsim::eth
