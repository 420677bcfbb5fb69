// SPDX-License-Identifier: Apache-2.0
#include "model/sim/calendar.h"

#include <algorithm>
#include <array>
#include <bit>

#include "model/base/assert.h"

namespace cxsim::model {

// A cancelled event stays in its bucket with a null handler until it comes to the front: removal
// from the middle would need a back link, which would not fit the cache line.
struct alignas(64) Calendar::Event {
    Picoseconds time;
    std::uint64_t sequence;
    Event* next;
    Handler handler;
    void* self;
    EventArguments arguments;
};

namespace {
constexpr std::size_t kMinimumBuckets = 16;
constexpr std::size_t kEventsPerBlock = 256;
}  // namespace

Calendar::Calendar() : buckets_(kMinimumBuckets) {
    static_assert(sizeof(Event) == 64);
}

Calendar::~Calendar() = default;

Calendar::Event* Calendar::allocate() {
    if (free_ == nullptr) {
        auto block = std::make_unique<Event[]>(kEventsPerBlock);
        for (std::size_t i = kEventsPerBlock; i-- > 0;) {
            block[i].sequence = 0;
            block[i].next = free_;
            free_ = &block[i];
        }
        blocks_.push_back(std::move(block));
    }
    Event* event = free_;
    free_ = event->next;
    return event;
}

void Calendar::release(Event* event) {
    event->sequence = 0;  // handles to it are void from here on
    event->next = free_;
    free_ = event;
}

EventHandle Calendar::schedule(Picoseconds time, Handler handler, void* self,
                               const EventArguments& arguments) {
    CX_ASSERT(time >= now_, "event at {} ps scheduled at {} ps", time.value, now_.value);
    CX_ASSERT(handler != nullptr, "an event needs a handler");
    Event* event = allocate();
    *event = {time, next_sequence_++, nullptr, handler, self, arguments};
    if (queued_ >= 2 * buckets_.size()) resize(buckets_.size() * 2);
    ++live_;
    const bool was_known = earliest_ != nullptr;
    const bool is_first = queued_ == 0 || (was_known && time < earliest_->time);
    insert(event);
    if (is_first) earliest_ = event;
    if (is_first && earlier_callback_ != nullptr) earlier_callback_(earlier_self_);
    return {event, event->sequence};
}

void Calendar::insert(Event* event) {
    Bucket& bucket = buckets_[bucket_of(event->time)];
    ++queued_;
    if (bucket.head == nullptr) {
        bucket.head = bucket.tail = event;
        return;
    }
    // The usual case: later than everything in its bucket.
    if (event->time >= bucket.tail->time) {
        // A re-inserted event (resize) is older than an equal-time tail only if it came earlier;
        // resize() inserts in order, so appending keeps the sequence order.
        bucket.tail->next = event;
        bucket.tail = event;
        return;
    }
    Event** link = &bucket.head;
    while (*link != nullptr && (*link)->time <= event->time) link = &(*link)->next;
    event->next = *link;
    *link = event;
}

bool Calendar::cancel(EventHandle handle) {
    auto* event = static_cast<Event*>(handle.event);
    if (event == nullptr || event->sequence != handle.sequence || event->handler == nullptr) {
        return false;
    }
    event->handler = nullptr;
    --live_;
    return true;
}

void Calendar::unlink_head(Bucket& bucket) {
    Event* event = bucket.head;
    bucket.head = event->next;
    if (bucket.head == nullptr) bucket.tail = nullptr;
    --queued_;
    earliest_ = nullptr;
}

// Walks the days of one year from now(); each bucket's head belongs to the day looked at or to a
// later year. If a whole year is empty, the smallest head is the answer.
Calendar::Event* Calendar::find_earliest() {
    if (earliest_ != nullptr && earliest_->handler != nullptr) return earliest_;
    while (queued_ > 0) {
        Event* best = nullptr;
        const std::int64_t first_day = now_.value >> width_shift_;
        const auto days = static_cast<std::int64_t>(buckets_.size());
        for (std::int64_t day = first_day; day < first_day + days; ++day) {
            Bucket& bucket = buckets_[static_cast<std::size_t>(day) & (buckets_.size() - 1)];
            if (bucket.head == nullptr) continue;
            if ((bucket.head->time.value >> width_shift_) == day) {
                best = bucket.head;
                break;
            }
        }
        if (best == nullptr) {
            for (const Bucket& bucket : buckets_) {
                Event* head = bucket.head;
                if (head == nullptr) continue;
                if (best == nullptr || head->time < best->time) best = head;
            }
        }
        if (best->handler != nullptr) return earliest_ = best;
        unlink_head(buckets_[bucket_of(best->time)]);
        release(best);
    }
    return earliest_ = nullptr;
}

Picoseconds Calendar::next_time() {
    const Event* event = find_earliest();
    return event == nullptr ? Picoseconds::max() : event->time;
}

void Calendar::run(Event* event) {
    unlink_head(buckets_[bucket_of(event->time)]);
    now_ = event->time;
    --live_;
    ++executed_;
    const Event copy = *event;
    release(event);
    if (queued_ < buckets_.size() / 2 && buckets_.size() > kMinimumBuckets) {
        resize(buckets_.size() / 2);
    }
    copy.handler(copy.self, copy.arguments);
}

bool Calendar::run_one() {
    Event* event = find_earliest();
    if (event == nullptr) return false;
    run(event);
    return true;
}

std::uint64_t Calendar::run_until(Picoseconds limit) {
    const std::uint64_t before = executed_;
    for (Event* event = find_earliest(); event != nullptr && event->time <= limit;
         event = find_earliest()) {
        run(event);
    }
    now_ = std::max(now_, limit);
    return executed_ - before;
}

void Calendar::on_earlier(void (*callback)(void* self), void* self) {
    earlier_callback_ = callback;
    earlier_self_ = self;
}

// The day is about three times the mean gap between the events (Brown's rule), taken from a sample
// of bucket heads; outliers beyond twice the mean do not count.
std::int64_t Calendar::sample_width() const {
    std::array<std::int64_t, 64> times{};
    std::size_t count = 0;
    // From all over the buckets: neighbours may lie close together in time, and then say nothing of
    // the rest.
    const std::size_t stride = std::max<std::size_t>(1, buckets_.size() / times.size());
    for (std::size_t i = 0; i < buckets_.size() && count < times.size(); i += stride) {
        if (buckets_[i].head != nullptr) times[count++] = buckets_[i].head->time.value;
    }
    if (count < 2) return std::int64_t{1} << width_shift_;
    std::sort(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(count));
    const std::int64_t mean = (times[count - 1] - times[0]) / static_cast<std::int64_t>(count - 1);
    std::int64_t sum = 0;
    std::int64_t used = 0;
    for (std::size_t i = 1; i < count; ++i) {
        const std::int64_t gap = times[i] - times[i - 1];
        if (gap <= 2 * mean) {
            sum += gap;
            ++used;
        }
    }
    // The sample holds at most 64 of the queued events: scale the gap to all of them.
    const double scale = static_cast<double>(count) / static_cast<double>(std::max(queued_, count));
    const double gap = used > 0 ? static_cast<double>(sum) / static_cast<double>(used) : 1.0;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(3.0 * gap * scale));
}

// In place: a number of events that swings about a threshold takes no memory each time.
void Calendar::resize(std::size_t buckets) {
    const auto width = static_cast<std::uint64_t>(sample_width());
    // Buckets are sorted by (time, sequence) and events of one time share a bucket, so moving
    // them in bucket order keeps the order of equal times.
    Event* all = nullptr;
    Event** end = &all;
    for (const Bucket& bucket : buckets_) {
        *end = bucket.head;
        while (*end != nullptr) end = &(*end)->next;
    }
    buckets_.assign(buckets, Bucket{});
    width_shift_ = static_cast<unsigned>(std::bit_width(width) - 1);
    queued_ = 0;
    earliest_ = nullptr;
    while (all != nullptr) {
        Event* event = all;
        all = event->next;
        event->next = nullptr;
        if (event->handler == nullptr) {
            release(event);
        } else {
            insert(event);
        }
    }
}

}  // namespace cxsim::model
