// SPDX-License-Identifier: Apache-2.0
// What the peer says: acknowledgements, refusals, answers of READs and atomics.
#include "roce/requester/requester.h"
#include "roce/requester/timers.h"

#include "model/base/endian.h"
#include "model/queues/wqe.h"

#include <algorithm>
#include <array>

namespace cxsim::roce {
namespace {

using model::Picoseconds;
using model::WqeStatus;

constexpr WqeStatus kBadResponse{0x10, 0x00, 0x00, 0x00};  // vendor value not known
constexpr WqeStatus kRemoteInvalidRequest{0x12, 0x8a, 0x00, 0x00};
constexpr WqeStatus kRemoteAccess{0x13, 0x88, 0x00, 0x00};
constexpr WqeStatus kRemoteOperation{0x14, 0x89, 0x00, 0x00};
constexpr WqeStatus kRnrRetryExceeded{0x16, 0x87, 0x00, 0x00};
constexpr WqeStatus kScatterFailed{0x04, 0x51, 0x02, 0x00};

constexpr std::uint8_t kRnrForEver = 7;

}  // namespace

/// The peer has finished with the request.
void Requester::passed(RequesterState& s, WorkRequest& request) {
    request.acknowledged = true;
    s.unacknowledged_psn = psn_add(request.first_psn, request.psns);
    s.acknowledged_packets = request.first_packet + request.packets;
    if (request.answers()) --s.answers_awaited;
    ++s.acknowledged;
}

/// All PSNs before `end`, which lies among those sent, are acknowledged. False: the answer of a
/// READ or atomic among them has not come.
bool Requester::advance(Connection& connection, Picoseconds at, std::uint32_t end) {
    RequesterState& s = connection.requester;
    const std::uint32_t before = s.unacknowledged_psn;
    bool complete = true;
    while (psn_distance(end, s.unacknowledged_psn) > 0) {
        WorkRequest& request = s.requests[s.acknowledged];
        if (!request.on_wire()) {
            ++s.acknowledged;
            continue;
        }
        if (request.answers()) {
            complete = false;
            break;
        }
        const std::int32_t into = psn_distance(end, request.first_psn);
        if (into >= static_cast<std::int32_t>(request.psns)) {
            passed(s, request);
        } else {
            s.unacknowledged_psn = end;
            s.acknowledged_packets = request.first_packet + static_cast<std::uint32_t>(into);
        }
    }
    if (s.unacknowledged_psn != before) progressed(connection, at);
    return complete;
}

/// The oldest PSN moved: counters start anew, the timer runs again, sending does not fall behind.
void Requester::progressed(Connection& connection, Picoseconds at) {
    RequesterState& s = connection.requester;
    s.retries = s.rnr_retries = s.rung = 0;
    // A receive that was waited for was there after all (a duplicate got it).
    s.hold_until = std::min(s.hold_until, at + environment_.timing.retransmit);
    if (s.cursor < s.acknowledged) {
        s.cursor = s.acknowledged;
        s.cursor_packet = 0;
    }
    if (s.cursor == s.acknowledged && s.cursor != s.requests.end()) {
        const WorkRequest& request = s.requests[s.cursor];
        if (request.on_wire() && !request.answers()) {
            const std::uint64_t done =
                std::max(s.acknowledged_packets, request.first_packet) - request.first_packet;
            s.cursor_packet = std::max(s.cursor_packet, static_cast<std::uint32_t>(done));
        }
    }
    s.deadline = Picoseconds::max();
    if (s.asked_packets > s.acknowledged_packets && s.hold_until <= at) {
        set_deadline(connection, at);
    }
}

void Requester::take_credits(RequesterState& s, const TransportHeaders& headers) {
    if (aeth_kind(headers.syndrome) != AethKind::ack) return;
    const std::uint8_t code = aeth_value(headers.syndrome);
    s.credit_limited = code != kUnlimitedCredits;
    s.credit_limit = psn_add(headers.msn, credits_of(code));
}

void Requester::response(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    RequesterState& s = connection.requester;
    const TransportHeaders& headers = packet.headers;
    const std::int32_t distance = psn_distance(headers.psn, s.unacknowledged_psn);
    const std::int32_t under_way = psn_distance(s.sent_psn, s.unacknowledged_psn);
    if (distance < 0 || distance >= under_way) {
        // The last acknowledgement once more says that there are receives again.
        if (distance == -1 && headers.operation() == Operation::acknowledge &&
            aeth_kind(headers.syndrome) == AethKind::ack) {
            take_credits(s, headers);
            kick(connection, at);
        }
        ++environment_.counters.dropped_response;
        return;
    }
    const bool alive = headers.operation() != Operation::acknowledge
                           ? answer(connection, at, packet)
                       : aeth_kind(headers.syndrome) == AethKind::ack
                           ? acknowledge(connection, at, headers)
                           : negative(connection, at, headers);
    if (!alive || !retire(connection, at)) return;
    kick(connection, at);
    make_room(connection, at);
}

/// False: the connection has failed.
bool Requester::acknowledge(Connection& connection, Picoseconds at,
                            const TransportHeaders& headers) {
    take_credits(connection.requester, headers);
    return advance(connection, at, psn_add(headers.psn, 1)) || implied_nak(connection, at);
}

/// False: the connection has failed.
bool Requester::negative(Connection& connection, Picoseconds at, const TransportHeaders& headers) {
    RequesterState& s = connection.requester;
    const AethKind kind = aeth_kind(headers.syndrome);
    const std::uint8_t value = aeth_value(headers.syndrome);
    if ((kind != AethKind::rnr_nak && kind != AethKind::nak) ||
        (kind == AethKind::nak &&
         value > static_cast<std::uint8_t>(NakCode::invalid_rd_request))) {
        ++environment_.counters.dropped_response;
        return true;
    }
    // Whatever it is, what lies before it has arrived.
    const bool complete = advance(connection, at, headers.psn);
    if (kind == AethKind::rnr_nak) return not_ready(connection, at, value);
    switch (static_cast<NakCode>(value)) {
        case NakCode::psn_sequence_error: break;
        case NakCode::remote_access_error:
            fail(connection, at, s.acknowledged, kRemoteAccess);
            return false;
        case NakCode::remote_operational_error:
            fail(connection, at, s.acknowledged, kRemoteOperation);
            return false;
        case NakCode::invalid_request:
        case NakCode::invalid_rd_request:
            fail(connection, at, s.acknowledged, kRemoteInvalidRequest);
            return false;
    }
    if (s.hold_until > at) {  // sending starts again anyway
        environment_.queues.count(connection.qp, "packet_seq_err", 1);
        return true;
    }
    if (!spend_retry(connection, at)) return false;
    environment_.queues.count(connection.qp, "packet_seq_err", 1);
    // A READ before it whose answer is lost goes again first.
    if (!complete) s.reread = true;
    restart(connection, at, at + environment_.timing.retransmit);
    return true;
}

/// An RNR NAK: the peer has no receive posted. False: the connection has failed.
bool Requester::not_ready(Connection& connection, Picoseconds at, std::uint8_t code) {
    RequesterState& s = connection.requester;
    const std::uint8_t allowed = connection.attributes.rnr_retry;
    if (allowed != kRnrForEver) {
        if (s.rnr_retries >= allowed) {
            fail(connection, at, s.acknowledged, kRnrRetryExceeded);
            return false;
        }
        s.rnr_retries = static_cast<std::uint8_t>(s.rnr_retries + 1);
    }
    environment_.queues.count(connection.qp, "rnr_nak_retry_err", 1);
    restart(connection, at, at + rnr_time(code));
    return true;
}

/// A READ response or atomic acknowledge. False: the connection has failed.
bool Requester::answer(Connection& connection, Picoseconds at, const ReceivedPacket& packet) {
    RequesterState& s = connection.requester;
    const TransportHeaders& headers = packet.headers;
    // The request it answers: what lies before has arrived, unless it awaits an answer too.
    std::uint64_t number = s.acknowledged;
    const auto lies_behind = [&](const WorkRequest& request) {
        return psn_distance(headers.psn, request.first_psn) >=
               static_cast<std::int32_t>(request.psns);
    };
    while (!s.requests[number].on_wire() || lies_behind(s.requests[number])) ++number;
    const bool read = headers.traits().read_response;
    const RequestKind kind = s.requests[number].kind;
    if (!s.requests[number].answers() || read != (kind == RequestKind::read)) {
        ++environment_.counters.dropped_response;
        return true;
    }
    if (!advance(connection, at, headers.psn)) {
        ++environment_.counters.dropped_response;
        return implied_nak(connection, at);
    }
    WorkRequest& request = s.requests[number];
    s.acknowledged = number;
    s.reread = false;
    if (headers.traits().aeth) take_credits(s, headers);
    return read ? take_read(connection, at, request, packet)
                : take_original(connection, at, request, headers.original);
}

/// A short answer may come in the request's completion (qpc.cs_req), if there is one; its buffer is
/// not touched.
bool Requester::in_completion(const Connection& connection, const WorkRequest& request) const {
    return request.answers() && request.signaled && request.bytes > 0 &&
           request.bytes <= connection.attributes.answer_in_cqe && !environment_.synthetic;
}

bool Requester::take_read(Connection& connection, Picoseconds at, WorkRequest& request,
                          const ReceivedPacket& packet) {
    RequesterState& s = connection.requester;
    const std::uint32_t mtu = connection.attributes.mtu;
    const std::uint64_t offset = std::uint64_t{request.received} * mtu;
    const bool last = request.received + 1 == request.psns;
    const std::uint64_t expected = last ? request.bytes - offset : mtu;
    if (packet.headers.traits().last != last || packet.payload_bytes != expected) {
        fail(connection, at, s.acknowledged, kBadResponse);
        return false;
    }
    if (in_completion(connection, request)) {
        std::ranges::copy(packet.payload, request.cqe_data.begin());
    } else if (!packet.payload.empty() && !environment_.synthetic) {
        const std::span<const model::PayloadPiece> pieces = request.pieces;
        const Picoseconds there =
            translated(environment_.caches, pieces, request.cursor, offset, packet.payload.size(),
                       at + environment_.timing.look_up);
        request.stored = std::max(request.stored, there);
        const model::DmaResult written =
            scatter(environment_.host, environment_.function, there, pieces, request.cursor,
                    offset, packet.payload);
        if (!written.ok()) {
            fail(connection, at, s.acknowledged, kScatterFailed);
            return false;
        }
        environment_.occupied_until = std::max(environment_.occupied_until, written.finish);
    }
    ++request.received;
    if (last) {
        passed(s, request);
    } else {
        s.unacknowledged_psn = psn_add(s.unacknowledged_psn, 1);
    }
    progressed(connection, at);
    return true;
}

bool Requester::take_original(Connection& connection, Picoseconds at, WorkRequest& request,
                              std::uint64_t original) {
    RequesterState& s = connection.requester;
    if (!environment_.synthetic) {
        std::array<std::byte, sizeof(original)> bytes{};
        if (environment_.big_endian_originals) {
            model::store_be<std::uint64_t>(bytes.data(), original);
        } else {
            model::store_le<std::uint64_t>(bytes.data(), original);
        }
        if (in_completion(connection, request)) {
            std::ranges::copy(bytes, request.cqe_data.begin());
        } else {
            const std::span<const model::PayloadPiece> pieces = request.pieces;
            const Picoseconds there = request.stored =
                translated(environment_.caches, pieces, request.cursor, 0, bytes.size(),
                           at + environment_.timing.look_up);
            const model::DmaResult written = scatter(environment_.host, environment_.function,
                                                     there, pieces, request.cursor, 0, bytes);
            if (!written.ok()) {
                fail(connection, at, s.acknowledged, kScatterFailed);
                return false;
            }
        }
    }
    passed(s, request);
    progressed(connection, at);
    return true;
}

}  // namespace cxsim::roce
