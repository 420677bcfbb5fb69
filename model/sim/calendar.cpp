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
// One word of bits; of 16 ns each they reach as far as the events of a cable of 200 m.
constexpr std::size_t kMinimumBuckets = 64;
constexpr std::size_t kEventsPerBlock = 256;
constexpr std::size_t kWordBits = 64;

constexpr std::size_t words_for(std::size_t buckets) {
    return (buckets + kWordBits - 1) / kWordBits;
}

// Out of line: what makes the message costs schedule() registers.
[[noreturn, gnu::cold, gnu::noinline]] void refuse(Picoseconds time, Picoseconds now) {
    CX_ASSERT(time >= now, "event at {} ps scheduled at {} ps", time.value, now.value);
    CX_ASSERT(false, "an event needs a handler");
}
}  // namespace

Calendar::Calendar()
    : mask_(kMinimumBuckets - 1), buckets_(kMinimumBuckets), occupied_(words_for(kMinimumBuckets)) {
    static_assert(sizeof(Event) == 64);
}

Calendar::~Calendar() = default;

void Calendar::grow_pool() {
    auto block = std::make_unique<Event[]>(kEventsPerBlock);
    for (std::size_t i = kEventsPerBlock; i-- > 0;) {
        block[i].sequence = 0;
        block[i].next = free_;
        free_ = &block[i];
    }
    blocks_.push_back(std::move(block));
}

inline Calendar::Event* Calendar::allocate() {
    if (free_ == nullptr) [[unlikely]] grow_pool();
    Event* event = free_;
    free_ = event->next;
    return event;
}

inline void Calendar::release(Event* event) {
    event->sequence = 0;  // handles to it are void from here on
    event->next = free_;
    free_ = event;
}

inline void Calendar::insert(Event* event) {
    const std::size_t index = bucket_of(event->time);
    Bucket& bucket = buckets_[index];
    ++queued_;
    if (bucket.head == nullptr) {
        bucket.head = bucket.tail = event;
        occupied_[index / kWordBits] |= std::uint64_t{1} << index % kWordBits;
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

EventHandle Calendar::schedule(Picoseconds time, Handler handler, void* self,
                               const EventArguments& arguments) {
    if (time < now_ || handler == nullptr) [[unlikely]] refuse(time, now_);
    if (queued_ > 2 * mask_ + 1) [[unlikely]] resize(2 * (mask_ + 1));
    Event* event = allocate();
    event->time = time;
    event->sequence = next_sequence_++;
    event->next = nullptr;
    event->handler = handler;
    event->self = self;
    event->arguments = arguments;
    ++live_;
    const bool is_first = queued_ == 0 || (earliest_ != nullptr && time < earliest_->time);
    insert(event);
    if (is_first) {
        earliest_ = event;
        if (earlier_callback_ != nullptr) earlier_callback_(earlier_self_);
    }
    return {event, event->sequence};
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

inline void Calendar::unlink_head(std::size_t index) {
    Bucket& bucket = buckets_[index];
    bucket.head = bucket.head->next;
    if (bucket.head == nullptr) {
        bucket.tail = nullptr;
        occupied_[index / kWordBits] &= ~(std::uint64_t{1} << index % kWordBits);
    }
    --queued_;
    earliest_ = nullptr;
}

// Each bucket's head belongs to the day looked at or to a later year. Looks at the buckets that
// hold something, from now()'s on once around: first the bits of its word from its own up, in the
// end those below.
Calendar::Event* Calendar::first_of_year() {
    const std::int64_t today = now_.value >> width_shift_;
    const std::size_t start = static_cast<std::size_t>(today) & mask_;
    const std::uint64_t from_start = ~std::uint64_t{0} << start % kWordBits;
    const std::size_t words = occupied_.size();
    std::size_t word = start / kWordBits;
    std::uint64_t bits = occupied_[word] & from_start;
    for (std::size_t left = words + 1;;) {
        for (; bits != 0; bits &= bits - 1) {
            const std::size_t index =
                word * kWordBits + static_cast<std::size_t>(std::countr_zero(bits));
            Event* const head = buckets_[index].head;
            const auto ahead = static_cast<std::int64_t>((index - start) & mask_);
            if (head->time.value >> width_shift_ == today + ahead) return head;
        }
        if (--left == 0) return nullptr;
        if (++word == words) word = 0;
        bits = left == 1 ? occupied_[word] & ~from_start : occupied_[word];
    }
}

// Nothing in a whole year: the smallest head.
Calendar::Event* Calendar::first_of_all() {
    Event* best = nullptr;
    for (std::size_t word = 0; word < occupied_.size(); ++word) {
        for (std::uint64_t bits = occupied_[word]; bits != 0; bits &= bits - 1) {
            Event* const head =
                buckets_[word * kWordBits + static_cast<std::size_t>(std::countr_zero(bits))].head;
            if (best == nullptr || head->time < best->time) best = head;
        }
    }
    return best;
}

// Not the cached one. Takes cancelled events out that have come to the front.
Calendar::Event* Calendar::search() {
    while (queued_ > 0) {
        Event* best = first_of_year();
        if (best == nullptr) best = first_of_all();
        if (best->handler != nullptr) return earliest_ = best;
        unlink_head(bucket_of(best->time));
        release(best);
    }
    return earliest_ = nullptr;
}

inline Calendar::Event* Calendar::find_earliest() {
    if (earliest_ != nullptr && earliest_->handler != nullptr) return earliest_;
    return search();
}

Picoseconds Calendar::next_time() {
    const Event* event = find_earliest();
    return event == nullptr ? Picoseconds::max() : event->time;
}

inline void Calendar::run(Event* event) {
    unlink_head(bucket_of(event->time));
    now_ = event->time;
    --live_;
    ++executed_;
    const Handler handler = event->handler;
    void* const self = event->self;
    const EventArguments arguments = event->arguments;
    release(event);
    if (queued_ <= mask_ / 2 && mask_ >= kMinimumBuckets) [[unlikely]] resize((mask_ + 1) / 2);
    handler(self, arguments);
}

bool Calendar::run_next(Picoseconds limit) {
    Event* const event = find_earliest();
    if (event == nullptr || event->time > limit) return false;
    run(event);
    return true;
}

std::uint64_t Calendar::run_until(Picoseconds limit) {
    const std::uint64_t before = executed_;
    while (run_next(limit)) {}
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
    occupied_.assign(words_for(buckets), 0);
    mask_ = buckets - 1;
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
