// SPDX-License-Identifier: Apache-2.0
// IPv4 (RFC 791), IPv6 with extension headers and fragments (RFC 8200).
#pragma once

#include "eth/wire/header_view.h"
#include "eth/wire/protocol.h"

#include <cstdint>

namespace cxsim::eth {

template <class Byte>
class BasicIpv4 : public HeaderView<Byte> {
  public:
    static constexpr std::size_t kChecksumOffset = 10;
    static constexpr std::size_t kSourceOffset = 12;

    using HeaderView<Byte>::HeaderView;
    std::uint8_t version() const { return this->template get<std::uint8_t>(0) >> 4; }
    /// With options.
    std::uint32_t header_bytes() const { return (this->template get<std::uint8_t>(0) & 0xfU) * 4; }
    /// DSCP (6 bits) and ECN (2).
    std::uint8_t traffic_class() const { return this->template get<std::uint8_t>(1); }
    /// Header and payload.
    std::uint16_t total_bytes() const { return this->template get<std::uint16_t>(2); }
    std::uint16_t id() const { return this->template get<std::uint16_t>(4); }
    bool dont_fragment() const { return (fragment_word() >> 14 & 1) != 0; }
    bool more_fragments() const { return (fragment_word() >> 13 & 1) != 0; }
    /// In bytes.
    std::uint32_t fragment_offset() const { return (fragment_word() & 0x1fffU) * 8; }
    bool fragment() const { return (fragment_word() & 0x3fff) != 0; }
    std::uint8_t ttl() const { return this->template get<std::uint8_t>(8); }
    std::uint8_t protocol() const { return this->template get<std::uint8_t>(9); }
    std::uint16_t checksum() const { return this->template get<std::uint16_t>(kChecksumOffset); }
    std::uint32_t source() const { return this->template get<std::uint32_t>(12); }
    std::uint32_t destination() const { return this->template get<std::uint32_t>(16); }

    void set_version_and_bytes(std::uint32_t header_bytes) const {
        this->template put<std::uint8_t>(0, static_cast<std::uint8_t>(0x40 | header_bytes / 4));
    }
    void set_traffic_class(std::uint8_t v) const { this->template put<std::uint8_t>(1, v); }
    void set_total_bytes(std::uint16_t v) const { this->template put<std::uint16_t>(2, v); }
    void set_id(std::uint16_t v) const { this->template put<std::uint16_t>(4, v); }
    /// `offset` in bytes, a multiple of 8.
    void set_fragment(bool dont, bool more, std::uint32_t offset) const {
        this->template put<std::uint16_t>(
            6, static_cast<std::uint16_t>((dont ? 0x4000U : 0U) | (more ? 0x2000U : 0U) |
                                          (offset / 8 & 0x1fffU)));
    }
    void set_ttl(std::uint8_t v) const { this->template put<std::uint8_t>(8, v); }
    void set_protocol(std::uint8_t v) const { this->template put<std::uint8_t>(9, v); }
    void set_checksum(std::uint16_t v) const {
        this->template put<std::uint16_t>(kChecksumOffset, v);
    }
    void set_source(std::uint32_t v) const { this->template put<std::uint32_t>(12, v); }
    void set_destination(std::uint32_t v) const { this->template put<std::uint32_t>(16, v); }

  private:
    std::uint16_t fragment_word() const { return this->template get<std::uint16_t>(6); }
};
using Ipv4 = BasicIpv4<std::byte>;
using ConstIpv4 = BasicIpv4<const std::byte>;

template <class Byte>
class BasicIpv6 : public HeaderView<Byte> {
  public:
    static constexpr std::size_t kSourceOffset = 8;
    static constexpr std::size_t kDestinationOffset = 24;
    static constexpr std::size_t kAddressBytes = 16;

    using HeaderView<Byte>::HeaderView;
    std::uint8_t version() const { return this->template get<std::uint8_t>(0) >> 4; }
    /// DSCP (6 bits) and ECN (2).
    std::uint8_t traffic_class() const {
        return static_cast<std::uint8_t>(this->template get<std::uint32_t>(0) >> 20);
    }
    std::uint32_t flow_label() const { return this->template get<std::uint32_t>(0) & 0xfffff; }
    /// What follows this header, extension headers included.
    std::uint16_t payload_bytes() const { return this->template get<std::uint16_t>(4); }
    std::uint8_t next_header() const { return this->template get<std::uint8_t>(6); }
    std::uint8_t hop_limit() const { return this->template get<std::uint8_t>(7); }
    Byte* source() const { return this->at_ + kSourceOffset; }
    Byte* destination() const { return this->at_ + kDestinationOffset; }

    void set_first_word(std::uint8_t traffic_class, std::uint32_t flow_label) const {
        this->template put<std::uint32_t>(0, 0x6000'0000U |
                                                 static_cast<std::uint32_t>(traffic_class) << 20 |
                                                 (flow_label & 0xfffffU));
    }
    void set_payload_bytes(std::uint16_t v) const { this->template put<std::uint16_t>(4, v); }
    void set_next_header(std::uint8_t v) const { this->template put<std::uint8_t>(6, v); }
    void set_hop_limit(std::uint8_t v) const { this->template put<std::uint8_t>(7, v); }
};
using Ipv6 = BasicIpv6<std::byte>;
using ConstIpv6 = BasicIpv6<const std::byte>;

/// Hop-by-hop options, routing, destination options: next header and length in units of 8 bytes
/// beyond the first 8. Authentication counts in units of 4 beyond the first 8.
template <class Byte>
class BasicIpv6Extension : public HeaderView<Byte> {
  public:
    using HeaderView<Byte>::HeaderView;
    std::uint8_t next_header() const { return this->template get<std::uint8_t>(0); }
    std::uint32_t bytes(std::uint8_t protocol) const {
        const std::uint32_t length = this->template get<std::uint8_t>(1);
        return protocol == kProtoAuthentication ? (length + 2) * 4 : (length + 1) * 8;
    }
};
using ConstIpv6Extension = BasicIpv6Extension<const std::byte>;

template <class Byte>
class BasicIpv6Fragment : public HeaderView<Byte> {
  public:
    using HeaderView<Byte>::HeaderView;
    std::uint8_t next_header() const { return this->template get<std::uint8_t>(0); }
    /// In bytes.
    std::uint32_t offset() const { return this->template get<std::uint16_t>(2) & 0xfff8U; }
    bool more() const { return (this->template get<std::uint16_t>(2) & 1) != 0; }
    std::uint32_t id() const { return this->template get<std::uint32_t>(4); }
    /// `offset` in bytes, a multiple of 8.
    void set(std::uint8_t next, std::uint32_t offset, bool more, std::uint32_t id) const {
        this->template put<std::uint8_t>(0, next);
        this->template put<std::uint8_t>(1, 0);
        this->template put<std::uint16_t>(
            2, static_cast<std::uint16_t>((offset & 0xfff8U) | (more ? 1U : 0U)));
        this->template put<std::uint32_t>(4, id);
    }
};
using Ipv6Fragment = BasicIpv6Fragment<std::byte>;
using ConstIpv6Fragment = BasicIpv6Fragment<const std::byte>;

}  // namespace cxsim::eth
