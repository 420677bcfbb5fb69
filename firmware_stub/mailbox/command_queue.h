// SPDX-License-Identifier: Apache-2.0
// The command queue of one function: entries and mailboxes in host memory, the doorbell vector,
// ownership, delivery status. It knows bytes, not commands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/ports/host_bus.h"
#include "model/prm/status.h"
#include "model/sim/calendar.h"
#include "model/sim/timeline.h"

namespace cxsim::firmware_stub {

using prm::DeliveryStatus;

/// A command on its way through the firmware.
struct Command {
    std::uint32_t slot = 0;
    model::Picoseconds doorbell;             ///< when its doorbell reached the card
    std::vector<std::byte> input;            ///< as long as the entry said
    std::vector<std::byte> output;           ///< zeroed, as long as the entry said
    bool reports_by_event = false;           ///< a command EQ existed at the doorbell
};

/// What runs behind the queue.
class CommandExecutor {
  public:
    virtual ~CommandExecutor() = default;
    /// A doorbell names this command; called before anything of it is fetched.
    virtual void accepted(Command& command) = 0;
    /// How long the firmware works on it, from its input at hand to its output ready.
    virtual model::Picoseconds latency(const Command& command) = 0;
    /// Fills the output. Called once, at the end of its latency.
    virtual void execute(Command& command) = 0;
    /// The entry has been handed back with this status.
    virtual void completed(const Command& command, DeliveryStatus status) = 0;
};

class CommandQueue {
  public:
    static constexpr std::size_t kInlineBytes = 16;
    static constexpr std::size_t kEntryBytes = 64;
    static constexpr std::size_t kBlockDataBytes = 512;
    static constexpr std::size_t kBlockBytes = 576;
    static constexpr std::uint32_t kSlots = 32;  ///< width of the doorbell vector
    /// Longest input or output that is taken; the largest PRM command (a 4 Mi-entry CQ of 4 KiB
    /// pages) stays below.
    static constexpr std::uint32_t kMaxLength = 2U << 20;

    /// `processors`: commands that the firmware works on at once.
    CommandQueue(model::FunctionId function, model::HostBus& host, model::Calendar& calendar,
                 CommandExecutor& executor, std::size_t processors);

    /// Address and geometry as the driver wrote them; entries lie `1 << log_stride` bytes apart.
    void configure(model::HostAddress address, std::uint32_t log_size, std::uint32_t log_stride);

    /// Doorbell vector: bit n starts slot n. A bit of a slot that is still being worked on, or
    /// beyond the queue, is ignored and counted.
    void doorbell(model::Picoseconds arrival, std::uint32_t vector);

    /// Whether signatures of entries and mailboxes are checked and made (cmdif_checksum).
    void check_signatures(bool check) { check_signatures_ = check; }

    /// Forgets everything under way, nothing of it is written to the host any more; takes no
    /// commands until it is configured again.
    void stop();
    /// The same, and signatures are not checked.
    void reset();

    std::uint32_t in_flight() const { return in_flight_; }

    struct Counters {
        std::uint64_t doorbells = 0;
        std::uint64_t doorbells_ignored = 0;
        std::uint64_t commands = 0;
        std::uint64_t delivery_errors = 0;
        std::uint64_t dma_read_bytes = 0;
        std::uint64_t dma_written_bytes = 0;
        std::uint64_t entries_unreachable = 0;  ///< the entry itself could not be read or written
    };
    const Counters& counters() const { return counters_; }

  private:
    struct Slot {
        bool busy = false;
        DeliveryStatus status = DeliveryStatus::OK;
        std::array<std::byte, kEntryBytes> entry{};
        std::vector<model::HostAddress> output_blocks;
        std::vector<std::array<std::byte, kBlockBytes - kBlockDataBytes>> output_controls;
        Command command;
        model::Picoseconds started;
    };

    void start(const model::EventArguments& words);
    void fetch(std::uint32_t index);
    DeliveryStatus fetch_input(Slot& slot, model::Picoseconds& at);
    DeliveryStatus fetch_output_chain(Slot& slot, model::Picoseconds& at);
    void execute(const model::EventArguments& words);
    bool write_output(Slot& slot, model::Picoseconds& at);
    void complete(const model::EventArguments& words);
    void schedule_completion(std::uint32_t index, model::Picoseconds at);
    bool read(model::Picoseconds& at, model::HostAddress address, std::span<std::byte> into);
    bool write(model::Picoseconds& at, model::HostAddress address, std::span<const std::byte> from);
    model::HostAddress entry_address(std::uint32_t index) const {
        return address_ + (std::uint64_t{index} << log_stride_);
    }

    model::FunctionId function_;
    model::HostBus& host_;
    model::Calendar& calendar_;
    CommandExecutor& executor_;
    model::TimelinePool processors_;
    model::HostAddress address_;
    std::uint32_t log_size_ = 0;
    std::uint32_t log_stride_ = 6;
    bool configured_ = false;
    bool check_signatures_ = false;
    std::uint64_t epoch_ = 0;  ///< events of an earlier epoch are void
    std::uint32_t in_flight_ = 0;
    std::array<Slot, kSlots> slots_;
    Counters counters_;
};

}  // namespace cxsim::firmware_stub
