// SPDX-License-Identifier: Apache-2.0
// What the transport asks of a function's firmware: its RoCE addresses and multicast groups.
#pragma once

#include "firmware_stub/boot/function_state.h"
#include "model/ports/port_control.h"
#include "roce/transport/addressing.h"

namespace cxsim::scenarios {

class RoceAddresses final : public roce::AddressTable {
  public:
    RoceAddresses(firmware_stub::FunctionState& function, const model::PortControl& port)
        : function_(function), port_(port) {}

    std::optional<roce::LocalAddress> address(std::uint32_t index) const override;
    bool enabled() const override;
    bool big_endian_originals() const override;
    std::optional<std::uint8_t> queue_of_dscp(std::uint8_t dscp) const override;
    std::span<const std::uint32_t> members(const roce::Gid& group) const override;

  private:
    firmware_stub::FunctionState& function_;
    const model::PortControl& port_;
};

}  // namespace cxsim::scenarios
