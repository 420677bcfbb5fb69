// SPDX-License-Identifier: Apache-2.0
#include "roce/requester/requester.h"

#include "model/base/assert.h"
#include "model/queues/wqe.h"

#include <algorithm>

namespace cxsim::roce {

using model::Picoseconds;
using model::WqeOpcode;
namespace wqe_status = model::wqe_status;

// ---- The ring of requests ----

WorkRequest& RequestRing::push() {
    if (size() == order_.size()) {
        std::vector<std::uint32_t> larger(order_.empty() ? 4 : 2 * order_.size());
        for (std::uint64_t number = head_; number != tail_; ++number) {
            larger[static_cast<std::size_t>(number) & (larger.size() - 1)] =
                order_[static_cast<std::size_t>(number) & (order_.size() - 1)];
        }
        order_.swap(larger);
        // Room for all places at once: giving them back never allocates.
        free_.reserve(order_.size());
    }
    std::uint32_t place = 0;
    if (free_.empty()) {
        place = static_cast<std::uint32_t>(slots_.size());
        slots_.emplace_back();
    } else {
        place = free_.back();
        free_.pop_back();
    }
    order_[static_cast<std::size_t>(tail_) & (order_.size() - 1)] = place;
    ++tail_;
    return slots_[place];
}

void RequestRing::pop() {
    free_.push_back(order_[static_cast<std::size_t>(head_) & (order_.size() - 1)]);
    ++head_;
}

// ---- Beginning and end of a connection ----

Requester::~Requester() {
    for (const SendTurns& turns : turns_) {
        if (turns.scheduled) environment_.calendar.cancel(turns.event);
    }
}

void Requester::start(Connection& connection, Picoseconds at) {
    RequesterState& s = connection.requester;
    if (!s.started) {
        s.started = true;
        s.posted_psn = s.sent_psn = s.unacknowledged_psn =
            connection.attributes.send_psn & kPsnMask;
        s.posted_messages = 0;
        s.credit_limited = false;
        const std::uint32_t asked =
            1U << connection.qp.view().get<prm::qpc::log_ack_req_freq>();
        s.ack_interval =
            std::clamp(environment_.timing.psn_window / 2, std::uint32_t{1}, asked);
    }
    kick(connection, at);
}

void Requester::clear(Connection& connection) {
    RequesterState& s = connection.requester;
    model::Calendar& calendar = environment_.calendar;
    calendar.cancel(s.wake);
    calendar.cancel(s.timer);
    calendar.cancel(s.completion);
    s.wake_at = s.timer_at = s.completion_at = s.deadline = Picoseconds::max();
    ++s.generation;
    s.requests.clear();
    s.cursor = s.acknowledged = s.requests.end();
    s.cursor_packet = 0;
    s.posted_psn = s.unacknowledged_psn = s.sent_psn;
    s.posted_packets = s.acknowledged_packets = s.asked_packets = s.sent_packets;
    s.since_ack_request = 0;
    s.answers_awaited = 0;
    s.full = s.queued = s.paced = s.reread = s.translations_read = false;
    s.hold_until = s.context_at = {};
    s.retries = s.rnr_retries = s.rung = 0;
    s.datagram_path_of = ~std::uint64_t{0};
}

void Requester::stop(Connection& connection) {
    clear(connection);
    connection.requester.started = false;
}

std::uint32_t Requester::next_psn(const Connection& connection) const {
    return connection.requester.sent_psn;
}

std::uint32_t Requester::unacknowledged_psn(const Connection& connection) const {
    return connection.requester.unacknowledged_psn;
}

model::EventArguments Requester::arguments_of(const Connection& connection) {
    return {connection.number, connection.tag, connection.requester.generation};
}

Connection* Requester::find(const model::EventArguments& arguments) {
    Connection* connection =
        connections_.find(static_cast<std::uint32_t>(arguments.a), arguments.b);
    if (connection != nullptr && connection->requester.generation != arguments.c) {
        ++environment_.counters.stale_events;
        return nullptr;
    }
    return connection;
}

// ---- Posting ----

void Requester::decode(const Connection& connection, const model::QpSend& send,
                       WorkRequest& request) {
    const model::WqeControl& control = send.control;
    request.opcode = control.opcode;
    request.wqe_index = control.index;
    request.fence = send.fence;
    request.signaled = control.signaled;
    request.solicited = control.solicited;
    request.solicits_peer = control.solicits_peer;
    request.immediate = request.invalidate = false;
    request.started = request.acknowledged = false;
    request.status = wqe_status::kSuccess;
    request.immediate_data = control.immediate;
    request.psns = request.packets = request.received = 0;
    request.remote_address = send.remote_address;
    request.remote_key = send.remote_key;
    request.swap_add = send.swap_add;
    request.compare = send.compare;
    request.bytes = send.payload_bytes;
    request.finish = request.stored = {};
    request.cursor = {};
    if (send.local) {
        request.kind = RequestKind::local;
        request.finish = send.local_finish;
        return;
    }
    const auto refuse = [&request](const model::WqeStatus& status) {
        request.kind = RequestKind::refused;
        request.status = status;
    };
    switch (static_cast<WqeOpcode>(control.opcode)) {
        case WqeOpcode::send_invalidate: request.invalidate = true; [[fallthrough]];
        case WqeOpcode::send: request.kind = RequestKind::send; break;
        case WqeOpcode::send_immediate:
            request.kind = RequestKind::send;
            request.immediate = true;
            break;
        case WqeOpcode::rdma_write_immediate: request.immediate = true; [[fallthrough]];
        case WqeOpcode::rdma_write: request.kind = RequestKind::write; break;
        case WqeOpcode::rdma_read: request.kind = RequestKind::read; break;
        case WqeOpcode::atomic_compare_swap: request.kind = RequestKind::compare_swap; break;
        case WqeOpcode::atomic_fetch_add: request.kind = RequestKind::fetch_add; break;
        default: refuse(wqe_status::kBadWqe); return;
    }
    const WireService service = connection.service;
    const bool connected = service == WireService::rc || service == WireService::xrc;
    const bool atomic = request.kind == RequestKind::compare_swap ||
                        request.kind == RequestKind::fetch_add;
    if ((!connected && (request.answers() || request.invalidate)) ||
        (service == WireService::ud && request.kind != RequestKind::send) ||
        (atomic && send.atomic_bytes != sizeof(std::uint64_t))) {
        refuse(wqe_status::kBadWqe);
        return;
    }
    if (atomic) {
        if (request.bytes != sizeof(std::uint64_t)) refuse(wqe_status::kMessageTooLong);
        request.psns = request.packets = 1;
        return;
    }
    const std::uint32_t mtu = connection.attributes.mtu;
    const std::uint64_t packets = std::max<std::uint64_t>(1, (request.bytes + mtu - 1) / mtu);
    // Distances of PSNs have 23 bits; only READs need all of theirs at once.
    if (packets > kPsnMask / 2 + 1 || (service == WireService::ud && packets > 1) ||
        (request.kind == RequestKind::read && packets > kPsnMask / 2)) {
        refuse(wqe_status::kMessageTooLong);
        return;
    }
    request.psns = static_cast<std::uint32_t>(packets);
    request.packets = request.kind == RequestKind::read ? 1 : request.psns;
}

void Requester::copy_payload(const model::QpSend& send, WorkRequest& request) {
    request.pieces.assign(send.payload.begin(), send.payload.end());
    request.address_vector.assign(send.address_vector.begin(), send.address_vector.end());
    const bool in_wqe = std::ranges::any_of(send.payload, &model::PayloadPiece::in_wqe);
    if (in_wqe) {
        request.wqe.assign(send.wqe.begin(), send.wqe.end());
    } else {
        request.wqe.clear();
    }
}

Picoseconds Requester::post(Connection& connection, Picoseconds at, const model::QpSend& send) {
    RequesterState& s = connection.requester;
    const bool first = s.requests.empty();
    WorkRequest& request = s.requests.push();
    decode(connection, send, request);
    request.ready = at;
    request.first_psn = s.posted_psn;
    request.first_packet = s.posted_packets;
    if (request.on_wire()) {
        copy_payload(send, request);
        s.posted_psn = psn_add(s.posted_psn, request.psns);
        s.posted_packets += request.packets;
        s.posted_messages = psn_add(s.posted_messages, 1);
        request.message = s.posted_messages;
    } else {
        request.pieces.clear();
        if (request.kind == RequestKind::local) {
            s.local_until = std::max(s.local_until, request.finish);
        }
        if (first) complete_at(connection, std::max(at, request.finish));
    }
    kick(connection, at);
    if (s.requests.size() < environment_.timing.request_window) return at;
    s.full = true;
    return Picoseconds::max();
}

}  // namespace cxsim::roce
