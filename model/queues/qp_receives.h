// SPDX-License-Identifier: Apache-2.0
// Receive sides of QPs: WQEs of the QP's own ring or of a shared queue are given to the transport,
// and completed when it says so.
#pragma once

#include "model/queues/engine_state.h"
#include "model/queues/event_queues.h"
#include "model/queues/qp_records.h"
#include "model/queues/receive_completions.h"
#include "model/queues/receive_rings.h"
#include "model/queues/transport_port.h"
#include "model/queues/work_ring.h"

#include <cstdint>

namespace cxsim::model {

class QpReceives {
  public:
    QpReceives(EngineState& state, EventQueues& events, ReceiveRings& rings,
               ReceiveCompletions& under_way)
        : state_(state), events_(events), rings_(rings), under_way_(under_way), records_(state) {}

    /// See QpQueues::take_receive. `failed`: the WQE was taken and `status` says what is wrong
    /// with it; the caller ends it.
    ReceiveVerdict take(Qp& qp, Picoseconds& at, PostedReceive& into, WqeStatus& status);
    /// See QpQueues::receive_done.
    void done(Qp& qp, Picoseconds at, const ReceiveDone& done);
    /// The error CQE of a WQE taken. False: it was not, or is completed already.
    bool fail(Qp& qp, Picoseconds at, std::uint16_t index, std::uint32_t shared_number,
              const WqeStatus& status);

    /// The QP is in error: WQEs taken and not completed are its own ring's again, so that the flush
    /// finds them; those of a shared queue are flushed here. Returns when the last CQE is out.
    Picoseconds abandon(Qp& qp, Picoseconds at, bool by_software);
    /// The QP is reset or goes.
    void forget(Qp& qp);

    /// A shared queue's limit was set by a command: below it already, it says so at once.
    void armed(ObjectId shared_queue, Picoseconds at);

  private:
    struct Taken {
        std::uint16_t index = 0;
        std::uint32_t shared_number = 0;
    };
    struct Record {
        std::uint64_t tag = 0;
        WorkRing<Taken> taken;
        void clear() { taken.clear(); }
    };
    struct Source;

    bool open(Qp& qp, Source& source) const;
    bool open_shared(std::uint32_t number, Source& source) const;
    WqeStatus scatter(const Qp& qp, const ReceiveBuffers& buffers, PostedReceive& into);
    void check_limit(Source& source, Picoseconds at);
    bool take_back(Qp& qp, std::uint16_t index, std::uint32_t shared_number);
    void push_error(Qp& qp, Picoseconds at, const Taken& taken, const WqeStatus& status);

    EngineState& state_;
    EventQueues& events_;
    ReceiveRings& rings_;
    ReceiveCompletions& under_way_;
    QpRecords<Record, &Qp::rq> records_;
};

}  // namespace cxsim::model
