// SPDX-License-Identifier: Apache-2.0
// Commands as a driver lays them out in host memory: queue entries, mailbox chains, signatures.
// Everything lies at known addresses, so that a test can spoil any byte before the doorbell.
#pragma once

#include "firmware_stub/mailbox/command_queue.h"
#include "model/base/endian.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cxsim::test {

/// `Memory` has peek(address, span) and poke(address, span).
template <class Memory>
class CommandHost {
  public:
    using Queue = firmware_stub::CommandQueue;

    // Offsets in an entry and in the control part of a mailbox block.
    static constexpr std::uint64_t kType = 0, kInputLength = 4, kInputPointer = 8,
                                   kInputInline = 16, kOutputInline = 32, kOutputPointer = 48,
                                   kOutputLength = 56, kToken = 60, kSignature = 61,
                                   kStatusOwn = 63;
    static constexpr std::uint64_t kNext = 560, kBlockNumber = 568, kBlockToken = 573,
                                   kControlSignature = 574, kBlockSignature = 575;
    static constexpr std::uint64_t kBlockDistance = 1024;

    struct Places {
        std::uint64_t queue = 0x100000;
        std::uint64_t mailboxes = 0x1000000;
        std::uint64_t bytes_per_chain = 0x800000;  ///< room for the longest command
    };

    explicit CommandHost(Memory& memory) : CommandHost(memory, Places{}) {}
    CommandHost(Memory& memory, const Places& places) : memory_(memory), places_(places) {}

    bool signatures = false;  ///< cmdif_checksum: blocks are signed, too

    std::uint64_t queue() const { return places_.queue; }
    std::uint64_t entry(std::uint32_t slot) const { return places_.queue + slot * 64ULL; }
    std::uint64_t input_block(std::uint32_t slot, std::size_t n) const {
        return places_.mailboxes + (2ULL * slot) * places_.bytes_per_chain + n * kBlockDistance;
    }
    std::uint64_t output_block(std::uint32_t slot, std::size_t n) const {
        return input_block(slot, n) + places_.bytes_per_chain;
    }
    static std::size_t blocks(std::size_t length) {
        if (length <= Queue::kInlineBytes) return 0;
        return (length - Queue::kInlineBytes + Queue::kBlockDataBytes - 1) /
               Queue::kBlockDataBytes;
    }

    /// Entry and chains, owned by hardware; the doorbell is left to the caller.
    void post(std::uint32_t slot, std::span<const std::byte> input, std::size_t output_length) {
        const auto token = static_cast<std::uint8_t>(0x40 + slot);
        output_length_[slot] = output_length;
        std::array<std::byte, 64> bytes{};
        bytes[kType] = std::byte{7};
        model::store_be<std::uint32_t>(bytes.data() + kInputLength,
                                       static_cast<std::uint32_t>(input.size()));
        model::store_be<std::uint32_t>(bytes.data() + kOutputLength,
                                       static_cast<std::uint32_t>(output_length));
        const std::size_t inline_part = std::min(input.size(), Queue::kInlineBytes);
        std::copy_n(input.begin(), inline_part, bytes.begin() + kInputInline);
        if (blocks(input.size()) > 0) {
            model::store_be<std::uint64_t>(bytes.data() + kInputPointer, input_block(slot, 0));
        }
        if (blocks(output_length) > 0) {
            model::store_be<std::uint64_t>(bytes.data() + kOutputPointer, output_block(slot, 0));
        }
        bytes[kToken] = std::byte{token};
        bytes[kStatusOwn] = std::byte{1};
        bytes[kSignature] = ~sum(bytes);
        memory_.poke(entry(slot), bytes);
        for (const bool out : {false, true}) {
            const std::size_t count = blocks(out ? output_length : input.size());
            for (std::size_t n = 0; n < count; ++n) {
                std::array<std::byte, Queue::kBlockBytes> block{};
                if (!out) {
                    const std::size_t from = Queue::kInlineBytes + n * Queue::kBlockDataBytes;
                    std::copy_n(input.begin() + static_cast<std::ptrdiff_t>(from),
                                std::min(input.size() - from, Queue::kBlockDataBytes),
                                block.begin());
                }
                const auto place = [&](std::size_t i) {
                    return out ? output_block(slot, i) : input_block(slot, i);
                };
                model::store_be<std::uint64_t>(block.data() + kNext,
                                               n + 1 < count ? place(n + 1) : 0);
                model::store_be<std::uint32_t>(block.data() + kBlockNumber,
                                               static_cast<std::uint32_t>(n));
                block[kBlockToken] = std::byte{token};
                if (signatures) {
                    const std::span<std::byte> all(block);
                    block[kControlSignature] = ~sum(all.subspan(Queue::kBlockDataBytes, 62));
                    block[kBlockSignature] = ~sum(all.first(kBlockSignature));
                }
                memory_.poke(place(n), block);
            }
        }
    }

    std::uint8_t byte(std::uint64_t address) const {
        std::array<std::byte, 1> value{};
        memory_.peek(address, value);
        return std::to_integer<std::uint8_t>(value[0]);
    }
    void set_byte(std::uint64_t address, std::uint8_t value) {
        memory_.poke(address, std::array{std::byte{value}});
    }

    bool owned_by_hardware(std::uint32_t slot) const {
        return (byte(entry(slot) + kStatusOwn) & 1) != 0;
    }
    firmware_stub::DeliveryStatus delivery(std::uint32_t slot) const {
        return static_cast<firmware_stub::DeliveryStatus>(byte(entry(slot) + kStatusOwn) >> 1);
    }

    /// The output as the entry and the output chain hold it now.
    std::vector<std::byte> output(std::uint32_t slot) const {
        std::vector<std::byte> bytes(output_length_[slot]);
        const std::span<std::byte> all(bytes);
        const std::size_t inline_part = std::min(bytes.size(), Queue::kInlineBytes);
        memory_.peek(entry(slot) + kOutputInline, all.first(inline_part));
        for (std::size_t n = 0; n < blocks(bytes.size()); ++n) {
            const std::size_t from = Queue::kInlineBytes + n * Queue::kBlockDataBytes;
            memory_.peek(output_block(slot, n),
                         all.subspan(from, std::min(bytes.size() - from, Queue::kBlockDataBytes)));
        }
        return bytes;
    }

    /// What the driver checks when signatures are on: entry and all blocks of both chains.
    bool signatures_verify(std::uint32_t slot, std::size_t input_length) const {
        std::array<std::byte, 64> bytes{};
        memory_.peek(entry(slot), bytes);
        bool good = sum(bytes) == std::byte{0xff};
        for (const bool out : {false, true}) {
            const std::size_t count = blocks(out ? output_length_[slot] : input_length);
            for (std::size_t n = 0; n < count; ++n) {
                std::array<std::byte, Queue::kBlockBytes> block{};
                memory_.peek(out ? output_block(slot, n) : input_block(slot, n), block);
                const std::span<const std::byte> all(block);
                good &= sum(all) == std::byte{0xff};
                good &= sum(all.subspan(Queue::kBlockDataBytes, 63)) == std::byte{0xff};
            }
        }
        return good;
    }

    static std::byte sum(std::span<const std::byte> bytes) {
        std::byte value{0};
        for (const std::byte b : bytes) value ^= b;
        return value;
    }

  private:
    Memory& memory_;
    Places places_;
    std::array<std::size_t, Queue::kSlots> output_length_{};
};

}  // namespace cxsim::test
