// SPDX-License-Identifier: Apache-2.0
// One QP as the transport sees it: who the peer is, what was agreed on, and the state of both
// directions.
#pragma once

#include "model/resources/objects.h"
#include "roce/congestion/rate_limiter.h"
#include "roce/requester/requester_state.h"
#include "roce/responder/responder_state.h"
#include "roce/wire/codec.h"

#include <cstdint>
#include <memory>

namespace cxsim::roce {

/// From the QP's context, taken over with each state change.
struct QpAttributes {
    std::uint32_t remote_qp = 0;
    std::uint32_t pd = 0;
    std::uint32_t mtu = 1024;                 ///< bytes of payload
    std::uint16_t pkey = 0xffff;
    std::uint32_t queue_key = 0;              ///< UD: what packets must carry
    std::uint32_t send_psn = 0;               ///< next_send_psn
    std::uint32_t receive_psn = 0;            ///< next_rcv_psn
    std::uint8_t retry_count = 0;             ///< 0 to 7
    std::uint8_t rnr_retry = 0;               ///< 0 to 6, 7: for ever
    std::uint8_t ack_timeout = 0;             ///< 4.096 us * 2^n; 0: none
    std::uint8_t min_rnr_nak = 0;             ///< timer code that RNR NAKs ask for
    std::uint32_t initiator_depth = 1;        ///< READs and atomics under way (log_sra_max)
    std::uint32_t responder_resources = 1;    ///< of the peer (log_rra_max)
    bool remote_read = false;                 ///< rre
    bool remote_write = false;                ///< rwe
    bool remote_atomic = false;               ///< rae
    std::uint8_t atomic_mode = 0;
    bool reserved_lkey = false;
    bool shared_receive = false;              ///< receives come from an SRQ: no credits
    std::uint8_t service_level = 0;
    /// SENDs of up to so many bytes come in their completion (cs_res): 0 or kCqeDataBytes.
    std::uint8_t receive_in_cqe = 0;
    /// The same of answers of READs and atomics that ask for a completion (cs_req).
    std::uint8_t answer_in_cqe = 0;
};

struct Connection {
    explicit Connection(model::Qp& qp_) : qp(qp_), number(qp_.id.number) {}

    model::Qp& qp;
    std::uint32_t number;
    WireService service = WireService::rc;
    bool management = false;  ///< QP1: packets go to and come from QP number 1
    /// A number no other connection had: calendar events name it, so that one that outlived its
    /// connection (or its reset) finds another and does nothing.
    std::uint64_t tag = 0;
    bool receives = false;  ///< RTR, RTS, SQ error or drained
    bool sends = false;     ///< RTS or draining
    QpAttributes attributes;
    Path path;              ///< connected services
    RequesterState requester;
    ResponderState responder;
    std::unique_ptr<RateLimiter> rate;  ///< null: not limited
    /// The context was there for the last packet: packets are decided on in the order of arrival.
    model::Picoseconds known_until;
};

/// Finds connections for events of the calendar.
class ConnectionFinder {
  public:
    virtual ~ConnectionFinder() = default;
    /// Null if the QP is gone or its connection began anew since (counted as stale).
    virtual Connection* find(std::uint32_t number, std::uint64_t tag) = 0;
};

}  // namespace cxsim::roce
