// SPDX-License-Identifier: Apache-2.0
// TCP (RFC 9293), UDP (RFC 768), ICMP (RFC 792, RFC 4443).
#pragma once

#include "eth/wire/header_view.h"
#include "eth/wire/protocol.h"

#include <cstdint>

namespace cxsim::eth {

/// Flags of the TCP header as its nine low bits of word 6.
inline constexpr std::uint16_t kTcpFin = 0x001;
inline constexpr std::uint16_t kTcpSyn = 0x002;
inline constexpr std::uint16_t kTcpRst = 0x004;
inline constexpr std::uint16_t kTcpPsh = 0x008;
inline constexpr std::uint16_t kTcpAck = 0x010;
inline constexpr std::uint16_t kTcpUrg = 0x020;
inline constexpr std::uint16_t kTcpEce = 0x040;
inline constexpr std::uint16_t kTcpCwr = 0x080;
inline constexpr std::uint16_t kTcpNs = 0x100;

template <class Byte>
class BasicTcp : public HeaderView<Byte> {
  public:
    static constexpr std::size_t kChecksumOffset = 16;

    using HeaderView<Byte>::HeaderView;
    std::uint16_t source() const { return this->template get<std::uint16_t>(0); }
    std::uint16_t destination() const { return this->template get<std::uint16_t>(2); }
    std::uint32_t sequence() const { return this->template get<std::uint32_t>(4); }
    std::uint32_t acknowledgement() const { return this->template get<std::uint32_t>(8); }
    /// With options.
    std::uint32_t header_bytes() const { return (this->template get<std::uint8_t>(12) >> 4) * 4U; }
    std::uint16_t flags() const { return this->template get<std::uint16_t>(12) & 0x1ff; }
    std::uint16_t window() const { return this->template get<std::uint16_t>(14); }
    std::uint16_t checksum() const { return this->template get<std::uint16_t>(kChecksumOffset); }

    void set_source(std::uint16_t v) const { this->template put<std::uint16_t>(0, v); }
    void set_destination(std::uint16_t v) const { this->template put<std::uint16_t>(2, v); }
    void set_sequence(std::uint32_t v) const { this->template put<std::uint32_t>(4, v); }
    void set_acknowledgement(std::uint32_t v) const { this->template put<std::uint32_t>(8, v); }
    void set_bytes_and_flags(std::uint32_t header_bytes, std::uint16_t flags) const {
        this->template put<std::uint16_t>(
            12, static_cast<std::uint16_t>(header_bytes / 4 << 12 | (flags & 0x1ffU)));
    }
    void set_flags(std::uint16_t flags) const {
        const auto rest =
            static_cast<std::uint16_t>(this->template get<std::uint16_t>(12) & ~0x1ff);
        this->template put<std::uint16_t>(12, static_cast<std::uint16_t>(rest | (flags & 0x1ff)));
    }
    void set_window(std::uint16_t v) const { this->template put<std::uint16_t>(14, v); }
    void set_checksum(std::uint16_t v) const {
        this->template put<std::uint16_t>(kChecksumOffset, v);
    }
    void set_urgent(std::uint16_t v) const { this->template put<std::uint16_t>(18, v); }
};
using Tcp = BasicTcp<std::byte>;
using ConstTcp = BasicTcp<const std::byte>;

template <class Byte>
class BasicUdp : public HeaderView<Byte> {
  public:
    static constexpr std::size_t kChecksumOffset = 6;

    using HeaderView<Byte>::HeaderView;
    std::uint16_t source() const { return this->template get<std::uint16_t>(0); }
    std::uint16_t destination() const { return this->template get<std::uint16_t>(2); }
    /// Header and payload.
    std::uint16_t length() const { return this->template get<std::uint16_t>(4); }
    /// 0: the sender computed none.
    std::uint16_t checksum() const { return this->template get<std::uint16_t>(kChecksumOffset); }

    void set_source(std::uint16_t v) const { this->template put<std::uint16_t>(0, v); }
    void set_destination(std::uint16_t v) const { this->template put<std::uint16_t>(2, v); }
    void set_length(std::uint16_t v) const { this->template put<std::uint16_t>(4, v); }
    void set_checksum(std::uint16_t v) const {
        this->template put<std::uint16_t>(kChecksumOffset, v);
    }
};
using Udp = BasicUdp<std::byte>;
using ConstUdp = BasicUdp<const std::byte>;

/// ICMP and ICMPv6; they differ in the numbers and in what the checksum covers.
template <class Byte>
class BasicIcmp : public HeaderView<Byte> {
  public:
    static constexpr std::size_t kChecksumOffset = 2;

    using HeaderView<Byte>::HeaderView;
    std::uint8_t type() const { return this->template get<std::uint8_t>(0); }
    std::uint8_t code() const { return this->template get<std::uint8_t>(1); }
    std::uint16_t checksum() const { return this->template get<std::uint16_t>(kChecksumOffset); }
    /// The four bytes behind the checksum: identifier and sequence number of an echo.
    std::uint32_t rest() const { return this->template get<std::uint32_t>(4); }

    void set_type_and_code(std::uint8_t type, std::uint8_t code) const {
        this->template put<std::uint8_t>(0, type);
        this->template put<std::uint8_t>(1, code);
    }
    void set_checksum(std::uint16_t v) const {
        this->template put<std::uint16_t>(kChecksumOffset, v);
    }
    void set_rest(std::uint32_t v) const { this->template put<std::uint32_t>(4, v); }
};
using Icmp = BasicIcmp<std::byte>;
using ConstIcmp = BasicIcmp<const std::byte>;

}  // namespace cxsim::eth
