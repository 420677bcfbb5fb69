// SPDX-License-Identifier: Apache-2.0
#include "model/queues/error_flush.h"

#include "model/base/endian.h"
#include "model/queues/qp_counters.h"
#include "model/queues/wqe.h"

#include <algorithm>
#include <array>

namespace cxsim::model {
namespace {

// Seen on ConnectX-5 and -6: flush CQEs follow the root cause after some 60 us, and a doorbell
// record written later releases its CQEs within 14 to 73 us. A queue that stays idle in error for
// long is looked at less often, which costs a late WQE up to kSlowScan.
constexpr Picoseconds kAfterRootCause = microseconds(60);
constexpr Picoseconds kScan = microseconds(50);
constexpr Picoseconds kSlowScan = milliseconds(1);
constexpr std::uint32_t kFastRounds = 200;

constexpr std::uint32_t kRqTypeRegular = 0;  // qpc.rq_type
constexpr std::uint32_t kWqLinkedList = 0;   // wq.wq_type
constexpr std::uint32_t kWqLinkedListStriding = 2;

std::uint64_t kind_and_number(ObjectId id) {
    return static_cast<std::uint64_t>(id.kind) << 32 | id.number;
}

// How many WQEs or blocks of a ring may be outstanding: a record that says more is garbage.
bool plausible(const WorkQueue& wq, std::uint16_t outstanding, std::uint64_t unit) {
    const std::uint64_t bytes = std::uint64_t{wq.entries()} << wq.log_stride;
    return outstanding <= bytes / unit;
}

// An SQ may do without flushes, not without the CQE of its bad WQE.
bool wanted(const Sq& sq) {
    return sq.view().get<prm::sqc::flush_in_error_en>() != 0 || !sq.wq.failure.ok();
}

}  // namespace

struct ErrorFlush::Direction {
    WorkQueue& wq;
    std::uint32_t cqn = 0;
    CqeOrigin origin;
    bool linked = false;
    bool striding = false;
    const Qp* qp = nullptr;
};

void ErrorFlush::count(const Direction& direction, const WqeStatus& status, bool responder) {
    if (direction.qp == nullptr) return;
    count_error_cqe(state_.context.resources, *direction.qp, status, responder);
}

void ErrorFlush::begin(Sq& sq, Picoseconds at, bool by_software) {
    cancel(sq.scan);
    sq.scan = {};
    if (!wanted(sq)) return;
    sq.scan.by_software = by_software;
    schedule(sq.scan, sq.id, sq.wq, std::max(at, sq.wq.completed_until));
}

void ErrorFlush::begin(Rq& rq, Picoseconds at, bool by_software) {
    cancel(rq.scan);
    rq.scan = {};
    const auto view = rq.view();
    // An RQ over an RMP has no WQEs of its own.
    if (view.get<prm::rqc::flush_in_error_en>() == 0 || view.get<prm::rqc::mem_rq_type>() != 0) {
        return;
    }
    rq.scan.by_software = by_software;
    schedule(rq.scan, rq.id, rq.wq, at);
}

void ErrorFlush::begin(Qp& qp, Picoseconds at, bool by_software) {
    cancel(qp.scan);
    const ErrorScan before = qp.scan;
    qp.scan = {};
    qp.scan.by_software = by_software;
    // From SQ error to error the send side goes on where it was.
    qp.scan.send_flush_begun = before.send_flush_begun;
    schedule(qp.scan, qp.id, qp.sq, std::max({at, qp.sq.completed_until, qp.rq.completed_until}));
}

void ErrorFlush::hurry(Sq& sq, Picoseconds at) {
    if (!wanted(sq)) return;
    sq.scan.idle_rounds = 0;
    schedule(sq.scan, sq.id, sq.wq, std::max(at, sq.wq.completed_until));
}

void ErrorFlush::hurry(Qp& qp, Picoseconds at) {
    qp.scan.idle_rounds = 0;
    schedule(qp.scan, qp.id, qp.sq, std::max({at, qp.sq.completed_until, qp.rq.completed_until}));
}

void ErrorFlush::cancel(ErrorScan& scan) {
    state_.calendar().cancel(scan.event);
    scan.event = {};
}

void ErrorFlush::schedule(ErrorScan& scan, ObjectId id, WorkQueue& tagged, Picoseconds at) {
    cancel(scan);
    scan.event = state_.calendar().schedule<&ErrorFlush::scan>(
        state_.not_before_now(at), this, {kind_and_number(id), state_.tag(tagged.tag)});
}

void ErrorFlush::scan(const EventArguments& arguments) {
    const auto kind = static_cast<ObjectKind>(arguments.a >> 32);
    const auto number = static_cast<std::uint32_t>(arguments.a);
    Resources& resources = state_.context.resources;
    if (kind == ObjectKind::sq) {
        Sq* sq = resources.sqs.find(number);
        if (sq != nullptr && sq->wq.tag == arguments.b && sq->state == QueueState::error) {
            Direction send{sq->wq, sq->cqn, {number, 0, 0, sq->view().get<prm::sqc::user_index>()}};
            scan_object(sq->scan, sq->id, sq->wq, &send, nullptr);
            if (!wanted(*sq)) cancel(sq->scan);
            return;
        }
    } else if (kind == ObjectKind::rq) {
        Rq* rq = resources.rqs.find(number);
        if (rq != nullptr && rq->wq.tag == arguments.b && rq->state == QueueState::error) {
            const auto type = rq->view().get<prm::rqc::wq, prm::wq::wq_type>();
            Direction receive{rq->wq,
                              rq->cqn,
                              {number, 0, 0, rq->view().get<prm::rqc::user_index>()},
                              type == kWqLinkedList || type == kWqLinkedListStriding,
                              type >= kWqLinkedListStriding};
            scan_object(rq->scan, rq->id, rq->wq, nullptr, &receive);
            return;
        }
    } else {
        Qp* qp = resources.qps.find(number);
        if (qp != nullptr && qp->sq.tag == arguments.b &&
            (qp->state == QpState::error || qp->state == QpState::sq_error)) {
            const auto view = qp->view();
            const std::uint32_t user_index = view.get<prm::qpc::user_index>();
            Direction send{qp->sq, qp->send_cqn, {number, 0, 0, user_index}};
            Direction receive{qp->rq, qp->receive_cqn, {number, 0, 0, user_index}};
            send.qp = receive.qp = qp;
            const bool sends = view.get<prm::qpc::no_sq>() == 0;
            const bool receives =
                qp->state == QpState::error && view.get<prm::qpc::rq_type>() == kRqTypeRegular;
            scan_object(qp->scan, qp->id, qp->sq, sends ? &send : nullptr,
                        receives ? &receive : nullptr);
            return;
        }
    }
    ++state_.counters.stale_events;
}

void ErrorFlush::scan_object(ErrorScan& scan, ObjectId id, WorkQueue& tagged, Direction* send,
                             Direction* receive) {
    scan.event = {};
    if (send == nullptr && receive == nullptr) return;
    ++state_.counters.doorbell_record_scans;
    const Picoseconds now = state_.calendar().now();
    const HostAddress record =
        send != nullptr ? send->wq.doorbell_record : receive->wq.doorbell_record;
    std::array<std::byte, prm::qp_dbr::kBytes> bytes{};
    const DmaResult read = state_.context.host.read(state_.context.function, now, record, bytes);
    bool found = false;
    bool more = false;
    if (read.ok()) {
        const prm::ConstView<prm::qp_dbr> dbr(bytes);
        if (receive != nullptr) {
            found = flush_receive(*receive, scan,
                                  static_cast<std::uint16_t>(dbr.get<prm::qp_dbr::rcv_counter>()));
        }
        if (send != nullptr) {
            const bool any =
                flush_send(*send, scan,
                           static_cast<std::uint16_t>(dbr.get<prm::qp_dbr::send_counter>()), more);
            found = found || any;
        }
    } else {
        ++state_.counters.doorbell_record_failures;
    }
    scan.idle_rounds = found ? 0 : scan.idle_rounds + 1;
    Picoseconds wait = scan.idle_rounds > kFastRounds || !read.ok() ? kSlowScan : kScan;
    if (more) wait = kAfterRootCause;
    schedule(scan, id, tagged, now + wait);
}

// `more`: the root cause was reported, the flushes come in a later round.
bool ErrorFlush::flush_send(Direction& direction, ErrorScan& scan, std::uint16_t producer,
                            bool& more) {
    WorkQueue& wq = direction.wq;
    const auto outstanding = static_cast<std::uint16_t>(producer - wq.consumer);
    if (outstanding == 0 || !plausible(wq, outstanding, kBasicBlockBytes)) return false;
    wq.producer = producer;
    Picoseconds at = state_.calendar().now();
    const std::uint64_t ring_bytes = std::uint64_t{wq.entries()} << wq.log_stride;
    std::array<std::byte, prm::wqe_ctrl_seg::kBytes> control_bytes{};
    while (wq.consumer != producer) {
        const std::uint64_t offset = std::uint64_t{wq.consumer} * kBasicBlockBytes % ring_bytes;
        WqeControl control;
        if (ring_holds(wq.ring, offset, control_bytes.size()) &&
            state_.context.host
                .read(state_.context.function, at, wq.ring.address(offset), control_bytes)
                .ok()) {
            control = decode_control(control_bytes);
        }
        at += state_.context.timing.completion_write;
        direction.origin.wqe_counter = wq.consumer;
        direction.origin.opcode = control.opcode;
        const bool root_cause = !wq.failure.ok();
        WqeStatus status = wqe_status::kFlush;
        if (root_cause) {
            status = wq.failure;
            wq.failure = {};
        } else if (scan.by_software && !scan.send_flush_begun) {
            status = wqe_status::kFlushFirstSend;
        }
        Cqe cqe = make_error_cqe(direction.origin, status, false);
        if (completions_.push(direction.cqn, at, cqe, true)) ++state_.counters.error_cqes;
        count(direction, status, false);
        if (!root_cause) ++state_.counters.flushed_send_wqes;
        scan.send_flush_begun = true;
        const auto left = static_cast<std::uint16_t>(producer - wq.consumer);
        wq.consumer = static_cast<std::uint16_t>(wq.consumer + std::min(control.blocks(), left));
        if (root_cause) {
            more = true;
            break;
        }
    }
    return true;
}

bool ErrorFlush::flush_receive(Direction& direction, ErrorScan& scan, std::uint16_t producer) {
    WorkQueue& wq = direction.wq;
    const auto outstanding = static_cast<std::uint16_t>(producer - wq.consumer);
    if (outstanding == 0 || !plausible(wq, outstanding, wq.stride())) return false;
    wq.producer = producer;
    Picoseconds at = state_.calendar().now();
    while (wq.consumer != producer) {
        at += state_.context.timing.completion_write;
        direction.origin.wqe_counter = direction.linked ? wq.linked_index : wq.consumer;
        const bool first = scan.by_software && !scan.receive_flush_begun;
        const WqeStatus status = first ? wqe_status::kFlushFirstReceive : wqe_status::kFlush;
        Cqe cqe = make_error_cqe(direction.origin, status, true);
        if (direction.striding) {
            prm::View<prm::cqe64>(cqe).set<prm::cqe64::wqe_id>(direction.origin.wqe_counter);
        }
        if (completions_.push(direction.cqn, at, cqe, true)) ++state_.counters.error_cqes;
        count(direction, status, true);
        ++state_.counters.flushed_receive_wqes;
        scan.receive_flush_begun = true;
        if (direction.linked) wq.linked_index = next_linked(wq);
        ++wq.consumer;
    }
    return true;
}

std::uint16_t ErrorFlush::next_linked(const WorkQueue& wq) {
    const std::uint64_t offset = wq.linked_index * wq.stride();
    std::array<std::byte, prm::wqe_srq_next_seg::kBytes> bytes{};
    if (!ring_holds(wq.ring, offset, bytes.size()) ||
        !state_.context.host
             .read(state_.context.function, state_.calendar().now(), wq.ring.address(offset), bytes)
             .ok()) {
        ++state_.counters.wqe_fetch_failures;
        return static_cast<std::uint16_t>((wq.linked_index + 1U) & (wq.entries() - 1));
    }
    const prm::ConstView<prm::wqe_srq_next_seg> next(bytes);
    return static_cast<std::uint16_t>(next.get<prm::wqe_srq_next_seg::next_wqe_index>() &
                                      (wq.entries() - 1));
}

}  // namespace cxsim::model
