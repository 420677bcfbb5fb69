// SPDX-License-Identifier: Apache-2.0
// Queue counter sets: what the transport counts for the queues that point to a set. A set's values
// are kept by the names of the query's members.
#include <vector>

#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"
#include "model/prm/reflect.h"

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;

constexpr std::uint32_t kFirstCounterBit = 0x80;  // status and syndrome stand before

Reply alloc_q_counter(CommandContext& context, ConstView<prm::alloc_q_counter_in> in,
                      View<prm::alloc_q_counter_out> out) {
    model::QCounter* counter = context.function.resources().q_counters.create();
    if (counter == nullptr) return table_full(syndrome::kQCounterTableFull);
    counter->uid = static_cast<std::uint16_t>(in.get<prm::alloc_q_counter_in::uid>());
    out.set<prm::alloc_q_counter_out::counter_set_id>(counter->id.number);
    return accept();
}

Reply dealloc_q_counter(CommandContext& context, ConstView<prm::dealloc_q_counter_in> in,
                        View<prm::dealloc_q_counter_out>) {
    return destroy_object(context.function, context.function.resources().q_counters,
                          in.get<prm::dealloc_q_counter_in::counter_set_id>());
}

// Values are 32 bits wide and wrap.
void show(const model::QCounter& counter, View<prm::query_q_counter_out> out) {
    for (const prm::FieldInfo& field : prm::layout_info<prm::query_q_counter_out>().fields) {
        if (field.reserved || field.bit_offset < kFirstCounterBit) continue;
        const auto value = counter.values.find(field.name);
        if (value == counter.values.end()) continue;
        model::store_be<std::uint32_t>(out.bytes().data() + field.bit_offset / 8,
                                       static_cast<std::uint32_t>(value->second));
    }
}

Reply query_q_counter(CommandContext& context, ConstView<prm::query_q_counter_in> in,
                      View<prm::query_q_counter_out> out) {
    using In = prm::query_q_counter_in;
    if (in.get<In::other_vport>() != 0 || in.get<In::vport_number>() != 0) {
        return refuse(Status::BAD_PARAM, "no other vports");
    }
    if (in.get<In::aggregate>() != 0) {
        return refuse(Status::BAD_PARAM, "aggregation over counter sets not supported");
    }
    model::QCounter* counter =
        context.function.resources().q_counters.find(in.get<In::counter_set_id>());
    if (counter == nullptr) return no_such_object();
    show(*counter, out);
    if (in.get<In::clear>() != 0) counter->values.clear();
    return accept();
}

}  // namespace

std::vector<CommandRow> queue_counter_commands() {
    using prm::Opcode;
    return {
        command_row<&alloc_q_counter>(Opcode::ALLOC_Q_COUNTER, Cost::create_object),
        command_row<&dealloc_q_counter>(Opcode::DEALLOC_Q_COUNTER, Cost::destroy_object),
        command_row<&query_q_counter>(Opcode::QUERY_Q_COUNTER, Cost::query),
    };
}

}  // namespace cxsim::firmware_stub
