// SPDX-License-Identifier: Apache-2.0
// Whose packet is next. A connection either waits for a time (wake), for the peer (no event), or
// for its turn at the port. Turns go round, a few packets each, as the shared stages become free.
#include "roce/requester/requester.h"

#include <algorithm>

namespace cxsim::roce {
namespace {

using model::FenceMode;
using model::Picoseconds;

constexpr Picoseconds kNever = Picoseconds::max();
/// Packets of one connection per turn, and of one calendar event.
constexpr unsigned kTurnPackets = 8;
/// PSNs under way: their distances must keep their sign.
constexpr std::int32_t kMaxSpan = kPsnMask / 2;

}  // namespace

/// When the first packet of a request may go: now or before, later, or never without an answer.
Picoseconds Requester::may_start(const RequesterState& s, const QpAttributes& attributes,
                                 const WorkRequest& request, Picoseconds now) const {
    const FenceMode fence = request.fence;
    if ((fence == FenceMode::fence || fence == FenceMode::small_and_fence) &&
        s.answers_awaited > 0) {
        return kNever;
    }
    if (fence == FenceMode::strong_ordering && s.requests.begin() != s.cursor) return kNever;
    if ((fence == FenceMode::initiator_small || fence == FenceMode::small_and_fence) &&
        s.local_until > now) {
        return s.local_until;
    }
    if (request.answers() && s.answers_awaited >= attributes.initiator_depth) return kNever;
    // Out of credits one message may go, to learn whether there are new ones.
    if (s.credit_limited && request.takes_receive() &&
        psn_distance(request.message, s.credit_limit) > 1) {
        return kNever;
    }
    return s.next_message;
}

/// When the packet at the cursor may be sent: `now` or before, later, or never without an answer
/// of the peer or a work request.
Picoseconds Requester::next_turn(Connection& connection, Picoseconds now) {
    RequesterState& s = connection.requester;
    while (s.cursor != s.requests.end() && s.requests[s.cursor].kind == RequestKind::local) {
        ++s.cursor;
        s.cursor_packet = 0;
    }
    if (s.cursor == s.requests.end()) return kNever;
    const WorkRequest& request = s.requests[s.cursor];
    if (!request.status.ok()) return kNever;
    if (const Picoseconds wait = std::max({request.ready, s.hold_until, s.context_at});
        wait > now) {
        return wait;
    }
    if (!request.started) {
        const Picoseconds start = may_start(s, connection.attributes, request, now);
        if (start > now) return start;
    }
    if (connection.service == WireService::rc || connection.service == WireService::xrc) {
        const std::uint64_t packet = request.first_packet + s.cursor_packet;
        if (packet - s.acknowledged_packets >= environment_.timing.psn_window) return kNever;
        // Below zero of a request that was acknowledged in part.
        const std::int32_t begin = psn_distance(request.first_psn, s.unacknowledged_psn);
        const std::uint32_t psns =
            request.kind == RequestKind::read ? request.psns : s.cursor_packet + 1;
        if (begin + static_cast<std::int32_t>(psns) > kMaxSpan) return kNever;
    }
    return s.paced ? s.paced_at : now;
}

/// Looks for something to send at `at`, which may be now.
void Requester::kick(Connection& connection, Picoseconds at) {
    RequesterState& s = connection.requester;
    if (s.queued) return;
    const Picoseconds now = environment_.calendar.now();
    at = std::max(at, now);
    if (s.wake_at <= at) return;
    const Picoseconds turn = next_turn(connection, at);
    if (turn == kNever) return;
    at = std::max(at, turn);
    if (at == now) {
        join(connection);
        return;
    }
    if (s.wake_at <= at) return;
    if (s.wake_at != kNever) environment_.calendar.cancel(s.wake);
    s.wake_at = at;
    s.wake =
        environment_.calendar.schedule<&Requester::wake>(at, this, arguments_of(connection));
}

void Requester::wake(const model::EventArguments& arguments) {
    Connection* connection = find(arguments);
    if (connection == nullptr) return;
    connection->requester.wake_at = kNever;
    kick(*connection, environment_.calendar.now());
}

/// From when on a message that starts finds both stages free as it comes to them.
Picoseconds Requester::stages_free() const {
    return std::max({environment_.calendar.now(), environment_.message_stage.busy_until(),
                     environment_.packet_stage.busy_until() - environment_.timing.message});
}

/// The connection has something to send now.
void Requester::join(Connection& connection) {
    const Path* path = path_at_cursor(connection);
    if (path == nullptr) return;
    const std::size_t priority = path->description().priority;
    SendTurns& turns = turns_[priority];
    connection.requester.queued = true;
    turns.push({connection.number, connection.requester.generation, connection.tag});
    if (turns.scheduled || turns.serving) return;
    const Picoseconds free = stages_free();
    if (free == environment_.calendar.now()) {
        serve(priority);
        return;
    }
    turns.scheduled = true;
    turns.event = environment_.calendar.schedule<&Requester::turn>(free, this, {priority, 0, 0});
}

void Requester::turn(const model::EventArguments& arguments) {
    const auto priority = static_cast<std::size_t>(arguments.a);
    turns_[priority].scheduled = false;
    serve(priority);
}

void Requester::serve(std::size_t priority) {
    SendTurns& turns = turns_[priority];
    const Picoseconds now = environment_.calendar.now();
    Picoseconds next = now;
    turns.serving = true;
    for (unsigned budget = kTurnPackets; budget > 0 && !turns.empty();) {
        const SendTurns::Entry entry = turns.front();
        Connection* connection = find({entry.number, entry.tag, entry.generation});
        const Path* path = connection == nullptr ? nullptr : path_at_cursor(*connection);
        if (path == nullptr) {
            turns.pop();
            if (connection != nullptr) connection->requester.queued = false;
            continue;
        }
        next = environment_.output.room_at(now, *path);
        if (next > now) break;
        turns.pop();
        if (has_context(*connection, now)) budget -= send_some(*connection, budget);
        connection->requester.queued = false;
        if (next_turn(*connection, now) <= now) {
            connection->requester.queued = true;
            turns.push(entry);
        } else {
            kick(*connection, now);
        }
    }
    turns.serving = false;
    if (turns.empty()) return;
    turns.scheduled = true;
    turns.event = environment_.calendar.schedule<&Requester::turn>(
        std::max(next, stages_free()), this, {priority, 0, 0});
}

/// Whether the card has the context of a connection whose turn it is; if not, the turn comes when
/// it has. What was read for a turn is kept for it, however many others the card reads meanwhile.
bool Requester::has_context(Connection& connection, Picoseconds now) {
    Picoseconds& known = connection.requester.context_at;
    if (known != Picoseconds{}) {
        known = {};
        return true;
    }
    const Picoseconds there = environment_.context_of(connection.number, now);
    if (there <= now) return true;
    known = there;
    return false;
}

/// At most `budget` packets of a connection whose turn it is, while the port has room.
unsigned Requester::send_some(Connection& connection, unsigned budget) {
    const Picoseconds now = environment_.calendar.now();
    unsigned sent = 0;
    while (sent < budget && next_turn(connection, now) <= now) {
        const Path* path = path_at_cursor(connection);
        if (path == nullptr) break;
        if (sent > 0 && environment_.output.room_at(now, *path) > now) break;
        if (!send_packet(connection, *path)) break;
        ++sent;
    }
    return sent;
}

}  // namespace cxsim::roce
