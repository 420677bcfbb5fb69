// SPDX-License-Identifier: Apache-2.0
#include "eth/wire/checksum.h"
#include "eth/wire/ip.h"
#include "eth/wire/transport.h"
#include "model/base/assert.h"
#include "roce/wire/codec.h"
#include "roce/wire/headers.h"

#include <algorithm>
#include <cstring>

namespace cxsim::roce {
namespace {

constexpr std::array<std::uint8_t, 256> kHeaderBytes = [] {
    std::array<std::uint8_t, 256> table{};
    for (unsigned opcode = 0; opcode < table.size(); ++opcode) {
        const WireService service = service_of(static_cast<std::uint8_t>(opcode));
        const OperationTraits traits = traits_of(operation_of(static_cast<std::uint8_t>(opcode)));
        std::uint32_t bytes = kBthBytes;
        if (opcode != kCnpOpcode) {
            if (service == WireService::ud) bytes += kDethBytes;
            if (has_xrc_eth(service, traits)) bytes += kXrcEthBytes;
            if (traits.reth) bytes += kRethBytes;
            if (traits.atomic_eth) bytes += kAtomicEthBytes;
            if (traits.aeth) bytes += kAethBytes;
            if (traits.atomic_ack_eth) bytes += kAtomicAckEthBytes;
            if (traits.immediate) bytes += kImmediateBytes;
            if (traits.invalidate) bytes += kIethBytes;
        }
        table[opcode] = static_cast<std::uint8_t>(bytes);
    }
    return table;
}();

class Writer {
  public:
    explicit Writer(std::byte* at) : at_(at) {}
    template <class T>
    void operator()(T value) {
        model::store_be<T>(at_, value);
        at_ += sizeof(T);
    }
    void low24(std::uint32_t value) { (*this)(value & 0xff'ffffU); }
    void high8_low24(std::uint8_t high, std::uint32_t low) {
        (*this)(static_cast<std::uint32_t>(high) << 24 | (low & 0xff'ffffU));
    }

  private:
    std::byte* at_;
};

std::uint32_t network_offset(const Path::Description& d) {
    return eth::kEthernetBytes + (d.has_vlan ? eth::kVlanTagBytes : 0);
}

/// `bytes`: from the BTH to the end of the ICRC.
void write_lengths(std::byte* frame, const Path& path, std::uint32_t bytes,
                   std::uint16_t identification) {
    std::byte* const network = frame + network_offset(path.description());
    CX_ASSERT(bytes <= 0xffff - eth::kIpv4Bytes - eth::kUdpBytes, "{} bytes in one packet", bytes);
    const auto length = static_cast<std::uint16_t>(bytes);
    const auto udp_length = static_cast<std::uint16_t>(length + eth::kUdpBytes);
    switch (path.description().kind) {
        case NetworkKind::roce_v1:
            eth::Ipv6(network).set_payload_bytes(length);
            return;
        case NetworkKind::roce_v2_ipv6:
            eth::Ipv6(network).set_payload_bytes(udp_length);
            break;
        case NetworkKind::roce_v2_ipv4: {
            const eth::Ipv4 ip(network);
            const auto total = static_cast<std::uint16_t>(udp_length + eth::kIpv4Bytes);
            ip.set_total_bytes(total);
            ip.set_id(identification);
            ip.set_checksum(
                eth::update_checksum(ip.checksum(), 0, eth::add_sums(total, identification)));
            break;
        }
    }
    eth::Udp(frame + path.header_bytes() - eth::kUdpBytes).set_length(udp_length);
}

}  // namespace

std::uint32_t transport_header_bytes(std::uint8_t opcode) {
    return kHeaderBytes[opcode];
}

model::FramePtr build(model::FramePool& pool, const Path& path, const TransportHeaders& headers,
                      std::uint32_t stored, std::uint32_t synthetic, std::uint16_t identification) {
    const bool cnp = headers.opcode == kCnpOpcode;
    CX_ASSERT(path.header_bytes() != 0, "a path to nowhere");
    CX_ASSERT(cnp || allowed(headers.service(), headers.operation()), "no operation {:#x}",
              headers.opcode);
    CX_ASSERT(stored + synthetic == 0 || (!cnp && headers.traits().payload),
              "payload with operation {:#x}", headers.opcode);
    const std::uint32_t pad = (0U - (stored + synthetic)) & 3U;
    const std::uint32_t behind = (cnp ? kCnpReservedBytes : pad) + kIcrcBytes;
    const std::uint32_t transport = transport_header_bytes(headers.opcode);
    const std::uint32_t front = path.header_bytes() + transport + stored;

    model::FramePtr frame = pool.make(synthetic == 0 ? front + behind : front);
    std::byte* const at = frame->bytes().data();
    std::memcpy(at, path.headers().data(), path.header_bytes());
    write_lengths(at, path, transport + stored + synthetic + behind, identification);
    std::byte* const bth = at + path.header_bytes();
    Bth(bth).set(headers, static_cast<std::uint8_t>(pad));
    Writer writer(bth + kBthBytes);
    if (!cnp) for_each_extended_field(headers, writer);
    if (synthetic == 0) {
        // The ICRC too: a frame that nobody sealed is wrong in the same way each time.
        std::fill_n(at + front, behind, std::byte{0});
        frame->synthetic = 0;
    } else {
        frame->synthetic = synthetic + behind;
    }
    frame->priority = path.description().priority;
    return frame;
}

std::span<std::byte> payload_of(model::Frame& frame, const Path& path, std::uint8_t opcode,
                                std::uint32_t stored) {
    return frame.bytes().subspan(path.header_bytes() + transport_header_bytes(opcode), stored);
}

void seal(model::Frame& frame, const Path& path) {
    if (frame.synthetic != 0) return;
    const std::span<std::byte> bytes = frame.bytes();
    const std::span<std::byte> packet = bytes.subspan(network_offset(path.description()));
    const auto icrc =
        invariant_crc(path.description().kind, packet.first(packet.size() - kIcrcBytes));
    std::ranges::copy(icrc, packet.last(kIcrcBytes).begin());
}

}  // namespace cxsim::roce
