// SPDX-License-Identifier: Apache-2.0
// UAR pages: doorbells of event queues, completion queues and send queues, BlueFlame.
#pragma once

#include "model/queues/completion_queues.h"
#include "model/queues/engine_state.h"
#include "model/queues/event_queues.h"
#include "model/queues/send_queues.h"

#include <cstdint>
#include <span>

namespace cxsim::model {

class UarPages {
  public:
    UarPages(EngineState& state, EventQueues& events, CompletionQueues& completions,
             SendQueues& sends)
        : state_(state), events_(events), completions_(completions), sends_(sends) {}

    /// A write inside a page; doorbells of 8 bytes may come in two halves, BlueFlame in pieces.
    void write(Picoseconds arrival, std::uint64_t page, std::uint32_t offset,
               std::span<const std::byte> data);

    /// Doorbells that wait for the rest of their WQE: its stores are on their way.
    unsigned doorbells_held() const { return doorbells_held_; }

  private:
    void arm_cq(Picoseconds arrival, Uar& uar, std::uint32_t offset,
                std::span<const std::byte> data);
    void ring_cq(Picoseconds arrival, const Uar& uar, std::span<const std::byte> doorbell);
    void ring_eq(Picoseconds arrival, const Uar& uar, bool arm, std::span<const std::byte> data);
    void blue_flame(Picoseconds arrival, Uar& uar, std::uint32_t offset,
                    std::span<const std::byte> data);
    bool release_held(UarLatches::BlueFlame& buffer);
    void ring_held(const EventArguments& page_and_buffer);
    void ring_send(Picoseconds arrival, Uar& uar, std::uint8_t index);

    EngineState& state_;
    EventQueues& events_;
    CompletionQueues& completions_;
    SendQueues& sends_;
    unsigned doorbells_held_ = 0;
};

}  // namespace cxsim::model
