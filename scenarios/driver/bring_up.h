// SPDX-License-Identifier: Apache-2.0
// Cold start of a card up to working queues, and the way back: what a kernel's drivers do between
// probe and removal, in one object.
#pragma once

#include "scenarios/driver/driver.h"
#include "scenarios/driver/undo_list.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cxsim::scenarios {

/// Objects of every kind that queues need, each created with commands, used, and destroyed.
class BringUp {
  public:
    explicit BringUp(Driver& driver) : driver_(driver) {}

    /// Everything, from PCI enable to a completed NOP on a send queue and a connected queue pair.
    /// Throws DriverError; the text names the step.
    void up();
    /// Everything back in the opposite order, PCI disable included.
    void down();
    /// The same without a word to the card: the driver dies or its device was reset.
    void abandon();

    Driver& driver() { return driver_; }
    std::uint32_t cqn() const { return cqn_; }
    std::uint32_t sqn() const { return sqn_; }
    std::uint32_t pd() const { return pd_; }
    std::uint32_t qpn() const { return qpn_; }
    std::uint64_t completions() const { return completions_; }

    /// Posts NOPs on the send queue and waits for the completion of the last, by interrupt.
    void post_nops(unsigned count);

  private:
    void registers();
    void vport();
    void domains();
    void completion_queue();
    void send_queue();
    void receive_queue();
    void queue_pair();

    Driver& driver_;
    UndoList undo_;
    std::uint32_t pd_ = 0;
    std::uint32_t domain_ = 0;
    std::uint32_t cqn_ = 0;
    std::uint32_t tisn_ = 0;
    std::uint32_t sqn_ = 0;
    std::uint32_t rqn_ = 0;
    std::uint32_t rqtn_ = 0;
    std::uint32_t tirn_ = 0;
    std::uint32_t qpn_ = 0;
    model::HostAddress records_{};  // doorbell records
    model::HostAddress cq_ring_{};
    model::HostAddress sq_ring_{};
    std::uint32_t cq_consumer_ = 0;
    std::uint16_t sq_producer_ = 0;
    std::uint64_t completions_ = 0;
};

}  // namespace cxsim::scenarios
