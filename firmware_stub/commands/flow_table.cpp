// SPDX-License-Identifier: Apache-2.0
// Flow tables: their place in the chain (level, where misses go) and which one a packet meets
// first. A table holds the one that its misses go to.
#include "firmware_stub/commands/families.h"
#include "firmware_stub/commands/flow_steering.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using model::ObjectKind;
using prm::ConstView;
using prm::Status;
using prm::View;
using Context = prm::flow_table_context;
using Properties = prm::flow_table_prop_layout;

enum MissAction : std::uint32_t { kDefault = 0, kForward = 1, kSwitchDomain = 2 };

// modify_field_select of MODIFY_FLOW_TABLE
constexpr std::uint32_t kModifyMiss = 1;

/// May misses of a table of `type` and `level` go where `context` says?
Reply check_miss(FunctionState& function, ConstView<Properties> properties, std::uint32_t type,
                 std::uint32_t level, ConstView<Context> context) {
    switch (context.get<Context::table_miss_action>()) {
        case kDefault:
            return accept();
        case kSwitchDomain:
            return properties.get<Properties::table_miss_action_domain>() != 0
                       ? accept()
                       : refuse(Status::BAD_PARAM, "table_miss_action_domain not supported");
        case kForward:
            break;
        default:
            return refuse(Status::BAD_PARAM, "table_miss_action not defined");
    }
    if (properties.get<Properties::identified_miss_table_mode>() == 0) {
        return refuse(Status::BAD_PARAM, "identified_miss_table_mode not supported");
    }
    const model::FlowTable* next =
        find_table(function, type, context.get<Context::table_miss_id>());
    if (next == nullptr) return bad_reference("table_miss_id names no table of this type");
    if (next->level <= level) {
        return refuse(Status::BAD_PARAM, "table_miss_id is not at a deeper level");
    }
    return accept();
}

Reply check_context(ConstView<Properties> properties, ConstView<Context> context) {
    struct Feature {
        bool wanted;
        bool offered;
        const char* reason;
    };
    const Feature features[] = {
        {context.get<Context::reformat_en>() != 0, properties.get<Properties::reformat>() != 0,
         "reformat_en not supported"},
        {context.get<Context::decap_en>() != 0, properties.get<Properties::decap>() != 0,
         "decap_en not supported"},
        {context.get<Context::termination_table>() != 0,
         properties.get<Properties::termination_table>() != 0, "termination_table not supported"},
        {context.get<Context::sw_owner>() != 0, false, "tables in software's hands not supported"},
        {context.get<Context::rtc_valid>() != 0, false, "rules made by WQEs not supported"},
        {context.get<Context::lag_master_next_table_id>() != 0, false,
         "link aggregation not supported"},
        {context.get<Context::log_size>() > properties.get<Properties::log_max_ft_size>(), false,
         "log_size above log_max_ft_size"},
        {context.get<Context::level>() > properties.get<Properties::max_ft_level>(), false,
         "level above max_ft_level"},
    };
    for (const Feature& feature : features) {
        if (feature.wanted && !feature.offered) {
            return refuse(Status::BAD_PARAM, feature.reason);
        }
    }
    return accept();
}

Reply create_flow_table(CommandContext& context, ConstView<prm::create_flow_table_in> in,
                        View<prm::create_flow_table_out> out) {
    using In = prm::create_flow_table_in;
    FunctionState& function = context.function;
    const Reply vport = check_vport(in.get<In::other_vport>(), in.get<In::vport_number>(),
                                    syndrome::kFlowTableOtherVport);
    if (!vport.ok()) return vport;
    const auto type = in.get<In::table_type>();
    const auto properties = table_properties(function, type);
    if (!properties) return refuse(Status::BAD_PARAM, "table_type not supported");
    const auto wanted = in.nested<In::flow_table_context>();
    const Reply check = check_context(*properties, wanted);
    if (!check.ok()) return check;
    const auto level = wanted.get<Context::level>();
    const Reply miss = check_miss(function, *properties, type, level, wanted);
    if (!miss.ok()) return miss;
    model::FlowTable* table = function.resources().flow_tables.create();
    if (table == nullptr) return table_full();
    table->table_type = static_cast<std::uint8_t>(type);
    table->log_size = wanted.get<Context::log_size>();
    table->level = level;
    std::copy_n(wanted.bytes().begin(), table->context.size(), table->context.begin());
    if (wanted.get<Context::table_miss_action>() == kForward) {
        function.resources().hold(*table,
                                  {ObjectKind::flow_table, wanted.get<Context::table_miss_id>()});
    }
    function.steering().table_created(*table);
    out.set<prm::create_flow_table_out::table_id>(table->id.number);
    return accept();
}

Reply modify_flow_table(CommandContext& context, ConstView<prm::modify_flow_table_in> in,
                        View<prm::modify_flow_table_out>) {
    using In = prm::modify_flow_table_in;
    FunctionState& function = context.function;
    const Reply vport = check_vport(in.get<In::other_vport>(), in.get<In::vport_number>());
    if (!vport.ok()) return vport;
    const auto type = in.get<In::table_type>();
    model::FlowTable* table = find_table(function, type, in.get<In::table_id>());
    if (table == nullptr) return no_such_object();
    const auto select = in.get<In::modify_field_select>();
    if ((select & ~kModifyMiss) != 0) {
        return refuse(Status::BAD_PARAM, "modify_field_select not supported");
    }
    if (select == 0) return accept();
    const auto properties = table_properties(function, type);
    if (!properties || properties->get<Properties::flow_table_modify>() == 0) {
        return refuse(Status::BAD_PARAM, "flow_table_modify not supported");
    }
    const auto wanted = in.nested<In::flow_table_context>();
    const Reply miss = check_miss(function, *properties, type, table->level, wanted);
    if (!miss.ok()) return miss;
    model::Resources& resources = function.resources();
    const auto own = table->view();
    const bool had = own.get<Context::table_miss_action>() == kForward;
    const auto old = own.get<Context::table_miss_id>();
    const auto action = wanted.get<Context::table_miss_action>();
    const auto next = action == kForward ? wanted.get<Context::table_miss_id>() : 0;
    if (action == kForward) resources.hold(*table, {ObjectKind::flow_table, next});
    if (had) resources.release(*table, {ObjectKind::flow_table, old});
    own.set<Context::table_miss_action>(action);
    own.set<Context::table_miss_id>(next);
    function.steering().table_modified(*table);
    return accept();
}

Reply query_flow_table(CommandContext& context, ConstView<prm::query_flow_table_in> in,
                       View<prm::query_flow_table_out> out) {
    using In = prm::query_flow_table_in;
    const model::FlowTable* table =
        find_table(context.function, in.get<In::table_type>(), in.get<In::table_id>());
    if (table == nullptr) return no_such_object();
    const auto answer = out.nested<prm::query_flow_table_out::flow_table_context>();
    std::copy(table->context.begin(), table->context.end(), answer.bytes().begin());
    return accept();
}

Reply destroy_flow_table(CommandContext& context, ConstView<prm::destroy_flow_table_in> in,
                         View<prm::destroy_flow_table_out>) {
    using In = prm::destroy_flow_table_in;
    FunctionState& function = context.function;
    const Reply vport = check_vport(in.get<In::other_vport>(), in.get<In::vport_number>());
    if (!vport.ok()) return vport;
    const model::FlowTable* table =
        find_table(function, in.get<In::table_type>(), in.get<In::table_id>());
    // Real firmware answers bad parameter here where other objects give bad resource state.
    if (table == nullptr) {
        return refuse(Status::BAD_PARAM, syndrome::kFlowTableGone, "no such table");
    }
    if (table->users > 0) {
        return refuse(Status::BAD_PARAM, syndrome::kFlowTableInUse, "table is in use");
    }
    // The driver destroys its last table while it still is the root: packets then meet none.
    const auto root = function.flow_table_roots.find(table->table_type);
    if (root != function.flow_table_roots.end() && root->second == table->id.number) {
        function.flow_table_roots.erase(root);
    }
    function.steering().table_destroyed(*table);
    function.resources().destroy(table->id);
    return accept();
}

Reply set_flow_table_root(CommandContext& context, ConstView<prm::set_flow_table_root_in> in,
                          View<prm::set_flow_table_root_out>) {
    using In = prm::set_flow_table_root_in;
    enum OpMod : std::uint32_t { kSet = 0, kReset = 1 };
    FunctionState& function = context.function;
    const Reply vport = check_vport(in.get<In::other_vport>(), in.get<In::vport_number>());
    if (!vport.ok()) return vport;
    if (in.get<In::table_of_other_vport>() != 0 || in.get<In::table_vport_number>() != 0 ||
        in.get<In::table_eswitch_owner_vhca_id_valid>() != 0) {
        return refuse(Status::BAD_PARAM, "tables of other functions not supported");
    }
    if (in.get<In::underlay_qpn>() != 0) {
        return refuse(Status::BAD_PARAM, "underlay_qpn on an Ethernet port");
    }
    const auto type = in.get<In::table_type>();
    const auto properties = table_properties(function, type);
    if (!properties) return refuse(Status::BAD_PARAM, "table_type not supported");
    auto& roots = function.flow_table_roots;
    const auto key = static_cast<std::uint8_t>(type);
    if (in.get<In::op_mod>() == kReset) {
        if (properties->get<Properties::reset_root_to_default>() == 0) {
            return refuse(Status::BAD_PARAM, "reset_root_to_default not supported");
        }
        roots.erase(key);
        function.steering().set_root(static_cast<model::FlowTableType>(key), std::nullopt);
        return accept();
    }
    const model::FlowTable* table = find_table(function, type, in.get<In::table_id>());
    if (table == nullptr) return no_such_object();
    if (roots.contains(key) && roots[key] != table->id.number &&
        properties->get<Properties::modify_root>() == 0) {
        return refuse(Status::BAD_PARAM, "modify_root not supported");
    }
    roots[key] = table->id.number;
    function.steering().set_root(static_cast<model::FlowTableType>(key), table->id.number);
    return accept();
}

}  // namespace

std::vector<CommandRow> flow_table_commands() {
    using prm::Opcode;
    return {
        command_row<&create_flow_table>(Opcode::CREATE_FLOW_TABLE, Cost::create_object),
        command_row<&modify_flow_table>(Opcode::MODIFY_FLOW_TABLE, Cost::modify_object),
        command_row<&query_flow_table>(Opcode::QUERY_FLOW_TABLE, Cost::query),
        command_row<&destroy_flow_table>(Opcode::DESTROY_FLOW_TABLE, Cost::destroy_object),
        command_row<&set_flow_table_root>(Opcode::SET_FLOW_TABLE_ROOT, Cost::steering)
            .with_op_mods(0b11),
    };
}

}  // namespace cxsim::firmware_stub
