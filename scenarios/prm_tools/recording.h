// SPDX-License-Identifier: Apache-2.0
// Recordings read back: blocks of a header line and indented lines (scenarios/prm_tools/README.md).
#pragma once

#include "model/base/units.h"
#include "model/params/config_error.h"
#include "model/ports/host_bus.h"
#include "model/prm/status.h"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace cxsim::scenarios {

struct RecordingHeader {
    std::string card;
    std::uint64_t seed = 1;
    std::uint16_t instance = 0;
    std::string host;
    std::vector<std::string> overrides;  ///< "KEY=VALUE"
    bool wall_clock = false;             ///< times are a guest's
};

struct RecordedValue {
    std::string path;
    std::string
        text;  ///< as written: "0x1f", "$cq3", "$page4+0x40", "$buf7[32]", "hex:00ff", "\"a\""
};

enum class BlockKind : std::uint8_t {
    command,
    event,
    reset,
    queue,          ///< the driver handed over its command queue
    nic_interface,  ///< the driver switched the function's interface in the init segment
    lost,           ///< a command that never ended
    undelivered,    ///< a command that the card could not fetch
};

struct Block {
    BlockKind kind = BlockKind::command;
    std::size_t line = 0;      ///< of the block's first line, from 1
    std::uint64_t number = 0;  ///< of commands, from 1
    std::uint16_t function = 0;
    model::Picoseconds at;
    model::Picoseconds took;

    // command
    std::uint16_t opcode = 0;
    std::uint16_t op_mod = 0;
    std::size_t input_bytes = 0;
    std::size_t output_bytes = 0;
    std::vector<RecordedValue> in;
    std::vector<RecordedValue> out;
    std::vector<RecordedValue> told;  ///< outputs that are not compared
    prm::Status status = prm::Status::OK;
    std::uint32_t syndrome = 0;
    prm::DeliveryStatus delivery = prm::DeliveryStatus::OK;
    std::string reason;  ///< why it was refused

    // event
    std::uint8_t event_type = 0;
    std::uint8_t event_subtype = 0;
    std::string event_queue;
    std::vector<RecordedValue> data;

    model::ResetKind reset = model::ResetKind::conventional;
    std::uint32_t nic_interface = 0;
};

/// Line by line, so that a recording can be read while it is written. Errors are
/// model::ConfigError with name and line.
class RecordingParser {
  public:
    /// `name` is for messages.
    RecordingParser(std::string name, std::function<void(Block&&)> block);

    void line(std::string_view text);
    /// No line follows for now: what was read of the last block is a whole one.
    void flush();

    /// Complete once the first block has come.
    const RecordingHeader& header() const { return header_; }

  private:
    void header_line(std::string_view text);
    void start_block(std::string_view text);
    void inner_line(std::string_view text);
    void comment(std::string_view text);
    [[noreturn]] void fail(const std::string& message) const;

    std::string name_;
    std::function<void(Block&&)> block_;
    RecordingHeader header_;
    std::size_t line_ = 0;
    bool in_header_ = true;
    bool open_ = false;
    Block current_;
    std::uint64_t commands_ = 0;
};

struct Recording {
    RecordingHeader header;
    std::vector<Block> blocks;

    /// From the first command to the end of the last, in the recording's clock.
    model::Picoseconds duration() const;
};

/// Throws model::ConfigError; a file that cannot be read, too.
Recording read_recording(const std::string& path);
Recording parse_recording(std::string_view text, const std::string& name);

}  // namespace cxsim::scenarios
