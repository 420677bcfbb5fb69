// SPDX-License-Identifier: Apache-2.0
// Flow counters, singly or in blocks of consecutive numbers.
#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;

constexpr std::uint32_t kBlockUnit = 128;  // bit n of flow_counter_bulk: 2^n units

Reply block_size(FunctionState& function, ConstView<prm::alloc_flow_counter_in> in,
                 std::uint32_t& size) {
    using In = prm::alloc_flow_counter_in;
    const auto bulk = in.get<In::flow_counter_bulk>();
    if (in.get<In::flow_counter_bulk_log_size>() != 0) {
        return refuse(Status::BAD_PARAM, "flow_counter_bulk_log_size not supported");
    }
    size = 1;
    if (bulk == 0) return accept();
    const auto offered = function.general<prm::cmd_hca_cap::flow_counter_bulk_alloc>();
    if ((bulk & (bulk - 1)) != 0 || (bulk & ~offered) != 0) {
        return refuse(Status::BAD_PARAM, "flow_counter_bulk not supported");
    }
    size = kBlockUnit * bulk;
    return accept();
}

Reply alloc_flow_counter(CommandContext& context, ConstView<prm::alloc_flow_counter_in> in,
                         View<prm::alloc_flow_counter_out> out) {
    std::uint32_t size = 0;
    const Reply check = block_size(context.function, in, size);
    if (!check.ok()) return check;
    auto& counters = context.function.resources().flow_counters;
    model::FlowCounter* first = size == 1 ? counters.create() : counters.create_block(size);
    if (first == nullptr) return table_full();
    first->block = size;
    out.set<prm::alloc_flow_counter_out::flow_counter_id>(first->id.number);
    return accept();
}

Reply dealloc_flow_counter(CommandContext& context, ConstView<prm::dealloc_flow_counter_in> in,
                           View<prm::dealloc_flow_counter_out>) {
    model::Resources& resources = context.function.resources();
    const auto number = in.get<prm::dealloc_flow_counter_in::flow_counter_id>();
    const model::FlowCounter* first = resources.flow_counters.find(number);
    if (first == nullptr) return no_such_object();
    if (first->block == 0) {
        return refuse(Status::BAD_PARAM, "flow_counter_id is inside a block");
    }
    const std::uint32_t size = first->block;
    for (std::uint32_t i = 0; i < size; ++i) {
        if (resources.flow_counters.find(number + i)->users > 0) return still_in_use();
    }
    for (std::uint32_t i = 0; i < size; ++i) {
        resources.destroy({model::ObjectKind::flow_counter, number + i});
    }
    return accept();
}

Reply query_flow_counter(CommandContext& context, ConstView<prm::query_flow_counter_in> in,
                         View<prm::query_flow_counter_out> out) {
    using In = prm::query_flow_counter_in;
    using Out = prm::query_flow_counter_out;
    FunctionState& function = context.function;
    const auto& counters = function.resources().flow_counters;
    const auto number = in.get<In::flow_counter_id>();
    const auto wanted = in.get<In::num_of_counters>();
    const std::uint32_t count = wanted == 0 ? 1 : wanted;
    if (count > 1U << function.general<prm::cmd_hca_cap::log_max_flow_counter_bulk>()) {
        return refuse(Status::BAD_PARAM, "num_of_counters above log_max_flow_counter_bulk");
    }
    if (wanted == 0 && counters.find(number) == nullptr) return no_such_object();
    if (out.size<Out::flow_statistics>() < count) {
        return refuse(Status::BAD_OUTP_LEN, "no room for the counters");
    }
    // The driver asks for aligned ranges: numbers in them that are not allocated read as zero.
    for (std::uint32_t i = 0; i < count; ++i) {
        model::FlowCounter* counter = counters.find(number + i);
        if (counter == nullptr) continue;
        const auto place = out.at<Out::flow_statistics>(i);
        place.set<prm::traffic_counter::packets>(counter->packets);
        place.set<prm::traffic_counter::octets>(counter->octets);
        if (in.get<In::clear>() != 0) counter->packets = counter->octets = 0;
    }
    return accept();
}

}  // namespace

std::vector<CommandRow> flow_counter_commands() {
    using prm::Opcode;
    return {
        command_row<&alloc_flow_counter>(Opcode::ALLOC_FLOW_COUNTER, Cost::create_object),
        command_row<&dealloc_flow_counter>(Opcode::DEALLOC_FLOW_COUNTER, Cost::destroy_object),
        command_row<&query_flow_counter>(Opcode::QUERY_FLOW_COUNTER, Cost::query),
    };
}

}  // namespace cxsim::firmware_stub
