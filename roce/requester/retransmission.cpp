// SPDX-License-Identifier: Apache-2.0
// Go-back-N: where sending starts again, after which time, and how often.
#include "roce/requester/requester.h"
#include "roce/requester/timers.h"

#include <algorithm>

namespace cxsim::roce {
namespace {

using model::Picoseconds;

constexpr model::WqeStatus kTransportRetryExceeded{0x15, 0x81, 0x00, 0x00};

}  // namespace

/// At `when` sending starts again at the oldest PSN that is not acknowledged.
void Requester::restart(Connection& connection, Picoseconds at, Picoseconds when) {
    RequesterState& s = connection.requester;
    while (s.requests[s.acknowledged].kind == RequestKind::local) ++s.acknowledged;
    const WorkRequest& request = s.requests[s.acknowledged];
    s.cursor = s.acknowledged;
    s.cursor_packet =
        request.answers()
            ? 0
            : static_cast<std::uint32_t>(psn_distance(s.unacknowledged_psn, request.first_psn));
    s.hold_until = when;
    s.deadline = Picoseconds::max();
    if (connection.rate != nullptr) connection.rate->restarted(at);
    kick(connection, when);
}

/// False: there was none left, the connection has failed.
bool Requester::spend_retry(Connection& connection, Picoseconds at) {
    RequesterState& s = connection.requester;
    if (s.retries >= connection.attributes.retry_count) {
        fail(connection, at, s.acknowledged, kTransportRetryExceeded);
        return false;
    }
    s.retries = static_cast<std::uint8_t>(s.retries + 1);
    return true;
}

/// Answers are missing before a PSN that the peer has gone past. One report per gap: until the
/// answer asked for again comes, others that were under way follow. False: the connection failed.
bool Requester::implied_nak(Connection& connection, Picoseconds at) {
    RequesterState& s = connection.requester;
    if (s.reread || s.hold_until > at) return true;
    if (!spend_retry(connection, at)) return false;
    s.reread = true;
    environment_.queues.count(connection.qp, "implied_nak_seq_err", 1);
    restart(connection, at, at + environment_.timing.nak_read);
    return true;
}

namespace {

unsigned rungs_of(const QpAttributes& attributes, bool adaptive) {
    if (!adaptive || attributes.retry_count == 0) return 0;
    return adaptive_rungs(attributes.ack_timeout);
}

}  // namespace

/// Zero: for ever.
Picoseconds Requester::answer_time(const Connection& connection) const {
    const QpAttributes& attributes = connection.attributes;
    if (attributes.ack_timeout == 0) return {};
    const unsigned rung = connection.requester.rung;
    if (rung < rungs_of(attributes, environment_.timing.adaptive_timers)) {
        return transport_timeout(kFirstRung + rung);
    }
    return transport_timeout(attributes.ack_timeout);
}

/// The answer awaited has its time from `at` on. One event follows the deadline, which mostly moves
/// on before it.
void Requester::set_deadline(Connection& connection, Picoseconds at) {
    RequesterState& s = connection.requester;
    const Picoseconds time = answer_time(connection);
    if (time == Picoseconds{}) return;
    s.deadline = at + time;
    if (s.timer_at <= s.deadline) return;
    if (s.timer_at != Picoseconds::max()) environment_.calendar.cancel(s.timer);
    s.timer_at = s.deadline;
    s.timer = environment_.calendar.schedule<&Requester::timer>(s.timer_at, this,
                                                                arguments_of(connection));
}

void Requester::timer(const model::EventArguments& arguments) {
    Connection* connection = find(arguments);
    if (connection == nullptr) return;
    RequesterState& s = connection->requester;
    const Picoseconds now = environment_.calendar.now();
    s.timer_at = Picoseconds::max();
    if (s.deadline == Picoseconds::max()) return;
    if (s.deadline <= now) {
        timeout(*connection, now);
        return;
    }
    s.timer_at = s.deadline;
    s.timer = environment_.calendar.schedule<&Requester::timer>(s.timer_at, this, arguments);
}

void Requester::timeout(Connection& connection, Picoseconds now) {
    RequesterState& s = connection.requester;
    const QpAttributes& attributes = connection.attributes;
    ++environment_.counters.timeouts;
    s.reread = false;
    const unsigned rungs = rungs_of(attributes, environment_.timing.adaptive_timers);
    if (s.rung < rungs) {
        s.rung = static_cast<std::uint8_t>(s.rung + 1);
        environment_.queues.count(connection.qp, "roce_adp_retrans", 1);
        if (s.rung == rungs) {
            environment_.queues.count(connection.qp, "roce_adp_retrans_to", 1);
            s.retries = static_cast<std::uint8_t>(
                std::min<unsigned>(attributes.retry_count, s.retries + kRungRetries));
        }
    } else {
        if (!spend_retry(connection, now)) return;
        environment_.queues.count(connection.qp, "local_ack_timeout_err", 1);
    }
    restart(connection, now, now);
}

}  // namespace cxsim::roce
