// SPDX-License-Identifier: Apache-2.0
// The context of the function's NIC vport: address lists that receive filtering uses, promiscuous
// modes, MTU, RoCE, guids.
#include "firmware_stub/commands/capability.h"
#include "firmware_stub/commands/families.h"
#include "firmware_stub/commands/flow_steering.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;
using Context = prm::nic_vport_context;
using Select = prm::modify_nic_vport_field_select;
using Mac = std::array<std::uint8_t, 6>;

enum ListType : std::uint32_t { kUnicast = 0, kMulticast = 1, kVlan = 2 };
constexpr std::uint32_t kMaxInlineMode = 3;
constexpr std::uint64_t kGroupBit = std::uint64_t{1} << 40;  // of a MAC address as a number

std::uint64_t to_number(const Mac& mac) {
    std::uint64_t number = 0;
    for (const std::uint8_t byte : mac) number = number << 8 | byte;
    return number;
}

Mac to_mac(std::uint64_t number) {
    Mac mac{};
    for (std::size_t i = mac.size(); i-- > 0; number >>= 8) {
        mac[i] = static_cast<std::uint8_t>(number & 0xff);
    }
    return mac;
}

std::vector<std::uint64_t> list_elements(const Vport& vport, std::uint32_t type) {
    std::vector<std::uint64_t> elements;
    if (type == kVlan) {
        elements.assign(vport.vlan_list.begin(), vport.vlan_list.end());
        for (std::uint64_t& element : elements) element <<= 32;  // vlan_layout
        return elements;
    }
    const auto& list = type == kUnicast ? vport.unicast_list : vport.multicast_list;
    for (const Mac& mac : list) elements.push_back(to_number(mac));
    return elements;
}

Reply query_context(CommandContext& context, ConstView<prm::query_nic_vport_context_in> in,
                    View<prm::query_nic_vport_context_out> out) {
    using In = prm::query_nic_vport_context_in;
    const Reply check = check_vport(in.get<In::other_vport>(), in.get<In::vport_number>());
    if (!check.ok()) return check;
    const auto type = in.get<In::allowed_list_type>();
    if (type > kVlan) return refuse(Status::BAD_PARAM, "allowed_list_type not defined");
    const Vport& vport = context.function.vport();
    const auto answer = out.nested<prm::query_nic_vport_context_out::nic_vport_context>();
    const auto stored = vport.context.bytes();
    std::copy(stored.begin(), stored.end(), answer.bytes().begin());
    const std::vector<std::uint64_t> elements = list_elements(vport, type);
    answer.set<Context::allowed_list_type>(type);
    answer.set<Context::allowed_list_size>(elements.size());
    // Most queries want the context only and leave no room for the list.
    const std::size_t room = answer.size<Context::current_uc_mac_address>();
    for (std::size_t i = 0; i < std::min(room, elements.size()); ++i) {
        answer.set_at<Context::current_uc_mac_address>(i, elements[i]);
    }
    return accept();
}

std::uint32_t list_limit(FunctionState& function, std::uint32_t type) {
    using Cap = prm::cmd_hca_cap;
    switch (type) {
        case kUnicast:
            return 1U << function.general<Cap::log_max_current_uc_list>();
        case kMulticast:
            return 1U << function.general<Cap::log_max_current_mc_list>();
        default:
            return 1U << function.general<Cap::log_max_vlan_list>();
    }
}

Reply check_list(FunctionState& function, ConstView<Context> wanted) {
    const auto type = wanted.get<Context::allowed_list_type>();
    if (type > kVlan) return refuse(Status::BAD_PARAM, "allowed_list_type not defined");
    const auto size = wanted.get<Context::allowed_list_size>();
    if (size > list_limit(function, type)) {
        return refuse(Status::BAD_PARAM, "allowed_list_size above the card's limit");
    }
    if (wanted.size<Context::current_uc_mac_address>() < size) {
        return refuse(Status::BAD_INP_LEN, "list shorter than allowed_list_size");
    }
    for (std::uint32_t i = 0; i < size; ++i) {
        const auto element = wanted.at<Context::current_uc_mac_address>(i);
        if (type == kUnicast && (element & kGroupBit) != 0) {
            return refuse(Status::BAD_PARAM, "group address in the unicast list");
        }
        if (type == kMulticast && (element & kGroupBit) == 0) {
            return refuse(Status::BAD_PARAM, "individual address in the multicast list");
        }
    }
    return accept();
}

std::uint64_t permanent_address(ConstView<Context> context) {
    using Address = prm::mac_address_layout;
    const auto address = context.nested<Context::permanent_address>();
    return std::uint64_t{address.get<Address::mac_addr_47_32>()} << 32 |
           address.get<Address::mac_addr_31_0>();
}

Reply check_fields(CommandContext& context, ConstView<Select> select, ConstView<Context> wanted) {
    using Cap = prm::cmd_hca_cap;
    FunctionState& function = context.function;
    if (select.get<Select::affiliation>() != 0 &&
        function.general<Cap::affiliate_nic_vport_criteria>() == 0) {
        return refuse(Status::BAD_PARAM, "affiliation not supported");
    }
    if (select.get<Select::node_guid>() != 0 || select.get<Select::port_guid>() != 0) {
        return refuse(Status::BAD_PARAM, "guids are set by an e-switch manager only");
    }
    if (select.get<Select::disable_uc_local_lb>() != 0 &&
        function.general<Cap::disable_local_lb_uc>() == 0) {
        return refuse(Status::BAD_PARAM, "disable_local_lb_uc not supported");
    }
    if (select.get<Select::disable_mc_local_lb>() != 0 &&
        function.general<Cap::disable_local_lb_mc>() == 0) {
        return refuse(Status::BAD_PARAM, "disable_local_lb_mc not supported");
    }
    if (select.get<Select::min_inline>() != 0 &&
        wanted.get<Context::min_wqe_inline_mode>() > kMaxInlineMode) {
        return refuse(Status::BAD_PARAM, "min_wqe_inline_mode not defined");
    }
    if (select.get<Select::mtu>() != 0 &&
        (wanted.get<Context::mtu>() == 0 ||
         wanted.get<Context::mtu>() > context.firmware.port().config.max_mtu)) {
        return refuse(Status::BAD_PARAM, "mtu beyond the port's maximum");
    }
    if (select.get<Select::permanent_address>() != 0 &&
        (permanent_address(wanted) == 0 || (permanent_address(wanted) & kGroupBit) != 0)) {
        return refuse(Status::BAD_PARAM, "permanent_address is no station's address");
    }
    if (select.get<Select::roce_en>() != 0 && wanted.get<Context::roce_en>() != 0 &&
        function.general<Cap::roce>() == 0) {
        return refuse(Status::BAD_PARAM, "RoCE not supported");
    }
    if (select.get<Select::addresses_list>() != 0) return check_list(function, wanted);
    return accept();
}

void set_list(Vport& vport, ConstView<Context> wanted) {
    const auto size = wanted.get<Context::allowed_list_size>();
    const auto type = wanted.get<Context::allowed_list_type>();
    if (type == kVlan) {
        vport.vlan_list.clear();
        for (std::uint32_t i = 0; i < size; ++i) {
            const auto element = wanted.at<Context::current_uc_mac_address>(i);
            vport.vlan_list.push_back(static_cast<std::uint16_t>(element >> 32 & 0xfff));
        }
        return;
    }
    auto& list = type == kUnicast ? vport.unicast_list : vport.multicast_list;
    list.clear();
    for (std::uint32_t i = 0; i < size; ++i) {
        list.push_back(to_mac(wanted.at<Context::current_uc_mac_address>(i)));
    }
}

template <class... Fields>
void copy_fields(View<Context> to, ConstView<Context> from) {
    (to.set<Fields>(from.get<Fields>()), ...);
}

void set_fields(Vport& vport, ConstView<Select> select, ConstView<Context> wanted) {
    const auto own = vport.context.view();
    const auto chosen = [&]<class Field>() { return select.get<Field>() != 0; };
    if (chosen.operator()<Select::affiliation>()) {
        copy_fields<Context::vhca_id_type, Context::affiliation_criteria,
                    Context::affiliated_vhca_id>(own, wanted);
    }
    if (chosen.operator()<Select::disable_uc_local_lb>()) {
        copy_fields<Context::disable_uc_local_lb>(own, wanted);
    }
    if (chosen.operator()<Select::disable_mc_local_lb>()) {
        copy_fields<Context::disable_mc_local_lb>(own, wanted);
    }
    if (chosen.operator()<Select::min_inline>()) {
        copy_fields<Context::min_wqe_inline_mode>(own, wanted);
    }
    if (chosen.operator()<Select::mtu>()) copy_fields<Context::mtu>(own, wanted);
    if (chosen.operator()<Select::roce_en>()) copy_fields<Context::roce_en>(own, wanted);
    if (chosen.operator()<Select::change_event>()) {
        copy_fields<Context::arm_change_event, Context::event_on_mtu,
                    Context::event_on_promisc_change, Context::event_on_vlan_change,
                    Context::event_on_mc_address_change, Context::event_on_uc_address_change>(
            own, wanted);
    }
    if (chosen.operator()<Select::promisc>()) {
        copy_fields<Context::promisc_uc, Context::promisc_mc, Context::promisc_all>(own, wanted);
    }
    if (chosen.operator()<Select::permanent_address>()) {
        const auto from = wanted.bytes<Context::permanent_address>();
        std::copy(from.begin(), from.end(), own.bytes<Context::permanent_address>().begin());
    }
    if (chosen.operator()<Select::addresses_list>()) set_list(vport, wanted);
    vport.follow_context();
}

Reply modify_context(CommandContext& context, ConstView<prm::modify_nic_vport_context_in> in,
                     View<prm::modify_nic_vport_context_out>) {
    using In = prm::modify_nic_vport_context_in;
    const Reply check = check_vport(in.get<In::other_vport>(), in.get<In::vport_number>());
    if (!check.ok()) return check;
    const auto select = in.nested<In::field_select>();
    const auto wanted = in.nested<In::nic_vport_context>();
    const Reply fields = check_fields(context, select, wanted);
    if (!fields.ok()) return fields;
    set_fields(context.function.vport(), select, wanted);
    return accept();
}

}  // namespace

std::vector<CommandRow> nic_vport_context_commands() {
    using prm::Opcode;
    return {
        command_row<&query_context>(Opcode::QUERY_NIC_VPORT_CONTEXT, Cost::query),
        command_row<&modify_context>(Opcode::MODIFY_NIC_VPORT_CONTEXT, Cost::set),
    };
}

}  // namespace cxsim::firmware_stub
