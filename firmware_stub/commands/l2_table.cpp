// SPDX-License-Identifier: Apache-2.0
// The MAC table in front of the functions of a port, which an e-switch manager fills.
#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;

Reply check_index(FunctionState& function, std::uint32_t index) {
    using Cap = prm::cmd_hca_cap;
    if (function.general<Cap::eswitch_manager>() == 0) {
        return refuse(Status::BAD_OP, "the function is no e-switch manager");
    }
    if (index >= 1U << function.general<Cap::log_max_l2_table>()) {
        return refuse(Status::BAD_PARAM, "table_index above log_max_l2_table");
    }
    return accept();
}

Reply set_entry(CommandContext& context, ConstView<prm::set_l2_table_entry_in> in,
                View<prm::set_l2_table_entry_out>) {
    using In = prm::set_l2_table_entry_in;
    FunctionState& function = context.function;
    if (in.get<In::silent_mode_valid>() != 0) {
        if (function.general<prm::cmd_hca_cap::silent_mode>() == 0) {
            return refuse(Status::BAD_PARAM, "silent_mode not supported");
        }
        function.silent_mode = in.get<In::silent_mode>() != 0;
        return accept();
    }
    const auto index = in.get<In::table_index>();
    const Reply check = check_index(function, index);
    if (!check.ok()) return check;
    prm::Buffer<In> entry;
    std::copy_n(in.bytes().begin(), entry.bytes().size(), entry.bytes().begin());
    function.l2_table.insert_or_assign(index, std::move(entry));
    return accept();
}

Reply query_entry(CommandContext& context, ConstView<prm::query_l2_table_entry_in> in,
                  View<prm::query_l2_table_entry_out> out) {
    using Entry = prm::set_l2_table_entry_in;
    using Out = prm::query_l2_table_entry_out;
    FunctionState& function = context.function;
    const auto index = in.get<prm::query_l2_table_entry_in::table_index>();
    const Reply check = check_index(function, index);
    if (!check.ok()) return check;
    const auto place = function.l2_table.find(index);
    if (place == function.l2_table.end()) return no_such_object();
    const auto entry = std::as_const(place->second).view();
    out.set<Out::vlan_valid>(entry.get<Entry::vlan_valid>());
    out.set<Out::vlan>(entry.get<Entry::vlan>());
    const auto mac = entry.bytes<Entry::mac_address>();
    std::copy(mac.begin(), mac.end(), out.bytes<Out::mac_address>().begin());
    return accept();
}

Reply delete_entry(CommandContext& context, ConstView<prm::delete_l2_table_entry_in> in,
                   View<prm::delete_l2_table_entry_out>) {
    FunctionState& function = context.function;
    const auto index = in.get<prm::delete_l2_table_entry_in::table_index>();
    const Reply check = check_index(function, index);
    if (!check.ok()) return check;
    return function.l2_table.erase(index) != 0 ? accept() : no_such_object();
}

}  // namespace

std::vector<CommandRow> l2_table_commands() {
    using prm::Opcode;
    return {
        command_row<&set_entry>(Opcode::SET_L2_TABLE_ENTRY, Cost::set),
        command_row<&query_entry>(Opcode::QUERY_L2_TABLE_ENTRY, Cost::query),
        command_row<&delete_entry>(Opcode::DELETE_L2_TABLE_ENTRY, Cost::set),
    };
}

}  // namespace cxsim::firmware_stub
