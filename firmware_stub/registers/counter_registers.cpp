// SPDX-License-Identifier: Apache-2.0
// Port counters (PPCNT). A port without a MAC has counted nothing: every group reads zero.
#include <algorithm>
#include <array>
#include <vector>

#include "firmware_stub/registers/register_table.h"

namespace cxsim::firmware_stub {
namespace {

using prm::RegisterId;
using prm::Status;
using prm::View;

enum Group : std::uint32_t {
    kIeee8023 = 0x0,
    kRfc2863 = 0x1,
    kRfc2819 = 0x2,
    kRfc3635 = 0x3,
    kEthernetExtended = 0x5,
    kPerPriority = 0x10,
    kPerTrafficClass = 0x11,
    kPhysicalLayer = 0x12,
};
constexpr std::array kGroups{kIeee8023,    kRfc2863,         kRfc2819,       kRfc3635,
                             kEthernetExtended, kPerPriority, kPerTrafficClass, kPhysicalLayer};
constexpr std::uint32_t kPriorities = 8;

Reply read_ppcnt(CommandContext&, View<prm::ppcnt_reg> reg) {
    if (reg.get<prm::ppcnt_reg::local_port>() != 1) {
        return refuse(Status::BAD_PARAM, syndrome::kRegisterLocalPort, "no such local_port");
    }
    const auto group = reg.get<prm::ppcnt_reg::grp>();
    if (std::find(kGroups.begin(), kGroups.end(), group) == kGroups.end()) {
        return refuse(Status::BAD_PARAM, "counter group not supported");
    }
    const bool indexed = group == kPerPriority || group == kPerTrafficClass;
    if (reg.get<prm::ppcnt_reg::prio_tc>() >= (indexed ? kPriorities : 1)) {
        return refuse(Status::BAD_PARAM, "no such priority or traffic class");
    }
    const auto counters = reg.bytes<prm::ppcnt_reg::counter_set>();
    std::fill(counters.begin(), counters.end(), std::byte{0});
    return accept();
}

}  // namespace

std::vector<RegisterRow> counter_registers() {
    return {
        register_row<&read_ppcnt, &read_ppcnt>(RegisterId::PPCNT),
    };
}

}  // namespace cxsim::firmware_stub
