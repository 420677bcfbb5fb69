// SPDX-License-Identifier: Apache-2.0
#include "model/queues/event_queues.h"

#include "model/base/assert.h"
#include "prm/layouts.h"

#include <algorithm>
#include <array>

namespace cxsim::model {
namespace {

constexpr std::uint32_t kCounterMask = 0xffffff;
constexpr std::uint32_t kStatusWriteFailure = 0xa;  // eqc.status
constexpr std::uint32_t kStateArmed = 0x9;          // eqc.st
constexpr std::uint32_t kStateFired = 0xa;

}  // namespace

bool EventQueues::post(Eq& eq, Picoseconds at, prm::EventType type, std::uint8_t subtype,
                       std::span<const std::byte> data) {
    CX_ASSERT(data.size() <= prm::event_auto::kBytes, "event data of {} bytes", data.size());
    QueueCounters& counters = state_.counters;
    if (eq.overrun) {
        ++counters.eqes_dropped;
        return false;
    }
    const std::uint32_t used = (eq.producer - eq.consumer) & kCounterMask;
    if (used >= eq.entries() && eq.view().get<prm::eqc::oi>() == 0) {
        eq.overrun = true;
        eq.view().set<prm::eqc::status>(kStatusWriteFailure);
        ++counters.eq_overruns;
        if (eq.event_bitmask != decltype(eq.event_bitmask){}) ++counters.async_eq_overruns;
        ++counters.eqes_dropped;
        if (state_.listener != nullptr) state_.listener->eq_overrun(eq, at);
        return false;
    }

    std::array<std::byte, prm::eqe::kBytes> bytes{};
    const prm::View<prm::eqe> eqe(bytes);
    eqe.set<prm::eqe::event_type>(type);
    eqe.set<prm::eqe::event_sub_type>(subtype);
    std::ranges::copy(data, eqe.bytes<prm::eqe::event_data>().begin());
    // The driver fills the ring with owner 1 and takes an entry whose owner is its lap's parity.
    eqe.set<prm::eqe::owner>((eq.producer >> eq.log_size) & 1);

    const std::uint64_t offset = std::uint64_t{eq.producer & (eq.entries() - 1)} * prm::eqe::kBytes;
    const Picoseconds start = eq.written =
        std::max(state_.not_before_now(at) + state_.context.timing.event_write, eq.written);
    if (!ring_holds(eq.ring, offset, bytes.size()) ||
        !state_.context.host.write(state_.context.function, start, eq.ring.address(offset), bytes)
             .ok()) {
        // The producer stays: a host that answers again (bus mastering) finds no hole.
        ++counters.eqes_dropped;
        return false;
    }
    ++eq.producer;
    ++counters.eqes;
    ++counters.events[static_cast<std::size_t>(type)];
    if (eq.armed) raise(eq, start);
    return true;
}

unsigned EventQueues::post_event(Picoseconds at, prm::EventType type, std::uint8_t subtype,
                                 std::span<const std::byte> data) {
    unsigned taken = 0;
    state_.context.resources.eqs.for_each([&](Eq& eq) {
        if (eq.takes(static_cast<std::uint8_t>(type)) && post(eq, at, type, subtype, data)) ++taken;
    });
    if (taken == 0) ++state_.counters.events_untaken;
    return taken;
}

void EventQueues::consumer_update(Eq& eq, Picoseconds at, std::uint32_t consumer, bool arm) {
    eq.consumer = consumer & kCounterMask;
    if (!arm) return;
    eq.armed = true;
    if ((eq.producer & kCounterMask) != eq.consumer) {
        raise(eq, std::max(state_.not_before_now(at), eq.written));
    }
}

void EventQueues::raise(Eq& eq, Picoseconds at) {
    eq.armed = false;
    ++state_.counters.interrupts;
    state_.context.host.raise_interrupt(state_.context.function, at, eq.vector);
}

void EventQueues::refresh(Eq& eq) const {
    const auto view = eq.view();
    view.set<prm::eqc::producer_counter>(eq.producer & kCounterMask);
    view.set<prm::eqc::consumer_counter>(eq.consumer);
    view.set<prm::eqc::st>(eq.armed ? kStateArmed : kStateFired);
}

}  // namespace cxsim::model
