// SPDX-License-Identifier: Apache-2.0
// From the packet at the cursor to a frame at the port.
#include "roce/requester/requester.h"

#include "model/queues/wqe.h"

#include <algorithm>

namespace cxsim::roce {
namespace {

using model::Picoseconds;

/// Preamble, gap and frame check sequence.
constexpr std::uint32_t kWireOverhead = 24;
constexpr std::uint32_t kMinWireBytes = 84;

Operation send_operation(const WorkRequest& request, bool first, bool last) {
    if (!last) return first ? Operation::send_first : Operation::send_middle;
    if (request.immediate) {
        return first ? Operation::send_only_immediate : Operation::send_last_immediate;
    }
    if (request.invalidate) {
        return first ? Operation::send_only_invalidate : Operation::send_last_invalidate;
    }
    return first ? Operation::send_only : Operation::send_last;
}

Operation write_operation(const WorkRequest& request, bool first, bool last) {
    if (!last) return first ? Operation::write_first : Operation::write_middle;
    if (request.immediate) {
        return first ? Operation::write_only_immediate : Operation::write_last_immediate;
    }
    return first ? Operation::write_only : Operation::write_last;
}

Operation operation_of(const WorkRequest& request, bool first, bool last) {
    switch (request.kind) {
        case RequestKind::write: return write_operation(request, first, last);
        case RequestKind::read: return Operation::read_request;
        case RequestKind::compare_swap: return Operation::compare_swap;
        case RequestKind::fetch_add: return Operation::fetch_add;
        default: return send_operation(request, first, last);
    }
}

std::uint32_t wire_bytes(const Path& path, std::uint8_t opcode, std::uint32_t payload) {
    const std::uint32_t padded = (payload + 3) & ~3U;
    return std::max(kMinWireBytes, path.header_bytes() + transport_header_bytes(opcode) + padded +
                                       kIcrcBytes + kWireOverhead);
}

}  // namespace

TransportHeaders Requester::headers_of(Connection& connection, const WorkRequest& request,
                                       std::uint32_t packet) const {
    const QpAttributes& attributes = connection.attributes;
    const bool last = packet + 1 == request.packets;
    TransportHeaders headers;
    headers.opcode = opcode_of(connection.service, operation_of(request, packet == 0, last));
    headers.pkey = attributes.pkey;
    headers.destination_qp = attributes.remote_qp;
    headers.psn = psn_add(request.first_psn, packet);
    headers.solicited = last && request.solicits_peer && request.takes_receive();
    headers.address = request.remote_address;
    headers.key = request.remote_key;
    headers.immediate = request.immediate_data;
    headers.invalidated_key = request.immediate_data;
    headers.swap_add = request.swap_add;
    headers.compare = request.compare;
    if (request.kind == RequestKind::read) {
        // What has come of the answer is not asked for again.
        const std::uint64_t offset = std::uint64_t{request.received} * attributes.mtu;
        headers.psn = psn_add(request.first_psn, request.received);
        headers.address += offset;
        headers.dma_bytes = static_cast<std::uint32_t>(request.bytes - offset);
    } else {
        headers.dma_bytes = static_cast<std::uint32_t>(request.bytes);
    }
    if (connection.service == WireService::ud) datagram_headers(connection, request, headers);
    return headers;
}

/// Real cards ask with the last packet of a message, hardly ever within one.
bool Requester::asks_for_answer(RequesterState& s, const WorkRequest& request,
                                std::uint32_t packet) const {
    ++s.since_ack_request;
    if (packet + 1 < request.packets && s.since_ack_request < s.ack_interval) return false;
    s.since_ack_request = 0;
    return true;
}

/// False: nothing was sent, since translations are being read, the rate limiter wants it later, or
/// the payload cannot be read.
bool Requester::send_packet(Connection& connection, const Path& path) {
    RequesterState& s = connection.requester;
    const std::uint64_t number = s.cursor;
    const std::uint32_t packet = s.cursor_packet;
    WorkRequest& request = s.requests[number];
    const Picoseconds now = environment_.calendar.now();
    TransportHeaders headers = headers_of(connection, request, packet);
    const std::uint32_t mtu = connection.attributes.mtu;
    const std::uint64_t offset = std::uint64_t{packet} * mtu;
    const std::uint32_t payload =
        request.answers()
            ? 0
            : static_cast<std::uint32_t>(std::min<std::uint64_t>(mtu, request.bytes - offset));
    // A read of payload that was placed ahead of now would hold back all that are asked for later.
    if (payload > 0 && !environment_.synthetic && !s.translations_read) {
        const std::span<const model::PayloadPiece> pieces = request.pieces;
        const Picoseconds there =
            translated(environment_.caches, pieces, request.cursor, offset, payload, now);
        translate_ahead(environment_.caches, pieces, request.cursor, {offset, payload},
                        request.bytes, now);
        if (there > now) {
            s.translations_read = true;
            s.context_at = there;
            return false;
        }
    }
    s.translations_read = false;
    if (connection.rate != nullptr && !s.paced) {
        const Picoseconds leave =
            connection.rate->reserve(now, wire_bytes(path, headers.opcode, payload));
        if (leave > now) {
            s.paced = true;
            s.paced_at = leave;
            return false;
        }
    }
    s.paced = false;

    Picoseconds start = now;
    if (!request.started) {
        start = environment_.message_stage.reserve(start, environment_.timing.message);
        s.next_message = now + environment_.timing.message_per_qp;
    }
    const Picoseconds packetized =
        environment_.packet_stage.reserve(start, environment_.timing.packet);
    const bool connected =
        connection.service == WireService::rc || connection.service == WireService::xrc;
    headers.ack_request = connected && asks_for_answer(s, request, packet);

    const std::uint32_t synthetic = environment_.synthetic ? payload : 0;
    const std::uint32_t stored = payload - synthetic;
    model::FramePtr frame = build(environment_.frames, path, headers, stored, synthetic,
                                  environment_.output.next_identification());
    Picoseconds ready = packetized;
    if (stored > 0) {
        const model::DmaResult read =
            gather(environment_.host, environment_.function, packetized, request.pieces,
                   request.wqe, request.cursor, offset,
                   payload_of(*frame, path, headers.opcode, stored));
        if (!read.ok()) {
            request.status = model::wqe_status::kGatherFailed;
            request.ready = std::max(now, read.finish);
            if (s.requests.begin() == number) complete_at(connection, request.ready);
            return false;
        }
        ready = std::max(ready, read.finish);
    }
    ready += environment_.timing.transmit;
    packet_sent(connection, number, packet, headers.ack_request, packetized, ready);
    environment_.output.transmit(ready, path, std::move(frame));
    return true;
}

/// Moves the cursor on; of what goes for the first time also where sending stands.
void Requester::packet_sent(Connection& connection, std::uint64_t number, std::uint32_t packet,
                            bool asked, Picoseconds at, Picoseconds ready) {
    RequesterState& s = connection.requester;
    WorkRequest& request = s.requests[number];
    const bool last = packet + 1 == request.packets;
    const std::uint64_t behind = request.first_packet + packet + 1;
    if (behind > s.sent_packets) {
        s.sent_packets = behind;
        s.sent_psn = psn_add(request.first_psn,
                             request.kind == RequestKind::read ? request.psns : packet + 1);
        if (last) ++environment_.counters.messages_sent;
    } else {
        ++environment_.counters.retransmitted;
    }
    if (!request.started) {
        request.started = true;
        if (request.answers()) ++s.answers_awaited;
    }
    if (last) {
        ++s.cursor;
        s.cursor_packet = 0;
    } else {
        ++s.cursor_packet;
    }
    if (connection.service == WireService::rc || connection.service == WireService::xrc) {
        if (!asked) return;
        s.asked_packets = std::max(s.asked_packets, behind);
        if (s.deadline == Picoseconds::max()) set_deadline(connection, at);
        return;
    }
    // Nobody answers: done when it has left.
    s.last_left = std::max(s.last_left, ready);
    s.unacknowledged_psn = s.sent_psn;
    s.acknowledged_packets = s.sent_packets;
    if (!last) return;
    request.acknowledged = true;
    request.finish = s.last_left;
    s.acknowledged = number + 1;
    if (s.requests.begin() == number) complete_at(connection, request.finish);
}

}  // namespace cxsim::roce
