// SPDX-License-Identifier: Apache-2.0
// Numbers of the protocols that a card knows: EtherTypes, IP protocols, ports, header sizes.
#pragma once

#include <cstdint>

namespace cxsim::eth {

// EtherTypes (IEEE registration authority).
inline constexpr std::uint16_t kEtherIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherArp = 0x0806;
inline constexpr std::uint16_t kEtherTransparentBridging =
    0x6558;                                                 // GRE: an Ethernet frame follows
inline constexpr std::uint16_t kEtherCustomerTag = 0x8100;  // 802.1Q
inline constexpr std::uint16_t kEtherIpv6 = 0x86dd;
inline constexpr std::uint16_t kEtherMacControl = 0x8808;
inline constexpr std::uint16_t kEtherMpls = 0x8847;
inline constexpr std::uint16_t kEtherMplsMulticast = 0x8848;
inline constexpr std::uint16_t kEtherServiceTag = 0x88a8;  // 802.1ad
inline constexpr std::uint16_t kEtherRoce = 0x8915;        // RoCE version 1

// IP protocols and IPv6 next headers (IANA).
inline constexpr std::uint8_t kProtoHopByHop = 0;
inline constexpr std::uint8_t kProtoIcmp = 1;
inline constexpr std::uint8_t kProtoIpv4 = 4;
inline constexpr std::uint8_t kProtoTcp = 6;
inline constexpr std::uint8_t kProtoUdp = 17;
inline constexpr std::uint8_t kProtoIpv6 = 41;
inline constexpr std::uint8_t kProtoRouting = 43;
inline constexpr std::uint8_t kProtoFragment = 44;
inline constexpr std::uint8_t kProtoGre = 47;
inline constexpr std::uint8_t kProtoEsp = 50;
inline constexpr std::uint8_t kProtoAuthentication = 51;
inline constexpr std::uint8_t kProtoIcmpv6 = 58;
inline constexpr std::uint8_t kProtoNoNext = 59;
inline constexpr std::uint8_t kProtoDestinationOptions = 60;
inline constexpr std::uint8_t kProtoSctp = 132;

// UDP destination ports (IANA).
inline constexpr std::uint16_t kPortVxlan = 4789;
inline constexpr std::uint16_t kPortVxlanGpe = 4790;
inline constexpr std::uint16_t kPortRoce = 4791;  // RoCE version 2
inline constexpr std::uint16_t kPortGeneve = 6081;
inline constexpr std::uint16_t kPortMpls = 6635;

// Header sizes in bytes, without options.
inline constexpr std::uint32_t kEthernetBytes = 14;
inline constexpr std::uint32_t kVlanTagBytes = 4;
inline constexpr std::uint32_t kArpBytes = 28;  // Ethernet and IPv4
inline constexpr std::uint32_t kIpv4Bytes = 20;
inline constexpr std::uint32_t kIpv6Bytes = 40;
inline constexpr std::uint32_t kIpv6FragmentBytes = 8;
inline constexpr std::uint32_t kTcpBytes = 20;
inline constexpr std::uint32_t kUdpBytes = 8;
inline constexpr std::uint32_t kIcmpBytes = 8;
inline constexpr std::uint32_t kGreBytes = 4;
inline constexpr std::uint32_t kVxlanBytes = 8;
inline constexpr std::uint32_t kGeneveBytes = 8;
inline constexpr std::uint32_t kMplsBytes = 4;
inline constexpr std::uint32_t kBthBytes = 12;
inline constexpr std::uint32_t kFcsBytes = 4;
/// Shortest frame on the wire without FCS; the MAC pads to it.
inline constexpr std::uint32_t kMinFrameBytes = 60;

}  // namespace cxsim::eth
