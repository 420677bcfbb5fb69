// SPDX-License-Identifier: Apache-2.0
// The sending half of queue pairs: work requests into packets, acknowledgements into completions,
// loss into retransmission.
#pragma once

#include "roce/transport/addressing.h"
#include "roce/transport/connection.h"
#include "roce/transport/environment.h"

namespace cxsim::roce {

class Requester {
  public:
    Requester(Environment& environment, ConnectionFinder& connections, const AddressTable& addresses)
        : environment_(environment), connections_(connections), addresses_(addresses) {}

    /// See model::Transport::post.
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
    Environment& environment_;
    ConnectionFinder& connections_;
    const AddressTable& addresses_;
};

}  // namespace cxsim::roce
