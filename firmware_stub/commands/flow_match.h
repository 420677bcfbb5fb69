// SPDX-License-Identifier: Apache-2.0
// Which header fields tables of a type can match.
#pragma once

#include "model/prm/view.h"
#include "prm/layouts.h"

#include <cstddef>
#include <span>

namespace cxsim::firmware_stub {

/// True if each field that `mask` (an fte_match_param) uses is in ft_field_support, and in
/// ft_field_bitmask_support where only some of its bits are used. Fields that the capabilities
/// have no name for pass.
bool match_supported(prm::ConstView<prm::flow_table_prop_layout> properties,
                     std::span<const std::byte> mask);

}  // namespace cxsim::firmware_stub
