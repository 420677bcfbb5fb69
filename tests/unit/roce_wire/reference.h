// SPDX-License-Identifier: Apache-2.0
// RoCE packets byte by byte as the IBTA's tables say, with the plainest CRC: uses neither the
// product's codec nor its traits.
#pragma once

#include "roce/wire/codec.h"
#include "tests/unit/offloads/frames.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cxsim::test {

/// CRC-32 of IEEE 802.3, bit by bit.
inline std::uint32_t naive_crc(View bytes) {
    std::uint32_t crc = 0xffff'ffff;
    for (const std::byte byte : bytes) {
        crc ^= std::to_integer<std::uint32_t>(byte);
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb8'8320U : 0U);
    }
    return ~crc;
}

/// Extended headers of an operation in their order: D(ETH), R(ETH), T (AtomicETH), A(ETH),
/// K (AtomicAckETH), I(mmDt), V (IETH), X(RCETH). Volume 1, table 38 and annex A14.
struct OperationRow {
    std::uint8_t operation;
    const char* headers;
    bool payload;
    bool request;
};
inline constexpr OperationRow kOperations[] = {
    {0x00, "", true, true},     {0x01, "", true, true},   {0x02, "", true, true},
    {0x03, "I", true, true},    {0x04, "", true, true},   {0x05, "I", true, true},
    {0x06, "R", true, true},    {0x07, "", true, true},   {0x08, "", true, true},
    {0x09, "I", true, true},    {0x0a, "R", true, true},  {0x0b, "RI", true, true},
    {0x0c, "R", false, true},   {0x0d, "A", true, false}, {0x0e, "", true, false},
    {0x0f, "A", true, false},   {0x10, "A", true, false}, {0x11, "A", false, false},
    {0x12, "AK", false, false}, {0x13, "T", false, true}, {0x14, "T", false, true},
    {0x16, "V", true, true},    {0x17, "V", true, true},
};

struct OpcodeRow {
    std::uint8_t opcode;
    std::string headers;
    bool payload;
};
/// Every opcode that there is.
inline std::vector<OpcodeRow> all_opcodes() {
    std::vector<OpcodeRow> rows;
    for (const OperationRow& row : kOperations) {
        rows.push_back({row.operation, row.headers, row.payload});
        if (row.operation <= 0x0b) {
            rows.push_back({static_cast<std::uint8_t>(0x20 | row.operation), row.headers, true});
        }
        if (row.operation == 0x04 || row.operation == 0x05) {
            rows.push_back({static_cast<std::uint8_t>(0x60 | row.operation),
                            std::string("D") + row.headers, true});
        }
        rows.push_back({static_cast<std::uint8_t>(0xa0 | row.operation),
                        std::string(row.request ? "X" : "") + row.headers, row.payload});
    }
    rows.push_back({0x81, "", false});
    return rows;
}

/// Values in all the fields that the opcode has; zeros in others.
inline roce::TransportHeaders headers_of(const OpcodeRow& row, std::uint32_t salt = 0) {
    roce::TransportHeaders h;
    h.opcode = row.opcode;
    h.solicited = (salt & 1) != 0;
    h.migrated = (salt & 2) == 0;
    h.fecn = (salt & 4) != 0;
    h.becn = row.opcode == 0x81 || (salt & 8) != 0;
    h.ack_request = (salt & 16) != 0;
    h.pkey = static_cast<std::uint16_t>(0xffff - salt);
    h.destination_qp = 0x812345 ^ salt;
    h.psn = 0xfedcba ^ salt;
    for (const char kind : row.headers) {
        switch (kind) {
            case 'X':
                h.xrc_srq = 0x9abcde;
                break;
            case 'D':
                h.queue_key = 0x8001'0000;
                h.source_qp = 0xc00001;
                break;
            case 'T':
                h.swap_add = 0x1122'3344'5566'7788;
                h.compare = 0x99aa'bbcc'ddee'ff00;
                [[fallthrough]];
            case 'R':
                h.address = 0xfedc'ba98'7654'3210;
                h.key = 0x8000'afac;
                if (kind == 'R') h.dma_bytes = 0x8000'0000 - salt;
                break;
            case 'A':
                h.syndrome = 0x1f;
                h.msn = 0xabcdef;
                break;
            case 'K':
                h.original = 0x0123'4567'89ab'cdef;
                break;
            case 'I':
                h.immediate = 0xdead'beef;
                break;
            case 'V':
                h.invalidated_key = 0x0bad'cafe;
                break;
            default:
                break;
        }
    }
    return h;
}

inline Bytes reference_transport(const OpcodeRow& row, const roce::TransportHeaders& h,
                                 const Bytes& payload) {
    const std::size_t pad = (4 - payload.size() % 4) % 4;
    Bytes out = bytes_of({h.opcode, static_cast<unsigned>((h.solicited ? 0x80U : 0U) |
                                                          (h.migrated ? 0x40U : 0U) | pad << 4)}) +
                big(h.pkey, 2) + bytes_of({(h.fecn ? 0x80U : 0U) | (h.becn ? 0x40U : 0U)}) +
                big(h.destination_qp, 3) + bytes_of({h.ack_request ? 0x80U : 0U}) + big(h.psn, 3);
    for (const char kind : row.headers) {
        switch (kind) {
            case 'X':
                out = out + big(h.xrc_srq, 4);
                break;
            case 'D':
                out = out + big(h.queue_key, 4) + big(h.source_qp, 4);
                break;
            case 'R':
                out = out + big(h.address, 8) + big(h.key, 4) + big(h.dma_bytes, 4);
                break;
            case 'T':
                out = out + big(h.address, 8) + big(h.key, 4) + big(h.swap_add, 8) +
                      big(h.compare, 8);
                break;
            case 'A':
                out = out + bytes_of({h.syndrome}) + big(h.msn, 3);
                break;
            case 'K':
                out = out + big(h.original, 8);
                break;
            case 'I':
                out = out + big(h.immediate, 4);
                break;
            case 'V':
                out = out + big(h.invalidated_key, 4);
                break;
            default:
                break;
        }
    }
    if (h.opcode == 0x81) out = out + Bytes(16);
    return out + payload + Bytes(pad);
}

inline Bytes reference_icrc(roce::NetworkKind kind, Bytes network) {
    if (kind == roce::NetworkKind::roce_v2_ipv4) {
        for (const std::size_t at : {1, 8, 10, 11, 26, 27, 32}) network[at] = std::byte{0xff};
    } else {
        network[0] |= std::byte{0x0f};
        for (const std::size_t at : {1, 2, 3, 7}) network[at] = std::byte{0xff};
        const bool udp = kind == roce::NetworkKind::roce_v2_ipv6;
        if (udp) network[46] = network[47] = std::byte{0xff};
        network[udp ? 52 : 44] = std::byte{0xff};
    }
    const std::uint32_t crc = naive_crc(Bytes(8, std::byte{0xff}) + network);
    return bytes_of({crc & 0xff, crc >> 8 & 0xff, crc >> 16 & 0xff, crc >> 24});
}

inline Bytes reference_frame(const roce::Path::Description& d, std::uint16_t identification,
                             const Bytes& transport) {
    const Bytes source(d.source.begin(), d.source.end());
    const Bytes destination(d.destination.begin(), d.destination.end());
    const std::size_t length = transport.size() + 4;
    const Bytes udp =
        big(d.source_port, 2) + big(4791, 2) + big(8 + length, 2) + big(0, 2) + transport;
    const auto version_6 = [&](unsigned next, std::size_t bytes, const Bytes& upper) {
        return big(6U << 28 | static_cast<std::uint32_t>(d.traffic_class) << 20 | d.flow_label, 4) +
               big(bytes, 2) + bytes_of({next, d.hop_limit}) + source + destination + upper;
    };
    Bytes network;
    unsigned type = 0;
    switch (d.kind) {
        case roce::NetworkKind::roce_v1:
            type = 0x8915;
            network = version_6(0x1b, length, transport);
            break;
        case roce::NetworkKind::roce_v2_ipv6:
            type = 0x86dd;
            network = version_6(17, 8 + length, udp);
            break;
        case roce::NetworkKind::roce_v2_ipv4:
            type = 0x0800;
            network = bytes_of({0x45, d.traffic_class}) + big(28 + length, 2) +
                      big(identification, 2) + big(0x4000, 2) + bytes_of({d.hop_limit, 17, 0, 0}) +
                      Bytes(source.begin() + 12, source.end()) +
                      Bytes(destination.begin() + 12, destination.end());
            put(network, 10, ~naive_sum(network) & 0xffff, 2);
            network = network + udp;
            break;
    }
    const Bytes frame =
        ethernet(static_cast<std::uint16_t>(type), network + reference_icrc(d.kind, network),
                 d.destination_mac.value, d.source_mac.value);
    return d.has_vlan ? tagged(frame, d.vlan_tci) : frame;
}

// ---- Paths ----

inline constexpr roce::NetworkKind kKinds[] = {
    roce::NetworkKind::roce_v1, roce::NetworkKind::roce_v2_ipv4, roce::NetworkKind::roce_v2_ipv6};

inline roce::Path::Description description_of(roce::NetworkKind kind, bool vlan = false) {
    roce::Path::Description d;
    d.kind = kind;
    d.source_mac = {0x0200'0000'0a01};
    d.destination_mac = {0x0200'0000'0a02};
    d.has_vlan = vlan;
    d.vlan_tci = vlan ? 0x6abc : 0;
    const auto gid = [&](unsigned low) {
        Bytes bytes = kind == roce::NetworkKind::roce_v2_ipv4
                          ? big(0, 8) + big(0x0000'ffff, 4) + big(0xac11'f200U + low, 4)
                          : big(0xfd00'1234'5678'9abc, 8) + big(low, 8);
        roce::Gid out{};
        std::ranges::copy(bytes, out.begin());
        return out;
    };
    d.source = gid(0x2f);
    d.destination = gid(0x38);
    d.traffic_class = 0x6a;
    d.hop_limit = 61;
    d.flow_label = kind == roce::NetworkKind::roce_v2_ipv4 ? 0 : 0xbeef5;
    d.source_port = kind == roce::NetworkKind::roce_v1 ? 0 : 0xc6fb;
    d.priority = 3;
    return d;
}

/// Built, filled and sealed by the product.
inline model::FramePtr make_packet(model::FramePool& pool, const roce::Path& path,
                                   const roce::TransportHeaders& headers, const Bytes& payload,
                                   std::uint32_t synthetic = 0,
                                   std::uint16_t identification = 0x4586) {
    const auto stored = static_cast<std::uint32_t>(payload.size());
    model::FramePtr frame = roce::build(pool, path, headers, stored, synthetic, identification);
    std::ranges::copy(payload, roce::payload_of(*frame, path, headers.opcode, stored).begin());
    roce::seal(*frame, path);
    return frame;
}

}  // namespace cxsim::test
