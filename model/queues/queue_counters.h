// SPDX-License-Identifier: Apache-2.0
// What the queue engines of one function count.
#pragma once

#include <array>
#include <cstdint>

namespace cxsim::model {

struct QueueCounters {
    // UAR pages
    std::uint64_t eq_doorbells = 0;
    std::uint64_t cq_arms = 0;
    std::uint64_t send_doorbells = 0;
    std::uint64_t blue_flame_wqes = 0;          ///< WQEs taken from the BlueFlame buffer
    std::uint64_t uar_not_allocated = 0;        ///< writes to a page without UAR object
    std::uint64_t uar_bad_write = 0;            ///< no doorbell there, or not of its size
    std::uint64_t doorbell_unknown_object = 0;  ///< names no EQ, CQ, SQ or QP
    std::uint64_t doorbell_wrong_uar = 0;       ///< the object belongs to another page
    std::uint64_t doorbell_ignored = 0;         ///< queue in reset, or index not ahead

    // Event queues
    std::uint64_t eqes = 0;
    std::array<std::uint64_t, 256> events{};  ///< EQEs by event type
    std::uint64_t interrupts = 0;
    std::uint64_t events_untaken = 0;  ///< no event queue subscribes to the type
    std::uint64_t eq_overruns = 0;
    std::uint64_t async_eq_overruns = 0;  ///< of those: queues that subscribe to event types
    std::uint64_t eqes_dropped = 0;  ///< event queue full or unreachable

    // Completion queues
    std::uint64_t cqes = 0;
    std::uint64_t compressed_cqes = 0;  ///< part of cqes: those in blocks of mini completions
    std::uint64_t error_cqes = 0;  ///< part of cqes; flushes included
    std::uint64_t completion_events = 0;
    std::uint64_t completion_events_untaken = 0;  ///< c_eqn names no event queue
    std::uint64_t cq_overruns = 0;
    std::uint64_t cqes_dropped = 0;  ///< completion queue in error or gone

    // Send queues
    std::uint64_t wqes = 0;  ///< executed, also those that failed
    std::uint64_t nops = 0;
    std::uint64_t umrs = 0;
    std::uint64_t umr_refused = 0;
    std::uint64_t sends = 0;
    std::uint64_t send_bytes = 0;
    std::uint64_t tx_discards_no_link = 0;  ///< sends that ended at a port without a cable
    std::uint64_t posted_to_transport = 0;  ///< WQEs handed over, local ones included
    std::uint64_t transport_failures = 0;   ///< WQEs that the transport reported as failed
    std::uint64_t stale_reports = 0;        ///< reports for queues that owe nothing
    std::uint64_t wqe_errors = 0;           ///< WQEs that put their queue into error
    std::uint64_t wqe_fetch_failures = 0;   ///< the host refused the read
    std::uint64_t unimplemented_wqes = 0;   ///< opcodes and options that are refused
    std::array<std::uint64_t, 256> unimplemented_opcodes{};

    // Receive queues
    std::uint64_t received = 0;  ///< packets delivered
    std::uint64_t received_bytes = 0;
    std::uint64_t receive_not_ready = 0;    ///< dropped: queue in reset or error
    std::uint64_t receive_no_buffer = 0;    ///< dropped: nothing posted
    std::uint64_t receive_too_small = 0;    ///< dropped: longer than the WQE
    std::uint64_t receive_failures = 0;     ///< dropped: bad WQE, or the host refused
    std::uint64_t receive_fillers = 0;      ///< completions for strides left over

    // Receive sides of QPs
    std::uint64_t receives_taken = 0;      ///< WQEs given to the transport
    std::uint64_t receives_completed = 0;  ///< of those: reported as done
    std::uint64_t receive_limits = 0;      ///< limit events of shared queues

    // Error state
    std::uint64_t flushed_send_wqes = 0;
    std::uint64_t flushed_receive_wqes = 0;
    std::uint64_t doorbell_record_scans = 0;
    std::uint64_t doorbell_record_failures = 0;  ///< the host refused the read

    std::uint64_t stale_events = 0;  ///< calendar events of objects that are gone
};

}  // namespace cxsim::model
