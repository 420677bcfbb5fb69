// SPDX-License-Identifier: Apache-2.0
// The calendar queue of pending model events: pooled 64-byte events, O(1) insert and removal
// whatever the number of pending ones (R. Brown, CACM 31(10), 1988). One SystemC event drives it
// (model/sim/kernel.h); a unit test drives it alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/base/units.h"

namespace cxsim::model {

/// Three words that an event hands to its handler.
struct EventArguments {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::uint64_t c = 0;
};

/// Names a scheduled event for cancel(); default-constructed: none. Stays safe after the event ran.
struct EventHandle {
    void* event = nullptr;
    std::uint64_t sequence = 0;
};

class Calendar {
  public:
    using Handler = void (*)(void* self, const EventArguments& arguments);

    Calendar();
    ~Calendar();
    Calendar(const Calendar&) = delete;
    Calendar& operator=(const Calendar&) = delete;

    /// Time of the event that runs or ran last. Never goes back.
    Picoseconds now() const { return now_; }

    /// Runs `handler(self, arguments)` at `time`, which must not lie before now(). Events of equal
    /// time run in the order in which they were scheduled. Allocates only when the pool grows.
    EventHandle schedule(Picoseconds time, Handler handler, void* self,
                         const EventArguments& arguments = {});

    /// The same for a member function: schedule<&Port::sent>(time, this, {bytes}).
    template <auto Method, class T>
    EventHandle schedule(Picoseconds time, T* self, const EventArguments& arguments = {}) {
        return schedule(
            time,
            [](void* object, const EventArguments& words) {
                (static_cast<T*>(object)->*Method)(words);
            },
            self, arguments);
    }

    /// Takes back an event that has not run; false if it ran or was cancelled before.
    bool cancel(EventHandle handle);

    bool empty() const { return live_ == 0; }
    std::size_t pending() const { return live_; }
    /// Time of the earliest pending event, Picoseconds::max() if there is none.
    Picoseconds next_time();

    /// Runs every event with time <= limit, including those scheduled meanwhile, then moves now()
    /// to limit. Returns how many ran.
    std::uint64_t run_until(Picoseconds limit);
    /// Runs the earliest event if its time is <= limit; false if there is none. now() stays at the
    /// last event.
    bool run_next(Picoseconds limit);
    /// Runs the earliest event; false if none is pending.
    bool run_one() { return run_next(Picoseconds::max()); }

    /// Called whenever a newly scheduled event becomes the earliest (the kernel re-arms itself).
    void on_earlier(void (*callback)(void* self), void* self);

    /// Events run since construction: the unit of the events-per-packet budgets.
    std::uint64_t executed() const { return executed_; }
    /// Blocks of the pool allocated so far: constant after warm-up.
    std::size_t pool_blocks() const { return blocks_.size(); }

  private:
    struct Event;
    struct Bucket {
        Event* head = nullptr;
        Event* tail = nullptr;
    };

    Event* allocate();
    void grow_pool();
    void release(Event* event);
    void insert(Event* event);
    Event* find_earliest();
    Event* search();
    Event* first_of_year();
    Event* first_of_all();
    void unlink_head(std::size_t bucket);
    void run(Event* event);
    void resize(std::size_t buckets);
    std::int64_t sample_width() const;
    std::size_t bucket_of(Picoseconds time) const {
        return static_cast<std::size_t>(time.value >> width_shift_) & mask_;
    }

    Picoseconds now_;
    std::uint64_t next_sequence_ = 1;
    std::uint64_t executed_ = 0;
    std::size_t live_ = 0;    // pending and not cancelled
    std::size_t queued_ = 0;  // in the buckets, cancelled ones included
    unsigned width_shift_ = 14;
    std::size_t mask_;  // number of buckets - 1
    std::vector<Bucket> buckets_;
    std::vector<std::uint64_t> occupied_;  // a bit for each bucket that holds an event
    Event* earliest_ = nullptr;  // cached head of its bucket, null if unknown
    Event* free_ = nullptr;
    std::vector<std::unique_ptr<Event[]>> blocks_;
    void (*earlier_callback_)(void*) = nullptr;
    void* earlier_self_ = nullptr;
};

}  // namespace cxsim::model
