// SPDX-License-Identifier: Apache-2.0
#include "model/queues/send_queue.h"
#include "model/queues/service_type.h"

#include <algorithm>
#include <array>

namespace cxsim::model {
namespace {

// First read of a WQE: enough for most, so that only large ones cost a second round trip.
constexpr std::uint64_t kPrefetchBytes = 256;
// Of WQEs that BlueFlame brought and that are not executed.
constexpr std::uint64_t kBlueFlameBytes = 1024;

constexpr std::uint64_t kCarriesData = 2;  // of a completion under way

constexpr std::uint32_t kSqcStateError = 3;
constexpr std::uint32_t kRqTypeSrq = 1;  // qpc.rq_type
constexpr std::uint32_t kEventOfQp = 0;  // qp_events.type
constexpr std::uint32_t kEventOfSq = 2;

}  // namespace

bool SendQueues::find(std::uint32_t number, Queue& queue) const {
    Resources& resources = state_.context.resources;
    if (Qp* qp = resources.qps.find(number); qp != nullptr) {
        queue = {nullptr, qp, qp->id, &qp->sq, qp->send_cqn};
        return true;
    }
    if (Sq* sq = resources.sqs.find(number); sq != nullptr) {
        queue = {sq, nullptr, sq->id, &sq->wq, sq->cqn};
        return true;
    }
    return false;
}

bool SendQueues::find(const EventArguments& arguments, Queue& queue) {
    const auto kind = static_cast<ObjectKind>(arguments.a >> 32);
    if (find(static_cast<std::uint32_t>(arguments.a), queue) && queue.id.kind == kind &&
        queue.wq->tag == arguments.b) {
        return true;
    }
    ++state_.counters.stale_events;
    return false;
}

void SendQueues::doorbell(Picoseconds at, std::uint32_t page, std::uint8_t buffer,
                          std::span<const std::byte, 8> control) {
    std::array<std::byte, prm::wqe_ctrl_seg::kBytes> bytes{};
    std::ranges::copy(control, bytes.begin());
    const WqeControl decoded = decode_control(bytes);
    ++state_.counters.send_doorbells;
    Queue queue;
    if (!find(decoded.queue, queue)) {
        ++state_.counters.doorbell_unknown_object;
        return;
    }
    if (queue.wq->uar_page != page) {
        ++state_.counters.doorbell_wrong_uar;
        return;
    }
    const Picoseconds start = at + state_.context.timing.doorbell;
    if (queue.in_error()) {
        if (queue.sq != nullptr)
            flush_.hurry(*queue.sq, start);
        else
            flush_.hurry(*queue.qp, start);
        return;
    }
    WorkQueue& wq = *queue.wq;
    const auto producer = static_cast<std::uint16_t>(decoded.index + decoded.blocks());
    const auto outstanding = static_cast<std::uint16_t>(producer - wq.consumer);
    if ((!queue.running() && !queue.holds_back()) || outstanding <= queue.outstanding() ||
        outstanding > queue.ring_bytes() / kBasicBlockBytes) {
        ++state_.counters.doorbell_ignored;
        return;
    }
    wq.producer = producer;
    wq.blue_flame = true;
    wq.blue_flame_page = page;
    wq.blue_flame_buffer = buffer;
    // Taken at once where it is the next to be fetched: another queue's doorbell may soon fill the
    // same buffer. Else it is looked at again when the queue comes to it.
    if ((!wq.active || !wq.fetched.empty()) && wq.fetched.size() < kBlueFlameBytes) {
        take_blue_flame(queue);
        wq.blue_flame = true;
    }
    const Picoseconds known = state_.context_of(
        queue.sq != nullptr ? ContextKind::sq : ContextKind::qp, queue.id.number, start);
    if (queue.running()) kick(queue, known);
}

void SendQueues::resume(Sq& sq, Picoseconds at) {
    Queue queue;
    if (find(sq.id.number, queue) && queue.running()) kick(queue, at);
}

void SendQueues::resume(Qp& qp, Picoseconds at) {
    Queue queue;
    if (find(qp.id.number, queue) && queue.running()) kick(queue, at);
}

void SendQueues::clear(WorkQueue& wq) {
    state_.calendar().cancel(wq.event);
    for (const EventHandle& completion : wq.completions) state_.calendar().cancel(completion);
    wq.completions.clear();
    wq.completion_data.clear();
    state_.void_events(wq.tag);
    wq.event = {};
    wq.active = false;
    wq.producer = 0;
    wq.consumer = 0;
    wq.linked_index = 0;
    wq.strides_used = 0;
    wq.fetched.clear();
    wq.fetched_used = 0;
    wq.failure = {};
    wq.completed_until = {};
    wq.blue_flame = false;
}

void SendQueues::kick(Queue& queue, Picoseconds at) {
    if (queue.wq->active || queue.outstanding() == 0 || waits_for_transport(queue)) return;
    queue.wq->active = true;
    queue.wq->event = state_.calendar().schedule<&SendQueues::fetch>(state_.not_before_now(at),
                                                                     this, queue.arguments(state_));
}

void SendQueues::pause(Queue& queue) {
    queue.wq->active = false;
    queue.wq->event = {};
    queue.wq->fetched.clear();
}

void SendQueues::fetch(const EventArguments& arguments) {
    Queue queue;
    if (!find(arguments, queue)) return;
    WorkQueue& wq = *queue.wq;
    if (!queue.running() || queue.outstanding() == 0) {
        pause(queue);
        return;
    }
    const Picoseconds now = state_.calendar().now();
    DmaResult read{DmaStatus::ok, now};
    if (queue.qp != nullptr) {
        if (Posted* posted = posted_.find(*queue.qp); posted != nullptr) posted->ahead = 0;
    }
    const bool brought = wq.blue_flame && !wq.fetched.empty();  // with its doorbell
    if (brought) {
        wq.blue_flame = false;
    } else {
        wq.fetched.clear();
    }
    if (!brought && !take_blue_flame(queue)) {
        const std::uint64_t published = std::uint64_t{queue.outstanding()} * kBasicBlockBytes;
        read = read_up_to(queue, now, std::min(published, kPrefetchBytes));
        if (read.ok()) {
            const std::uint64_t whole =
                std::uint64_t{decode_control(wq.fetched).blocks()} * kBasicBlockBytes;
            // A WQE that claims more than was posted is refused when it is executed.
            if (whole <= published) read = read_up_to(queue, read.finish, whole);
        }
    }
    if (read.status == DmaStatus::bus_master_disabled) {
        ++state_.counters.wqe_fetch_failures;
        pause(queue);
        return;
    }
    if (!read.ok()) {
        ++state_.counters.wqe_fetch_failures;
        pause(queue);
        catastrophe(queue, now);
        return;
    }
    if (over_transport(queue)) read_ahead(queue, now);
    wq.event = state_.calendar().schedule<&SendQueues::execute>(
        std::max(now, read.finish) + state_.context.timing.wqe_execute, this,
        queue.arguments(state_));
}

// BlueFlame brings the WQE with its doorbell. The buffer counts if all basic blocks of the very
// WQE that is next have arrived; what it holds, not the ring, is executed then, as on cards.
bool SendQueues::take_blue_flame(Queue& queue) {
    WorkQueue& wq = *queue.wq;
    if (!wq.blue_flame) return false;
    wq.blue_flame = false;
    const Uar* uar = state_.context.resources.uars.find(wq.blue_flame_page);
    if (uar == nullptr || uar->latches == nullptr) return false;
    const UarLatches::BlueFlame& buffer = uar->latches->blue_flame[wq.blue_flame_buffer];
    const WqeControl control = decode_control(buffer.data);
    const std::uint64_t bytes = std::uint64_t{control.blocks()} * kBasicBlockBytes;
    const auto next =
        static_cast<std::uint16_t>(wq.consumer + wq.fetched.size() / kBasicBlockBytes);
    if (control.queue != queue.id.number || control.index != next ||
        bytes > buffer.data.size()) {
        return false;
    }
    const std::uint64_t dwords = bytes / 4;
    const std::uint64_t needed =
        dwords == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << dwords) - 1;
    if ((buffer.filled & needed) != needed) return false;
    wq.fetched.insert(wq.fetched.end(), buffer.data.begin(),
                      buffer.data.begin() + static_cast<std::ptrdiff_t>(bytes));
    // Behind what is still being read.
    if (queue.qp != nullptr) {
        if (Posted* posted = posted_.find(*queue.qp); posted != nullptr && posted->ahead != 0) {
            posted->ahead += bytes;
        }
    }
    ++state_.counters.blue_flame_wqes;
    return true;
}

// Reads on in the ring until `fetched` holds `bytes` from the consumer index on.
DmaResult SendQueues::read_up_to(Queue& queue, Picoseconds at, std::uint64_t bytes) {
    WorkQueue& wq = *queue.wq;
    DmaResult result{DmaStatus::ok, at};
    const std::uint64_t ring = queue.ring_bytes();
    while (wq.fetched.size() < bytes) {
        const std::uint64_t have = wq.fetched.size();
        const std::uint64_t offset = (std::uint64_t{wq.consumer} * kBasicBlockBytes + have) % ring;
        if (!ring_holds(wq.ring, offset, kBasicBlockBytes)) {
            return {DmaStatus::completer_abort, result.finish};
        }
        const std::uint64_t piece =
            std::min({bytes - have, ring - offset, wq.ring.contiguous(offset)});
        wq.fetched.resize(have + piece);
        const DmaResult read =
            state_.context.host.read(state_.context.function, at, wq.ring.address(offset),
                                     std::span(wq.fetched).subspan(have));
        if (!read.ok()) return read;
        result.finish = std::max(result.finish, read.finish);
    }
    return result;
}

void SendQueues::execute(const EventArguments& arguments) {
    Queue queue;
    if (!find(arguments, queue)) return;
    WorkQueue& wq = *queue.wq;
    if (!queue.running()) {
        pause(queue);
        return;
    }
    const Picoseconds now = state_.calendar().now();
    const WqeControl control = decode_control(wq.fetched);
    ++state_.counters.wqes;
    SendOutcome outcome{now, wqe_status::kBadWqe, now};
    if (control.index == wq.consumer && control.queue == queue.id.number && control.segments != 0 &&
        control.blocks() <= queue.outstanding()) {
        if (over_transport(queue)) {
            execute_over_transport(queue, now, control);
            return;
        }
        outcome = dispatch(queue, now, control, std::span(wq.fetched).first(control.bytes()));
    }
    if (!outcome.status.ok()) {
        fail_in_turn(queue, outcome.finish, outcome.status);
        return;
    }
    step(queue, control);
    if (control.signaled) {
        complete_at(queue, outcome.finish,
                    {control.index, control.opcode, true, control.solicited, 0});
    }
    // A registration must be in force for what follows it; sends overlap.
    next(queue, control.opcode == static_cast<std::uint8_t>(WqeOpcode::umr)
                    ? outcome.finish
                    : std::max(now, outcome.room));
}

// The WQE at the consumer index has been dealt with.
void SendQueues::step(Queue& queue, const WqeControl& control) {
    WorkQueue& wq = *queue.wq;
    const auto used = static_cast<std::ptrdiff_t>(control.blocks() * kBasicBlockBytes);
    wq.fetched.erase(wq.fetched.begin(), wq.fetched.begin() + used);
    wq.consumer = static_cast<std::uint16_t>(wq.consumer + control.blocks());
}

// Completions keep the order of the work, whatever its times.
void SendQueues::complete_at(Queue& queue, Picoseconds at, const SendDone& done) {
    WorkQueue& wq = *queue.wq;
    wq.completed_until = std::max(wq.completed_until, at + state_.context.timing.completion_write);
    std::uint64_t packed =
        std::uint64_t{done.byte_count} << 32 | std::uint64_t{done.wqe_index} << 16 |
        std::uint64_t{done.opcode} << 8 | static_cast<std::uint64_t>(done.solicited);
    if (!done.data.empty()) {
        packed |= kCarriesData;
        std::ranges::copy(done.data, wq.completion_data.emplace_back().begin());
    }
    wq.completions.push_back(state_.calendar().schedule<&SendQueues::complete>(
        state_.not_before_now(wq.completed_until), this, queue.arguments(state_, packed)));
}

// Goes on with the next WQE: at once if it was read together with this one.
void SendQueues::next(Queue& queue, Picoseconds at) {
    WorkQueue& wq = *queue.wq;
    wq.event = {};
    if (queue.outstanding() == 0) {
        pause(queue);
        return;
    }
    if (!wq.fetched.empty()) {
        const WqeControl control = decode_control(wq.fetched);
        const std::uint64_t bytes = std::uint64_t{control.blocks()} * kBasicBlockBytes;
        if (bytes <= wq.fetched.size()) {
            wq.event = state_.calendar().schedule<&SendQueues::execute>(
                fetched_at(queue, bytes, at) + state_.context.timing.wqe_execute, this,
                queue.arguments(state_));
            return;
        }
    }
    wq.fetched.clear();
    wq.event = state_.calendar().schedule<&SendQueues::fetch>(at, this, queue.arguments(state_));
}

SendRequester SendQueues::requester(const Queue& queue) {
    SendRequester requester;
    requester.queue = queue.id;
    requester.pd = queue.pd();
    requester.reserved_lkey = queue.reserved_lkey();
    requester.datagram = queue.sq == nullptr;
    requester.ethernet = queue.sq != nullptr;
    if (queue.sq != nullptr) {
        requester.inline_required = queue.sq->view().get<prm::sqc::min_wqe_inline_mode>() != 0;
    } else {
        requester.ethernet_pad = queue.qp->view().get<prm::qpc::ulp_stateless_offload_mode>() != 0;
    }
    return requester;
}

SendOutcome SendQueues::dispatch(Queue& queue, Picoseconds at, const WqeControl& control,
                                 std::span<const std::byte> wqe) {
    const bool is_sq = queue.sq != nullptr;
    const std::uint32_t type = is_sq ? 0 : queue.service_type();
    switch (static_cast<WqeOpcode>(control.opcode)) {
        case WqeOpcode::nop:
            ++state_.counters.nops;
            return {at, wqe_status::kSuccess, at};
        case WqeOpcode::umr: {
            const bool allowed = is_sq ? queue.sq->view().get<prm::sqc::reg_umr>() != 0
                                       : type == service::kRc || type == service::kUc ||
                                             type == service::kXrc || type == service::kDci ||
                                             type == service::kRegUmr;
            if (!allowed) break;
            const UmrOutcome outcome =
                umr_.execute(at, control, wqe,
                             {queue.id.number, queue.pd(), type == service::kRegUmr && !is_sq,
                              queue.reserved_lkey()});
            ++(outcome.status.ok() ? state_.counters.umrs : state_.counters.umr_refused);
            return {outcome.finish, outcome.status, at};
        }
        case WqeOpcode::enhanced_multi_packet_send:
            if (!is_sq) break;
            return send_.execute_multi(at, control, wqe, requester(queue));
        case WqeOpcode::send:
        case WqeOpcode::send_immediate:
        case WqeOpcode::lso: {
            const bool immediate =
                control.opcode == static_cast<std::uint8_t>(WqeOpcode::send_immediate);
            if (is_sq ? immediate : type != service::kUd && type != service::kQp1) break;
            return send_.execute(at, control, wqe, requester(queue));
        }
        default:
            break;
    }
    ++state_.counters.unimplemented_wqes;
    ++state_.counters.unimplemented_opcodes[control.opcode];
    return {at, wqe_status::kBadWqe, at};
}

void SendQueues::complete(const EventArguments& arguments) {
    Queue queue;
    if (!find(arguments, queue)) return;
    queue.wq->completions.erase(queue.wq->completions.begin());
    const Picoseconds now = state_.calendar().now();
    const CqeOrigin origin{queue.id.number, static_cast<std::uint16_t>(arguments.c >> 16),
                           static_cast<std::uint8_t>(arguments.c >> 8), queue.user_index()};
    Cqe cqe = make_send_cqe(origin, completions_.timestamp(now, queue.timestamp_format()),
                            static_cast<std::uint32_t>(arguments.c >> 32));
    if ((arguments.c & kCarriesData) != 0) {
        put_data(cqe, queue.wq->completion_data.front());
        queue.wq->completion_data.erase(queue.wq->completion_data.begin());
    }
    if (completions_.push(queue.cqn, now, cqe, (arguments.c & 1) != 0)) return;
    const Cq* cq = state_.context.resources.cqs.find(queue.cqn);
    if ((cq == nullptr || cq->error) && queue.running()) catastrophe(queue, now);
}

// The WQE at the consumer index is bad. Its CQE comes from the flush, which first makes sure that
// the doorbell record covers it.
void SendQueues::fail(Queue& queue, Picoseconds at, const WqeStatus& status) {
    ++state_.counters.wqe_errors;
    pause(queue);
    queue.wq->failure = status;
    enter_error(queue, at + state_.context.timing.completion_write);
}

// No completion can tell: the queue's own memory or its CQ is unusable.
void SendQueues::catastrophe(Queue& queue, Picoseconds at) {
    post_event(queue.id, at, prm::EventType::WQ_CATAS_ERROR);
    enter_error(queue, at);
}

void SendQueues::post_event(ObjectId id, Picoseconds at, prm::EventType type) {
    std::array<std::byte, prm::qp_events::kBytes> data{};
    const prm::View<prm::qp_events> event(data);
    event.set<prm::qp_events::type>(id.kind == ObjectKind::sq ? kEventOfSq : kEventOfQp);
    event.set<prm::qp_events::qpn_rqn_sqn>(id.number);
    events_.post_event(at, type, 0, data);
}

void SendQueues::enter_error(Queue& queue, Picoseconds at) {
    if (queue.sq != nullptr) {
        queue.sq->state = QueueState::error;
        queue.sq->view().set<prm::sqc::state>(kSqcStateError);
        flush_.begin(*queue.sq, at, false);
        return;
    }
    // IBTA: a send error stops only the send side of services without acknowledgements.
    const std::uint32_t type = queue.service_type();
    const bool send_side_only = service::is_datagram(type) || type == service::kUc;
    move_to_error(*queue.qp, at, send_side_only ? QpState::sq_error : QpState::error);
}

void SendQueues::move_to_error(Qp& qp, Picoseconds at, QpState state) {
    const QpState old = qp.state;
    qp.state = state;
    qp.view().set<prm::qpc::state>(state);
    if (state_.transport != nullptr) state_.transport->state_changed(qp, old);
    entered_error(qp, at, false);
}

void SendQueues::entered_error(Qp& qp, Picoseconds at, bool by_software) {
    abandon(qp);
    if (qp.state == QpState::error) at = receives_.abandon(qp, at, by_software);
    if (qp.state == QpState::error && qp.view().get<prm::qpc::rq_type>() == kRqTypeSrq) {
        post_event(qp.id, at, prm::EventType::SRQ_LAST_WQE);
    }
    flush_.begin(qp, at, by_software);
}

}  // namespace cxsim::model
