// SPDX-License-Identifier: Apache-2.0
// What the flow steering commands share: table types and their properties, finding tables and
// groups, whose vport is meant.
#pragma once

#include "firmware_stub/commands/common.h"
#include "model/prm/view.h"
#include "prm/layouts.h"

#include <cstdint>
#include <optional>

namespace cxsim::firmware_stub {

/// table_type of the steering commands.
enum class TableType : std::uint8_t {
    nic_rx = 0,
    nic_tx = 1,
    esw_egress_acl = 2,
    esw_ingress_acl = 3,
    fdb = 4,
    sniffer_rx = 5,
    sniffer_tx = 6,
    rdma_rx = 7,
    rdma_tx = 8,
};

/// Current properties of tables of `type`; empty if the card has no such tables. Those of the
/// e-switch are not modelled.
std::optional<prm::ConstView<prm::flow_table_prop_layout>> table_properties(FunctionState& function,
                                                                            std::uint32_t type);

/// The only vport is the function's own, 0.
Reply check_vport(std::uint32_t other_vport, std::uint32_t vport_number,
                  std::uint32_t known_syndrome = 0);

/// Null if there is no table of that number and type.
model::FlowTable* find_table(FunctionState& function, std::uint32_t type, std::uint32_t number);

/// Null if `number` is no group of `table`.
model::FlowGroup* find_group(FunctionState& function, const model::FlowTable& table,
                             std::uint32_t number);

/// The group whose range holds `index`; null if none.
model::FlowGroup* group_of_index(FunctionState& function, const model::FlowTable& table,
                                 std::uint32_t index);

}  // namespace cxsim::firmware_stub
