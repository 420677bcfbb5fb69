// SPDX-License-Identifier: Apache-2.0
// Rings of receive WQEs, cyclic or linked lists: what the driver posted is fetched, cyclic rings
// ahead of need, and used up one by one.
#pragma once

#include "model/queues/engine_state.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cxsim::model {

/// The ring that feeds a receive queue, its own or a pool's; made anew for each packet.
struct ReceiveBuffers {
    WorkQueue* wq = nullptr;
    std::uint32_t pd = 0;
    bool reserved_lkey = false;
    bool linked = false;
    bool striding = false;
    std::uint32_t shift = 0;         ///< bytes left free in front of a packet
    std::uint64_t stride_bytes = 0;  ///< of a striding queue
    std::uint32_t strides = 0;

    std::uint16_t index() const { return linked ? wq->linked_index : wq->consumer; }
    /// The WQE at the consumer index, once next_wqe() has said that there is one.
    std::span<const std::byte> wqe() const {
        return std::span<const std::byte>(wq->fetched)
            .subspan(wq->fetched_used, static_cast<std::size_t>(wq->stride()));
    }
    /// Its data segments.
    std::span<const std::byte> segments() const {
        return linked ? wqe().subspan(prm::wqe_srq_next_seg::kBytes) : wqe();
    }
};

class ReceiveRings {
  public:
    explicit ReceiveRings(EngineState& state) : state_(state) {}

    /// Makes the WQE at the consumer index available in `fetched`; false: nothing is posted or the
    /// host refused. `at` becomes the time at which it is there.
    bool next_wqe(ReceiveBuffers& buffers, Picoseconds& at);
    /// The WQE is used up.
    void retire(ReceiveBuffers& buffers);
    /// Reads the doorbell record; false: refused, or it promises more than the ring holds.
    bool read_producer(WorkQueue& wq, Picoseconds& at);

  private:
    /// WQEs behind those in WorkQueue::fetched, on their way or there. WorkQueue::active says
    /// that there are some.
    struct Ahead {
        std::uint64_t tag = 0;  ///< of the work queue
        Picoseconds ready;
        std::vector<std::byte> wqes;
    };

    bool learn_producer(WorkQueue& wq, Picoseconds& at);
    bool fetch(ReceiveBuffers& buffers, std::uint16_t index, Picoseconds& at,
               std::vector<std::byte>& into);
    void read_ahead(ReceiveBuffers& buffers, Picoseconds at);
    bool take_ahead(WorkQueue& wq, Picoseconds& at);
    Ahead& new_ahead(std::uint64_t tag);
    bool lives(std::uint64_t tag) const;

    EngineState& state_;
    std::vector<Ahead> ahead_;  // one for each queue that has some
};

}  // namespace cxsim::model
