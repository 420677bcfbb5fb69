// SPDX-License-Identifier: Apache-2.0
// Why the link is down (PDDR).
#include "firmware_stub/registers/register_table.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace cxsim::firmware_stub {
namespace {

using model::LinkDownReason;
using prm::RegisterId;
using prm::Status;
using prm::View;

struct Diagnosis {
    std::uint32_t opcode;
    std::string_view text;
};

// Opcodes as the driver maps them to ethtool's extended link states.
Diagnosis diagnosis_of(LinkDownReason reason) {
    switch (reason) {
        case LinkDownReason::none:
            return {0, "No issue was observed"};
        case LinkDownReason::no_cable:
            return {1024, "Cable is unplugged"};
        case LinkDownReason::admin_down:
            return {1, "Port is closed by command"};
        case LinkDownReason::partner_down:
            return {2, "Negotiation failure: no partner detected"};
        case LinkDownReason::no_common_mode:
            return {39, "Negotiation failure: no common speed"};
        case LinkDownReason::no_common_fec:
            return {38, "Negotiation failure: FEC mismatch during override"};
        case LinkDownReason::training:
            return {0, "Link training in progress"};
    }
    return {0, ""};
}

Reply read_pddr(CommandContext& context, View<prm::pddr_reg> reg) {
    using Reg = prm::pddr_reg;
    using Data = prm::pddr_reg_page_data_auto;
    using Page = prm::pddr_troubleshooting_page;
    using Opcode = prm::pddr_troubleshooting_page_status_opcode_auto;
    enum PageSelect : std::uint32_t { kTroubleshooting = 1 };
    enum GroupOpcode : std::uint32_t { kMonitor = 0 };
    if (reg.get<Reg::local_port>() != 1) {
        return refuse(Status::BAD_PARAM, "no such local_port");
    }
    if (reg.get<Reg::page_select>() != kTroubleshooting) {
        return refuse(Status::BAD_PARAM, "page not supported");
    }
    const auto page = reg.nested<Reg::page_data>().nested<Data::pddr_troubleshooting_page>();
    if (page.get<Page::group_opcode>() != kMonitor) {
        return refuse(Status::BAD_PARAM, "group of opcodes not supported");
    }
    const Port& port = context.firmware.port();
    LinkDownReason reason = port.status().reason;
    if (!port.admin_up) reason = LinkDownReason::admin_down;
    const Diagnosis diagnosis = diagnosis_of(reason);
    std::fill(page.bytes().begin(), page.bytes().end(), std::byte{0});
    page.set<Page::status_opcode, Opcode::pddr_monitor_opcode,
             prm::pddr_monitor_opcode::monitor_opcode>(diagnosis.opcode);
    const auto text = page.bytes<Page::status_message>();
    for (std::size_t i = 0; i < std::min(diagnosis.text.size(), text.size()); ++i) {
        text[i] = static_cast<std::byte>(diagnosis.text[i]);
    }
    return accept();
}

}  // namespace

std::vector<RegisterRow> port_diagnostic_registers() {
    return {register_row<&read_pddr>(RegisterId::PDDR)};
}

}  // namespace cxsim::firmware_stub
