// SPDX-License-Identifier: Apache-2.0
#include "model/queues/qp_receives.h"

#include "model/base/copy_bytes.h"
#include "model/queues/qp_counters.h"
#include "model/queues/wqe.h"

#include <algorithm>
#include <array>

namespace cxsim::model {
namespace {

enum ReceiveType : std::uint32_t { kOwnRing = 0, kShared = 1 };  // qpc.rq_type
constexpr std::uint32_t kLinkedList = 0;                         // wq.wq_type
constexpr std::uint32_t kVersion0Index = 0xffffff;

bool receives(QpState state) {
    return state == QpState::rtr || state == QpState::rts || state == QpState::sq_error ||
           state == QpState::sq_drained || state == QpState::sq_draining;
}

// CQEs of version 1 name the QP by its user's index, those of version 0 the shared queue.
std::uint32_t user_of(const Qp& qp, std::uint32_t shared_number) {
    const std::uint32_t index = qp.view().get<prm::qpc::user_index>();
    return index == kVersion0Index ? shared_number : index;
}

}  // namespace

// Where a QP's receive WQEs come from; made anew for each.
struct QpReceives::Source {
    ReceiveBuffers buffers;
    std::uint32_t shared_number = 0;
    Rmp* rmp = nullptr;
    Srq* srq = nullptr;
    XrcSrq* xrc_srq = nullptr;

    std::uint32_t limit() const {
        if (rmp != nullptr) return rmp->view().get<prm::rmpc::wq, prm::wq::lwm>();
        if (srq != nullptr) return srq->limit_watermark;
        return xrc_srq != nullptr ? xrc_srq->limit_watermark : 0;
    }
    void disarm() {
        if (rmp != nullptr) rmp->view().set<prm::rmpc::wq, prm::wq::lwm>(0U);
        if (srq != nullptr) {
            srq->limit_watermark = 0;
            srq->view().set<prm::srqc::lwm>(0U);
        }
        if (xrc_srq != nullptr) {
            xrc_srq->limit_watermark = 0;
            xrc_srq->view().set<prm::xrc_srqc::lwm>(0U);
        }
    }
};

bool QpReceives::open(Qp& qp, Source& source) const {
    const auto context = qp.view();
    ReceiveBuffers& buffers = source.buffers;
    buffers.reserved_lkey = context.get<prm::qpc::rlky>() != 0;
    const std::uint32_t type = context.get<prm::qpc::rq_type>();
    if (type == kOwnRing) {
        buffers.wq = &qp.rq;
        buffers.pd = context.get<prm::qpc::pd>();
        return !qp.rq.ring.pages().empty();
    }
    return type == kShared && open_shared(context.get<prm::qpc::srqn_rmpn_xrqn>(), source);
}

bool QpReceives::open_shared(std::uint32_t number, Source& source) const {
    const Resources& resources = state_.context.resources;
    ReceiveBuffers& buffers = source.buffers;
    source.shared_number = number;
    buffers.linked = true;
    if ((source.rmp = resources.rmps.find(source.shared_number)) != nullptr) {
        const auto wq = source.rmp->view().nested<prm::rmpc::wq>();
        buffers.wq = &source.rmp->wq;
        buffers.pd = wq.get<prm::wq::pd>();
        buffers.linked = wq.get<prm::wq::wq_type>() == kLinkedList;
        return source.rmp->state == QueueState::ready;
    }
    if ((source.srq = resources.srqs.find(source.shared_number)) != nullptr) {
        const auto srqc = source.srq->view();
        buffers.wq = &source.srq->wq;
        buffers.pd = srqc.get<prm::srqc::pd>();
        buffers.reserved_lkey = buffers.reserved_lkey || srqc.get<prm::srqc::rlky>() != 0;
        return true;
    }
    if ((source.xrc_srq = resources.xrc_srqs.find(source.shared_number)) != nullptr) {
        const auto srqc = source.xrc_srq->view();
        buffers.wq = &source.xrc_srq->wq;
        buffers.pd = srqc.get<prm::xrc_srqc::pd>();
        buffers.reserved_lkey = buffers.reserved_lkey || srqc.get<prm::xrc_srqc::rlky>() != 0;
        return true;
    }
    return false;
}

ReceiveVerdict QpReceives::take(Qp& qp, Picoseconds& at, PostedReceive& into, WqeStatus& status) {
    if (!receives(qp.state)) return ReceiveVerdict::not_ready;
    at = state_.not_before_now(at);
    Source source;
    Picoseconds ready = at;
    if (!open(qp, source) || !rings_.next_wqe(source.buffers, ready)) {
        count_for(state_.context.resources, qp, "out_of_buffer");
        return ReceiveVerdict::no_buffer;
    }
    at = ready;
    into.wqe_index = source.buffers.index();
    into.shared_number = source.shared_number;
    status = scatter(qp, source.buffers, into);
    rings_.retire(source.buffers);
    records_.of(qp).taken.push({into.wqe_index, into.shared_number});
    ++state_.counters.receives_taken;
    check_limit(source, at);
    return status.ok() ? ReceiveVerdict::delivered : ReceiveVerdict::failed;
}

WqeStatus QpReceives::scatter(const Qp& qp, const ReceiveBuffers& buffers, PostedReceive& into) {
    into.bytes = 0;
    into.ranges.clear();
    TranslationRequest request;
    request.pd = buffers.pd;
    request.queue_number = qp.id.number;
    request.access = Access::local_write;
    request.reserved_lkey = buffers.reserved_lkey;
    for (auto segments = buffers.segments(); segments.size() >= prm::wqe_data_seg::kBytes;
         segments = segments.subspan(prm::wqe_data_seg::kBytes)) {
        const prm::ConstView<prm::wqe_data_seg> segment(segments);
        request.key = segment.get<prm::wqe_data_seg::lkey>();
        if (request.key == state_.context.keys.terminate_scatter_list) break;
        const std::uint64_t length = segment.get<prm::wqe_data_seg::byte_count>();
        if (into.bytes < into.needed && length != 0) {
            request.address = segment.get<prm::wqe_data_seg::addr>();
            request.bytes = std::min(length, into.needed - into.bytes);
            if (state_.translator.translate(request, into.ranges) != TranslationError::none) {
                return wqe_status::kBadReceiveScatter;
            }
        }
        into.bytes += length;
    }
    return wqe_status::kSuccess;
}

// An armed shared queue that fell below its limit says so once.
void QpReceives::check_limit(Source& source, Picoseconds at) {
    const std::uint32_t limit = source.limit();
    if (limit == 0) return;
    WorkQueue& wq = *source.buffers.wq;
    const auto left = [&] { return static_cast<std::uint16_t>(wq.producer - wq.consumer); };
    // What is known of the producer may be old.
    if (left() < limit) rings_.read_producer(wq, at);
    if (left() >= limit) return;
    source.disarm();
    ++state_.counters.receive_limits;
    std::array<std::byte, prm::qp_events::kBytes> data{};
    prm::View<prm::qp_events>(data).set<prm::qp_events::qpn_rqn_sqn>(source.shared_number);
    events_.post_event(at, prm::EventType::SRQ_RQ_LIMIT, 0, data);
}

void QpReceives::armed(ObjectId shared_queue, Picoseconds at) {
    Source source;
    if (open_shared(shared_queue.number, source)) check_limit(source, state_.not_before_now(at));
}

bool QpReceives::take_back(Qp& qp, std::uint16_t index, std::uint32_t shared_number) {
    Record* record = records_.find(qp);
    if (record == nullptr) return false;
    for (std::size_t i = 0; i < record->taken.size(); ++i) {
        const Taken& taken = record->taken[i];
        if (taken.index != index || taken.shared_number != shared_number) continue;
        if (i == 0)
            record->taken.pop();
        else
            record->taken.remove(i);
        return true;
    }
    return false;
}

void QpReceives::done(Qp& qp, Picoseconds at, const ReceiveDone& done) {
    if (!take_back(qp, done.wqe_index, done.shared_number)) {
        ++state_.counters.stale_reports;
        return;
    }
    ++state_.counters.receives_completed;
    Cqe cqe{};
    copy_bytes(done.cqe, cqe.data());
    const prm::View<prm::cqe64> view(cqe);
    view.set<prm::cqe64::srqn>(user_of(qp, done.shared_number));
    view.set<prm::cqe64::wqe_counter>(done.wqe_index);
    view.set<prm::cqe64::qpn>(qp.id.number);
    view.set<prm::cqe64::se>(done.solicited ? 1U : 0U);
    at = state_.not_before_now(at);
    view.set<prm::cqe64::timestamp>(under_way_.timestamp(at, qp.view().get<prm::qpc::ts_format>()));
    under_way_.add(qp.id, qp.rq, qp.receive_cqn, at, cqe, done.solicited);
}

void QpReceives::push_error(Qp& qp, Picoseconds at, const Taken& taken, const WqeStatus& status) {
    const CqeOrigin origin{qp.id.number, taken.index, 0, user_of(qp, taken.shared_number)};
    const Cqe cqe = make_error_cqe(origin, status, true);
    count_error_cqe(state_.context.resources, qp, status, true);
    under_way_.add(qp.id, qp.rq, qp.receive_cqn, state_.not_before_now(at), cqe, true);
}

bool QpReceives::fail(Qp& qp, Picoseconds at, std::uint16_t index, std::uint32_t shared_number,
                      const WqeStatus& status) {
    if (!take_back(qp, index, shared_number)) {
        ++state_.counters.stale_reports;
        return false;
    }
    push_error(qp, at, {index, shared_number}, status);
    return true;
}

Picoseconds QpReceives::abandon(Qp& qp, Picoseconds at, bool by_software) {
    if (Record* record = records_.find(qp); record != nullptr) {
        bool rewound = false;
        for (std::size_t i = 0; i < record->taken.size(); ++i) {
            const Taken& taken = record->taken[i];
            if (taken.shared_number != 0) {
                push_error(qp, at, taken,
                           by_software ? wqe_status::kFlushFirstReceive : wqe_status::kFlush);
                ++state_.counters.flushed_receive_wqes;
                by_software = false;
            } else if (!rewound) {
                qp.rq.consumer = taken.index;
                rewound = true;
            }
        }
        record->taken.clear();
    }
    return std::max(at, qp.rq.completed_until);
}

void QpReceives::forget(Qp& qp) {
    under_way_.forget(qp.rq);
    if (Record* record = records_.find(qp); record != nullptr) record->clear();
}

}  // namespace cxsim::model
