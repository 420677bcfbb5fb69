// SPDX-License-Identifier: Apache-2.0
// The way back: acknowledgements, NAKs, READ responses and atomic acknowledgements in the order of
// their PSNs. One event of the calendar per connection is pending.
#include "roce/responder/responder.h"

#include <algorithm>

namespace cxsim::roce {
namespace {

using model::Picoseconds;
using Kind = Response::Kind;

// READ responses handed to the output in one event, so that other queue pairs get their turn.
constexpr unsigned kBurst = 16;
// Preamble, frame check sequence and gap; the shortest frame.
constexpr std::uint32_t kWireOverhead = 8 + 4 + 12;
constexpr std::uint32_t kShortestFrame = 60;

Operation read_operation(std::uint32_t index, std::uint32_t packets) {
    if (packets == 1) return Operation::read_response_only;
    if (index == 0) return Operation::read_response_first;
    return index + 1 == packets ? Operation::read_response_last : Operation::read_response_middle;
}

std::uint32_t payload_of_read(const Response& response, std::uint32_t mtu) {
    return std::min(mtu, response.bytes - response.sent * mtu);
}

}  // namespace

TransportHeaders Responder::headers_of(const Connection& connection, const Response& response,
                                       Operation operation, std::uint32_t psn) const {
    TransportHeaders headers;
    headers.opcode = opcode_of(connection.service, operation);
    headers.pkey = connection.attributes.pkey;
    headers.destination_qp = connection.attributes.remote_qp;
    headers.psn = psn;
    headers.syndrome = response.syndrome;
    headers.msn = response.msn;
    return headers;
}

// ---- What is to be sent ----

/// An acknowledgement that waits takes further ones in, up to timing.acknowledge_coalesce.
void Responder::acknowledge(Connection& connection, std::uint32_t psn, Picoseconds ready) {
    ResponderState& state = connection.responder;
    if (!state.responses.empty()) {
        Response& last = state.responses.back();
        if (last.kind == Kind::acknowledge &&
            last.folded < environment_.timing.acknowledge_coalesce) {
            ++last.folded;
            last.psn = psn;
            last.msn = state.msn;
            last.ready = std::max(last.ready, ready);
            return;
        }
    }
    append(connection, {.kind = Kind::acknowledge,
                        .syndrome = aeth_syndrome(AethKind::ack, kUnlimitedCredits),
                        .folded = 1,
                        .psn = psn,
                        .msn = state.msn,
                        .ready = ready});
}

/// Names the PSN expected.
void Responder::nak(Connection& connection, AethKind kind, std::uint8_t value, Picoseconds ready,
                    bool fatal) {
    append(connection, {.kind = Kind::nak,
                        .syndrome = aeth_syndrome(kind, value),
                        .fatal = fatal,
                        .psn = connection.responder.expected,
                        .msn = connection.responder.msn,
                        .ready = ready});
}

/// Of a QP that is in error already.
void Responder::nak_at_once(Connection& connection, Picoseconds at, NakCode code) {
    const Response response{
        .kind = Kind::nak,
        .syndrome = aeth_syndrome(AethKind::nak, static_cast<std::uint8_t>(code)),
        .psn = connection.responder.expected,
        .msn = connection.responder.msn,
        .ready = at + environment_.timing.acknowledge};
    send_short(connection, response, response.ready);
}

void Responder::append(Connection& connection, Response response) {
    ResponderState& state = connection.responder;
    if (!state.responses.empty()) {
        response.ready = std::max(response.ready, state.responses.back().ready);
    }
    state.responses.push_back(response);
    if (state.responses.size() == 1) wake(connection);
}

/// In front of what answers later requests.
void Responder::insert(Connection& connection, const Response& response) {
    ResponderState& state = connection.responder;
    const auto place = std::ranges::find_if(state.responses, [&](const Response& one) {
        return psn_distance(one.psn, response.psn) > 0;
    });
    const bool first = place == state.responses.begin();
    state.responses.insert(place, response);
    if (first) wake(connection);
}

// ---- When it is sent ----

/// What is to be sent first has changed.
void Responder::wake(Connection& connection) {
    const ResponderState& state = connection.responder;
    if (state.responses.empty()) return;
    wake_at(connection, std::max(environment_.calendar.now(), state.responses.front().ready));
}

void Responder::wake_at(Connection& connection, Picoseconds at) {
    ResponderState& state = connection.responder;
    if (state.event_at <= at) return;  // looks again then
    environment_.calendar.cancel(state.event);
    state.event_at = at;
    state.event =
        environment_.calendar.schedule(at,
                                       [](void* self, const model::EventArguments& arguments) {
                                           static_cast<Responder*>(self)->pump(arguments);
                                       },
                                       this, {connection.number, connection.tag});
}

void Responder::pump(const model::EventArguments& arguments) {
    Connection* connection =
        connections_.find(static_cast<std::uint32_t>(arguments.a), arguments.b);
    if (connection == nullptr) return;
    connection->responder.event = {};
    connection->responder.event_at = Picoseconds::max();
    pump(*connection);
}

void Responder::pump(Connection& connection) {
    ResponderState& state = connection.responder;
    const Picoseconds now = environment_.calendar.now();
    unsigned burst = kBurst;
    while (!state.responses.empty()) {
        Response& response = state.responses.front();
        if (response.ready > now) {
            wake_at(connection, response.ready);
            return;
        }
        if (response.kind == Kind::read) {
            if (!may_start_read(connection, response)) return;
            if (!may_read(connection, response, burst)) return;
            if (!send_read(connection, response)) continue;
            if (++response.sent < response.packets) continue;
        } else if (response.kind == Kind::atomic && !response.executed) {
            if (!may_change(connection, response)) return;
            if (!change(connection, response)) return;
            continue;
        } else {
            send_short(connection, response, now);
        }
        const bool fatal = response.fatal;
        state.responses.erase(state.responses.begin());
        if (fatal) {
            report_failure(connection, now);
            return;
        }
    }
}

/// Whether the card has begun with a READ; if not, it has been seen to that it does.
bool Responder::may_start_read(Connection& connection, Response& response) {
    if (response.admitted) return true;
    response.admitted = true;
    const Picoseconds now = environment_.calendar.now();
    const Picoseconds work = environment_.timing.read;
    response.ready = read_stage_.reserve(now, work) - work;
    if (response.ready <= now) return true;
    wake_at(connection, response.ready);
    return false;
}

/// Whether the next packet of a READ may go now; if not, it has been seen to that it goes later.
bool Responder::may_read(Connection& connection, const Response& response, unsigned& burst) {
    ResponderState& state = connection.responder;
    const Picoseconds now = environment_.calendar.now();
    if (burst == 0) {
        wake_at(connection, std::max(now, environment_.packet_stage.busy_until()));
        return false;
    }
    const Picoseconds room = environment_.output.room_at(now, connection.path);
    if (room > now) {
        wake_at(connection, room);
        return false;
    }
    if (connection.rate != nullptr && !state.slot_booked) {
        const std::uint8_t opcode =
            opcode_of(connection.service, read_operation(response.sent, response.packets));
        const std::uint32_t payload = payload_of_read(response, connection.attributes.mtu);
        const std::uint32_t frame = connection.path.header_bytes() +
                                    transport_header_bytes(opcode) + (payload + 3) / 4 * 4 +
                                    kIcrcBytes;
        state.slot = connection.rate->reserve(now, std::max(frame, kShortestFrame) + kWireOverhead);
        state.slot_booked = true;
    }
    if (state.slot_booked && state.slot > now) {
        wake_at(connection, state.slot);
        return false;
    }
    if (!environment_.synthetic && !state.translations_read) {
        const ResponderResource& resource = state.resources[response.resource];
        const std::span<const model::HostRange> ranges = resource.ranges;
        const std::uint32_t mtu = connection.attributes.mtu;
        const Stretch packet{std::uint64_t{response.sent} * mtu, payload_of_read(response, mtu)};
        const Picoseconds there = translated(environment_.caches, ranges, resource.cursor,
                                             packet.offset, packet.bytes, now);
        translate_ahead(environment_.caches, ranges, resource.cursor, packet, response.bytes, now);
        if (there > now) {
            state.translations_read = true;
            wake_at(connection, there);
            return false;
        }
    }
    state.slot_booked = state.translations_read = false;
    --burst;
    return true;
}

// ---- Packets ----

void Responder::transmit(Connection& connection, Picoseconds ready, model::FramePtr frame) {
    ResponderState& state = connection.responder;
    state.last_ready = std::max(ready, state.last_ready);
    environment_.output.transmit(state.last_ready, connection.path, std::move(frame));
}

void Responder::send_short(Connection& connection, const Response& response, Picoseconds at) {
    const bool atomic = response.kind == Kind::atomic;
    TransportHeaders headers =
        headers_of(connection, response,
                   atomic ? Operation::atomic_acknowledge : Operation::acknowledge, response.psn);
    if (atomic) headers.original = connection.responder.resources[response.resource].original;
    switch (response.kind) {
        case Kind::nak:
            ++environment_.counters.naks_sent;
            break;
        case Kind::atomic:
            if (response.replay) ++environment_.counters.retransmitted;
            break;
        default:
            ++environment_.counters.acknowledges_sent;
            break;
    }
    transmit(connection, at,
             build(environment_.frames, connection.path, headers, 0, 0,
                   environment_.output.next_identification()));
}

/// One response packet. False: the host refused; a NAK stands in the place of all responses.
bool Responder::send_read(Connection& connection, Response& response) {
    ResponderState& state = connection.responder;
    const std::uint32_t mtu = connection.attributes.mtu;
    const std::uint32_t payload = payload_of_read(response, mtu);
    const std::uint32_t psn = psn_add(response.psn, response.sent);
    const TransportHeaders headers =
        headers_of(connection, response, read_operation(response.sent, response.packets), psn);
    const Picoseconds at =
        environment_.packet_stage.reserve(environment_.calendar.now(), environment_.timing.packet);
    const std::uint32_t stored = environment_.synthetic ? 0 : payload;
    model::FramePtr frame = build(environment_.frames, connection.path, headers, stored,
                                  payload - stored, environment_.output.next_identification());
    Picoseconds there = at;
    if (stored != 0) {
        ResponderResource& resource = state.resources[response.resource];
        const std::span<const model::HostRange> ranges = resource.ranges;
        const std::uint64_t offset = std::uint64_t{response.sent} * mtu;
        const model::DmaResult result =
            gather(environment_.host, environment_.function, at, ranges, resource.cursor, offset,
                   payload_of(*frame, connection.path, headers.opcode, stored));
        if (!result.ok()) {
            state.responses.clear();
            state.expected = psn;
            refuse(connection, at, NakCode::remote_operational_error);
            return false;
        }
        there = result.finish;
    }
    if (response.replay) ++environment_.counters.retransmitted;
    transmit(connection, there + environment_.timing.transmit, std::move(frame));
    return true;
}

}  // namespace cxsim::roce
