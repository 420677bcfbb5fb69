// SPDX-License-Identifier: Apache-2.0
// Times and sizes of the transport engine, from the card's data.
#pragma once

#include "model/base/units.h"

#include <cstdint>

namespace cxsim::roce {

struct TransportTiming {
    // Requester
    model::Picoseconds message_per_qp;   ///< one QP starts a message no more often than this
    model::Picoseconds message;          ///< nor does the whole card
    model::Picoseconds packet;           ///< the packetizer per packet
    model::Picoseconds transmit;         ///< payload read until the frame is at the port
    // Responder
    model::Picoseconds receive;          ///< frame arrived until its headers are decided on
    /// From there until key and translations are found, where a packet's data are put into or
    /// taken from memory.
    model::Picoseconds look_up;
    model::Picoseconds acknowledge;      ///< last write of a message posted until the ACK goes out
    model::Picoseconds read;             ///< between two READs that the card answers
    model::Picoseconds atomic;           ///< between two atomics of the whole card
    /// Between two atomics on one address while the first one's value is on its way to memory:
    /// the card hands it on.
    model::Picoseconds atomic_forward;
    model::Picoseconds nak;              ///< out of sequence packet seen until the NAK goes out
    model::Picoseconds nak_read;         ///< gap in READ responses seen until the request goes again
    model::Picoseconds retransmit;       ///< NAK seen until the first packet goes again
    model::Picoseconds loopback;         ///< sent to an own QP until it arrives there
    // Windows
    std::uint32_t psn_window = 512;      ///< packets of one QP under way, at most
    std::uint32_t request_window = 512;  ///< work requests of one QP under way, at most
    /// An ACK is sent at the latest after so many requests that asked for one, or when nothing
    /// more of the QP is under way towards it for acknowledge_delay.
    std::uint32_t acknowledge_coalesce = 1;
    // Timeouts
    bool adaptive_timers = false;        ///< roce_adp_retrans: see roce/requester
};

}  // namespace cxsim::roce
