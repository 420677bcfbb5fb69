// SPDX-License-Identifier: Apache-2.0
// Fills what flow tables match on from a parsed frame.
#pragma once

#include "eth/offloads/headers.h"
#include "model/steering/flow_key.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace cxsim::eth {

/// Parts of a key that hold something; what is empty needs no clearing for the next frame.
struct KeyParts {
    bool inner = false;
    bool misc_3 = false;
    bool misc_5 = false;
};

/// Writes every field that comes from headers, zero where the frame has no such header, and leaves
/// metadata alone: source_port, source_sqn, source_vhca_port, source_eswitch_owner_vhca_id,
/// metadata registers, syndromes. The key must have come from here or be all zero, `used` belongs
/// to it.
void fill_flow_key(std::span<const std::byte> stored, const Headers& headers, model::FlowKey& key,
                   KeyParts& used);

}  // namespace cxsim::eth
