// SPDX-License-Identifier: Apache-2.0
// What passes a function's vport, counted by whoever moves the packets (eth/nic, roce) and shown by
// QUERY_VPORT_COUNTER and QUERY_VNIC_ENV.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cxsim::model {

struct VportTraffic {
    struct Traffic {
        std::uint64_t packets = 0;
        std::uint64_t octets = 0;

        void count(std::uint64_t bytes) {
            ++packets;
            octets += bytes;
        }
    };
    Traffic received_errors, transmit_errors;
    Traffic received_ib_unicast, transmitted_ib_unicast;
    Traffic received_ib_multicast, transmitted_ib_multicast;
    Traffic received_eth_broadcast, transmitted_eth_broadcast;
    Traffic received_eth_unicast, transmitted_eth_unicast;
    Traffic received_eth_multicast, transmitted_eth_multicast;
    Traffic local_loopback;
};

/// What lets packets through a vport, which come back to it, and what it stopped (QUERY_VNIC_ENV).
struct VportGate {
    bool open = true;                    ///< the administrative state
    bool loop_unicast = true;            ///< not disable_uc_local_lb
    bool loop_multicast = true;          ///< not disable_mc_local_lb; broadcast as well
    /// The vport's unicast addresses as numbers: a sent frame to one of them comes back.
    std::vector<std::uint64_t> stations;
    std::uint64_t receive_steering = 0;  ///< no flow table gave the packet a queue
    std::uint64_t receive_vport_down = 0;
    std::uint64_t transmit_vport_down = 0;

    bool is_station(std::uint64_t mac) const {
        return std::find(stations.begin(), stations.end(), mac) != stations.end();
    }
};

}  // namespace cxsim::model
