// SPDX-License-Identifier: Apache-2.0
// How queue pairs move between states. Each transition is a row: where it starts and ends, which
// fields of the given context it takes always and which when opt_param_mask asks for them, by
// service type. Fields that are neither are ignored, as the card does.
#include "firmware_stub/commands/capability.h"
#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"
#include "firmware_stub/commands/queue_pair.h"

#include <array>
#include <vector>

namespace cxsim::firmware_stub {
namespace {

using model::ObjectKind;
using model::QpState;
using prm::ads;
using prm::ConstView;
using prm::qpc;
using prm::Status;
using prm::View;

/// Fields that go together. The first 26 bits are those of opt_param_mask.
enum Parameter : std::uint64_t {
    kAlternatePath = 1U << 0,
    kRemoteRead = 1U << 1,
    kRemoteAtomic = 1U << 2,
    kRemoteWrite = 1U << 3,
    kPkeyIndex = 1U << 4,
    kQkey = 1U << 5,
    kRnrTimeout = 1U << 6,
    kPrimaryPath = 1U << 7,
    kInitiatorDepth = 1U << 8,  // log_sra_max
    kResponderDepth = 1U << 9,  // log_rra_max
    kMigrationState = 1U << 10,
    kRetryCount = 1U << 12,
    kRnrRetry = 1U << 13,
    kAckTimeout = 1U << 14,
    kLagAffinity = 1U << 15,
    kPort = 1U << 16,
    kSharedQueue = 1U << 18,
    kReceiveCq = 1U << 19,
    kCounterSet = 1U << 25,
    // Never optional
    kMtu = 1ULL << 32,  // with log_msg_max
    kRemoteQp = 1ULL << 33,
    kReceivePsn = 1ULL << 34,
    kSendPsn = 1ULL << 35,
    kAckRequests = 1ULL << 36,
    kDomain = 1ULL << 37,       // pd, for a QP that was created without
    kReservedKey = 1ULL << 38,  // rlky
};

constexpr std::uint64_t kAccess = kRemoteRead | kRemoteWrite | kRemoteAtomic;

struct Parameters {
    std::uint64_t required = 0;
    std::uint64_t optional = 0;
};

struct Transition {
    QpState from;
    QpState to;
    Parameters rc;  ///< XRC alike
    Parameters uc;
    Parameters ud;                     ///< QP1 alike
    Parameters other;                  ///< UMR, raw Ethernet
    std::uint32_t forbidden_syndrome;  ///< of an optional parameter that may not be given
};

constexpr std::uint64_t kFirst =
    kMigrationState | kPkeyIndex | kPort | kCounterSet | kDomain | kReservedKey;

constexpr Transition kResetToInit{QpState::reset,
                                  QpState::init,
                                  {kFirst | kAccess, 0},
                                  {kFirst | kRemoteWrite, 0},
                                  {kFirst | kQkey, 0},
                                  {kFirst, 0},
                                  0};

constexpr Transition kInitToInit{QpState::init,
                                 QpState::init,
                                 {0, kAccess | kPkeyIndex | kPort | kLagAffinity},
                                 {0, kRemoteWrite | kPkeyIndex | kPort | kLagAffinity},
                                 {0, kPkeyIndex | kQkey | kPort},
                                 {0, kPort},
                                 0};

constexpr std::uint64_t kConnect = kMtu | kPrimaryPath | kRemoteQp | kReceivePsn;

constexpr Transition kInitToRtr{
    QpState::init,
    QpState::rtr,
    {kConnect | kResponderDepth | kRnrTimeout,
     kAlternatePath | kAccess | kPkeyIndex | kLagAffinity},
    {kConnect, kAlternatePath | kRemoteWrite | kPkeyIndex | kLagAffinity},
    {kMtu, kPkeyIndex | kQkey},
    {kMtu, 0},
    0};

constexpr Transition kRtrToRts{
    QpState::rtr,
    QpState::rts,
    {kAckTimeout | kRetryCount | kRnrRetry | kInitiatorDepth | kSendPsn | kAckRequests,
     kAlternatePath | kAccess | kMigrationState | kRnrTimeout},
    {kSendPsn, kAlternatePath | kRemoteWrite | kMigrationState},
    {kSendPsn, kQkey},
    {0, 0},
    syndrome::kQpRtsParameter};

constexpr Transition kRtsToRts{
    QpState::rts,
    QpState::rts,
    {0, kAlternatePath | kAccess | kMigrationState | kRnrTimeout | kCounterSet},
    {0, kAlternatePath | kRemoteWrite | kMigrationState | kCounterSet},
    {0, kQkey | kSharedQueue | kReceiveCq | kCounterSet},
    {0, kCounterSet},
    0};

constexpr Transition kSendErrorToRts{QpState::sq_error,
                                     QpState::rts,
                                     {0, kAccess | kRnrTimeout},
                                     {0, kRemoteWrite},
                                     {0, kQkey},
                                     {0, 0},
                                     0};

constexpr Transition kDrainedToRts{QpState::sq_drained,
                                   QpState::rts,
                                   {0, kAccess | kRnrTimeout},
                                   {0, kRemoteWrite},
                                   {0, kQkey},
                                   {0, 0},
                                   0};

const Parameters& parameters(const Transition& transition, ServiceType type) {
    switch (type) {
        case ServiceType::rc:
        case ServiceType::xrc:
            return transition.rc;
        case ServiceType::uc:
            return transition.uc;
        case ServiceType::ud:
        case ServiceType::qp1:
            return transition.ud;
        default:
            return transition.other;
    }
}

Reply check_port(FunctionState& function, ServiceType type, ConstView<qpc> wanted) {
    const auto port = wanted.get<qpc::primary_address_path, ads::vhca_port_num>();
    if (port == 0 || port > function.general<prm::cmd_hca_cap::num_ports>()) {
        return refuse(Status::BAD_PARAM, syndrome::kQpPortNotValid, "no such port");
    }
    if (uses_roce(type) &&
        function.vport().context.view().get<prm::nic_vport_context::roce_en>() == 0) {
        return refuse(Status::BAD_PARAM, syndrome::kQpPortNotValid, "RoCE is disabled");
    }
    return accept();
}

Reply check_mtu(FunctionState& function, ConstView<qpc> wanted) {
    constexpr std::uint32_t kMtu256 = 1;
    constexpr std::uint32_t kMtu4096 = 5;
    const auto mtu = wanted.get<qpc::mtu>();
    if (mtu < kMtu256 || mtu > kMtu4096) {
        return refuse(Status::BAD_PARAM, "mtu is none of 256 to 4096 bytes");
    }
    if (wanted.get<qpc::log_msg_max>() > function.general<prm::cmd_hca_cap::log_max_msg>()) {
        return refuse(Status::BAD_PARAM, "log_msg_max above log_max_msg");
    }
    return accept();
}

Reply check_path(FunctionState& function, ConstView<ads> path) {
    const auto gids =
        capability<prm::roce_cap::roce_address_table_size>(function, prm::HcaCapType::ROCE);
    if (path.get<ads::src_addr_index>() >= std::max(gids, 1U)) {
        return refuse(Status::BAD_PARAM, "src_addr_index beyond the RoCE address table");
    }
    return accept();
}

// `taken`: what the transition will take of `wanted`.
Reply check_values(FunctionState& function, const model::Qp& qp, ConstView<qpc> wanted,
                   std::uint64_t taken) {
    using Cap = prm::cmd_hca_cap;
    const ServiceType type = service_type(qp.view());
    const auto takes = [taken](std::uint64_t group) { return (taken & group) != 0; };
    Reply reply;
    if (takes(kPort)) reply = check_port(function, type, wanted);
    if (reply.ok() && takes(kMtu)) reply = check_mtu(function, wanted);
    if (reply.ok() && takes(kPrimaryPath)) {
        reply = check_path(function, wanted.nested<qpc::primary_address_path>());
    }
    if (!reply.ok()) return reply;
    if (takes(kAlternatePath) && function.general<Cap::apm>() == 0) {
        return refuse(Status::BAD_PARAM, "path migration not supported");
    }
    if (takes(kPkeyIndex) && wanted.get<qpc::primary_address_path, ads::pkey_index>() >=
                                 (128U << function.general<Cap::pkey_table_size>())) {
        return refuse(Status::BAD_PARAM, "pkey_index beyond the table");
    }
    if (takes(kResponderDepth) &&
        wanted.get<qpc::log_rra_max>() > function.general<Cap::log_max_ra_res_qp>()) {
        return refuse(Status::BAD_PARAM, "log_rra_max above log_max_ra_res_qp");
    }
    if (takes(kInitiatorDepth) &&
        wanted.get<qpc::log_sra_max>() > function.general<Cap::log_max_ra_req_qp>()) {
        return refuse(Status::BAD_PARAM, syndrome::kQpRtsParameter,
                      "log_sra_max above log_max_ra_req_qp");
    }
    if (takes(kCounterSet) && qp.state == QpState::rts &&
        function.general<Cap::rts2rts_qp_counters_set_id>() == 0) {
        return refuse(Status::BAD_PARAM, "counter set cannot be changed in RTS");
    }
    if (takes(kSharedQueue) &&
        (static_cast<ReceiveType>(qp.view().get<qpc::rq_type>()) != ReceiveType::shared ||
         !find_shared_queue(function.resources(), wanted.get<qpc::srqn_rmpn_xrqn>()))) {
        return bad_reference("shared receive queue does not live, or the QP uses none");
    }
    if (takes(kReceiveCq) && function.resources().cqs.find(wanted.get<qpc::cqn_rcv>()) == nullptr) {
        return bad_reference("receive CQ does not live");
    }
    const auto pd = wanted.get<qpc::pd>();
    if (takes(kDomain) && qp.view().get<qpc::pd>() == 0 && pd != 0 &&
        function.resources().pds.find(pd) == nullptr) {
        return bad_reference("protection domain does not live");
    }
    return accept();
}

template <class... Fields>
void copy(View<qpc> to, ConstView<qpc> from) {
    (to.set<Fields>(from.get<Fields>()), ...);
}
template <class... Fields>
void copy_path(View<ads> to, ConstView<ads> from) {
    (to.set<Fields>(from.get<Fields>()), ...);
}

void take_references(model::Resources& resources, model::Qp& qp, ConstView<qpc> wanted,
                     std::uint64_t taken) {
    const auto to = qp.view();
    if ((taken & kDomain) != 0 && to.get<qpc::pd>() == 0 && wanted.get<qpc::pd>() != 0) {
        copy<qpc::pd>(to, wanted);
        resources.hold(qp, {ObjectKind::pd, wanted.get<qpc::pd>()});
    }
    if ((taken & kSharedQueue) != 0) {
        resources.release(qp, *find_shared_queue(resources, to.get<qpc::srqn_rmpn_xrqn>()));
        resources.hold(qp, *find_shared_queue(resources, wanted.get<qpc::srqn_rmpn_xrqn>()));
        copy<qpc::srqn_rmpn_xrqn>(to, wanted);
    }
    if ((taken & kReceiveCq) != 0) {
        if (qp.receive_cqn != 0) resources.release(qp, {ObjectKind::cq, qp.receive_cqn});
        qp.receive_cqn = wanted.get<qpc::cqn_rcv>();
        resources.hold(qp, {ObjectKind::cq, qp.receive_cqn});
        copy<qpc::cqn_rcv>(to, wanted);
    }
}

void take(model::Qp& qp, ConstView<qpc> wanted, std::uint64_t taken) {
    const auto to = qp.view();
    const auto takes = [taken](std::uint64_t group) { return (taken & group) != 0; };
    const auto path = to.nested<qpc::primary_address_path>();
    const auto wanted_path = wanted.nested<qpc::primary_address_path>();
    if (takes(kPrimaryPath)) {
        // Partition, port and timeout are parameters of their own.
        const auto pkey = path.get<ads::pkey_index>();
        const auto port = path.get<ads::vhca_port_num>();
        const auto timeout = path.get<ads::ack_timeout>();
        std::copy(wanted_path.bytes().begin(), wanted_path.bytes().end(), path.bytes().begin());
        path.set<ads::pkey_index>(pkey);
        path.set<ads::vhca_port_num>(port);
        path.set<ads::ack_timeout>(timeout);
    }
    if (takes(kAlternatePath)) {
        const auto from = wanted.nested<qpc::secondary_address_path>().bytes();
        std::copy(from.begin(), from.end(),
                  to.nested<qpc::secondary_address_path>().bytes().begin());
    }
    if (takes(kPkeyIndex)) copy_path<ads::pkey_index>(path, wanted_path);
    if (takes(kPort)) copy_path<ads::vhca_port_num>(path, wanted_path);
    if (takes(kAckTimeout)) copy_path<ads::ack_timeout>(path, wanted_path);
    if (takes(kRemoteRead)) copy<qpc::rre>(to, wanted);
    if (takes(kRemoteWrite)) copy<qpc::rwe>(to, wanted);
    if (takes(kRemoteAtomic)) copy<qpc::rae, qpc::atomic_mode>(to, wanted);
    if (takes(kQkey)) copy<qpc::q_key>(to, wanted);
    if (takes(kRnrTimeout)) copy<qpc::min_rnr_nak>(to, wanted);
    if (takes(kInitiatorDepth)) copy<qpc::log_sra_max>(to, wanted);
    if (takes(kResponderDepth)) copy<qpc::log_rra_max>(to, wanted);
    if (takes(kMigrationState)) copy<qpc::pm_state>(to, wanted);
    if (takes(kRetryCount)) copy<qpc::retry_count>(to, wanted);
    if (takes(kRnrRetry)) copy<qpc::rnr_retry>(to, wanted);
    if (takes(kLagAffinity)) copy<qpc::lag_tx_port_affinity>(to, wanted);
    if (takes(kMtu)) copy<qpc::mtu, qpc::log_msg_max>(to, wanted);
    if (takes(kRemoteQp)) copy<qpc::remote_qpn>(to, wanted);
    if (takes(kReceivePsn)) copy<qpc::next_rcv_psn>(to, wanted);
    if (takes(kAckRequests)) copy<qpc::log_ack_req_freq>(to, wanted);
    if (takes(kReservedKey)) {
        to.set<qpc::rlky>(to.get<qpc::rlky>() | wanted.get<qpc::rlky>());
    }
    if (takes(kSendPsn)) {
        copy<qpc::next_send_psn>(to, wanted);
        qp.next_send_psn = wanted.get<qpc::next_send_psn>();
    }
}

void enter(CommandContext& context, model::Qp& qp, QpState state) {
    const QpState old = qp.state;
    qp.state = state;
    qp.view().set<qpc::state>(state);
    context.function.queues().qp_state_changed(qp, old);
}

Reply modify(CommandContext& context, const Transition& transition, std::uint32_t number,
             std::uint32_t optional, ConstView<qpc> wanted) {
    FunctionState& function = context.function;
    model::Resources& resources = function.resources();
    model::Qp* qp = resources.qps.find(number);
    if (qp == nullptr) return no_such_object(syndrome::kQpNumberNotValid);
    if (qp->state != transition.from) {
        return refuse(Status::BAD_QP_STATE, "transition does not start in this state");
    }
    const ServiceType type = service_type(qp->view());
    // Drivers that change the counter set in RTS fill in nothing else, not even the type.
    if (transition.from != QpState::rts && service_type(wanted) != type) {
        return refuse(Status::BAD_PARAM, "service type is not the QP's");
    }
    const Parameters& known = parameters(transition, type);
    if ((optional & ~known.optional) != 0) {
        return refuse(Status::BAD_PARAM, transition.forbidden_syndrome,
                      "optional parameter not allowed in this transition");
    }
    const std::uint64_t taken = known.required | optional;
    const Reply check = check_values(function, *qp, wanted, taken);
    if (!check.ok()) return check;
    if ((taken & kCounterSet) != 0) {
        const Reply changed = change_counter_set(resources, *qp, wanted.get<qpc::counter_set_id>());
        if (!changed.ok()) return changed;
    }
    take_references(resources, *qp, wanted, taken);
    take(*qp, wanted, taken);
    enter(context, *qp, transition.to);
    return accept();
}

Reply check_ece(FunctionState& function, std::uint32_t options) {
    if (options != 0 && function.general<prm::cmd_hca_cap::ece_support>() == 0) {
        return refuse(Status::BAD_PARAM, "enhanced connection establishment not supported");
    }
    return accept();
}

template <const Transition& kTransition, class In, class Out>
Reply with_context(CommandContext& context, ConstView<In> in, View<Out>) {
    if constexpr (requires { typename In::ece; }) {
        const Reply check = check_ece(context.function, in.template get<typename In::ece>());
        if (!check.ok()) return check;
    }
    return modify(context, kTransition, in.template get<typename In::qpn>(),
                  in.template get<typename In::opt_param_mask>(),
                  in.template nested<typename In::qpc>());
}

Reply to_error(CommandContext& context, ConstView<prm::qp_2err_in> in, View<prm::qp_2err_out>) {
    model::Qp* qp = context.function.resources().qps.find(in.get<prm::qp_2err_in::qpn>());
    if (qp == nullptr) return no_such_object(syndrome::kQpNumberNotValid);
    enter(context, *qp, QpState::error);
    return accept();
}

// What the driver set by transitions is gone; what it created the QP with stays.
Reply to_reset(CommandContext& context, ConstView<prm::qp_2rst_in> in, View<prm::qp_2rst_out>) {
    model::Resources& resources = context.function.resources();
    model::Qp* qp = resources.qps.find(in.get<prm::qp_2rst_in::qpn>());
    if (qp == nullptr) return no_such_object(syndrome::kQpNumberNotValid);
    const Reply released = change_counter_set(resources, *qp, 0);
    if (!released.ok()) return released;
    enter(context, *qp, QpState::reset);
    return accept();
}

}  // namespace

std::vector<CommandRow> queue_pair_transition_commands() {
    using prm::Opcode;
    return {
        command_row<&with_context<kResetToInit, prm::rst2init_qp_in, prm::rst2init_qp_out>>(
            Opcode::RST2INIT_QP, Cost::modify_object),
        command_row<&with_context<kInitToInit, prm::init2init_qp_in, prm::init2init_qp_out>>(
            Opcode::INIT2INIT_QP, Cost::modify_object),
        command_row<&with_context<kInitToRtr, prm::init2rtr_qp_in, prm::init2rtr_qp_out>>(
            Opcode::INIT2RTR_QP, Cost::modify_object),
        command_row<&with_context<kRtrToRts, prm::rtr2rts_qp_in, prm::rtr2rts_qp_out>>(
            Opcode::RTR2RTS_QP, Cost::modify_object),
        command_row<&with_context<kRtsToRts, prm::rts2rts_qp_in, prm::rts2rts_qp_out>>(
            Opcode::RTS2RTS_QP, Cost::modify_object),
        command_row<&with_context<kSendErrorToRts, prm::sqerr2rts_qp_in, prm::sqerr2rts_qp_out>>(
            Opcode::SQERR2RTS_QP, Cost::modify_object),
        command_row<&with_context<kDrainedToRts, prm::sqd2rts_qp_in, prm::sqd2rts_qp_out>>(
            Opcode::SQD_RTS_QP, Cost::modify_object),
        command_row<&to_error>(Opcode::_2ERR_QP, Cost::modify_object),
        command_row<&to_reset>(Opcode::_2RST_QP, Cost::modify_object),
    };
}

}  // namespace cxsim::firmware_stub
