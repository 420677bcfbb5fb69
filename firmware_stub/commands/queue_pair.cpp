// SPDX-License-Identifier: Apache-2.0
// Queue pairs: creation with their rings in host memory, query and destruction. How a QP moves from
// state to state is in queue_pair_transitions.cpp.
#include "firmware_stub/commands/queue_pair.h"

#include "firmware_stub/commands/capability.h"
#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

#include <algorithm>
#include <array>
#include <vector>

namespace cxsim::firmware_stub {

using model::ObjectId;
using model::ObjectKind;
using prm::ConstView;
using prm::qpc;
using prm::Status;
using prm::View;

std::optional<ObjectId> find_shared_queue(const model::Resources& resources, std::uint32_t number) {
    if (resources.srqs.find(number) != nullptr) return ObjectId{ObjectKind::srq, number};
    if (resources.xrc_srqs.find(number) != nullptr) return ObjectId{ObjectKind::xrc_srq, number};
    if (resources.rmps.find(number) != nullptr) return ObjectId{ObjectKind::rmp, number};
    return std::nullopt;
}

Reply change_counter_set(model::Resources& resources, model::Qp& qp, std::uint32_t number) {
    if (number != 0 && resources.q_counters.find(number) == nullptr) {
        return bad_reference("counter set not allocated");
    }
    const auto view = qp.view();
    const auto before = view.get<qpc::counter_set_id>();
    if (before == number) return accept();
    if (before != 0) resources.release(qp, {ObjectKind::q_counter, before});
    if (number != 0) resources.hold(qp, {ObjectKind::q_counter, number});
    view.set<qpc::counter_set_id>(number);
    return accept();
}

namespace {

constexpr std::uint32_t kLogSendStride = 6;   // send WQEs are counted in 64-byte blocks
constexpr std::uint32_t kLogReceiveUnit = 4;  // log_rq_stride is relative to 16 bytes

Reply check_service(FunctionState& function, ServiceType type) {
    using Cap = prm::cmd_hca_cap;
    bool offered = false;
    switch (type) {
        case ServiceType::rc:
            offered = function.general<Cap::rc>() != 0;
            break;
        case ServiceType::uc:
            offered = function.general<Cap::uc>() != 0;
            break;
        case ServiceType::ud:
            offered = function.general<Cap::ud>() != 0;
            break;
        case ServiceType::xrc:
            offered = function.general<Cap::xrc>() != 0;
            break;
        case ServiceType::dci:
            offered = function.general<Cap::dct>() != 0;
            break;
        case ServiceType::qp1:
        case ServiceType::reg_umr:
        case ServiceType::raw_ethertype:
            offered = true;
            break;
        case ServiceType::qp0:
            return refuse(Status::BAD_PARAM, "QP0 does not exist on an Ethernet port");
        default:
            return refuse(Status::BAD_PARAM, "service type not defined");
    }
    if (!offered) return refuse(Status::BAD_PARAM, "service type not supported");
    return accept();
}

Reply check_options(FunctionState& function, ConstView<qpc> context) {
    using Cap = prm::cmd_hca_cap;
    if (context.get<qpc::wq_signature>() != 0 && function.general<Cap::wq_signature>() == 0) {
        return refuse(Status::BAD_PARAM, "WQE signatures not supported");
    }
    if ((context.get<qpc::cs_req>() != 0 || context.get<qpc::cs_res>() != 0) &&
        function.general<Cap::sctr_data_cqe>() == 0) {
        return refuse(Status::BAD_PARAM, "scatter to CQE not supported");
    }
    // mlx5_ib's MLX5_RES_SCAT_DATA32_CQE and the like.
    constexpr std::array<std::uint32_t, 3> kResponder{0, 0x1, 0x2};
    constexpr std::array<std::uint32_t, 3> kRequester{0, 0x11, 0x22};
    if (std::ranges::find(kResponder, context.get<qpc::cs_res>()) == kResponder.end() ||
        std::ranges::find(kRequester, context.get<qpc::cs_req>()) == kRequester.end()) {
        return refuse(Status::BAD_PARAM, "form of scatter to CQE not defined");
    }
    const bool cross_channel = context.get<qpc::cd_master>() != 0 ||
                               context.get<qpc::cd_slave_send>() != 0 ||
                               context.get<qpc::cd_slave_receive>() != 0;
    if (cross_channel && function.general<Cap::cd>() == 0) {
        return refuse(Status::BAD_PARAM, "cross-channel not supported");
    }
    if (context.get<qpc::block_lb_mc>() != 0 && function.general<Cap::block_lb_mc>() == 0) {
        return refuse(Status::BAD_PARAM, "blocking multicast loop back not supported");
    }
    if (context.get<qpc::offload_type>() != 0) {
        return refuse(Status::BAD_PARAM, "no offloads for tag matching");
    }
    if (context.get<qpc::dbr_umem_valid>() != 0) {
        return refuse(Status::BAD_PARAM, "no user memory objects");
    }
    // 0 free running, 1 the card's default, 2 real time.
    const bool other_formats =
        capability<prm::roce_cap::qp_ts_format>(function, prm::HcaCapType::ROCE) != 0;
    if (context.get<qpc::ts_format>() > (other_formats ? 2U : 1U)) {
        return refuse(Status::BAD_PARAM, "time stamp format not supported");
    }
    return check_doorbell_record(context.get<qpc::dbr_addr>());
}

Reply check_sizes(FunctionState& function, ConstView<qpc> context) {
    const auto limit = function.general<prm::cmd_hca_cap::log_max_qp_sz>();
    if (context.get<qpc::no_sq>() == 0 && context.get<qpc::log_sq_size>() > limit) {
        return refuse(Status::BAD_PARAM, "log_sq_size above log_max_qp_sz");
    }
    const auto type = static_cast<ReceiveType>(context.get<qpc::rq_type>());
    if (type != ReceiveType::regular && type != ReceiveType::shared && type != ReceiveType::none) {
        return refuse(Status::BAD_PARAM, "rq_type not supported");
    }
    if (type == ReceiveType::regular && context.get<qpc::log_rq_size>() > limit) {
        return refuse(Status::BAD_PARAM, "log_rq_size above log_max_qp_sz");
    }
    return accept();
}

/// What the QP will hold on to.
struct References {
    std::vector<ObjectId> objects;
    Reply add(const model::Resources& resources, ObjectId id, std::string_view reason) {
        if (resources.find(id) == nullptr) return bad_reference(reason);
        objects.push_back(id);
        return accept();
    }
};

Reply collect(const model::Resources& resources, ConstView<qpc> context, References& used) {
    const ServiceType type = service_type(context);
    const auto receive = static_cast<ReceiveType>(context.get<qpc::rq_type>());
    const bool sends = context.get<qpc::no_sq>() == 0;
    Reply reply;
    // The driver gives its UMR QP a protection domain with RST2INIT only.
    const auto pd = context.get<qpc::pd>();
    if (type != ServiceType::reg_umr || pd != 0) {
        reply = used.add(resources, {ObjectKind::pd, pd}, "protection domain does not live");
        if (!reply.ok()) return reply;
    }
    const auto send_cq = context.get<qpc::cqn_snd>();
    if (sends || send_cq != 0) {
        reply = used.add(resources, {ObjectKind::cq, send_cq}, "send CQ does not live");
        if (!reply.ok()) return reply;
    }
    const auto receive_cq = context.get<qpc::cqn_rcv>();
    if (receive != ReceiveType::none || receive_cq != 0) {
        reply = used.add(resources, {ObjectKind::cq, receive_cq}, "receive CQ does not live");
        if (!reply.ok()) return reply;
    }
    if (sends) {
        reply = used.add(resources, {ObjectKind::uar, context.get<qpc::uar_page>()},
                         "uar_page not allocated");
        if (!reply.ok()) return reply;
    }
    if (type == ServiceType::xrc) {
        reply = used.add(resources, {ObjectKind::xrcd, context.get<qpc::xrcd>()},
                         "XRC domain does not live");
        if (!reply.ok()) return reply;
    }
    if (receive == ReceiveType::shared) {
        const auto queue = find_shared_queue(resources, context.get<qpc::srqn_rmpn_xrqn>());
        if (!queue) return bad_reference("shared receive queue does not live");
        used.objects.push_back(*queue);
    }
    return accept();
}

// The receive queue stands first in the buffer, the send queue behind it.
Reply make_rings(ConstView<qpc> context, std::span<const std::byte> pages, model::Qp& qp) {
    const auto receive = static_cast<ReceiveType>(context.get<qpc::rq_type>());
    const std::uint32_t log_receive_stride = context.get<qpc::log_rq_stride>() + kLogReceiveUnit;
    std::uint64_t receive_bytes = 0;
    if (receive == ReceiveType::regular) {
        receive_bytes = std::uint64_t{1} << (context.get<qpc::log_rq_size>() + log_receive_stride);
    }
    std::uint64_t send_bytes = 0;
    if (context.get<qpc::no_sq>() == 0) {
        send_bytes = std::uint64_t{1} << (context.get<qpc::log_sq_size>() + kLogSendStride);
    }
    if (receive_bytes + send_bytes == 0) return accept();
    const auto log_page_size = context.get<qpc::log_page_size>();
    model::HostRing whole;
    const Reply made = make_ring(
        {receive_bytes + send_bytes, log_page_size, context.get<qpc::page_offset>()}, pages, whole);
    if (!made.ok()) return made;
    const std::uint64_t start = whole.pages().size() << (12 + log_page_size);
    const std::uint64_t offset = start - whole.capacity();
    if (receive_bytes != 0) {
        qp.rq.ring = whole;
        qp.rq.log_size = context.get<qpc::log_rq_size>();
        qp.rq.log_stride = log_receive_stride;
    }
    if (send_bytes != 0) {
        qp.sq.ring = model::HostRing(whole.pages(), log_page_size, offset + receive_bytes);
        qp.sq.log_size = context.get<qpc::log_sq_size>();
        qp.sq.log_stride = kLogSendStride;
        qp.sq.uar_page = context.get<qpc::uar_page>();
    }
    return accept();
}

Reply create_qp(CommandContext& context, ConstView<prm::create_qp_in> in,
                View<prm::create_qp_out> out) {
    using In = prm::create_qp_in;
    FunctionState& function = context.function;
    model::Resources& resources = function.resources();
    const auto wanted = in.nested<In::qpc>();
    if (in.get<In::qpc_ext>() != 0 || in.get<In::wq_umem_valid>() != 0) {
        return refuse(Status::BAD_PARAM, "no context extension, no user memory objects");
    }
    if (in.get<In::input_qpn>() != 0) {
        return refuse(Status::BAD_PARAM, "QP numbers are given by the device");
    }
    if (in.get<In::ece>() != 0 && function.general<prm::cmd_hca_cap::ece_support>() == 0) {
        return refuse(Status::BAD_PARAM, "enhanced connection establishment not supported");
    }
    Reply check = check_service(function, service_type(wanted));
    if (check.ok()) check = check_options(function, wanted);
    if (check.ok()) check = check_sizes(function, wanted);
    References used;
    if (check.ok()) check = collect(resources, wanted, used);
    if (!check.ok()) return check;

    model::Qp* qp = resources.qps.create();
    if (qp == nullptr) {
        return refuse(Status::BAD_RES, syndrome::kQpTableFull, "all QPs are in use");
    }
    const Reply made = make_rings(wanted, in.tail<In::pas>(), *qp);
    if (!made.ok()) {
        resources.destroy(qp->id);
        return made;
    }
    keep_context(*qp, wanted);
    qp->uid = static_cast<std::uint16_t>(in.get<In::uid>());
    const auto view = qp->view();
    view.set<qpc::state>(model::QpState::reset);
    view.set<qpc::counter_set_id>(0U);  // comes with RST2INIT
    qp->send_cqn = wanted.get<qpc::cqn_snd>();
    qp->receive_cqn = wanted.get<qpc::cqn_rcv>();
    qp->sq.doorbell_record = {wanted.get<qpc::dbr_addr>()};
    qp->rq.doorbell_record = qp->sq.doorbell_record;
    for (const ObjectId id : used.objects) resources.hold(*qp, id);
    context.function.queues().context_written(qp->id);
    out.set<prm::create_qp_out::qpn>(qp->id.number);
    return accept();
}

Reply query_qp(CommandContext& context, ConstView<prm::query_qp_in> in,
               View<prm::query_qp_out> out) {
    using In = prm::query_qp_in;
    using Out = prm::query_qp_out;
    if (in.get<In::qpc_ext>() != 0) return refuse(Status::BAD_PARAM, "no context extension");
    model::Qp* qp = context.function.resources().qps.find(in.get<In::qpn>());
    if (qp == nullptr) return no_such_object();
    context.function.queues().refresh(*qp);
    const auto shown = out.nested<Out::qpc>();
    show_context(*qp, shown);
    shown.set<qpc::state>(qp->state);
    const model::HostRing& ring = qp->rq.ring.pages().empty() ? qp->sq.ring : qp->rq.ring;
    show_pages(ring, out.tail<Out::pas>());
    return accept();
}

Reply destroy_qp(CommandContext& context, ConstView<prm::destroy_qp_in> in,
                 View<prm::destroy_qp_out>) {
    FunctionState& function = context.function;
    const auto number = in.get<prm::destroy_qp_in::qpn>();
    for (const auto& [gid, members] : function.multicast_groups) {
        if (std::find(members.begin(), members.end(), number) != members.end()) {
            return still_in_use();
        }
    }
    return destroy_object(function, function.resources().qps, number, syndrome::kDestroyQpUnknown);
}

}  // namespace

std::vector<CommandRow> queue_pair_commands() {
    using prm::Opcode;
    return {
        command_row<&create_qp>(Opcode::CREATE_QP, Cost::create_object),
        command_row<&query_qp>(Opcode::QUERY_QP, Cost::query),
        command_row<&destroy_qp>(Opcode::DESTROY_QP, Cost::destroy_object),
    };
}

}  // namespace cxsim::firmware_stub
