// SPDX-License-Identifier: Apache-2.0
// The packet path of the driver; packet_objects.cpp makes the objects that it works on.
#include "scenarios/driver/packet_driver.h"

#include "model/base/endian.h"
#include "model/queues/wqe.h"

#include <fmt/format.h>

#include <algorithm>

namespace cxsim::scenarios {

using prm::View;

namespace {

constexpr std::size_t kEntryBytes = 64;
constexpr std::uint32_t kNotWritten = 0xf;  // cqe64.opcode
constexpr std::uint32_t kRequester = 0;
constexpr std::uint32_t kResponderSend = 2;
constexpr std::uint64_t kUarBytes = 4096;
constexpr std::uint64_t kReceiveBufferBytes = 2048;

}  // namespace

// The next entry that the card has written; empty if there is none.
std::span<const std::byte> PacketDriver::next_completion(CompletionQueue& cq) {
    const std::size_t slot = cq.consumer & ((std::uint32_t{1} << cq.log_size) - 1);
    const std::span<const std::byte> entry = cq.ring.subspan(slot * kEntryBytes, kEntryBytes);
    const prm::ConstView<prm::cqe64> view(entry);
    const std::uint32_t lap = (cq.consumer >> cq.log_size) & 1;
    if (view.get<prm::cqe64::opcode>() == kNotWritten || view.get<prm::cqe64::owner>() != lap) {
        return {};
    }
    ++cq.consumer;
    return entry;
}

void PacketDriver::poll() {
    for (SendQueue& queue : send_) {
        poll_sent(queue);
        if (sending_) post(queue, ~0U);
    }
    for (ReceiveQueue& queue : receive_) poll_received(queue);
}

void PacketDriver::poll_sent(SendQueue& queue) {
    const std::uint32_t before = queue.cq.consumer;
    while (true) {
        const auto entry = next_completion(queue.cq);
        if (entry.empty()) break;
        const prm::ConstView<prm::cqe64> view(entry);
        if (view.get<prm::cqe64::opcode>() != kRequester) {
            throw DriverError(fmt::format("a send on SQ {:#x} ended with CQE opcode {:#x}",
                                          queue.number, view.get<prm::cqe64::opcode>()));
        }
        const unsigned blocks = blocks_per_wqe();
        const auto end =
            static_cast<std::uint16_t>(view.get<prm::cqe64::wqe_counter>() + blocks);
        const auto done = static_cast<std::uint16_t>(end - queue.consumer);
        counters_.sent += std::uint64_t{done} / blocks * options_.frames_per_wqe;
        queue.consumer = end;
    }
    if (queue.cq.consumer == before) return;
    model::store_be<std::uint32_t>(queue.cq.record.data(), queue.cq.consumer & 0xffffff);
}

void PacketDriver::poll_received(ReceiveQueue& queue) {
    const std::uint32_t before = queue.cq.consumer;
    while (true) {
        const auto entry = next_completion(queue.cq);
        if (entry.empty()) break;
        const prm::ConstView<prm::cqe64> view(entry);
        if (view.get<prm::cqe64::opcode>() != kResponderSend) {
            throw DriverError(fmt::format("RQ {:#x} has a CQE with opcode {:#x}", queue.number,
                                          view.get<prm::cqe64::opcode>()));
        }
        const std::uint32_t bytes = view.get<prm::cqe64::byte_cnt>();
        ++counters_.received;
        counters_.received_bytes += bytes;
        if (bytes != options_.frame_bytes || view.get<prm::cqe64::l3_ok>() == 0 ||
            view.get<prm::cqe64::l4_ok>() == 0) {
            ++counters_.wrong;
        }
    }
    if (queue.cq.consumer == before) return;
    model::store_be<std::uint32_t>(queue.cq.record.data(), queue.cq.consumer & 0xffffff);
    // Each buffer lies at the place of its WQE in the ring: posting it again is counting on.
    const std::uint32_t entries = std::uint32_t{1} << queue.cq.log_size;
    model::store_be<std::uint32_t>(queue.record.data(), (queue.cq.consumer + entries) & 0xffff);
    const std::uint64_t slot = (queue.cq.consumer - 1) & (entries - 1);
    last_ = driver_.host().memory().window(queue.first_buffer + slot * kReceiveBufferBytes,
                                           options_.frame_bytes);
}

// Announces up to `limit` WQEs, as many as there is room for.
void PacketDriver::post(SendQueue& queue, unsigned limit) {
    const unsigned blocks = blocks_per_wqe();
    const auto ring_blocks = static_cast<std::uint32_t>(queue.ring.size() / kEntryBytes);
    const bool single = limit == 1;
    std::span<std::byte> last;
    for (; limit > 0; --limit) {
        const auto used = static_cast<std::uint16_t>(queue.producer - queue.consumer);
        if (used + blocks > ring_blocks) break;
        last = queue.ring.subspan((queue.producer & (ring_blocks - 1)) * kEntryBytes,
                                  prm::wqe_ctrl_seg::kBytes);
        // The rest of the WQE stands in the ring already.
        const View<prm::wqe_ctrl_seg> control(last);
        control.set<prm::wqe_ctrl_seg::wqe_index>(queue.producer);
        ++queue.wqes;
        const bool signaled = queue.wqes % options_.signal_every == 0;
        control.set<prm::wqe_ctrl_seg::ce>(signaled ? 2U : 0U);
        queue.producer = static_cast<std::uint16_t>(queue.producer + blocks);
        counters_.posted += options_.frames_per_wqe;
    }
    if (last.empty()) return;
    model::store_be<std::uint32_t>(queue.record.data(), queue.producer);
    const std::uint64_t uar = driver_.uar() * kUarBytes;
    const std::size_t wqe = std::size_t{blocks} * kEntryBytes;
    const bool whole = options_.blue_flame && single && wqe <= prm::blueflame_buffer::kBytes;
    driver_.host().mmio_write(uar + prm::uar_page::blueflame::kOffset / 8,
                              whole ? std::span<const std::byte>(last.data(), wqe) : last.first(8));
    ++counters_.doorbells;
}

bool PacketDriver::send_one() {
    const std::uint64_t before = counters_.posted;
    post(send_.front(), 1);
    return counters_.posted != before;
}

}  // namespace cxsim::scenarios
