// SPDX-License-Identifier: Apache-2.0
// What the transport asks of a function's firmware: its RoCE addresses and multicast groups.
#pragma once

#include "firmware_stub/boot/function_state.h"
#include "roce/transport/addressing.h"

namespace cxsim::scenarios {

class RoceAddresses final : public roce::AddressTable {
  public:
    explicit RoceAddresses(firmware_stub::FunctionState& function) : function_(function) {}

    std::optional<roce::LocalAddress> address(std::uint32_t index) const override;
    bool enabled() const override;
    bool big_endian_originals() const override;
    std::span<const std::uint32_t> members(const roce::Gid& group) const override;

  private:
    firmware_stub::FunctionState& function_;
};

}  // namespace cxsim::scenarios
