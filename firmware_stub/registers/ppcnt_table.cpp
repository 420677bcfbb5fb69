// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/registers/ppcnt_table.h"

#include "prm/layouts.h"

namespace cxsim::firmware_stub {
namespace {

constexpr std::uint64_t kPicosecondsPerMicrosecond = 1'000'000;

// A 64-bit counter stands in two fields, the high half first.
#define CX_ROW(group, layout, field, ...)                                         \
    PpcntRow {                                                                    \
        PpcntGroup::group, prm::layout::field##_high::kOffset / 8, 8, __VA_ARGS__ \
    }

// Fields without a row cannot become other than 0 here: collisions and alignment errors do not
// happen on full-duplex links, BIP errors of lanes and ICRC errors of tunnels are not modelled.
constexpr PpcntRow kRows[] = {
    // ieee_802_3
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_frames_transmitted_ok, "tx_frames"),
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_frames_received_ok, "rx_frames"),
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_frame_check_sequence_errors,
           "rx_fcs_errors"),
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_octets_transmitted_ok, "tx_octets"),
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_octets_received_ok, "rx_octets"),
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_multicast_frames_xmitted_ok,
           "tx_multicast"),
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_broadcast_frames_xmitted_ok,
           "tx_broadcast"),
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_multicast_frames_received_ok,
           "rx_multicast"),
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_broadcast_frames_received_ok,
           "rx_broadcast"),
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_in_range_length_errors,
           "rx_in_range_length"),
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_frame_too_long_errors, "rx_oversize"),
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_symbol_error_during_carrier,
           "rx_symbol_errors"),
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_mac_control_frames_transmitted,
           "tx_control"),
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_mac_control_frames_received,
           "rx_control"),
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_unsupported_opcodes_received,
           "rx_unsupported_control"),
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_pause_mac_ctrl_frames_received,
           "rx_pause"),
    CX_ROW(ieee_802_3, eth_802_3_cntrs_grp_data_layout, a_pause_mac_ctrl_frames_transmitted,
           "tx_pause"),
    // rfc_2863
    CX_ROW(rfc_2863, eth_2863_cntrs_grp_data_layout, if_in_octets, "rx_octets"),
    CX_ROW(rfc_2863, eth_2863_cntrs_grp_data_layout, if_in_ucast_pkts, "rx_unicast"),
    CX_ROW(rfc_2863, eth_2863_cntrs_grp_data_layout, if_in_discards, "rx_discards"),
    CX_ROW(rfc_2863, eth_2863_cntrs_grp_data_layout, if_in_errors, "rx_errors"),
    CX_ROW(rfc_2863, eth_2863_cntrs_grp_data_layout, if_out_octets, "tx_octets"),
    CX_ROW(rfc_2863, eth_2863_cntrs_grp_data_layout, if_out_ucast_pkts, "tx_unicast"),
    CX_ROW(rfc_2863, eth_2863_cntrs_grp_data_layout, if_out_discards, "tx_discards"),
    CX_ROW(rfc_2863, eth_2863_cntrs_grp_data_layout, if_in_multicast_pkts, "rx_multicast"),
    CX_ROW(rfc_2863, eth_2863_cntrs_grp_data_layout, if_in_broadcast_pkts, "rx_broadcast"),
    CX_ROW(rfc_2863, eth_2863_cntrs_grp_data_layout, if_out_multicast_pkts, "tx_multicast"),
    CX_ROW(rfc_2863, eth_2863_cntrs_grp_data_layout, if_out_broadcast_pkts, "tx_broadcast"),
    // rfc_2819
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_drop_events, "rx_discards"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_octets, "rx_event_octets"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_pkts, "rx_events"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_broadcast_pkts, "rx_broadcast"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_multicast_pkts, "rx_multicast"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_crc_align_errors, "rx_fcs_errors"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_undersize_pkts, "rx_undersize"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_oversize_pkts, "rx_oversize"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_fragments, "rx_fragments"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_jabbers, "rx_jabbers"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_pkts64octets, "rx_size_class0"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_pkts65to127octets,
           "rx_size_class1"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_pkts128to255octets,
           "rx_size_class2"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_pkts256to511octets,
           "rx_size_class3"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_pkts512to1023octets,
           "rx_size_class4"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_pkts1024to1518octets,
           "rx_size_class5"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_pkts1519to2047octets,
           "rx_size_class6"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_pkts2048to4095octets,
           "rx_size_class7"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_pkts4096to8191octets,
           "rx_size_class8"),
    CX_ROW(rfc_2819, eth_2819_cntrs_grp_data_layout, ether_stats_pkts8192to10239octets,
           "rx_size_class9"),
    // rfc_3635
    CX_ROW(rfc_3635, eth_3635_cntrs_grp_data_layout, dot3stats_fcs_errors, "rx_fcs_errors"),
    CX_ROW(rfc_3635, eth_3635_cntrs_grp_data_layout, dot3stats_frame_too_longs, "rx_oversize"),
    CX_ROW(rfc_3635, eth_3635_cntrs_grp_data_layout, dot3stats_symbol_errors, "rx_symbol_errors"),
    CX_ROW(rfc_3635, eth_3635_cntrs_grp_data_layout, dot3control_in_unknown_opcodes,
           "rx_unsupported_control"),
    CX_ROW(rfc_3635, eth_3635_cntrs_grp_data_layout, dot3in_pause_frames, "rx_pause"),
    CX_ROW(rfc_3635, eth_3635_cntrs_grp_data_layout, dot3out_pause_frames, "tx_pause"),
    // ethernet_extended
    CX_ROW(ethernet_extended, eth_extended_cntrs_grp_data_layout, rx_buffer_almost_full,
           "rx_buffer_almost_full"),
    CX_ROW(ethernet_extended, eth_extended_cntrs_grp_data_layout, rx_buffer_full, "rx_buffer_full"),
    // per_priority
    CX_ROW(per_priority, eth_per_prio_grp_data_layout, rx_octets, "rx_prio{}_octets"),
    CX_ROW(per_priority, eth_per_prio_grp_data_layout, rx_frames, "rx_prio{}_frames"),
    CX_ROW(per_priority, eth_per_prio_grp_data_layout, tx_octets, "tx_prio{}_octets"),
    CX_ROW(per_priority, eth_per_prio_grp_data_layout, tx_frames, "tx_prio{}_frames"),
    CX_ROW(per_priority, eth_per_prio_grp_data_layout, rx_pause, "rx_prio{}_pause"),
    CX_ROW(per_priority, eth_per_prio_grp_data_layout, rx_pause_duration,
           "rx_prio{}_pause_duration", kPicosecondsPerMicrosecond),
    CX_ROW(per_priority, eth_per_prio_grp_data_layout, tx_pause, "tx_prio{}_pause"),
    CX_ROW(per_priority, eth_per_prio_grp_data_layout, tx_pause_duration,
           "tx_prio{}_pause_duration", kPicosecondsPerMicrosecond),
    CX_ROW(per_priority, eth_per_prio_grp_data_layout, rx_pause_transition,
           "rx_prio{}_pause_transition"),
    CX_ROW(per_priority, eth_per_prio_grp_data_layout, rx_discards, "rx_prio{}_discards"),
    // per_traffic_class
    CX_ROW(per_traffic_class, eth_per_tc_prio_grp_data_layout, no_buffer_discard_uc,
           "rx_prio{}_discards"),
    // physical_layer
    CX_ROW(physical_layer, phys_layer_cntrs, symbol_errors, "phy.symbol_errors"),
    CX_ROW(physical_layer, phys_layer_cntrs, sync_headers_errors, "phy.sync_header_errors"),
    CX_ROW(physical_layer, phys_layer_cntrs, fc_fec_corrected_blocks_lane0,
           "phy.fc_corrected_blocks_lane0"),
    CX_ROW(physical_layer, phys_layer_cntrs, fc_fec_corrected_blocks_lane1,
           "phy.fc_corrected_blocks_lane1"),
    CX_ROW(physical_layer, phys_layer_cntrs, fc_fec_corrected_blocks_lane2,
           "phy.fc_corrected_blocks_lane2"),
    CX_ROW(physical_layer, phys_layer_cntrs, fc_fec_corrected_blocks_lane3,
           "phy.fc_corrected_blocks_lane3"),
    CX_ROW(physical_layer, phys_layer_cntrs, fc_fec_uncorrectable_blocks_lane0,
           "phy.fc_uncorrectable_blocks_lane0"),
    CX_ROW(physical_layer, phys_layer_cntrs, fc_fec_uncorrectable_blocks_lane1,
           "phy.fc_uncorrectable_blocks_lane1"),
    CX_ROW(physical_layer, phys_layer_cntrs, fc_fec_uncorrectable_blocks_lane2,
           "phy.fc_uncorrectable_blocks_lane2"),
    CX_ROW(physical_layer, phys_layer_cntrs, fc_fec_uncorrectable_blocks_lane3,
           "phy.fc_uncorrectable_blocks_lane3"),
    CX_ROW(physical_layer, phys_layer_cntrs, rs_fec_corrected_blocks, "phy.rs_corrected_blocks"),
    CX_ROW(physical_layer, phys_layer_cntrs, rs_fec_uncorrectable_blocks,
           "phy.rs_uncorrectable_blocks"),
    CX_ROW(physical_layer, phys_layer_cntrs, rs_fec_no_errors_blocks, "phy.rs_no_errors_blocks"),
    CX_ROW(physical_layer, phys_layer_cntrs, rs_fec_single_error_blocks,
           "phy.rs_single_error_blocks"),
    CX_ROW(physical_layer, phys_layer_cntrs, rs_fec_corrected_symbols_total,
           "phy.rs_corrected_symbols"),
    CX_ROW(physical_layer, phys_layer_cntrs, rs_fec_corrected_symbols_lane0,
           "phy.rs_corrected_symbols_lane0"),
    CX_ROW(physical_layer, phys_layer_cntrs, rs_fec_corrected_symbols_lane1,
           "phy.rs_corrected_symbols_lane1"),
    CX_ROW(physical_layer, phys_layer_cntrs, rs_fec_corrected_symbols_lane2,
           "phy.rs_corrected_symbols_lane2"),
    CX_ROW(physical_layer, phys_layer_cntrs, rs_fec_corrected_symbols_lane3,
           "phy.rs_corrected_symbols_lane3"),
    // physical_statistical
    CX_ROW(physical_statistical, phys_layer_statistical_cntrs, phy_received_bits,
           "phy.received_bits"),
    CX_ROW(physical_statistical, phys_layer_statistical_cntrs, phy_symbol_errors,
           "phy.symbol_errors"),
    CX_ROW(physical_statistical, phys_layer_statistical_cntrs, phy_corrected_bits,
           "phy.corrected_bits"),
    CX_ROW(physical_statistical, phys_layer_statistical_cntrs, phy_corrected_bits_lane0,
           "phy.raw_errors_lane0"),
    CX_ROW(physical_statistical, phys_layer_statistical_cntrs, phy_corrected_bits_lane1,
           "phy.raw_errors_lane1"),
    CX_ROW(physical_statistical, phys_layer_statistical_cntrs, phy_corrected_bits_lane2,
           "phy.raw_errors_lane2"),
    CX_ROW(physical_statistical, phys_layer_statistical_cntrs, phy_corrected_bits_lane3,
           "phy.raw_errors_lane3"),
    {PpcntGroup::physical_layer, prm::phys_layer_cntrs::link_down_events::kOffset / 8, 4,
     "phy.link_down_events"},
};
#undef CX_ROW

constexpr PpcntGroup kGroups[] = {
    PpcntGroup::ieee_802_3,        PpcntGroup::rfc_2863,          PpcntGroup::rfc_2819,
    PpcntGroup::rfc_3635,          PpcntGroup::ethernet_extended, PpcntGroup::per_priority,
    PpcntGroup::per_traffic_class, PpcntGroup::physical_layer,    PpcntGroup::physical_statistical,
};

}  // namespace

std::span<const PpcntRow> ppcnt_rows() {
    return kRows;
}

std::span<const PpcntGroup> ppcnt_groups() {
    return kGroups;
}

}  // namespace cxsim::firmware_stub
