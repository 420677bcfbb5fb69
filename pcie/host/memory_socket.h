// SPDX-License-Identifier: Apache-2.0
// Host memory on the other side of a TLM-2.0 socket.
#pragma once

#include "pcie/host/host_access.h"
#include "pcie/host/host_memory.h"

#include <tlm>

namespace cxsim::pcie {

/// Requests become b_transport calls. The target must answer without waiting: times are the
/// endpoint's, the annotated delay is ignored. One payload is reused, nothing is allocated.
class MemorySocket : public HostMemory {
  public:
    using Interface = tlm::tlm_fw_transport_if<>;

    MemorySocket() { payload_.set_extension(&access_); }
    ~MemorySocket() override { payload_.clear_extension(&access_); }
    MemorySocket(const MemorySocket&) = delete;
    MemorySocket& operator=(const MemorySocket&) = delete;

    void bind(Interface* target) { target_ = target; }

    model::DmaStatus read(model::FunctionId function, model::HostAddress address,
                          std::span<std::byte> into) override {
        return transport(tlm::TLM_READ_COMMAND, function, address, into.data(), into.size());
    }
    model::DmaStatus write(model::FunctionId function, model::HostAddress address,
                           std::span<const std::byte> from) override {
        // TLM payloads have one data pointer for both directions; a write does not change it.
        return transport(tlm::TLM_WRITE_COMMAND, function, address,
                         const_cast<std::byte*>(from.data()), from.size());
    }

  private:
    model::DmaStatus transport(tlm::tlm_command command, model::FunctionId function,
                               model::HostAddress address, std::byte* data, std::size_t bytes);

    Interface* target_ = nullptr;
    tlm::tlm_generic_payload payload_;
    HostAccess access_;
};

/// The target side: a socket in front of a HostMemory. Responses: address error for unsupported
/// requests, generic error for completer aborts.
void serve_host_memory(HostMemory& memory, tlm::tlm_generic_payload& payload);

}  // namespace cxsim::pcie
