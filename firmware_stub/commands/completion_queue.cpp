// SPDX-License-Identifier: Apache-2.0
// Completion queues: rings of CQEs with a doorbell record, the event queue that reports them, and
// moderation. Resizing switches to another ring; the driver copies what it has not consumed.
#include <vector>

#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

namespace cxsim::firmware_stub {
namespace {

using model::ObjectKind;
using prm::ConstView;
using prm::cqc;
using prm::Status;
using prm::View;

constexpr std::uint32_t kStatusOverflow = 0x9;
// Values of cqc.cqe_sz.
enum CqeSize : std::uint32_t { kCqe64 = 0, kCqe128 = 1, kCqe128Padded = 2 };
// Values of cqc.cq_period_mode.
constexpr std::uint32_t kPeriodFromEqe = 0;
constexpr std::uint32_t kPeriodFromCqe = 1;

Reply check_size(FunctionState& function, ConstView<cqc> context) {
    using Cap = prm::cmd_hca_cap;
    if (context.get<cqc::log_cq_size>() > function.general<Cap::log_max_cq_sz>()) {
        return refuse(Status::BAD_PARAM, "log_cq_size above log_max_cq_sz");
    }
    const auto size = context.get<cqc::cqe_sz>();
    if (size > kCqe128Padded) return refuse(Status::BAD_PARAM, "cqe_sz not defined");
    if (size == kCqe128Padded && function.general<Cap::cqe_128_always>() == 0) {
        return refuse(Status::BAD_PARAM, "padded CQEs not supported");
    }
    return accept();
}

Reply check_period_mode(FunctionState& function, std::uint32_t mode) {
    if (mode == kPeriodFromEqe) return accept();
    if (mode == kPeriodFromCqe &&
        function.general<prm::cmd_hca_cap::cq_period_start_from_cqe>() != 0) {
        return accept();
    }
    return refuse(Status::BAD_PARAM, "cq_period_mode not supported");
}

Reply check_options(FunctionState& function, ConstView<cqc> context) {
    using Cap = prm::cmd_hca_cap;
    if (context.get<cqc::oi>() != 0 && function.general<Cap::cq_oi>() == 0) {
        return refuse(Status::BAD_PARAM, "overrun ignore not supported");
    }
    if (context.get<cqc::cqe_comp_en>() != 0 && function.general<Cap::cqe_compression>() == 0) {
        return refuse(Status::BAD_PARAM, "CQE compression not supported");
    }
    if (context.get<cqc::cqe_compression_layout>() != 0 &&
        function.general<Cap::enhanced_cqe_compression>() == 0) {
        return refuse(Status::BAD_PARAM, "enhanced CQE compression not supported");
    }
    if (context.get<cqc::dbr_umem_valid>() != 0 || context.get<cqc::apu_cq>() != 0) {
        return refuse(Status::BAD_PARAM, "no user memory objects, no APU");
    }
    if (context.get<cqc::cc>() != 0 && function.general<Cap::cd>() == 0) {
        return refuse(Status::BAD_PARAM, "collapsed CQs not supported");
    }
    return check_period_mode(function, context.get<cqc::cq_period_mode>());
}

std::uint32_t cqe_bytes(ConstView<cqc> context) {
    return context.get<cqc::cqe_sz>() == kCqe64 ? 64 : 128;
}

Reply make_cq_ring(ConstView<cqc> context, std::span<const std::byte> pages,
                   model::HostRing& ring) {
    return make_ring({std::uint64_t{cqe_bytes(context)} << context.get<cqc::log_cq_size>(),
                      context.get<cqc::log_page_size>(), context.get<cqc::page_offset>()},
                     pages, ring);
}

model::Picoseconds moderation_period(ConstView<cqc> context) {
    return model::microseconds(context.get<cqc::cq_period>());
}

Reply create_cq(CommandContext& context, ConstView<prm::create_cq_in> in,
                View<prm::create_cq_out> out) {
    using In = prm::create_cq_in;
    FunctionState& function = context.function;
    model::Resources& resources = function.resources();
    const auto wanted = in.nested<In::cq_context>();
    Reply check = check_size(function, wanted);
    if (check.ok()) check = check_options(function, wanted);
    if (check.ok()) check = check_doorbell_record(wanted.get<cqc::dbr_addr>());
    if (!check.ok()) return check;
    if (in.get<In::cq_umem_valid>() != 0) {
        return refuse(Status::BAD_PARAM, "no user memory objects");
    }
    const auto uar = wanted.get<cqc::uar_page>();
    if (resources.uars.find(uar) == nullptr) return bad_reference("uar_page not allocated");
    const auto eqn = wanted.get<cqc::c_eqn_or_apu_element>();
    if (resources.eqs.find(eqn) == nullptr) return bad_reference("event queue does not live");
    model::HostRing ring;
    const Reply made = make_cq_ring(wanted, in.tail<In::pas>(), ring);
    if (!made.ok()) return made;

    model::Cq* cq = resources.cqs.create();
    if (cq == nullptr) return table_full();
    keep_context(*cq, wanted);
    cq->view().set<cqc::status>(0);
    cq->ring = std::move(ring);
    cq->log_size = wanted.get<cqc::log_cq_size>();
    cq->cqe_bytes = cqe_bytes(wanted);
    cq->eqn = eqn;
    cq->doorbell_record = {wanted.get<cqc::dbr_addr>()};
    cq->overrun_ignore = wanted.get<cqc::oi>() != 0;
    cq->moderation_count = wanted.get<cqc::cq_max_count>();
    cq->moderation_period = moderation_period(wanted);
    cq->uid = static_cast<std::uint16_t>(in.get<In::uid>());
    // The page is not held: verbs free it before a CQ that the program left behind. Such a CQ can
    // no longer be armed.
    resources.hold(*cq, {ObjectKind::eq, eqn});
    context.function.queues().context_written(cq->id);
    out.set<prm::create_cq_out::cqn>(cq->id.number);
    return accept();
}

Reply query_cq(CommandContext& context, ConstView<prm::query_cq_in> in,
               View<prm::query_cq_out> out) {
    using Out = prm::query_cq_out;
    model::Cq* cq = context.function.resources().cqs.find(in.get<prm::query_cq_in::cqn>());
    if (cq == nullptr) return no_such_object();
    context.function.queues().refresh(*cq);
    const auto shown = out.nested<Out::cq_context>();
    show_context(*cq, shown);
    shown.set<cqc::status>(cq->error ? kStatusOverflow : 0);
    show_pages(cq->ring, out.tail<Out::pas>());
    return accept();
}

Reply destroy_cq(CommandContext& context, ConstView<prm::destroy_cq_in> in,
                 View<prm::destroy_cq_out>) {
    return destroy_object(context.function, context.function.resources().cqs,
                          in.get<prm::destroy_cq_in::cqn>(), syndrome::kDestroyCqInUse,
                          syndrome::kDestroyCqInUse);
}

// Bits of modify_field_select.
enum Modify : std::uint32_t {
    kPeriod = 1U << 0,
    kCount = 1U << 1,
    kOverrun = 1U << 2,
    kEventQueue = 1U << 3,
    kPeriodMode = 1U << 4,
    kAllModify = 0x1f,
};

Reply change_fields(CommandContext& context, model::Cq& cq, std::uint32_t select,
                    ConstView<cqc> wanted) {
    using Cap = prm::cmd_hca_cap;
    FunctionState& function = context.function;
    if ((select & ~std::uint32_t{kAllModify}) != 0) {
        return refuse(Status::BAD_PARAM, "modify_field_select names an unknown field");
    }
    if ((select & (kPeriod | kCount)) != 0 && function.general<Cap::cq_moderation>() == 0) {
        return refuse(Status::BAD_PARAM, "moderation not supported");
    }
    if ((select & kOverrun) != 0 && function.general<Cap::cq_oi>() == 0) {
        return refuse(Status::BAD_PARAM, "overrun ignore not supported");
    }
    if ((select & kPeriodMode) != 0) {
        if (function.general<Cap::cq_period_mode_modify>() == 0) {
            return refuse(Status::BAD_PARAM, "cq_period_mode cannot be changed");
        }
        const Reply check = check_period_mode(function, wanted.get<cqc::cq_period_mode>());
        if (!check.ok()) return check;
    }
    const auto eqn = wanted.get<cqc::c_eqn_or_apu_element>();
    if ((select & kEventQueue) != 0) {
        if (function.general<Cap::cq_eq_remap>() == 0) {
            return refuse(Status::BAD_PARAM, "event queue cannot be changed");
        }
        if (function.resources().eqs.find(eqn) == nullptr) {
            return bad_reference("event queue does not live");
        }
    }

    const auto view = cq.view();
    if ((select & kPeriod) != 0) view.set<cqc::cq_period>(wanted.get<cqc::cq_period>());
    if ((select & kCount) != 0) view.set<cqc::cq_max_count>(wanted.get<cqc::cq_max_count>());
    if ((select & kPeriodMode) != 0) {
        view.set<cqc::cq_period_mode>(wanted.get<cqc::cq_period_mode>());
    }
    if ((select & kOverrun) != 0) {
        view.set<cqc::oi>(wanted.get<cqc::oi>());
        cq.overrun_ignore = wanted.get<cqc::oi>() != 0;
    }
    if ((select & kEventQueue) != 0 && eqn != cq.eqn) {
        function.resources().release(cq, {ObjectKind::eq, cq.eqn});
        function.resources().hold(cq, {ObjectKind::eq, eqn});
        view.set<cqc::c_eqn_or_apu_element>(eqn);
        cq.eqn = eqn;
    }
    if ((select & (kPeriod | kCount)) != 0) {
        function.queues().set_moderation(cq, context.now, view.get<cqc::cq_max_count>(),
                                         moderation_period(view));
    }
    return accept();
}

// Bits of resize_field_select.
enum Resize : std::uint32_t {
    kLogSize = 1U << 0,
    kPageOffset = 1U << 1,
    kPageSize = 1U << 2,
    kAllResize = 0x7,
};

Reply resize(CommandContext& context, model::Cq& cq, std::uint32_t select,
             ConstView<prm::modify_cq_in> in) {
    using In = prm::modify_cq_in;
    FunctionState& function = context.function;
    const auto wanted = in.nested<In::cq_context>();
    if (function.general<prm::cmd_hca_cap::cq_resize>() == 0) {
        return refuse(Status::BAD_PARAM, "resizing not supported");
    }
    if ((select & ~std::uint32_t{kAllResize}) != 0 || (select & kLogSize) == 0) {
        return refuse(Status::BAD_PARAM, "resize_field_select without size or with unknown bits");
    }
    if (in.get<In::cq_umem_valid>() != 0) {
        return refuse(Status::BAD_PARAM, "no user memory objects");
    }
    const Reply check = check_size(function, wanted);
    if (!check.ok()) return check;
    if (cq.error) return refuse(Status::BAD_RES_STATE, "completion queue is in error");
    model::HostRing ring;
    const Reply made = make_cq_ring(wanted, in.tail<In::pas>(), ring);
    if (!made.ok()) return made;
    if (!function.queues().resize(cq, context.now, std::move(ring),
                                  wanted.get<cqc::log_cq_size>(), cqe_bytes(wanted))) {
        return refuse(Status::BAD_SIZE, "no room for the resize entry in the old ring");
    }
    const auto view = cq.view();
    view.set<cqc::log_cq_size>(wanted.get<cqc::log_cq_size>());
    view.set<cqc::cqe_sz>(wanted.get<cqc::cqe_sz>());
    view.set<cqc::log_page_size>(wanted.get<cqc::log_page_size>());
    view.set<cqc::page_offset>(wanted.get<cqc::page_offset>());
    return accept();
}

Reply modify_cq(CommandContext& context, ConstView<prm::modify_cq_in> in,
                View<prm::modify_cq_out>) {
    using In = prm::modify_cq_in;
    constexpr std::uint32_t kOpModResize = 1;
    model::Cq* cq = context.function.resources().cqs.find(in.get<In::cqn>());
    if (cq == nullptr) return no_such_object();
    const auto select =
        in.nested<In::modify_field_select_resize_field_select>()
            .nested<prm::modify_field_select_resize_field_select_auto::modify_field_select>()
            .get<prm::modify_field_select::modify_field_select_>();
    if (in.get<In::op_mod>() == kOpModResize) return resize(context, *cq, select, in);
    return change_fields(context, *cq, select, in.nested<In::cq_context>());
}

}  // namespace

std::vector<CommandRow> completion_queue_commands() {
    using prm::Opcode;
    return {
        command_row<&create_cq>(Opcode::CREATE_CQ, Cost::create_object),
        command_row<&query_cq>(Opcode::QUERY_CQ, Cost::query),
        command_row<&destroy_cq>(Opcode::DESTROY_CQ, Cost::destroy_object),
        command_row<&modify_cq>(Opcode::MODIFY_CQ, Cost::modify_object).with_op_mods(0b11),
    };
}

}  // namespace cxsim::firmware_stub
