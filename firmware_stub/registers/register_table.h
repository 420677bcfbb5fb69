// SPDX-License-Identifier: Apache-2.0
// Access registers, keyed by id: a handler to read, one to write, a row. Lengths and directions
// are checked here; a register that no row names is refused as unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "firmware_stub/boot/firmware.h"
#include "firmware_stub/mailbox/command_table.h"
#include "firmware_stub/mailbox/syndromes.h"
#include "model/prm/register_id.h"

namespace cxsim::firmware_stub {

struct RegisterRow {
    /// `data` holds what the driver sent (indices such as local_port) and becomes the answer.
    using Handler = Reply (*)(CommandContext&, std::span<std::byte> data);

    prm::RegisterId id;
    const prm::LayoutInfo* layout;
    Handler read;   ///< null: write-only
    Handler write;  ///< null: read-only
};

namespace detail {

template <class F>
struct RegisterTraits;
template <class L>
struct RegisterTraits<Reply (*)(CommandContext&, prm::View<L>)> {
    using Layout = L;
};

template <auto Function>
RegisterRow::Handler register_handler() {
    if constexpr (std::is_null_pointer_v<decltype(Function)>) {
        return nullptr;
    } else {
        using Layout = typename RegisterTraits<decltype(Function)>::Layout;
        return [](CommandContext& context, std::span<std::byte> data) {
            return Function(context, prm::View<Layout>(data));
        };
    }
}

}  // namespace detail

/// Row for handlers `Reply f(CommandContext&, View<x_reg>)`; nullptr for a direction that the
/// register does not have.
template <auto Read, auto Write = nullptr>
RegisterRow register_row(prm::RegisterId id) {
    using Layout = typename detail::RegisterTraits<decltype(Read)>::Layout;
    return {id, &prm::layout_info<Layout>(), detail::register_handler<Read>(),
            detail::register_handler<Write>()};
}

/// All register families joined, by id.
std::span<const RegisterRow> all_registers();
/// Null if the card does not have the register.
const RegisterRow* find_register(std::uint16_t id);

/// One access as ACCESS_REG and the gateway's ICMD do it. `data` is the register's content, in and
/// out, at least as long as its layout.
Reply access_register(CommandContext& context, std::uint16_t id, bool write,
                      std::span<std::byte> data);

// Families
std::vector<RegisterRow> port_registers();
std::vector<RegisterRow> port_buffer_registers();
std::vector<RegisterRow> port_priority_registers();
std::vector<RegisterRow> port_diagnostic_registers();
std::vector<RegisterRow> management_registers();
std::vector<RegisterRow> capability_registers();
std::vector<RegisterRow> counter_registers();

}  // namespace cxsim::firmware_stub
