// SPDX-License-Identifier: Apache-2.0
// Receive buffers of the port (PBMC) and what priorities lie in them (PPTB). Sizes in cells.
#include "firmware_stub/registers/register_table.h"

#include <vector>

namespace cxsim::firmware_stub {
namespace {

using prm::RegisterId;
using prm::Status;
using prm::View;

constexpr std::uint32_t kCell = Port::kCellBytes;
constexpr std::size_t kBuffers = model::PortSettings::kBuffers;
constexpr unsigned kPriorities = model::PortSettings::kPriorities;

std::uint32_t cells_of(model::Bytes bytes) {
    return static_cast<std::uint32_t>(bytes.value / kCell);
}

model::Bytes bytes_of(std::uint32_t cells) {
    return {std::uint64_t{cells} * kCell};
}

Reply check_port(CommandContext& context, std::uint32_t local_port) {
    if (local_port != 1) return refuse(Status::BAD_PARAM, "no such local_port");
    if (context.firmware.port().control == nullptr) {
        return refuse(Status::BAD_RES, "no port hardware behind the register");
    }
    return accept();
}

// ---- PBMC

Reply read_pbmc(CommandContext& context, View<prm::pbmc_reg> reg) {
    using Reg = prm::pbmc_reg;
    using Buffer = prm::bufferx_reg;
    const Reply check = check_port(context, reg.get<Reg::local_port>());
    if (!check.ok()) return check;
    const Port& port = context.firmware.port();
    const model::PortSettings settings = port.settings();
    reg.clear();
    reg.set<Reg::local_port>(1U);
    reg.set<Reg::xoff_timer_value>(settings.pause_quanta);
    reg.set<Reg::xoff_refresh>(settings.pause_refresh);
    reg.set<Reg::port_buffer_size>(cells_of(port.control->receive_buffer()));
    for (std::size_t i = 0; i < kBuffers; ++i) {
        const model::ReceiveBufferSettings& from = settings.buffers[i];
        const auto into = reg.at<Reg::buffer>(i);
        into.set<Buffer::lossy>(from.lossy ? 1U : 0U);
        into.set<Buffer::size>(cells_of(from.size));
        into.set<Buffer::xoff_threshold>(cells_of(from.xoff));
        into.set<Buffer::xon_threshold>(cells_of(from.xon));
    }
    return accept();  // buffers 8 and 9 belong to the port itself and have no size of their own
}

Reply write_pbmc(CommandContext& context, View<prm::pbmc_reg> reg) {
    using Reg = prm::pbmc_reg;
    using Buffer = prm::bufferx_reg;
    const Reply check = check_port(context, reg.get<Reg::local_port>());
    if (!check.ok()) return check;
    Port& port = context.firmware.port();
    auto wanted = port.buffers;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < kBuffers; ++i) {
        const auto from = reg.at<Reg::buffer>(i);
        if (from.get<Buffer::epsb>() != 0) {
            return refuse(Status::BAD_PARAM, "epsb is not supported");
        }
        wanted[i] = {bytes_of(from.get<Buffer::size>()),
                     bytes_of(from.get<Buffer::xoff_threshold>()),
                     bytes_of(from.get<Buffer::xon_threshold>()), from.get<Buffer::lossy>() != 0};
        if (wanted[i].xoff > wanted[i].size || wanted[i].xon > wanted[i].xoff) {
            return refuse(Status::BAD_PARAM, "thresholds beyond the buffer or in wrong order");
        }
        total += wanted[i].size.value;
    }
    if (total == 0 || total > port.control->receive_buffer().value) {
        return refuse(Status::BAD_PARAM, "no buffer, or more than the port has");
    }
    const auto quanta = reg.get<Reg::xoff_timer_value>();
    const auto refresh = reg.get<Reg::xoff_refresh>();
    if (quanta == 0 || refresh == 0 || refresh > quanta) {
        return refuse(Status::BAD_PARAM, "a pause ends before it is repeated");
    }
    port.buffers_by_software = true;
    port.buffers = wanted;
    port.pause_quanta = static_cast<std::uint16_t>(quanta);
    port.pause_refresh = static_cast<std::uint16_t>(refresh);
    port.apply();
    return read_pbmc(context, reg);
}

// ---- PPTB

Reply read_pptb(CommandContext& context, View<prm::pptb_reg> reg) {
    using Reg = prm::pptb_reg;
    const Reply check = check_port(context, reg.get<Reg::local_port>());
    if (!check.ok()) return check;
    const model::PortSettings settings = context.firmware.port().settings();
    reg.clear();
    reg.set<Reg::local_port>(1U);
    reg.set<Reg::pm>(0xffU);
    std::uint32_t buffers = 0;
    for (unsigned i = 0; i < kPriorities; ++i) {
        buffers |= std::uint32_t{settings.buffer_of_priority[i]} << (4 * i);
    }
    reg.set<Reg::prio_x_buff>(buffers);
    reg.set<Reg::untagged_buff>(settings.buffer_of_priority[0]);
    return accept();
}

Reply write_pptb(CommandContext& context, View<prm::pptb_reg> reg) {
    using Reg = prm::pptb_reg;
    const Reply check = check_port(context, reg.get<Reg::local_port>());
    if (!check.ok()) return check;
    if (reg.get<Reg::um>() != 0 || reg.get<Reg::cm>() != 0 || reg.get<Reg::mm>() != 0 ||
        reg.get<Reg::pm_msb>() != 0) {
        return refuse(Status::BAD_PARAM, "only the buffers of priorities can be chosen");
    }
    Port& port = context.firmware.port();
    auto wanted = port.buffer_of_priority;
    const auto mask = reg.get<Reg::pm>();
    const auto buffers = reg.get<Reg::prio_x_buff>();
    for (unsigned i = 0; i < kPriorities; ++i) {
        if ((mask >> i & 1) == 0) continue;
        const std::uint32_t buffer = buffers >> (4 * i) & 0xf;
        if (buffer >= kBuffers) return refuse(Status::BAD_PARAM, "no such buffer");
        wanted[i] = static_cast<std::uint8_t>(buffer);
    }
    // The map counts with the buffers that it names, once software has sized them.
    if (!port.buffers_by_software) {
        port.buffers = port.settings().buffers;
        port.buffers_by_software = true;
    }
    port.buffer_of_priority = wanted;
    port.apply();
    return read_pptb(context, reg);
}

}  // namespace

std::vector<RegisterRow> port_buffer_registers() {
    return {
        register_row<&read_pptb, &write_pptb>(RegisterId::PPTB),
        register_row<&read_pbmc, &write_pbmc>(RegisterId::PBMC),
    };
}

}  // namespace cxsim::firmware_stub
