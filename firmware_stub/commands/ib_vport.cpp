// SPDX-License-Identifier: Apache-2.0
// The vport as InfiniBand management sees it: identity, GID and partition tables. The ports are
// Ethernet: no LID, no subnet manager, the default partition only, GIDs from the RoCE addresses.
#include "firmware_stub/commands/capability.h"
#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;

constexpr std::uint32_t kWholeTable = 0xffff;
constexpr std::uint32_t kDefaultPkey = 0xffff;

template <class In>
Reply check_vport(FunctionState& function, ConstView<In> in) {
    if (in.template get<typename In::other_vport>() != 0 ||
        in.template get<typename In::vport_number>() != 0) {
        return refuse(Status::BAD_PARAM, "no other vports");
    }
    if (in.template get<typename In::port_num>() >
        function.general<prm::cmd_hca_cap::num_ports>()) {
        return refuse(Status::BAD_PARAM, "no such port");
    }
    return accept();
}

// Port states as InfiniBand counts them.
enum PortState : std::uint32_t { kDown = 1, kActive = 4 };
enum PhysicalState : std::uint32_t { kPolling = 2, kDisabled = 3, kLinkUp = 5 };

Reply query_hca_vport_context(CommandContext& context,
                              ConstView<prm::query_hca_vport_context_in> in,
                              View<prm::query_hca_vport_context_out> out) {
    using Context = prm::hca_vport_context;
    FunctionState& function = context.function;
    const Reply check = check_vport(function, in);
    if (!check.ok()) return check;
    const auto nic = function.vport().context.view();
    const auto shown = out.nested<prm::query_hca_vport_context_out::hca_vport_context>();
    const Port& port = context.firmware.port();
    const bool up = port.operational();
    shown.set<Context::grh_required>(1U);
    shown.set<Context::port_state>(up ? kActive : kDown);
    shown.set<Context::vport_state>(up ? kActive : kDown);
    shown.set<Context::port_physical_state>(up ? kLinkUp : port.admin_up ? kPolling : kDisabled);
    shown.set<Context::system_image_guid>(nic.get<prm::nic_vport_context::system_image_guid>());
    shown.set<Context::port_guid>(nic.get<prm::nic_vport_context::port_guid>());
    shown.set<Context::node_guid>(nic.get<prm::nic_vport_context::node_guid>());
    return accept();
}

Reply query_hca_vport_gid(CommandContext& context, ConstView<prm::query_hca_vport_gid_in> in,
                          View<prm::query_hca_vport_gid_out> out) {
    using In = prm::query_hca_vport_gid_in;
    using Out = prm::query_hca_vport_gid_out;
    FunctionState& function = context.function;
    const Reply check = check_vport(function, in);
    if (!check.ok()) return check;
    const auto entries =
        capability<prm::roce_cap::roce_address_table_size>(function, prm::HcaCapType::ROCE);
    const auto index = in.get<In::gid_index>();
    if (index >= entries && index != kWholeTable) {
        return refuse(Status::BAD_PARAM, "gid_index beyond the table");
    }
    const std::uint32_t first = index == kWholeTable ? 0 : index;
    const std::uint32_t count = index == kWholeTable ? entries : 1;
    if (out.size<Out::gid>() < count) {
        return refuse(Status::BAD_OUTP_LEN, "no room for the GIDs");
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto entry = function.roce_addresses.find(first + i);
        if (entry == function.roce_addresses.end()) continue;
        const auto gid = entry->second.view().bytes<prm::roce_addr_layout::source_l3_address>();
        std::copy(gid.begin(), gid.end(), out.at<Out::gid>(i).bytes().begin());
    }
    out.set<Out::gids_num>(count);
    return accept();
}

Reply query_hca_vport_pkey(CommandContext& context, ConstView<prm::query_hca_vport_pkey_in> in,
                           View<prm::query_hca_vport_pkey_out> out) {
    using In = prm::query_hca_vport_pkey_in;
    using Out = prm::query_hca_vport_pkey_out;
    constexpr std::uint32_t kSmallestTable = 128;
    FunctionState& function = context.function;
    const Reply check = check_vport(function, in);
    if (!check.ok()) return check;
    const std::uint32_t entries = kSmallestTable
                                  << function.general<prm::cmd_hca_cap::pkey_table_size>();
    const auto index = in.get<In::pkey_index>();
    if (index >= entries && index != kWholeTable) {
        return refuse(Status::BAD_PARAM, "pkey_index beyond the table");
    }
    const std::uint32_t count = index == kWholeTable ? entries : 1;
    if (out.size<Out::pkey>() < count) {
        return refuse(Status::BAD_OUTP_LEN, "no room for the partition keys");
    }
    if (index == 0 || index == kWholeTable) {
        out.at<Out::pkey>(0).set<prm::pkey::pkey_>(kDefaultPkey);
    }
    return accept();
}

}  // namespace

std::vector<CommandRow> ib_vport_commands() {
    using prm::Opcode;
    return {
        command_row<&query_hca_vport_context>(Opcode::QUERY_HCA_VPORT_CONTEXT, Cost::query),
        command_row<&query_hca_vport_gid>(Opcode::QUERY_HCA_VPORT_GID, Cost::query),
        command_row<&query_hca_vport_pkey>(Opcode::QUERY_HCA_VPORT_PKEY, Cost::query),
    };
}

}  // namespace cxsim::firmware_stub
