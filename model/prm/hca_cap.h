// SPDX-License-Identifier: Apache-2.0
// Capability groups of QUERY_HCA_CAP and SET_HCA_CAP.
#pragma once

#include "model/prm/reflect.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace cxsim::prm {

// Name, value (bits 15..1 of op_mod), layout, which is also the name of the member of
// hca_cap_union. Each group occupies 4096 bytes of the output, whatever its layout's size.
#define CX_PRM_HCA_CAP_TYPES(X)                                            \
    X(GENERAL, 0x00, cmd_hca_cap)                                          \
    X(ETHERNET_OFFLOADS, 0x01, per_protocol_networking_offload_caps)       \
    X(ODP, 0x02, odp_cap)                                                  \
    X(ATOMIC, 0x03, atomic_caps)                                           \
    X(ROCE, 0x04, roce_cap)                                                \
    X(IPOIB_OFFLOADS, 0x05, per_protocol_networking_offload_caps)          \
    X(IPOIB_ENHANCED_OFFLOADS, 0x06, per_protocol_networking_offload_caps) \
    X(FLOW_TABLE, 0x07, flow_table_nic_cap)                                \
    X(ESWITCH_FLOW_TABLE, 0x08, flow_table_eswitch_cap)                    \
    X(ESWITCH, 0x09, e_switch_cap)                                         \
    X(VECTOR_CALC, 0x0b, vector_calc_cap)                                  \
    X(QOS, 0x0c, qos_cap)                                                  \
    X(DEBUG, 0x0d, debug_cap)                                              \
    X(DEV_MEM, 0x0f, device_mem_cap)                                       \
    X(TLS, 0x11, tls_cap)                                                  \
    X(VDPA_EMULATION, 0x13, virtio_emulation_cap)                          \
    X(DEV_EVENT, 0x14, device_event_cap)                                   \
    X(IPSEC, 0x15, ipsec_cap)                                              \
    X(CRYPTO, 0x1a, crypto_cap)                                            \
    X(WQE_BASED_FLOW_TABLE, 0x1b, wqe_based_flow_table_cap)                \
    X(DEV_SHAMPO, 0x1d, shampo_cap)                                        \
    X(MACSEC, 0x1f, macsec_cap)                                            \
    X(GENERAL_2, 0x20, cmd_hca_cap_2)                                      \
    X(PORT_SELECTION, 0x25, port_selection_cap)                            \
    X(ADV_VIRTUALIZATION, 0x26, adv_virtualization_cap)

enum class HcaCapType : std::uint16_t {
#define CX_PRM_HCA_CAP_TYPE(name, value, layout) name = value,
    CX_PRM_HCA_CAP_TYPES(CX_PRM_HCA_CAP_TYPE)
#undef CX_PRM_HCA_CAP_TYPE
};

/// Bit 0 of op_mod.
enum class HcaCapMode : std::uint8_t { MAX = 0, CUR = 1 };

/// Every group occupies this much of the output.
inline constexpr std::uint32_t kHcaCapBytes = 4096;

struct HcaCapTypeInfo {
    HcaCapType type;
    std::string_view name;
    std::string_view layout;
};

std::span<const HcaCapTypeInfo> all_hca_cap_types();
/// Null for an unknown group.
const HcaCapTypeInfo* find_hca_cap_type(std::uint16_t type);
/// By enumerator name; null if unknown.
const HcaCapTypeInfo* find_hca_cap_type(std::string_view name);
/// Layout of a group; null for an unknown group.
const LayoutInfo* hca_cap_layout(std::uint16_t type);

/// op_mod = type << 1 | mode.
constexpr std::uint16_t hca_cap_op_mod(HcaCapType type, HcaCapMode mode) {
    return static_cast<std::uint16_t>(static_cast<unsigned>(type) << 1 |
                                      static_cast<unsigned>(mode));
}
constexpr std::uint16_t hca_cap_type_of(std::uint16_t op_mod) {
    return static_cast<std::uint16_t>(op_mod >> 1);
}
constexpr HcaCapMode hca_cap_mode_of(std::uint16_t op_mod) {
    return static_cast<HcaCapMode>(op_mod & 1);
}

}  // namespace cxsim::prm
