// SPDX-License-Identifier: Apache-2.0
// What a port counts above its physical layer. Octets are those of the frame with its FCS (and
// padding), without preamble and gap. MAC control frames count as frames, as IEEE 802.3 clause 5
// and 31 have it.
#pragma once

#include "eth/link/phy_counters.h"
#include "model/stats/stats.h"

#include <array>
#include <cstdint>
#include <string>

namespace cxsim::eth {

/// Sizes of RMON (RFC 2819) and the port's own beyond 1518.
constexpr std::array<std::uint32_t, 10> kSizeLimits{64,   127,  255,  511,  1023,
                                                    1518, 2047, 4095, 8191, 10239};

struct PortCounters : model::stats::Group {
    PortCounters(Group& parent, const std::string& name) : Group(parent, name) {}
    using Counter = model::stats::Counter;
    using Unit = model::stats::Unit;
    template <std::size_t N>
    using CounterArray = model::stats::CounterArray<N>;

    // ---- Sending
    Counter tx_frames{*this, "tx_frames", Unit::packets, "Frames sent"};
    Counter tx_octets{*this, "tx_octets", Unit::bytes, "Bytes of frames sent"};
    Counter tx_unicast{*this, "tx_unicast", Unit::packets, "Unicast frames sent"};
    Counter tx_multicast{*this, "tx_multicast", Unit::packets, "Multicast frames sent"};
    Counter tx_broadcast{*this, "tx_broadcast", Unit::packets, "Broadcast frames sent"};
    Counter tx_control{*this, "tx_control", Unit::packets, "MAC control frames sent"};
    Counter tx_pause{*this, "tx_pause", Unit::packets, "Pause frames of both kinds sent"};
    Counter tx_accepted{*this, "tx_accepted", Unit::packets, "Frames taken from the pipelines"};
    Counter tx_no_link{*this, "tx_no_link", Unit::packets, "Dropped: the link was down"};
    Counter tx_oversize{*this, "tx_oversize", Unit::packets, "Dropped: beyond the MTU"};
    Counter tx_discards{*this, "tx_discards", Unit::packets, "Dropped on sending, all reasons"};

    // ---- Receiving: good frames
    Counter rx_frames{*this, "rx_frames", Unit::packets, "Good frames received"};
    Counter rx_octets{*this, "rx_octets", Unit::bytes, "Bytes of good frames received"};
    Counter rx_unicast{*this, "rx_unicast", Unit::packets, "Good unicast frames received"};
    Counter rx_multicast{*this, "rx_multicast", Unit::packets, "Good multicast frames received"};
    Counter rx_broadcast{*this, "rx_broadcast", Unit::packets, "Good broadcast frames received"};
    Counter rx_control{*this, "rx_control", Unit::packets, "MAC control frames received"};
    Counter rx_unsupported_control{*this, "rx_unsupported_control", Unit::packets,
                                   "MAC control frames with an unknown opcode"};
    Counter rx_pause{*this, "rx_pause", Unit::packets, "Pause frames of both kinds received"};
    Counter rx_delivered{*this, "rx_delivered", Unit::packets,
                         "Frames handed to the receive pipeline"};

    // ---- Receiving: everything that came, and what was dropped
    Counter rx_events{*this, "rx_events", Unit::packets, "Frames that arrived, bad ones included"};
    Counter rx_event_octets{*this, "rx_event_octets", Unit::bytes, "Their bytes"};
    Counter rx_fcs_errors{*this, "rx_fcs_errors", Unit::packets, "Damaged frames of legal size"};
    Counter rx_damaged_kept{*this, "rx_damaged_kept", Unit::packets,
                            "Of those: handed on, the check being off"};
    Counter rx_undersize{*this, "rx_undersize", Unit::packets,
                         "Dropped: below 64 bytes, undamaged"};
    Counter rx_fragments{*this, "rx_fragments", Unit::packets, "Dropped: below 64 bytes, damaged"};
    Counter rx_oversize{*this, "rx_oversize", Unit::packets, "Dropped: beyond the MTU, undamaged"};
    Counter rx_jabbers{*this, "rx_jabbers", Unit::packets, "Dropped: beyond the MTU, damaged"};
    Counter rx_in_range_length{*this, "rx_in_range_length", Unit::packets,
                               "Frames whose length field disagrees with their size"};
    Counter rx_symbol_errors{*this, "rx_symbol_errors", Unit::packets,
                             "Frames hit by coding errors"};
    Counter rx_discards{*this, "rx_discards", Unit::packets, "Dropped: no room in a buffer"};
    Counter rx_errors{*this, "rx_errors", Unit::packets, "Dropped for an error of the frame"};
    Counter rx_no_receiver{*this, "rx_no_receiver", Unit::packets,
                           "Dropped: the port is switched off or has no receive pipeline"};
    Counter rx_buffer_almost_full{*this, "rx_buffer_almost_full", Unit::events,
                                  "A receive buffer passed its threshold"};
    Counter rx_buffer_full{*this, "rx_buffer_full", Unit::events, "A receive buffer began to drop"};
    CounterArray<kSizeLimits.size() + 1> rx_sizes{
        *this, "rx_size_class{}", Unit::packets,
        "Good frames of up to 64, 127, 255, 511, 1023, 1518, 2047, 4095, 8191, 10239 bytes, more"};

    // ---- By priority
    CounterArray<8> rx_prio_octets{*this, "rx_prio{}_octets", Unit::bytes, "Bytes received"};
    CounterArray<8> rx_prio_frames{*this, "rx_prio{}_frames", Unit::packets, "Frames received"};
    CounterArray<8> rx_prio_discards{*this, "rx_prio{}_discards", Unit::packets,
                                     "Dropped: no room in the buffer"};
    CounterArray<8> tx_prio_octets{*this, "tx_prio{}_octets", Unit::bytes, "Bytes sent"};
    CounterArray<8> tx_prio_frames{*this, "tx_prio{}_frames", Unit::packets, "Frames sent"};
    CounterArray<8> rx_prio_pause{*this, "rx_prio{}_pause", Unit::packets,
                                  "Pause frames received; global ones count at priority 0"};
    CounterArray<8> rx_prio_pause_duration{*this, "rx_prio{}_pause_duration", Unit::picoseconds,
                                           "Time for which sending was paused"};
    CounterArray<8> rx_prio_pause_transition{*this, "rx_prio{}_pause_transition", Unit::events,
                                             "Changes from sending to paused"};
    CounterArray<8> tx_prio_pause{*this, "tx_prio{}_pause", Unit::packets,
                                  "Pause frames sent; global ones count at priority 0"};
    CounterArray<8> tx_prio_pause_duration{*this, "tx_prio{}_pause_duration", Unit::picoseconds,
                                           "Time for which the other end was told to pause"};

    PhyCounters phy{*this, "phy"};
};

}  // namespace cxsim::eth
