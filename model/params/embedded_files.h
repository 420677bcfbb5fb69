// SPDX-License-Identifier: Apache-2.0
// The card files that were built into the binary (generated from model/generations).
#pragma once

#include <span>
#include <string_view>

namespace cxsim::model {

struct EmbeddedCard {
    std::string_view name;
    std::string_view identity;
    std::string_view capabilities;
    std::string_view timing;
};

/// Sorted by name.
std::span<const EmbeddedCard> embedded_cards();

}  // namespace cxsim::model
