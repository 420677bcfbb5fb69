// SPDX-License-Identifier: Apache-2.0
// Transport interface send objects: priority, port affinity and transport domain of send queues.
#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using model::ObjectKind;
using prm::ConstView;
using prm::Status;
using prm::tisc;
using prm::View;

Reply check_affinity(FunctionState& function, std::uint32_t port, bool strict) {
    const auto ports = function.general<prm::cmd_hca_cap::num_lag_ports>();
    if (port > ports) {
        return refuse(Status::BAD_PARAM, syndrome::kTisLagAffinity,
                      "lag_tx_port_affinity beyond num_lag_ports");
    }
    if (strict && ports == 0) {
        return refuse(Status::BAD_PARAM, "strict port affinity without link aggregation");
    }
    return accept();
}

Reply check_context(FunctionState& function, ConstView<tisc> context) {
    const model::Resources& resources = function.resources();
    if (context.get<tisc::tls_en>() != 0 && function.general<prm::cmd_hca_cap::tls_tx>() == 0) {
        return refuse(Status::BAD_PARAM, "tls_en not supported");
    }
    const Reply affinity = check_affinity(function, context.get<tisc::lag_tx_port_affinity>(),
                                          context.get<tisc::strict_lag_tx_port_affinity>() != 0);
    if (!affinity.ok()) return affinity;
    if (resources.transport_domains.find(context.get<tisc::transport_domain>()) == nullptr) {
        return bad_reference("transport_domain not allocated");
    }
    const auto underlay = context.get<tisc::underlay_qpn>();
    if (underlay != 0 && resources.qps.find(underlay) == nullptr) {
        return bad_reference("underlay_qpn names no QP");
    }
    const auto pd = context.get<tisc::pd>();
    if (pd != 0 && resources.pds.find(pd) == nullptr) return bad_reference("pd not allocated");
    return accept();
}

Reply create_tis(CommandContext& context, ConstView<prm::create_tis_in> in,
                 View<prm::create_tis_out> out) {
    FunctionState& function = context.function;
    const auto wanted = in.nested<prm::create_tis_in::ctx>();
    const Reply check = check_context(function, wanted);
    if (!check.ok()) return check;
    model::Tis* tis = function.resources().tises.create();
    if (tis == nullptr) return table_full();
    std::copy_n(wanted.bytes().begin(), tis->context.size(), tis->context.begin());
    model::Resources& resources = function.resources();
    resources.hold(*tis, {ObjectKind::transport_domain, wanted.get<tisc::transport_domain>()});
    if (const auto qpn = wanted.get<tisc::underlay_qpn>(); qpn != 0) {
        resources.hold(*tis, {ObjectKind::qp, qpn});
    }
    if (const auto pd = wanted.get<tisc::pd>(); pd != 0) {
        resources.hold(*tis, {ObjectKind::pd, pd});
    }
    out.set<prm::create_tis_out::tisn>(tis->id.number);
    return accept();
}

Reply modify_tis(CommandContext& context, ConstView<prm::modify_tis_in> in,
                 View<prm::modify_tis_out>) {
    using In = prm::modify_tis_in;
    using Mask = prm::modify_tis_bitmask;
    FunctionState& function = context.function;
    model::Tis* tis = function.resources().tises.find(in.get<In::tisn>());
    if (tis == nullptr) return no_such_object();
    const auto wanted = in.nested<In::ctx>();
    const auto mask = in.nested<In::bitmask>();
    const auto own = tis->view();
    const bool port = mask.get<Mask::lag_tx_port_affinity>() != 0;
    const bool strict = mask.get<Mask::strict_lag_tx_port_affinity>() != 0;
    const Reply check =
        check_affinity(function, port ? wanted.get<tisc::lag_tx_port_affinity>() : 0,
                       strict && wanted.get<tisc::strict_lag_tx_port_affinity>() != 0);
    if (!check.ok()) return check;
    if (port) own.set<tisc::lag_tx_port_affinity>(wanted.get<tisc::lag_tx_port_affinity>());
    if (strict) {
        own.set<tisc::strict_lag_tx_port_affinity>(wanted.get<tisc::strict_lag_tx_port_affinity>());
    }
    if (mask.get<Mask::prio>() != 0) own.set<tisc::prio>(wanted.get<tisc::prio>());
    return accept();
}

Reply query_tis(CommandContext& context, ConstView<prm::query_tis_in> in,
                View<prm::query_tis_out> out) {
    const model::Tis* tis =
        context.function.resources().tises.find(in.get<prm::query_tis_in::tisn>());
    if (tis == nullptr) return no_such_object();
    const auto answer = out.nested<prm::query_tis_out::tis_context>();
    std::copy(tis->context.begin(), tis->context.end(), answer.bytes().begin());
    return accept();
}

Reply destroy_tis(CommandContext& context, ConstView<prm::destroy_tis_in> in,
                  View<prm::destroy_tis_out>) {
    return destroy_object(context.function, context.function.resources().tises,
                          in.get<prm::destroy_tis_in::tisn>());
}

}  // namespace

std::vector<CommandRow> tis_commands() {
    using prm::Opcode;
    return {
        command_row<&create_tis>(Opcode::CREATE_TIS, Cost::create_object),
        command_row<&modify_tis>(Opcode::MODIFY_TIS, Cost::modify_object),
        command_row<&query_tis>(Opcode::QUERY_TIS, Cost::query),
        command_row<&destroy_tis>(Opcode::DESTROY_TIS, Cost::destroy_object),
    };
}

}  // namespace cxsim::firmware_stub
