// SPDX-License-Identifier: Apache-2.0
// Inside SendQueues: an SQ or the send side of a QP.
#pragma once

#include "model/queues/send_queues.h"

#include <cstdint>

namespace cxsim::model {

// The two kinds of send queues seen alike; made anew for each event.
struct SendQueues::Queue {
    Sq* sq = nullptr;
    Qp* qp = nullptr;
    ObjectId id;
    WorkQueue* wq = nullptr;
    std::uint32_t cqn = 0;

    bool running() const {
        return sq != nullptr ? sq->state == QueueState::ready : qp->state == QpState::rts;
    }
    bool in_error() const {
        return sq != nullptr ? sq->state == QueueState::error
                             : qp->state == QpState::error || qp->state == QpState::sq_error;
    }
    /// Takes doorbells without running.
    bool holds_back() const {
        return qp != nullptr &&
               (qp->state == QpState::sq_drained || qp->state == QpState::sq_draining);
    }
    std::uint32_t pd() const {
        return sq != nullptr ? sq->view().get<prm::sqc::wq, prm::wq::pd>()
                             : qp->view().get<prm::qpc::pd>();
    }
    bool reserved_lkey() const {
        return (sq != nullptr ? sq->view().get<prm::sqc::rlky>()
                              : qp->view().get<prm::qpc::rlky>()) != 0;
    }
    std::uint32_t user_index() const {
        return sq != nullptr ? sq->view().get<prm::sqc::user_index>()
                             : qp->view().get<prm::qpc::user_index>();
    }
    std::uint32_t timestamp_format() const {
        return sq != nullptr ? sq->view().get<prm::sqc::ts_format>()
                             : qp->view().get<prm::qpc::ts_format>();
    }
    std::uint32_t service_type() const { return qp->view().get<prm::qpc::st>(); }
    std::uint64_t ring_bytes() const { return std::uint64_t{wq->entries()} << wq->log_stride; }
    std::uint16_t outstanding() const {
        return static_cast<std::uint16_t>(wq->producer - wq->consumer);
    }
    EventArguments arguments(EngineState& state, std::uint64_t c = 0) const {
        return {static_cast<std::uint64_t>(id.kind) << 32 | id.number, state.tag(wq->tag), c};
    }
};

}  // namespace cxsim::model
