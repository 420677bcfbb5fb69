// SPDX-License-Identifier: Apache-2.0
// Send queues of QPs over a transport. The consumer index moves on as WQEs are handed over; what is
// not reported is still owed: when a WQE fails or the QP is moved to error the index goes back to
// it, so that the flush finds it and all that follows in the ring.
#include "model/base/assert.h"
#include "model/queues/qp_counters.h"
#include "model/queues/send_queue.h"
#include "model/queues/service_type.h"

#include <algorithm>

namespace cxsim::model {
namespace {

// What a QP reads ahead of the WQEs that it has: 16 of the usual size, more than it works off
// during one read.
constexpr std::uint64_t kReadAheadBytes = 1024;

// wqe_ctrl_seg.fm has three bits, of which the driver knows these values.
constexpr std::uint32_t kLastFence = static_cast<std::uint32_t>(FenceMode::small_and_fence);

}  // namespace

bool SendQueues::over_transport(const Queue& queue) const {
    return state_.transport != nullptr && queue.qp != nullptr &&
           service::uses_transport(queue.service_type());
}

// Whether the queue waits for the transport: for room, or for the turn of a bad WQE.
bool SendQueues::waits_for_transport(const Queue& queue) const {
    if (queue.qp == nullptr) return false;
    const Posted* posted = posted_.find(*queue.qp);
    return posted != nullptr && (posted->blocked || posted->failing);
}

// What needs no peer. False: the operation is none of these.
bool SendQueues::execute_local(Queue& queue, Picoseconds at, const WqeControl& control,
                               SendOutcome& outcome) {
    switch (static_cast<WqeOpcode>(control.opcode)) {
        case WqeOpcode::nop:
        case WqeOpcode::umr:
            outcome = dispatch(queue, at, control, wqe_);
            return true;
        case WqeOpcode::local_invalidate:
            if (service::is_datagram(queue.service_type())) return false;
            outcome = {at, umr_.invalidate(control, {queue.id.number, queue.pd()}), at};
            ++(outcome.status.ok() ? state_.counters.umrs : state_.counters.umr_refused);
            return true;
        default:
            return false;
    }
}

// QPs read on in their ring while they work on what they have, one read at a time, so that only the
// first WQEs of a doorbell wait for PCIe. What was posted does not change any more. A failure is
// met again, and answered, when the WQEs are needed.
void SendQueues::read_ahead(Queue& queue, Picoseconds at) {
    WorkQueue& wq = *queue.wq;
    Posted& posted = posted_.of(*queue.qp);
    const std::uint64_t published = std::uint64_t{queue.outstanding()} * kBasicBlockBytes;
    const std::uint64_t have = wq.fetched.size();
    if (posted.ahead != 0 || have >= kReadAheadBytes || have >= published) return;
    const DmaResult read = read_up_to(queue, at, std::min(published, have + kReadAheadBytes));
    if (!read.ok()) {
        wq.fetched.resize(have);
        return;
    }
    posted.ahead = wq.fetched.size() - have;
    posted.ready = read.finish;
}

// When the first `bytes` of what was fetched are there.
Picoseconds SendQueues::fetched_at(Queue& queue, std::uint64_t bytes, Picoseconds at) {
    Posted* posted = queue.qp != nullptr ? posted_.find(*queue.qp) : nullptr;
    if (posted == nullptr || posted->ahead == 0) return at;
    if (posted->ready > at && bytes <= queue.wq->fetched.size() - posted->ahead) return at;
    posted->ahead = 0;
    return std::max(at, posted->ready);
}

void SendQueues::execute_over_transport(Queue& queue, Picoseconds at, const WqeControl& control) {
    WorkQueue& wq = *queue.wq;
    // The transport may answer during the call, which may change what was fetched.
    wqe_.assign(wq.fetched.begin(),
                wq.fetched.begin() + static_cast<std::ptrdiff_t>(control.bytes()));
    QpSend send{*queue.qp, control};
    send.wqe = wqe_;
    SendOutcome outcome{at, wqe_status::kSuccess, at};
    const std::uint32_t fence =
        prm::ConstView<prm::wqe_ctrl_seg>(wqe_).get<prm::wqe_ctrl_seg::fm>();
    if (fence > kLastFence) {
        outcome.status = wqe_status::kBadWqe;
    } else if (execute_local(queue, at, control, outcome)) {
        send.local = true;
        send.local_finish = outcome.finish;
    } else {
        outcome.status = transport_wqe_.parse(wqe_, send);
    }
    if (!outcome.status.ok()) {
        fail_in_turn(queue, outcome.finish, outcome.status);
        return;
    }
    send.fence = static_cast<FenceMode>(fence);
    Posted& posted = posted_.of(*queue.qp);
    posted.indices.push(control.index);
    step(queue, control);
    ++state_.counters.posted_to_transport;
    const std::uint64_t life = wq.tag;
    const Picoseconds room = state_.transport->post(at, send);
    if (wq.tag != life || !wq.active) return;  // it failed at once
    if (room == Picoseconds::max()) {
        posted.blocked = true;
        wq.active = false;
        wq.event = {};
        return;
    }
    read_ahead(queue, at);
    // A registration must be in force for what follows it.
    next(queue, std::max(room, send.local ? outcome.finish : at));
}

// A WQE that fails here is reported behind all that were posted before it.
void SendQueues::fail_in_turn(Queue& queue, Picoseconds at, const WqeStatus& status) {
    Posted* posted = queue.qp != nullptr ? posted_.find(*queue.qp) : nullptr;
    if (posted == nullptr || posted->indices.empty()) {
        fail(queue, at, status);
        return;
    }
    pause(queue);
    posted->failing = true;
    posted->failure = status;
    posted->failed_at = at;
}

void SendQueues::done(Qp& qp, Picoseconds at, const SendDone& done) {
    Queue queue;
    Posted* posted = posted_.find(qp);
    if (posted == nullptr || posted->indices.empty() || !find(qp.id.number, queue)) {
        ++state_.counters.stale_reports;
        return;
    }
    CX_ASSERT(posted->indices.front() == done.wqe_index, "QP {}: WQE {} reported, {} is the oldest",
              qp.id.number, done.wqe_index, posted->indices.front());
    posted->indices.pop();
    at = state_.not_before_now(at);
    if (done.signaled) complete_at(queue, at, done);
    if (!posted->indices.empty()) return;
    if (posted->failing) {
        posted->failing = false;
        fail(queue, std::max(at, posted->failed_at), posted->failure);
    } else if (qp.state == QpState::sq_draining) {
        drain(qp, at);
    }
}

void SendQueues::failed(Qp& qp, Picoseconds at, std::uint16_t index, const WqeStatus& status) {
    Queue queue;
    Posted* posted = posted_.find(qp);
    if (posted == nullptr || posted->indices.empty() || !find(qp.id.number, queue)) {
        ++state_.counters.stale_reports;
        return;
    }
    CX_ASSERT(posted->indices.front() == index, "QP {}: WQE {} failed, {} is the oldest",
              qp.id.number, index, posted->indices.front());
    CX_ASSERT(!status.ok(), "QP {}: WQE {} failed with success", qp.id.number, index);
    ++state_.counters.transport_failures;
    abandon(qp);
    fail(queue, state_.not_before_now(at), status);
}

void SendQueues::room(Qp& qp, Picoseconds at) {
    Queue queue;
    Posted* posted = posted_.find(qp);
    if (posted == nullptr || !posted->blocked || !find(qp.id.number, queue)) return;
    posted->blocked = false;
    if (posted->failing || !queue.running() || queue.wq->active || queue.outstanding() == 0) return;
    queue.wq->active = true;
    next(queue, state_.not_before_now(at));
}

// The consumer index goes back to the oldest WQE that was not reported.
void SendQueues::abandon(Qp& qp) {
    Posted* posted = posted_.find(qp);
    if (posted == nullptr) return;
    Queue queue;
    if (!find(qp.id.number, queue)) return;
    state_.calendar().cancel(qp.sq.event);
    pause(queue);
    if (!posted->indices.empty()) qp.sq.consumer = posted->indices.front();
    state_.calendar().cancel(posted->drained);
    posted->clear();
}

void SendQueues::forget(Qp& qp) {
    Posted* posted = posted_.find(qp);
    if (posted == nullptr) return;
    state_.calendar().cancel(posted->drained);
    posted->clear();
}

void SendQueues::drain(Qp& qp, Picoseconds at) {
    Posted& posted = posted_.of(qp);
    if (!posted.indices.empty()) return;
    state_.calendar().cancel(posted.drained);
    posted.drained = state_.calendar().schedule<&SendQueues::drained>(
        state_.not_before_now(std::max(at, qp.sq.completed_until)), this,
        {static_cast<std::uint64_t>(ObjectKind::qp) << 32 | qp.id.number, state_.tag(qp.sq.tag)});
}

void SendQueues::drained(const EventArguments& arguments) {
    Queue queue;
    if (!find(arguments, queue) || queue.qp->state != QpState::sq_draining) return;
    queue.qp->state = QpState::sq_drained;
    queue.qp->view().set<prm::qpc::state>(QpState::sq_drained);
    if (state_.transport != nullptr) {
        state_.transport->state_changed(*queue.qp, QpState::sq_draining);
    }
    post_event(queue.id, state_.calendar().now(), prm::EventType::SQ_DRAINED);
}

void SendQueues::receive_completion_lost(Qp& qp, Picoseconds at) {
    if (qp.state == QpState::error || qp.state == QpState::reset) return;
    post_event(qp.id, at, prm::EventType::WQ_CATAS_ERROR);
    move_to_error(qp, at, QpState::error);
}

}  // namespace cxsim::model
