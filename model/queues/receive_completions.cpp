// SPDX-License-Identifier: Apache-2.0
#include "model/queues/receive_completions.h"

#include <algorithm>

namespace cxsim::model {
namespace {

constexpr std::uint32_t kOpcodeResponderError = 14;

}  // namespace

void ReceiveCompletions::add(ObjectId owner, WorkQueue& wq, std::uint32_t cqn, Picoseconds at,
                             const Cqe& cqe, bool solicited) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
        slot = static_cast<std::uint32_t>(pending_.size());
        pending_.emplace_back();
    } else {
        slot = free_.back();
        free_.pop_back();
    }
    wq.completed_until = std::max(wq.completed_until, at + state_.context.timing.completion_write);
    Pending& pending = pending_[slot];
    pending.cqe = cqe;
    pending.tag = state_.tag(wq.tag);
    pending.cqn = cqn;
    pending.solicited = solicited;
    pending.event = state_.calendar().schedule<&ReceiveCompletions::completed>(
        state_.not_before_now(wq.completed_until), this,
        {static_cast<std::uint64_t>(owner.kind) << 32 | owner.number, pending.tag, slot});
}

void ReceiveCompletions::forget(const WorkQueue& wq) {
    if (wq.tag == 0) return;
    for (std::uint32_t slot = 0; slot < pending_.size(); ++slot) {
        Pending& pending = pending_[slot];
        if (pending.tag != wq.tag) continue;
        state_.calendar().cancel(pending.event);
        pending.tag = 0;
        free_.push_back(slot);
    }
}

WorkQueue* ReceiveCompletions::find(std::uint64_t owner, Qp*& qp) const {
    const Resources& resources = state_.context.resources;
    const auto number = static_cast<std::uint32_t>(owner);
    if (static_cast<ObjectKind>(owner >> 32) == ObjectKind::qp) {
        qp = resources.qps.find(number);
        return qp != nullptr ? &qp->rq : nullptr;
    }
    Rq* rq = resources.rqs.find(number);
    return rq != nullptr ? &rq->wq : nullptr;
}

void ReceiveCompletions::completed(const EventArguments& arguments) {
    const auto slot = static_cast<std::uint32_t>(arguments.c);
    Pending pending = pending_[slot];
    pending_[slot].tag = 0;
    free_.push_back(slot);
    Qp* qp = nullptr;
    const WorkQueue* wq = find(arguments.a, qp);
    if (wq == nullptr || wq->tag != arguments.b) {
        ++state_.counters.stale_events;
        return;
    }
    const Picoseconds now = state_.calendar().now();
    const bool is_error =
        prm::ConstView<prm::cqe64>(pending.cqe).get<prm::cqe64::opcode>() == kOpcodeResponderError;
    if (completions_.push(pending.cqn, now, pending.cqe, pending.solicited)) {
        if (is_error) ++state_.counters.error_cqes;
        return;
    }
    const Cq* cq = state_.context.resources.cqs.find(pending.cqn);
    if ((cq == nullptr || cq->error) && qp != nullptr && loss_ != nullptr) {
        loss_->receive_completion_lost(*qp, now);
    }
}

}  // namespace cxsim::model
