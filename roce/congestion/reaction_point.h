// SPDX-License-Identifier: Apache-2.0
// The sender's side of DCQCN: the rate of a flow falls with congestion notification packets (CNP)
// and rises again by a timer and a counter of bytes.
//
// Nothing stands in the calendar: what the timers would have done is made up for when somebody
// looks, in the order of time, with the same result. For that, calls of one flow come in the order
// of their times; one that comes late counts at the time of the latest.
#pragma once

#include "model/ports/congestion_control.h"
#include "roce/congestion/rate_limiter.h"

#include <cstdint>

namespace cxsim::roce {

class ReactionPoint;

/// What the flows of a function share: the settings, the port's speed, the list of limited ones.
class ReactionPoints final : public model::CongestionFlows {
  public:
    /// Puts itself into `control.flows`. `control` outlives this, this outlives its flows.
    ReactionPoints(model::CongestionControl& control, model::BitsPerSecond port_rate);
    ~ReactionPoints() override;
    ReactionPoints(const ReactionPoints&) = delete;
    ReactionPoints& operator=(const ReactionPoints&) = delete;

    /// The link came up with another speed. Flows faster than it are limited to it.
    void set_port_rate(model::Picoseconds now, model::BitsPerSecond rate);
    model::BitsPerSecond port_rate() const { return port_rate_; }
    model::CongestionControl& control() { return control_; }
    const model::CongestionControl& control() const { return control_; }

    void settle(model::Picoseconds now) override;
    void changed(model::Picoseconds now) override;

  private:
    friend class ReactionPoint;
    model::CongestionControl& control_;
    model::BitsPerSecond port_rate_;
    ReactionPoint* first_ = nullptr;  ///< of the limited flows
};

class ReactionPoint final : public RateLimiter {
  public:
    /// `priority`: of the flow's packets, 0 to 7. `shared` outlives this.
    ReactionPoint(ReactionPoints& shared, unsigned priority);
    ~ReactionPoint() override;
    ReactionPoint(const ReactionPoint&) = delete;
    ReactionPoint& operator=(const ReactionPoint&) = delete;

    // RateLimiter
    /// Reserves with what is known at the call: a CNP that comes before the answered time does not
    /// move it. So ask for one packet at a time, when the one before has left.
    model::Picoseconds reserve(model::Picoseconds at, std::uint32_t wire_bytes) override;
    void notified(model::Picoseconds at) override;
    void restarted(model::Picoseconds at) override;

    /// The QP's packets go with another priority from now on.
    void set_priority(model::Picoseconds at, unsigned priority);
    /// Does what is due up to `at`.
    void settle(model::Picoseconds at);

    // As of the latest call.
    bool limited() const { return limited_; }
    /// The port's speed while the flow is not limited.
    model::BitsPerSecond rate() const;
    model::BitsPerSecond target_rate() const;
    /// 0 to 1; 0 while not limited.
    double alpha() const;

  private:
    friend class ReactionPoints;

    const model::ReactionPointSettings& settings() const { return shared_.control_.rp; }
    bool enabled() const;
    double gain() const;
    double highest_rate() const;
    double lowest_rate() const;
    void limit(model::Picoseconds at);
    void release();
    void notice(model::Picoseconds at);
    void settings_changed(model::Picoseconds at);
    void fix_alpha();
    void update_alpha(model::Picoseconds at);
    void decrease(model::Picoseconds at);
    void increase(model::Picoseconds at);
    void count_bytes(model::Picoseconds at, std::uint32_t bytes);
    void drain(model::Picoseconds at);

    ReactionPoints& shared_;
    unsigned priority_;
    bool limited_ = false;
    bool notified_for_alpha_ = false;     ///< a CNP came since the last update of alpha
    bool notified_for_decrease_ = false;  ///< ... since the last look whether to decrease
    bool recovering_ = false;             ///< after the first decrease: timer and counter run
    std::uint32_t time_stage_ = 0;        ///< increases since the last decrease, by cause
    std::uint32_t byte_stage_ = 0;
    std::uint64_t bytes_ = 0;  ///< since the last increase by bytes
    double current_ = 0;       ///< bit/s
    double target_ = 0;
    double alpha_ = 0;  ///< before the periods without a CNP since
    std::uint64_t quiet_periods_ = 0;
    double debt_ = 0;  ///< reserved bits that have not passed at debt_at_
    model::Picoseconds debt_at_;
    model::Picoseconds last_start_;
    model::Picoseconds clock_;  ///< all up to here is done
    model::Picoseconds next_alpha_ = model::Picoseconds::max();
    model::Picoseconds next_decrease_ = model::Picoseconds::max();
    model::Picoseconds next_increase_ = model::Picoseconds::max();
    ReactionPoint* next_ = nullptr;  ///< in the list of limited flows
    ReactionPoint* previous_ = nullptr;
};

}  // namespace cxsim::roce
