// SPDX-License-Identifier: Apache-2.0
// Numbers of rules: flow_context.action and dest_format_struct.destination_type.
#pragma once

#include <cstdint>

namespace cxsim::model {

/// flow_context.action
namespace flow_action {
inline constexpr std::uint32_t kAllow = 0x1;
inline constexpr std::uint32_t kDrop = 0x2;
inline constexpr std::uint32_t kForward = 0x4;
inline constexpr std::uint32_t kCount = 0x8;
inline constexpr std::uint32_t kReformat = 0x10;
inline constexpr std::uint32_t kDecap = 0x20;
inline constexpr std::uint32_t kModifyHeader = 0x40;
inline constexpr std::uint32_t kVlanPop = 0x80;
inline constexpr std::uint32_t kVlanPush = 0x100;
inline constexpr std::uint32_t kVlanPop2 = 0x400;
inline constexpr std::uint32_t kVlanPush2 = 0x800;
inline constexpr std::uint32_t kDecrypt = 0x1000;
inline constexpr std::uint32_t kEncrypt = 0x2000;
inline constexpr std::uint32_t kExecuteAso = 0x4000;
/// Those that change the packet.
inline constexpr std::uint32_t kEdits =
    kReformat | kDecap | kModifyHeader | kVlanPop | kVlanPush | kVlanPop2 | kVlanPush2;
}  // namespace flow_action

/// dest_format_struct.destination_type
enum class DestinationType : std::uint8_t {
    vport = 0,
    flow_table = 1,
    tir = 2,
    flow_sampler = 6,
    uplink = 8,
    table_type = 10,
};

/// packet_reformat_context_in.reformat_type
enum class ReformatType : std::uint8_t {
    l2_to_vxlan = 0x0,
    l2_to_nvgre = 0x1,
    l2_to_l2_tunnel = 0x2,
    l3_tunnel_to_l2 = 0x3,
    l2_to_l3_tunnel = 0x4,
    insert_header = 0xf,
    remove_header = 0x10,
};

/// set_action_in.action_type
enum class RewriteType : std::uint8_t { set = 1, add = 2, copy = 3 };

}  // namespace cxsim::model
