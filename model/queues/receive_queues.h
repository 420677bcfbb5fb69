// SPDX-License-Identifier: Apache-2.0
// Receive queues at work: a packet that steering gave to an RQ goes into the next buffer that the
// driver posted, and a completion says so. Rings of any kind: cyclic or linked list, one packet per
// WQE or many strides of one.
#pragma once

#include "model/queues/completion_queues.h"
#include "model/queues/engine_state.h"
#include "model/queues/error_flush.h"
#include "model/queues/queue_ports.h"
#include "model/queues/wqe.h"

#include <cstdint>
#include <span>
#include <vector>

namespace cxsim::model {

class ReceiveQueues {
  public:
    ReceiveQueues(EngineState& state, CompletionQueues& completions, ErrorFlush& flush)
        : state_(state), completions_(completions), flush_(flush) {}

    /// See QueueEngines::receive.
    ReceiveOutcome receive(Rq& rq, Picoseconds at, const ReceiveRequest& request);

    /// See QueueEngines::largest_packet.
    std::uint32_t largest_packet(const Rq& rq) const;

  private:
    struct Buffers;
    struct Pending {
        Cqe cqe;
        std::uint32_t cqn = 0;
    };

    bool open(const Rq& rq, Buffers& buffers) const;
    bool next_wqe(Buffers& buffers, Picoseconds& at);
    DmaResult fetch(Buffers& buffers, Picoseconds at);
    void retire(Buffers& buffers);
    WqeStatus scatter_list(Buffers& buffers, std::uint64_t skip, std::uint64_t bytes);
    bool skip_rest(Rq& rq, Buffers& buffers, Picoseconds at);
    Picoseconds write(Picoseconds at, const ReceiveRequest& request, DmaStatus& status);
    void complete_at(Picoseconds at, Rq& rq, const Buffers& buffers, const Cqe& cqe);
    void fail(Rq& rq, Buffers& buffers, Picoseconds at, const WqeStatus& status);
    void count_out_of_buffer(const Rq& rq);
    void completed(const EventArguments& arguments);

    EngineState& state_;
    CompletionQueues& completions_;
    ErrorFlush& flush_;
    std::vector<HostRange> ranges_;     // reused
    std::vector<Pending> pending_;      // by slot
    std::vector<std::uint32_t> free_;   // slots of pending_
};

}  // namespace cxsim::model
