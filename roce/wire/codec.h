// SPDX-License-Identifier: Apache-2.0
// Between frames and packets: IBTA volume 1 chapter 9, annexes A16 (version 1) and A17 (version 2).
#pragma once

#include "model/ports/frame.h"
#include "roce/wire/packet.h"

#include <array>
#include <cstdint>
#include <span>

namespace cxsim::roce {

inline constexpr std::uint32_t kBthBytes = 12;
inline constexpr std::uint32_t kDethBytes = 8;
inline constexpr std::uint32_t kRethBytes = 16;
inline constexpr std::uint32_t kAtomicEthBytes = 28;
inline constexpr std::uint32_t kAethBytes = 4;
inline constexpr std::uint32_t kAtomicAckEthBytes = 8;
inline constexpr std::uint32_t kImmediateBytes = 4;
inline constexpr std::uint32_t kIethBytes = 4;
inline constexpr std::uint32_t kXrcEthBytes = 4;
inline constexpr std::uint32_t kIcrcBytes = 4;
inline constexpr std::uint32_t kGrhBytes = 40;
/// What follows a CNP's BTH: reserved. build() writes zeros; parse() does not call them payload.
inline constexpr std::uint32_t kCnpReservedBytes = 16;

/// Bytes of BTH and extended headers of an opcode.
std::uint32_t transport_header_bytes(std::uint8_t opcode);

/// Where packets of a QP or an address vector go: the Ethernet, IP and UDP headers (or the GRH)
/// written once, the parts that differ from packet to packet filled in by build().
class Path {
  public:
    struct Description {
        NetworkKind kind = NetworkKind::roce_v2_ipv4;
        eth::MacAddress source_mac;
        eth::MacAddress destination_mac;
        bool has_vlan = false;
        std::uint16_t vlan_tci = 0;  ///< priority in the top three bits
        Gid source{};
        Gid destination{};
        std::uint8_t traffic_class = 0;  ///< DSCP and ECN
        std::uint8_t hop_limit = 64;
        std::uint32_t flow_label = 0;
        std::uint16_t source_port = 0xc000;  ///< UDP
        std::uint8_t priority = 0;           ///< queue of the port
    };

    Path() = default;
    explicit Path(const Description& description);

    const Description& description() const { return description_; }
    /// Bytes in front of the BTH.
    std::uint32_t header_bytes() const { return header_bytes_; }
    std::span<const std::byte> headers() const { return std::span(headers_).first(header_bytes_); }

  private:
    Description description_;
    std::array<std::byte, 14 + 4 + 40 + 8> headers_{};
    std::uint32_t header_bytes_ = 0;
};

/// A frame with all headers and room for the payload, not yet sealed. `stored` bytes of payload
/// are to be written to payload_of(); `synthetic` are only counted (both 0: no payload). The BTH's
/// pad is set from their sum. `identification`: of IPv4.
model::FramePtr build(model::FramePool& pool, const Path& path, const TransportHeaders& headers,
                      std::uint32_t stored, std::uint32_t synthetic, std::uint16_t identification);

/// Of a frame made by build() with that path and opcode.
std::span<std::byte> payload_of(model::Frame& frame, const Path& path, std::uint8_t opcode,
                                std::uint32_t stored);

/// Writes the invariant CRC; frames with counted bytes get none (they carry no content).
void seal(model::Frame& frame, const Path& path);

/// The invariant CRC as it stands on the wire (least significant byte first) of a whole packet
/// without it: `network` from the IP header or GRH on. Fields that routers change count as ones.
std::array<std::byte, 4> invariant_crc(NetworkKind kind, std::span<const std::byte> network);

enum class Parsed : std::uint8_t {
    packet,
    not_roce,   ///< Ethernet's
    malformed,  ///< too short, lengths that contradict each other, reserved opcode, wrong version
    bad_icrc,
};

/// Takes a frame apart. On anything but `packet` the contents of `into` are undefined.
Parsed parse(const model::Frame& frame, ReceivedPacket& into);

/// Whether parse() would look at the frame at all: EtherType 0x8915 or UDP port 4791, at most one
/// VLAN tag, no IP fragment.
bool looks_like_roce(const model::Frame& frame);

}  // namespace cxsim::roce
