// SPDX-License-Identifier: Apache-2.0
#include "roce/transport/memory.h"

#include "model/base/copy_bytes.h"

#include <algorithm>

namespace cxsim::roce {
namespace {

using model::DmaResult;
using model::DmaStatus;
using model::Picoseconds;

// Calls visit(range, offset in it, stretch of the message) until `bytes` are done.
template <class Range, class Visit>
DmaResult walk(std::span<const Range> ranges, RangeCursor& cursor, std::uint64_t offset,
               std::uint64_t bytes, Picoseconds at, Visit visit) {
    if (offset < cursor.offset) cursor = {};
    std::uint64_t skip = offset - cursor.offset;
    DmaResult result{DmaStatus::ok, at};
    std::uint64_t done = 0;
    while (done < bytes || skip > 0) {
        if (cursor.index == ranges.size()) return {DmaStatus::completer_abort, result.finish};
        const Range& range = ranges[cursor.index];
        const std::uint64_t left = range.bytes - cursor.used;
        if (left == 0) {
            ++cursor.index;
            cursor.used = 0;
            continue;
        }
        std::uint64_t n = std::min<std::uint64_t>(left, skip > 0 ? skip : bytes - done);
        if (skip > 0) {
            skip -= n;
        } else {
            const DmaResult one = visit(range, cursor.used, static_cast<std::size_t>(done),
                                        static_cast<std::size_t>(n));
            if (!one.ok()) return one;
            result.finish = std::max(result.finish, one.finish);
            done += n;
        }
        cursor.used += n;
        cursor.offset += n;
    }
    return result;
}

template <class Range>
Picoseconds look_up(model::ContextCaches* caches, std::span<const Range> ranges,
                    RangeCursor& cursor, std::uint64_t offset, std::uint64_t bytes,
                    Picoseconds at) {
    if (caches == nullptr) return at;
    return walk(ranges, cursor, offset, bytes, at,
                [&](const Range& range, std::uint64_t used, std::size_t, std::size_t n) {
                    return DmaResult{DmaStatus::ok, caches->memory(range.origin, used, n, at)};
                })
        .finish;
}

// Consecutive packets ask for consecutive stretches.
template <class Range>
void look_up_ahead(model::ContextCaches* caches, std::span<const Range> ranges, RangeCursor& cursor,
                   const Stretch& packet, std::uint64_t message, Picoseconds at) {
    if (caches == nullptr || caches->ahead() == 0) return;
    const std::uint64_t end = packet.offset + packet.bytes;
    const std::uint64_t from = packet.offset == 0 ? end : packet.offset + caches->ahead();
    const std::uint64_t to = std::min(message, end + caches->ahead());
    if (from < to) look_up(caches, ranges, cursor, from, to - from, at);
}

}  // namespace

DmaResult gather(model::HostBus& host, model::FunctionId function, Picoseconds at,
                 std::span<const model::PayloadPiece> pieces, std::span<const std::byte> wqe,
                 RangeCursor& cursor, std::uint64_t offset, std::span<std::byte> into) {
    return walk(pieces, cursor, offset, into.size(), at,
                [&](const model::PayloadPiece& piece, std::uint64_t used, std::size_t done,
                    std::size_t n) -> DmaResult {
                    const auto part = into.subspan(done, n);
                    if (piece.in_wqe) {
                        model::copy_bytes(
                            wqe.subspan(piece.wqe_offset + static_cast<std::size_t>(used), n),
                            part.data());
                        return {DmaStatus::ok, at};
                    }
                    if (piece.zeros) {
                        std::ranges::fill(part, std::byte{0});
                        return {DmaStatus::ok, at};
                    }
                    return host.read(function, at, piece.address + used, part);
                });
}

DmaResult gather(model::HostBus& host, model::FunctionId function, Picoseconds at,
                 std::span<const model::HostRange> ranges, RangeCursor& cursor,
                 std::uint64_t offset, std::span<std::byte> into) {
    return walk(ranges, cursor, offset, into.size(), at,
                [&](const model::HostRange& range, std::uint64_t used, std::size_t done,
                    std::size_t n) -> DmaResult {
                    const auto part = into.subspan(done, n);
                    if (range.zeros) {
                        std::ranges::fill(part, std::byte{0});
                        return {DmaStatus::ok, at};
                    }
                    return host.read(function, at, range.address + used, part);
                });
}

DmaResult scatter(model::HostBus& host, model::FunctionId function, Picoseconds at,
                  std::span<const model::PayloadPiece> pieces, RangeCursor& cursor,
                  std::uint64_t offset, std::span<const std::byte> from) {
    return walk(pieces, cursor, offset, from.size(), at,
                [&](const model::PayloadPiece& piece, std::uint64_t used, std::size_t done,
                    std::size_t n) -> DmaResult {
                    if (piece.zeros || piece.in_wqe) return {DmaStatus::ok, at};
                    return host.write(function, at, piece.address + used, from.subspan(done, n));
                });
}

DmaResult scatter(model::HostBus& host, model::FunctionId function, Picoseconds at,
                  std::span<const model::HostRange> ranges, RangeCursor& cursor,
                  std::uint64_t offset, std::span<const std::byte> from) {
    return walk(ranges, cursor, offset, from.size(), at,
                [&](const model::HostRange& range, std::uint64_t used, std::size_t done,
                    std::size_t n) -> DmaResult {
                    if (range.zeros) return {DmaStatus::ok, at};
                    return host.write(function, at, range.address + used, from.subspan(done, n));
                });
}

Picoseconds translated(model::ContextCaches* caches, std::span<const model::PayloadPiece> pieces,
                       RangeCursor cursor, std::uint64_t offset, std::uint64_t bytes,
                       Picoseconds at) {
    return look_up(caches, pieces, cursor, offset, bytes, at);
}

Picoseconds translated(model::ContextCaches* caches, std::span<const model::HostRange> ranges,
                       RangeCursor cursor, std::uint64_t offset, std::uint64_t bytes,
                       Picoseconds at) {
    return look_up(caches, ranges, cursor, offset, bytes, at);
}

void translate_ahead(model::ContextCaches* caches, std::span<const model::PayloadPiece> pieces,
                     RangeCursor cursor, const Stretch& packet, std::uint64_t message,
                     Picoseconds at) {
    look_up_ahead(caches, pieces, cursor, packet, message, at);
}

void translate_ahead(model::ContextCaches* caches, std::span<const model::HostRange> ranges,
                     RangeCursor cursor, const Stretch& packet, std::uint64_t message,
                     Picoseconds at) {
    look_up_ahead(caches, ranges, cursor, packet, message, at);
}

}  // namespace cxsim::roce
