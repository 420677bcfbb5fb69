// SPDX-License-Identifier: Apache-2.0
#include "model/queues/receive_queues.h"

#include <algorithm>
#include <array>
#include <bit>

namespace cxsim::model {
namespace {

constexpr std::uint32_t kMemoryOfRmp = 1;  // rqc.mem_rq_type
constexpr std::uint32_t kRqcStateError = 3;
constexpr std::uint32_t kOpcodeReceive = 2;
// Cyclic rings are read ahead by so much; a WQE of a linked list alone, its successor is not known.
constexpr std::uint64_t kPrefetchBytes = 2048;
constexpr std::uint32_t kVersion0Index = 0xffffff;

enum WqType : std::uint32_t {
    kLinkedList = 0,
    kCyclic = 1,
    kLinkedListStriding = 2,
    kCyclicStriding = 3,
};

int sign_extend4(std::uint32_t value) {
    return (value & 8) != 0 ? static_cast<int>(value) - 16 : static_cast<int>(value);
}

}  // namespace

// The ring that feeds an RQ, its own or a pool's; made anew for each packet.
struct ReceiveQueues::Buffers {
    WorkQueue* wq = nullptr;  // null: the RQ's own
    std::uint32_t pd = 0;
    bool reserved_lkey = false;
    bool linked = false;
    bool striding = false;
    std::uint32_t shift = 0;          // bytes left free in front of a packet
    std::uint64_t stride_bytes = 0;   // of a striding queue
    std::uint32_t strides = 0;

    std::uint16_t index() const {
        return linked ? wq->linked_index : wq->consumer;
    }
    std::span<const std::byte> wqe() const {
        return std::span<const std::byte>(wq->fetched)
            .subspan(wq->fetched_used, static_cast<std::size_t>(wq->stride()));
    }
};

bool ReceiveQueues::open(const Rq& rq, Buffers& buffers) const {
    const auto context = rq.view();
    buffers.reserved_lkey = context.get<prm::rqc::rlky>() != 0;
    const auto take = [&](prm::ConstView<prm::wq> wq) {
        buffers.pd = wq.get<prm::wq::pd>();
        const std::uint32_t type = wq.get<prm::wq::wq_type>();
        buffers.linked = type == kLinkedList || type == kLinkedListStriding;
        buffers.striding = type == kLinkedListStriding || type == kCyclicStriding;
        buffers.shift = wq.get<prm::wq::two_byte_shift_en>() != 0 ? 2 : 0;
        if (buffers.striding) {
            buffers.stride_bytes = std::uint64_t{64} << wq.get<prm::wq::log_wqe_stride_size>();
            buffers.strides = 1U << (9 + sign_extend4(wq.get<prm::wq::log_wqe_num_of_strides>()));
        }
    };
    if (context.get<prm::rqc::mem_rq_type>() != kMemoryOfRmp) {
        take(context.nested<prm::rqc::wq>());
        return true;
    }
    Rmp* rmp = state_.context.resources.rmps.find(context.get<prm::rqc::rmpn>());
    if (rmp == nullptr || rmp->state != QueueState::ready) return false;
    buffers.wq = &rmp->wq;
    take(rmp->view().nested<prm::rmpc::wq>());
    return true;
}

std::uint32_t ReceiveQueues::largest_packet(const Rq& rq) const {
    Buffers buffers;
    if (!open(rq, buffers) || !buffers.striding) return 0;
    return static_cast<std::uint32_t>(buffers.strides * buffers.stride_bytes) - buffers.shift;
}

// Makes the WQE at the consumer index available in `fetched`; false: nothing is posted or the host
// refused. Cyclic rings are read ahead, so that packets seldom wait for their WQE.
bool ReceiveQueues::next_wqe(Buffers& buffers, Picoseconds& at) {
    WorkQueue& wq = *buffers.wq;
    if (wq.fetched.size() - wq.fetched_used < wq.stride() && !take_ahead(wq, at)) {
        const Picoseconds asked = at;
        wq.fetched.clear();
        wq.fetched_used = 0;
        if (!learn_producer(wq, at) || !fetch(buffers, buffers.index(), at, wq.fetched)) {
            at = asked;
            wq.fetched.clear();
            return false;
        }
    }
    // Once for each block of WQEs: when half of it is used.
    const std::uint64_t half = wq.fetched.size() / wq.stride() / 2 * wq.stride();
    if (!buffers.linked && wq.fetched_used == half && !wq.active) read_ahead(buffers, at);
    return true;
}

// Whether WQEs are posted that were not fetched. The doorbell record is asked only when all that is
// known of were.
bool ReceiveQueues::learn_producer(WorkQueue& wq, Picoseconds& at) {
    const auto fetched = static_cast<std::uint16_t>((wq.fetched.size() - wq.fetched_used) /
                                                    wq.stride());
    const auto next = static_cast<std::uint16_t>(wq.consumer + fetched);
    if (wq.producer != next) return true;
    std::array<std::byte, prm::qp_dbr::kBytes> bytes{};
    const DmaResult read =
        state_.context.host.read(state_.context.function, at, wq.doorbell_record, bytes);
    if (!read.ok()) {
        ++state_.counters.doorbell_record_failures;
        return false;
    }
    const auto producer = static_cast<std::uint16_t>(
        prm::ConstView<prm::qp_dbr>(bytes).get<prm::qp_dbr::rcv_counter>());
    // More than the ring holds is garbage: nothing is posted then.
    if (static_cast<std::uint16_t>(producer - wq.consumer) > wq.entries() || producer == next) {
        return false;
    }
    at = std::max(at, read.finish);
    wq.producer = producer;
    return true;
}

// Reads WQEs from `index` on. `at` becomes the time at which they are there.
bool ReceiveQueues::fetch(Buffers& buffers, std::uint16_t index, Picoseconds& at,
                          std::vector<std::byte>& into) {
    WorkQueue& wq = *buffers.wq;
    const std::uint64_t offset = (index & (wq.entries() - 1)) * wq.stride();
    std::uint64_t bytes = wq.stride();
    Picoseconds finish = at;
    if (ring_holds(wq.ring, offset, bytes)) {
        if (!buffers.linked) {
            const std::uint64_t ring = std::uint64_t{wq.entries()} * wq.stride();
            const std::uint64_t posted =
                static_cast<std::uint16_t>(wq.producer - index) * wq.stride();
            const std::uint64_t run =
                std::min({posted, ring - offset, wq.ring.contiguous(offset),
                          std::max(kPrefetchBytes, wq.stride())});
            bytes = std::max(bytes, run / wq.stride() * wq.stride());
        }
        into.resize(static_cast<std::size_t>(bytes));
        std::uint64_t done = 0;
        while (done < bytes) {
            const std::uint64_t piece = std::min(bytes - done, wq.ring.contiguous(offset + done));
            const DmaResult read = state_.context.host.read(
                state_.context.function, at, wq.ring.address(offset + done),
                std::span(into).subspan(static_cast<std::size_t>(done),
                                        static_cast<std::size_t>(piece)));
            if (!read.ok()) break;
            finish = std::max(finish, read.finish);
            done += piece;
        }
        if (done == bytes) {
            at = finish;
            return true;
        }
    }
    ++state_.counters.wqe_fetch_failures;
    into.clear();
    return false;
}

// Failures are met again, and answered, when the WQEs are needed.
void ReceiveQueues::read_ahead(Buffers& buffers, Picoseconds at) {
    WorkQueue& wq = *buffers.wq;
    if (!learn_producer(wq, at)) return;
    const auto left =
        static_cast<std::uint16_t>((wq.fetched.size() - wq.fetched_used) / wq.stride());
    Ahead& ahead = new_ahead(state_.tag(wq.tag));
    wq.active = fetch(buffers, static_cast<std::uint16_t>(wq.consumer + left), at, ahead.wqes);
    ahead.ready = at;
    if (!wq.active) ahead.tag = 0;
}

// What was read ahead becomes what is fetched; `at` waits for it.
bool ReceiveQueues::take_ahead(WorkQueue& wq, Picoseconds& at) {
    if (!wq.active) return false;
    wq.active = false;
    const auto ahead = std::ranges::find(ahead_, wq.tag, &Ahead::tag);
    if (ahead == ahead_.end()) return false;
    ahead->tag = 0;
    std::swap(wq.fetched, ahead->wqes);
    wq.fetched_used = 0;
    at = std::max(at, ahead->ready);
    return true;
}

// Places are used again; those of queues that went away meanwhile are found when places run short.
ReceiveQueues::Ahead& ReceiveQueues::new_ahead(std::uint64_t tag) {
    auto place = std::ranges::find(ahead_, 0U, &Ahead::tag);
    if (place == ahead_.end() && std::has_single_bit(ahead_.size())) {
        const auto lives = [&](const auto& objects, const Ahead& ahead) {
            bool found = false;
            objects.for_each([&](const auto& object) {
                found = found || object.wq.tag == ahead.tag;
            });
            return found;
        };
        for (Ahead& ahead : ahead_) {
            if (!lives(state_.context.resources.rqs, ahead) &&
                !lives(state_.context.resources.rmps, ahead)) {
                ahead.tag = 0;
            }
        }
        place = std::ranges::find(ahead_, 0U, &Ahead::tag);
    }
    if (place == ahead_.end()) place = ahead_.emplace(ahead_.end());
    place->tag = tag;
    return *place;
}

// The WQE is used up.
void ReceiveQueues::retire(Buffers& buffers) {
    WorkQueue& wq = *buffers.wq;
    if (buffers.linked) {
        const prm::ConstView<prm::wqe_srq_next_seg> next(buffers.wqe());
        wq.linked_index = static_cast<std::uint16_t>(
            next.get<prm::wqe_srq_next_seg::next_wqe_index>() & (wq.entries() - 1));
    }
    wq.fetched_used += static_cast<std::uint32_t>(wq.stride());
    ++wq.consumer;
    wq.strides_used = 0;
}

// Where `bytes` of the packet go, `skip` bytes into the WQE's buffers: into ranges_.
WqeStatus ReceiveQueues::scatter_list(Buffers& buffers, std::uint64_t skip, std::uint64_t bytes) {
    ranges_.clear();
    auto wqe = buffers.wqe();
    if (buffers.linked) wqe = wqe.subspan(prm::wqe_srq_next_seg::kBytes);
    for (; bytes != 0 && wqe.size() >= prm::wqe_data_seg::kBytes;
         wqe = wqe.subspan(prm::wqe_data_seg::kBytes)) {
        const prm::ConstView<prm::wqe_data_seg> segment(wqe);
        const std::uint32_t key = segment.get<prm::wqe_data_seg::lkey>();
        if (key == state_.context.keys.terminate_scatter_list) break;
        std::uint64_t length = segment.get<prm::wqe_data_seg::byte_count>();
        std::uint64_t address = segment.get<prm::wqe_data_seg::addr>();
        if (skip >= length) {
            skip -= length;
            continue;
        }
        address += skip;
        length = std::min(length - skip, bytes);
        skip = 0;
        TranslationRequest request;
        request.key = key;
        request.pd = buffers.pd;
        request.address = address;
        request.bytes = length;
        request.access = Access::local_write;
        request.reserved_lkey = buffers.reserved_lkey;
        const TranslationError error = state_.translator.translate(request, ranges_);
        if (error != TranslationError::none) return protection_status(error);
        bytes -= length;
    }
    return bytes == 0 ? wqe_status::kSuccess : wqe_status::kMessageTooLong;
}

// Strides too few for the packet are given back with a filler; false if there was nothing to skip.
bool ReceiveQueues::skip_rest(Rq& rq, Buffers& buffers, Picoseconds at) {
    WorkQueue& wq = *buffers.wq;
    if (wq.strides_used == 0) return false;
    Cqe cqe{};
    const prm::View<prm::cqe64> view(cqe);
    view.set<prm::cqe64::mpwrq, prm::cqe64_mpwrq::filler>(1);
    view.set<prm::cqe64::mpwrq, prm::cqe64_mpwrq::consumed_strides>(buffers.strides -
                                                                   wq.strides_used);
    view.set<prm::cqe64::wqe_counter>(wq.strides_used);
    complete_at(at, rq, buffers, cqe);
    ++state_.counters.receive_fillers;
    retire(buffers);
    return true;
}

Picoseconds ReceiveQueues::write(Picoseconds at, const ReceiveRequest& request,
                                 DmaStatus& status) {
    Picoseconds finish = at;
    auto range = ranges_.begin();
    std::uint64_t used = 0;
    for (std::span<const std::byte> piece : request.pieces) {
        while (!piece.empty()) {
            if (used == range->bytes) {
                ++range;
                used = 0;
                continue;
            }
            const auto n = static_cast<std::size_t>(
                std::min<std::uint64_t>(piece.size(), range->bytes - used));
            if (!range->zeros) {
                const DmaResult result =
                    state_.context.host.write(state_.context.function, at, range->address + used,
                                              piece.first(n));
                if (!result.ok()) {
                    status = result.status;
                    return finish;
                }
                finish = std::max(finish, result.finish);
            }
            used += n;
            piece = piece.subspan(n);
        }
    }
    return finish;
}

ReceiveOutcome ReceiveQueues::receive(Rq& rq, Picoseconds at, const ReceiveRequest& request) {
    at = state_.not_before_now(at);
    QueueCounters& counters = state_.counters;
    Buffers buffers;
    if (rq.state != QueueState::ready || !open(rq, buffers)) {
        ++counters.receive_not_ready;
        return {ReceiveVerdict::not_ready, at};
    }
    if (buffers.wq == nullptr) buffers.wq = &rq.wq;
    WorkQueue& wq = *buffers.wq;
    std::uint64_t bytes = request.synthetic;
    for (const auto& piece : request.pieces) bytes += piece.size();
    const std::uint64_t taken = bytes + buffers.shift;
    Picoseconds ready = at;
    if (!next_wqe(buffers, ready)) {
        ++counters.receive_no_buffer;
        count_out_of_buffer(rq);
        return {ReceiveVerdict::no_buffer, at};
    }
    std::uint32_t strides = 0;
    if (buffers.striding) {
        strides = static_cast<std::uint32_t>((taken + buffers.stride_bytes - 1) /
                                             buffers.stride_bytes);
        if (strides > buffers.strides) {
            ++counters.receive_too_small;
            return {ReceiveVerdict::too_small, at};
        }
        if (wq.strides_used + strides > buffers.strides && skip_rest(rq, buffers, ready) &&
            !next_wqe(buffers, ready)) {
            ++counters.receive_no_buffer;
            count_out_of_buffer(rq);
            return {ReceiveVerdict::no_buffer, at};
        }
    }
    const std::uint64_t skip = wq.strides_used * buffers.stride_bytes + buffers.shift;
    const WqeStatus status = scatter_list(buffers, skip, bytes);
    if (status == wqe_status::kMessageTooLong) {
        ++counters.receive_too_small;
        return {ReceiveVerdict::too_small, at};
    }
    if (!status.ok()) {
        fail(rq, buffers, ready, status);
        return {ReceiveVerdict::failed, at};
    }
    DmaStatus refused = DmaStatus::ok;
    const Picoseconds finish = write(ready, request, refused);
    if (refused == DmaStatus::bus_master_disabled) {
        ++counters.receive_failures;
        return {ReceiveVerdict::failed, at};
    }
    if (refused != DmaStatus::ok) {
        fail(rq, buffers, ready, wqe_status::kGatherFailed);
        return {ReceiveVerdict::failed, at};
    }
    ++counters.received;
    counters.received_bytes += bytes;

    Cqe cqe{};
    std::ranges::copy(request.cqe, cqe.begin());
    const prm::View<prm::cqe64> view(cqe);
    if (buffers.striding) {
        view.set<prm::cqe64::mpwrq, prm::cqe64_mpwrq::consumed_strides>(strides);
        view.set<prm::cqe64::mpwrq, prm::cqe64_mpwrq::byte_cnt>(bytes & 0xffff);
        view.set<prm::cqe64::wqe_counter>(wq.strides_used);
    } else {
        view.set<prm::cqe64::byte_cnt>(bytes);
        view.set<prm::cqe64::wqe_counter>(buffers.index());
    }
    view.set<prm::cqe64::timestamp>(
        completions_.timestamp(request.arrival, rq.view().get<prm::rqc::ts_format>()));
    complete_at(finish, rq, buffers, cqe);
    if (buffers.striding) wq.strides_used += strides;
    if (!buffers.striding || wq.strides_used == buffers.strides) retire(buffers);
    return {ReceiveVerdict::delivered, finish};
}

// Completions of one queue keep their order: each goes out behind the one before.
void ReceiveQueues::complete_at(Picoseconds at, Rq& rq, const Buffers& buffers, const Cqe& cqe) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
        slot = static_cast<std::uint32_t>(pending_.size());
        pending_.emplace_back();
    } else {
        slot = free_.back();
        free_.pop_back();
    }
    Pending& pending = pending_[slot];
    pending.cqe = cqe;
    pending.cqn = rq.cqn;
    const prm::View<prm::cqe64> view(pending.cqe);
    view.set<prm::cqe64::opcode>(kOpcodeReceive);
    const std::uint32_t user_index = rq.view().get<prm::rqc::user_index>();
    view.set<prm::cqe64::srqn>(user_index == kVersion0Index ? 0 : user_index);
    if (buffers.striding) view.set<prm::cqe64::wqe_id>(buffers.index());
    rq.wq.completed_until =
        std::max(rq.wq.completed_until, at + state_.context.timing.completion_write);
    state_.calendar().schedule<&ReceiveQueues::completed>(
        state_.not_before_now(rq.wq.completed_until), this,
        {rq.id.number, state_.tag(rq.wq.tag), slot});
}

void ReceiveQueues::completed(const EventArguments& arguments) {
    const auto slot = static_cast<std::uint32_t>(arguments.c);
    free_.push_back(slot);
    const Rq* rq = state_.context.resources.rqs.find(static_cast<std::uint32_t>(arguments.a));
    if (rq == nullptr || rq->wq.tag != arguments.b) {
        ++state_.counters.stale_events;
        return;
    }
    Cqe cqe = pending_[slot].cqe;
    completions_.push(pending_[slot].cqn, state_.calendar().now(), cqe, false);
}

// A WQE that cannot be used puts the queue into error, with its own completion first.
void ReceiveQueues::fail(Rq& rq, Buffers& buffers, Picoseconds at, const WqeStatus& status) {
    ++state_.counters.receive_failures;
    CqeOrigin origin{rq.id.number, buffers.index(), 0, rq.view().get<prm::rqc::user_index>()};
    if (buffers.striding) {
        origin.wqe_counter = static_cast<std::uint16_t>(buffers.wq->strides_used);
    }
    Cqe cqe = make_error_cqe(origin, status, true);
    if (buffers.striding) {
        prm::View<prm::cqe64>(cqe).set<prm::cqe64::wqe_id>(buffers.index());
    }
    if (completions_.push(rq.cqn, at, cqe, true)) ++state_.counters.error_cqes;
    retire(buffers);
    rq.state = QueueState::error;
    rq.view().set<prm::rqc::state>(kRqcStateError);
    flush_.begin(rq, at, false);
}

void ReceiveQueues::count_out_of_buffer(const Rq& rq) {
    const std::uint32_t set = rq.view().get<prm::rqc::counter_set_id>();
    QCounter* counter = state_.context.resources.q_counters.find(set);
    if (counter != nullptr) ++counter->values["out_of_buffer"];
}

}  // namespace cxsim::model
