// SPDX-License-Identifier: Apache-2.0
// How long a message takes to a virtual machine and back, in wall-clock time: from the write of the
// eventfd to the first doorbell of the event queue that it told of. Between them lie the monitor,
// the guest's vector and the driver's interrupt handler, which updates its consumer index at its
// end.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "model/resources/resources.h"

namespace cxsim::scenarios {

class InterruptTimes {
  public:
    using Clock = std::chrono::steady_clock;

    /// Samples that the summary looks at.
    static constexpr std::size_t kWindow = 1024;

    struct Summary {
        std::uint64_t count = 0;  ///< samples since the start; the others are of the last kWindow
        double median_us = 0;
        double min_us = 0;
        double max_us = 0;
    };

    explicit InterruptTimes(const model::Resources& resources) : resources_(resources) {}

    /// A message of `vector` leaves. It starts a sample if exactly one event queue of the vector
    /// has fired and is not measured already: with two it is unknown which one is answered.
    void sent(unsigned vector, Clock::time_point now);

    /// A guest's write into BAR0, before the card acts on it. Ends the sample of the event queue
    /// whose doorbell it is, if one is outstanding; anything else is passed over.
    void bar_written(std::uint64_t offset, std::span<const std::byte> data, Clock::time_point now);

    /// The machine was reset or has gone: what is outstanding will not be answered.
    void forget() { outstanding_.clear(); }

    Summary summary() const;

  private:
    const model::Resources& resources_;
    std::map<std::uint32_t, Clock::time_point> outstanding_;  ///< by number of the event queue
    std::array<Clock::duration, kWindow> samples_{};
    std::uint64_t count_ = 0;
};

}  // namespace cxsim::scenarios
