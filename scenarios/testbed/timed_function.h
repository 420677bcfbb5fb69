// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "pcie/guest/vfio_function.h"
#include "scenarios/testbed/interrupt_times.h"

namespace cxsim::scenarios {

/// A function at its socket, with the times of its messages taken there.
class TimedFunction : public pcie::VfioFunction {
  public:
    TimedFunction(pcie::Endpoint& endpoint, model::FunctionId function, model::Calendar& calendar,
                  std::function<void()> synchronise, const model::Resources& resources)
        : VfioFunction(endpoint, function, calendar, std::move(synchronise)), times_(resources) {}

    const InterruptTimes& times() const { return times_; }

    void interrupt(unsigned vector) {
        const auto now = InterruptTimes::Clock::now();
        if (VfioFunction::interrupt(vector)) times_.sent(vector, now);
    }

    vfio_user::Status write(std::uint32_t region, std::uint64_t offset,
                            std::span<const std::byte> in) override {
        if (region == kBar0Region) {
            times_.bar_written(offset, in, InterruptTimes::Clock::now());
        }
        return VfioFunction::write(region, offset, in);
    }
    vfio_user::Status reset() override {
        times_.forget();
        return VfioFunction::reset();
    }
    void client_disconnected(std::string_view reason) override {
        times_.forget();
        VfioFunction::client_disconnected(reason);
    }

  private:
    InterruptTimes times_;
};

}  // namespace cxsim::scenarios
