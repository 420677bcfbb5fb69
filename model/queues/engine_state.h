// SPDX-License-Identifier: Apache-2.0
// What the parts of the queue engines share inside this folder.
#pragma once

#include "model/memory/context_caches.h"
#include "model/queues/queue_context.h"
#include "model/queues/queue_counters.h"
#include "model/queues/queue_ports.h"
#include "model/queues/translation.h"

#include <algorithm>
#include <cstdint>

namespace cxsim::model {

class Transport;

struct EngineState {
    explicit EngineState(const QueueContext& c) : context(c), translator(c) {}

    QueueContext context;
    QueueCounters counters;
    Translator translator;
    PacketSink* sink = nullptr;
    Transport* transport = nullptr;
    QueueListener* listener = nullptr;

    Calendar& calendar() { return context.calendar; }

    /// When the card has the context of a QP, SQ, RQ or CQ for what is ready at `at`.
    Picoseconds context_of(ContextKind kind, std::uint32_t number, Picoseconds at) {
        return context.caches == nullptr ? at : context.caches->context(kind, number, at);
    }
    /// When it has the key and the translations of a stretch of memory.
    Picoseconds translations_of(const TranslationOrigin& origin, std::uint64_t offset,
                                std::uint64_t bytes, Picoseconds at) {
        return context.caches == nullptr ? at
                                         : context.caches->memory(origin, offset, bytes, at);
    }
    /// A key was changed or freed by a work request.
    void key_changed(std::uint32_t key) {
        if (context.caches != nullptr) context.caches->invalidate(ContextKind::mkey, key >> 8);
    }

    /// Marks an object as one that calendar events may name. Tags are never used twice, so an
    /// event that outlived its object (or its object's reset) finds another tag and does nothing.
    std::uint64_t tag(std::uint64_t& of_object) {
        if (of_object == 0) of_object = ++last_tag_;
        return of_object;
    }
    void void_events(std::uint64_t& of_object) { of_object = ++last_tag_; }

    /// Never before the calendar's now, whatever a caller computed.
    Picoseconds not_before_now(Picoseconds at) { return std::max(at, context.calendar.now()); }

  private:
    std::uint64_t last_tag_ = 0;
};

/// Whether `bytes` at `offset` of a ring lie inside the pages that the driver gave.
inline bool ring_holds(const HostRing& ring, std::uint64_t offset, std::uint64_t bytes) {
    return !ring.pages().empty() && offset + bytes <= ring.capacity();
}

}  // namespace cxsim::model
