// SPDX-License-Identifier: Apache-2.0
// A requester on the bench, work requests by the line, and a peer that says what the test wants.
#pragma once

#include "model/queues/wqe.h"
#include "roce/requester/requester.h"
#include "tests/support/roce_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cxsim::test {

struct Request {
    model::WqeOpcode opcode = model::WqeOpcode::send;
    std::uint64_t bytes = 0;
    std::uint64_t host = 0x1000;       ///< payload, or where the answer goes
    std::uint64_t remote = 0x7000'0000;
    std::uint32_t key = 0x1234;
    std::uint32_t immediate = 0;
    std::uint64_t swap_add = 0;
    std::uint64_t compare = 0;
    std::uint32_t atomic_bytes = 8;
    model::FenceMode fence = model::FenceMode::none;
    bool solicits_peer = false;
    bool signaled = true;
    bool local = false;
    model::Picoseconds local_finish{};
    std::span<const std::byte> address_vector{};
    std::span<const std::byte> inlined{};  ///< payload in the WQE
};

struct RequesterBench : RoceBench {
    roce::Requester requester{environment, connections, addresses};
    std::uint16_t next_index = 0;

    ~RequesterBench() {
        for (const auto& [number, connection] : connections.connections) {
            requester.stop(*connection);
        }
    }

    roce::Connection& open(std::uint32_t number = 7, std::uint32_t psn = 100,
                           roce::WireService service = roce::WireService::rc,
                           const std::function<void(roce::QpAttributes&)>& change = {}) {
        roce::Connection& connection = connect(number, service, [&](roce::QpAttributes& a) {
            a.send_psn = psn;
            if (change) change(a);
        });
        connection.qp.view().set<prm::qpc::log_ack_req_freq>(8U);
        requester.start(connection, calendar.now());
        return connection;
    }

    /// Returns what post() returns.
    model::Picoseconds post_at(roce::Connection& connection, model::Picoseconds at,
                               const Request& request) {
        std::array<model::PayloadPiece, 1> piece{};
        model::QpSend send{.qp = connection.qp,
                           .control = {},
                           .local_finish = request.local_finish,
                           .address_vector = request.address_vector,
                           .wqe = {},
                           .payload = {}};
        send.control.opcode = static_cast<std::uint8_t>(request.opcode);
        send.control.index = next_index++;
        send.control.signaled = request.signaled;
        send.control.solicits_peer = request.solicits_peer;
        send.control.immediate = request.immediate;
        send.fence = request.fence;
        send.local = request.local;
        send.remote_address = request.remote;
        send.remote_key = request.key;
        send.swap_add = request.swap_add;
        send.compare = request.compare;
        send.atomic_bytes = request.atomic_bytes;
        send.payload_bytes = request.inlined.empty() ? request.bytes : request.inlined.size();
        piece[0].bytes = send.payload_bytes;
        piece[0].address = model::HostAddress{request.host};
        if (!request.inlined.empty()) {
            piece[0].in_wqe = true;
            send.wqe = request.inlined;
        }
        if (send.payload_bytes > 0) send.payload = piece;
        return requester.post(connection, at, send);
    }
    model::Picoseconds post(roce::Connection& connection, const Request& request) {
        return post_at(connection, calendar.now(), request);
    }

    void respond(roce::Connection& connection, roce::Operation operation, std::uint32_t psn,
                 std::uint8_t syndrome, std::uint32_t msn = 0,
                 std::span<const std::byte> payload = {}, std::uint64_t original = 0) {
        roce::TransportHeaders headers;
        headers.opcode = roce::opcode_of(roce::WireService::rc, operation);
        headers.destination_qp = connection.number;
        headers.psn = psn;
        headers.syndrome = syndrome;
        headers.msn = msn;
        headers.original = original;
        requester.response(connection, calendar.now(), arrived(headers, payload));
    }
    void ack(roce::Connection& connection, std::uint32_t psn,
             std::uint8_t credits = roce::kUnlimitedCredits, std::uint32_t msn = 0) {
        respond(connection, roce::Operation::acknowledge, psn,
                roce::aeth_syndrome(roce::AethKind::ack, credits), msn);
    }
    void nak(roce::Connection& connection, std::uint32_t psn, roce::NakCode code) {
        respond(connection, roce::Operation::acknowledge, psn,
                roce::aeth_syndrome(roce::AethKind::nak, static_cast<std::uint8_t>(code)));
    }
    void rnr_nak(roce::Connection& connection, std::uint32_t psn, std::uint8_t code) {
        respond(connection, roce::Operation::acknowledge, psn,
                roce::aeth_syndrome(roce::AethKind::rnr_nak, code));
    }
    void read_response(roce::Connection& connection, roce::Operation operation, std::uint32_t psn,
                       std::span<const std::byte> payload) {
        respond(connection, operation, psn,
                roce::aeth_syndrome(roce::AethKind::ack, roce::kUnlimitedCredits), 0, payload);
    }

    /// PSNs of the packets sent since `from`.
    std::vector<std::uint32_t> psns(std::size_t from = 0) const {
        std::vector<std::uint32_t> result;
        for (std::size_t i = from; i < output.packets.size(); ++i) {
            result.push_back(output.packets[i].headers().psn);
        }
        return result;
    }
    std::vector<roce::Operation> operations(std::size_t from = 0) const {
        std::vector<roce::Operation> result;
        for (std::size_t i = from; i < output.packets.size(); ++i) {
            result.push_back(output.packets[i].operation());
        }
        return result;
    }
    /// WQE indices reported as done.
    std::vector<unsigned> done() const {
        std::vector<unsigned> result;
        for (const auto& sent : queues.sent) result.push_back(sent.done.wqe_index);
        return result;
    }
};

}  // namespace cxsim::test
