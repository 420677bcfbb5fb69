// SPDX-License-Identifier: Apache-2.0
// Writes what a driver did with a card as text (scenarios/prm_tools/README.md).
#pragma once

#include "scenarios/prm_tools/card_tap.h"
#include "scenarios/prm_tools/symbols.h"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cxsim::scenarios {

/// What the times of a recording are: simulated time that follows the wall clock (a guest), or
/// simulated time alone.
enum class RecordingClock : std::uint8_t { wall, simulated };

struct RecorderOptions {
    RecordingClock clock = RecordingClock::simulated;
    /// Command and completion events, too; they follow from the commands or from traffic.
    bool all_events = false;
    /// Overrides of the card's data as "KEY=VALUE", for the header.
    std::vector<std::string> overrides;
};

/// Commands appear in the order of their doorbells, whatever the order in which they ended.
class Recorder : public TapListener {
  public:
    /// `write` takes the text, block by block. The card outlives the recorder.
    Recorder(const Card& card, RecorderOptions options,
             std::function<void(std::string_view)> write);

    /// What still waits for an end is told as lost. Nothing may follow.
    void finish();

    // TapListener
    void bar_write(model::FunctionId function, model::Picoseconds arrival, std::uint64_t offset,
                   std::span<const std::byte> from) override;
    void event(model::FunctionId function, model::Picoseconds finish, std::uint32_t eqn,
               std::uint32_t index, std::span<const std::byte> eqe) override;
    void reset(model::FunctionId function, model::Picoseconds at, model::ResetKind kind) override;
    void command_ended(const firmware_stub::CommandReport& report, std::uint32_t others) override;

  private:
    struct Entry {
        bool command = false;
        bool ended = false;
        std::uint16_t function = 0;
        std::uint32_t slot = 0;
        model::Picoseconds at;  ///< doorbell, or when it happened
        model::Picoseconds finish;
        std::vector<std::byte> input;
        std::vector<std::byte> output;
        prm::DeliveryStatus delivery = prm::DeliveryStatus::OK;
        firmware_stub::Reply reply;
        std::function<std::string(SymbolTable&)> text;  ///< of what is no command
    };

    void dword_written(model::FunctionId function, model::Picoseconds at, std::uint64_t offset,
                       std::uint32_t value);
    void add(model::FunctionId function, model::Picoseconds at,
             std::function<std::string(SymbolTable&)> text);
    void flush();
    std::string command_text(const Entry& entry);
    std::string values_text(std::string_view word, std::uint16_t opcode, std::uint16_t function,
                            const Message& message, std::span<const std::byte> data, bool output);

    std::function<void(std::string_view)> write_;
    RecorderOptions options_;
    SymbolTable symbols_;
    std::deque<Entry> entries_;
    std::uint64_t commands_ = 0;
};

}  // namespace cxsim::scenarios
