// SPDX-License-Identifier: Apache-2.0
// Receive queues at work: a packet that steering gave to an RQ goes into the next buffer that the
// driver posted, and a completion says so. Rings of any kind: cyclic or linked list, one packet per
// WQE or many strides of one.
#pragma once

#include "model/queues/completion_queues.h"
#include "model/queues/engine_state.h"
#include "model/queues/error_flush.h"
#include "model/queues/queue_ports.h"
#include "model/queues/receive_completions.h"
#include "model/queues/receive_rings.h"
#include "model/queues/wqe.h"

#include <cstdint>
#include <span>
#include <vector>

namespace cxsim::model {

class ReceiveQueues {
  public:
    ReceiveQueues(EngineState& state, CompletionQueues& completions, ErrorFlush& flush,
                  ReceiveRings& rings, ReceiveCompletions& under_way)
        : state_(state),
          completions_(completions),
          flush_(flush),
          rings_(rings),
          under_way_(under_way) {}

    /// See QueueEngines::receive.
    ReceiveOutcome receive(Rq& rq, Picoseconds at, const ReceiveRequest& request);

    /// See QueueEngines::largest_packet.
    std::uint32_t largest_packet(const Rq& rq) const;

  private:
    bool open(const Rq& rq, ReceiveBuffers& buffers) const;
    WqeStatus scatter_list(ReceiveBuffers& buffers, std::uint64_t skip, std::uint64_t bytes);
    bool skip_rest(Rq& rq, ReceiveBuffers& buffers, Picoseconds at);
    Picoseconds write(Picoseconds at, const ReceiveRequest& request, DmaStatus& status);
    void complete_at(Picoseconds at, Rq& rq, const ReceiveBuffers& buffers, const Cqe& cqe);
    void fail(Rq& rq, ReceiveBuffers& buffers, Picoseconds at, const WqeStatus& status);
    void count_out_of_buffer(const Rq& rq);

    EngineState& state_;
    CompletionQueues& completions_;
    ErrorFlush& flush_;
    ReceiveRings& rings_;
    ReceiveCompletions& under_way_;
    std::vector<HostRange> ranges_;  // reused
};

}  // namespace cxsim::model
