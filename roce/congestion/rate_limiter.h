// SPDX-License-Identifier: Apache-2.0
// Paces the packets of one QP.
#pragma once

#include "model/base/units.h"

#include <cstdint>

namespace cxsim::roce {

class RateLimiter {
  public:
    virtual ~RateLimiter() = default;
    /// When a packet that takes `wire_bytes` on the wire (preamble, gap and FCS included) and is
    /// ready at `at` may leave; books its time. `at` itself while the flow is not limited.
    virtual model::Picoseconds reserve(model::Picoseconds at, std::uint32_t wire_bytes) = 0;
    /// A congestion notification packet for the flow arrived.
    virtual void notified(model::Picoseconds at) = 0;
    /// Packets were lost, and the sender starts again (slow restart, where the card has it).
    virtual void restarted(model::Picoseconds at) = 0;
};

}  // namespace cxsim::roce
