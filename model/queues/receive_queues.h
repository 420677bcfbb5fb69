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
    /// WQEs behind those in WorkQueue::fetched, on their way or there. WorkQueue::active says
    /// that there are some.
    struct Ahead {
        std::uint64_t tag = 0;  ///< of the work queue
        Picoseconds ready;
        std::vector<std::byte> wqes;
    };

    bool open(const Rq& rq, Buffers& buffers) const;
    bool next_wqe(Buffers& buffers, Picoseconds& at);
    bool learn_producer(WorkQueue& wq, Picoseconds& at);
    bool fetch(Buffers& buffers, std::uint16_t index, Picoseconds& at,
               std::vector<std::byte>& into);
    void read_ahead(Buffers& buffers, Picoseconds at);
    bool take_ahead(WorkQueue& wq, Picoseconds& at);
    Ahead& new_ahead(std::uint64_t tag);
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
    std::vector<Ahead> ahead_;          // one for each queue that has some
};

}  // namespace cxsim::model
