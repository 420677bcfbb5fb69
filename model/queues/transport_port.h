// SPDX-License-Identifier: Apache-2.0
// Where queue pairs meet the transport: the send queue hands over work requests whose descriptors
// have been checked and translated, the transport says how they ended; packets that arrive ask for
// posted receive buffers. model/queues implements QpQueues, roce implements Transport.
#pragma once

#include "model/base/units.h"
#include "model/prm/event_type.h"
#include "model/queues/queue_ports.h"
#include "model/queues/translation.h"
#include "model/queues/wqe.h"
#include "model/resources/objects.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cxsim::model {

/// wqe_ctrl_seg.fm.
enum class FenceMode : std::uint8_t {
    none = 0,
    initiator_small = 1,  ///< waits for earlier UMRs and local invalidates of the queue
    fence = 2,            ///< waits for earlier READs and atomics
    strong_ordering = 3,
    small_and_fence = 4,
};

/// A work request of a QP. Spans live during the call.
struct QpSend {
    Qp& qp;
    WqeControl control;
    FenceMode fence = FenceMode::none;
    /// The queue has executed it itself (NOP, UMR, local invalidate): it only waits for its turn
    /// among the completions and is done at `local_finish` at the earliest.
    bool local = false;
    Picoseconds local_finish{};
    // RDMA and atomic operations; keys and addresses belong to the peer.
    std::uint64_t remote_address = 0;
    std::uint32_t remote_key = 0;
    std::uint64_t swap_add = 0;
    std::uint64_t compare = 0;
    std::uint64_t swap_add_mask = ~std::uint64_t{0};  ///< fetch-and-add: field boundaries
    std::uint64_t compare_mask = ~std::uint64_t{0};
    std::uint32_t atomic_bytes = 8;
    /// Of a datagram: base_av or the whole av, as the WQE has it.
    std::span<const std::byte> address_vector{};
    /// All bytes of the WQE; pieces that are `in_wqe` point into them.
    std::span<const std::byte> wqe{};
    /// What is sent; of READ and atomics where the answer goes.
    std::span<const PayloadPiece> payload{};
    std::uint64_t payload_bytes = 0;
};

/// How a work request ended well.
struct SendDone {
    std::uint16_t wqe_index = 0;
    std::uint8_t opcode = 0;
    bool signaled = false;
    bool solicited = false;
    std::uint32_t byte_count = 0;  ///< of READ and atomics: bytes that came
    /// At most kCqeDataBytes that came and go out in the CQE (cs_req) instead of to memory.
    std::span<const std::byte> data{};
};

/// A receive WQE taken for a message that arrives.
struct PostedReceive {
    std::uint16_t wqe_index = 0;
    std::uint32_t shared_number = 0;  ///< SRQ or RMP it came from; 0: the QP's own queue
    std::uint64_t bytes = 0;          ///< what it holds, all of it
    std::vector<HostRange> ranges;    ///< reused; zeros: bytes vanish
    /// Set before the call where the message's length is known: memory behind it is neither
    /// checked nor listed in `ranges`.
    std::uint64_t needed = ~std::uint64_t{0};
};

/// A message that was received, or an RDMA WRITE with immediate.
struct ReceiveDone {
    std::uint16_t wqe_index = 0;
    std::uint32_t shared_number = 0;
    /// opcode, byte_cnt, immediate, rqpn, sl, grh, l3_hdr_type, vlan … in PRM form; the queue sets
    /// wqe_counter, srqn, timestamp, qpn.
    std::span<const std::byte, 64> cqe;
    bool solicited = false;
};

/// What the transport asks of the queues. Times may lie ahead of the calendar's now().
class QpQueues {
  public:
    virtual ~QpQueues() = default;

    // ---- Send queue ----

    /// The oldest work request that was posted and not reported is done: exactly one report for
    /// each, in the order of posting. A CQE follows if it was signaled.
    virtual void send_done(Qp& qp, Picoseconds at, const SendDone& done) = 0;
    /// That work request failed: an error CQE for it, then the QP goes into error (SQ error, where
    /// the service has it) and what is behind it is flushed. The transport has dropped all of them.
    virtual void send_failed(Qp& qp, Picoseconds at, std::uint16_t wqe_index,
                             const WqeStatus& status) = 0;
    /// The transport takes more of this queue after it said that it takes no more.
    virtual void send_room(Qp& qp, Picoseconds at) = 0;

    // ---- Receive queue ----

    /// Takes the next posted WQE of the QP or its shared queue. `at` becomes the time at which it
    /// is known (its fetch). delivered, no_buffer, not_ready, or failed: the WQE is bad and the QP
    /// has been put into error by this call.
    virtual ReceiveVerdict take_receive(Qp& qp, Picoseconds& at, PostedReceive& into) = 0;
    /// The WQE taken is complete.
    virtual void receive_done(Qp& qp, Picoseconds at, const ReceiveDone& done) = 0;
    /// The responder met an error that ends in a CQE (length, local protection): error CQE for the
    /// WQE taken, QP into error, flush.
    virtual void receive_failed(Qp& qp, Picoseconds at, const PostedReceive& posted,
                                const WqeStatus& status) = 0;
    /// The responder met an error without a WQE: an affiliated asynchronous event
    /// (WQ_INVAL_REQ_ERROR, WQ_ACCESS_ERROR, WQ_CATAS_ERROR), QP into error, flush.
    virtual void responder_error(Qp& qp, Picoseconds at, prm::EventType type) = 0;
    /// The first request arrived while the QP was in RTR (COMM_EST), path migrated …
    virtual void event(Qp& qp, Picoseconds at, prm::EventType type) = 0;

    // ---- Memory ----

    virtual TranslationError translate(const TranslationRequest& request,
                                       std::vector<HostRange>& out) = 0;
    /// SEND with invalidate: frees the mkey or unbinds the window. False: not allowed.
    virtual bool invalidate(Qp& qp, std::uint32_t key) = 0;

    // ---- Counters ----

    /// Adds to a counter of the QP's set; `name` is query_q_counter_out's field. The queues count
    /// what they see themselves: out_of_buffer, and of every error CQE its syndrome's counter,
    /// req/resp_cqe_error and req/resp_cqe_flush_error.
    virtual void count(Qp& qp, std::string_view name, std::uint64_t n) = 0;
};

/// What the queues ask of the transport.
class Transport {
  public:
    virtual ~Transport() = default;

    /// Takes a work request over, in the order of posting. Returns when the queue may bring the
    /// next: `at`, later, or Picoseconds::max(): not before send_room().
    virtual Picoseconds post(Picoseconds at, const QpSend& send) = 0;
    /// The QP went from `old` to qp.state, by a command or by an error: what is under way is
    /// dropped where the new state does not carry it on. Called before the queues flush.
    virtual void state_changed(Qp& qp, QpState old) = 0;
    /// The QP goes: nothing of it stays in the calendar.
    virtual void destroyed(Qp& qp) = 0;
    /// For QUERY_QP: brings the PSNs and the like of the context up to date.
    virtual void refresh(Qp& qp) = 0;
};

}  // namespace cxsim::model
