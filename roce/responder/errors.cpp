// SPDX-License-Identifier: Apache-2.0
// What is wrong with a request, and how the peer and the QP's owner learn of it (IBTA volume 1,
// section 9.9.3). RC: the answers to earlier requests leave first, then the NAK, then the QP goes
// into error. UC and UD know no NAK: the peer's faults end in silence, our own in the QP's error.
#include "roce/responder/responder.h"
#include "roce/responder/syndromes.h"

#include <string_view>

namespace cxsim::roce {
namespace {

using model::Picoseconds;

struct Fault {
    prm::EventType event;
    std::uint8_t syndrome;  // of a receive that was taken for the message
    std::string_view counter;
};

Fault fault_of(NakCode code) {
    switch (code) {
        case NakCode::remote_access_error:
            return {prm::EventType::WQ_ACCESS_ERROR, kSyndromeLocalAccess,
                    "resp_remote_access_errors"};
        case NakCode::remote_operational_error:
            return {prm::EventType::WQ_CATAS_ERROR, kSyndromeLocalQpOperation,
                    "resp_local_qp_error"};
        default:
            return {prm::EventType::WQ_INVAL_REQ_ERROR, kSyndromeRemoteInvalidRequest,
                    "resp_remote_invalid_request"};
    }
}

}  // namespace

/// The request breaks a rule, or cannot be carried out.
void Responder::refuse(Connection& connection, Picoseconds at, NakCode code) {
    ResponderState& state = connection.responder;
    const Fault fault = fault_of(code);
    if (connection.service == WireService::uc && code != NakCode::remote_operational_error) {
        state.message = ResponderState::Message::none;
        ++environment_.counters.dropped_request;
        return;
    }
    // The queues count by the syndromes of completions, which have none for the peer's faults.
    if (!state.holds_receive || code != NakCode::remote_operational_error) {
        environment_.queues.count(connection.qp, fault.counter, 1);
    }
    state.failure = {.pending = true,
                     .on_receive = state.holds_receive,
                     .status = {.syndrome = fault.syndrome},
                     .event = fault.event};
    fail(connection, at, code);
}

/// The message does not go into the receive that was taken for it.
void Responder::refuse_receive(Connection& connection, Picoseconds at, NakCode code,
                               std::uint8_t syndrome) {
    if (code == NakCode::remote_access_error) {
        environment_.queues.count(connection.qp, fault_of(code).counter, 1);
    }
    connection.responder.failure = {
        .pending = true, .on_receive = true, .status = {.syndrome = syndrome}};
    fail(connection, at, code);
}

void Responder::fail(Connection& connection, Picoseconds at, NakCode code) {
    if (connection.service == WireService::uc || connection.service == WireService::ud) {
        report_failure(connection, at);
        return;
    }
    nak(connection, AethKind::nak, static_cast<std::uint8_t>(code),
        at + environment_.timing.acknowledge, true);
}

/// Puts the QP into error; the queues stop the connection from within.
void Responder::report_failure(Connection& connection, Picoseconds at) {
    const ResponderFailure failure = connection.responder.failure;
    if (failure.on_receive) {
        environment_.queues.receive_failed(connection.qp, at, connection.responder.receive,
                                           failure.status);
    } else {
        environment_.queues.responder_error(connection.qp, at, failure.event);
    }
}

}  // namespace cxsim::roce
