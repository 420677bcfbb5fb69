// SPDX-License-Identifier: Apache-2.0
#include "model/queues/qp_port.h"

#include "model/queues/qp_counters.h"
#include "model/queues/umr.h"

namespace cxsim::model {

void QpPort::send_done(Qp& qp, Picoseconds at, const SendDone& done) {
    sends_.done(qp, at, done);
}

void QpPort::send_failed(Qp& qp, Picoseconds at, std::uint16_t wqe_index, const WqeStatus& status) {
    sends_.failed(qp, at, wqe_index, status);
}

void QpPort::send_room(Qp& qp, Picoseconds at) {
    sends_.room(qp, at);
}

ReceiveVerdict QpPort::take_receive(Qp& qp, Picoseconds& at, PostedReceive& into) {
    WqeStatus status;
    const ReceiveVerdict verdict = receives_.take(qp, at, into, status);
    if (verdict == ReceiveVerdict::failed) receive_failed(qp, at, into, status);
    return verdict;
}

void QpPort::receive_done(Qp& qp, Picoseconds at, const ReceiveDone& done) {
    receives_.done(qp, at, done);
}

void QpPort::receive_failed(Qp& qp, Picoseconds at, const PostedReceive& posted,
                            const WqeStatus& status) {
    if (!receives_.fail(qp, at, posted.wqe_index, posted.shared_number, status)) return;
    sends_.move_to_error(qp, state_.not_before_now(at), QpState::error);
}

void QpPort::responder_error(Qp& qp, Picoseconds at, prm::EventType type) {
    if (qp.state == QpState::error || qp.state == QpState::reset) {
        ++state_.counters.stale_reports;
        return;
    }
    at = state_.not_before_now(at);
    sends_.post_event(qp.id, at, type);
    sends_.move_to_error(qp, at, QpState::error);
}

void QpPort::event(Qp& qp, Picoseconds at, prm::EventType type) {
    sends_.post_event(qp.id, state_.not_before_now(at), type);
}

TranslationError QpPort::translate(const TranslationRequest& request, std::vector<HostRange>& out) {
    return state_.translator.translate(request, out);
}

bool QpPort::invalidate(Qp& qp, std::uint32_t key) {
    if (!invalidate_remotely(state_.translator, key, qp.view().get<prm::qpc::pd>(),
                             qp.id.number)) {
        return false;
    }
    state_.key_changed(key);
    return true;
}

void QpPort::count(Qp& qp, std::string_view name, std::uint64_t n) {
    count_for(state_.context.resources, qp, name, n);
}

}  // namespace cxsim::model
