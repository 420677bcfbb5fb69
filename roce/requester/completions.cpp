// SPDX-License-Identifier: Apache-2.0
// Work requests end in the order of posting, each exactly once.
#include "roce/requester/requester.h"

#include <algorithm>
#include <array>
#include <span>

namespace cxsim::roce {

using model::Picoseconds;

/// Looks at `at` whether requests are done; never before now.
void Requester::complete_at(Connection& connection, Picoseconds at) {
    RequesterState& s = connection.requester;
    at = std::max(at, environment_.calendar.now());
    if (s.completion_at <= at) return;
    if (s.completion_at != Picoseconds::max()) environment_.calendar.cancel(s.completion);
    s.completion_at = at;
    s.completion = environment_.calendar.schedule<&Requester::completion>(
        at, this, arguments_of(connection));
}

void Requester::completion(const model::EventArguments& arguments) {
    Connection* connection = find(arguments);
    if (connection == nullptr) return;
    connection->requester.completion_at = Picoseconds::max();
    const Picoseconds now = environment_.calendar.now();
    if (!retire(*connection, now)) return;
    kick(*connection, now);
    make_room(*connection, now);
}

/// Reports the oldest request as done. False: the queues have stopped the connection meanwhile.
bool Requester::report(Connection& connection, Picoseconds at) {
    RequesterState& s = connection.requester;
    const std::uint64_t number = s.requests.begin();
    const WorkRequest& request = s.requests[number];
    model::SendDone done;
    done.wqe_index = request.wqe_index;
    done.opcode = request.opcode;
    done.signaled = request.signaled;
    done.solicited = request.solicited;
    if (request.answers()) done.byte_count = static_cast<std::uint32_t>(request.bytes);
    // Its place in the ring may be taken anew during the report.
    const std::array<std::byte, model::kCqeDataBytes> data = request.cqe_data;
    if (in_completion(connection, request)) done.data = std::span(data).first(done.byte_count);
    s.last_done = std::max({s.last_done, at, request.finish, request.stored});
    s.requests.pop();
    s.cursor = std::max(s.cursor, s.requests.begin());
    s.acknowledged = std::max(s.acknowledged, s.requests.begin());
    const std::uint32_t generation = s.generation;
    environment_.queues.send_done(connection.qp, s.last_done, done);
    return s.generation == generation;
}

/// Reports what is done at `at`. False: the connection was stopped, by the queues or by a failure.
bool Requester::retire(Connection& connection, Picoseconds at) {
    RequesterState& s = connection.requester;
    while (!s.requests.empty()) {
        const WorkRequest& request = s.requests[s.requests.begin()];
        if (!request.status.ok()) {
            fail(connection, std::max(at, request.ready), s.requests.begin(), request.status);
            return false;
        }
        if (request.kind != RequestKind::local && !request.acknowledged) return true;
        if (request.finish > at) {
            complete_at(connection, request.finish);
            return true;
        }
        if (!report(connection, at)) return false;
    }
    return true;
}

/// Lets the queue bring more, once an eighth of the window is free again.
void Requester::make_room(Connection& connection, Picoseconds at) {
    RequesterState& s = connection.requester;
    const std::size_t window = environment_.timing.request_window;
    if (!s.full || s.requests.size() > window - std::max<std::size_t>(1, window / 8)) return;
    s.full = false;
    environment_.queues.send_room(connection.qp, at);
}

/// The requests before `number` are done, the first one from there on that is not local has failed,
/// all others are dropped.
void Requester::fail(Connection& connection, Picoseconds at, std::uint64_t number,
                     model::WqeStatus status) {
    RequesterState& s = connection.requester;
    while (s.requests[number].kind == RequestKind::local) ++number;
    while (s.requests.begin() < number) {
        if (!report(connection, at)) return;
    }
    const std::uint16_t index = s.requests[number].wqe_index;
    s.last_done = std::max(s.last_done, at);
    clear(connection);
    environment_.queues.send_failed(connection.qp, s.last_done, index, status);
}

}  // namespace cxsim::roce
