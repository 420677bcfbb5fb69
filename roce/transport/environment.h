// SPDX-License-Identifier: Apache-2.0
// What the engines of one function's transport work with.
#pragma once

#include "model/memory/context_caches.h"
#include "model/ports/frame.h"
#include "model/ports/host_bus.h"
#include "model/ports/vport_traffic.h"
#include "model/ports/wire_port.h"
#include "model/queues/transport_port.h"
#include "model/sim/calendar.h"
#include "model/sim/timeline.h"
#include "roce/transport/timing.h"
#include "roce/wire/codec.h"

#include <cstdint>

namespace cxsim::roce {

/// What the transport did; the PRM's own counters (Q counters, congestion) are kept with their
/// objects.
struct TransportCounters {
    std::uint64_t packets_sent = 0;
    std::uint64_t frames_to_port = 0;     ///< of those: not only looped, not stopped by the vport
    std::uint64_t looped = 0;             ///< sent to the own address
    std::uint64_t frames_from_port = 0;   ///< that are RoCE's
    std::uint64_t vport_down = 0;         ///< received, and the vport is down
    std::uint64_t packets_received = 0;   ///< from the port or looped, parsed
    std::uint64_t copies = 0;             ///< packets_received of groups, beyond one for each
    std::uint64_t requests = 0;           ///< given to a responder
    std::uint64_t responses = 0;          ///< given to a requester
    std::uint64_t notifications = 0;      ///< CNPs for a QP
    std::uint64_t retransmitted = 0;      ///< packets sent again
    std::uint64_t malformed = 0;
    std::uint64_t bad_icrc = 0;
    std::uint64_t no_queue = 0;           ///< no such QP, or not of that service
    std::uint64_t not_ready = 0;          ///< QP in a state that does not receive
    std::uint64_t bad_pkey = 0;
    std::uint64_t bad_qkey = 0;
    std::uint64_t bad_address = 0;        ///< not from the QP's peer
    std::uint64_t dropped_sequence = 0;   ///< out of order, nothing to be said about it
    /// Requests that break a rule, of a service that knows no NAK; duplicates of what is forgotten.
    std::uint64_t dropped_request = 0;
    std::uint64_t dropped_no_buffer = 0;  ///< UD and UC without a posted receive
    std::uint64_t dropped_response = 0;   ///< acknowledgements of nothing that is under way
    std::uint64_t acknowledges_sent = 0;
    std::uint64_t naks_sent = 0;          ///< RNR included
    std::uint64_t timeouts = 0;
    std::uint64_t messages_sent = 0;
    std::uint64_t messages_received = 0;
    std::uint64_t stale_events = 0;
};

/// The way out for packets: counts, loops back what is for the own address.
class PacketOutput {
  public:
    virtual ~PacketOutput() = default;
    /// Sends a frame made by build() for `path`; it is complete at `ready` (not before now).
    virtual void transmit(model::Picoseconds ready, const Path& path, model::FramePtr frame) = 0;
    /// When a sender on `path` may bring more, if it has something at `at` (WirePort::room_at).
    virtual model::Picoseconds room_at(model::Picoseconds at, const Path& path) = 0;
    /// A new IPv4 identification.
    virtual std::uint16_t next_identification() = 0;
};

struct Environment {
    model::FunctionId function;
    model::Calendar& calendar;
    model::HostBus& host;
    model::QpQueues& queues;
    model::FramePool& frames;
    PacketOutput& output;
    const TransportTiming& timing;
    TransportCounters& counters;
    /// Shared by all QPs of the card.
    model::Timeline& message_stage;
    model::Timeline& packet_stage;
    model::Timeline& atomic_stage;
    /// Payload has a length and no content: nothing is read or written but by the clock
    /// (experiments). Frames carry synthetic bytes.
    bool synthetic = false;
    /// The packet worked on now takes room of the port's receive buffer until then: its bytes wait
    /// for PCIe there.
    model::Picoseconds occupied_until{};
    /// Atomics leave the original value in big endian order (atomic_caps.
    /// atomic_req_8B_endianness_mode 0), not in that of the host.
    bool big_endian_originals = false;
    /// Contexts, keys and translations that the card has at hand; null: all of them.
    model::ContextCaches* caches = nullptr;

    /// When the context of a QP is there for what is ready at `at`.
    model::Picoseconds context_of(std::uint32_t qp, model::Picoseconds at) {
        return caches == nullptr ? at : caches->context(model::ContextKind::qp, qp, at);
    }
};

}  // namespace cxsim::roce
