// SPDX-License-Identifier: Apache-2.0
#include "model/queues/receive_queues.h"

#include "model/base/copy_bytes.h"

#include <algorithm>

namespace cxsim::model {
namespace {

constexpr std::uint32_t kMemoryOfRmp = 1;  // rqc.mem_rq_type
constexpr std::uint32_t kRqcStateError = 3;
constexpr std::uint32_t kOpcodeReceive = 2;
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

bool ReceiveQueues::open(const Rq& rq, ReceiveBuffers& buffers) const {
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
    ReceiveBuffers buffers;
    if (!open(rq, buffers) || !buffers.striding) return 0;
    return static_cast<std::uint32_t>(buffers.strides * buffers.stride_bytes) - buffers.shift;
}

// Where `bytes` of the packet go, `skip` bytes into the WQE's buffers: into ranges_.
WqeStatus ReceiveQueues::scatter_list(ReceiveBuffers& buffers, std::uint64_t skip,
                                      std::uint64_t bytes) {
    ranges_.clear();
    auto wqe = buffers.segments();
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
bool ReceiveQueues::skip_rest(Rq& rq, ReceiveBuffers& buffers, Picoseconds at) {
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
    rings_.retire(buffers);
    return true;
}

Picoseconds ReceiveQueues::write(Picoseconds at, const ReceiveRequest& request, DmaStatus& status) {
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
                const Picoseconds start = state_.translations_of(range->origin, used, n, at);
                const DmaResult result = state_.context.host.write(
                    state_.context.function, start, range->address + used, piece.first(n));
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
    ReceiveBuffers buffers;
    if (rq.state != QueueState::ready || !open(rq, buffers)) {
        ++counters.receive_not_ready;
        return {ReceiveVerdict::not_ready, at};
    }
    at = state_.context_of(ContextKind::rq, rq.id.number, at);
    if (buffers.wq == nullptr) buffers.wq = &rq.wq;
    WorkQueue& wq = *buffers.wq;
    std::uint64_t bytes = request.synthetic;
    for (const auto& piece : request.pieces) bytes += piece.size();
    const std::uint64_t taken = bytes + buffers.shift;
    Picoseconds ready = at;
    if (!rings_.next_wqe(buffers, ready)) {
        ++counters.receive_no_buffer;
        count_out_of_buffer(rq);
        return {ReceiveVerdict::no_buffer, at};
    }
    std::uint32_t strides = 0;
    if (buffers.striding) {
        strides =
            static_cast<std::uint32_t>((taken + buffers.stride_bytes - 1) / buffers.stride_bytes);
        if (strides > buffers.strides) {
            ++counters.receive_too_small;
            return {ReceiveVerdict::too_small, at};
        }
        if (wq.strides_used + strides > buffers.strides && skip_rest(rq, buffers, ready) &&
            !rings_.next_wqe(buffers, ready)) {
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
    copy_bytes(request.cqe, cqe.data());
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
    // PCIe keeps it behind the data: it need not wait until they are visible.
    complete_at(ready, rq, buffers, cqe);
    if (buffers.striding) wq.strides_used += strides;
    if (!buffers.striding || wq.strides_used == buffers.strides) rings_.retire(buffers);
    return {ReceiveVerdict::delivered, finish};
}

void ReceiveQueues::complete_at(Picoseconds at, Rq& rq, const ReceiveBuffers& buffers,
                                const Cqe& cqe) {
    Cqe whole = cqe;
    const prm::View<prm::cqe64> view(whole);
    view.set<prm::cqe64::opcode>(kOpcodeReceive);
    const std::uint32_t user_index = rq.view().get<prm::rqc::user_index>();
    view.set<prm::cqe64::srqn>(user_index == kVersion0Index ? 0 : user_index);
    if (buffers.striding) view.set<prm::cqe64::wqe_id>(buffers.index());
    under_way_.add(rq.id, rq.wq, rq.cqn, at, whole, false);
}

// A WQE that cannot be used puts the queue into error, with its own completion first.
void ReceiveQueues::fail(Rq& rq, ReceiveBuffers& buffers, Picoseconds at, const WqeStatus& status) {
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
    rings_.retire(buffers);
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
