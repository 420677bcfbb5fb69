// SPDX-License-Identifier: Apache-2.0
// The sender's side of DCQCN once more, as plainly as possible: every timer fires, one event after
// the other in the order of time, alpha is multiplied in each period.
#pragma once

#include "model/ports/congestion_control.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace cxsim::test {

class NaiveReactionPoint {
  public:
    NaiveReactionPoint(const model::ReactionPointSettings& settings, double port_rate)
        : s(settings), port(port_rate) {}

    void run_to(std::int64_t time) {
        while (limited) {
            const std::int64_t next = std::min({alpha_tick, increase_tick, decrease_tick});
            if (next > time) break;
            flow(next);
            if (next == alpha_tick) {
                const double g = gain();
                alpha = (1 - g) * alpha + (alpha_flag ? g : 0.0);
                alpha_flag = false;
                alpha_tick += us(s.dce_tcp_rtt);
            } else if (next == increase_tick) {
                increase_tick += us(s.rpg_time_reset);
                raise();
                ++timer_count;
            } else {
                decrease_tick += us(s.rate_reduce_monitor_period);
                if (decrease_flag) lower(next);
            }
        }
        flow(time);
    }

    void cnp(std::int64_t time) {
        run_to(time);
        if (limited) {
            alpha_flag = decrease_flag = true;
            return;
        }
        limited = true;
        alpha = s.initial_alpha_value / 1024.0;
        alpha_flag = false;
        decrease_flag = true;
        timer_count = byte_count = 0;
        sent = 0;
        after_first = false;
        waiting_bits = 0;
        last_start = time;
        const double first =
            s.rate_to_set_on_first_cnp == 0 ? top() : s.rate_to_set_on_first_cnp * 1e6;
        rate = target = std::max(bottom(), std::min(first, top()));
        alpha_tick = time + us(s.dce_tcp_rtt);
        decrease_tick = time + us(s.rate_reduce_monitor_period) + 1000;
        increase_tick = INT64_MAX;
    }

    std::int64_t packet(std::int64_t time, std::uint32_t bytes) {
        run_to(time);
        if (!limited) return time;
        std::int64_t start = time;
        if (waiting_bits > 0) {
            start += static_cast<std::int64_t>(std::ceil(waiting_bits / rate * 1e12));
        }
        start = std::max(start, last_start);
        last_start = start;
        waiting_bits += bytes * 8.0;
        if (after_first && s.rpg_byte_reset != 0) {
            sent += bytes;
            for (; limited && sent >= s.rpg_byte_reset; sent -= s.rpg_byte_reset) {
                raise();
                ++byte_count;
            }
        }
        return start;
    }

    bool limited = false;
    double rate = 0;
    double target = 0;
    double alpha = 0;

  private:
    static std::int64_t us(std::uint32_t n) { return std::int64_t{n} * 1'000'000; }
    double gain() const {
        const double g = s.dce_tcp_g / 1024.0;
        return s.gain_reading == model::GainReading::keeps ? 1 - g : g;
    }
    double top() const { return s.rpg_max_rate == 0 ? port : std::min(port, s.rpg_max_rate * 1e6); }
    double bottom() const { return std::min(top(), std::max(s.rpg_min_rate, 1U) * 1e6); }
    void flow(std::int64_t time) {
        if (time > flowed_to && limited) {
            waiting_bits -= rate * static_cast<double>(time - flowed_to) * 1e-12;
            waiting_bits = std::max(waiting_bits, 0.0);
        }
        flowed_to = std::max(flowed_to, time);
    }
    void lower(std::int64_t time) {
        const bool by_timer = s.clamp_tgt_rate_after_time_inc && timer_count > 0;
        if (s.clamp_tgt_rate || by_timer || byte_count > 0) target = rate;
        const double taken = alpha * 1024 / std::pow(2.0, s.rpg_gd);
        rate = std::max(bottom(), rate * std::max(1 - taken, s.rpg_min_dec_fac / 100.0));
        timer_count = byte_count = 0;
        sent = 0;
        after_first = true;
        decrease_flag = false;
        increase_tick = time + us(s.rpg_time_reset);
    }
    void raise() {
        const bool bytes_count = s.rpg_byte_reset != 0;
        const std::uint64_t most = std::max(timer_count, byte_count);
        const std::uint64_t least = bytes_count ? std::min(timer_count, byte_count) : timer_count;
        if (most >= s.rpg_threshold) {
            target += (least > s.rpg_threshold ? s.rpg_hai_rate : s.rpg_ai_rate) * 1e6;
            target = std::min(target, top());
        }
        rate = rate / 2 + target / 2;
        if (rate >= top() - 1e6 && !decrease_flag) limited = false;
    }

    model::ReactionPointSettings s;
    double port;
    bool alpha_flag = false;
    bool decrease_flag = false;
    bool after_first = false;
    std::uint64_t timer_count = 0;
    std::uint64_t byte_count = 0;
    std::uint64_t sent = 0;
    double waiting_bits = 0;
    std::int64_t flowed_to = 0;
    std::int64_t last_start = 0;
    std::int64_t alpha_tick = 0;
    std::int64_t increase_tick = 0;
    std::int64_t decrease_tick = 0;
};

}  // namespace cxsim::test
