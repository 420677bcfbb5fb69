// SPDX-License-Identifier: Apache-2.0
// Where the queue engines meet the rest of the card: who executes sends, and who hears of trouble.
#pragma once

#include "model/base/units.h"
#include "model/ports/host_bus.h"
#include "model/resources/objects.h"

#include <cstdint>
#include <span>

namespace cxsim::model {

/// A piece of a message's payload in the order of the WQE: host memory, or bytes of the WQE.
struct PayloadPiece {
    HostAddress address;  ///< unless `in_wqe`
    std::uint64_t bytes = 0;
    std::uint32_t wqe_offset = 0;  ///< if `in_wqe`
    bool in_wqe = false;
    bool zeros = false;  ///< null mkey: no memory behind it, reads as zeros
};

/// A SEND or LSO WQE whose descriptors have been checked and translated.
struct SendRequest {
    ObjectId queue;  ///< SQ or QP
    std::uint8_t opcode = 0;
    std::uint16_t wqe_index = 0;
    std::span<const std::byte> wqe;      ///< all `ds * 16` bytes
    std::span<const std::byte> headers;  ///< inlined Ethernet headers; empty on QPs
    std::span<const PayloadPiece> payload;
    std::uint64_t payload_bytes = 0;
    std::uint16_t mss = 0;  ///< of an LSO WQE
};

struct SendOutcome {
    Picoseconds finish;  ///< when the WQE is done and may be completed; not before the call's `at`
    WqeStatus status;
};

/// Executes sends: the Ethernet transmitter, later the transport. Spans live during the call.
class PacketSink {
  public:
    virtual ~PacketSink() = default;
    virtual SendOutcome send(Picoseconds at, const SendRequest& request) = 0;
};

/// Trouble that others have to know about (health, tracing).
class QueueListener {
  public:
    virtual ~QueueListener() = default;
    /// An EQE found no room; the queue takes no more events.
    virtual void eq_overrun(const Eq& eq, Picoseconds at) = 0;
    /// A CQ went into error: syndrome 1 overrun, 2 access violation.
    virtual void cq_error(const Cq& cq, std::uint8_t syndrome, Picoseconds at) = 0;
};

}  // namespace cxsim::model
