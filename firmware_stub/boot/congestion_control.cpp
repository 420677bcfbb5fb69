// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/boot/congestion_control.h"

#include <utility>

namespace cxsim::firmware_stub {
namespace {

using Rp = prm::cong_control_r_roce_ecn_rp;
using Np = prm::cong_control_r_roce_ecn_np;

}  // namespace

CongestionControl::CongestionControl() {
    write_buffers();
}

void CongestionControl::write_buffers() {
    const auto to_rp = reaction_point.view();
    to_rp.set<Rp::clamp_tgt_rate>(rp.clamp_tgt_rate);
    to_rp.set<Rp::clamp_tgt_rate_after_time_inc>(rp.clamp_tgt_rate_after_time_inc);
    to_rp.set<Rp::rpg_time_reset>(rp.rpg_time_reset);
    to_rp.set<Rp::rpg_byte_reset>(rp.rpg_byte_reset);
    to_rp.set<Rp::rpg_threshold>(rp.rpg_threshold);
    to_rp.set<Rp::rpg_max_rate>(rp.rpg_max_rate);
    to_rp.set<Rp::rpg_ai_rate>(rp.rpg_ai_rate);
    to_rp.set<Rp::rpg_hai_rate>(rp.rpg_hai_rate);
    to_rp.set<Rp::rpg_gd>(rp.rpg_gd);
    to_rp.set<Rp::rpg_min_dec_fac>(rp.rpg_min_dec_fac);
    to_rp.set<Rp::rpg_min_rate>(rp.rpg_min_rate);
    to_rp.set<Rp::rate_to_set_on_first_cnp>(rp.rate_to_set_on_first_cnp);
    to_rp.set<Rp::dce_tcp_g>(rp.dce_tcp_g);
    to_rp.set<Rp::dce_tcp_rtt>(rp.dce_tcp_rtt);
    to_rp.set<Rp::rate_reduce_monitor_period>(rp.rate_reduce_monitor_period);
    to_rp.set<Rp::initial_alpha_value>(rp.initial_alpha_value);
    const auto to_np = notification_point.view();
    to_np.set<Np::min_time_between_cnps>(np.min_time_between_cnps);
    to_np.set<Np::cnp_dscp>(np.cnp_dscp);
    to_np.set<Np::cnp_prio_mode>(np.cnp_prio_mode);
    to_np.set<Np::cnp_802p_prio>(np.cnp_802p_prio);
}

void CongestionControl::follow_buffers() {
    const auto from_rp = std::as_const(reaction_point).view();
    rp.clamp_tgt_rate = from_rp.get<Rp::clamp_tgt_rate>() != 0;
    rp.clamp_tgt_rate_after_time_inc = from_rp.get<Rp::clamp_tgt_rate_after_time_inc>() != 0;
    rp.rpg_time_reset = from_rp.get<Rp::rpg_time_reset>();
    rp.rpg_byte_reset = from_rp.get<Rp::rpg_byte_reset>();
    rp.rpg_threshold = from_rp.get<Rp::rpg_threshold>();
    rp.rpg_max_rate = from_rp.get<Rp::rpg_max_rate>();
    rp.rpg_ai_rate = from_rp.get<Rp::rpg_ai_rate>();
    rp.rpg_hai_rate = from_rp.get<Rp::rpg_hai_rate>();
    rp.rpg_gd = from_rp.get<Rp::rpg_gd>();
    rp.rpg_min_dec_fac = from_rp.get<Rp::rpg_min_dec_fac>();
    rp.rpg_min_rate = from_rp.get<Rp::rpg_min_rate>();
    rp.rate_to_set_on_first_cnp = from_rp.get<Rp::rate_to_set_on_first_cnp>();
    rp.dce_tcp_g = from_rp.get<Rp::dce_tcp_g>();
    rp.dce_tcp_rtt = from_rp.get<Rp::dce_tcp_rtt>();
    rp.rate_reduce_monitor_period = from_rp.get<Rp::rate_reduce_monitor_period>();
    rp.initial_alpha_value = from_rp.get<Rp::initial_alpha_value>();
    const auto from_np = std::as_const(notification_point).view();
    np.min_time_between_cnps = from_np.get<Np::min_time_between_cnps>();
    np.cnp_dscp = static_cast<std::uint8_t>(from_np.get<Np::cnp_dscp>());
    np.cnp_prio_mode = static_cast<std::uint8_t>(from_np.get<Np::cnp_prio_mode>());
    np.cnp_802p_prio = static_cast<std::uint8_t>(from_np.get<Np::cnp_802p_prio>());
}

void CongestionControl::reset() {
    reaction_point_state = {};
    notification_point_state = {};
    rp = {};
    np = {};
    general = prm::Buffer<prm::cong_control_r_roce_general>();
    write_buffers();
    clear_statistics();
    slow_restarts = slow_restart_cnps = 0;
    ++version;
}

}  // namespace cxsim::firmware_stub
