// SPDX-License-Identifier: Apache-2.0
// Completions of receive queues on their way to the CQ. Those of one queue keep their order: each
// goes out behind the one before.
#pragma once

#include "model/queues/completion_queues.h"
#include "model/queues/engine_state.h"
#include "model/queues/wqe.h"

#include <cstdint>
#include <vector>

namespace cxsim::model {

/// Hears of QPs whose receive CQ took a completion no more.
class CompletionLoss {
  public:
    virtual ~CompletionLoss() = default;
    virtual void receive_completion_lost(Qp& qp, Picoseconds at) = 0;
};

class ReceiveCompletions {
  public:
    ReceiveCompletions(EngineState& state, CompletionQueues& completions)
        : state_(state), completions_(completions) {}

    void set_loss(CompletionLoss* loss) { loss_ = loss; }

    /// The work of `owner` (an RQ or QP, whose receive side is `wq`) is done at `at`; its CQE
    /// follows after the completion's time.
    void add(ObjectId owner, WorkQueue& wq, std::uint32_t cqn, Picoseconds at, const Cqe& cqe,
             bool solicited);
    /// See CompletionQueues::timestamp.
    std::uint64_t timestamp(Picoseconds at, std::uint32_t ts_format) const {
        return completions_.timestamp(at, ts_format);
    }
    /// Takes back what is under way for a queue.
    void forget(const WorkQueue& wq);

  private:
    struct Pending {
        Cqe cqe;
        std::uint64_t tag = 0;  ///< of the work queue; 0: the slot is free
        EventHandle event;
        std::uint32_t cqn = 0;
        bool solicited = false;
    };
    void completed(const EventArguments& arguments);
    WorkQueue* find(std::uint64_t owner, Qp*& qp) const;

    EngineState& state_;
    CompletionQueues& completions_;
    CompletionLoss* loss_ = nullptr;
    std::vector<Pending> pending_;     // by slot
    std::vector<std::uint32_t> free_;  // slots of pending_
};

}  // namespace cxsim::model
