// SPDX-License-Identifier: Apache-2.0
// The receiving half of queue pairs: requests into memory, receives and answers.
#pragma once

#include "roce/transport/connection.h"
#include "roce/transport/environment.h"

namespace cxsim::roce {

class Responder {
  public:
    Responder(Environment& environment, ConnectionFinder& connections)
        : environment_(environment), connections_(connections) {}

    /// A request packet (SEND, WRITE, READ, atomic) of RC, UC or UD; checked for peer, partition
    /// and, of datagrams, queue key.
    void request(Connection& connection, model::Picoseconds at, const ReceivedPacket& packet);
    /// The QP reached RTR: the first PSN expected is attributes.receive_psn.
    void start(Connection& connection);
    /// Reset or error: nothing stays under way.
    void stop(Connection& connection);
    std::uint32_t expected_psn(const Connection& connection) const;
    std::uint32_t message_number(const Connection& connection) const;

  private:
    Environment& environment_;
    ConnectionFinder& connections_;
};

}  // namespace cxsim::roce
