// SPDX-License-Identifier: Apache-2.0
#include "model/queues/queue_engines.h"

#include "model/base/assert.h"
#include "model/queues/completion_queues.h"
#include "model/queues/engine_state.h"
#include "model/queues/error_flush.h"
#include "model/queues/event_queues.h"
#include "model/queues/qp_port.h"
#include "model/queues/qp_receives.h"
#include "model/queues/receive_completions.h"
#include "model/queues/receive_queues.h"
#include "model/queues/receive_rings.h"
#include "model/queues/send_queues.h"
#include "model/queues/uar_pages.h"

#include <algorithm>

namespace cxsim::model {

struct QueueEngines::Impl {
    explicit Impl(const QueueContext& context)
        : state(context),
          events(state),
          completions(state, events),
          flush(state, completions),
          rings(state),
          under_way(state, completions),
          qp_receives(state, events, rings, under_way),
          sends(state, events, completions, flush, qp_receives),
          receives(state, completions, flush, rings, under_way),
          qp_port(state, sends, qp_receives),
          uars(state, events, completions, sends) {
        under_way.set_loss(&sends);
    }

    EngineState state;
    EventQueues events;
    CompletionQueues completions;
    ErrorFlush flush;
    ReceiveRings rings;
    ReceiveCompletions under_way;
    QpReceives qp_receives;
    SendQueues sends;
    ReceiveQueues receives;
    QpPort qp_port;
    UarPages uars;

    /// Calls visit(caches, kind) if the card caches contexts of such objects.
    template <class Visit>
    void with_cache_of(ObjectKind kind, Visit visit) {
        if (state.context.caches == nullptr) return;
        switch (kind) {
            case ObjectKind::qp: visit(*state.context.caches, ContextKind::qp); break;
            case ObjectKind::sq: visit(*state.context.caches, ContextKind::sq); break;
            case ObjectKind::rq: visit(*state.context.caches, ContextKind::rq); break;
            case ObjectKind::cq: visit(*state.context.caches, ContextKind::cq); break;
            case ObjectKind::mkey: visit(*state.context.caches, ContextKind::mkey); break;
            default: break;
        }
    }
    void clear(WorkQueue& wq, ErrorScan& scan) {
        flush.cancel(scan);
        scan = {};
        sends.clear(wq);
    }
    void clear(Qp& qp) {
        sends.forget(qp);
        qp_receives.forget(qp);
        clear(qp.sq, qp.scan);
        sends.clear(qp.rq);
    }
};

QueueEngines::QueueEngines(const QueueContext& context) : impl_(std::make_unique<Impl>(context)) {}

QueueEngines::~QueueEngines() {
    reset();
}

void QueueEngines::set_packet_sink(PacketSink* sink) {
    impl_->state.sink = sink;
}

void QueueEngines::set_listener(QueueListener* listener) {
    impl_->state.listener = listener;
}

void QueueEngines::set_transport(Transport* transport) {
    impl_->state.transport = transport;
}

QpQueues& QueueEngines::qp_queues() {
    return impl_->qp_port;
}

void QueueEngines::uar_write(Picoseconds arrival, std::uint64_t page, std::uint32_t offset,
                             std::span<const std::byte> data) {
    impl_->uars.write(impl_->state.not_before_now(arrival), page, offset, data);
}

unsigned QueueEngines::doorbells_held() const {
    return impl_->uars.doorbells_held();
}

void QueueEngines::uar_read(std::uint64_t page, std::uint32_t offset,
                            std::span<std::byte> into) const {
    static_cast<void>(page);
    static_cast<void>(offset);
    std::ranges::fill(into, std::byte{0});
}

bool QueueEngines::post(Eq& eq, Picoseconds at, prm::EventType type, std::uint8_t subtype,
                        std::span<const std::byte> data) {
    return impl_->events.post(eq, at, type, subtype, data);
}

unsigned QueueEngines::post_event(Picoseconds at, prm::EventType type, std::uint8_t subtype,
                                  std::span<const std::byte> data) {
    return impl_->events.post_event(at, type, subtype, data);
}

bool QueueEngines::complete(Cq& cq, Picoseconds at, std::span<std::byte, 64> cqe, bool solicited) {
    return impl_->completions.push(cq, at, cqe, solicited);
}

void QueueEngines::set_moderation(Cq& cq, Picoseconds at, std::uint32_t count, Picoseconds period) {
    impl_->completions.set_moderation(cq, at, count, period);
}

bool QueueEngines::resize(Cq& cq, Picoseconds at, HostRing ring, std::uint32_t log_size,
                          std::uint32_t cqe_bytes) {
    return impl_->completions.resize(cq, at, std::move(ring), log_size, cqe_bytes);
}

ReceiveOutcome QueueEngines::receive(Rq& rq, Picoseconds at, const ReceiveRequest& request) {
    return impl_->receives.receive(rq, at, request);
}

std::uint32_t QueueEngines::largest_packet(const Rq& rq) const {
    return impl_->receives.largest_packet(rq);
}

void QueueEngines::started(Sq& sq) {
    CX_ASSERT(sq.state == QueueState::ready, "SQ {} started in another state", sq.id.number);
    impl_->clear(sq.wq, sq.scan);
}

void QueueEngines::stopped(Sq& sq) {
    if (sq.state == QueueState::error) {
        impl_->flush.begin(sq, impl_->state.calendar().now(), true);
    } else {
        impl_->clear(sq.wq, sq.scan);
    }
}

void QueueEngines::started(Rq& rq) {
    CX_ASSERT(rq.state == QueueState::ready, "RQ {} started in another state", rq.id.number);
    impl_->clear(rq.wq, rq.scan);
}

void QueueEngines::stopped(Rq& rq) {
    if (rq.state == QueueState::error) {
        impl_->flush.begin(rq, impl_->state.calendar().now(), true);
    } else {
        impl_->clear(rq.wq, rq.scan);
    }
}

void QueueEngines::qp_state_changed(Qp& qp, QpState old) {
    Impl& impl = *impl_;
    const Picoseconds now = impl.state.calendar().now();
    context_written(qp.id);
    if (impl.state.transport != nullptr) impl.state.transport->state_changed(qp, old);
    switch (qp.state) {
        case QpState::reset:
            impl.clear(qp);
            break;
        case QpState::sq_draining:
            impl.sends.drain(qp, now);
            break;
        case QpState::error:
            if (old != QpState::error) impl.sends.entered_error(qp, now, true);
            break;
        case QpState::rts:
            // Out of SQ error (SQERR2RTS) the scan ends; what it flushed is behind the consumer.
            if (old == QpState::sq_error) {
                impl.flush.cancel(qp.scan);
                qp.sq.failure = {};
            }
            impl.sends.resume(qp, now);
            break;
        default:
            break;
    }
}

void QueueEngines::limit_armed(ObjectId shared_queue) {
    impl_->qp_receives.armed(shared_queue, impl_->state.calendar().now());
}

void QueueEngines::bus_master_enabled() {
    Impl& impl = *impl_;
    const Picoseconds now = impl.state.calendar().now();
    impl.state.context.resources.sqs.for_each([&](Sq& sq) { impl.sends.resume(sq, now); });
    impl.state.context.resources.qps.for_each([&](Qp& qp) { impl.sends.resume(qp, now); });
}

void QueueEngines::context_written(ObjectId id) {
    impl_->with_cache_of(id.kind, [id](ContextCaches& caches, ContextKind kind) {
        caches.written(kind, id.number);
    });
}

void QueueEngines::destroyed(ObjectId id) {
    Impl& impl = *impl_;
    Resources& resources = impl.state.context.resources;
    impl.with_cache_of(id.kind, [id](ContextCaches& caches, ContextKind kind) {
        caches.invalidate(kind, id.number);
    });
    if (id.kind == ObjectKind::cq) {
        if (Cq* cq = resources.cqs.find(id.number)) impl.completions.forget(*cq);
    } else if (id.kind == ObjectKind::sq) {
        if (Sq* sq = resources.sqs.find(id.number)) impl.clear(sq->wq, sq->scan);
    } else if (id.kind == ObjectKind::rq) {
        if (Rq* rq = resources.rqs.find(id.number)) {
            impl.under_way.forget(rq->wq);
            impl.clear(rq->wq, rq->scan);
        }
    } else if (id.kind == ObjectKind::qp) {
        if (Qp* qp = resources.qps.find(id.number)) {
            if (impl.state.transport != nullptr) impl.state.transport->destroyed(*qp);
            impl.clear(*qp);
        }
    }
}

void QueueEngines::reset() {
    Resources& resources = impl_->state.context.resources;
    resources.cqs.for_each([this](const Cq& cq) { destroyed(cq.id); });
    resources.sqs.for_each([this](const Sq& sq) { destroyed(sq.id); });
    resources.rqs.for_each([this](const Rq& rq) { destroyed(rq.id); });
    resources.qps.for_each([this](const Qp& qp) { destroyed(qp.id); });
    if (impl_->state.context.caches != nullptr) impl_->state.context.caches->clear();
}

void QueueEngines::refresh(Eq& eq) const {
    impl_->events.refresh(eq);
}

void QueueEngines::refresh(Cq& cq) const {
    impl_->completions.refresh(cq);
}

void QueueEngines::refresh(Sq& sq) const {
    const auto view = sq.view();
    view.set<prm::sqc::wq, prm::wq::hw_counter>(sq.wq.consumer);
    view.set<prm::sqc::wq, prm::wq::sw_counter>(sq.wq.producer);
}

void QueueEngines::refresh(Rq& rq) const {
    const auto view = rq.view();
    view.set<prm::rqc::wq, prm::wq::hw_counter>(rq.wq.consumer);
    view.set<prm::rqc::wq, prm::wq::sw_counter>(rq.wq.producer);
}

void QueueEngines::refresh(Qp& qp) const {
    if (impl_->state.transport != nullptr) impl_->state.transport->refresh(qp);
    const auto view = qp.view();
    view.set<prm::qpc::state>(qp.state);
    view.set<prm::qpc::hw_sq_wqebb_counter>(qp.sq.consumer);
    view.set<prm::qpc::sw_sq_wqebb_counter>(qp.sq.producer);
    view.set<prm::qpc::hw_rq_counter>(qp.rq.consumer);
    view.set<prm::qpc::sw_rq_counter>(qp.rq.producer);
}

Translator& QueueEngines::translator() {
    return impl_->state.translator;
}

const QueueCounters& QueueEngines::counters() const {
    return impl_->state.counters;
}

}  // namespace cxsim::model
