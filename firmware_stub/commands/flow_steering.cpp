// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/commands/flow_steering.h"

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::flow_table_nic_cap;
using prm::flow_table_prop_layout;

ConstView<flow_table_prop_layout> properties_of(ConstView<flow_table_nic_cap> capabilities,
                                                TableType type) {
    using Cap = flow_table_nic_cap;
    switch (type) {
        case TableType::nic_tx:
            return capabilities.nested<Cap::flow_table_properties_nic_transmit>();
        case TableType::sniffer_rx:
            return capabilities.nested<Cap::flow_table_properties_nic_receive_sniffer>();
        case TableType::sniffer_tx:
            return capabilities.nested<Cap::flow_table_properties_nic_transmit_sniffer>();
        case TableType::rdma_rx:
            return capabilities.nested<Cap::flow_table_properties_nic_receive_rdma>();
        case TableType::rdma_tx:
            return capabilities.nested<Cap::flow_table_properties_nic_transmit_rdma>();
        default:
            return capabilities.nested<Cap::flow_table_properties_nic_receive>();
    }
}

bool belongs_to_nic(std::uint32_t type) {
    switch (static_cast<TableType>(type)) {
        case TableType::nic_rx:
        case TableType::nic_tx:
        case TableType::sniffer_rx:
        case TableType::sniffer_tx:
        case TableType::rdma_rx:
        case TableType::rdma_tx:
            return true;
        default:
            return false;
    }
}

}  // namespace

std::optional<ConstView<flow_table_prop_layout>> table_properties(FunctionState& function,
                                                                  std::uint32_t type) {
    const std::span<const std::byte> image =
        function.current_capability(static_cast<std::uint16_t>(prm::HcaCapType::FLOW_TABLE));
    if (image.size() < flow_table_nic_cap::kBytes || !belongs_to_nic(type)) return std::nullopt;
    const auto properties =
        properties_of(ConstView<flow_table_nic_cap>(image), static_cast<TableType>(type));
    if (properties.get<flow_table_prop_layout::ft_support>() == 0) return std::nullopt;
    return properties;
}

Reply check_vport(std::uint32_t other_vport, std::uint32_t vport_number,
                  std::uint32_t known_syndrome) {
    if (other_vport != 0) {
        return refuse(prm::Status::BAD_PARAM, "the function manages no other vports");
    }
    if (vport_number != 0) {
        return refuse(prm::Status::BAD_PARAM, known_syndrome, "vport_number without other_vport");
    }
    return accept();
}

model::FlowTable* find_table(FunctionState& function, std::uint32_t type, std::uint32_t number) {
    model::FlowTable* table = function.resources().flow_tables.find(number);
    return table != nullptr && table->table_type == type ? table : nullptr;
}

model::FlowGroup* find_group(FunctionState& function, const model::FlowTable& table,
                             std::uint32_t number) {
    model::FlowGroup* group = function.resources().flow_groups.find(number);
    return group != nullptr && group->table == table.id.number ? group : nullptr;
}

model::FlowGroup* group_of_index(FunctionState& function, const model::FlowTable& table,
                                 std::uint32_t index) {
    auto place = table.groups.upper_bound(index);
    if (place == table.groups.begin()) return nullptr;
    model::FlowGroup* group = function.resources().flow_groups.find((--place)->second);
    return group != nullptr && index <= group->end_index ? group : nullptr;
}

}  // namespace cxsim::firmware_stub
