// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/boot/congestion_control.h"

namespace cxsim::firmware_stub {

// As mstconfig shows them on ConnectX-4 Lx and later, before anything was changed.
CongestionControl::CongestionControl() {
    using Rp = prm::cong_control_r_roce_ecn_rp;
    const auto rp = reaction_point.view();
    rp.set<Rp::clamp_tgt_rate>(0U);
    rp.set<Rp::clamp_tgt_rate_after_time_inc>(1U);
    rp.set<Rp::rpg_time_reset>(300U);       // us
    rp.set<Rp::rpg_byte_reset>(32767U);
    rp.set<Rp::rpg_threshold>(1U);
    rp.set<Rp::rpg_max_rate>(0U);           // port speed
    rp.set<Rp::rpg_ai_rate>(5U);            // Mb/s
    rp.set<Rp::rpg_hai_rate>(50U);          // Mb/s
    rp.set<Rp::rpg_gd>(11U);
    rp.set<Rp::rpg_min_dec_fac>(50U);       // %
    rp.set<Rp::rpg_min_rate>(1U);           // Mb/s
    rp.set<Rp::rate_to_set_on_first_cnp>(0U);
    rp.set<Rp::dce_tcp_g>(1019U);
    rp.set<Rp::dce_tcp_rtt>(1U);            // us
    rp.set<Rp::rate_reduce_monitor_period>(4U);
    rp.set<Rp::initial_alpha_value>(1023U);
    using Np = prm::cong_control_r_roce_ecn_np;
    const auto np = notification_point.view();
    np.set<Np::min_time_between_cnps>(4U);  // us
    np.set<Np::cnp_dscp>(48U);
    np.set<Np::cnp_802p_prio>(6U);
}

}  // namespace cxsim::firmware_stub
