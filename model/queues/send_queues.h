// SPDX-License-Identifier: Apache-2.0
// Send queues of SQs and QPs: from the doorbell to the completion. WQEs are fetched, executed and
// completed in order, one under way per queue; completions may still be on their way when the next
// WQE runs.
#pragma once

#include "model/queues/completion_queues.h"
#include "model/queues/engine_state.h"
#include "model/queues/error_flush.h"
#include "model/queues/send_wqe.h"
#include "model/queues/umr.h"
#include "model/queues/wqe.h"

#include <cstdint>
#include <span>

namespace cxsim::model {

class SendQueues {
  public:
    SendQueues(EngineState& state, EventQueues& events, CompletionQueues& completions,
               ErrorFlush& flush)
        : state_(state),
          events_(events),
          completions_(completions),
          flush_(flush),
          umr_(state),
          send_(state) {}

    /// A send doorbell: the first 8 bytes of the last WQE posted, which arrived in BlueFlame
    /// buffer `buffer` of UAR `page`.
    void doorbell(Picoseconds at, std::uint32_t page, std::uint8_t buffer,
                  std::span<const std::byte, 8> control);

    /// Goes on with WQEs that wait, if the queue may run.
    void resume(Sq& sq, Picoseconds at);
    void resume(Qp& qp, Picoseconds at);

    /// What follows once a QP is in error or SQ error: flush, and the event of an SRQ's user.
    void entered_error(Qp& qp, Picoseconds at, bool by_software);
    /// Empties a work queue as RST does; what is under way for it comes to nothing.
    void clear(WorkQueue& wq);

  private:
    struct Queue;
    bool find(std::uint32_t number, Queue& queue) const;
    bool find(const EventArguments& arguments, Queue& queue);
    void kick(Queue& queue, Picoseconds at);
    void next(Queue& queue, Picoseconds at);
    void fetch(const EventArguments& arguments);
    void execute(const EventArguments& arguments);
    void complete(const EventArguments& arguments);
    bool take_blue_flame(Queue& queue);
    DmaResult read_up_to(Queue& queue, Picoseconds at, std::uint64_t bytes);
    static SendRequester requester(const Queue& queue);
    SendOutcome dispatch(Queue& queue, Picoseconds at, const WqeControl& control,
                         std::span<const std::byte> wqe);
    void pause(Queue& queue);
    void fail(Queue& queue, Picoseconds at, const WqeStatus& status);
    void catastrophe(Queue& queue, Picoseconds at);
    void enter_error(Queue& queue, Picoseconds at);

    EngineState& state_;
    EventQueues& events_;
    CompletionQueues& completions_;
    ErrorFlush& flush_;
    UmrExecutor umr_;
    SendExecutor send_;
};

}  // namespace cxsim::model
