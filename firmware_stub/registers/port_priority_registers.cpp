// SPDX-License-Identifier: Apache-2.0
// What the port takes a packet's priority from (QPTS) and the priorities of DSCPs (QPDPM).
#include "firmware_stub/registers/register_table.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::RegisterId;
using prm::Status;
using prm::View;

constexpr std::uint32_t kOnlyPort = 1;
constexpr std::uint32_t kPriorities = model::PortSettings::kPriorities;
constexpr std::size_t kDscps = model::PortSettings::kDscps;

enum TrustState : std::uint32_t { kTrustPcp = 1, kTrustDscp = 2 };

Reply check_port(std::uint32_t local_port) {
    if (local_port != kOnlyPort) return refuse(Status::BAD_PARAM, "no such local_port");
    return accept();
}

// ---- QPTS

Reply read_qpts(CommandContext& context, View<prm::qpts_reg> reg) {
    using Reg = prm::qpts_reg;
    const Reply check = check_port(reg.get<Reg::local_port>());
    if (!check.ok()) return check;
    reg.clear();
    reg.set<Reg::local_port>(kOnlyPort);
    reg.set<Reg::trust_state>(context.firmware.port().trust_dscp ? kTrustDscp : kTrustPcp);
    return accept();
}

Reply write_qpts(CommandContext& context, View<prm::qpts_reg> reg) {
    using Reg = prm::qpts_reg;
    const Reply check = check_port(reg.get<Reg::local_port>());
    if (!check.ok()) return check;
    // "Both" (3) needs a capability, qpts_trust_both, that no card here has.
    const auto wanted = reg.get<Reg::trust_state>();
    if (wanted != kTrustPcp && wanted != kTrustDscp) {
        return refuse(Status::BAD_PARAM, "trust_state is neither PCP nor DSCP");
    }
    Port& port = context.firmware.port();
    port.trust_dscp = wanted == kTrustDscp;
    port.apply();
    return read_qpts(context, reg);
}

// ---- QPDPM

Reply read_qpdpm(CommandContext& context, View<prm::qpdpm_reg> reg) {
    using Reg = prm::qpdpm_reg;
    const Reply check = check_port(reg.get<Reg::local_port>());
    if (!check.ok()) return check;
    reg.clear();
    reg.set<Reg::local_port>(kOnlyPort);
    for (std::size_t i = 0; i < kDscps; ++i) {
        reg.at<Reg::dscp>(i).set<prm::qpdpm_dscp_reg::prio>(
            context.firmware.port().priority_of_dscp[i]);
    }
    return accept();
}

// Entries with `e` are written, the others stay: drivers read all and write one back.
Reply write_qpdpm(CommandContext& context, View<prm::qpdpm_reg> reg) {
    using Reg = prm::qpdpm_reg;
    using Entry = prm::qpdpm_dscp_reg;
    const Reply check = check_port(reg.get<Reg::local_port>());
    if (!check.ok()) return check;
    Port& port = context.firmware.port();
    auto wanted = port.priority_of_dscp;
    for (std::size_t i = 0; i < kDscps; ++i) {
        const auto entry = reg.at<Reg::dscp>(i);
        if (entry.get<Entry::e>() == 0) continue;
        if (entry.get<Entry::prio>() >= kPriorities) {
            return refuse(Status::BAD_PARAM, "priority of a DSCP beyond 7");
        }
        wanted[i] = static_cast<std::uint8_t>(entry.get<Entry::prio>());
    }
    port.priority_of_dscp = wanted;
    port.apply();
    return read_qpdpm(context, reg);
}

}  // namespace

std::vector<RegisterRow> port_priority_registers() {
    return {
        register_row<&read_qpts, &write_qpts>(RegisterId::QPTS),
        register_row<&read_qpdpm, &write_qpdpm>(RegisterId::QPDPM),
    };
}

}  // namespace cxsim::firmware_stub
