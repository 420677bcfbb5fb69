// SPDX-License-Identifier: Apache-2.0
// The queues as the transport sees them: QpQueues over the send and receive sides of QPs.
#pragma once

#include "model/queues/engine_state.h"
#include "model/queues/qp_receives.h"
#include "model/queues/send_queues.h"
#include "model/queues/transport_port.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace cxsim::model {

class QpPort : public QpQueues {
  public:
    QpPort(EngineState& state, SendQueues& sends, QpReceives& receives)
        : state_(state), sends_(sends), receives_(receives) {}

    void send_done(Qp& qp, Picoseconds at, const SendDone& done) override;
    void send_failed(Qp& qp, Picoseconds at, std::uint16_t wqe_index,
                     const WqeStatus& status) override;
    void send_room(Qp& qp, Picoseconds at) override;

    ReceiveVerdict take_receive(Qp& qp, Picoseconds& at, PostedReceive& into) override;
    void receive_done(Qp& qp, Picoseconds at, const ReceiveDone& done) override;
    void receive_failed(Qp& qp, Picoseconds at, const PostedReceive& posted,
                        const WqeStatus& status) override;
    void responder_error(Qp& qp, Picoseconds at, prm::EventType type) override;
    void event(Qp& qp, Picoseconds at, prm::EventType type) override;

    TranslationError translate(const TranslationRequest& request,
                               std::vector<HostRange>& out) override;
    bool invalidate(Qp& qp, std::uint32_t key) override;
    void count(Qp& qp, std::string_view name, std::uint64_t n) override;

  private:
    EngineState& state_;
    SendQueues& sends_;
    QpReceives& receives_;
};

}  // namespace cxsim::model
