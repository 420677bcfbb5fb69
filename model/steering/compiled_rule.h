// SPDX-License-Identifier: Apache-2.0
// A rule in the form that the packet path runs: pointers instead of numbers. What they point to is
// pinned by the rule's entry in Resources.
#pragma once

#include "model/resources/objects.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace cxsim::model {

struct CompiledTable;

/// A table, or a TIR if `table` is null.
struct RuleTarget {
    const CompiledTable* table = nullptr;
    std::uint32_t tirn = 0;
};

struct VlanTag {
    std::uint16_t tpid = 0;
    std::uint16_t tci = 0;
};

struct CompiledRule {
    /// What few rules have.
    struct More {
        std::vector<RuleTarget> targets;     ///< all after the first
        std::vector<FlowCounter*> counters;  ///< all after the first
        const ModifyHeader* rewrite = nullptr;
        const PacketReformat* reformat = nullptr;
        std::array<VlanTag, 2> push{};
    };

    std::uint32_t index = 0;
    std::uint32_t flow_tag = 0;
    std::uint32_t action = 0;
    RuleTarget target;               ///< if action has forward
    FlowCounter* counter = nullptr;  ///< null: none
    std::unique_ptr<More> more;
};

}  // namespace cxsim::model
