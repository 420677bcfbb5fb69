// SPDX-License-Identifier: Apache-2.0
// Sums of one layer of a frame, as senders fill and receivers check them.
#pragma once

#include "eth/offloads/headers.h"
#include "eth/wire/checksum.h"
#include "eth/wire/ip.h"
#include "eth/wire/transport.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cxsim::eth {

/// The content of [from, to); what lies in the synthetic tail counts as zeros, which add nothing.
inline std::span<const std::byte> content(std::span<const std::byte> stored, std::size_t from,
                                          std::size_t to) {
    const std::size_t end = std::min(to, stored.size());
    return from < end ? stored.subspan(from, end - from) : std::span<const std::byte>{};
}

/// `layer` has L3; `bytes` of upper layer.
inline std::uint16_t pseudo_sum(std::span<const std::byte> stored, const Layer& layer,
                                std::uint32_t bytes) {
    const std::byte* l3 = stored.data() + layer.l3;
    if (layer.l3_kind == L3::ipv4) {
        const ConstIpv4 ip(l3);
        return pseudo_sum_v4(ip.source(), ip.destination(), layer.protocol, bytes);
    }
    return pseudo_sum_v6(std::span<const std::byte, 32>(l3 + ConstIpv6::kSourceOffset, 32),
                         layer.protocol, bytes);
}

/// Bytes of a TCP or UDP header and what it carries. UDP says so itself; a length that cannot be
/// gives 0.
inline std::uint32_t l4_bytes(std::span<const std::byte> stored, const Layer& layer) {
    const std::uint32_t by_ip = layer.end - layer.l4;
    if (layer.l4_kind != L4::udp) return by_ip;
    const std::uint32_t length = ConstUdp(stored.data() + layer.l4).length();
    return length >= kUdpBytes && length <= by_ip ? length : 0;
}

}  // namespace cxsim::eth
