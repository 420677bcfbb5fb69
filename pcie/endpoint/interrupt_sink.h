// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/ports/host_bus.h"
#include "pcie/config_space/msix_table.h"

#include <cstdint>

namespace cxsim::pcie {

/// Where MSI-X messages end: the in-process driver's interrupt controller, a guest's eventfds.
class InterruptSink {
  public:
    virtual ~InterruptSink() = default;
    /// The message of `vector` has arrived; called from the calendar at that time. May notify
    /// SystemC events.
    virtual void interrupt(model::FunctionId function, unsigned vector,
                           const MsixMessage& message) = 0;
};

}  // namespace cxsim::pcie
