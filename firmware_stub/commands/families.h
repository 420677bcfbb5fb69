// SPDX-License-Identifier: Apache-2.0
// The command families. To add one: a file with handlers and a table, a line here and one in
// families.cpp, a test file beside the others.
#pragma once

#include <span>
#include <vector>

#include "firmware_stub/mailbox/command_table.h"

namespace cxsim::firmware_stub {

std::vector<CommandRow> hca_commands();
std::vector<CommandRow> access_register_commands();
std::vector<CommandRow> page_commands();
std::vector<CommandRow> event_queue_commands();
std::vector<CommandRow> protection_commands();
std::vector<CommandRow> completion_queue_commands();
std::vector<CommandRow> memory_key_commands();
std::vector<CommandRow> queue_pair_commands();
std::vector<CommandRow> queue_pair_transition_commands();
std::vector<CommandRow> shared_receive_queue_commands();
std::vector<CommandRow> queue_counter_commands();
std::vector<CommandRow> roce_commands();
std::vector<CommandRow> ib_vport_commands();
std::vector<CommandRow> mad_commands();
std::vector<CommandRow> multicast_commands();
std::vector<CommandRow> congestion_commands();
std::vector<CommandRow> send_queue_commands();
std::vector<CommandRow> receive_queue_commands();
std::vector<CommandRow> tis_commands();
std::vector<CommandRow> tir_commands();
std::vector<CommandRow> rq_table_commands();
std::vector<CommandRow> flow_table_commands();
std::vector<CommandRow> flow_group_commands();
std::vector<CommandRow> flow_entry_commands();
std::vector<CommandRow> flow_counter_commands();
std::vector<CommandRow> header_rewrite_commands();
std::vector<CommandRow> nic_vport_context_commands();
std::vector<CommandRow> vport_commands();
std::vector<CommandRow> tunnel_port_commands();
std::vector<CommandRow> l2_table_commands();
std::vector<CommandRow> rate_limit_commands();
std::vector<CommandRow> scheduling_commands();
std::vector<CommandRow> wake_on_lan_commands();

/// All of the above.
std::vector<std::vector<CommandRow>> command_families();

}  // namespace cxsim::firmware_stub
