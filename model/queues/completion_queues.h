// SPDX-License-Identifier: Apache-2.0
// Completion queues: CQEs into host memory, arming, moderation, overrun, resize.
#pragma once

#include "model/queues/engine_state.h"
#include "model/queues/event_queues.h"

#include <cstdint>
#include <span>

namespace cxsim::model {

class CompletionQueues {
  public:
    CompletionQueues(EngineState& state, EventQueues& events) : state_(state), events_(events) {}

    /// See QueueEngines::complete.
    bool push(Cq& cq, Picoseconds at, std::span<std::byte, 64> cqe, bool solicited);
    /// The same by number; a queue that does not exist drops the CQE.
    bool push(std::uint32_t cqn, Picoseconds at, std::span<std::byte, 64> cqe, bool solicited);

    /// The arm doorbell. With completions that the driver has not consumed the event follows at
    /// once, otherwise with the next CQE (of the kind asked for), as moderation allows.
    void arm(Cq& cq, Picoseconds at, std::uint32_t sequence, bool solicited_only,
             std::uint32_t consumer);

    void set_moderation(Cq& cq, Picoseconds at, std::uint32_t count, Picoseconds period);
    bool resize(Cq& cq, Picoseconds at, HostRing ring, std::uint32_t log_size,
                std::uint32_t cqe_bytes);
    /// The queue goes, or goes into error: nothing of it stays in the calendar.
    void forget(Cq& cq);
    void refresh(Cq& cq) const;

    /// Value of the CQE's timestamp at `at` for the queue's ts_format (1: real time).
    std::uint64_t timestamp(Picoseconds at, std::uint32_t ts_format) const;

  private:
    bool has_room(Cq& cq, Picoseconds at, std::uint32_t entries);
    void announce(Cq& cq, Picoseconds at, bool solicited);
    bool append(Cq& cq, Picoseconds at, std::span<std::byte, 64> cqe);
    DmaStatus write_slot(Cq& cq, Picoseconds at, std::uint32_t index,
                         std::span<const std::byte, 64> entry);
    bool wrote(Cq& cq, Picoseconds at, DmaStatus status);

    // Compression (cqe_compression.cpp)
    static bool compressible(const Cq& cq, std::span<const std::byte, 64> cqe);
    bool collect(Cq& cq, Picoseconds at, std::span<const std::byte, 64> cqe);
    bool flush(Cq& cq, Picoseconds at);
    void window_closed(const EventArguments& arguments);
    bool read_consumer(Cq& cq, Picoseconds at);
    void learn_consumer(Cq& cq, std::uint32_t counter);
    void fail(Cq& cq, Picoseconds at, std::uint8_t syndrome);
    void cancel_events(Cq& cq);
    void report_or_wait(Cq& cq, Picoseconds at);
    void start_timer(Cq& cq, Picoseconds at);
    void report(Cq& cq, Picoseconds at);
    void timer_expired(const EventArguments& arguments);

    EngineState& state_;
    EventQueues& events_;
};

}  // namespace cxsim::model
