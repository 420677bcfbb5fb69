// SPDX-License-Identifier: Apache-2.0
// What flow tables match on: a packet's headers and metadata in the form of the PRM's match
// parameters, so that a rule's match_value compares with it bit by bit under the group's mask.
// Fields that a packet does not have are zero.
#pragma once

#include "model/prm/view.h"
#include "prm/layouts.h"

#include <array>
#include <cstddef>

namespace cxsim::model {

struct FlowKey {
    alignas(8) std::array<std::byte, prm::fte_match_param::kBytes> bytes{};

    prm::View<prm::fte_match_param> view() { return prm::View<prm::fte_match_param>(bytes); }
    prm::ConstView<prm::fte_match_param> view() const {
        return prm::ConstView<prm::fte_match_param>(bytes);
    }
};

}  // namespace cxsim::model
