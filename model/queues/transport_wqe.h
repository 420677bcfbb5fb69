// SPDX-License-Identifier: Apache-2.0
// Send WQEs of QPs that a transport carries: which segments each operation has, which services may
// ask for it, and what its memory must allow.
#pragma once

#include "model/queues/gather.h"
#include "model/queues/transport_port.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace cxsim::model {

class TransportWqe {
  public:
    explicit TransportWqe(EngineState& state) : state_(state), gatherer_(state) {}

    /// Fills `send`, whose qp and control are given, from the WQE's bytes. Its spans point into
    /// `wqe` and, until the next call, into this object. Operations that are not modelled or not
    /// of the service are counted by opcode.
    WqeStatus parse(std::span<const std::byte> wqe, QpSend& send);

  private:
    WqeStatus parse_address(std::span<const std::byte> wqe, std::size_t& offset, QpSend& send);
    WqeStatus parse_atomic(std::span<const std::byte> wqe, std::size_t& offset, QpSend& send);

    EngineState& state_;
    Gatherer gatherer_;
};

}  // namespace cxsim::model
