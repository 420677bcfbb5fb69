// SPDX-License-Identifier: Apache-2.0
// A RoCE packet: the headers of the transport as values, and the network around them.
#pragma once

#include "eth/wire/ethernet.h"
#include "roce/wire/opcode.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace cxsim::roce {

using Gid = std::array<std::byte, 16>;

inline bool same_gid(const Gid& a, const Gid& b) {
    return std::memcmp(a.data(), b.data(), a.size()) == 0;  // == goes byte by byte
}

/// roce_addr_layout.roce_version and what the packet looks like.
enum class NetworkKind : std::uint8_t { roce_v1, roce_v2_ipv4, roce_v2_ipv6 };

/// Everything behind UDP (or the GRH) but payload and ICRC. Which of the extended headers count
/// says the operation (traits_of; DETH: service ud).
struct TransportHeaders {
    // BTH
    std::uint8_t opcode = 0;
    bool solicited = false;
    bool migrated = true;  ///< MigReq
    std::uint8_t pad = 0;  ///< bytes behind the payload up to a multiple of 4
    std::uint16_t pkey = 0xffff;
    bool fecn = false;
    bool becn = false;
    std::uint32_t destination_qp = 0;
    bool ack_request = false;
    std::uint32_t psn = 0;
    // RETH
    std::uint64_t address = 0;
    std::uint32_t key = 0;
    std::uint32_t dma_bytes = 0;
    // AtomicETH (address and key above)
    std::uint64_t swap_add = 0;
    std::uint64_t compare = 0;
    // AETH
    std::uint8_t syndrome = 0;
    std::uint32_t msn = 0;
    // AtomicAckETH
    std::uint64_t original = 0;
    // DETH
    std::uint32_t queue_key = 0;
    std::uint32_t source_qp = 0;
    // ImmDt
    std::uint32_t immediate = 0;
    // IETH
    std::uint32_t invalidated_key = 0;
    // XRCETH (requests of service xrc)
    std::uint32_t xrc_srq = 0;

    WireService service() const { return service_of(opcode); }
    Operation operation() const { return operation_of(opcode); }
    const OperationTraits& traits() const { return traits_of(operation()); }
    friend bool operator==(const TransportHeaders&, const TransportHeaders&) = default;
};

/// A packet that arrived; spans live as long as the frame.
struct ReceivedPacket {
    NetworkKind kind = NetworkKind::roce_v2_ipv4;
    eth::MacAddress source_mac;
    eth::MacAddress destination_mac;
    bool has_vlan = false;
    std::uint16_t vlan_tci = 0;
    Gid source{};       ///< IPv4 as ::ffff:a.b.c.d
    Gid destination{};
    std::uint8_t traffic_class = 0;  ///< DSCP and ECN
    std::uint8_t hop_limit = 0;
    std::uint32_t flow_label = 0;    ///< IPv6 and GRH
    std::uint16_t source_port = 0;   ///< UDP; 0 of version 1
    TransportHeaders headers;
    std::span<const std::byte> payload;   ///< what is stored of it, without padding
    std::uint32_t payload_bytes = 0;      ///< with what is only counted
    std::uint32_t frame_bytes = 0;

    bool congestion_experienced() const { return (traffic_class & 3) == 3; }
    std::uint8_t dscp() const { return traffic_class >> 2; }
};

}  // namespace cxsim::roce
