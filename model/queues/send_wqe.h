// SPDX-License-Identifier: Apache-2.0
// SEND and LSO work queue entries: headers, descriptors, and what becomes of the message.
#pragma once

#include "model/queues/engine_state.h"
#include "model/queues/gather.h"
#include "model/queues/wqe.h"

#include <cstdint>
#include <span>

namespace cxsim::model {

/// What a send WQE may hold depends on its queue.
struct SendRequester {
    ObjectId queue;
    std::uint32_t pd = 0;
    bool reserved_lkey = false;    ///< rlky
    bool datagram = false;         ///< an address vector follows the control segment
    bool ethernet = false;         ///< an Ethernet segment: raw SQs
    bool ethernet_pad = false;     ///< 16 bytes, then an Ethernet segment: UD with offloads
    bool inline_required = false;  ///< at least the L2 header must be inlined
};

class SendExecutor {
  public:
    explicit SendExecutor(EngineState& state) : state_(state), gatherer_(state) {}

    /// Checks all descriptors, then hands the message to the packet sink, or counts it as lost at
    /// a port without a cable.
    SendOutcome execute(Picoseconds at, const WqeControl& control, std::span<const std::byte> wqe,
                        const SendRequester& requester);

    /// One packet for each descriptor behind the Ethernet segment.
    SendOutcome execute_multi(Picoseconds at, const WqeControl& control,
                              std::span<const std::byte> wqe, const SendRequester& requester);

  private:
    SendOutcome emit(Picoseconds at, const SendRequest& request);
    WqeStatus parse(const WqeControl& control, std::span<const std::byte> wqe,
                    const SendRequester& requester, SendRequest& request);

    EngineState& state_;
    Gatherer gatherer_;
};

}  // namespace cxsim::model
