// SPDX-License-Identifier: Apache-2.0
// The driver's side of the command interface: the queue page, entries, mailboxes, tokens,
// signatures, the doorbell, and how an end is noticed (polling or events).
#pragma once

#include "scenarios/driver/host.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace cxsim::scenarios {

struct CommandPortOptions {
    /// Signatures of entries and mailboxes from SET_HCA_CAP on (cmdif_checksum).
    bool signatures = false;
    /// Simulated time after which a driver gives a command up (the kernel: 60 s).
    model::Picoseconds timeout = model::seconds(60);
    /// How long the card may boot (the kernel: 120 s).
    model::Picoseconds boot_timeout = model::seconds(120);
};

/// A command as it lies in host memory before its doorbell; tests spoil it.
struct PreparedCommand {
    pcie::SparseMemory& memory;
    model::HostAddress entry;
    std::vector<model::HostAddress> input_boxes;
    std::vector<model::HostAddress> output_boxes;
};
using Spoil = std::function<void(const PreparedCommand&)>;

struct CommandResult {
    std::uint16_t opcode = 0;
    prm::DeliveryStatus delivery = prm::DeliveryStatus::OK;
    std::vector<std::byte> output;

    /// From the output; OK if the command was not delivered.
    prm::Status status() const;
    std::uint32_t syndrome() const;
    bool ok() const { return delivery == prm::DeliveryStatus::OK && status() == prm::Status::OK; }
    void require_ok() const;  ///< throws CommandFailed
};

class CommandPort {
  public:
    explicit CommandPort(Host& host, CommandPortOptions options = {});
    ~CommandPort();
    CommandPort(const CommandPort&) = delete;
    CommandPort& operator=(const CommandPort&) = delete;

    /// Waits for the card to boot, checks the interface revision and hands over a queue page.
    /// Throws DriverTimeout or DriverError.
    void open();
    /// Forgets everything under way, e.g. after a reset; the queue page is kept for open().
    void abandon();

    std::uint32_t slots() const { return slots_; }
    std::uint32_t in_flight() const;

    /// Starts a command in a free slot and returns the slot. Throws DriverError if all are busy.
    std::uint32_t submit(std::span<const std::byte> input, std::size_t output_bytes,
                         const Spoil& spoil = {});
    /// The same in a slot of the caller's choice, which must be free. The doorbell is left to
    /// ring(), so that several commands start with one.
    void prepare(std::uint32_t slot, std::span<const std::byte> input, std::size_t output_bytes,
                 const Spoil& spoil = {});
    void ring(std::uint32_t vector);

    /// Whether the card has handed the slot's entry back.
    bool finished(std::uint32_t slot);
    /// What came of it; the slot is free again. Waits if need be; throws DriverTimeout.
    CommandResult wait(std::uint32_t slot);
    CommandResult execute(std::span<const std::byte> input, std::size_t output_bytes);

    /// From now on an end is noticed when `completions` names the slot: it is called while waiting
    /// and returns the slots of command EQEs that have come since. Empty: polling.
    void use_events(std::function<std::uint32_t()> completions);
    bool uses_events() const { return static_cast<bool>(completions_); }

    const CommandPortOptions& options() const { return options_; }
    /// Whether entries and mailboxes are signed, and whether the card's signatures are checked.
    void set_signatures(bool make, bool check) {
        make_signatures_ = make;
        check_signatures_ = check;
    }

  private:
    struct Slot {
        bool busy = false;
        bool reported = false;  ///< by an event
        std::uint16_t opcode = 0;
        std::size_t output_bytes = 0;
        std::vector<model::HostAddress> input_boxes;
        std::vector<model::HostAddress> output_boxes;
    };

    model::HostAddress entry_address(std::uint32_t slot) const {
        return queue_ + (std::uint64_t{slot} << log_stride_);
    }
    model::HostAddress take_box();
    void fill_chain(std::span<const model::HostAddress> boxes, std::span<const std::byte> data,
                    std::uint8_t token);
    CommandResult collect(std::uint32_t slot);
    std::string stuck(std::uint32_t slot);

    Host& host_;
    CommandPortOptions options_;
    model::HostAddress queue_{};
    std::uint32_t slots_ = 0;
    std::uint32_t log_stride_ = 0;
    std::uint8_t token_ = 0;
    bool make_signatures_ = false;
    bool check_signatures_ = false;
    std::array<Slot, 32> state_;
    std::vector<model::HostAddress> free_boxes_;
    std::vector<model::HostAddress> all_boxes_;
    std::function<std::uint32_t()> completions_;
};

}  // namespace cxsim::scenarios
