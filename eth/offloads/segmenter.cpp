// SPDX-License-Identifier: Apache-2.0
#include "eth/offloads/segmenter.h"

#include "eth/offloads/layer_sums.h"
#include "model/base/assert.h"

#include <algorithm>
#include <cstring>

namespace cxsim::eth {

bool Segmenter::start(std::span<const std::byte> headers, std::uint64_t payload_bytes,
                      const SendOffloads& offloads, const ParserConfig& config, Options options) {
    if (offloads.mss == 0 || headers.size() > kMaxHeaderBytes) return false;
    if (payload_bytes > options.max_payload_bytes) return false;
    header_bytes_ = static_cast<std::uint32_t>(headers.size());
    const auto largest =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(offloads.mss, payload_bytes));
    if (header_bytes_ + largest > model::FramePool::kMaxFrame) return false;
    if (offloads.software_parser.used()) {
        headers_ = software_headers(headers, header_bytes_, offloads.software_parser);
        headers_.outer.end = headers_.inner.end = header_bytes_;
    } else {
        parse_template(headers, config, headers_);
    }
    tunneled_ = headers_.has_inner();
    const L4 kind = headers_.innermost().l4_kind;
    if (kind != L4::tcp && kind != L4::udp) return false;
    std::memcpy(template_.data(), headers.data(), headers.size());
    offloads_ = offloads;
    options_ = options;
    payload_bytes_ = payload_bytes;
    const std::uint64_t full = (payload_bytes + offloads.mss - 1) / offloads.mss;
    count_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(full, 1));
    return true;
}

Segmenter::Piece Segmenter::piece(std::uint32_t index) const {
    CX_ASSERT(index < count_, "no such segment");
    const std::uint64_t offset = std::uint64_t{index} * offloads_.mss;
    const auto bytes = std::min<std::uint64_t>(offloads_.mss, payload_bytes_ - offset);
    return {offset, static_cast<std::uint32_t>(bytes)};
}

/// Lengths, ids and the IPv4 checksum: the card writes these headers, so that it also sums them,
/// whatever the WQE says.
void Segmenter::write_layer(const Layer& layer, std::uint32_t index, std::uint32_t size,
                            bool count_id, std::byte* at) const {
    if (layer.l3_kind == L3::ipv4) {
        const Ipv4 ip(at + layer.l3);
        ip.set_total_bytes(static_cast<std::uint16_t>(size - layer.l3));
        if (count_id) ip.set_id(static_cast<std::uint16_t>(ip.id() + index));
        ip.set_checksum(0);
        ip.set_checksum(internet_checksum({ip.data(), ip.header_bytes()}));
    } else if (layer.l3_kind == L3::ipv6) {
        Ipv6(at + layer.l3)
            .set_payload_bytes(static_cast<std::uint16_t>(size - layer.l3 - kIpv6Bytes));
    }
    if (layer.l4_kind == L4::udp) {
        Udp(at + layer.l4).set_length(static_cast<std::uint16_t>(size - layer.l4));
    }
}

void Segmenter::write_headers(std::uint32_t index, std::span<std::byte> into) const {
    CX_ASSERT(into.size() >= header_bytes_, "no room for the headers");
    const std::uint32_t size = header_bytes_ + piece(index).bytes;
    std::byte* at = into.data();
    std::memcpy(at, template_.data(), header_bytes_);
    if (tunneled_) write_layer(headers_.outer, index, size, !options_.constant_outer_id, at);
    const Layer& layer = headers_.innermost();
    write_layer(layer, index, size, true, at);
    if (layer.l4_kind != L4::tcp) return;
    // RFC 9293 and 3168: what ends something belongs to the last segment, the answer to a
    // congestion echo to the first.
    const Tcp tcp(at + layer.l4);
    tcp.set_sequence(tcp.sequence() + index * std::uint32_t{offloads_.mss});
    unsigned keep = 0x1ff;
    if (index + 1 != count_) keep &= ~unsigned{kTcpFin | kTcpPsh};
    if (index != 0) keep &= ~unsigned{kTcpCwr};
    tcp.set_flags(static_cast<std::uint16_t>(tcp.flags() & keep));
}

void Segmenter::finish(model::Frame& frame) const {
    if (!offloads_.any_checksum()) return;
    Headers whole = headers_;
    whole.outer.end = whole.inner.end = frame.size();
    fill_checksums(frame.bytes(), whole, offloads_);
}

}  // namespace cxsim::eth
