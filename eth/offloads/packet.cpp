// SPDX-License-Identifier: Apache-2.0
#include "eth/offloads/packet.h"

#include "eth/wire/checksum.h"
#include "eth/wire/crc32.h"
#include "eth/wire/ethernet.h"
#include "eth/wire/ip.h"
#include "eth/wire/transport.h"
#include "model/base/assert.h"
#include "model/base/endian.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace cxsim::eth {
namespace {

using model::store_be;
using Match = prm::fte_match_param;
using Misc = prm::fte_match_set_misc;

/// packet_reformat_context_in.reformat_type
enum class Reformat : std::uint8_t {
    l2_to_vxlan = 0x0,
    l2_to_nvgre = 0x1,
    l2_to_l2_tunnel = 0x2,
    l3_tunnel_to_l2 = 0x3,
    l2_to_l3_tunnel = 0x4,
    insert_header = 0xf,
    remove_header = 0x10,
};
/// reformat_param_0 of the last two: what reformat_param_1 (bytes) counts from.
constexpr std::uint8_t kAnchorMac = 0x1;
constexpr std::uint8_t kAnchorIp = 0x7;

}  // namespace

void Packet::take(model::FramePtr frame, const Origin& origin) {
    CX_ASSERT(frame_ == nullptr, "the packet still has a frame");
    drop();
    frame_ = std::move(frame);
    std::byte* misc = key_.bytes.data() + Match::misc_parameters::kOffset / 8;
    static_assert(Misc::source_eswitch_owner_vhca_id::kOffset == 32);
    static_assert(Misc::source_port::kOffset == 48);
    store_be<std::uint32_t>(misc, origin.sqn & 0xff'ffff);
    store_be<std::uint16_t>(misc + 4, origin.vhca_id);
    store_be<std::uint16_t>(misc + 6, origin.vport);
    std::byte* registers = key_.bytes.data() + Match::misc_parameters_2::kOffset / 8;
    std::memset(registers, 0, prm::fte_match_set_misc2::kBytes);
    store_be<std::uint32_t>(registers + prm::fte_match_set_misc2::metadata_reg_a::kOffset / 8,
                            origin.reg_a);
    reg_b_ = 0;
    structure_changed();
}

model::FramePtr Packet::release() {
    return std::move(frame_);
}

void Packet::drop() {
    frame_.reset();
    for (; copies_used_ > 0; --copies_used_) copies_[copies_used_ - 1]->frame_.reset();
}

model::SteeredPacket* Packet::copy() {
    Packet& owner = *original_;
    if (owner.pool_ == nullptr || owner.copies_used_ == kMaxCopies) return nullptr;
    if (owner.copies_used_ == owner.copies_.size()) {
        owner.copies_.push_back(std::make_unique<Packet>(*config_));
        owner.copies_.back()->original_ = &owner;
    }
    Packet& twin = *owner.copies_[owner.copies_used_++];
    twin.frame_ = owner.pool_->copy(*frame_);
    twin.headers_ = headers_;
    twin.key_ = key_;
    twin.used_ = used_;
    twin.reg_b_ = reg_b_;
    twin.stale_ = stale_;
    twin.key_stale_ = key_stale_;
    return &twin;
}

const Headers& Packet::headers() {
    if (stale_) {
        parse_headers(std::as_const(*frame_).bytes(), frame_->size(), *config_, headers_);
        stale_ = false;
    }
    return headers_;
}

model::FlowKey& Packet::key() {
    if (key_stale_) {
        fill_flow_key(std::as_const(*frame_).bytes(), headers(), key_, used_);
        key_stale_ = false;
    }
    return key_;
}

std::uint32_t Packet::l2_end() {
    const Layer& outer = headers().outer;
    return outer.has_l2() ? kEthernetBytes + outer.tags * kVlanTagBytes : 0;
}

bool Packet::insert_at(std::uint32_t offset, std::span<const std::byte> data) {
    const auto bytes = static_cast<std::uint32_t>(data.size());
    if (bytes > frame_->headroom() || offset > frame_->stored()) return false;
    if (frame_->size() + bytes > model::FramePool::kMaxFrame) return false;
    frame_->grow_front(bytes);
    std::byte* front = frame_->bytes().data();
    std::memmove(front, front + bytes, offset);
    std::ranges::copy(data, front + offset);
    structure_changed();
    return true;
}

void Packet::remove_at(std::uint32_t offset, std::uint32_t bytes) {
    std::byte* front = frame_->bytes().data();
    std::memmove(front + bytes, front, offset);
    frame_->shrink_front(bytes);
    structure_changed();
}

bool Packet::push_vlan(std::uint16_t tpid, std::uint16_t tci) {
    if (!is_vlan_type(tpid) || !headers().outer.has_l2()) return false;
    std::array<std::byte, kVlanTagBytes> tag{};
    VlanTag(tag.data()).set_tpid(tpid);
    VlanTag(tag.data()).set_tci(tci);
    return insert_at(12, tag);
}

bool Packet::pop_vlan() {
    if (headers().outer.tags == 0) return false;
    remove_at(12, kVlanTagBytes);
    return true;
}

void Packet::trim(std::uint32_t size) {
    if (size >= frame_->size()) return;
    const std::uint32_t excess = frame_->size() - size;
    const std::uint32_t counted = std::min(excess, frame_->synthetic);
    frame_->synthetic -= counted;
    frame_->resize(frame_->stored() - (excess - counted));
    structure_changed();
}

bool Packet::decapsulate() {
    const Layer inner = headers().inner;
    if (!inner.has_l2()) return false;
    trim(headers_.outer.end);
    remove_at(0, inner.l2);
    return true;
}

bool Packet::replace_front(std::uint32_t remove, std::span<const std::byte> data) {
    if (data.size() > frame_->headroom() + remove) return false;
    if (frame_->size() - remove + data.size() > model::FramePool::kMaxFrame) return false;
    frame_->shrink_front(remove);
    frame_->grow_front(static_cast<std::uint32_t>(data.size()));
    std::ranges::copy(data, frame_->bytes().begin());
    structure_changed();
    return true;
}

/// Where a tunnel's UDP source port comes from: the flow inside (RFC 7348, 4).
std::uint16_t Packet::flow_entropy() {
    const Layer& flow = headers().outer;
    const std::span<const std::byte> bytes = std::as_const(*frame_).bytes();
    std::uint32_t hash = 0;
    if (flow.has_l3()) {
        const bool v4 = flow.l3_kind == L3::ipv4;
        hash = crc32(bytes.subspan(flow.l3 + (v4 ? 12U : 8U), v4 ? 8 : 32));
        if (flow.l4_kind == L4::tcp || flow.l4_kind == L4::udp) {
            hash = crc32(bytes.subspan(flow.l4, 4), hash);
        }
    } else if (flow.has_l2()) {
        hash = crc32(bytes.first(12));
    }
    return static_cast<std::uint16_t>(0xc000 | (hash >> 16 & 0x3fff));
}

/// Lengths and checksums of the headers just put in front of the frame.
void Packet::complete_tunnel(std::uint32_t header_bytes, std::uint16_t entropy) {
    const std::span<std::byte> bytes = frame_->bytes();
    Headers fresh;
    parse_template(bytes, *config_, fresh);
    const Layer& outer = fresh.outer;
    if (!outer.has_l3() || outer.l3_payload > header_bytes) return;
    const std::uint32_t size = frame_->size();
    std::byte* l3 = bytes.data() + outer.l3;
    if (outer.l3_kind == L3::ipv4) {
        const Ipv4 ip(l3);
        ip.set_total_bytes(static_cast<std::uint16_t>(size - outer.l3));
        ip.set_checksum(0);
        ip.set_checksum(internet_checksum({l3, ip.header_bytes()}));
    } else {
        Ipv6(l3).set_payload_bytes(static_cast<std::uint16_t>(size - outer.l3 - kIpv6Bytes));
    }
    if (outer.l4_kind != L4::udp || outer.payload > header_bytes) return;
    const Udp udp(bytes.data() + outer.l4);
    const auto length = static_cast<std::uint16_t>(size - outer.l4);
    udp.set_length(length);
    if (udp.source() == 0) udp.set_source(entropy);
    if (udp.checksum() == 0) return;
    udp.set_checksum(0);
    const std::uint16_t pseudo =
        outer.l3_kind == L3::ipv4
            ? pseudo_sum_v4(Ipv4(l3).source(), Ipv4(l3).destination(), kProtoUdp, length)
            : pseudo_sum_v6(std::span<const std::byte, 32>(l3 + Ipv6::kSourceOffset, 32), kProtoUdp,
                            length);
    const std::uint16_t checksum = internet_checksum(bytes.subspan(outer.l4), pseudo);
    udp.set_checksum(checksum == 0 ? 0xffff : checksum);
}

bool Packet::reformat(std::uint8_t type, std::uint8_t parameter_0, std::uint8_t parameter_1,
                      std::span<const std::byte> data) {
    const Layer outer = headers().outer;
    if (!outer.has_l2()) return false;
    const auto bytes = static_cast<std::uint32_t>(data.size());
    switch (static_cast<Reformat>(type)) {
        case Reformat::l2_to_vxlan:
        case Reformat::l2_to_nvgre:
        case Reformat::l2_to_l2_tunnel:
        case Reformat::l2_to_l3_tunnel: {
            const bool keep_l2 = static_cast<Reformat>(type) != Reformat::l2_to_l3_tunnel;
            const std::uint16_t entropy = flow_entropy();
            if (!replace_front(keep_l2 ? 0 : l2_end(), data)) return false;
            complete_tunnel(bytes, entropy);
            return true;
        }
        case Reformat::l3_tunnel_to_l2: {
            const Layer inner = headers_.inner;
            if (!inner.has_l3() || inner.has_l2() || bytes < kEthernetBytes) return false;
            if (bytes > frame_->headroom() + inner.l3) return false;
            trim(outer.end);
            return replace_front(inner.l3, data);
        }
        case Reformat::insert_header:
        case Reformat::remove_header: {
            // Behind the anchors TCP_UDP_START and inside IP the lengths would have to follow.
            const std::uint32_t end = l2_end();
            std::uint32_t offset = parameter_1;
            if (parameter_0 == kAnchorIp && outer.has_l3()) {
                offset += end;
            } else if (parameter_0 != kAnchorMac) {
                return false;
            }
            if (offset > end) return false;
            if (static_cast<Reformat>(type) == Reformat::insert_header) {
                return insert_at(offset, data);
            }
            if (bytes > (outer.has_l3() ? outer.l3 : frame_->stored()) - offset) return false;
            remove_at(offset, bytes);
            return true;
        }
    }
    return false;
}

}  // namespace cxsim::eth
