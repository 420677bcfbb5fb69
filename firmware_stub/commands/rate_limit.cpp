// SPDX-License-Identifier: Apache-2.0
// The table of rates that send queues are paced with. Index 0 means no limit and is never set.
#include "firmware_stub/commands/capability.h"
#include "firmware_stub/commands/common.h"
#include "firmware_stub/commands/families.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::ConstView;
using prm::Status;
using prm::View;
using Context = prm::set_pp_rate_limit_context;

bool in_use(const model::Resources& resources, std::uint32_t index) {
    bool used = false;
    resources.sqs.for_each([&](const model::Sq& sq) {
        used = used || sq.view().get<prm::sqc::packet_pacing_rate_limit_index>() == index;
    });
    return used;
}

Reply check_rate(FunctionState& function, ConstView<Context> wanted) {
    using Qos = prm::qos_cap;
    const auto rate = wanted.get<Context::rate_limit>();
    if (rate < qos_capability<Qos::packet_pacing_min_rate>(function) ||
        rate > qos_capability<Qos::packet_pacing_max_rate>(function)) {
        return refuse(Status::BAD_PARAM, "rate_limit beyond packet_pacing_max_rate");
    }
    if (wanted.get<Context::burst_upper_bound>() != 0 &&
        qos_capability<Qos::packet_pacing_burst_bound>(function) == 0) {
        return refuse(Status::BAD_PARAM, "packet_pacing_burst_bound not supported");
    }
    if (wanted.get<Context::typical_packet_size>() != 0 &&
        qos_capability<Qos::packet_pacing_typical_size>(function) == 0) {
        return refuse(Status::BAD_PARAM, "packet_pacing_typical_size not supported");
    }
    return accept();
}

Reply set_rate_limit(CommandContext& context, ConstView<prm::set_pp_rate_limit_in> in,
                     View<prm::set_pp_rate_limit_out>) {
    using In = prm::set_pp_rate_limit_in;
    using Qos = prm::qos_cap;
    FunctionState& function = context.function;
    if (qos_capability<Qos::packet_pacing>(function) == 0) {
        return refuse(Status::BAD_PARAM, "packet_pacing not supported");
    }
    const auto index = in.get<In::rate_limit_index>();
    if (index == 0 || index >= qos_capability<Qos::packet_pacing_rate_table_size>(function)) {
        return refuse(Status::BAD_PARAM, "rate_limit_index beyond packet_pacing_rate_table_size");
    }
    const auto key = static_cast<std::uint16_t>(index);
    const auto wanted = in.nested<In::ctx>();
    if (wanted.get<Context::rate_limit>() == 0) {  // gives the index back
        if (in_use(function.resources(), index)) return still_in_use();
        function.rate_limits.erase(key);
        return accept();
    }
    const Reply check = check_rate(function, wanted);
    if (!check.ok()) return check;
    prm::Buffer<Context> rate;
    std::copy_n(wanted.bytes().begin(), rate.bytes().size(), rate.bytes().begin());
    function.rate_limits.insert_or_assign(key, std::move(rate));
    return accept();
}

}  // namespace

std::vector<CommandRow> rate_limit_commands() {
    return {command_row<&set_rate_limit>(prm::Opcode::SET_PP_RATE_LIMIT, Cost::set)};
}

}  // namespace cxsim::firmware_stub
