// SPDX-License-Identifier: Apache-2.0
#include "eth/nic/pipeline.h"

#include <algorithm>

namespace cxsim::eth {

void follow_vxlan_ports(const model::Resources& resources, ParserConfig& parser) {
    std::size_t known = 1;  // the IANA port is built in
    bool same = parser.vxlan_ports.size() == resources.vxlan_udp_dports.size() + 1;
    resources.vxlan_udp_dports.for_each([&](const model::VxlanUdpDport& port) {
        same = same && parser.vxlan_ports[known++] == port.port;
    });
    if (same) return;
    parser.vxlan_ports.assign(1, kPortVxlan);
    resources.vxlan_udp_dports.for_each([&](const model::VxlanUdpDport& port) {
        parser.vxlan_ports.push_back(port.port);
    });
}

Cast cast_of(const model::Frame& frame) {
    const auto bytes = frame.bytes();
    if (bytes.size() < 6 || (bytes[0] & std::byte{1}) == std::byte{0}) return Cast::unicast;
    const auto address = bytes.first(6);
    return std::ranges::all_of(address, [](std::byte b) { return b == std::byte{0xff}; })
               ? Cast::broadcast
               : Cast::multicast;
}

std::uint64_t destination_of(const model::Frame& frame) {
    const auto bytes = frame.bytes();
    std::uint64_t number = 0;
    if (bytes.size() < 6) return number;
    for (const std::byte octet : bytes.first(6)) {
        number = number << 8 | std::to_integer<std::uint64_t>(octet);
    }
    return number;
}

}  // namespace cxsim::eth
