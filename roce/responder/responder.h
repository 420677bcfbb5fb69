// SPDX-License-Identifier: Apache-2.0
// The receiving half of queue pairs: requests into memory, receives and answers.
#pragma once

#include "roce/transport/connection.h"
#include "roce/transport/environment.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace cxsim::roce {

class Responder {
  public:
    Responder(Environment& environment, ConnectionFinder& connections)
        : environment_(environment), connections_(connections) {}

    /// A request packet (SEND, WRITE, READ, atomic) of RC, UC or UD; checked for peer, partition
    /// and, of datagrams, queue key. `at`: its headers have been decided on; not before now().
    void request(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);
    /// The QP reached RTR: the first PSN expected is attributes.receive_psn.
    void start(Connection& connection);
    /// Reset or error: nothing stays under way. The queues may call it from within a call of the
    /// responder.
    void stop(Connection& connection);
    std::uint32_t expected_psn(const Connection& connection) const;
    std::uint32_t message_number(const Connection& connection) const;

  private:
    // responder.cpp: which packet may come
    void announce(Connection& connection, model::Picoseconds at);
    void reliable(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);
    void unreliable(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);
    void ahead(Connection& connection, model::Picoseconds at);
    void duplicate(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);

    // messages.cpp: SEND and WRITE
    void message(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);
    bool may_begin(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);
    bool fits(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);
    bool has_receive(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);
    model::ReceiveVerdict take_receive(Connection& connection, model::Picoseconds at,
                                       std::uint64_t needed);
    bool store(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);
    bool in_completion(const Connection& connection, const ReceivedPacket& packet) const;
    bool finish(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);
    void complete(Connection& connection, const ReceivedPacket& packet, std::uint32_t bytes,
                  bool network_header);
    void datagram(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);

    // resources.cpp: READ and atomics
    void read(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);
    void read_again(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);
    void atomic(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);
    void atomic_again(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);
    bool has_resource(const Connection& connection) const;
    std::uint32_t take_resource(Connection& connection);
    bool translate_read(Connection& connection, const TransportHeaders& headers,
                        ResponderResource& resource);
    model::Picoseconds place_known(model::Picoseconds at, std::uint32_t bytes) const;
    bool may_change(Connection& connection, Response& response);
    bool change(Connection& connection, Response& response);
    std::optional<model::Picoseconds> change_memory(ResponderResource& resource);

    // errors.cpp: what is wrong, and how it is reported
    void refuse(Connection& connection, model::Picoseconds at, NakCode code);
    void refuse_receive(Connection& connection, model::Picoseconds at, NakCode code,
                        std::uint8_t syndrome);
    void fail(Connection& connection, model::Picoseconds at, NakCode code);
    void report_failure(Connection& connection, model::Picoseconds at);

    // responses.cpp: the way back
    void acknowledge(Connection& connection, std::uint32_t psn, model::Picoseconds ready);
    void nak(Connection& connection, AethKind kind, std::uint8_t value, model::Picoseconds ready,
             bool fatal);
    void nak_at_once(Connection& connection, model::Picoseconds at, NakCode code);
    void append(Connection& connection, Response response);
    void insert(Connection& connection, const Response& response);
    void wake(Connection& connection);
    void wake_at(Connection& connection, model::Picoseconds at);
    void pump(const model::EventArguments& arguments);
    void pump(Connection& connection);
    bool may_start_read(Connection& connection, Response& response);
    bool may_read(Connection& connection, const Response& response, unsigned& burst);
    bool send_read(Connection& connection, Response& response);
    void send_short(Connection& connection, const Response& response, model::Picoseconds at);
    void transmit(Connection& connection, model::Picoseconds ready, model::FramePtr frame);
    TransportHeaders headers_of(const Connection& connection, const Response& response,
                                Operation operation, std::uint32_t psn) const;

    /// What the atomic unit keeps of an address that it works on; others share it.
    struct AtomicLock {
        std::uint64_t address = 0;
        model::Picoseconds until;    ///< the next atomic may read
        model::Picoseconds visible;  ///< what was written is in memory
    };
    AtomicLock& lock_of(std::uint64_t address) {
        return atomic_locks_[(address / sizeof(std::uint64_t)) % atomic_locks_.size()];
    }

    Environment& environment_;
    ConnectionFinder& connections_;
    model::Timeline read_stage_;
    std::array<AtomicLock, 256> atomic_locks_{};
};

}  // namespace cxsim::roce
