// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/commands/families.h"

namespace cxsim::firmware_stub {

std::vector<std::vector<CommandRow>> command_families() {
    return {
        hca_commands(),
        access_register_commands(),
        page_commands(),
        event_queue_commands(),
        protection_commands(),
        completion_queue_commands(),
        memory_key_commands(),
        queue_pair_commands(),
        queue_pair_transition_commands(),
        shared_receive_queue_commands(),
        queue_counter_commands(),
        roce_commands(),
        ib_vport_commands(),
        mad_commands(),
        multicast_commands(),
        congestion_commands(),
        send_queue_commands(),
        receive_queue_commands(),
        tis_commands(),
        tir_commands(),
        rq_table_commands(),
        flow_table_commands(),
        flow_group_commands(),
        flow_entry_commands(),
        flow_counter_commands(),
        header_rewrite_commands(),
        nic_vport_context_commands(),
        vport_commands(),
        tunnel_port_commands(),
        l2_table_commands(),
        rate_limit_commands(),
        scheduling_commands(),
        wake_on_lan_commands(),
    };
}

}  // namespace cxsim::firmware_stub
