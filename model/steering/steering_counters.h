// SPDX-License-Identifier: Apache-2.0
// What the flow tables of one function count.
#pragma once

#include "model/steering/deliveries.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace cxsim::model {

/// table_type of the steering commands.
enum class FlowTableType : std::uint8_t {
    nic_rx = 0,
    nic_tx = 1,
    sniffer_rx = 5,
    sniffer_tx = 6,
    rdma_rx = 7,
    rdma_tx = 8,
};

/// packets = delivered + dropped. A sniffer does not drop: what its tables do not deliver counts
/// as passed over.
struct NamespaceCounters {
    std::uint64_t packets = 0;
    std::uint64_t octets = 0;
    std::uint64_t delivered = 0;   ///< packets that reached at least one destination
    std::uint64_t dropped = 0;     ///< packets that reached none
    std::uint64_t deliveries = 0;  ///< to TIRs, or to the wire
    /// Branches of packets that ended, by DropReason: with one destination a packet is a branch.
    std::array<std::uint64_t, static_cast<std::size_t>(DropReason::count)> drops{};

    std::uint64_t& operator[](DropReason reason) { return drops[static_cast<std::size_t>(reason)]; }
    std::uint64_t operator[](DropReason reason) const {
        return drops[static_cast<std::size_t>(reason)];
    }
};

struct SteeringCounters {
    static constexpr std::size_t kTypes = 9;

    std::array<NamespaceCounters, kTypes> spaces{};  ///< by table type
    std::uint64_t tables_visited = 0;
    std::uint64_t probes = 0;       ///< groups asked, each with one look into its index
    std::uint64_t comparisons = 0;  ///< match values compared: close to the rules hit
    std::uint64_t rules_hit = 0;
    std::uint64_t edits = 0;   ///< actions done to packets
    std::uint64_t copies = 0;  ///< packets copied, as several destinations want them differently
    std::uint64_t hashed = 0;  ///< receive queue chosen by a hash over headers
    std::uint64_t not_hashed = 0;        ///< entry 0: the TIR hashes other packets, or none
    std::uint64_t no_receive_queue = 0;  ///< TIR whose queue or table is gone or empty

    NamespaceCounters& operator[](FlowTableType type) {
        return spaces[static_cast<std::size_t>(type)];
    }
    const NamespaceCounters& operator[](FlowTableType type) const {
        return spaces[static_cast<std::size_t>(type)];
    }
};

}  // namespace cxsim::model
