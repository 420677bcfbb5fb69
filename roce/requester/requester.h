// SPDX-License-Identifier: Apache-2.0
// The sending half of queue pairs: work requests into packets, acknowledgements into completions,
// loss into retransmission.
#pragma once

#include "roce/requester/send_turns.h"
#include "roce/transport/addressing.h"
#include "roce/transport/connection.h"
#include "roce/transport/environment.h"

#include <array>
#include <cstdint>

namespace cxsim::roce {

class Requester {
  public:
    Requester(Environment& environment, ConnectionFinder& connections, const AddressTable& addresses)
        : environment_(environment), connections_(connections), addresses_(addresses) {}
    /// All connections have been stopped.
    ~Requester();
    Requester(const Requester&) = delete;
    Requester& operator=(const Requester&) = delete;

    /// See model::Transport::post. Nothing is reported to the queues before it returns.
    model::Picoseconds post(Connection& connection, model::Picoseconds at,
                            const model::QpSend& send);
    /// ACK, NAK, READ response, atomic acknowledge; checked for peer and partition.
    void response(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);
    /// The QP reached RTS: PSNs start at attributes.send_psn. Out of SQ drained: goes on.
    void start(Connection& connection, model::Picoseconds at);
    /// Reset or error: nothing stays under way, nothing is reported.
    void stop(Connection& connection);
    /// Next PSN to be sent and oldest one not acknowledged, for the context.
    std::uint32_t next_psn(const Connection& connection) const;
    std::uint32_t unacknowledged_psn(const Connection& connection) const;

  private:
    // Work requests (requester.cpp)
    static void decode(const Connection& connection, const model::QpSend& send,
                       WorkRequest& request);
    static void copy_payload(const model::QpSend& send, WorkRequest& request);
    void clear(Connection& connection);

    // Completions (completions.cpp)
    void complete_at(Connection& connection, model::Picoseconds at);
    void completion(const model::EventArguments& arguments);
    bool retire(Connection& connection, model::Picoseconds at);
    bool report(Connection& connection, model::Picoseconds at);
    void make_room(Connection& connection, model::Picoseconds at);
    void fail(Connection& connection, model::Picoseconds at, std::uint64_t number,
              model::WqeStatus status);

    // Whose turn it is (scheduling.cpp)
    model::Picoseconds next_turn(Connection& connection, model::Picoseconds now);
    model::Picoseconds may_start(const RequesterState& state, const QpAttributes& attributes,
                                 const WorkRequest& request, model::Picoseconds now) const;
    void kick(Connection& connection, model::Picoseconds at);
    void wake(const model::EventArguments& arguments);
    void join(Connection& connection);
    void turn(const model::EventArguments& arguments);
    void serve(std::size_t priority);
    bool has_context(Connection& connection, model::Picoseconds now);
    unsigned send_some(Connection& connection, unsigned budget);
    model::Picoseconds stages_free() const;
    const Path* path_at_cursor(Connection& connection);

    // Packets (packetizer.cpp, datagram.cpp)
    bool send_packet(Connection& connection, const Path& path);
    TransportHeaders headers_of(Connection& connection, const WorkRequest& request,
                                std::uint32_t packet) const;
    static void datagram_headers(const Connection& connection, const WorkRequest& request,
                                 TransportHeaders& headers);
    bool asks_for_answer(RequesterState& state, const WorkRequest& request,
                         std::uint32_t packet) const;
    void packet_sent(Connection& connection, std::uint64_t number, std::uint32_t packet,
                     bool asked, model::Picoseconds at, model::Picoseconds ready);

    // Responses (acknowledge.cpp)
    bool advance(Connection& connection, model::Picoseconds at, std::uint32_t end);
    static void passed(RequesterState& state, WorkRequest& request);
    void progressed(Connection& connection, model::Picoseconds at);
    static void take_credits(RequesterState& state, const TransportHeaders& headers);
    bool acknowledge(Connection& connection, model::Picoseconds at,
                     const TransportHeaders& headers);
    bool negative(Connection& connection, model::Picoseconds at, const TransportHeaders& headers);
    bool not_ready(Connection& connection, model::Picoseconds at, std::uint8_t code);
    bool answer(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);
    bool in_completion(const Connection& connection, const WorkRequest& request) const;
    bool take_read(Connection& connection, model::Picoseconds at, WorkRequest& request,
                   const ReceivedPacket& packet);
    bool take_original(Connection& connection, model::Picoseconds at, WorkRequest& request,
                       std::uint64_t original);

    // Recovery (retransmission.cpp)
    void restart(Connection& connection, model::Picoseconds at, model::Picoseconds when);
    bool spend_retry(Connection& connection, model::Picoseconds at);
    bool implied_nak(Connection& connection, model::Picoseconds at);
    model::Picoseconds answer_time(const Connection& connection) const;
    void set_deadline(Connection& connection, model::Picoseconds at);
    void timer(const model::EventArguments& arguments);
    void timeout(Connection& connection, model::Picoseconds now);

    Connection* find(const model::EventArguments& arguments);
    static model::EventArguments arguments_of(const Connection& connection);

    Environment& environment_;
    ConnectionFinder& connections_;
    const AddressTable& addresses_;
    std::array<SendTurns, 8> turns_;  // by priority of the port
};

}  // namespace cxsim::roce
