// SPDX-License-Identifier: Apache-2.0
// RoCE congestion control (DCQCN) of a function: the parameters by their real names, who takes
// part, and what was counted. firmware_stub writes the parameters, roce works by them and counts.
#pragma once

#include "model/base/units.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace cxsim::model {

/// How DCE_TCP_G is to be read, g = dce_tcp_g / 1024; documents contradict each other.
enum class GainReading : std::uint8_t {
    keeps,  ///< alpha <- g * alpha + (1 - g) * cnp: 1019 makes slow steps (DOC-2790 v19)
    takes,  ///< alpha <- g * cnp + (1 - g) * alpha: 1019 makes large ones (mlxconfig's help)
};

/// The sender's side. Defaults of real cards; units as the PRM has them.
struct ReactionPointSettings {
    bool clamp_tgt_rate = false;                ///< a decrease makes the rate before it the target
    bool clamp_tgt_rate_after_time_inc = true;  ///< ... if the timer raised it, not only bytes
    std::uint32_t rpg_time_reset = 300;         ///< us between increases; 0: no timer
    std::uint32_t rpg_byte_reset = 32767;       ///< bytes between increases; 0: no counter
    std::uint32_t rpg_threshold = 1;            ///< increases of fast recovery
    std::uint32_t rpg_max_rate = 0;             ///< Mb/s; there the limiter lets go; 0: port speed
    std::uint32_t rpg_ai_rate = 5;              ///< Mb/s, step of active increase
    std::uint32_t rpg_hai_rate = 50;            ///< Mb/s, step of hyper increase
    std::uint32_t rpg_gd = 11;           ///< a decrease takes alpha * 1024 / 2^gd of the rate
    std::uint32_t rpg_min_dec_fac = 50;  ///< %, what a decrease leaves at least
    std::uint32_t rpg_min_rate = 1;      ///< Mb/s
    std::uint32_t rate_to_set_on_first_cnp = 0;    ///< Mb/s; 0: port speed
    std::uint32_t dce_tcp_g = 1019;                ///< in 1024
    std::uint32_t dce_tcp_rtt = 1;                 ///< us between updates of alpha; 0: none
    std::uint32_t rate_reduce_monitor_period = 4;  ///< us between decreases; 0: one for each CNP
    std::uint32_t initial_alpha_value = 1023;      ///< in 1024
    GainReading gain_reading = GainReading::keeps;
    /// Loss that made the sender start again limits it as a CNP does (roce_slow_restart_en).
    bool slow_restart = false;

    friend bool operator==(const ReactionPointSettings&, const ReactionPointSettings&) = default;
};

/// Marked packets that share the time between notifications.
enum class CnpScope : std::uint8_t {
    port,            ///< all
    destination_ip,  ///< whose notifications would go to one address
    source_qp,       ///< of one sending QP
    five_tuple,      ///< of one flow as routers see it
};

/// The receiver's side.
struct NotificationPointSettings {
    std::uint32_t min_time_between_cnps = 4;  ///< us; 0: a notification for each marked packet
    std::uint8_t cnp_dscp = 48;
    std::uint8_t cnp_prio_mode = 0;  ///< 0: cnp_802p_prio; 1: the marked packet's priority
    std::uint8_t cnp_802p_prio = 6;
    CnpScope scope = CnpScope::port;
    /// A NAK for lost packets goes with a notification (roce_slow_restart_en).
    bool slow_restart = false;

    friend bool operator==(const NotificationPointSettings&,
                           const NotificationPointSettings&) = default;
};

/// The flows that work by the settings and are evaluated only when somebody looks.
class CongestionFlows {
  public:
    virtual ~CongestionFlows() = default;
    /// Does all that is due up to `now`.
    virtual void settle(Picoseconds now) = 0;
    /// Settings have changed at `now`; settle(now) came before.
    virtual void changed(Picoseconds now) = 0;
};

struct CongestionControl {
    static constexpr std::size_t kPriorities = 8;

    struct PriorityState {
        bool enable = true;
        bool tag_enable = true;
    };

    CongestionControl() = default;
    CongestionControl(const CongestionControl&) = delete;
    CongestionControl& operator=(const CongestionControl&) = delete;

    std::array<PriorityState, kPriorities> reaction_point_state{};
    std::array<PriorityState, kPriorities> notification_point_state{};
    ReactionPointSettings rp;
    NotificationPointSettings np;
    /// Grows with each change of the above: what was derived from them is to be derived anew.
    std::uint64_t version = 0;
    /// Null, or whoever put itself here and takes itself out before it goes.
    CongestionFlows* flows = nullptr;

    // Statistics; the transport counts. QUERY_CONG_STATISTICS and `rdma statistic` show them.
    std::uint64_t cnps_handled = 0;        ///< rp_cnp_handled
    std::uint64_t cnps_ignored = 0;        ///< rp_cnp_ignored
    std::uint64_t cnps_sent = 0;           ///< np_cnp_sent
    std::uint64_t ecn_marked_packets = 0;  ///< np_ecn_marked_roce_packets
    std::uint64_t slow_restarts = 0;       ///< roce_slow_restart
    std::uint64_t slow_restart_cnps = 0;   ///< roce_slow_restart_cnps, part of cnps_sent
    std::uint32_t limited_flows = 0;       ///< now (rp_cur_flows); settle the flows before

    /// The way to change settings while there are flows: edit(*this) in between.
    template <class Edit>
    void change(Picoseconds now, Edit&& edit) {
        if (flows != nullptr) flows->settle(now);
        edit(*this);
        ++version;
        if (flows != nullptr) flows->changed(now);
    }
    /// What QUERY_CONG_STATISTICS clears: the counters of slow restart are the Q counters'.
    void clear_statistics() { cnps_handled = cnps_ignored = cnps_sent = ecn_marked_packets = 0; }
};

}  // namespace cxsim::model
