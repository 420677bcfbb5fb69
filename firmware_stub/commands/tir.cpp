// SPDX-License-Identifier: Apache-2.0
// Transport interface receive objects: where a flow's packets go, one queue or by hash into a
// table of them, and what is done on the way (merging, inner headers, loop-back).
#include "firmware_stub/commands/capability.h"
#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using model::ObjectKind;
using prm::ConstView;
using prm::Status;
using prm::tirc;
using prm::View;
using Eth = prm::per_protocol_networking_offload_caps;
using Selector = prm::rx_hash_field_select;

enum DispatchType : std::uint32_t { kDirect = 0, kIndirect = 1 };
enum HashFunction : std::uint32_t { kNone = 0, kInvertedXor8 = 1, kToeplitz = 2 };

constexpr std::uint32_t kMergeIpv4Lro = 1;
constexpr std::uint32_t kMergeIpv6Lro = 2;
// Source and destination address, source and destination port, IPsec SPI.
constexpr std::uint32_t kHashFields = 0x1f;

Reply check_hash(ConstView<tirc> context) {
    if (context.get<tirc::rx_hash_fn>() > kToeplitz) {
        return refuse(Status::BAD_PARAM, "rx_hash_fn not defined");
    }
    const std::uint32_t fields =
        context.get<tirc::rx_hash_field_selector_outer, Selector::selected_fields>() |
        context.get<tirc::rx_hash_field_selector_inner, Selector::selected_fields>();
    if ((fields & ~kHashFields) != 0) {
        return refuse(Status::BAD_PARAM, "selected_fields not defined");
    }
    return accept();
}

bool timeout_supported(FunctionState& function, std::uint32_t period) {
    const std::span<const std::byte> image =
        function.current_capability(static_cast<std::uint16_t>(prm::HcaCapType::ETHERNET_OFFLOADS));
    if (image.size() < Eth::kBytes) return false;
    const ConstView<Eth> capabilities(image);
    for (std::size_t i = 0; i < capabilities.size<Eth::lro_timer_supported_periods>(); ++i) {
        if (capabilities.at<Eth::lro_timer_supported_periods>(i) == period) return true;
    }
    return false;
}

Reply check_merge(FunctionState& function, ConstView<tirc> context) {
    const auto merge = context.get<tirc::packet_merge_mask>();
    if (merge == 0) return accept();
    if ((merge & ~(kMergeIpv4Lro | kMergeIpv6Lro)) != 0) {
        return refuse(Status::BAD_PARAM, "packet_merge_mask not supported");
    }
    if (ethernet_capability<Eth::lro_cap>(function) == 0) {
        return refuse(Status::BAD_PARAM, "large receive offload not supported");
    }
    if (context.get<tirc::lro_max_ip_payload_size>() == 0) {
        return refuse(Status::BAD_PARAM, "lro_max_ip_payload_size is zero");
    }
    if (!timeout_supported(function, context.get<tirc::lro_timeout_period_usecs>())) {
        return refuse(Status::BAD_PARAM, "lro_timeout_period_usecs not among the periods");
    }
    return accept();
}

bool inner_parsing_offered(FunctionState& function) {
    return ethernet_capability<Eth::tunnel_stateless_gre>(function) != 0 ||
           ethernet_capability<Eth::tunnel_stateless_vxlan>(function) != 0 ||
           ethernet_capability<Eth::tunnel_stateless_ip_over_ip>(function) != 0 ||
           ethernet_capability<Eth::tunnel_stateless_geneve_rx>(function) != 0;
}

Reply check_dispatch(FunctionState& function, ConstView<tirc> context) {
    const model::Resources& resources = function.resources();
    switch (context.get<tirc::disp_type>()) {
        case kDirect:
            if (context.get<tirc::rx_hash_fn>() != kNone) {
                return refuse(Status::BAD_PARAM, "a direct TIR has no hash");
            }
            return resources.rqs.find(context.get<tirc::inline_rqn>()) != nullptr
                       ? accept()
                       : bad_reference("inline_rqn names no receive queue");
        case kIndirect:
            return resources.rqts.find(context.get<tirc::indirect_table>()) != nullptr
                       ? accept()
                       : bad_reference("indirect_table names no receive queue table");
        default:
            return refuse(Status::BAD_PARAM, "disp_type not defined");
    }
}

Reply create_tir(CommandContext& context, ConstView<prm::create_tir_in> in,
                 View<prm::create_tir_out> out) {
    FunctionState& function = context.function;
    model::Resources& resources = function.resources();
    const auto wanted = in.nested<prm::create_tir_in::ctx>();
    if (wanted.get<tirc::tls_en>() != 0 && function.general<prm::cmd_hca_cap::tls_rx>() == 0) {
        return refuse(Status::BAD_PARAM, "tls_en not supported");
    }
    if (wanted.get<tirc::tunneled_offload_en>() != 0 && !inner_parsing_offered(function)) {
        return refuse(Status::BAD_PARAM, syndrome::kTirInnerParsing,
                      "parsing of inner headers not supported");
    }
    const Reply hash = check_hash(wanted);
    if (!hash.ok()) return hash;
    const Reply merge = check_merge(function, wanted);
    if (!merge.ok()) return merge;
    const Reply dispatch = check_dispatch(function, wanted);
    if (!dispatch.ok()) return dispatch;
    if (resources.transport_domains.find(wanted.get<tirc::transport_domain>()) == nullptr) {
        return bad_reference("transport_domain not allocated");
    }
    model::Tir* tir = resources.tirs.create();
    if (tir == nullptr) return table_full();
    std::copy_n(wanted.bytes().begin(), tir->context.size(), tir->context.begin());
    if (wanted.get<tirc::disp_type>() == kDirect) {
        resources.hold(*tir, {ObjectKind::rq, wanted.get<tirc::inline_rqn>()});
    } else {
        resources.hold(*tir, {ObjectKind::rqt, wanted.get<tirc::indirect_table>()});
    }
    resources.hold(*tir, {ObjectKind::transport_domain, wanted.get<tirc::transport_domain>()});
    out.set<prm::create_tir_out::tirn>(tir->id.number);
    return accept();
}

void copy_hash(View<tirc> own, ConstView<tirc> wanted) {
    own.set<tirc::rx_hash_symmetric>(wanted.get<tirc::rx_hash_symmetric>());
    own.set<tirc::rx_hash_fn>(wanted.get<tirc::rx_hash_fn>());
    const auto copy = [](std::span<std::byte> to, std::span<const std::byte> from) {
        std::copy(from.begin(), from.end(), to.begin());
    };
    copy(own.bytes<tirc::rx_hash_toeplitz_key>(), wanted.bytes<tirc::rx_hash_toeplitz_key>());
    copy(own.bytes<tirc::rx_hash_field_selector_outer>(),
         wanted.bytes<tirc::rx_hash_field_selector_outer>());
    copy(own.bytes<tirc::rx_hash_field_selector_inner>(),
         wanted.bytes<tirc::rx_hash_field_selector_inner>());
}

Reply modify_tir(CommandContext& context, ConstView<prm::modify_tir_in> in,
                 View<prm::modify_tir_out>) {
    using In = prm::modify_tir_in;
    using Mask = prm::modify_tir_bitmask;
    FunctionState& function = context.function;
    model::Tir* tir = function.resources().tirs.find(in.get<In::tirn>());
    if (tir == nullptr) return no_such_object();
    const auto wanted = in.nested<In::ctx>();
    const auto mask = in.nested<In::bitmask>();
    const bool merge = mask.get<Mask::packet_merge>() != 0;
    const bool hash = mask.get<Mask::hash>() != 0;
    const bool loopback = mask.get<Mask::self_lb_en>() != 0;
    const auto own = tir->view();
    if (merge) {
        const Reply check = check_merge(function, wanted);
        if (!check.ok()) return check;
    }
    if (hash) {
        const Reply check = check_hash(wanted);
        if (!check.ok()) return check;
        if (own.get<tirc::disp_type>() == kDirect && wanted.get<tirc::rx_hash_fn>() != kNone) {
            return refuse(Status::BAD_PARAM, "a direct TIR has no hash");
        }
    }
    if (loopback && ethernet_capability<Eth::self_lb_en_modifiable>(function) == 0) {
        return refuse(Status::BAD_PARAM, "self_lb_block is not modifiable");
    }
    if (merge) {
        own.set<tirc::packet_merge_mask>(wanted.get<tirc::packet_merge_mask>());
        own.set<tirc::lro_max_ip_payload_size>(wanted.get<tirc::lro_max_ip_payload_size>());
        own.set<tirc::lro_timeout_period_usecs>(wanted.get<tirc::lro_timeout_period_usecs>());
    }
    if (hash) copy_hash(own, wanted);
    if (loopback) own.set<tirc::self_lb_block>(wanted.get<tirc::self_lb_block>());
    return accept();
}

Reply query_tir(CommandContext& context, ConstView<prm::query_tir_in> in,
                View<prm::query_tir_out> out) {
    const model::Tir* tir =
        context.function.resources().tirs.find(in.get<prm::query_tir_in::tirn>());
    if (tir == nullptr) return no_such_object();
    const auto answer = out.nested<prm::query_tir_out::tir_context>();
    std::copy(tir->context.begin(), tir->context.end(), answer.bytes().begin());
    return accept();
}

Reply destroy_tir(CommandContext& context, ConstView<prm::destroy_tir_in> in,
                  View<prm::destroy_tir_out>) {
    return destroy_object(context.function, context.function.resources().tirs,
                          in.get<prm::destroy_tir_in::tirn>());
}

}  // namespace

std::vector<CommandRow> tir_commands() {
    using prm::Opcode;
    return {
        command_row<&create_tir>(Opcode::CREATE_TIR, Cost::create_object),
        command_row<&modify_tir>(Opcode::MODIFY_TIR, Cost::modify_object),
        command_row<&query_tir>(Opcode::QUERY_TIR, Cost::query),
        command_row<&destroy_tir>(Opcode::DESTROY_TIR, Cost::destroy_object),
    };
}

}  // namespace cxsim::firmware_stub
