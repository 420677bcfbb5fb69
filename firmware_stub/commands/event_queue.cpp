// SPDX-License-Identifier: Apache-2.0
// Event queues: rings in host memory with an interrupt vector, and which event types they take.
#include <vector>

#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"
#include "model/prm/event_type.h"

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;

constexpr std::uint32_t kEqeBytes = 64;

Reply create_eq(CommandContext& context, ConstView<prm::create_eq_in> in,
                View<prm::create_eq_out> out) {
    using In = prm::create_eq_in;
    FunctionState& function = context.function;
    const auto eqc = in.nested<In::eq_context_entry>();
    const auto log_size = eqc.get<prm::eqc::log_eq_size>();
    if (log_size > function.general<prm::cmd_hca_cap::log_max_eq_sz>()) {
        return refuse(Status::BAD_PARAM, "log_eq_size above log_max_eq_sz");
    }
    if (function.resources().uars.find(eqc.get<prm::eqc::uar_page>()) == nullptr) {
        return bad_reference("uar_page not allocated");
    }
    if (eqc.get<prm::eqc::intr>() >= context.firmware.config().interrupt_vectors) {
        return refuse(Status::BAD_PARAM, "interrupt vector beyond the MSI-X table");
    }
    model::HostRing ring;
    const Reply made = make_ring({std::uint64_t{kEqeBytes} << log_size,
                                  eqc.get<prm::eqc::log_page_size>(),
                                  eqc.get<prm::eqc::page_offset>()},
                                 in.tail<In::pas>(), ring);
    if (!made.ok()) return made;
    model::Eq* eq = function.resources().eqs.create();
    if (eq == nullptr) return table_full();
    eq->ring = std::move(ring);
    eq->log_size = log_size;
    eq->vector = eqc.get<prm::eqc::intr>();
    for (std::size_t i = 0; i < eq->event_bitmask.size(); ++i) {
        eq->event_bitmask[i] = in.at<In::event_bitmask>(i);
    }
    const auto context_bytes = eqc.bytes();
    std::copy(context_bytes.begin(), context_bytes.end(), eq->context.begin());
    function.resources().hold(*eq, {model::ObjectKind::uar, eqc.get<prm::eqc::uar_page>()});
    out.set<prm::create_eq_out::eq_number>(eq->id.number);
    return accept();
}

Reply query_eq(CommandContext& context, ConstView<prm::query_eq_in> in,
               View<prm::query_eq_out> out) {
    model::Eq* eq = context.function.resources().eqs.find(in.get<prm::query_eq_in::eq_number>());
    if (eq == nullptr) return no_such_object();
    context.function.queues().refresh(*eq);
    const auto eqc = out.nested<prm::query_eq_out::eq_context_entry>();
    std::copy(eq->context.begin(), eq->context.end(), eqc.bytes().begin());
    return accept();
}

Reply destroy_eq(CommandContext& context, ConstView<prm::destroy_eq_in> in,
                 View<prm::destroy_eq_out>) {
    return destroy_object(context.function, context.function.resources().eqs,
                          in.get<prm::destroy_eq_in::eq_number>());
}

}  // namespace

std::vector<CommandRow> event_queue_commands() {
    using prm::Opcode;
    return {
        command_row<&create_eq>(Opcode::CREATE_EQ, Cost::create_object),
        command_row<&query_eq>(Opcode::QUERY_EQ, Cost::query),
        command_row<&destroy_eq>(Opcode::DESTROY_EQ, Cost::destroy_object),
    };
}

}  // namespace cxsim::firmware_stub
