// SPDX-License-Identifier: Apache-2.0
// Ethernet II, VLAN tags (802.1Q, 802.1ad) and ARP.
#pragma once

#include "eth/wire/header_view.h"
#include "eth/wire/protocol.h"

#include <compare>
#include <cstdint>

namespace cxsim::eth {

/// 48 bits, the first byte of the wire as the most significant one.
struct MacAddress {
    std::uint64_t value = 0;

    friend constexpr auto operator<=>(MacAddress, MacAddress) = default;
    constexpr bool multicast() const { return (value >> 40 & 1) != 0; }
    constexpr bool broadcast() const { return value == 0xffff'ffff'ffff; }
};

template <class Byte>
class BasicEthernet : public HeaderView<Byte> {
  public:
    using HeaderView<Byte>::HeaderView;
    MacAddress destination() const { return {this->get48(0)}; }
    MacAddress source() const { return {this->get48(6)}; }
    /// EtherType, a tag's TPID, or below 0x600 an 802.3 length.
    std::uint16_t type() const { return this->template get<std::uint16_t>(12); }
    void set_destination(MacAddress to) const { this->put48(0, to.value); }
    void set_source(MacAddress from) const { this->put48(6, from.value); }
    void set_type(std::uint16_t type) const { this->template put<std::uint16_t>(12, type); }
};
using Ethernet = BasicEthernet<std::byte>;
using ConstEthernet = BasicEthernet<const std::byte>;

/// A tag from its TPID on: four bytes, then the next EtherType.
template <class Byte>
class BasicVlanTag : public HeaderView<Byte> {
  public:
    using HeaderView<Byte>::HeaderView;
    std::uint16_t tpid() const { return this->template get<std::uint16_t>(0); }
    /// Priority (3 bits), DEI (1), VLAN (12).
    std::uint16_t tci() const { return this->template get<std::uint16_t>(2); }
    std::uint8_t priority() const { return static_cast<std::uint8_t>(tci() >> 13); }
    bool drop_eligible() const { return (tci() >> 12 & 1) != 0; }
    std::uint16_t vlan() const { return tci() & 0xfff; }
    void set_tpid(std::uint16_t tpid) const { this->template put<std::uint16_t>(0, tpid); }
    void set_tci(std::uint16_t tci) const { this->template put<std::uint16_t>(2, tci); }
};
using VlanTag = BasicVlanTag<std::byte>;
using ConstVlanTag = BasicVlanTag<const std::byte>;

constexpr bool is_vlan_type(std::uint16_t type) {
    return type == kEtherCustomerTag || type == kEtherServiceTag;
}

/// ARP for Ethernet and IPv4 (RFC 826); other kinds have other lengths.
template <class Byte>
class BasicArp : public HeaderView<Byte> {
  public:
    static constexpr std::uint16_t kRequest = 1;
    static constexpr std::uint16_t kReply = 2;

    using HeaderView<Byte>::HeaderView;
    /// Hardware, protocol and address lengths are those of Ethernet and IPv4.
    bool for_ipv4() const {
        return this->template get<std::uint32_t>(0) == 0x0001'0800 &&
               this->template get<std::uint16_t>(4) == 0x0604;
    }
    std::uint16_t operation() const { return this->template get<std::uint16_t>(6); }
    MacAddress sender() const { return {this->get48(8)}; }
    std::uint32_t sender_ip() const { return this->template get<std::uint32_t>(14); }
    MacAddress target() const { return {this->get48(18)}; }
    std::uint32_t target_ip() const { return this->template get<std::uint32_t>(24); }

    void set_for_ipv4() const {
        this->template put<std::uint32_t>(0, 0x0001'0800);
        this->template put<std::uint16_t>(4, 0x0604);
    }
    void set_operation(std::uint16_t code) const { this->template put<std::uint16_t>(6, code); }
    void set_sender(MacAddress mac, std::uint32_t ip) const {
        this->put48(8, mac.value);
        this->template put<std::uint32_t>(14, ip);
    }
    void set_target(MacAddress mac, std::uint32_t ip) const {
        this->put48(18, mac.value);
        this->template put<std::uint32_t>(24, ip);
    }
};
using Arp = BasicArp<std::byte>;
using ConstArp = BasicArp<const std::byte>;

}  // namespace cxsim::eth
