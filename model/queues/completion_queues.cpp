// SPDX-License-Identifier: Apache-2.0
#include "model/queues/completion_queues.h"

#include "model/base/endian.h"
#include "prm/layouts.h"

#include <array>

namespace cxsim::model {
namespace {

constexpr std::uint32_t kCounterMask = 0xffffff;
constexpr std::uint32_t kPeriodFromCqe = 1;   // cqc.cq_period_mode
constexpr std::uint32_t kRealTime = 1;        // ts_format
constexpr std::uint32_t kEnhancedLayout = 1;  // cqc.cqe_compression_layout
constexpr std::uint32_t kOpcodeResize = 5;    // cqe64.opcode
constexpr std::uint8_t kSyndromeOverrun = 1;  // event cq_error
constexpr std::uint8_t kSyndromeAccess = 2;
constexpr std::uint32_t kStatusOverflow = 0x9;  // cqc.status
constexpr std::uint32_t kStatusWriteFailure = 0xa;
constexpr std::uint32_t kStateSolicitedArmed = 0x6;  // cqc.st
constexpr std::uint32_t kStateArmed = 0x9;
constexpr std::uint32_t kStateFired = 0xa;

}  // namespace

bool CompletionQueues::push(std::uint32_t cqn, Picoseconds at, std::span<std::byte, 64> cqe,
                            bool solicited) {
    Cq* cq = state_.context.resources.cqs.find(cqn);
    if (cq == nullptr) {
        ++state_.counters.cqes_dropped;
        return false;
    }
    return push(*cq, at, cqe, solicited);
}

bool CompletionQueues::push(Cq& cq, Picoseconds at, std::span<std::byte, 64> cqe, bool solicited) {
    at = state_.not_before_now(at);
    if (cq.error) {
        ++state_.counters.cqes_dropped;
        return false;
    }
    at = std::max(state_.context_of(ContextKind::cq, cq.id.number, at), cq.written);
    const auto waiting =
        cq.compression == nullptr ? 0U
                                  : static_cast<std::uint32_t>(cq.compression->waiting.size());
    if (!has_room(cq, at, waiting + 1)) return false;
    if (!solicited && compressible(cq, cqe)) return collect(cq, at, cqe);
    if (waiting != 0 && !flush(cq, at)) return false;
    if (!append(cq, at, cqe)) return false;
    announce(cq, at, solicited);
    return true;
}

// Room for that many entries, or the queue goes into error.
bool CompletionQueues::has_room(Cq& cq, Picoseconds at, std::uint32_t entries) {
    if (cq.overrun_ignore || cq.producer - cq.consumer + entries <= cq.entries()) return true;
    if (!read_consumer(cq, at)) {
        fail(cq, at, kSyndromeAccess);
        return false;
    }
    if (cq.producer - cq.consumer + entries <= cq.entries()) return true;
    ++state_.counters.cq_overruns;
    fail(cq, at, kSyndromeOverrun);
    return false;
}

// A completion has been written: does the driver hear of it?
void CompletionQueues::announce(Cq& cq, Picoseconds at, bool solicited) {
    if (solicited) cq.solicited_end = cq.producer;
    if (cq.arm == CqArm::none || (cq.arm == CqArm::solicited && !solicited)) return;
    ++cq.unreported;
    cq.unreported_solicited = cq.unreported_solicited || solicited;
    report_or_wait(cq, at);
}

// Writes the entry at the producer index and advances it.
bool CompletionQueues::append(Cq& cq, Picoseconds at, std::span<std::byte, 64> cqe) {
    const prm::View<prm::cqe64> view(cqe);
    const auto context = cq.view();
    view.set<prm::cqe64::owner>((cq.producer >> cq.log_size) & 1);
    if (context.get<prm::cqc::cqe_comp_en>() != 0 &&
        context.get<prm::cqc::cqe_compression_layout>() == kEnhancedLayout) {
        view.set<prm::cqe64::validity_iteration_count>((cq.producer >> cq.log_size) & 0xff);
    }
    return wrote(cq, at, write_slot(cq, at, cq.producer, cqe));
}

DmaStatus CompletionQueues::write_slot(Cq& cq, Picoseconds at, std::uint32_t index,
                                       std::span<const std::byte, 64> entry) {
    const bool collapsed = cq.view().get<prm::cqc::cc>() != 0;
    const std::uint64_t slot = collapsed ? 0 : index & (cq.entries() - 1);
    // Entries of 128 bytes hold the CQE in their second half.
    const std::uint64_t offset = slot * cq.cqe_bytes + (cq.cqe_bytes - entry.size());
    if (!ring_holds(cq.ring, offset, entry.size())) return DmaStatus::completer_abort;
    at = cq.written = std::max(at, cq.written);
    return state_.context.host.write(state_.context.function, at, cq.ring.address(offset), entry)
        .status;
}

// The entry at the producer index is out, if the host took it.
bool CompletionQueues::wrote(Cq& cq, Picoseconds at, DmaStatus status) {
    if (status == DmaStatus::bus_master_disabled) {
        ++state_.counters.cqes_dropped;
        return false;
    }
    if (status != DmaStatus::ok) {
        fail(cq, at, kSyndromeAccess);
        return false;
    }
    ++cq.producer;
    ++state_.counters.cqes;
    return true;
}

// Where the driver stands, from the doorbell record. Asked only when the queue looks full.
bool CompletionQueues::read_consumer(Cq& cq, Picoseconds at) {
    std::array<std::byte, 4> record{};
    if (!state_.context.host.read(state_.context.function, at, cq.doorbell_record, record).ok()) {
        return false;
    }
    learn_consumer(cq, load_be<std::uint32_t>(record.data()));
    return true;
}

void CompletionQueues::learn_consumer(Cq& cq, std::uint32_t counter) {
    cq.consumer = cq.producer - ((cq.producer - counter) & kCounterMask);
    if (static_cast<std::int32_t>(cq.consumer - cq.reported) > 0) cq.reported = cq.consumer;
}

void CompletionQueues::fail(Cq& cq, Picoseconds at, std::uint8_t syndrome) {
    cq.error = true;
    cq.view().set<prm::cqc::status>(syndrome == kSyndromeOverrun ? kStatusOverflow
                                                                 : kStatusWriteFailure);
    ++state_.counters.cqes_dropped;
    forget(cq);
    std::array<std::byte, prm::cq_error::kBytes> data{};
    const prm::View<prm::cq_error> event(data);
    event.set<prm::cq_error::cqn>(cq.id.number);
    event.set<prm::cq_error::syndrome>(syndrome);
    events_.post_event(at, prm::EventType::CQ_ERROR, 0, data);
    if (state_.listener != nullptr) state_.listener->cq_error(cq, syndrome, at);
}

void CompletionQueues::arm(Cq& cq, Picoseconds at, std::uint32_t sequence, bool solicited_only,
                           std::uint32_t consumer) {
    at = state_.not_before_now(at);
    learn_consumer(cq, consumer);
    cq.arm_sequence = sequence;
    cq.arm = solicited_only ? CqArm::solicited : CqArm::any;
    cancel_events(cq);
    cq.unreported = 0;
    cq.unreported_solicited = false;
    // What the driver was told of does not count again, consumed or not: programs arm before they
    // poll, and wait for another CQE then.
    const std::uint32_t end = solicited_only ? cq.solicited_end : cq.producer;
    if (static_cast<std::int32_t>(end - cq.reported) > 0) report(cq, at);
}

// An armed queue with unreported CQEs: tell the driver now, or let moderation collect more.
void CompletionQueues::report_or_wait(Cq& cq, Picoseconds at) {
    const bool counts = cq.moderation_count != 0;
    const bool times = cq.moderation_period > Picoseconds{};
    const bool breaks =
        cq.unreported_solicited && cq.view().get<prm::cqc::scqe_break_moderation_en>() != 0;
    if ((!counts && !times) || breaks || cq.arm == CqArm::solicited ||
        (counts && cq.unreported >= cq.moderation_count)) {
        report(cq, at);
        return;
    }
    if (times) start_timer(cq, at);
}

void CompletionQueues::start_timer(Cq& cq, Picoseconds at) {
    const bool from_cqe = cq.view().get<prm::cqc::cq_period_mode>() == kPeriodFromCqe;
    if (!from_cqe && cq.moderation_timer.event != nullptr) return;  // runs since the first CQE
    const Picoseconds expiry =
        from_cqe ? at + cq.moderation_period : std::max(at, cq.last_event + cq.moderation_period);
    if (!from_cqe && expiry == at) {
        report(cq, at);
        return;
    }
    state_.calendar().cancel(cq.moderation_timer);
    cq.moderation_timer = state_.calendar().schedule<&CompletionQueues::timer_expired>(
        expiry, this, {cq.id.number, state_.tag(cq.tag)});
}

void CompletionQueues::timer_expired(const EventArguments& arguments) {
    Cq* cq = state_.context.resources.cqs.find(static_cast<std::uint32_t>(arguments.a));
    if (cq == nullptr || cq->tag != arguments.b) {
        ++state_.counters.stale_events;
        return;
    }
    cq->moderation_timer = {};
    if (cq->arm != CqArm::none && cq->unreported != 0) report(*cq, state_.calendar().now());
}

void CompletionQueues::report(Cq& cq, Picoseconds at) {
    at = std::max(at, cq.written);  // the event does not pass what it tells of
    cq.arm = CqArm::none;
    cq.unreported = 0;
    cq.unreported_solicited = false;
    cq.last_event = at;
    cq.reported = cq.producer;
    cancel_events(cq);
    Eq* eq = state_.context.resources.eqs.find(cq.eqn);
    if (eq == nullptr) {
        ++state_.counters.completion_events_untaken;
        return;
    }
    std::array<std::byte, prm::comp_event::kBytes> data{};
    prm::View<prm::comp_event>(data).set<prm::comp_event::cq_number>(cq.id.number);
    if (events_.post(*eq, at, prm::EventType::COMP, 0, data)) {
        ++cq.events;
        ++state_.counters.completion_events;
    }
}

void CompletionQueues::set_moderation(Cq& cq, Picoseconds at, std::uint32_t count,
                                      Picoseconds period) {
    at = state_.not_before_now(at);
    cq.moderation_count = count;
    cq.moderation_period = period;
    if (cq.arm == CqArm::none || cq.unreported == 0) return;
    cancel_events(cq);
    report_or_wait(cq, at);
}

bool CompletionQueues::resize(Cq& cq, Picoseconds at, HostRing ring, std::uint32_t log_size,
                              std::uint32_t cqe_bytes) {
    at = state_.not_before_now(at);
    // The driver copies what the old ring holds up to this entry; it takes an index of its own.
    std::array<std::byte, 64> marker{};
    prm::View<prm::cqe64>(marker).set<prm::cqe64::opcode>(kOpcodeResize);
    if (cq.error) return false;
    if (!flush(cq, at) || !has_room(cq, at, 1)) return false;
    if (!append(cq, at, std::span<std::byte, 64>(marker))) return false;
    cq.ring = std::move(ring);
    cq.log_size = log_size;
    cq.cqe_bytes = cqe_bytes;
    return true;
}

void CompletionQueues::cancel_events(Cq& cq) {
    state_.calendar().cancel(cq.moderation_timer);
    cq.moderation_timer = {};
}

void CompletionQueues::forget(Cq& cq) {
    cancel_events(cq);
    if (cq.compression == nullptr) return;
    state_.calendar().cancel(cq.compression->flush);
    state_.counters.cqes_dropped += cq.compression->waiting.size();
    cq.compression.reset();
}

void CompletionQueues::refresh(Cq& cq) const {
    const auto view = cq.view();
    view.set<prm::cqc::producer_counter>(cq.producer & kCounterMask);
    view.set<prm::cqc::consumer_counter>(cq.consumer & kCounterMask);
    view.set<prm::cqc::last_notified_index>(cq.reported & kCounterMask);
    view.set<prm::cqc::last_solicit_index>(cq.solicited_end & kCounterMask);
    std::uint32_t state = kStateFired;
    if (cq.arm == CqArm::any) state = kStateArmed;
    if (cq.arm == CqArm::solicited) state = kStateSolicitedArmed;
    view.set<prm::cqc::st>(state);
}

std::uint64_t CompletionQueues::timestamp(Picoseconds at, std::uint32_t ts_format) const {
    const Picoseconds period = state_.context.timing.clock_period;
    if (period <= Picoseconds{}) return 0;
    const auto ps = static_cast<std::uint64_t>(at.value);
    if (ts_format != kRealTime) return ps / static_cast<std::uint64_t>(period.value);
    const std::uint64_t second = 1'000'000'000'000;
    return (ps / second) << 32 | (ps % second) / 1000;
}

}  // namespace cxsim::model
