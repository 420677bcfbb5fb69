// SPDX-License-Identifier: Apache-2.0
#include "scenarios/prm_tools/trace_listener.h"

#include "firmware_stub/boot/init_segment.h"
#include "model/base/endian.h"
#include "model/prm/command.h"
#include "model/prm/view.h"
#include "prm/layouts.h"

#include <algorithm>

namespace cxsim::scenarios {

namespace trace = model::trace;
using model::FunctionId;
using model::Picoseconds;

namespace {

constexpr std::uint64_t kUarBytes = 4096;
constexpr std::uint64_t kCommandDoorbell = prm::initial_seg::command_doorbell_vector::kOffset / 8;
constexpr std::uint64_t kCqArm = prm::uar_page::cq_arm::kOffset / 8;
constexpr std::uint64_t kEqArm = prm::uar_page::eq_update_arm::kOffset / 8;
constexpr std::uint64_t kEqUpdate = prm::uar_page::eq_update::kOffset / 8;
constexpr std::uint64_t kBlueFlame = prm::uar_page::blueflame::kOffset / 8;
constexpr std::size_t kRegisterHeader = 16;

std::uint64_t first_bytes(std::span<const std::byte> data) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(data.size(), 8); ++i) {
        value |= std::to_integer<std::uint64_t>(data[i]) << (8 * i);
    }
    return value;
}

}  // namespace

TraceListener::TraceListener(trace::Tracer& tracer, const Card& card)
    : tracer_(tracer),
      commands_(tracer.component(card.name() + ".commands")),
      bar_(tracer.component(card.name() + ".bar0")),
      dma_(tracer.component(card.name() + ".dma")),
      events_(tracer.component(card.name() + ".events")),
      interrupts_(tracer.component(card.name() + ".interrupts")),
      function_(tracer.component(card.name() + ".function")) {}

void TraceListener::bar_read(FunctionId function, Picoseconds at, std::uint64_t offset,
                             std::span<const std::byte> data) {
    tracer_.record(
        bar_, function.value, at,
        trace::Mmio{offset, first_bytes(data), static_cast<std::uint32_t>(data.size()), 0});
}

void TraceListener::bar_write(FunctionId function, Picoseconds arrival, std::uint64_t offset,
                              std::span<const std::byte> from) {
    tracer_.record(
        bar_, function.value, arrival,
        trace::Mmio{offset, first_bytes(from), static_cast<std::uint32_t>(from.size()), 1});
    doorbell(function, arrival, offset, from);
}

void TraceListener::doorbell(FunctionId function, Picoseconds arrival, std::uint64_t offset,
                             std::span<const std::byte> from) {
    trace::Doorbell record{};
    if (from.size() < 4) return;
    const auto dword = model::load_be<std::uint32_t>(from.data());
    if (offset < firmware_stub::InitSegment::kBytes) {
        if (offset != kCommandDoorbell) return;
        record.type = trace::DoorbellType::command;
        record.number = dword;
    } else {
        record.uar = static_cast<std::uint32_t>(offset / kUarBytes);
        const std::uint64_t place = offset % kUarBytes;
        if (place == kEqArm || place == kEqUpdate) {
            record.type = trace::DoorbellType::eq_arm;
            record.number = dword >> 24;
        } else if (place == kCqArm && from.size() >= 8) {
            record.type = trace::DoorbellType::cq_arm;
            record.number = model::load_be<std::uint32_t>(from.data() + 4) & 0xffffff;
        } else if (place >= kBlueFlame && from.size() >= 8) {
            record.type =
                from.size() > 8 ? trace::DoorbellType::blueflame : trace::DoorbellType::send;
            record.number = model::load_be<std::uint32_t>(from.data() + 4) >> 8;
        } else {
            return;
        }
    }
    record.value = first_bytes(from);
    tracer_.record(bar_, function.value, arrival, record);
}

void TraceListener::dma(FunctionId function, bool write, Picoseconds start,
                        const model::DmaResult& result, model::HostAddress address,
                        std::span<const std::byte> data) {
    tracer_.record(dma_, function.value, result.finish,
                   trace::Dma{static_cast<std::uint64_t>(start.value), address.value, data.size(),
                              static_cast<std::uint8_t>(write ? 1 : 0),
                              static_cast<std::uint8_t>(result.status)});
}

void TraceListener::event(FunctionId function, Picoseconds finish, std::uint32_t eqn,
                          std::uint32_t index, std::span<const std::byte> eqe) {
    const prm::ConstView<prm::eqe> view(eqe);
    tracer_.record(
        events_, function.value, finish,
        trace::Eqe{eqn, index, static_cast<std::uint8_t>(view.get<prm::eqe::event_type>()),
                   static_cast<std::uint8_t>(view.get<prm::eqe::event_sub_type>())},
        {eqe});
}

void TraceListener::interrupt(FunctionId function, Picoseconds arrival, std::uint32_t vector,
                              bool masked) {
    tracer_.record(interrupts_, function.value, arrival,
                   trace::Interrupt{vector, static_cast<std::uint8_t>(masked ? 1 : 0)});
}

void TraceListener::reset(FunctionId function, Picoseconds at, model::ResetKind kind) {
    tracer_.record(function_, function.value, at, trace::Reset{static_cast<std::uint8_t>(kind)});
}

void TraceListener::command_ended(const firmware_stub::CommandReport& report, std::uint32_t) {
    trace::Command command{};
    command.start = static_cast<std::uint64_t>(report.doorbell.value);
    if (report.input.size() >= 8) {
        command.opcode = model::load_be<std::uint16_t>(report.input.data());
        command.op_mod = prm::layout_selector(report.input);
    }
    command.slot = static_cast<std::uint16_t>(report.slot);
    command.status = static_cast<std::uint8_t>(report.reply.status);
    command.syndrome = report.reply.syndrome;
    command.delivery = static_cast<std::uint8_t>(report.delivery);
    command.input_bytes = static_cast<std::uint32_t>(report.input.size());
    command.output_bytes = static_cast<std::uint32_t>(report.output.size());
    tracer_.record(commands_, report.function.value, report.finish, command,
                   {report.input, report.output});
    const bool access = static_cast<prm::Opcode>(command.opcode) == prm::Opcode::ACCESS_REG &&
                        report.input.size() >= kRegisterHeader &&
                        report.output.size() >= kRegisterHeader;
    if (!access || report.delivery != prm::DeliveryStatus::OK) return;
    trace::RegisterAccess reg{};
    reg.id = model::load_be<std::uint16_t>(report.input.data() + 10);
    reg.direction = command.op_mod == 0 ? 1 : 0;  // op_mod 0 writes
    reg.status = command.status;
    reg.syndrome = command.syndrome;
    tracer_.record(function_, report.function.value, report.finish, reg,
                   {report.output.subspan(kRegisterHeader)});
}

}  // namespace cxsim::scenarios
