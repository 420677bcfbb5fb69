// SPDX-License-Identifier: Apache-2.0
#include "eth/wire/crc32.h"
#include "eth/wire/ip.h"
#include "eth/wire/transport.h"
#include "model/base/assert.h"
#include "roce/wire/codec.h"
#include "roce/wire/headers.h"

#include <algorithm>

namespace cxsim::roce {
namespace {

constexpr std::byte kOnes{0xff};

/// Stands for the LRH that Ethernet does not have, all ones (annexes A16 and A17).
constexpr std::uint32_t kLrhBytes = 8;
constexpr std::uint32_t kMaxMasked = kLrhBytes + eth::kIpv6Bytes + eth::kUdpBytes + kBthBytes;

void mask_ipv4(std::byte* at) {
    const eth::Ipv4 ip(at);
    ip.set_traffic_class(0xff);
    ip.set_ttl(0xff);
    ip.set_checksum(0xffff);
}

void mask_ipv6(std::byte* at) {
    const eth::Ipv6 ip(at);
    const std::byte version = at[0] & std::byte{0xf0};
    ip.set_first_word(0xff, 0xfffff);
    at[0] = version | std::byte{0x0f};
    ip.set_hop_limit(0xff);
}

}  // namespace

std::array<std::byte, 4> invariant_crc(NetworkKind kind, std::span<const std::byte> network) {
    const bool udp = kind != NetworkKind::roce_v1;
    const std::uint32_t ip_bytes =
        kind == NetworkKind::roce_v2_ipv4 ? eth::kIpv4Bytes : eth::kIpv6Bytes;
    const std::uint32_t bth = ip_bytes + (udp ? eth::kUdpBytes : 0);
    const std::uint32_t headers = bth + kBthBytes;
    CX_ASSERT(network.size() >= headers, "{} bytes are no packet", network.size());

    std::array<std::byte, kMaxMasked> masked;
    std::fill_n(masked.begin(), kLrhBytes, kOnes);
    std::byte* const at = masked.data() + kLrhBytes;
    std::copy_n(network.begin(), headers, at);
    if (kind == NetworkKind::roce_v2_ipv4) {
        mask_ipv4(at);
    } else {
        mask_ipv6(at);
    }
    if (udp) eth::Udp(at + ip_bytes).set_checksum(0xffff);
    at[bth + Bth::kVariantOffset] = kOnes;

    const std::uint32_t front = eth::crc32({masked.data(), kLrhBytes + headers});
    const std::uint32_t crc = eth::crc32(network.subspan(headers), front);
    std::array<std::byte, 4> wire{};
    model::store_le<std::uint32_t>(wire.data(), crc);
    return wire;
}

}  // namespace cxsim::roce
