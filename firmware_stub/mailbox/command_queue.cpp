// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/mailbox/command_queue.h"

#include <algorithm>

#include "model/base/endian.h"
#include "model/prm/view.h"
#include "prm/layouts.h"

namespace cxsim::firmware_stub {

using model::EventArguments;
using model::HostAddress;
using model::Picoseconds;

namespace {

using Entry = prm::cmd_queue_entry;
using Box = prm::cmd_if_box;
using EntryView = prm::ConstView<Entry>;

template <class Member>
constexpr std::size_t kByte = Member::kOffset / 8;

// Pointers are taken whole, with the low bits that must be zero.
constexpr std::size_t kEntryInputPointer = kByte<Entry::input_mailbox_pointer_63_32>;
constexpr std::size_t kEntryInputInline = kByte<Entry::command_input_inline_data>;
constexpr std::size_t kEntryOutputInline = kByte<Entry::command_output_inline_data>;
constexpr std::size_t kEntryOutputPointer = kByte<Entry::output_mailbox_pointer_63_32>;

// A mailbox block: its data, then its control part, which is also read alone.
constexpr std::size_t kBlockControl = CommandQueue::kBlockDataBytes;
constexpr std::size_t kControlBytes = CommandQueue::kBlockBytes - kBlockControl;
constexpr std::size_t kControlNext = kByte<Box::next_pointer_63_32> - kBlockControl;
constexpr std::size_t kControlBlockNumber = kByte<Box::block_number> - kBlockControl;
constexpr std::size_t kControlToken = kByte<Box::token> - kBlockControl;
constexpr std::size_t kControlControlSignature = kByte<Box::ctrl_signature> - kBlockControl;
constexpr std::size_t kControlSignature = kByte<Box::signature> - kBlockControl;

static_assert(CommandQueue::kEntryBytes == Entry::kBytes);
static_assert(CommandQueue::kInlineBytes == Entry::command_input_inline_data::kCount);
static_assert(CommandQueue::kInlineBytes == Entry::command_output_inline_data::kCount);
static_assert(CommandQueue::kBlockBytes == Box::kBytes);
static_assert(CommandQueue::kBlockDataBytes == Box::mailbox_data::kCount);

constexpr std::uint32_t kCommandType = 0x7;  // PCI command interface transport
constexpr std::uint64_t kBlockAlignment = 512;

std::uint8_t xor_of(std::span<const std::byte> bytes) {
    std::byte sum{0};
    for (const std::byte b : bytes) sum ^= b;
    return std::to_integer<std::uint8_t>(sum);
}

std::size_t blocks_of(std::size_t length) {
    if (length <= CommandQueue::kInlineBytes) return 0;
    return (length - CommandQueue::kInlineBytes + CommandQueue::kBlockDataBytes - 1) /
           CommandQueue::kBlockDataBytes;
}

}  // namespace

CommandQueue::CommandQueue(model::FunctionId function, model::HostBus& host,
                           model::Calendar& calendar, CommandExecutor& executor,
                           std::size_t processors)
    : function_(function),
      host_(host),
      calendar_(calendar),
      executor_(executor),
      processors_(processors) {}

void CommandQueue::configure(HostAddress address, std::uint32_t log_size,
                             std::uint32_t log_stride) {
    address_ = address;
    log_size_ = log_size;
    log_stride_ = log_stride;
    configured_ = true;
}

void CommandQueue::stop() {
    ++epoch_;
    configured_ = false;
    in_flight_ = 0;
    for (Slot& slot : slots_) slot.busy = false;
    processors_.reset();
}

void CommandQueue::reset() {
    stop();
    check_signatures_ = false;
}

void CommandQueue::doorbell(Picoseconds arrival, std::uint32_t vector) {
    ++counters_.doorbells;
    for (std::uint32_t index = 0; index < kSlots; ++index) {
        if (((vector >> index) & 1) == 0) continue;
        Slot& slot = slots_[index];
        if (!configured_ || index >= (1U << log_size_) || slot.busy) {
            ++counters_.doorbells_ignored;
            continue;
        }
        slot.busy = true;
        slot.status = DeliveryStatus::OK;
        slot.started = arrival;
        slot.command = {};
        slot.command.slot = index;
        slot.command.doorbell = arrival;
        slot.output_blocks.clear();
        slot.output_controls.clear();
        ++in_flight_;
        executor_.accepted(slot.command);
        calendar_.schedule<&CommandQueue::start>(arrival, this, {index, epoch_, 0});
    }
}

void CommandQueue::start(const EventArguments& words) {
    if (words.b != epoch_) return;
    fetch(static_cast<std::uint32_t>(words.a));
}

bool CommandQueue::read(Picoseconds& at, HostAddress address, std::span<std::byte> into) {
    const model::DmaResult result = host_.read(function_, at, address, into);
    at = std::max(at, result.finish);
    if (result.ok()) counters_.dma_read_bytes += into.size();
    return result.ok();
}

bool CommandQueue::write(Picoseconds& at, HostAddress address, std::span<const std::byte> from) {
    const model::DmaResult result = host_.write(function_, at, address, from);
    at = std::max(at, result.finish);
    if (result.ok()) counters_.dma_written_bytes += from.size();
    return result.ok();
}

void CommandQueue::fetch(std::uint32_t index) {
    Slot& slot = slots_[index];
    Picoseconds at = calendar_.now();
    if (!read(at, entry_address(index), slot.entry)) {
        // Nowhere to report to: real cards stay silent too and the driver times out.
        ++counters_.entries_unreachable;
        slot.busy = false;
        --in_flight_;
        return;
    }
    const EntryView entry(slot.entry);
    if (entry.get<Entry::ownership>() == 0) {
        // Still owned by software: the doorbell was rung for nothing.
        ++counters_.doorbells_ignored;
        slot.busy = false;
        --in_flight_;
        return;
    }
    const std::uint32_t input_length = entry.get<Entry::input_length>();
    const std::uint32_t output_length = entry.get<Entry::output_length>();
    // Between the type and the length.
    const bool reserved_clear = std::all_of(
        slot.entry.begin() + kByte<Entry::type> + 1,
        slot.entry.begin() + kByte<Entry::input_length>, [](std::byte b) { return b == std::byte{0}; });

    DeliveryStatus status = DeliveryStatus::OK;
    if (entry.get<Entry::type>() != kCommandType) {
        status = DeliveryStatus::CMD_DESCR_ERR;
    } else if (check_signatures_ && xor_of(slot.entry) != 0xff) {
        status = DeliveryStatus::SIGNAT_ERR;
    } else if (!reserved_clear) {
        status = DeliveryStatus::RES_FLD_NOT_CLR_ERR;
    } else if (input_length < 8 || input_length > kMaxLength) {
        status = DeliveryStatus::IN_LENGTH_ERR;
    } else if (output_length < 8 || output_length > kMaxLength) {
        status = DeliveryStatus::OUT_LENGTH_ERR;
    }
    if (status == DeliveryStatus::OK) {
        slot.command.input.resize(input_length);
        slot.command.output.assign(output_length, std::byte{0});
        status = fetch_input(slot, at);
    }
    if (status == DeliveryStatus::OK) status = fetch_output_chain(slot, at);
    slot.status = status;
    if (status != DeliveryStatus::OK) {
        schedule_completion(index, at);
        return;
    }
    const Picoseconds begin = processors_.available(at);
    const Picoseconds end = begin + executor_.latency(slot.command);
    processors_.occupy_until(end);
    calendar_.schedule<&CommandQueue::execute>(end, this, {index, epoch_, 0});
}

DeliveryStatus CommandQueue::fetch_input(Slot& slot, Picoseconds& at) {
    std::vector<std::byte>& input = slot.command.input;
    const std::byte token{static_cast<unsigned char>(EntryView(slot.entry).get<Entry::token>())};
    const std::size_t inline_bytes = std::min(input.size(), kInlineBytes);
    std::copy_n(slot.entry.begin() + kEntryInputInline, inline_bytes, input.begin());

    std::array<std::byte, kBlockBytes> block;
    std::uint64_t pointer = model::load_be<std::uint64_t>(slot.entry.data() + kEntryInputPointer);
    std::size_t filled = inline_bytes;
    for (std::uint32_t number = 0; filled < input.size(); ++number) {
        if (pointer == 0 || pointer % kBlockAlignment != 0) {
            return DeliveryStatus::IN_PTR_ALIGN_ERR;
        }
        if (!read(at, HostAddress{pointer}, block)) return DeliveryStatus::IN_PTR_ALIGN_ERR;
        const std::byte* control = block.data() + kBlockControl;
        if (check_signatures_ &&
            (xor_of({control, kControlBytes - 1}) != 0xff || xor_of(block) != 0xff)) {
            return DeliveryStatus::SIGNAT_ERR;
        }
        if (control[kControlToken] != token) return DeliveryStatus::TOK_ERR;
        if (model::load_be<std::uint32_t>(control + kControlBlockNumber) != number) {
            return DeliveryStatus::BAD_BLK_NUM;
        }
        const std::size_t part = std::min(input.size() - filled, kBlockDataBytes);
        std::copy_n(block.begin(), part, input.begin() + static_cast<std::ptrdiff_t>(filled));
        filled += part;
        pointer = model::load_be<std::uint64_t>(control + kControlNext);
    }
    return DeliveryStatus::OK;
}

// The control part of each output block is read before the command runs: a command whose output
// cannot be delivered must not take effect.
DeliveryStatus CommandQueue::fetch_output_chain(Slot& slot, Picoseconds& at) {
    const std::byte token{static_cast<unsigned char>(EntryView(slot.entry).get<Entry::token>())};
    std::uint64_t pointer =
        model::load_be<std::uint64_t>(slot.entry.data() + kEntryOutputPointer);
    const std::size_t blocks = blocks_of(slot.command.output.size());
    for (std::uint32_t number = 0; number < blocks; ++number) {
        if (pointer == 0 || pointer % kBlockAlignment != 0) {
            return DeliveryStatus::OUT_PTR_ALIGN_ERR;
        }
        auto& control = slot.output_controls.emplace_back();
        if (!read(at, HostAddress{pointer} + kBlockDataBytes, control)) {
            return DeliveryStatus::OUT_PTR_ALIGN_ERR;
        }
        if (control[kControlToken] != token) return DeliveryStatus::TOK_ERR;
        if (model::load_be<std::uint32_t>(control.data() + kControlBlockNumber) != number) {
            return DeliveryStatus::BAD_BLK_NUM;
        }
        slot.output_blocks.push_back({pointer});
        pointer = model::load_be<std::uint64_t>(control.data() + kControlNext);
    }
    return DeliveryStatus::OK;
}

void CommandQueue::execute(const EventArguments& words) {
    if (words.b != epoch_) return;
    const auto index = static_cast<std::uint32_t>(words.a);
    Slot& slot = slots_[index];
    ++counters_.commands;
    executor_.execute(slot.command);
    if (words.b != epoch_) return;  // the command reset its own function
    Picoseconds at = calendar_.now();
    if (!write_output(slot, at)) slot.status = DeliveryStatus::OUT_PTR_ALIGN_ERR;
    schedule_completion(index, at);
}

bool CommandQueue::write_output(Slot& slot, Picoseconds& at) {
    const std::vector<std::byte>& output = slot.command.output;
    const std::size_t inline_bytes = std::min(output.size(), kInlineBytes);
    std::copy_n(output.begin(), inline_bytes, slot.entry.begin() + kEntryOutputInline);
    std::array<std::byte, kBlockBytes> block;
    for (std::size_t i = 0; i < slot.output_blocks.size(); ++i) {
        const std::size_t from = kInlineBytes + i * kBlockDataBytes;
        const std::size_t part = std::min(output.size() - from, kBlockDataBytes);
        block.fill(std::byte{0});
        std::copy_n(output.begin() + static_cast<std::ptrdiff_t>(from), part, block.begin());
        std::copy(slot.output_controls[i].begin(), slot.output_controls[i].end(),
                  block.begin() + kBlockControl);
        if (check_signatures_) {
            std::byte* control = block.data() + kBlockControl;
            control[kControlControlSignature] = std::byte{0};
            control[kControlSignature] = std::byte{0};
            control[kControlControlSignature] =
                ~std::byte{xor_of({control, kControlControlSignature})};
            control[kControlSignature] = ~std::byte{xor_of({block.data(), kBlockBytes - 1})};
        }
        if (!write(at, slot.output_blocks[i], block)) return false;
    }
    return true;
}

void CommandQueue::schedule_completion(std::uint32_t index, Picoseconds at) {
    if (slots_[index].status != DeliveryStatus::OK) ++counters_.delivery_errors;
    calendar_.schedule<&CommandQueue::complete>(at, this, {index, epoch_, 0});
}

void CommandQueue::complete(const EventArguments& words) {
    if (words.b != epoch_) return;
    const auto index = static_cast<std::uint32_t>(words.a);
    Slot& slot = slots_[index];
    const prm::View<Entry> entry(slot.entry);
    entry.set<Entry::status>(slot.status);
    entry.set<Entry::ownership>(0U);  // software's
    entry.set<Entry::signature>(0U);
    if (check_signatures_) {
        entry.set<Entry::signature>(static_cast<std::uint8_t>(~xor_of(slot.entry)));
    }
    Picoseconds at = calendar_.now();
    if (!write(at, entry_address(index), slot.entry)) ++counters_.entries_unreachable;
    slot.busy = false;
    --in_flight_;
    executor_.completed(slot.command, slot.status);
}

}  // namespace cxsim::firmware_stub
