// SPDX-License-Identifier: Apache-2.0
#include "scenarios/driver/command_port.h"

#include "model/base/endian.h"
#include "model/prm/view.h"
#include "prm/layouts.h"

#include <fmt/format.h>

#include <algorithm>

namespace cxsim::scenarios {

using model::HostAddress;
using prm::cmd_if_box;
using prm::cmd_queue_entry;
using prm::initial_seg;

namespace {

constexpr std::size_t kInlineBytes = 16;
constexpr std::size_t kBoxDataBytes = 512;
// The size of a block is 576 bytes; pointers leave out the low 10 bits.
constexpr std::uint64_t kBoxAlignment = 1024;
constexpr std::uint64_t kQueueBytes = 4096;
constexpr unsigned kTransport = 7;  // PCI command interface
constexpr std::uint32_t kInterfaceRevision = 5;
constexpr std::size_t kControlStart = cmd_if_box::next_pointer_63_32::kOffset / 8 - 48;

constexpr std::uint64_t byte_of(std::uint32_t bit) {
    return bit / 32 * 4;  // registers are read as whole dwords
}

std::byte xor_of(std::span<const std::byte> bytes) {
    std::byte sum{0};
    for (const std::byte b : bytes) sum ^= b;
    return sum;
}

}  // namespace

prm::Status CommandResult::status() const {
    if (delivery != prm::DeliveryStatus::OK || output.empty()) return prm::Status::OK;
    return static_cast<prm::Status>(output[0]);
}

std::uint32_t CommandResult::syndrome() const {
    if (delivery != prm::DeliveryStatus::OK || output.size() < 8) return 0;
    return model::load_be<std::uint32_t>(output.data() + 4);
}

void CommandResult::require_ok() const {
    if (!ok()) throw CommandFailed(opcode, delivery, status(), syndrome());
}

CommandPort::CommandPort(Host& host, CommandPortOptions options) : host_(host), options_(options) {}

CommandPort::~CommandPort() {
    for (const HostAddress box : all_boxes_) host_.memory().free(box);
    if (queue_.value != 0) host_.memory().free(queue_);
}

void CommandPort::open() {
    const model::Picoseconds limit = host_.now() + options_.boot_timeout;
    const std::uint64_t initializing = byte_of(initial_seg::initializing::kOffset);
    while ((host_.mmio_read32(initializing) >> 31) != 0) {
        if (host_.now() >= limit) {
            throw DriverTimeout(fmt::format(
                "the driver waits for the card's firmware to boot: the initializing bit is still "
                "set after {} s of simulated time",
                options_.boot_timeout.seconds()));
        }
        host_.wait_for(model::milliseconds(2));
    }
    const std::uint32_t revision =
        host_.mmio_read32(byte_of(initial_seg::cmd_interface_rev::kOffset)) >> 16;
    if (revision != kInterfaceRevision) {
        throw DriverError(fmt::format("command interface revision {} instead of {}", revision,
                                      kInterfaceRevision));
    }
    const std::uint64_t low_at = byte_of(initial_seg::cmdq_phy_addr_31_12::kOffset);
    const std::uint32_t geometry = host_.mmio_read32(low_at) & 0xff;
    slots_ = std::min<std::uint32_t>(1U << (geometry >> 4), 32);
    log_stride_ = geometry & 0xf;
    if ((std::uint64_t{slots_} << log_stride_) > kQueueBytes) {
        throw DriverError("the command queue does not fit a page");
    }
    if (queue_.value == 0) queue_ = host_.memory().allocate(kQueueBytes, kQueueBytes);
    host_.mmio_write32(byte_of(initial_seg::cmdq_phy_addr_63_32::kOffset),
                       static_cast<std::uint32_t>(queue_.value >> 32));
    host_.mmio_write32(low_at, static_cast<std::uint32_t>(queue_.value));
}

void CommandPort::abandon() {
    for (Slot& slot : state_) {
        free_boxes_.insert(free_boxes_.end(), slot.input_boxes.begin(), slot.input_boxes.end());
        free_boxes_.insert(free_boxes_.end(), slot.output_boxes.begin(), slot.output_boxes.end());
        slot = {};
    }
    completions_ = {};
}

std::uint32_t CommandPort::in_flight() const {
    return static_cast<std::uint32_t>(
        std::ranges::count_if(state_, [](const Slot& slot) { return slot.busy; }));
}

HostAddress CommandPort::take_box() {
    if (free_boxes_.empty()) {
        const HostAddress box = host_.memory().allocate(kBoxAlignment, kBoxAlignment);
        all_boxes_.push_back(box);
        return box;
    }
    const HostAddress box = free_boxes_.back();
    free_boxes_.pop_back();
    return box;
}

void CommandPort::fill_chain(std::span<const HostAddress> boxes, std::span<const std::byte> data,
                             std::uint8_t token) {
    std::array<std::byte, cmd_if_box::kBytes> bytes;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        bytes.fill(std::byte{0});
        const std::size_t from = std::min(data.size(), i * kBoxDataBytes);
        const auto part = data.subspan(from, std::min(data.size() - from, kBoxDataBytes));
        std::ranges::copy(part, bytes.begin());
        const prm::View<cmd_if_box> box(bytes);
        if (i + 1 < boxes.size()) {
            const std::uint64_t next = boxes[i + 1].value;
            box.set<cmd_if_box::next_pointer_63_32>(next >> 32);
            box.set<cmd_if_box::next_pointer_31_10>(static_cast<std::uint32_t>(next) >> 10);
        }
        box.set<cmd_if_box::block_number>(i);
        box.set<cmd_if_box::token>(token);
        if (make_signatures_) {
            const std::span<const std::byte> all(bytes);
            bytes[bytes.size() - 2] = ~xor_of(all.subspan(kControlStart, 62));
            bytes[bytes.size() - 1] = ~xor_of(all.first(bytes.size() - 1));
        }
        host_.memory().store(boxes[i], bytes);
    }
}

void CommandPort::prepare(std::uint32_t index, std::span<const std::byte> input,
                          std::size_t output_bytes, const Spoil& spoil) {
    Slot& slot = state_.at(index);
    if (index >= slots_ || slot.busy) {
        throw DriverError(fmt::format("command slot {} of {} is not free", index, slots_));
    }
    slot.busy = true;
    slot.reported = false;
    slot.opcode = input.size() < 2 ? std::uint16_t{0} : model::load_be<std::uint16_t>(input.data());
    slot.output_bytes = output_bytes;
    const auto boxes_for = [](std::size_t bytes) {
        return bytes <= kInlineBytes ? 0
                                     : (bytes - kInlineBytes + kBoxDataBytes - 1) / kBoxDataBytes;
    };
    for (std::size_t i = 0; i < boxes_for(input.size()); ++i)
        slot.input_boxes.push_back(take_box());
    for (std::size_t i = 0; i < boxes_for(output_bytes); ++i)
        slot.output_boxes.push_back(take_box());
    if (++token_ == 0) token_ = 1;
    const std::size_t in_line = std::min(input.size(), kInlineBytes);
    fill_chain(slot.input_boxes, input.subspan(in_line), token_);
    fill_chain(slot.output_boxes, {}, token_);

    std::array<std::byte, cmd_queue_entry::kBytes> bytes{};
    const prm::View<cmd_queue_entry> entry(bytes);
    entry.set<cmd_queue_entry::type>(kTransport);
    entry.set<cmd_queue_entry::input_length>(input.size());
    entry.set<cmd_queue_entry::output_length>(output_bytes);
    std::copy_n(input.begin(), in_line,
                entry.bytes<cmd_queue_entry::command_input_inline_data>().begin());
    if (!slot.input_boxes.empty()) {
        const std::uint64_t first = slot.input_boxes.front().value;
        entry.set<cmd_queue_entry::input_mailbox_pointer_63_32>(first >> 32);
        entry.set<cmd_queue_entry::input_mailbox_pointer_31_9>(static_cast<std::uint32_t>(first) >>
                                                               9);
    }
    if (!slot.output_boxes.empty()) {
        const std::uint64_t first = slot.output_boxes.front().value;
        entry.set<cmd_queue_entry::output_mailbox_pointer_63_32>(first >> 32);
        entry.set<cmd_queue_entry::output_mailbox_pointer_31_9>(static_cast<std::uint32_t>(first) >>
                                                                9);
    }
    entry.set<cmd_queue_entry::token>(token_);
    entry.set<cmd_queue_entry::ownership>(1U);
    if (make_signatures_) {
        entry.set<cmd_queue_entry::signature>(std::to_integer<unsigned>(~xor_of(bytes)));
    }
    host_.memory().store(entry_address(index), bytes);
    if (spoil) {
        spoil({host_.memory(), entry_address(index), slot.input_boxes, slot.output_boxes});
    }
}

void CommandPort::ring(std::uint32_t vector) {
    host_.mmio_write32(byte_of(initial_seg::command_doorbell_vector::kOffset), vector);
}

std::uint32_t CommandPort::submit(std::span<const std::byte> input, std::size_t output_bytes,
                                  const Spoil& spoil) {
    std::uint32_t index = 0;
    while (index < slots_ && state_[index].busy) ++index;
    if (index == slots_) {
        throw DriverError(slots_ == 0 ? std::string("the command interface is not open")
                                      : fmt::format("all {} command slots are busy", slots_));
    }
    prepare(index, input, output_bytes, spoil);
    ring(1U << index);
    return index;
}

bool CommandPort::finished(std::uint32_t index) {
    if (completions_) {
        const std::uint32_t ended = completions_();
        for (std::uint32_t i = 0; i < slots_; ++i) {
            if (((ended >> i) & 1) != 0) state_[i].reported = true;
        }
        return state_.at(index).reported;
    }
    std::array<std::byte, 1> status;
    host_.memory().load(entry_address(index) + (cmd_queue_entry::kBytes - 1), status);
    return (status[0] & std::byte{1}) == std::byte{0};
}

std::string CommandPort::stuck(std::uint32_t index) {
    std::array<std::byte, 1> status;
    host_.memory().load(entry_address(index) + (cmd_queue_entry::kBytes - 1), status);
    const bool owned = (status[0] & std::byte{1}) != std::byte{0};
    auto& function = host_.card().firmware().function(model::FunctionId{0});
    std::string text = fmt::format(
        "{} in slot {}: the driver waits for {} since {} s of simulated time; the entry belongs to "
        "the {}; the card works on {} command(s), has ignored {} doorbell(s) and could not reach "
        "{} entries; the function is {}",
        command_name(state_[index].opcode), index,
        completions_ ? "a command event" : "the ownership bit", options_.timeout.seconds(),
        owned ? "card" : "driver", function.commands().in_flight(),
        function.commands().counters().doorbells_ignored,
        function.commands().counters().entries_unreachable, to_string(function.phase()));
    if (function.health_syndrome != 0) {
        text += fmt::format("; its firmware has died with health syndrome {:#x}",
                            function.health_syndrome);
    }
    return text;
}

CommandResult CommandPort::wait(std::uint32_t index) {
    if (!state_.at(index).busy) {
        throw DriverError(fmt::format("nothing was started in command slot {}", index));
    }
    if (!host_.wait_until([&] { return finished(index); }, options_.timeout)) {
        throw DriverTimeout(stuck(index));
    }
    return collect(index);
}

CommandResult CommandPort::collect(std::uint32_t index) {
    Slot& slot = state_[index];
    std::array<std::byte, cmd_queue_entry::kBytes> bytes;
    host_.memory().load(entry_address(index), bytes);
    const prm::ConstView<cmd_queue_entry> entry(bytes);
    CommandResult result;
    result.opcode = slot.opcode;
    result.delivery = static_cast<prm::DeliveryStatus>(entry.get<cmd_queue_entry::status>());
    result.output.resize(slot.output_bytes);
    if (check_signatures_ && xor_of(bytes) != std::byte{0xff}) {
        throw DriverError(command_name(slot.opcode) + ": wrong signature of the queue entry");
    }
    const auto in_line = entry.bytes<cmd_queue_entry::command_output_inline_data>();
    const std::size_t first = std::min(result.output.size(), kInlineBytes);
    std::copy_n(in_line.begin(), first, result.output.begin());
    if (result.delivery == prm::DeliveryStatus::OK) {
        std::size_t filled = first;
        std::array<std::byte, cmd_if_box::kBytes> box;
        for (const HostAddress address : slot.output_boxes) {
            host_.memory().load(address, box);
            if (check_signatures_ && xor_of(box) != std::byte{0xff}) {
                throw DriverError(command_name(slot.opcode) + ": wrong signature of a mailbox");
            }
            const std::size_t part = std::min(result.output.size() - filled, kBoxDataBytes);
            std::copy_n(box.begin(), part,
                        result.output.begin() + static_cast<std::ptrdiff_t>(filled));
            filled += part;
        }
    }
    free_boxes_.insert(free_boxes_.end(), slot.input_boxes.begin(), slot.input_boxes.end());
    free_boxes_.insert(free_boxes_.end(), slot.output_boxes.begin(), slot.output_boxes.end());
    slot = {};
    return result;
}

CommandResult CommandPort::execute(std::span<const std::byte> input, std::size_t output_bytes) {
    return wait(submit(input, output_bytes));
}

void CommandPort::use_events(std::function<std::uint32_t()> completions) {
    completions_ = std::move(completions);
}

}  // namespace cxsim::scenarios
