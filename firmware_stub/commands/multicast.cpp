// SPDX-License-Identifier: Apache-2.0
// Multicast groups: the QPs that receive what is sent to a multicast GID.
#include <vector>

#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"
#include "firmware_stub/commands/queue_pair.h"

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;

template <class In>
Gid group_of(ConstView<In> in) {
    Gid gid{};
    const auto bytes = in.template bytes<typename In::multicast_gid>();
    std::transform(bytes.begin(), bytes.end(), gid.begin(),
                   [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
    return gid;
}

// A multicast GID of IBTA, or an IPv4 multicast address as RoCEv2 maps it (::ffff:224.0.0.0/100).
bool is_group(const Gid& gid) {
    constexpr std::uint8_t kMulticastPrefix = 0xff;
    constexpr Gid kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    constexpr std::ptrdiff_t kMappedBytes = 12;
    if (gid[0] == kMulticastPrefix) return true;
    return std::equal(gid.begin(), gid.begin() + kMappedBytes, kMapped.begin()) &&
           gid[kMappedBytes] >> 4 == 0xe;
}

Reply attach_to_mcg(CommandContext& context, ConstView<prm::attach_to_mcg_in> in,
                    View<prm::attach_to_mcg_out>) {
    using Cap = prm::cmd_hca_cap;
    FunctionState& function = context.function;
    const auto number = in.get<prm::attach_to_mcg_in::qpn>();
    const model::Qp* qp = function.resources().qps.find(number);
    if (qp == nullptr) return no_such_object(syndrome::kQpNumberNotValid);
    const ServiceType type = service_type(qp->view());
    if (type != ServiceType::ud && type != ServiceType::raw_ethertype) {
        return refuse(Status::BAD_PARAM, "only datagram QPs receive multicast");
    }
    const Gid gid = group_of(in);
    if (!is_group(gid)) return refuse(Status::BAD_PARAM, "no multicast GID");
    const auto group = function.multicast_groups.find(gid);
    if (group == function.multicast_groups.end()) {
        if (function.multicast_groups.size() >=
            std::size_t{1} << function.general<Cap::log_max_mcg>()) {
            return refuse(Status::LIM_ERR, "all multicast groups are in use");
        }
    } else {
        const auto& members = group->second;
        if (std::find(members.begin(), members.end(), number) != members.end()) {
            return refuse(Status::BAD_PARAM, "QP is attached already");
        }
        if (members.size() >= function.general<Cap::max_qp_mcg>()) {
            return refuse(Status::LIM_ERR, "group has max_qp_mcg QPs");
        }
    }
    function.multicast_groups[gid].push_back(number);
    return accept();
}

Reply detach_from_mcg(CommandContext& context, ConstView<prm::detach_from_mcg_in> in,
                      View<prm::detach_from_mcg_out>) {
    FunctionState& function = context.function;
    const auto number = in.get<prm::detach_from_mcg_in::qpn>();
    const auto group = function.multicast_groups.find(group_of(in));
    if (group == function.multicast_groups.end()) {
        return refuse(Status::BAD_RES_STATE, "no such multicast group");
    }
    auto& members = group->second;
    const auto member = std::find(members.begin(), members.end(), number);
    if (member == members.end()) return refuse(Status::BAD_RES_STATE, "QP is not attached");
    members.erase(member);
    if (members.empty()) function.multicast_groups.erase(group);
    return accept();
}

}  // namespace

std::vector<CommandRow> multicast_commands() {
    using prm::Opcode;
    return {
        command_row<&attach_to_mcg>(Opcode::ATTACH_TO_MCG, Cost::modify_object),
        command_row<&detach_from_mcg>(Opcode::DETACH_FROM_MCG, Cost::modify_object),
    };
}

}  // namespace cxsim::firmware_stub
