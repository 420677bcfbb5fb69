// SPDX-License-Identifier: Apache-2.0
// A rule as SET_FLOW_TABLE_ENTRY describes it, and which rules are legal in a table.
#pragma once

#include "firmware_stub/boot/function_state.h"
#include "firmware_stub/mailbox/reply.h"
#include "model/prm/view.h"
#include "model/resources/objects.h"
#include "model/steering/flow_action.h"
#include "prm/layouts.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cxsim::firmware_stub {

namespace flow_action = model::flow_action;
using model::DestinationType;

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
