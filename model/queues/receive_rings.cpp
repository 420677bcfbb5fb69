// SPDX-License-Identifier: Apache-2.0
#include "model/queues/receive_rings.h"

#include <algorithm>
#include <array>
#include <bit>

namespace cxsim::model {
namespace {

// Cyclic rings are read ahead by so much; a WQE of a linked list alone, its successor is not known.
constexpr std::uint64_t kPrefetchBytes = 2048;

}  // namespace

// Cyclic rings are read ahead, so that packets seldom wait for their WQE.
bool ReceiveRings::next_wqe(ReceiveBuffers& buffers, Picoseconds& at) {
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
bool ReceiveRings::learn_producer(WorkQueue& wq, Picoseconds& at) {
    const auto fetched =
        static_cast<std::uint16_t>((wq.fetched.size() - wq.fetched_used) / wq.stride());
    const auto next = static_cast<std::uint16_t>(wq.consumer + fetched);
    if (wq.producer != next) return true;
    Picoseconds known = at;
    if (!read_producer(wq, known) || wq.producer == next) return false;
    at = known;
    return true;
}

bool ReceiveRings::read_producer(WorkQueue& wq, Picoseconds& at) {
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
    if (static_cast<std::uint16_t>(producer - wq.consumer) > wq.entries()) return false;
    at = std::max(at, read.finish);
    wq.producer = producer;
    return true;
}

// Reads WQEs from `index` on. `at` becomes the time at which they are there.
bool ReceiveRings::fetch(ReceiveBuffers& buffers, std::uint16_t index, Picoseconds& at,
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
            const std::uint64_t run = std::min({posted, ring - offset, wq.ring.contiguous(offset),
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
void ReceiveRings::read_ahead(ReceiveBuffers& buffers, Picoseconds at) {
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
bool ReceiveRings::take_ahead(WorkQueue& wq, Picoseconds& at) {
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
ReceiveRings::Ahead& ReceiveRings::new_ahead(std::uint64_t tag) {
    auto place = std::ranges::find(ahead_, 0U, &Ahead::tag);
    if (place == ahead_.end() && std::has_single_bit(ahead_.size())) {
        for (Ahead& ahead : ahead_) {
            if (!lives(ahead.tag)) ahead.tag = 0;
        }
        place = std::ranges::find(ahead_, 0U, &Ahead::tag);
    }
    if (place == ahead_.end()) place = ahead_.emplace(ahead_.end());
    place->tag = tag;
    return *place;
}

bool ReceiveRings::lives(std::uint64_t tag) const {
    bool found = false;
    const auto look = [&](const WorkQueue& wq) { found = found || wq.tag == tag; };
    const Resources& resources = state_.context.resources;
    resources.rqs.for_each([&](const Rq& rq) { look(rq.wq); });
    resources.rmps.for_each([&](const Rmp& rmp) { look(rmp.wq); });
    resources.srqs.for_each([&](const Srq& srq) { look(srq.wq); });
    resources.xrc_srqs.for_each([&](const XrcSrq& srq) { look(srq.wq); });
    resources.qps.for_each([&](const Qp& qp) { look(qp.rq); });
    return found;
}

void ReceiveRings::retire(ReceiveBuffers& buffers) {
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

}  // namespace cxsim::model
