// SPDX-License-Identifier: Apache-2.0
// What the responder remembers of one connection.
#pragma once

#include "model/base/units.h"
#include "model/prm/event_type.h"
#include "model/queues/translation.h"
#include "model/queues/transport_port.h"
#include "model/resources/objects.h"
#include "model/sim/calendar.h"
#include "roce/transport/memory.h"

#include <cstdint>
#include <vector>

namespace cxsim::roce {

/// A READ or atomic that was executed: what a duplicate of it needs.
struct ResponderResource {
    bool valid = false;
    bool atomic = false;
    std::uint32_t psn = 0;      ///< of the request and its first response
    std::uint32_t packets = 1;  ///< responses, so PSNs that belong to it
    std::uint32_t msn = 0;
    // Atomic
    bool swaps = false;  ///< compare-and-swap, else fetch-and-add
    std::uint64_t swap_add = 0;
    std::uint64_t compare = 0;
    std::uint64_t original = 0;  ///< what was there before
    // READ, as requested first; atomic: the peer's address
    std::uint64_t address = 0;
    std::uint32_t key = 0;
    std::uint32_t bytes = 0;
    // READ, as it is sent now: the request or a duplicate of its rest
    std::vector<model::HostRange> ranges;
    RangeCursor cursor;
};

/// Something to be sent to the requester. They leave in the order of their PSNs.
struct Response {
    enum class Kind : std::uint8_t { acknowledge, nak, read, atomic };

    Kind kind = Kind::acknowledge;
    std::uint8_t syndrome = 0;
    bool replay = false;       ///< answers a duplicate: takes no responder resource
    bool fatal = false;        ///< NAK: the QP's error is reported when it has left
    std::uint32_t folded = 0;  ///< acknowledge: requests that it answers
    std::uint32_t psn = 0;     ///< of its first packet
    std::uint32_t msn = 0;
    std::uint32_t resource = 0;  ///< READ, atomic: index into resources
    bool admitted = false;  ///< READ, atomic: the card's unit for them has taken it
    bool executed = false;  ///< atomic
    // READ
    std::uint32_t bytes = 0;
    std::uint32_t packets = 1;
    std::uint32_t sent = 0;
    model::Picoseconds ready;  ///< not to be sent before
};

/// How a QP that met an error is to be reported.
struct ResponderFailure {
    bool pending = false;
    bool on_receive = false;  ///< as completion of the receive that is held, else as event
    model::WqeStatus status;  ///< if on_receive
    prm::EventType event{};   ///< else
};

struct ResponderState {
    enum class Message : std::uint8_t { none, send, write };

    std::uint32_t expected = 0;  ///< PSN
    std::uint32_t msn = 0;       ///< messages completed
    bool established = false;    ///< the first request has been announced
    /// A NAK was sent, or will be, and the expected PSN has not come since: no further one.
    bool nak_in_flight = false;

    // The message under way
    Message message = Message::none;
    std::uint64_t received = 0;  ///< bytes of it
    model::Picoseconds last_write;  ///< when the last payload so far went to host memory
    model::Picoseconds accepted;  ///< when its last packet so far went to host memory
    model::Picoseconds written;   ///< when its last byte so far is there
    /// A receive WQE was taken and not completed.
    bool holds_receive = false;
    model::PostedReceive receive;
    model::Picoseconds receive_known;  ///< when its descriptors are there
    RangeCursor receive_cursor;
    std::uint64_t write_bytes = 0;
    std::vector<model::HostRange> write_ranges;
    RangeCursor write_cursor;
    model::Picoseconds completed_until;  ///< of the last completion reported

    // What there is to be sent
    std::vector<Response> responses;  ///< oldest PSN first
    std::vector<ResponderResource> resources;
    std::uint32_t next_resource = 0;
    model::EventHandle event;
    model::Picoseconds event_at = model::Picoseconds::max();
    model::Picoseconds last_ready;  ///< of the latest frame handed to the output
    bool slot_booked = false;       ///< the rate limiter gave the next READ response a time
    model::Picoseconds slot;
    bool translations_read = false;  ///< those of the next READ response have been waited for

    ResponderFailure failure;
};

}  // namespace cxsim::roce
