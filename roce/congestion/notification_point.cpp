// SPDX-License-Identifier: Apache-2.0
#include "roce/congestion/notification_point.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace cxsim::roce {

using model::CnpScope;
using model::Picoseconds;

namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9e37'79b9'7f4a'7c15;
    return hash ^ hash >> 32;
}

std::uint64_t mixed(std::uint64_t hash, const Gid& gid) {
    std::uint64_t words[2];
    std::memcpy(words, gid.data(), sizeof words);
    return mixed(mixed(hash, words[0]), words[1]);
}

}  // namespace

// The scope is part of the key: after a change of scope nothing old matches.
NotificationPoint::Key NotificationPoint::key_of(const Packet& packet) const {
    const CnpScope scope = control_.np.scope;
    Key key;
    key.rest = static_cast<std::uint32_t>(scope) << 24;
    switch (scope) {
        case CnpScope::port:
            break;
        case CnpScope::destination_ip:
            key.source = packet.source;
            break;
        case CnpScope::source_qp:
            key.source = packet.source;
            key.rest |= packet.source_qp & 0xffffff;
            break;
        case CnpScope::five_tuple:
            key.source = packet.source;
            key.destination = packet.destination;
            key.rest |= packet.source_port;
            break;
    }
    return key;
}

bool NotificationPoint::due(Picoseconds at, const Packet& packet) {
    const auto interval = model::microseconds(control_.np.min_time_between_cnps);
    if (interval == Picoseconds{}) return true;
    if (entries_.empty()) entries_.resize(kSets * kWays);
    const Key key = key_of(packet);
    const std::uint64_t hash = mixed(mixed(mixed(0, key.source), key.destination), key.rest);
    const std::span<Entry> set(&entries_[hash % kSets * kWays], kWays);
    const auto known = std::find_if(
        set.begin(), set.end(), [&](const Entry& entry) { return entry.used && entry.key == key; });
    if (known != set.end()) {
        if (at - known->sent <= interval) return false;
        known->sent = at;
        return true;
    }
    // An unused place, else the one whose time has passed for the longest.
    const auto place = std::min_element(set.begin(), set.end(), [](const Entry& a, const Entry& b) {
        return a.used != b.used ? !a.used : a.sent < b.sent;
    });
    if (place->used && at - place->sent <= interval) ++forgotten_;
    *place = {key, at, true};
    return true;
}

bool NotificationPoint::marked(Picoseconds at, const Packet& packet) {
    ++control_.ecn_marked_packets;
    if (!control_.notification_point_state[packet.priority & 7].enable) return false;
    if (!due(at, packet)) return false;
    ++control_.cnps_sent;
    return true;
}

bool NotificationPoint::lost(Picoseconds at, const Packet& packet) {
    if (!control_.np.slow_restart) return false;
    if (!control_.notification_point_state[packet.priority & 7].enable) return false;
    if (!due(at, packet)) return false;
    ++control_.cnps_sent;
    ++control_.slow_restart_cnps;
    return true;
}

std::uint8_t NotificationPoint::cnp_priority(unsigned packet_priority) const {
    return control_.np.cnp_prio_mode == 0 ? control_.np.cnp_802p_prio
                                          : static_cast<std::uint8_t>(packet_priority & 7);
}

}  // namespace cxsim::roce
