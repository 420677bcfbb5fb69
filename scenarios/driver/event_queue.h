// SPDX-License-Identifier: Apache-2.0
// The driver's side of an event queue: its ring in host memory, consumer index and doorbells.
#pragma once

#include "model/prm/event_type.h"
#include "scenarios/driver/host.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace cxsim::scenarios {

struct Event {
    prm::EventType type = prm::EventType::COMP;
    std::uint8_t subtype = 0;
    std::array<std::byte, 28> data{};
};

class EventQueue {
  public:
    static constexpr std::uint64_t kEntryBytes = 64;

    /// A ring over `pages` of `page_bytes` each, whose owner bits this sets as the card expects
    /// them. Doorbells go to UAR `uar`. The memory belongs to the caller.
    EventQueue(Host& host, std::vector<model::HostAddress> pages, std::uint64_t page_bytes,
               std::uint32_t log_size, std::uint32_t uar, std::uint32_t vector);

    void set_number(std::uint32_t number) { number_ = number; }
    std::uint32_t number() const { return number_; }
    std::uint32_t vector() const { return vector_; }
    std::uint32_t entries() const { return 1U << log_size_; }

    /// The next event, if the card has written one.
    std::optional<Event> poll();
    /// Tells the card how far the driver has read, and asks for an interrupt at the next event.
    void arm() { doorbell(true); }
    void update() { doorbell(false); }

    /// Whether an interrupt has come since the last call (or the first event waits already).
    bool interrupted();

    std::uint64_t consumed() const { return consumed_; }

  private:
    model::HostAddress entry_address(std::uint32_t index) const;
    void doorbell(bool arm);

    Host& host_;
    std::vector<model::HostAddress> pages_;
    std::uint64_t page_bytes_;
    std::uint32_t log_size_;
    std::uint32_t uar_;
    std::uint32_t vector_;
    std::uint32_t number_ = 0;
    std::uint32_t consumer_ = 0;
    std::uint64_t consumed_ = 0;
    std::uint64_t interrupts_seen_;
};

}  // namespace cxsim::scenarios
