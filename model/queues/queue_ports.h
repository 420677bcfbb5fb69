// SPDX-License-Identifier: Apache-2.0
// Where the queue engines meet the rest of the card: who executes sends, and who hears of trouble.
#pragma once

#include "model/base/units.h"
#include "model/memory/translation_origin.h"
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
    TranslationOrigin origin{};  ///< unless `in_wqe`
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
    Picoseconds room{};  ///< when the sink takes more of this queue, if later than the call's `at`
};

/// Executes sends: the Ethernet transmitter, later the transport. Spans live during the call.
class PacketSink {
  public:
    virtual ~PacketSink() = default;
    virtual SendOutcome send(Picoseconds at, const SendRequest& request) = 0;
};

/// A packet for a receive queue.
struct ReceiveRequest {
    /// What is written to the host, in order: stripped tags are gone, an FCS that the queue wants
    /// is there.
    std::span<const std::span<const std::byte>> pieces;
    /// Bytes behind the pieces that are counted, not written.
    std::uint32_t synthetic = 0;
    /// What the pipeline found out about the packet (checksums, hash, tags, flow tag, metadata, LRO).
    /// The queue fills in opcode, byte count, WQE, user index and timestamp.
    std::span<const std::byte, 64> cqe;
    /// When the packet arrived at the port: the completion's timestamp.
    Picoseconds arrival;
};

enum class ReceiveVerdict : std::uint8_t {
    delivered,
    not_ready,   ///< the queue is in reset or error
    no_buffer,   ///< nothing is posted: out_of_buffer
    too_small,   ///< the next WQE does not hold the packet
    failed,      ///< the WQE or the host refused; the queue is in error
};

struct ReceiveOutcome {
    ReceiveVerdict verdict = ReceiveVerdict::not_ready;
    Picoseconds finish;  ///< when the last byte has left the card; the call's `at` if none does
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
