// SPDX-License-Identifier: Apache-2.0
// SEND and RDMA WRITE, packet by packet; datagrams.
#include "model/queues/wqe.h"
#include "roce/responder/completion.h"
#include "roce/responder/responder.h"
#include "roce/responder/syndromes.h"
#include "roce/transport/memory.h"

#include <algorithm>
#include <array>

namespace cxsim::roce {
namespace {

using model::Picoseconds;
using model::ReceiveVerdict;
using Message = ResponderState::Message;

// First and middle packets are full, a last one is not empty (IBTA volume 1, section 9.7.4.1.5).
bool length_fits(const OperationTraits& traits, std::uint32_t bytes, std::uint32_t mtu) {
    if (!traits.last) return bytes == mtu;
    return bytes <= mtu && (traits.first || bytes > 0);
}

bool wants_receive(const OperationTraits& traits) {
    return traits.send ? traits.first : traits.immediate;
}

// Bytes of the receive that the message will use; all of it might, as long as more packets come.
std::uint64_t needed_bytes(const OperationTraits& traits, std::uint32_t payload) {
    if (traits.write) return 0;
    return traits.last ? payload : ~std::uint64_t{0};
}

}  // namespace

void Responder::message(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    ResponderState& state = connection.responder;
    const TransportHeaders& headers = packet.headers;
    const OperationTraits& traits = headers.traits();
    if (traits.first && traits.write && !may_begin(connection, at, packet)) return;
    if (!fits(connection, at, packet)) return;
    if (wants_receive(traits) && !has_receive(connection, at, packet)) return;
    if (traits.first) {
        state.message = traits.send ? Message::send : Message::write;
        state.received = 0;
        state.accepted = at;
        state.written = at;
        state.receive_cursor = {};
        state.write_cursor = {};
        state.write_bytes = headers.dma_bytes;
        if (traits.write) environment_.queues.count(connection.qp, "rx_write_requests", 1);
    }
    if (!store(connection, at, packet)) return;
    if (traits.last && !finish(connection, at, packet)) return;
    if (connection.service != WireService::uc) {
        state.expected = psn_add(state.expected, 1);
        if (headers.ack_request) {
            acknowledge(connection, headers.psn,
                        std::max(at, state.accepted) + environment_.timing.acknowledge);
        }
    }
    // Last: the queue may stop the connection from within.
    if (traits.last && (traits.send || traits.immediate)) {
        complete(connection, packet, static_cast<std::uint32_t>(state.received), false);
    }
}

/// Of a WRITE's first packet: may the peer write all that it announces?
bool Responder::may_begin(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    ResponderState& state = connection.responder;
    const TransportHeaders& headers = packet.headers;
    const QpAttributes& attributes = connection.attributes;
    if (headers.dma_bytes > kLargestMessage) {
        refuse(connection, at, NakCode::invalid_request);
        return false;
    }
    bool allowed = attributes.remote_write;
    state.write_ranges.clear();
    if (allowed && headers.dma_bytes != 0) {
        const model::TranslationRequest request{.key = headers.key,
                                                .pd = attributes.pd,
                                                .queue_number = connection.number,
                                                .address = headers.address,
                                                .bytes = headers.dma_bytes,
                                                .access = model::Access::remote_write};
        allowed = environment_.queues.translate(request, state.write_ranges) ==
                  model::TranslationError::none;
    }
    if (!allowed) refuse(connection, at, NakCode::remote_access_error);
    return allowed;
}

bool Responder::fits(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    const ResponderState& state = connection.responder;
    const OperationTraits& traits = packet.headers.traits();
    bool good = length_fits(traits, packet.payload_bytes, connection.attributes.mtu);
    if (good && traits.write) {
        const std::uint64_t announced = traits.first ? packet.headers.dma_bytes : state.write_bytes;
        const std::uint64_t end = (traits.first ? 0 : state.received) + packet.payload_bytes;
        good = traits.last ? end == announced : end < announced;
    }
    if (!good) refuse(connection, at, NakCode::invalid_request);
    return good;
}

/// Takes a receive unless one is held. Without: RC asks for another try, UC drops the message.
bool Responder::has_receive(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    ResponderState& state = connection.responder;
    const std::uint64_t needed = needed_bytes(packet.headers.traits(), packet.payload_bytes);
    switch (take_receive(connection, at, needed)) {
        case ReceiveVerdict::delivered:
            return true;
        case ReceiveVerdict::no_buffer:
            if (connection.service == WireService::uc) {
                ++environment_.counters.dropped_no_buffer;
                state.message = Message::none;
                return false;
            }
            state.nak_in_flight = true;
            nak(connection, AethKind::rnr_nak, connection.attributes.min_rnr_nak,
                at + environment_.timing.acknowledge, false);
            return false;
        case ReceiveVerdict::not_ready:
            ++environment_.counters.not_ready;
            return false;
        case ReceiveVerdict::too_small:
        case ReceiveVerdict::failed:
            break;
    }
    // The QP is in error: nothing of it is sent by the calendar any more.
    if (connection.service != WireService::uc) {
        nak_at_once(connection, at, NakCode::remote_operational_error);
    }
    return false;
}

ReceiveVerdict Responder::take_receive(Connection& connection, Picoseconds at,
                                       std::uint64_t needed) {
    ResponderState& state = connection.responder;
    if (state.holds_receive) {
        state.receive_known = std::max(state.receive_known, at);
        return ReceiveVerdict::delivered;
    }
    Picoseconds known = at;
    state.receive.needed = needed;
    const ReceiveVerdict verdict =
        environment_.queues.take_receive(connection.qp, known, state.receive);
    if (verdict == ReceiveVerdict::delivered) {
        state.holds_receive = true;
        state.receive_known = known;
    }
    return verdict;
}

/// Puts the payload where it belongs. False: it does not fit or the host refuses, and that has been
/// reported.
bool Responder::store(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    ResponderState& state = connection.responder;
    const bool send = state.message == Message::send;
    if (send && state.received + packet.payload_bytes > state.receive.bytes) {
        refuse_receive(connection, at, NakCode::invalid_request, kSyndromeLocalLength);
        return false;
    }
    Picoseconds start = send ? std::max(at, state.receive_known) : at;
    const bool stored = !packet.payload.empty() && !in_completion(connection, packet);
    const std::span<const model::HostRange> ranges =
        send ? state.receive.ranges : state.write_ranges;
    RangeCursor& cursor = send ? state.receive_cursor : state.write_cursor;
    if (stored) {
        start = translated(environment_.caches, ranges, cursor, state.received,
                           packet.payload.size(), start + environment_.timing.look_up);
        // Programs that look at the last byte count on the order of the bytes before it.
        start = state.last_write = std::max(start, state.last_write);
    }
    state.accepted = std::max(state.accepted, start);
    state.written = std::max(state.written, start);
    if (stored) {
        const model::DmaResult result = scatter(environment_.host, environment_.function, start,
                                                ranges, cursor, state.received, packet.payload);
        if (!result.ok()) {
            if (send) {
                refuse_receive(connection, at, NakCode::remote_operational_error,
                               kSyndromeLocalProtection);
            } else {
                refuse(connection, at, NakCode::remote_operational_error);
            }
            return false;
        }
        state.written = std::max(state.written, result.finish);
        environment_.occupied_until = std::max(environment_.occupied_until, result.finish);
    }
    state.received += packet.payload_bytes;
    return true;
}

/// A short SEND of one packet may come in its completion (qpc.cs_res); its buffer is not touched.
bool Responder::in_completion(const Connection& connection, const ReceivedPacket& packet) const {
    const OperationTraits& traits = packet.headers.traits();
    return traits.send && traits.first && traits.last && !packet.payload.empty() &&
           connection.service != WireService::ud && packet.payload.size() == packet.payload_bytes &&
           packet.payload_bytes <= connection.attributes.receive_in_cqe;
}

/// The message's last packet is there.
bool Responder::finish(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    ResponderState& state = connection.responder;
    if (packet.headers.traits().invalidate &&
        !environment_.queues.invalidate(connection.qp, packet.headers.invalidated_key)) {
        refuse_receive(connection, at, NakCode::remote_access_error, kSyndromeRemoteInvalidRequest);
        return false;
    }
    state.message = Message::none;
    state.msn = psn_add(state.msn, 1);
    ++environment_.counters.messages_received;
    return true;
}

void Responder::complete(Connection& connection, const ReceivedPacket& packet, std::uint32_t bytes,
                         bool network_header) {
    ResponderState& state = connection.responder;
    std::array<std::byte, 64> cqe{};
    const bool datagram = connection.service == WireService::ud;
    fill_completion(cqe, packet,
                    datagram ? packet.headers.source_qp : connection.attributes.remote_qp, bytes,
                    network_header);
    if (in_completion(connection, packet)) model::put_data(cqe, packet.payload);
    // PCIe keeps the completion behind the data: it need not wait until they are visible.
    const Picoseconds done = std::max({state.accepted, state.receive_known, state.completed_until});
    state.completed_until = done;
    state.holds_receive = false;
    environment_.queues.receive_done(connection.qp, done,
                                     {.wqe_index = state.receive.wqe_index,
                                      .shared_number = state.receive.shared_number,
                                      .cqe = cqe,
                                      .solicited = packet.headers.solicited});
}

void Responder::datagram(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    ResponderState& state = connection.responder;
    if (packet.payload_bytes > connection.attributes.mtu) {
        ++environment_.counters.malformed;
        return;
    }
    const std::uint32_t bytes = kGrhBytes + packet.payload_bytes;
    switch (take_receive(connection, at, bytes)) {
        case ReceiveVerdict::delivered:
            break;
        case ReceiveVerdict::no_buffer:
            ++environment_.counters.dropped_no_buffer;
            return;
        default:
            ++environment_.counters.not_ready;
            return;
    }
    if (bytes > state.receive.bytes) {
        refuse_receive(connection, at, NakCode::invalid_request, kSyndromeLocalLength);
        return;
    }
    Picoseconds start = std::max(at, state.receive_known);
    state.receive_cursor = {};
    const std::span<const model::HostRange> ranges = state.receive.ranges;
    const bool stored = packet.payload.size() == packet.payload_bytes;
    if (stored) {
        start = translated(environment_.caches, ranges, state.receive_cursor, 0, bytes,
                           start + environment_.timing.look_up);
    }
    state.accepted = start;
    state.written = start;
    if (stored) {
        const std::array<std::byte, kGrhBytes> header = network_header_of(packet);
        const model::DmaResult first = scatter(environment_.host, environment_.function, start,
                                               ranges, state.receive_cursor, 0, header);
        const model::DmaResult second =
            scatter(environment_.host, environment_.function, start, ranges, state.receive_cursor,
                    kGrhBytes, packet.payload);
        if (!first.ok() || !second.ok()) {
            refuse_receive(connection, at, NakCode::remote_operational_error,
                           kSyndromeLocalProtection);
            return;
        }
        state.written = std::max(first.finish, second.finish);
        environment_.occupied_until = std::max(environment_.occupied_until, state.written);
    }
    ++environment_.counters.messages_received;
    complete(connection, packet, bytes, true);
}

}  // namespace cxsim::roce
