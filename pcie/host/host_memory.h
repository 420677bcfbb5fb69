// SPDX-License-Identifier: Apache-2.0
// Memory of the host as a bus master sees it. Implementations: SparseMemory for in-process hosts,
// MemorySocket over TLM, the guest's mapped memory.
#pragma once

#include "model/ports/host_bus.h"

#include <cstddef>
#include <span>

namespace cxsim::pcie {

class HostMemory {
  public:
    virtual ~HostMemory() = default;

    /// Moves the bytes now. All of the range or nothing: ok, unsupported_request where nobody
    /// claims the address, completer_abort where the host refuses it (not mapped, read-only).
    virtual model::DmaStatus read(model::FunctionId function, model::HostAddress address,
                                  std::span<std::byte> into) = 0;
    virtual model::DmaStatus write(model::FunctionId function, model::HostAddress address,
                                   std::span<const std::byte> from) = 0;
};

}  // namespace cxsim::pcie
