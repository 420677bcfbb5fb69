// SPDX-License-Identifier: Apache-2.0
#include "eth/offloads/lro.h"

#include "eth/offloads/layer_sums.h"
#include "eth/wire/ethernet.h"
#include "model/base/assert.h"

#include <algorithm>
#include <utility>

namespace cxsim::eth {

struct Lro::Segment {
    Flow flow;
    bool tcp = false;        // has a flow at all
    bool mergeable = false;  // could be part of a merged packet
    bool psh = false;
    std::uint8_t ttl = 0;
    std::uint16_t window = 0;
    std::uint16_t sum = 0;
    std::uint32_t sequence = 0;
    std::uint32_t ack = 0;
    std::uint32_t header_bytes = 0;
    std::uint32_t tcp_header_bytes = 0;
    std::uint32_t payload_bytes = 0;
    std::uint32_t first_word = 0;
    std::uint64_t timestamps = 0;
};

namespace {

/// NOP, NOP, timestamp: the one form of options that a merged packet may have (RFC 7323, A).
constexpr std::uint32_t kTimestampOption = 0x0101'080a;
constexpr std::uint32_t kTimestampBytes = 12;

}  // namespace

Lro::Segment Lro::read(Packet& packet, const ReceiveReport& report) const {
    Segment segment;
    const Layer& layer = packet.headers().outer;
    if (layer.l4_kind != L4::tcp || report.tunneled) return segment;
    const std::span<const std::byte> stored = std::as_const(packet).frame().bytes();
    const std::byte* l3 = stored.data() + layer.l3;
    const ConstTcp tcp(stored.data() + layer.l4);
    segment.tcp = true;
    Flow& flow = segment.flow;
    flow.l3 = layer.l3_kind;
    std::copy_n(stored.data(), flow.macs.size(), flow.macs.data());
    flow.ports = model::load_be<std::uint32_t>(tcp.data());
    flow.tags = {report.has_vlan, report.vlan_info, layer.tags, 0, 0};
    for (std::uint8_t i = 0; i < layer.tags; ++i) {
        flow.tags[3U + i] = ConstVlanTag(stored.data() + 12 + i * kVlanTagBytes).tci();
    }
    if (layer.l3_kind == L3::ipv4) {
        std::copy_n(l3 + ConstIpv4::kSourceOffset, 8, flow.addresses.data());
        segment.ttl = ConstIpv4(l3).ttl();
        segment.first_word = ConstIpv4(l3).traffic_class();
    } else {
        std::copy_n(l3 + ConstIpv6::kSourceOffset, 32, flow.addresses.data());
        segment.ttl = ConstIpv6(l3).hop_limit();
        segment.first_word = model::load_be<std::uint32_t>(l3);
    }
    segment.sequence = tcp.sequence();
    segment.ack = tcp.acknowledgement();
    segment.window = tcp.window();
    segment.psh = (tcp.flags() & kTcpPsh) != 0;
    segment.header_bytes = layer.payload;
    segment.tcp_header_bytes = tcp.header_bytes();
    segment.payload_bytes = layer.end - layer.payload;

    const bool enabled = layer.l3_kind == L3::ipv4 ? config_.ipv4 : config_.ipv6;
    const bool plain = (tcp.flags() & ~unsigned{kTcpPsh}) == kTcpAck;
    // Payload that is only counted has no place in a host's buffer behind payload that is there.
    const bool counted = layer.end > stored.size();
    if (!enabled || !report.l3_ok || !report.l4_ok || layer.options || !plain || counted ||
        segment.payload_bytes == 0) {
        return segment;
    }
    if (segment.tcp_header_bytes == kTcpBytes + kTimestampBytes) {
        const std::byte* option = tcp.data() + kTcpBytes;
        if (!config_.timestamps || model::load_be<std::uint32_t>(option) != kTimestampOption) {
            return segment;
        }
        segment.timestamps = model::load_be<std::uint64_t>(option + 4);
    } else if (segment.tcp_header_bytes != kTcpBytes) {
        return segment;
    }
    segment.mergeable = true;
    // Its checksum is right: the sum of the payload is what the rest lacks of 0xffff.
    const std::uint16_t pseudo = pseudo_sum(stored, layer, layer.end - layer.l4);
    segment.sum = internet_checksum(content(stored, layer.l4, layer.payload), pseudo);
    return segment;
}

bool Lro::extends(const Session& session, const Segment& segment) const {
    return segment.sequence == session.next_sequence &&
           segment.tcp_header_bytes == session.tcp_header_bytes &&
           segment.timestamps == session.timestamps && segment.first_word == session.first_word &&
           segment.payload_bytes <= session.mss &&
           session.payload_bytes + segment.payload_bytes <= session.limit &&
           static_cast<std::int32_t>(segment.ack - session.result.ack) >= 0;
}

bool Lro::add(Session& session, const Segment& segment) {
    session.sum = add_sums_at(session.sum, segment.sum, session.payload_bytes);
    session.payload_bytes += segment.payload_bytes;
    session.next_sequence = segment.sequence + segment.payload_bytes;
    LroResult& result = session.result;
    ++result.segments;
    result.byte_count = session.header_bytes + session.payload_bytes;
    result.psh = result.psh || segment.psh;
    result.ack = segment.ack;
    result.window = segment.window;
    result.min_ttl = std::min(result.min_ttl, segment.ttl);
    return (segment.psh && !config_.merge_psh) || segment.payload_bytes < session.mss ||
           session.payload_bytes + session.mss > session.limit || result.segments == kMaxSegments;
}

Lro::Decision Lro::offer(Packet& packet, const ReceiveReport& report, std::uint32_t room,
                         model::Picoseconds now) {
    CX_ASSERT(open_ < kSessions, "a session that should be closed is open");
    const Segment segment = read(packet, report);
    Decision decision;
    if (!segment.tcp) return decision;
    decision.payload_offset = segment.header_bytes;
    decision.payload_bytes = segment.payload_bytes;
    const auto same = std::ranges::find_if(sessions_, [&](const Session& session) {
        return session.open && session.flow == segment.flow;
    });
    if (same != sessions_.end()) {
        const auto index = static_cast<std::uint8_t>(same - sessions_.begin());
        if (segment.mergeable && extends(*same, segment)) {
            decision.action = Action::extends;
            decision.session = index;
            decision.full = add(*same, segment);
            return decision;
        }
        decision.closes = index;  // the flow's packets stay in order
    }
    if (!segment.mergeable || segment.payload_bytes < config_.min_mss ||
        (segment.psh && !config_.merge_psh)) {
        return decision;
    }
    const std::uint32_t counted =
        config_.max_counts_headers ? segment.header_bytes : segment.tcp_header_bytes;
    if (config_.max_bytes < counted || room < segment.header_bytes) return decision;
    const std::uint32_t limit = std::min(config_.max_bytes - counted, room - segment.header_bytes);
    if (limit < 2 * segment.payload_bytes) return decision;  // nothing would be merged

    if (!decision.closes && open_ + 1 == kSessions) decision.closes = oldest();
    std::uint8_t index = 0;
    while (sessions_[index].open) ++index;
    decision.action = Action::opens;
    decision.session = index;
    Session& session = sessions_[index];
    session = {.open = true,
               .flow = segment.flow,
               .opened = ++order_,
               .deadline = now + config_.timeout,
               .header_bytes = segment.header_bytes,
               .tcp_header_bytes = segment.tcp_header_bytes,
               .timestamps = segment.timestamps,
               .first_word = segment.first_word,
               .limit = limit,
               .mss = segment.payload_bytes,
               .result = {.report = report, .min_ttl = segment.ttl}};
    ++open_;
    decision.full = add(session, segment);
    return decision;
}

void Lro::configure(const LroConfig& config) {
    CX_ASSERT(open_ == 0, "sessions of the old configuration are open");
    config_ = config;
}

LroResult Lro::close(std::uint8_t index) {
    CX_ASSERT(index < kSessions && sessions_[index].open, "no such session");
    Session& session = sessions_[index];
    session.open = false;
    --open_;
    // A packet that stayed alone is as it came.
    if (session.result.segments > 1) session.result.report.check_sum = session.sum;
    return session.result;
}

model::Picoseconds Lro::next_deadline() const {
    auto next = model::Picoseconds::max();
    for (const Session& session : sessions_) {
        if (session.open) next = std::min(next, session.deadline);
    }
    return next;
}

std::optional<std::uint8_t> Lro::expired(model::Picoseconds now) const {
    const auto first = oldest();  // one timeout for all: the oldest runs out first
    return first && sessions_[*first].deadline <= now ? first : std::nullopt;
}

std::optional<std::uint8_t> Lro::oldest() const {
    std::optional<std::uint8_t> found;
    for (std::uint8_t i = 0; i < kSessions; ++i) {
        if (!sessions_[i].open) continue;
        if (!found || sessions_[i].opened < sessions_[*found].opened) found = i;
    }
    return found;
}

void LroResult::write(prm::View<prm::cqe64> cqe) const {
    using Cqe = prm::cqe64;
    using LroFields = prm::cqe64_lro;
    report.write(cqe);
    cqe.set<Cqe::lro_num_seg>(segments);
    cqe.set<Cqe::lro, LroFields::tcppsh>(psh);
    cqe.set<Cqe::lro, LroFields::min_ttl>(min_ttl);
    cqe.set<Cqe::lro, LroFields::tcp_win>(window);
    cqe.set<Cqe::lro, LroFields::ack_seq_num>(ack);
    cqe.set<Cqe::byte_cnt>(byte_count);
}

}  // namespace cxsim::eth
