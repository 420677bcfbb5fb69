// SPDX-License-Identifier: Apache-2.0
// The same load on our calendar and on the yardstick, an ordered map of events: `pending` events
// that schedule their successor a random time ahead.
#pragma once

#include "model/base/random.h"
#include "model/sim/calendar.h"

#include <array>
#include <cstdint>
#include <map>

namespace cxsim::perf {

/// Steps of 1 to 1024 ns, the same sequence for both.
class Steps {
  public:
    Steps() {
        model::RandomStream random(1, "steps");
        for (auto& step : steps_) step = static_cast<std::int64_t>(1000 + random.below(1'023'000));
    }
    model::Picoseconds next() { return model::picoseconds(steps_[index_++ % steps_.size()]); }

  private:
    std::array<std::int64_t, 4096> steps_{};
    std::size_t index_ = 0;
};

class CalendarLoad {
  public:
    explicit CalendarLoad(std::size_t pending) {
        for (std::size_t i = 0; i < pending; ++i) {
            calendar_.schedule<&CalendarLoad::again>(steps_.next(), this, {i, 0, 0});
        }
    }
    void run(std::uint64_t events) {
        for (std::uint64_t i = 0; i < events; ++i) calendar_.run_one();
    }
    const model::Calendar& calendar() const { return calendar_; }

  private:
    void again(const model::EventArguments& words) {
        calendar_.schedule<&CalendarLoad::again>(calendar_.now() + steps_.next(), this,
                                                 {words.a, words.b + 1, 0});
    }
    model::Calendar calendar_;
    Steps steps_;
};

class MultimapLoad {
  public:
    explicit MultimapLoad(std::size_t pending) {
        for (std::size_t i = 0; i < pending; ++i) schedule(steps_.next(), {i, 0, 0});
    }
    void run(std::uint64_t events) {
        for (std::uint64_t i = 0; i < events; ++i) {
            const auto first = events_.begin();
            now_ = first->first;
            const Event event = first->second;
            events_.erase(first);
            event.handler(event.self, event.arguments);
        }
    }

  private:
    struct Event {
        model::Calendar::Handler handler;
        void* self;
        model::EventArguments arguments;
    };
    void schedule(model::Picoseconds time, const model::EventArguments& arguments) {
        events_.emplace(time, Event{[](void* self, const model::EventArguments& words) {
                                        static_cast<MultimapLoad*>(self)->again(words);
                                    },
                                    this, arguments});
    }
    void again(const model::EventArguments& words) {
        schedule(now_ + steps_.next(), {words.a, words.b + 1, 0});
    }
    std::multimap<model::Picoseconds, Event> events_;
    model::Picoseconds now_;
    Steps steps_;
};

}  // namespace cxsim::perf
