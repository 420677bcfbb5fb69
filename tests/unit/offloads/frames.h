// SPDX-License-Identifier: Apache-2.0
// Frames built by hand, from the inside out, and a checker of their checksums. Neither uses the
// product's codecs or sums: byte by byte, as the RFCs say.
#pragma once

#include "model/ports/frame.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cxsim::test {

using Bytes = std::vector<std::byte>;
using View = std::span<const std::byte>;

inline Bytes bytes_of(std::initializer_list<unsigned> values) {
    Bytes out;
    for (const unsigned value : values) out.push_back(static_cast<std::byte>(value));
    return out;
}
inline Bytes operator+(Bytes a, const Bytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}
inline Bytes big(std::uint64_t value, unsigned bytes) {
    Bytes out;
    for (unsigned i = bytes; i-- > 0;) out.push_back(static_cast<std::byte>(value >> 8 * i));
    return out;
}
inline std::uint64_t number(View bytes, std::size_t offset, unsigned count) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < count; ++i) {
        value = value << 8 | std::to_integer<std::uint64_t>(bytes[offset + i]);
    }
    return value;
}
inline void put(Bytes& into, std::size_t offset, std::uint64_t value, unsigned count) {
    const Bytes from = big(value, count);
    std::copy(from.begin(), from.end(), into.begin() + static_cast<std::ptrdiff_t>(offset));
}
inline Bytes random_bytes(std::mt19937& random, std::size_t count) {
    Bytes out(count);
    for (auto& byte : out) byte = static_cast<std::byte>(random());
    return out;
}
inline Bytes text(const std::string& from) {
    Bytes out;
    for (const char c : from) out.push_back(static_cast<std::byte>(c));
    return out;
}

/// Ones' complement sum of 16-bit words, not inverted.
inline std::uint32_t naive_sum(View bytes, std::uint32_t sum = 0) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto value = std::to_integer<std::uint32_t>(bytes[i]);
        sum += i % 2 == 0 ? value << 8 : value;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

// ---- Builders: each takes what goes inside ----

inline Bytes tcp_option_timestamp(std::uint32_t value, std::uint32_t echo) {
    return bytes_of({1, 1, 8, 10}) + big(value, 4) + big(echo, 4);
}
struct TcpFields {
    std::uint16_t source = 0x1234;
    std::uint16_t destination = 80;
    std::uint32_t sequence = 1000;
    std::uint32_t ack = 2000;
    std::uint16_t flags = 0x10;
    std::uint16_t window = 500;
    Bytes options = {};
};
inline Bytes tcp(const TcpFields& f, const Bytes& payload) {
    const auto words = static_cast<unsigned>(5 + f.options.size() / 4);
    return big(f.source, 2) + big(f.destination, 2) + big(f.sequence, 4) + big(f.ack, 4) +
           big(words << 12 | f.flags, 2) + big(f.window, 2) + big(0, 4) + f.options + payload;
}
inline Bytes udp(std::uint16_t source, std::uint16_t destination, const Bytes& payload) {
    return big(source, 2) + big(destination, 2) + big(8 + payload.size(), 2) + big(0, 2) + payload;
}
inline Bytes icmp(unsigned type, unsigned code, std::uint32_t rest, const Bytes& payload) {
    return bytes_of({type, code, 0, 0}) + big(rest, 4) + payload;
}

/// Writes the upper layer's checksum behind a pseudo-header with the sum `pseudo`.
inline void fill_upper(Bytes& upper, unsigned protocol, std::uint32_t pseudo) {
    const std::size_t place = protocol == 6 ? 16 : protocol == 17 ? 6 : 2;
    if (protocol == 1) pseudo = 0;
    if (protocol != 6 && protocol != 17 && protocol != 1 && protocol != 58) return;
    if (upper.size() < place + 2) return;
    std::uint32_t sum = ~naive_sum(upper, pseudo) & 0xffff;
    if (protocol == 17 && sum == 0) sum = 0xffff;
    put(upper, place, sum, 2);
}

struct Ipv4Fields {
    std::uint32_t source = 0x0a000001;
    std::uint32_t destination = 0x0a000002;
    unsigned protocol = 17;
    unsigned traffic_class = 0;
    std::uint16_t id = 7;
    std::uint16_t fragment = 0x4000;
    unsigned ttl = 64;
    Bytes options = {};
    bool checksum_upper = true;
};
inline Bytes ipv4(const Ipv4Fields& f, Bytes upper) {
    if (f.checksum_upper && (f.fragment & 0x3fff) == 0) {
        std::uint32_t pseudo = naive_sum(big(f.source, 4) + big(f.destination, 4));
        pseudo += f.protocol + static_cast<std::uint32_t>(upper.size());
        fill_upper(upper, f.protocol, pseudo);
    }
    const std::size_t header = 20 + f.options.size();
    Bytes out = bytes_of({static_cast<unsigned>(0x40 | header / 4), f.traffic_class}) +
                big(header + upper.size(), 2) + big(f.id, 2) + big(f.fragment, 2) +
                bytes_of({f.ttl, f.protocol}) + big(0, 2) + big(f.source, 4) +
                big(f.destination, 4) + f.options;
    put(out, 10, ~naive_sum(out) & 0xffff, 2);
    return out + upper;
}

struct Ipv6Fields {
    std::uint64_t source = 1;  // fd00::source
    std::uint64_t destination = 2;
    unsigned protocol = 17;  // of the upper layer
    unsigned traffic_class = 0;
    std::uint32_t flow_label = 0x12345;
    unsigned hop_limit = 64;
    unsigned first_header = 256;  // of the extensions; 256: none
    Bytes extensions = {};
    bool checksum_upper = true;
};
inline Bytes ipv6(const Ipv6Fields& f, Bytes upper) {
    const auto address = [](std::uint64_t low) {
        return big(0xfd00'0000'0000'0000, 8) + big(low, 8);
    };
    if (f.checksum_upper) {
        std::uint32_t pseudo = naive_sum(address(f.source) + address(f.destination));
        pseudo += f.protocol + static_cast<std::uint32_t>(upper.size());
        fill_upper(upper, f.protocol, pseudo);
    }
    return big(6U << 28 | f.traffic_class << 20 | f.flow_label, 4) +
           big(f.extensions.size() + upper.size(), 2) +
           bytes_of({f.first_header == 256 ? f.protocol : f.first_header, f.hop_limit}) +
           address(f.source) + address(f.destination) + f.extensions + upper;
}

inline Bytes ethernet(std::uint16_t type, const Bytes& payload,
                      std::uint64_t destination = 0x0200'0000'0002,
                      std::uint64_t source = 0x0200'0000'0001) {
    return big(destination, 6) + big(source, 6) + big(type, 2) + payload;
}
/// What follows the addresses: a tag and the old EtherType.
inline Bytes tagged(const Bytes& frame, std::uint16_t tci, std::uint16_t tpid = 0x8100) {
    Bytes out(frame.begin(), frame.begin() + 12);
    out = out + big(tpid, 2) + big(tci, 2);
    out.insert(out.end(), frame.begin() + 12, frame.end());
    return out;
}

inline Bytes vxlan(std::uint32_t vni, const Bytes& frame) {
    return big(0x0800'0000, 4) + big(vni << 8, 4) + frame;
}
inline Bytes geneve(std::uint32_t vni, std::uint16_t protocol, const Bytes& options,
                    const Bytes& inside) {
    return bytes_of({static_cast<unsigned>(options.size() / 4), 0}) + big(protocol, 2) +
           big(vni << 8, 4) + options + inside;
}
inline Bytes gre(std::uint16_t protocol, const Bytes& inside) {
    return big(0, 2) + big(protocol, 2) + inside;
}
inline Bytes gre_key(std::uint16_t protocol, std::uint32_t key, const Bytes& inside) {
    return big(0x2000, 2) + big(protocol, 2) + big(key, 4) + inside;
}
inline Bytes gre_checksum(std::uint16_t protocol, const Bytes& inside) {
    Bytes out = big(0x8000, 2) + big(protocol, 2) + big(0, 4) + inside;
    put(out, 4, ~naive_sum(out) & 0xffff, 2);
    return out;
}

// ---- Checker ----

/// Every IPv4, TCP, UDP, ICMP and GRE checksum in the packet is right (UDP: or zero), as deep as
/// VXLAN on 4789, GENEVE on 6081, GRE and IP in IP go.
inline bool right_packet(View packet, std::uint64_t type);

inline bool right_frame(View frame) {
    if (frame.size() < 14) return false;
    std::size_t at = 12;
    std::uint64_t type = number(frame, at, 2);
    while (type == 0x8100 || type == 0x88a8) {
        at += 4;
        type = number(frame, at, 2);
    }
    return right_packet(frame.subspan(at + 2), type);
}

inline bool right_inside(View inside, std::uint64_t type) {
    return type == 0x6558 ? right_frame(inside) : right_packet(inside, type);
}

inline bool right_upper(View upper, std::uint64_t protocol, std::uint32_t pseudo) {
    const auto sum_is_right = [&](std::uint32_t start) {
        return naive_sum(upper, start) == 0xffff;
    };
    switch (protocol) {
        case 6:
        case 58:
            return sum_is_right(pseudo);
        case 1:
            return sum_is_right(0);
        case 4:
            return right_packet(upper, 0x0800);
        case 41:
            return right_packet(upper, 0x86dd);
        case 17: {
            if (number(upper, 4, 2) != upper.size()) return false;
            if (number(upper, 6, 2) != 0 && !sum_is_right(pseudo)) return false;
            const std::uint64_t port = number(upper, 2, 2);
            if (port == 4789) return right_frame(upper.subspan(16));
            if (port == 6081) {
                const std::size_t options = number(upper, 8, 1) * 4;
                return right_inside(upper.subspan(16 + options), number(upper, 10, 2));
            }
            return true;
        }
        case 47: {
            const std::uint64_t flags = number(upper, 0, 2);
            std::size_t header = 4;
            if ((flags & 0x8000) != 0) {
                header += 4;
                if (!sum_is_right(0)) return false;
            }
            if ((flags & 0x2000) != 0) header += 4;
            if ((flags & 0x1000) != 0) header += 4;
            return right_inside(upper.subspan(header), number(upper, 2, 2));
        }
        default:
            return true;
    }
}

inline bool right_packet(View packet, std::uint64_t type) {
    if (type == 0x0800) {
        const std::size_t header = (number(packet, 0, 1) & 0xf) * 4;
        const std::uint64_t total = number(packet, 2, 2);
        if (total > packet.size() || naive_sum(packet.first(header)) != 0xffff) return false;
        if ((number(packet, 6, 2) & 0x3fff) != 0) return true;
        const View upper = packet.subspan(header, total - header);
        std::uint32_t pseudo = naive_sum(packet.subspan(12, 8));
        pseudo += static_cast<std::uint32_t>(number(packet, 9, 1) + upper.size());
        return right_upper(upper, number(packet, 9, 1), pseudo);
    }
    if (type == 0x86dd) {
        const std::uint64_t payload = number(packet, 4, 2);
        if (40 + payload > packet.size()) return false;
        std::uint64_t protocol = number(packet, 6, 1);
        View upper = packet.subspan(40, payload);
        while (protocol == 0 || protocol == 43 || protocol == 60) {
            protocol = number(upper, 0, 1);
            upper = upper.subspan((number(upper, 1, 1) + 1) * 8);
        }
        if (protocol == 44) return true;
        std::uint32_t pseudo = naive_sum(packet.subspan(8, 32));
        pseudo += static_cast<std::uint32_t>(protocol + upper.size());
        return right_upper(upper, protocol, pseudo);
    }
    return true;
}

// ---- Frames of a pool ----

inline model::FramePtr make_frame(model::FramePool& pool, View bytes, std::uint32_t synthetic = 0) {
    model::FramePtr frame = pool.make(static_cast<std::uint32_t>(bytes.size()));
    std::ranges::copy(bytes, frame->bytes().begin());
    frame->synthetic = synthetic;
    return frame;
}
inline Bytes content_of(const model::Frame& frame) {
    return {frame.bytes().begin(), frame.bytes().end()};
}

/// One frame of each kind that the parser knows, all checksums right.
struct NamedFrame {
    const char* name;
    Bytes bytes;
};
inline std::vector<NamedFrame> frames_of_all_kinds() {
    const Bytes data = text("the quick brown fox jumps over the lazy dog");
    const auto v4 = [](unsigned protocol, Bytes upper) {
        return ipv4({.protocol = protocol}, std::move(upper));
    };
    const auto v6 = [](unsigned protocol, Bytes upper) {
        return ipv6({.protocol = protocol}, std::move(upper));
    };
    const Bytes tcp4 = ethernet(0x0800, ipv4({.source = 0xc0a80001, .protocol = 6, .fragment = 0},
                                             tcp({.options = tcp_option_timestamp(1, 2)}, data)));
    const Bytes udp6 = ethernet(0x86dd, v6(17, udp(5, 6, data)));
    const auto tunnel4 = [](unsigned protocol, Bytes upper) {
        return ipv4(
            {.source = 0x01020304, .destination = 0x05060708, .protocol = protocol, .fragment = 0},
            std::move(upper));
    };
    const Bytes inner4(tcp4.begin() + 14, tcp4.end());
    const Bytes inner6(udp6.begin() + 14, udp6.end());
    const Bytes hop = bytes_of({60, 0, 1, 4, 0, 0, 0, 0}) + bytes_of({6, 0, 1, 4, 0, 0, 0, 0});
    const Bytes fragment = bytes_of({17, 0, 0, 1, 0, 0, 0, 9});
    return {
        {"arp", ethernet(0x0806, big(0x0001'0800'0604'0001, 8) + Bytes(20))},
        {"tcp over ipv4", tcp4},
        {"udp over ipv4", ethernet(0x0800, v4(17, udp(1000, 2000, data)))},
        {"icmp", ethernet(0x0800, v4(1, icmp(8, 0, 0x00010002, data)))},
        {"ipv4 with options",
         ethernet(0x0800, ipv4({.protocol = 6, .fragment = 0, .options = bytes_of({1, 1, 1, 0})},
                               tcp({}, data)))},
        {"ipv4 fragment", ethernet(0x0800, ipv4({.fragment = 0x2000}, udp(1, 2, data)))},
        {"tcp over ipv6", ethernet(0x86dd, v6(6, tcp({}, data)))},
        {"udp over ipv6", udp6},
        {"icmpv6", ethernet(0x86dd, v6(58, icmp(128, 0, 0x00030004, data)))},
        {"ipv6 with options",
         ethernet(0x86dd,
                  ipv6({.protocol = 6, .first_header = 0, .extensions = hop}, tcp({}, data)))},
        {"ipv6 fragment",
         ethernet(0x86dd, ipv6({.protocol = 17, .first_header = 44, .extensions = fragment},
                               udp(1, 2, data)))},
        {"tagged", tagged(tcp4, 0x6064)},
        {"tagged twice", tagged(tagged(tcp4, 0x0065), 0x2066, 0x88a8)},
        {"vxlan", ethernet(0x0800, tunnel4(17, udp(7, 4789, vxlan(0xabcdef, tcp4))))},
        {"vxlan over ipv6 with tags",
         tagged(ethernet(0x86dd, v6(17, udp(7, 4789, vxlan(0x1234, tagged(udp6, 5))))), 9)},
        {"geneve",
         ethernet(0x0800,
                  tunnel4(17, udp(7, 6081, geneve(77, 0x6558, big(0x0102030400000000, 8), tcp4))))},
        {"geneve with ipv6",
         ethernet(0x0800, tunnel4(17, udp(7, 6081, geneve(77, 0x86dd, {}, inner6))))},
        {"nvgre", ethernet(0x0800, tunnel4(47, gre_key(0x6558, 0x11223344, udp6)))},
        {"gre with ipv4", ethernet(0x0800, tunnel4(47, gre(0x0800, inner4)))},
        {"gre with checksum", ethernet(0x0800, tunnel4(47, gre_checksum(0x6558, tcp4)))},
        {"ipv4 in ipv4", ethernet(0x0800, tunnel4(4, inner4))},
        {"ipv6 in ipv4", ethernet(0x0800, tunnel4(41, inner6))},
        {"ipv4 in ipv6", ethernet(0x86dd, v6(4, inner4))},
        {"vxlan-gpe with ipv4",
         ethernet(0x0800,
                  tunnel4(17, udp(7, 4790, big(0x0c000001, 4) + big(0x55 << 8, 4) + inner4)))},
        {"mpls over udp",
         ethernet(0x0800,
                  tunnel4(17, udp(7, 6635, big(0x00010040, 4) + big(0x00020140, 4) + inner4)))},
        {"mpls over gre", ethernet(0x0800, tunnel4(47, gre(0x8847, big(0x00030140, 4) + inner6)))},
        {"mpls", ethernet(0x8847, big(0x00044140, 4) + inner4)},
        {"roce v2",
         ethernet(0x0800, v4(17, udp(7, 4791,
                                     big(0x0440ffff, 4) + big(0x00000123, 4) + big(5, 4) + data)))},
        {"roce v1",
         ethernet(0x8915, Bytes(40) + big(0x6440ffff, 4) + big(0x00000456, 4) + big(5, 4) + data)},
        {"esp", ethernet(0x0800, v4(50, big(0xcafe0001, 4) + big(1, 4) + data))},
    };
}

/// One of them. Throws std::out_of_range.
inline const Bytes& named(std::string_view name) {
    static const auto frames = frames_of_all_kinds();
    for (const NamedFrame& frame : frames) {
        if (name == frame.name) return frame.bytes;
    }
    throw std::out_of_range("no frame " + std::string(name));
}

}  // namespace cxsim::test
