// SPDX-License-Identifier: Apache-2.0
// Message payload in host memory: reading and writing a stretch of a list of ranges.
#pragma once

#include "model/memory/context_caches.h"
#include "model/ports/host_bus.h"
#include "model/queues/queue_ports.h"
#include "model/queues/translation.h"

#include <cstdint>
#include <span>

namespace cxsim::roce {

/// A place in a list of ranges; moving on is cheap, going back starts from the front.
struct RangeCursor {
    std::size_t index = 0;
    std::uint64_t used = 0;    ///< of ranges[index]
    std::uint64_t offset = 0;  ///< in the message
};

/// Reads `into.size()` bytes at `offset` of the message that `pieces` describe; `wqe` holds the
/// bytes of pieces that are `in_wqe` (their wqe_offset counts from its begin). Zero pieces read as
/// zeros. All reads start at `at`; the result says when the last is there.
model::DmaResult gather(model::HostBus& host, model::FunctionId function, model::Picoseconds at,
                        std::span<const model::PayloadPiece> pieces,
                        std::span<const std::byte> wqe, RangeCursor& cursor, std::uint64_t offset,
                        std::span<std::byte> into);
/// The same from ranges of a translation.
model::DmaResult gather(model::HostBus& host, model::FunctionId function, model::Picoseconds at,
                        std::span<const model::HostRange> ranges, RangeCursor& cursor,
                        std::uint64_t offset, std::span<std::byte> into);

/// Writes `from` at `offset` of the message; what falls on zero ranges vanishes.
model::DmaResult scatter(model::HostBus& host, model::FunctionId function, model::Picoseconds at,
                         std::span<const model::PayloadPiece> pieces, RangeCursor& cursor,
                         std::uint64_t offset, std::span<const std::byte> from);
model::DmaResult scatter(model::HostBus& host, model::FunctionId function, model::Picoseconds at,
                         std::span<const model::HostRange> ranges, RangeCursor& cursor,
                         std::uint64_t offset, std::span<const std::byte> from);

/// When the keys and translations of `bytes` bytes at `offset` are at hand. Moves no cursor, as the
/// access itself comes later. `caches` may be null.
model::Picoseconds translated(model::ContextCaches* caches,
                              std::span<const model::PayloadPiece> pieces, RangeCursor cursor,
                              std::uint64_t offset, std::uint64_t bytes, model::Picoseconds at);
model::Picoseconds translated(model::ContextCaches* caches,
                              std::span<const model::HostRange> ranges, RangeCursor cursor,
                              std::uint64_t offset, std::uint64_t bytes, model::Picoseconds at);

/// Of a message, what a packet takes of it.
struct Stretch {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

/// Asks for the keys and translations that packets behind this one of the same message need, as far
/// as the card looks ahead. `message`: its bytes. Nobody waits for them here.
void translate_ahead(model::ContextCaches* caches, std::span<const model::PayloadPiece> pieces,
                     RangeCursor cursor, const Stretch& packet, std::uint64_t message,
                     model::Picoseconds at);
void translate_ahead(model::ContextCaches* caches, std::span<const model::HostRange> ranges,
                     RangeCursor cursor, const Stretch& packet, std::uint64_t message,
                     model::Picoseconds at);

}  // namespace cxsim::roce
