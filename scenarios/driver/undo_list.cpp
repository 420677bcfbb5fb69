// SPDX-License-Identifier: Apache-2.0
#include "scenarios/driver/undo_list.h"

namespace cxsim::scenarios {

using prm::Opcode;
using prm::View;

void forward_all_to(Driver& driver, UndoList& undo, std::uint32_t tirn) {
    using TableIn = prm::create_flow_table_in;
    const auto created = driver.run<TableIn, prm::create_flow_table_out>(
        Opcode::CREATE_FLOW_TABLE, [&](View<TableIn> in) {
            in.set<TableIn::flow_table_context, prm::flow_table_context::log_size>(4U);
        });
    const auto table = created.view().get<prm::create_flow_table_out::table_id>();
    undo.add<prm::destroy_flow_table_in, prm::destroy_flow_table_out,
         prm::destroy_flow_table_in::table_id>(Opcode::DESTROY_FLOW_TABLE, table);
    using RootIn = prm::set_flow_table_root_in;
    driver.run<RootIn, prm::set_flow_table_root_out>(
        Opcode::SET_FLOW_TABLE_ROOT, [&](View<RootIn> in) { in.set<RootIn::table_id>(table); });
    using GroupIn = prm::create_flow_group_in;
    const auto grouped = driver.run<GroupIn, prm::create_flow_group_out>(
        Opcode::CREATE_FLOW_GROUP, [&](View<GroupIn> in) {
            in.set<GroupIn::table_id>(table);
            in.set<GroupIn::end_flow_index>(3U);
        });
    const auto group = grouped.view().get<prm::create_flow_group_out::group_id>();
    using DropGroup = prm::destroy_flow_group_in;
    undo.add<DropGroup, prm::destroy_flow_group_out, DropGroup::group_id>(
            Opcode::DESTROY_FLOW_GROUP, group)
        .set<DropGroup::table_id>(table);
    using Entry = prm::set_fte_in;
    driver.run<Entry, prm::set_fte_out>(
        Opcode::SET_FLOW_TABLE_ENTRY,
        [&](View<Entry> in) {
            in.set<Entry::table_id>(table);
            const auto rule = in.nested<Entry::flow_context>();
            rule.set<prm::flow_context::group_id>(group);
            rule.set<prm::flow_context::action>(4U);  // forward
            rule.set<prm::flow_context::destination_list_size>(1U);
            const View<prm::dest_format_struct> destination(
                in.bytes().last(prm::dest_format_struct::kBytes));
            destination.set<prm::dest_format_struct::destination_type>(2U);  // TIR
            destination.set<prm::dest_format_struct::destination_id>(tirn);
        },
        {prm::dest_format_struct::kBytes, 0});
    using DropEntry = prm::delete_fte_in;
    undo.add<DropEntry, prm::delete_fte_out, DropEntry::table_id>(Opcode::DELETE_FLOW_TABLE_ENTRY,
                                                              table);
}

}  // namespace cxsim::scenarios
