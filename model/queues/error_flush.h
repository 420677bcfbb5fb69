// SPDX-License-Identifier: Apache-2.0
// Queues in error: what is posted, up to the producer index in the doorbell record, is completed
// with a flush error, one CQE per WQE in order. The record is read again and again while the queue
// stays in error, since receive queues ring no doorbell.
#pragma once

#include "model/queues/completion_queues.h"
#include "model/queues/engine_state.h"

#include <cstdint>

namespace cxsim::model {

class ErrorFlush {
  public:
    ErrorFlush(EngineState& state, CompletionQueues& completions)
        : state_(state), completions_(completions) {}

    /// The queue went into error: the first look at the doorbell record is at `at`.
    void begin(Sq& sq, Picoseconds at, bool by_software);
    void begin(Rq& rq, Picoseconds at, bool by_software);
    void begin(Qp& qp, Picoseconds at, bool by_software);
    /// A doorbell of a queue in error: look at once.
    void hurry(Sq& sq, Picoseconds at);
    void hurry(Qp& qp, Picoseconds at);
    void cancel(ErrorScan& scan);

  private:
    struct Direction;
    void schedule(ErrorScan& scan, ObjectId id, WorkQueue& tagged, Picoseconds at);
    void scan(const EventArguments& arguments);
    void scan_object(ErrorScan& scan, ObjectId id, WorkQueue& tagged, Direction* send,
                     Direction* receive);
    bool flush_send(Direction& direction, ErrorScan& scan, std::uint16_t producer, bool& more);
    bool flush_receive(Direction& direction, ErrorScan& scan, std::uint16_t producer);
    void count(const Direction& direction, const WqeStatus& status, bool responder);
    std::uint16_t next_linked(const WorkQueue& wq);

    EngineState& state_;
    CompletionQueues& completions_;
};

}  // namespace cxsim::model
