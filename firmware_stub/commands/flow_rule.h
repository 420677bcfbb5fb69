// SPDX-License-Identifier: Apache-2.0
// A rule as SET_FLOW_TABLE_ENTRY describes it, and which rules are legal in a table.
#pragma once

#include "firmware_stub/boot/function_state.h"
#include "firmware_stub/mailbox/reply.h"
#include "model/prm/view.h"
#include "model/resources/objects.h"
#include "prm/layouts.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cxsim::firmware_stub {

/// flow_context.action
namespace flow_action {
inline constexpr std::uint32_t kAllow = 0x1;
inline constexpr std::uint32_t kDrop = 0x2;
inline constexpr std::uint32_t kForward = 0x4;
inline constexpr std::uint32_t kCount = 0x8;
inline constexpr std::uint32_t kReformat = 0x10;
inline constexpr std::uint32_t kDecap = 0x20;
inline constexpr std::uint32_t kModifyHeader = 0x40;
inline constexpr std::uint32_t kVlanPop = 0x80;
inline constexpr std::uint32_t kVlanPush = 0x100;
inline constexpr std::uint32_t kVlanPop2 = 0x400;
inline constexpr std::uint32_t kVlanPush2 = 0x800;
inline constexpr std::uint32_t kDecrypt = 0x1000;
inline constexpr std::uint32_t kEncrypt = 0x2000;
inline constexpr std::uint32_t kExecuteAso = 0x4000;
}  // namespace flow_action

/// dest_format_struct.destination_type
enum class DestinationType : std::uint8_t {
    vport = 0,
    flow_table = 1,
    tir = 2,
    flow_sampler = 6,
    uplink = 8,
    table_type = 10,
};

/// A flow_context taken apart; elements of the two lists are as the PRM has them, 8 bytes each.
struct FlowRule {
    using Element = std::array<std::byte, prm::dest_format_struct::kBytes>;

    std::array<std::byte, prm::flow_context::kBytes> head{};
    std::vector<Element> destinations;
    std::vector<Element> counters;

    prm::View<prm::flow_context> view() { return prm::View<prm::flow_context>(head); }
    prm::ConstView<prm::flow_context> view() const {
        return prm::ConstView<prm::flow_context>(head);
    }

    /// From a command's input; refuses lists that the input does not hold.
    static Reply parse(prm::ConstView<prm::flow_context> context, FlowRule& rule);
    /// From what bytes() gave.
    static FlowRule parse_stored(std::span<const std::byte> bytes);
    /// flow_context with the sizes of the lists set, destinations, counters.
    std::vector<std::byte> bytes() const;
};

/// May `rule` stand in `table`? `holds` gets the objects that it uses.
Reply check_rule(FunctionState& function, const model::FlowTable& table, const FlowRule& rule,
                 bool ignore_level, std::vector<model::ObjectId>& holds);

}  // namespace cxsim::firmware_stub
