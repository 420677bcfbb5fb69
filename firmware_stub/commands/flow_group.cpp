// SPDX-License-Identifier: Apache-2.0
// Flow groups: a range of a table's indices and the mask that its rules match with.
#include "firmware_stub/commands/families.h"
#include "firmware_stub/commands/flow_match.h"
#include "firmware_stub/commands/flow_steering.h"

#include <algorithm>
#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;

// Sections of fte_match_param in the order of the bits of match_criteria_enable: outer headers,
// misc, inner headers, misc 2 to 5. All are of one size.
constexpr std::size_t kSections = 7;
constexpr std::size_t kSectionBytes = prm::fte_match_set_lyr_2_4::kBytes;
static_assert(prm::fte_match_set_misc5::kBytes == kSectionBytes);

bool any_set(std::span<const std::byte> bytes) {
    return std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; });
}

Reply check_criteria(std::uint32_t enable, std::span<const std::byte> mask) {
    if ((enable >> kSections) != 0) {
        return refuse(Status::BAD_PARAM, "match_criteria_enable not defined");
    }
    for (std::size_t i = 0; i < kSections; ++i) {
        const bool enabled = ((enable >> i) & 1) != 0;
        const bool used = any_set(mask.subspan(i * kSectionBytes, kSectionBytes));
        if (enabled && !used) {
            return refuse(Status::BAD_PARAM, syndrome::kFlowGroupMaskEmpty,
                          "a section of the mask is enabled and zero");
        }
        if (!enabled && used) {
            return refuse(Status::BAD_PARAM, syndrome::kFlowGroupMaskNotEnabled,
                          "a section of the mask is set and not enabled");
        }
    }
    return accept();
}

Reply check_range(FunctionState& function, const model::FlowTable& table, std::uint32_t start,
                  std::uint32_t end) {
    if (start > end || end >= std::uint64_t{1} << table.log_size) {
        return refuse(Status::BAD_PARAM, "flow indices beyond the table");
    }
    const auto next = table.groups.lower_bound(start);
    if ((next != table.groups.end() && next->first <= end) ||
        group_of_index(function, table, start) != nullptr) {
        return refuse(Status::BAD_PARAM, "flow indices belong to another group");
    }
    return accept();
}

Reply create_flow_group(CommandContext& context, ConstView<prm::create_flow_group_in> in,
                        View<prm::create_flow_group_out> out) {
    using In = prm::create_flow_group_in;
    FunctionState& function = context.function;
    const Reply vport = check_vport(in.get<In::other_vport>(), in.get<In::vport_number>());
    if (!vport.ok()) return vport;
    if (in.get<In::group_type>() != 0 || in.get<In::match_definer_id>() != 0) {
        return refuse(Status::BAD_PARAM, "hash groups not supported");
    }
    if (in.get<In::source_eswitch_owner_vhca_id_valid>() != 0) {
        return refuse(Status::BAD_PARAM, "no e-switch");
    }
    model::FlowTable* table =
        find_table(function, in.get<In::table_type>(), in.get<In::table_id>());
    if (table == nullptr) return no_such_object();
    const auto start = in.get<In::start_flow_index>();
    const auto end = in.get<In::end_flow_index>();
    const Reply range = check_range(function, *table, start, end);
    if (!range.ok()) return range;
    const auto enable = in.get<In::match_criteria_enable>();
    const auto mask = in.bytes<In::match_criteria>();
    const Reply criteria = check_criteria(enable, mask);
    if (!criteria.ok()) return criteria;
    const auto properties = table_properties(function, table->table_type);
    if (!properties || !match_supported(*properties, mask)) {
        return refuse(Status::BAD_PARAM, "a field of the mask is not in ft_field_support");
    }
    model::FlowGroup* group = function.resources().flow_groups.create();
    if (group == nullptr) return table_full();
    group->table = table->id.number;
    group->start_index = start;
    group->end_index = end;
    group->criteria_enable = static_cast<std::uint8_t>(enable);
    group->match_criteria.assign(mask.begin(), mask.end());
    function.resources().hold(*group, table->id);
    table->groups[start] = group->id.number;
    function.steering().group_created(*group);
    out.set<prm::create_flow_group_out::group_id>(group->id.number);
    return accept();
}

Reply query_flow_group(CommandContext& context, ConstView<prm::query_flow_group_in> in,
                       View<prm::query_flow_group_out> out) {
    using In = prm::query_flow_group_in;
    using Out = prm::query_flow_group_out;
    FunctionState& function = context.function;
    const model::FlowTable* table =
        find_table(function, in.get<In::table_type>(), in.get<In::table_id>());
    if (table == nullptr) return no_such_object();
    const model::FlowGroup* group = find_group(function, *table, in.get<In::group_id>());
    if (group == nullptr) return no_such_object();
    out.set<Out::start_flow_index>(group->start_index);
    out.set<Out::end_flow_index>(group->end_index);
    out.set<Out::match_criteria_enable>(group->criteria_enable);
    std::copy(group->match_criteria.begin(), group->match_criteria.end(),
              out.bytes<Out::match_criteria>().begin());
    return accept();
}

Reply destroy_flow_group(CommandContext& context, ConstView<prm::destroy_flow_group_in> in,
                         View<prm::destroy_flow_group_out>) {
    using In = prm::destroy_flow_group_in;
    FunctionState& function = context.function;
    const Reply vport = check_vport(in.get<In::other_vport>(), in.get<In::vport_number>());
    if (!vport.ok()) return vport;
    model::FlowTable* table =
        find_table(function, in.get<In::table_type>(), in.get<In::table_id>());
    const model::FlowGroup* group =
        table != nullptr ? find_group(function, *table, in.get<In::group_id>()) : nullptr;
    if (group == nullptr) return no_such_object(syndrome::kFlowGroupInUse);
    if (!group->entries.empty()) return still_in_use(syndrome::kFlowGroupInUse);
    table->groups.erase(group->start_index);
    function.steering().group_destroyed(*group);
    function.resources().destroy(group->id);
    return accept();
}

}  // namespace

std::vector<CommandRow> flow_group_commands() {
    using prm::Opcode;
    return {
        command_row<&create_flow_group>(Opcode::CREATE_FLOW_GROUP, Cost::create_object),
        command_row<&query_flow_group>(Opcode::QUERY_FLOW_GROUP, Cost::query),
        command_row<&destroy_flow_group>(Opcode::DESTROY_FLOW_GROUP, Cost::destroy_object),
    };
}

}  // namespace cxsim::firmware_stub
