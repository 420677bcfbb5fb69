// SPDX-License-Identifier: Apache-2.0
// Port counters (PPCNT): the port's counters through the table of ppcnt_table.cpp. Clearing
// remembers what a counter was; the port's own go on. Without a port every group reads zero.
#include "firmware_stub/registers/ppcnt_table.h"
#include "firmware_stub/registers/register_table.h"
#include "model/base/assert.h"
#include "model/base/endian.h"
#include "model/stats/stats.h"

#include <algorithm>
#include <string>
#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::RegisterId;
using prm::Status;
using prm::View;

constexpr std::uint32_t kPriorities = 8;

std::uint64_t value_of(const model::stats::Group& counters, const PpcntRow& row,
                       std::uint32_t priority) {
    std::string path(row.counter);
    const std::size_t place = path.find("{}");
    if (place != std::string::npos) path.replace(place, 2, std::to_string(priority));
    const model::stats::Counter* counter = counters.find(path);
    CX_ASSERT(counter != nullptr, "the table names a counter that the port lacks");
    return counter->value();
}

// Both physical groups begin with the time since they were cleared, in milliseconds.
bool begins_with_time(PpcntGroup group) {
    return group == PpcntGroup::physical_layer || group == PpcntGroup::physical_statistical;
}

Reply access_ppcnt(CommandContext& context, View<prm::ppcnt_reg> reg) {
    using Reg = prm::ppcnt_reg;
    if (reg.get<Reg::local_port>() != 1) {
        return refuse(Status::BAD_PARAM, syndrome::kRegisterLocalPort, "no such local_port");
    }
    const auto group = static_cast<PpcntGroup>(reg.get<Reg::grp>());
    const auto groups = ppcnt_groups();
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) {
        return refuse(Status::BAD_PARAM, "counter group not supported");
    }
    const std::uint32_t priority = reg.get<Reg::prio_tc>();
    if (priority >= (indexed(group) ? kPriorities : 1)) {
        return refuse(Status::BAD_PARAM, "no such priority or traffic class");
    }
    const auto into = reg.bytes<Reg::counter_set>();
    std::fill(into.begin(), into.end(), std::byte{0});
    Port& port = context.firmware.port();
    if (port.control == nullptr) return accept();

    const bool clear = reg.get<Reg::clr>() != 0;
    const model::stats::Group& counters = port.control->counters();
    const auto rows = ppcnt_rows();
    port.cleared.resize(rows.size() * kPriorities);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const PpcntRow& row = rows[i];
        if (row.group != group) continue;
        std::uint64_t& cleared = port.cleared[i * kPriorities + priority];
        const std::uint64_t value = value_of(counters, row, priority);
        const std::uint64_t shown = (value - cleared) / row.divisor;
        if (row.bytes == 8) {
            model::store_be<std::uint64_t>(into.data() + row.offset, shown);
        } else {
            model::store_be<std::uint32_t>(into.data() + row.offset,
                                           static_cast<std::uint32_t>(shown));
        }
        if (clear) cleared = value;
    }
    if (begins_with_time(group)) {
        model::Picoseconds& since = group == PpcntGroup::physical_layer
                                        ? port.physical_cleared_at
                                        : port.statistical_cleared_at;
        const auto milliseconds = (context.now - since).value / model::milliseconds(1).value;
        model::store_be<std::uint64_t>(into.data(), static_cast<std::uint64_t>(milliseconds));
        if (clear) since = context.now;
    }
    return accept();
}

}  // namespace

std::vector<RegisterRow> counter_registers() {
    return {
        register_row<&access_ppcnt, &access_ppcnt>(RegisterId::PPCNT),
    };
}

}  // namespace cxsim::firmware_stub
