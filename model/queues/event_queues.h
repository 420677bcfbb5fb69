// SPDX-License-Identifier: Apache-2.0
// Event queues: EQEs into host memory, interrupts, arming.
#pragma once

#include "model/prm/event_type.h"
#include "model/queues/engine_state.h"

#include <cstdint>
#include <span>

namespace cxsim::model {

class EventQueues {
  public:
    explicit EventQueues(EngineState& state) : state_(state) {}

    bool post(Eq& eq, Picoseconds at, prm::EventType type, std::uint8_t subtype,
              std::span<const std::byte> data);
    unsigned post_event(Picoseconds at, prm::EventType type, std::uint8_t subtype,
                        std::span<const std::byte> data);

    /// The EQ doorbell. Arming a queue with EQEs that the driver has not consumed raises its
    /// interrupt at once; otherwise the next EQE does. One interrupt per arm.
    void consumer_update(Eq& eq, Picoseconds at, std::uint32_t consumer, bool arm);

    void refresh(Eq& eq) const;

  private:
    void raise(Eq& eq, Picoseconds at);

    EngineState& state_;
};

}  // namespace cxsim::model
