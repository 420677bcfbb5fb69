// SPDX-License-Identifier: Apache-2.0
// What PPCNT shows: counter of the port -> group and field of the register, in one table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cxsim::firmware_stub {

enum class PpcntGroup : std::uint8_t {
    ieee_802_3 = 0x0,
    rfc_2863 = 0x1,
    rfc_2819 = 0x2,
    rfc_3635 = 0x3,
    ethernet_extended = 0x5,
    per_priority = 0x10,
    per_traffic_class = 0x11,
    physical_layer = 0x12,
    physical_statistical = 0x16,
};

struct PpcntRow {
    PpcntGroup group;
    std::uint32_t offset;  ///< bytes into counter_set
    std::uint32_t bytes;   ///< 8, or 4 for the few short ones
    /// Path below the port's counters; {} stands for the priority.
    std::string_view counter;
    std::uint64_t divisor = 1;  ///< units of the counter in one of the field
};

std::span<const PpcntRow> ppcnt_rows();
/// Groups that PPCNT answers.
std::span<const PpcntGroup> ppcnt_groups();
/// Whether prio_tc selects one of eight.
constexpr bool indexed(PpcntGroup group) {
    return group == PpcntGroup::per_priority || group == PpcntGroup::per_traffic_class;
}

}  // namespace cxsim::firmware_stub
