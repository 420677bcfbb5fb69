// SPDX-License-Identifier: Apache-2.0
// What the requester remembers of one connection.
#pragma once

#include "model/base/units.h"
#include "model/queues/transport_port.h"
#include "model/sim/calendar.h"
#include "roce/transport/memory.h"
#include "roce/wire/codec.h"

#include <array>
#include <cstdint>
#include <vector>

namespace cxsim::roce {

enum class RequestKind : std::uint8_t {
    send,
    write,
    read,
    compare_swap,
    fetch_add,
    local,    ///< the queue has executed it
    refused,  ///< ends in `status` when its turn comes
};

/// A work request from its posting to its completion. Reused: vectors keep their memory.
struct WorkRequest {
    RequestKind kind = RequestKind::local;
    std::uint8_t opcode = 0;  ///< the WQE's
    std::uint16_t wqe_index = 0;
    model::FenceMode fence = model::FenceMode::none;
    bool signaled = false;
    bool solicited = false;       ///< the own completion asks for an event
    bool solicits_peer = false;   ///< SE of the last packet
    bool immediate = false;
    bool invalidate = false;
    bool started = false;         ///< its first packet was sent
    bool acknowledged = false;    ///< RC: by the peer, with all answers; UC, UD: sent whole
    model::WqeStatus status;      ///< not ok: nothing of it is sent any more
    std::uint32_t immediate_data = 0;  ///< or the key to invalidate
    std::uint32_t first_psn = 0;
    std::uint32_t psns = 0;       ///< of READ: packets of the answer
    std::uint32_t packets = 0;    ///< that the requester sends
    std::uint32_t message = 0;    ///< SSN: 24 bits
    std::uint64_t first_packet = 0;  ///< number among all packets of the connection
    std::uint64_t remote_address = 0;
    std::uint32_t remote_key = 0;
    std::uint32_t received = 0;   ///< READ: packets of the answer that came
    std::uint64_t swap_add = 0;
    std::uint64_t compare = 0;
    std::uint64_t bytes = 0;
    model::Picoseconds ready;     ///< not to be sent before
    model::Picoseconds finish;    ///< not to be completed before
    model::Picoseconds stored;    ///< its answer's data leave for memory: the CQE goes behind them
    RangeCursor cursor;
    std::array<std::byte, model::kCqeDataBytes> cqe_data;  ///< the answer, if it goes in the CQE
    std::vector<model::PayloadPiece> pieces;
    std::vector<std::byte> wqe;   ///< if pieces lie in it
    std::vector<std::byte> address_vector;

    bool answers() const {  ///< its end is data, not an acknowledgement
        return kind == RequestKind::read || kind == RequestKind::compare_swap ||
               kind == RequestKind::fetch_add;
    }
    bool takes_receive() const {  ///< a receive WQE of the peer
        return kind == RequestKind::send || (kind == RequestKind::write && immediate);
    }
    bool on_wire() const { return kind < RequestKind::local; }
};

/// Work requests in the order of posting, named by a number that never repeats. Places are taken
/// from a stack, so that few stay warm while few are under way.
class RequestRing {
  public:
    std::uint64_t begin() const { return head_; }
    std::uint64_t end() const { return tail_; }
    bool empty() const { return head_ == tail_; }
    std::size_t size() const { return static_cast<std::size_t>(tail_ - head_); }
    WorkRequest& operator[](std::uint64_t number) {
        return slots_[order_[static_cast<std::size_t>(number) & (order_.size() - 1)]];
    }
    const WorkRequest& operator[](std::uint64_t number) const {
        return slots_[order_[static_cast<std::size_t>(number) & (order_.size() - 1)]];
    }
    /// A place for the next one, with what its last user left in it.
    WorkRequest& push();
    void pop();
    void clear() {
        while (!empty()) pop();
    }

  private:
    std::vector<WorkRequest> slots_;
    std::vector<std::uint32_t> free_;   // places, warmest last
    std::vector<std::uint32_t> order_;  // places by number; a power of two
    std::uint64_t head_ = 0;
    std::uint64_t tail_ = 0;
};

struct RequesterState {
    RequestRing requests;
    /// Changes with each stop: what began before is not carried on.
    std::uint32_t generation = 0;
    bool started = false;

    // ---- Where sending and acknowledging are ----
    std::uint64_t cursor = 0;          ///< request of the next packet
    std::uint32_t cursor_packet = 0;   ///< and which one of it
    std::uint64_t acknowledged = 0;    ///< first request the peer has not finished
    std::uint32_t posted_psn = 0;      ///< of the next request that is posted
    std::uint32_t sent_psn = 0;        ///< first one never sent
    std::uint32_t unacknowledged_psn = 0;
    std::uint64_t posted_packets = 0;  ///< counts of packets: READs are one
    std::uint64_t sent_packets = 0;
    std::uint64_t acknowledged_packets = 0;
    std::uint32_t posted_messages = 0;  ///< SSN of the last request posted, 24 bits
    std::uint32_t answers_awaited = 0;  ///< READs and atomics under way

    // ---- What holds sending back ----
    bool full = false;              ///< the queue was told to wait
    bool credit_limited = false;
    std::uint32_t credit_limit = 0;  ///< last SSN the peer has a receive for
    model::Picoseconds next_message;
    model::Picoseconds local_until;  ///< finish of the local requests posted so far
    model::Picoseconds hold_until;   ///< after a NAK
    /// The card reads the context, or translations of the packet at the cursor, until then; zero: it
    /// does not.
    model::Picoseconds context_at;
    bool translations_read = false;  ///< those of the packet at the cursor have been waited for
    bool paced = false;              ///< a packet is booked with the rate limiter
    model::Picoseconds paced_at;
    std::uint32_t ack_interval = 256;
    std::uint32_t since_ack_request = 0;
    std::uint64_t asked_packets = 0;  ///< number behind the last packet that asked for an answer

    // ---- Recovery ----
    std::uint8_t retries = 0;
    std::uint8_t rnr_retries = 0;
    std::uint8_t rung = 0;           ///< of the adaptive timer
    bool reread = false;             ///< a gap in the answers was reported; none yet since
    model::Picoseconds deadline = model::Picoseconds::max();  ///< of the answer awaited

    // ---- Order of completions ----
    model::Picoseconds last_done;
    model::Picoseconds last_left;    ///< UC, UD: last packet at the port

    // ---- Calendar ----
    bool queued = false;  ///< waits for its turn at the port
    model::EventHandle wake;
    model::Picoseconds wake_at = model::Picoseconds::max();
    model::EventHandle timer;
    model::Picoseconds timer_at = model::Picoseconds::max();
    model::EventHandle completion;
    model::Picoseconds completion_at = model::Picoseconds::max();

    // ---- UD: path of the request at the cursor ----
    Path datagram_path;
    std::uint64_t datagram_path_of = ~std::uint64_t{0};
};

}  // namespace cxsim::roce
