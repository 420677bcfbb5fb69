// SPDX-License-Identifier: Apache-2.0
// Send queues of SQs and QPs: from the doorbell to the completion. WQEs are fetched, executed and
// completed in order, one under way per queue; completions may still be on their way when the next
// WQE runs. Where there is a transport, QPs hand their WQEs over to it and complete them as it
// reports them (transport_sends.cpp).
#pragma once

#include "model/queues/completion_queues.h"
#include "model/queues/engine_state.h"
#include "model/queues/error_flush.h"
#include "model/queues/qp_receives.h"
#include "model/queues/qp_records.h"
#include "model/queues/send_wqe.h"
#include "model/queues/transport_port.h"
#include "model/queues/transport_wqe.h"
#include "model/queues/umr.h"
#include "model/queues/work_ring.h"
#include "model/queues/wqe.h"

#include <cstdint>
#include <span>
#include <vector>

namespace cxsim::model {

class SendQueues : public CompletionLoss {
  public:
    SendQueues(EngineState& state, EventQueues& events, CompletionQueues& completions,
               ErrorFlush& flush, QpReceives& receives)
        : state_(state),
          events_(events),
          completions_(completions),
          flush_(flush),
          receives_(receives),
          umr_(state),
          send_(state),
          transport_wqe_(state),
          posted_(state) {}

    /// A send doorbell: the first 8 bytes of the last WQE posted, which arrived in BlueFlame
    /// buffer `buffer` of UAR `page`.
    void doorbell(Picoseconds at, std::uint32_t page, std::uint8_t buffer,
                  std::span<const std::byte, 8> control);

    /// Goes on with WQEs that wait, if the queue may run.
    void resume(Sq& sq, Picoseconds at);
    void resume(Qp& qp, Picoseconds at);

    // What the transport reports: see QpQueues.
    void done(Qp& qp, Picoseconds at, const SendDone& done);
    void failed(Qp& qp, Picoseconds at, std::uint16_t index, const WqeStatus& status);
    void room(Qp& qp, Picoseconds at);

    /// An error that is not of the send side moves the QP to `state`.
    void move_to_error(Qp& qp, Picoseconds at, QpState state);
    void receive_completion_lost(Qp& qp, Picoseconds at) override;
    /// An event that names an SQ or QP.
    void post_event(ObjectId id, Picoseconds at, prm::EventType type);
    /// The QP takes no more sends until what it has posted is reported; then it is drained, and
    /// an event says so.
    void drain(Qp& qp, Picoseconds at);
    /// The QP is reset or goes: what it posted is forgotten.
    void forget(Qp& qp);

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
    void step(Queue& queue, const WqeControl& control);
    void complete_at(Queue& queue, Picoseconds at, const SendDone& done);
    void enter_error(Queue& queue, Picoseconds at);

    // Transport
    struct Posted {
        std::uint64_t tag = 0;
        WorkRing<std::uint16_t> indices;  ///< WQEs not reported, oldest first
        bool blocked = false;             ///< the transport takes no more until it says so
        bool failing = false;             ///< the WQE at the consumer index is bad; its turn comes
        WqeStatus failure;
        Picoseconds failed_at;
        EventHandle drained;
        /// So many bytes at the end of WorkQueue::fetched were read ahead and are there at `ready`.
        std::uint64_t ahead = 0;
        Picoseconds ready;
        void clear() {
            indices.clear();
            blocked = failing = false;
            ahead = 0;
        }
    };
    bool over_transport(const Queue& queue) const;
    void read_ahead(Queue& queue, Picoseconds at);
    Picoseconds fetched_at(Queue& queue, std::uint64_t bytes, Picoseconds at);
    bool waits_for_transport(const Queue& queue) const;
    void execute_over_transport(Queue& queue, Picoseconds at, const WqeControl& control);
    bool execute_local(Queue& queue, Picoseconds at, const WqeControl& control,
                       SendOutcome& outcome);
    void fail_in_turn(Queue& queue, Picoseconds at, const WqeStatus& status);
    void abandon(Qp& qp);
    void drained(const EventArguments& arguments);

    EngineState& state_;
    EventQueues& events_;
    CompletionQueues& completions_;
    ErrorFlush& flush_;
    QpReceives& receives_;
    UmrExecutor umr_;
    SendExecutor send_;
    TransportWqe transport_wqe_;
    QpRecords<Posted, &Qp::sq> posted_;
    std::vector<std::byte> wqe_;  // reused
};

}  // namespace cxsim::model
