// SPDX-License-Identifier: Apache-2.0
// Which function answers which opcode. A family of commands (firmware_stub/commands) is a file of
// handlers and a table of rows; what every command has in common (lengths, phase, op_mod, uid,
// reserved fields) is checked here, once, from the row and the layouts that the handler names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "firmware_stub/mailbox/cost.h"
#include "firmware_stub/mailbox/reply.h"
#include "model/base/units.h"
#include "model/prm/command.h"
#include "model/prm/reflect.h"
#include "model/prm/view.h"

namespace cxsim::firmware_stub {

class Firmware;
class FunctionState;

/// What a handler may use. A handler changes the function's state and nothing else: it does not
/// wait and knows no time but `now`.
struct CommandContext {
    Firmware& firmware;
    FunctionState& function;
    model::Picoseconds now;
};

/// From which phase of a function on a command is accepted.
enum class Phase : std::uint8_t {
    reset,        ///< after reset or DISABLE_HCA
    enabled,      ///< after ENABLE_HCA
    initialised,  ///< after INIT_HCA
};

std::string_view to_string(Phase phase);

struct CommandRow {
    using Handler = Reply (*)(CommandContext&, std::span<const std::byte> input,
                              std::span<std::byte> output);

    prm::Opcode opcode;
    Handler handler;
    Cost cost;
    Phase phase;
    const prm::LayoutInfo* input;
    const prm::LayoutInfo* output;
    /// Accepted values of op_mod as bits 0..31; kAnyOpMod leaves the check to the handler.
    std::uint32_t op_mods;
    bool check_reserved;

    static constexpr std::uint32_t kAnyOpMod = 0xffffffff;

    constexpr CommandRow with_op_mods(std::uint32_t mask) const {
        CommandRow row = *this;
        row.op_mods = mask;
        return row;
    }
    constexpr CommandRow with_any_op_mod() const { return with_op_mods(kAnyOpMod); }
    /// For inputs in which drivers are known to leave reserved fields set; say which at the row.
    constexpr CommandRow without_reserved_check() const {
        CommandRow row = *this;
        row.check_reserved = false;
        return row;
    }
};

namespace detail {

template <class F>
struct HandlerTraits;
template <class In, class Out>
struct HandlerTraits<Reply (*)(CommandContext&, prm::ConstView<In>, prm::View<Out>)> {
    using Input = In;
    using Output = Out;
};

}  // namespace detail

/// Row for `Reply f(CommandContext&, ConstView<x_in>, View<x_out>)`; layouts come from the
/// signature. Views span the whole input and output, variable tails included.
template <auto Function>
CommandRow command_row(prm::Opcode opcode, Cost cost, Phase phase = Phase::initialised) {
    using Traits = detail::HandlerTraits<decltype(Function)>;
    using In = typename Traits::Input;
    using Out = typename Traits::Output;
    return {opcode,
            [](CommandContext& context, std::span<const std::byte> input,
               std::span<std::byte> output) {
                return Function(context, prm::ConstView<In>(input), prm::View<Out>(output));
            },
            cost,
            phase,
            &prm::layout_info<In>(),
            &prm::layout_info<Out>(),
            1,
            true};
}

/// A command that we know and refuse, and why (`cxsim prm coverage` prints it).
struct UnsupportedRow {
    prm::Opcode opcode;
    const char* reason;
};

/// All families joined, by opcode. Null if the opcode is not handled.
const CommandRow* find_command(std::uint16_t opcode);
std::span<const CommandRow> all_commands();

/// Commands of the header that are refused as an unsupported card refuses them.
std::span<const UnsupportedRow> unsupported_commands();
/// Null if the opcode is handled or unknown.
const UnsupportedRow* find_unsupported(std::uint16_t opcode);

/// The checks that all commands share, then the handler. `output` is zeroed and as long as the
/// driver said; status and syndrome are written into it. Never fails: every input has an answer.
Reply run_command(CommandContext& context, std::span<const std::byte> input,
                  std::span<std::byte> output);

/// How long `input` takes; refusals found before the handler are quick.
model::Picoseconds command_latency(const CommandTiming& timing, std::span<const std::byte> input);

}  // namespace cxsim::firmware_stub
