// SPDX-License-Identifier: Apache-2.0
// Shared receive queues in their three forms: SRQ (interface revision 0), XRC SRQ and receive
// memory pool (RMP, what an ordinary SRQ is since revision 1). Each has a ring of linked WQEs and
// a limit below which an armed queue reports.
#include <vector>

#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

namespace cxsim::firmware_stub {
namespace {

using model::ObjectKind;
using prm::ConstView;
using prm::Status;
using prm::View;

constexpr std::uint32_t kLogWqeUnit = 4;  // strides are relative to 16 bytes
constexpr std::uint32_t kStateGood = 0;

/// What the three contexts have in common.
struct QueueRequest {
    std::uint32_t log_size = 0;
    std::uint32_t log_stride = 0;  ///< bytes
    std::uint32_t log_page_size = 0;
    std::uint32_t page_offset = 0;
    std::uint32_t limit = 0;
    std::uint64_t doorbell_record = 0;
    std::uint32_t pd = 0;
    bool signature = false;
};

Reply check_request(FunctionState& function, const QueueRequest& request, std::uint32_t max_size) {
    if (request.log_size > max_size) {
        return refuse(Status::BAD_PARAM, "queue larger than the card's maximum");
    }
    if (request.signature && function.general<prm::cmd_hca_cap::wq_signature>() == 0) {
        return refuse(Status::BAD_PARAM, "WQE signatures not supported");
    }
    if (request.limit > std::uint64_t{1} << request.log_size) {
        return refuse(Status::BAD_PARAM, "limit above the queue's size");
    }
    if (function.resources().pds.find(request.pd) == nullptr) {
        return bad_reference("protection domain does not live");
    }
    return check_doorbell_record(request.doorbell_record);
}

Reply make_queue(const QueueRequest& request, std::span<const std::byte> pages,
                 model::WorkQueue& queue) {
    const Reply made =
        make_ring({std::uint64_t{1} << (request.log_size + request.log_stride),
                   request.log_page_size, request.page_offset},
                  pages, queue.ring);
    if (!made.ok()) return made;
    queue.log_size = request.log_size;
    queue.log_stride = request.log_stride;
    queue.doorbell_record = {request.doorbell_record};
    return accept();
}

Reply create_srq(CommandContext& context, ConstView<prm::create_srq_in> in,
                 View<prm::create_srq_out> out) {
    using In = prm::create_srq_in;
    using prm::srqc;
    FunctionState& function = context.function;
    const auto wanted = in.nested<In::srq_context_entry>();
    const QueueRequest request{wanted.get<srqc::log_srq_size>(),
                               wanted.get<srqc::log_rq_stride>() + kLogWqeUnit,
                               wanted.get<srqc::log_page_size>(),
                               wanted.get<srqc::page_offset>(),
                               wanted.get<srqc::lwm>(),
                               wanted.get<srqc::dbr_addr>(),
                               wanted.get<srqc::pd>(),
                               wanted.get<srqc::wq_signature>() != 0};
    const Reply check = check_request(function, request,
                                      function.general<prm::cmd_hca_cap::log_max_srq_sz>());
    if (!check.ok()) return check;
    model::WorkQueue queue;
    const Reply made = make_queue(request, in.tail<In::pas>(), queue);
    if (!made.ok()) return made;
    model::Srq* srq = function.resources().srqs.create();
    if (srq == nullptr) return table_full();
    keep_context(*srq, wanted);
    srq->view().set<srqc::state>(kStateGood);
    srq->wq = std::move(queue);
    srq->limit_watermark = request.limit;
    srq->uid = static_cast<std::uint16_t>(in.get<In::uid>());
    function.resources().hold(*srq, {ObjectKind::pd, request.pd});
    out.set<prm::create_srq_out::srqn>(srq->id.number);
    return accept();
}

Reply query_srq(CommandContext& context, ConstView<prm::query_srq_in> in,
                View<prm::query_srq_out> out) {
    const model::Srq* srq =
        context.function.resources().srqs.find(in.get<prm::query_srq_in::srqn>());
    if (srq == nullptr) return no_such_object();
    show_context(*srq, out.nested<prm::query_srq_out::srq_context_entry>());
    show_pages(srq->wq.ring, out.tail<prm::query_srq_out::pas>());
    return accept();
}

Reply destroy_srq(CommandContext& context, ConstView<prm::destroy_srq_in> in,
                  View<prm::destroy_srq_out>) {
    return destroy_object(context.function, context.function.resources().srqs,
                          in.get<prm::destroy_srq_in::srqn>());
}

// An armed queue that is below its limit already reports at once (IBTA volume 1, section 10.2.9).
template <class LimitField, class Queue>
Reply arm(FunctionState& function, Queue* queue, std::uint32_t limit) {
    if (queue == nullptr) return no_such_object();
    if (limit > queue->wq.entries()) {
        return refuse(Status::BAD_PARAM, "limit above the queue's size");
    }
    queue->limit_watermark = limit;
    queue->view().template set<LimitField>(limit);
    function.queues().limit_armed(queue->id);
    return accept();
}

Reply arm_rq(CommandContext& context, ConstView<prm::arm_rq_in> in, View<prm::arm_rq_out>) {
    using In = prm::arm_rq_in;
    FunctionState& function = context.function;
    return arm<prm::srqc::lwm>(
        function, function.resources().srqs.find(in.get<In::srq_number>()), in.get<In::lwm>());
}

Reply create_xrc_srq(CommandContext& context, ConstView<prm::create_xrc_srq_in> in,
                     View<prm::create_xrc_srq_out> out) {
    using In = prm::create_xrc_srq_in;
    using prm::xrc_srqc;
    FunctionState& function = context.function;
    model::Resources& resources = function.resources();
    const auto wanted = in.nested<In::xrc_srq_context_entry>();
    if (function.general<prm::cmd_hca_cap::xrc>() == 0) {
        return refuse(Status::BAD_PARAM, "XRC not supported");
    }
    if (in.get<In::xrc_srq_umem_valid>() != 0 || wanted.get<xrc_srqc::dbr_umem_valid>() != 0) {
        return refuse(Status::BAD_PARAM, "no user memory objects");
    }
    const QueueRequest request{
        wanted.get<xrc_srqc::log_xrc_srq_size>(),
        wanted.get<xrc_srqc::log_rq_stride>() + kLogWqeUnit,
        wanted.get<xrc_srqc::log_page_size>(),
        wanted.get<xrc_srqc::page_offset>(),
        wanted.get<xrc_srqc::lwm>(),
        std::uint64_t{wanted.get<xrc_srqc::db_record_addr_h>()} << 32 |
            std::uint64_t{wanted.get<xrc_srqc::db_record_addr_l>()} << 2,
        wanted.get<xrc_srqc::pd>(),
        wanted.get<xrc_srqc::wq_signature>() != 0};
    const Reply check = check_request(function, request,
                                      function.general<prm::cmd_hca_cap::log_max_srq_sz>());
    if (!check.ok()) return check;
    const auto cqn = wanted.get<xrc_srqc::cqn>();
    if (resources.cqs.find(cqn) == nullptr) return bad_reference("completion queue does not live");
    const auto xrcd = wanted.get<xrc_srqc::xrcd>();
    if (resources.xrcds.find(xrcd) == nullptr) return bad_reference("XRC domain does not live");
    model::WorkQueue queue;
    const Reply made = make_queue(request, in.tail<In::pas>(), queue);
    if (!made.ok()) return made;
    model::XrcSrq* srq = resources.xrc_srqs.create();
    if (srq == nullptr) return table_full();
    keep_context(*srq, wanted);
    srq->view().set<xrc_srqc::state>(kStateGood);
    srq->wq = std::move(queue);
    srq->limit_watermark = request.limit;
    srq->uid = static_cast<std::uint16_t>(in.get<In::uid>());
    resources.hold(*srq, {ObjectKind::pd, request.pd});
    resources.hold(*srq, {ObjectKind::cq, cqn});
    resources.hold(*srq, {ObjectKind::xrcd, xrcd});
    out.set<prm::create_xrc_srq_out::xrc_srqn>(srq->id.number);
    return accept();
}

Reply query_xrc_srq(CommandContext& context, ConstView<prm::query_xrc_srq_in> in,
                    View<prm::query_xrc_srq_out> out) {
    using Out = prm::query_xrc_srq_out;
    const model::XrcSrq* srq =
        context.function.resources().xrc_srqs.find(in.get<prm::query_xrc_srq_in::xrc_srqn>());
    if (srq == nullptr) return no_such_object();
    show_context(*srq, out.nested<Out::xrc_srq_context_entry>());
    show_pages(srq->wq.ring, out.tail<Out::pas>());
    return accept();
}

Reply destroy_xrc_srq(CommandContext& context, ConstView<prm::destroy_xrc_srq_in> in,
                      View<prm::destroy_xrc_srq_out>) {
    return destroy_object(context.function, context.function.resources().xrc_srqs,
                          in.get<prm::destroy_xrc_srq_in::xrc_srqn>());
}

Reply arm_xrc_srq(CommandContext& context, ConstView<prm::arm_xrc_srq_in> in,
                  View<prm::arm_xrc_srq_out>) {
    using In = prm::arm_xrc_srq_in;
    FunctionState& function = context.function;
    return arm<prm::xrc_srqc::lwm>(
        function, function.resources().xrc_srqs.find(in.get<In::xrc_srqn>()), in.get<In::lwm>());
}

// States of an RMP in its context and in MODIFY_RMP.
enum RmpState : std::uint32_t { kRmpReset = 0, kRmpReady = 1, kRmpError = 3 };

model::QueueState queue_state(std::uint32_t state) {
    switch (state) {
        case kRmpReady: return model::QueueState::ready;
        case kRmpError: return model::QueueState::error;
        default: return model::QueueState::reset;
    }
}

Reply create_rmp(CommandContext& context, ConstView<prm::create_rmp_in> in,
                 View<prm::create_rmp_out> out) {
    using In = prm::create_rmp_in;
    using prm::rmpc;
    using prm::wq;
    constexpr std::uint32_t kLinkedList = 0;
    constexpr std::uint32_t kCyclic = 1;
    using Cap = prm::cmd_hca_cap;
    FunctionState& function = context.function;
    const auto wanted = in.nested<In::ctx>();
    const auto queue_context = wanted.nested<rmpc::wq>();
    const auto state = wanted.get<rmpc::state>();
    if (state != kRmpReset && state != kRmpReady) {
        return refuse(Status::BAD_PARAM, "an RMP starts in reset or ready");
    }
    const auto type = queue_context.get<wq::wq_type>();
    const bool cyclic = type == kCyclic && function.general<Cap::basic_cyclic_rcv_wqe>() != 0;
    if (type != kLinkedList && !cyclic) return refuse(Status::BAD_PARAM, "wq_type not supported");
    if (queue_context.get<wq::dbr_umem_valid>() != 0 ||
        queue_context.get<wq::wq_umem_valid>() != 0) {
        return refuse(Status::BAD_PARAM, "no user memory objects");
    }
    const QueueRequest request{queue_context.get<wq::log_wq_sz>(),
                               queue_context.get<wq::log_wq_stride>(),
                               queue_context.get<wq::log_wq_pg_sz>(),
                               queue_context.get<wq::page_offset>(),
                               queue_context.get<wq::lwm>(),
                               queue_context.get<wq::dbr_addr>(),
                               queue_context.get<wq::pd>(),
                               queue_context.get<wq::wq_signature>() != 0};
    if (request.log_stride < kLogWqeUnit) {
        return refuse(Status::BAD_PARAM, "stride shorter than a data segment");
    }
    const Reply check = check_request(function, request, function.general<Cap::log_max_wq_sz>());
    if (!check.ok()) return check;
    model::WorkQueue queue;
    const Reply made = make_queue(request, queue_context.tail<wq::pas>(), queue);
    if (!made.ok()) return made;
    model::Rmp* rmp = function.resources().rmps.create();
    if (rmp == nullptr) return table_full();
    keep_context(*rmp, wanted);
    rmp->wq = std::move(queue);
    rmp->state = queue_state(state);
    rmp->uid = static_cast<std::uint16_t>(in.get<In::uid>());
    function.resources().hold(*rmp, {ObjectKind::pd, request.pd});
    out.set<prm::create_rmp_out::rmpn>(rmp->id.number);
    return accept();
}

Reply modify_rmp(CommandContext& context, ConstView<prm::modify_rmp_in> in,
                 View<prm::modify_rmp_out>) {
    using In = prm::modify_rmp_in;
    using prm::rmpc;
    model::Rmp* rmp = context.function.resources().rmps.find(in.get<In::rmpn>());
    if (rmp == nullptr) return no_such_object();
    const auto view = rmp->view();
    const auto from = in.get<In::rmp_state>();
    const auto to = in.get<In::ctx, rmpc::state>();
    if (from != view.get<rmpc::state>()) {
        return refuse(Status::BAD_RES_STATE, "rmp_state is not the RMP's state");
    }
    const bool legal = to == from || to == kRmpError || (from == kRmpReset && to == kRmpReady) ||
                       (from == kRmpError && to == kRmpReset);
    if (!legal) return refuse(Status::BAD_PARAM, "no transition between these states");
    const bool sets_limit = in.get<In::bitmask, prm::rmp_bitmask::lwm>() != 0;
    const auto limit = in.get<In::ctx, rmpc::wq, prm::wq::lwm>();
    if (sets_limit && limit > rmp->wq.entries()) {
        return refuse(Status::BAD_PARAM, "limit above the queue's size");
    }
    if (sets_limit) view.set<rmpc::wq, prm::wq::lwm>(limit);
    view.set<rmpc::state>(to);
    rmp->state = queue_state(to);
    if (sets_limit) context.function.queues().limit_armed(rmp->id);
    return accept();
}

Reply query_rmp(CommandContext& context, ConstView<prm::query_rmp_in> in,
                View<prm::query_rmp_out> out) {
    const model::Rmp* rmp =
        context.function.resources().rmps.find(in.get<prm::query_rmp_in::rmpn>());
    if (rmp == nullptr) return no_such_object();
    const auto shown = out.nested<prm::query_rmp_out::rmp_context>();
    show_context(*rmp, shown);
    show_pages(rmp->wq.ring, shown.nested<prm::rmpc::wq>().tail<prm::wq::pas>());
    return accept();
}

Reply destroy_rmp(CommandContext& context, ConstView<prm::destroy_rmp_in> in,
                  View<prm::destroy_rmp_out>) {
    return destroy_object(context.function, context.function.resources().rmps,
                          in.get<prm::destroy_rmp_in::rmpn>());
}

}  // namespace

std::vector<CommandRow> shared_receive_queue_commands() {
    using prm::Opcode;
    constexpr std::uint32_t kOnlyShared = 0b10;  // op_mod 1: an SRQ; RQs and XRQs have no limit here
    return {
        command_row<&create_srq>(Opcode::CREATE_SRQ, Cost::create_object),
        command_row<&query_srq>(Opcode::QUERY_SRQ, Cost::query),
        command_row<&destroy_srq>(Opcode::DESTROY_SRQ, Cost::destroy_object),
        command_row<&arm_rq>(Opcode::ARM_RQ, Cost::modify_object).with_op_mods(kOnlyShared),
        command_row<&create_xrc_srq>(Opcode::CREATE_XRC_SRQ, Cost::create_object),
        command_row<&query_xrc_srq>(Opcode::QUERY_XRC_SRQ, Cost::query),
        command_row<&destroy_xrc_srq>(Opcode::DESTROY_XRC_SRQ, Cost::destroy_object),
        command_row<&arm_xrc_srq>(Opcode::ARM_XRC_SRQ, Cost::modify_object)
            .with_op_mods(kOnlyShared),
        command_row<&create_rmp>(Opcode::CREATE_RMP, Cost::create_object),
        command_row<&modify_rmp>(Opcode::MODIFY_RMP, Cost::modify_object),
        command_row<&query_rmp>(Opcode::QUERY_RMP, Cost::query),
        command_row<&destroy_rmp>(Opcode::DESTROY_RMP, Cost::destroy_object),
    };
}

}  // namespace cxsim::firmware_stub
