// SPDX-License-Identifier: Apache-2.0
// Commands of the header that this card refuses, with the reason that `cxsim prm coverage` prints.
// A command leaves this list when its family handles it.
#include "firmware_stub/mailbox/command_table.h"

#include <array>

namespace cxsim::firmware_stub {

std::span<const UnsupportedRow> unsupported_commands() {
    using prm::Opcode;
    static constexpr auto rows = std::to_array<UnsupportedRow>({
        {Opcode::GEN_EQE, "debug aid of the firmware, no capability offers it"},
        // Memory
        {Opcode::PAGE_FAULT_RESUME, "on-demand paging is not offered (pg)"},
        {Opcode::ALLOC_MEMIC, "no memory on the card is offered (device_memory)"},
        {Opcode::DEALLOC_MEMIC, "no memory on the card is offered (device_memory)"},
        {Opcode::MODIFY_MEMIC, "no memory on the card is offered (device_memory)"},
        {Opcode::CREATE_PSV, "signature handover is not offered (sho)"},
        {Opcode::DESTROY_PSV, "signature handover is not offered (sho)"},
        // Queues
        {Opcode::CREATE_DCT, "dynamically connected transport is not offered (dct)"},
        {Opcode::DESTROY_DCT, "dynamically connected transport is not offered (dct)"},
        {Opcode::DRAIN_DCT, "dynamically connected transport is not offered (dct)"},
        {Opcode::QUERY_DCT, "dynamically connected transport is not offered (dct)"},
        {Opcode::ARM_DCT_FOR_KEY_VIOLATION, "dynamically connected transport is not offered (dct)"},
        {Opcode::CREATE_XRQ, "tag matching is not offered (tag_matching)"},
        {Opcode::DESTROY_XRQ, "tag matching is not offered (tag_matching)"},
        {Opcode::QUERY_XRQ, "tag matching is not offered (tag_matching)"},
        {Opcode::ARM_XRQ, "tag matching is not offered (tag_matching)"},
        {Opcode::MODIFY_XRQ, "tag matching is not offered (tag_matching)"},
        {Opcode::QUERY_XRQ_DC_PARAMS_ENTRY, "tag matching is not offered (tag_matching)"},
        {Opcode::SET_XRQ_DC_PARAMS_ENTRY, "tag matching is not offered (tag_matching)"},
        {Opcode::QUERY_XRQ_ERROR_PARAMS, "tag matching is not offered (tag_matching)"},
        {Opcode::RELEASE_XRQ_ERROR, "tag matching is not offered (tag_matching)"},
        {Opcode::GENERATE_WQE, "WQEs made by the card are not offered"},
        {Opcode::CONFIG_INT_MODERATION, "completion queues are moderated, not vectors"},
        // InfiniBand management
        {Opcode::MODIFY_HCA_VPORT_CONTEXT, "the ports are Ethernet, without InfiniBand management"},
        {Opcode::QUERY_MAD_DEMUX, "no split of management datagrams on an Ethernet port"},
        {Opcode::SET_MAD_DEMUX, "no split of management datagrams on an Ethernet port"},
        {Opcode::GET_DROPPED_PACKET_LOG, "no log of dropped packets is offered"},
        // Ethernet, steering and virtualisation
        {Opcode::QUERY_ESW_FUNCTIONS, "the function is no e-switch manager (eswitch_manager)"},
        {Opcode::QUERY_ESW_VPORT_CONTEXT, "the function is no e-switch manager (eswitch_manager)"},
        {Opcode::MODIFY_ESW_VPORT_CONTEXT, "the function is no e-switch manager (eswitch_manager)"},
        {Opcode::SET_MONITOR_COUNTER, "counters are not monitored (max_num_of_monitor_counters)"},
        {Opcode::ARM_MONITOR_COUNTER, "counters are not monitored (max_num_of_monitor_counters)"},
        {Opcode::QUERY_RATE_LIMIT, "the header has no layout for it and no driver sends it"},
        {Opcode::CREATE_QOS_PARA_VPORT, "no shared vport scheduling (max_qos_para_vport)"},
        {Opcode::DESTROY_QOS_PARA_VPORT, "no shared vport scheduling (max_qos_para_vport)"},
        {Opcode::CREATE_LAG, "link aggregation is not offered (lag_master)"},
        {Opcode::MODIFY_LAG, "link aggregation is not offered (lag_master)"},
        {Opcode::QUERY_LAG, "link aggregation is not offered (lag_master)"},
        {Opcode::DESTROY_LAG, "link aggregation is not offered (lag_master)"},
        {Opcode::CREATE_VPORT_LAG, "link aggregation is not offered (lag_master)"},
        {Opcode::DESTROY_VPORT_LAG, "link aggregation is not offered (lag_master)"},
        {Opcode::QUERY_MODIFY_HEADER_CONTEXT, "the header has no output layout for it"},
        {Opcode::SYNC_STEERING, "software-managed steering is not offered (sw_owner)"},
        // Functions, migration, DevX
        {Opcode::QUERY_SF_PARTITION, "sub-functions are not offered (sf)"},
        {Opcode::ALLOC_SF, "sub-functions are not offered (sf)"},
        {Opcode::DEALLOC_SF, "sub-functions are not offered (sf)"},
        {Opcode::QUERY_VHCA_STATE, "sub-functions are not offered (vhca_state)"},
        {Opcode::MODIFY_VHCA_STATE, "sub-functions are not offered (vhca_state)"},
        {Opcode::SUSPEND_VHCA, "live migration is not offered (migration)"},
        {Opcode::RESUME_VHCA, "live migration is not offered (migration)"},
        {Opcode::QUERY_VHCA_MIGRATION_STATE, "live migration is not offered (migration)"},
        {Opcode::SAVE_VHCA_STATE, "live migration is not offered (migration)"},
        {Opcode::LOAD_VHCA_STATE, "live migration is not offered (migration)"},
        {Opcode::ALLOW_OTHER_VHCA_ACCESS, "objects are not shared between functions"},
        {Opcode::FPGA_CREATE_QP, "the card has no FPGA (fpga)"},
        {Opcode::FPGA_MODIFY_QP, "the card has no FPGA (fpga)"},
        {Opcode::FPGA_QUERY_QP, "the card has no FPGA (fpga)"},
        {Opcode::FPGA_DESTROY_QP, "the card has no FPGA (fpga)"},
        {Opcode::FPGA_QUERY_QP_COUNTERS, "the card has no FPGA (fpga)"},
        {Opcode::CREATE_GENERAL_OBJECT, "no general objects are offered (general_obj_types)"},
        {Opcode::MODIFY_GENERAL_OBJECT, "no general objects are offered (general_obj_types)"},
        {Opcode::QUERY_GENERAL_OBJECT, "no general objects are offered (general_obj_types)"},
        {Opcode::DESTROY_GENERAL_OBJECT, "no general objects are offered (general_obj_types)"},
        {Opcode::CREATE_UCTX, "user contexts are not offered (log_max_uctx)"},
        {Opcode::DESTROY_UCTX, "user contexts are not offered (log_max_uctx)"},
        {Opcode::CREATE_UMEM, "user contexts are not offered (log_max_uctx)"},
        {Opcode::DESTROY_UMEM, "user contexts are not offered (log_max_uctx)"},
        {Opcode::SYNC_CRYPTO, "encryption keys are not offered (crypto)"},
        {Opcode::QUERY_VUID, "the identifier of a function is not offered"},
    });
    return rows;
}

}  // namespace cxsim::firmware_stub
