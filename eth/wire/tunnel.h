// SPDX-License-Identifier: Apache-2.0
// Tunnels: GRE and NVGRE (RFC 2784, 2890, 7637), VXLAN (RFC 7348) and its generic extension,
// GENEVE (RFC 8926), MPLS labels (RFC 3032).
#pragma once

#include "eth/wire/header_view.h"
#include "eth/wire/protocol.h"

#include <cstdint>

namespace cxsim::eth {

template <class Byte>
class BasicGre : public HeaderView<Byte> {
  public:
    static constexpr std::size_t kChecksumOffset = 4;

    using HeaderView<Byte>::HeaderView;
    bool has_checksum() const { return (word() & 0x8000) != 0; }
    bool has_key() const { return (word() & 0x2000) != 0; }
    bool has_sequence() const { return (word() & 0x1000) != 0; }
    /// No source routing and version 0: what RFC 2784 and 2890 describe.
    bool plain() const { return (word() & 0x4007) == 0; }
    /// EtherType of what follows.
    std::uint16_t protocol() const { return this->template get<std::uint16_t>(2); }
    /// With the optional words.
    std::uint32_t header_bytes() const {
        return 4U + (has_checksum() ? 4U : 0U) + (has_key() ? 4U : 0U) + (has_sequence() ? 4U : 0U);
    }
    /// NVGRE: virtual subnet (24 bits) and flow (8). The header must have a key.
    std::uint32_t key() const { return this->template get<std::uint32_t>(has_checksum() ? 8 : 4); }

    void set_flags_and_protocol(bool checksum, bool key, bool sequence,
                                std::uint16_t protocol) const {
        this->template put<std::uint16_t>(
            0, static_cast<std::uint16_t>((checksum ? 0x8000U : 0U) | (key ? 0x2000U : 0U) |
                                          (sequence ? 0x1000U : 0U)));
        this->template put<std::uint16_t>(2, protocol);
    }
    void set_key(std::uint32_t key) const {
        this->template put<std::uint32_t>(has_checksum() ? 8 : 4, key);
    }

  private:
    std::uint16_t word() const { return this->template get<std::uint16_t>(0); }
};
using Gre = BasicGre<std::byte>;
using ConstGre = BasicGre<const std::byte>;

template <class Byte>
class BasicVxlan : public HeaderView<Byte> {
  public:
    using HeaderView<Byte>::HeaderView;
    std::uint8_t flags() const { return this->template get<std::uint8_t>(0); }
    /// Generic protocol extension: 1 IPv4, 2 IPv6, 3 Ethernet.
    std::uint8_t next_protocol() const { return this->template get<std::uint8_t>(3); }
    std::uint32_t vni() const { return this->template get<std::uint32_t>(4) >> 8; }
    /// Flags "VNI is valid", everything reserved zero.
    void set(std::uint32_t vni) const {
        this->template put<std::uint32_t>(0, 0x0800'0000);
        this->template put<std::uint32_t>(4, vni << 8);
    }
    /// Generic protocol extension: also "next protocol is valid".
    void set_generic(std::uint32_t vni, std::uint8_t next_protocol) const {
        this->template put<std::uint32_t>(0, 0x0c00'0000U | next_protocol);
        this->template put<std::uint32_t>(4, vni << 8);
    }
};
using Vxlan = BasicVxlan<std::byte>;
using ConstVxlan = BasicVxlan<const std::byte>;

template <class Byte>
class BasicGeneve : public HeaderView<Byte> {
  public:
    using HeaderView<Byte>::HeaderView;
    std::uint8_t version() const { return this->template get<std::uint8_t>(0) >> 6; }
    /// Length of the options in units of four bytes.
    std::uint8_t option_words() const { return this->template get<std::uint8_t>(0) & 0x3f; }
    /// With options.
    std::uint32_t header_bytes() const { return kGeneveBytes + option_words() * 4U; }
    bool control() const { return (this->template get<std::uint8_t>(1) & 0x80) != 0; }
    /// EtherType of what follows.
    std::uint16_t protocol() const { return this->template get<std::uint16_t>(2); }
    std::uint32_t vni() const { return this->template get<std::uint32_t>(4) >> 8; }
    void set(std::uint8_t option_words, std::uint16_t protocol, std::uint32_t vni) const {
        this->template put<std::uint16_t>(0,
                                          static_cast<std::uint16_t>((option_words & 0x3fU) << 8));
        this->template put<std::uint16_t>(2, protocol);
        this->template put<std::uint32_t>(4, vni << 8);
    }
};
using Geneve = BasicGeneve<std::byte>;
using ConstGeneve = BasicGeneve<const std::byte>;

/// One entry of a label stack.
template <class Byte>
class BasicMpls : public HeaderView<Byte> {
  public:
    using HeaderView<Byte>::HeaderView;
    /// The whole entry: label (20 bits), class (3), bottom of stack (1), TTL (8).
    std::uint32_t word() const { return this->template get<std::uint32_t>(0); }
    std::uint32_t label() const { return word() >> 12; }
    bool bottom() const { return (word() >> 8 & 1) != 0; }
    std::uint8_t ttl() const { return static_cast<std::uint8_t>(word()); }
    void set(std::uint32_t label, std::uint8_t traffic_class, bool bottom, std::uint8_t ttl) const {
        this->template put<std::uint32_t>(
            0, label << 12 | (traffic_class & 7U) << 9 | (bottom ? 0x100U : 0U) | ttl);
    }
};
using Mpls = BasicMpls<std::byte>;
using ConstMpls = BasicMpls<const std::byte>;

}  // namespace cxsim::eth
