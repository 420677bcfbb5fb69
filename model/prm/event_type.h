// SPDX-License-Identifier: Apache-2.0
// Types of event queue entries, with the member of eqe.event_data that each fills.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cxsim::prm {

// Name, value, member of union event_auto ("" where the event carries no data).
#define CX_PRM_EVENT_TYPES(X)                             \
    X(COMP, 0x00, comp_event)                             \
    X(PATH_MIG, 0x01, qp_events)                          \
    X(COMM_EST, 0x02, qp_events)                          \
    X(SQ_DRAINED, 0x03, qp_events)                        \
    X(CQ_ERROR, 0x04, cq_error)                           \
    X(WQ_CATAS_ERROR, 0x05, qp_events)                    \
    X(PATH_MIG_FAILED, 0x07, qp_events)                   \
    X(INTERNAL_ERROR, 0x08, )                             \
    X(PORT_CHANGE, 0x09, port_state_change_event)         \
    X(CMD, 0x0a, cmd_inter_comp_event)                    \
    X(PAGE_REQUEST, 0x0b, pages_req_event)                \
    X(PAGE_FAULT, 0x0c, wqe_associated_page_fault_event)  \
    X(NIC_VPORT_CHANGE, 0x0d, nic_vport_change_event)     \
    X(ESW_FUNCTIONS_CHANGED, 0x0e, )                      \
    X(VHCA_STATE_CHANGE, 0x0f, vhca_state_change_event)   \
    X(WQ_INVAL_REQ_ERROR, 0x10, qp_events)                \
    X(WQ_ACCESS_ERROR, 0x11, qp_events)                   \
    X(SRQ_CATAS_ERROR, 0x12, qp_events)                   \
    X(SRQ_LAST_WQE, 0x13, qp_events)                      \
    X(SRQ_RQ_LIMIT, 0x14, qp_events)                      \
    X(GPIO_EVENT, 0x15, gpio_event)                       \
    X(PORT_MODULE_EVENT, 0x16, port_module_event)         \
    X(TEMP_WARN_EVENT, 0x17, temp_warning_event)          \
    X(XRQ_ERROR, 0x18, xrq_error_event)                   \
    X(REMOTE_CONFIG, 0x19, )                              \
    X(DB_BF_CONGESTION, 0x1a, db_bf_congestion_event)     \
    X(STALL_EVENT, 0x1b, stall_vl_event)                  \
    X(DCT_DRAINED, 0x1c, dct_events)                      \
    X(DCT_KEY_VIOLATION, 0x1d, dct_events)                \
    X(DROPPED_PACKET_LOGGED, 0x1f, dropped_packet_logged) \
    X(FPGA_ERROR, 0x20, fpga_error_event)                 \
    X(FPGA_QP_ERROR, 0x21, fpga_qp_error_event)           \
    X(GENERAL_EVENT, 0x22, general_event)                 \
    X(MONITOR_COUNTER, 0x24, )                            \
    X(PPS_EVENT, 0x25, pps_event)                         \
    X(DEVICE_TRACER, 0x26, )                              \
    X(OBJECT_CHANGE, 0x27, object_change_event)

enum class EventType : std::uint8_t {
#define CX_PRM_EVENT_TYPE(name, value, member) name = value,
    CX_PRM_EVENT_TYPES(CX_PRM_EVENT_TYPE)
#undef CX_PRM_EVENT_TYPE
};

/// `event_sub_type` of PORT_CHANGE.
enum class PortChangeSubtype : std::uint8_t {
    DOWN = 1,
    ACTIVE = 4,
    INITIALIZED = 5,
    LID = 6,
    PKEY = 7,
    GUID = 8,
    CLIENT_REREG = 9,
};

/// `event_sub_type` of GENERAL_EVENT.
enum class GeneralSubtype : std::uint8_t {
    DELAY_DROP_TIMEOUT = 0x1,
    PCI_POWER_CHANGE_EVENT = 0x5,
    FW_LIVE_PATCH_EVENT = 0x7,
    PCI_SYNC_FOR_FW_UPDATE_EVENT = 0x8,
};

/// `sync_rst_state` of a GENERAL_EVENT of subtype PCI_SYNC_FOR_FW_UPDATE_EVENT.
enum class SyncResetState : std::uint8_t {
    RESET_REQUEST = 0x0,
    RESET_NOW = 0x1,
    RESET_ABORT = 0x2,
    RESET_UNLOAD = 0x3,
};

struct EventTypeInfo {
    EventType type;
    std::string_view name;
    std::string_view data_member;  ///< of union event_auto; empty: no data
};

std::span<const EventTypeInfo> all_event_types();
/// Null for an unknown type.
const EventTypeInfo* find_event_type(std::uint8_t type);
/// Empty for an unknown type.
std::string_view event_type_name(std::uint8_t type);

}  // namespace cxsim::prm
