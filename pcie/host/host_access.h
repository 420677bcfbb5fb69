// SPDX-License-Identifier: Apache-2.0
// Says of a TLM-2.0 payload at the endpoint's sockets which function and which space it means.
#pragma once

#include "model/ports/host_bus.h"

#include <tlm>

namespace cxsim::pcie {

enum class AccessSpace : std::uint8_t { config, bar0, rom, host_memory };

/// Requests of the host: address is the offset in `space`. Requests of the card (space
/// host_memory): address is the bus address, `function` the requester.
struct HostAccess : tlm::tlm_extension<HostAccess> {
    HostAccess() = default;
    HostAccess(model::FunctionId f, AccessSpace s) : function(f), space(s) {}

    tlm::tlm_extension_base* clone() const override { return new HostAccess(*this); }
    void copy_from(const tlm::tlm_extension_base& other) override {
        *this = static_cast<const HostAccess&>(other);
    }

    model::FunctionId function;
    AccessSpace space = AccessSpace::bar0;
};

}  // namespace cxsim::pcie
