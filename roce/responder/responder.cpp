// SPDX-License-Identifier: Apache-2.0
// Which packet may come: sequence numbers, order of the operations inside a message (IBTA volume 1,
// sections 9.7.4, 9.7.5 and 9.8).
#include "roce/responder/responder.h"

namespace cxsim::roce {
namespace {

using model::Picoseconds;

// Whether the packet begins a message where none is under way, or goes on with the one that is.
bool in_order(ResponderState::Message under_way, const OperationTraits& traits) {
    using Message = ResponderState::Message;
    if (traits.first) return under_way == Message::none;
    return under_way == (traits.send ? Message::send : Message::write);
}

}  // namespace

void Responder::start(Connection& connection) {
    stop(connection);
    ResponderState& state = connection.responder;
    state.expected = connection.attributes.receive_psn & kPsnMask;
    state.msn = 0;
    state.established = false;
    state.next_resource = 0;
    state.completed_until = {};
    state.last_ready = {};
    for (ResponderResource& resource : state.resources) resource.valid = false;
    if (state.resources.size() < connection.attributes.responder_resources) {
        state.resources.resize(connection.attributes.responder_resources);
    }
}

void Responder::stop(Connection& connection) {
    ResponderState& state = connection.responder;
    environment_.calendar.cancel(state.event);
    state.event = {};
    state.event_at = Picoseconds::max();
    state.responses.clear();
    state.message = ResponderState::Message::none;
    state.received = 0;
    state.last_write = {};
    state.holds_receive = false;
    state.nak_in_flight = false;
    state.slot_booked = state.translations_read = false;
    state.failure = {};
}

std::uint32_t Responder::expected_psn(const Connection& connection) const {
    return connection.responder.expected;
}

std::uint32_t Responder::message_number(const Connection& connection) const {
    return connection.responder.msn;
}

void Responder::request(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    if (connection.responder.failure.pending) {
        ++environment_.counters.not_ready;
        return;
    }
    switch (connection.service) {
        case WireService::ud:
            datagram(connection, at, packet);
            break;
        case WireService::uc:
            announce(connection, at);
            unreliable(connection, at, packet);
            break;
        default:
            announce(connection, at);
            reliable(connection, at, packet);
            break;
    }
}

void Responder::announce(Connection& connection, Picoseconds at) {
    if (connection.responder.established) return;
    connection.responder.established = true;
    if (connection.qp.state == model::QpState::rtr) {
        environment_.queues.event(connection.qp, at, prm::EventType::COMM_EST);
    }
}

void Responder::reliable(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    ResponderState& state = connection.responder;
    const TransportHeaders& headers = packet.headers;
    const std::int32_t distance = psn_distance(headers.psn, state.expected);
    if (distance > 0) {
        ahead(connection, at);
        return;
    }
    if (distance < 0) {
        duplicate(connection, at, packet);
        return;
    }
    state.nak_in_flight = false;
    const OperationTraits& traits = headers.traits();
    if (!in_order(state.message, traits)) {
        refuse(connection, at, NakCode::invalid_request);
    } else if (headers.operation() == Operation::read_request) {
        read(connection, at, packet);
    } else if (traits.atomic) {
        atomic(connection, at, packet);
    } else {
        message(connection, at, packet);
    }
}

// One NAK, and one count, for each time that packets are missing.
void Responder::ahead(Connection& connection, Picoseconds at) {
    ResponderState& state = connection.responder;
    if (state.nak_in_flight) {
        ++environment_.counters.dropped_sequence;
        return;
    }
    state.nak_in_flight = true;
    environment_.queues.count(connection.qp, "out_of_sequence", 1);
    nak(connection, AethKind::nak, static_cast<std::uint8_t>(NakCode::psn_sequence_error),
        at + environment_.timing.nak, false);
}

void Responder::duplicate(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    environment_.queues.count(connection.qp, "duplicate_request", 1);
    if (packet.headers.operation() == Operation::read_request) {
        read_again(connection, at, packet);
    } else if (packet.headers.traits().atomic) {
        atomic_again(connection, at, packet);
    } else if (packet.headers.ack_request) {
        // Everything up to the last PSN accepted is acknowledged, so that the answer never goes
        // back behind an earlier one.
        acknowledge(connection, psn_add(connection.responder.expected, kPsnMask),
                    at + environment_.timing.acknowledge);
    }
}

// A gap costs the message in which it lies; the receive that it holds waits for the next one.
void Responder::unreliable(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    using Message = ResponderState::Message;
    ResponderState& state = connection.responder;
    const OperationTraits& traits = packet.headers.traits();
    if (packet.headers.psn != state.expected) {
        environment_.queues.count(connection.qp, "out_of_sequence", 1);
        state.message = Message::none;
    }
    state.expected = psn_add(packet.headers.psn, 1);
    if (traits.first) state.message = Message::none;
    if (!in_order(state.message, traits)) {
        state.message = Message::none;
        ++environment_.counters.dropped_sequence;
        return;
    }
    message(connection, at, packet);
}

}  // namespace cxsim::roce
