// SPDX-License-Identifier: Apache-2.0
#include "eth/nic/receiver.h"

#include "eth/wire/crc32.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace cxsim::eth {
namespace {

using model::Delivery;
using model::Picoseconds;

constexpr std::uint16_t kUplinkVport = 0xffff;
// tirc.packet_merge_mask
constexpr std::uint32_t kMergeIpv4 = 1;
constexpr std::uint32_t kMergeIpv6 = 2;
// tirc.self_lb_block. Named for blocking, but drivers set a bit to have the frames: mlx5e for its
// self-test, verbs for ALLOW_SELF_LB.
constexpr std::uint32_t kTakesLoopedUnicast = 1;
constexpr std::uint32_t kTakesLoopedMulticast = 2;
constexpr std::uint32_t kMergedSizeUnit = 256;  // tirc.lro_max_ip_payload_size

}  // namespace

Receiver::Receiver(const Pipeline& pipeline)
    : pipeline_(pipeline), packet_(parser_, &pipeline.frames), copy_(parser_) {}

Receiver::~Receiver() {
    reset();
}

void Receiver::reset() {
    for (auto& [number, merging] : merging_) drop(merging);
    merging_.clear();
}

Picoseconds Receiver::receive(Picoseconds at, model::FramePtr frame) {
    ++counters_.frames;
    counters_.bytes += frame->size();
    return steer(at + pipeline_.options.receive, std::move(frame));
}

Picoseconds Receiver::loop_back(Picoseconds at, model::FramePtr frame) {
    ++counters_.looped;
    pipeline_.traffic.local_loopback.count(frame->size());
    looping_ = true;
    const Picoseconds finish = steer(at, std::move(frame));
    looping_ = false;
    return finish;
}

Picoseconds Receiver::steer(Picoseconds at, model::FramePtr frame) {
    if (!pipeline_.gate.open) {
        ++counters_.vport_down;
        ++pipeline_.gate.receive_vport_down;
        return at;
    }
    model::VportTraffic& traffic = pipeline_.traffic;
    switch (cast_of(*frame)) {
        case Cast::unicast:
            traffic.received_eth_unicast.count(frame->size());
            break;
        case Cast::multicast:
            traffic.received_eth_multicast.count(frame->size());
            break;
        case Cast::broadcast:
            traffic.received_eth_broadcast.count(frame->size());
            break;
    }
    follow_vxlan_ports(pipeline_.resources, parser_);
    Origin origin;
    origin.vport = kUplinkVport;
    packet_.take(std::move(frame), origin);
    pipeline_.steering.receive(packet_, deliveries_);
    const auto list = deliveries_.list();
    counters_.copies += list.size();
    if (std::ranges::all_of(list, &Delivery::sniffer)) {
        ++counters_.steered_away;
        if (deliveries_.drops() > 0 && deliveries_.drop_reason() != model::DropReason::action) {
            ++pipeline_.gate.receive_steering;
        }
    } else {
        --counters_.copies;
    }
    Picoseconds finish = at;
    for (std::size_t i = 0; i < list.size(); ++i) {
        auto& packet = static_cast<Packet&>(*list[i].packet);
        const auto wants = [&packet](const Delivery& other) { return other.packet == &packet; };
        // Queues strip tags each as they are told: all but the last get a copy.
        if (std::ranges::any_of(list.subspan(i + 1), wants)) {
            copy_.take(pipeline_.frames.copy(packet.frame()), origin);
            finish = std::max(finish, deliver(at, copy_, list[i]));
            copy_.drop();
        } else {
            finish = std::max(finish, deliver(at, packet, list[i]));
        }
    }
    packet_.drop();
    return finish;
}

Picoseconds Receiver::deliver(Picoseconds at, model::FramePtr frame, const Delivery& delivery) {
    ++counters_.copies;
    copy_.take(std::move(frame));
    const Picoseconds finish = deliver(at, copy_, delivery);
    copy_.drop();
    return finish;
}

Picoseconds Receiver::deliver(Picoseconds at, Packet& packet, const Delivery& delivery) {
    ++counters_.deliveries;
    const model::Tir* tir = pipeline_.resources.tirs.find(delivery.number);
    if (tir == nullptr) {
        ++counters_.no_queue;
        return at;
    }
    if (looping_ && !takes_loop(*tir, packet.frame())) {
        ++counters_.loop_blocked;
        return at;
    }
    const model::RqChoice choice = pipeline_.steering.choose_rq(*tir, packet.key());
    model::Rq* rq = choice.found ? pipeline_.resources.rqs.find(choice.rqn) : nullptr;
    if (rq == nullptr) {
        ++counters_.no_queue;
        return at;
    }
    const auto context = rq->view();
    ReceiveOptions options;
    options.strip_vlan = context.get<prm::rqc::vsd>() == 0;
    options.tunneled = tir->view().get<prm::tirc::tunneled_offload_en>() != 0;
    options.full_checksum = pipeline_.options.full_checksum;
    const ReceiveReport report = examine(packet, options);

    model::Cqe cqe{};
    const prm::View<prm::cqe64> view(cqe);
    view.set<prm::cqe64::rss_hash_result>(choice.hash);
    view.set<prm::cqe64::rss_hash_type_ip>(choice.hash_type_ip);
    view.set<prm::cqe64::rss_hash_type_l4>(choice.hash_type_l4);
    view.set<prm::cqe64::flow, prm::cqe64_flow::flow_tag>(delivery.flow_tag);
    view.set<prm::cqe64::ft_metadata>(delivery.metadata);
    if (merge(merge_config(*tir), *rq, packet, report, at, cqe)) return at;
    report.write(view);
    const model::Frame& frame = packet.frame();
    std::array<std::byte, 4> fcs{};
    pieces_.clear();
    pieces_.push_back(frame.bytes());
    if (context.get<prm::rqc::scatter_fcs>() != 0 && frame.synthetic == 0) {
        fcs = frame_check_sequence(frame.bytes());
        pieces_.push_back(fcs);
    }
    return write(*rq, at, at, pieces_, frame.synthetic, cqe);
}

bool Receiver::takes_loop(const model::Tir& tir, const model::Frame& frame) const {
    const std::uint32_t wanted =
        cast_of(frame) == Cast::unicast ? kTakesLoopedUnicast : kTakesLoopedMulticast;
    return (tir.view().get<prm::tirc::self_lb_block>() & wanted) != 0;
}

Picoseconds Receiver::write(model::Rq& rq, Picoseconds at, Picoseconds arrival,
                            std::span<const std::span<const std::byte>> pieces,
                            std::uint32_t synthetic, const model::Cqe& cqe) {
    const model::ReceiveOutcome outcome =
        pipeline_.queues.receive(rq, at, {pieces, synthetic, cqe, arrival});
    if (outcome.verdict != model::ReceiveVerdict::delivered) ++counters_.refused;
    return outcome.finish;
}

LroConfig Receiver::merge_config(const model::Tir& tir) const {
    const auto context = tir.view();
    const std::uint32_t mask = context.get<prm::tirc::packet_merge_mask>();
    LroConfig config;
    if (mask == 0) return config;
    config.ipv4 = (mask & kMergeIpv4) != 0;
    config.ipv6 = (mask & kMergeIpv6) != 0;
    config.max_bytes = context.get<prm::tirc::lro_max_ip_payload_size>() * kMergedSizeUnit;
    config.max_counts_headers = pipeline_.options.lro_max_counts_headers;
    config.timeout = model::microseconds(
        static_cast<std::int64_t>(context.get<prm::tirc::lro_timeout_period_usecs>()));
    config.timestamps = pipeline_.options.lro_timestamps;
    config.merge_psh = pipeline_.options.lro_merge_psh;
    config.min_mss = pipeline_.options.lro_min_mss;
    return config;
}

// Whether LRO took the packet: into a session, which the host sees when it is closed. Sessions are
// a queue's; when the TIR was modified, or another TIR wants it differently, the open ones end.
bool Receiver::merge(const LroConfig& config, model::Rq& rq, Packet& packet,
                     const ReceiveReport& report, Picoseconds at, const model::Cqe& cqe) {
    const bool wanted = config.ipv4 || config.ipv6;
    if (!wanted && merging_.empty()) return false;
    auto place = merging_.find(rq.id.number);
    if (place != merging_.end() && place->second.life != rq.wq.tag) {
        drop(place->second);
        merging_.erase(place);
        place = merging_.end();
    }
    if (place == merging_.end()) {
        if (!wanted) return false;
        place = merging_
                    .emplace(std::piecewise_construct, std::forward_as_tuple(rq.id.number),
                             std::forward_as_tuple(config, rq.wq.tag))
                    .first;
    }
    if (place->second.lro.config() != config) {
        Merging& old = place->second;
        while (const auto session = old.lro.oldest()) close(rq, old, *session, at);
        watch(rq.id.number, old);
        old.lro.configure(config);
    }
    if (!wanted) return false;
    Merging& merging = place->second;
    const Lro::Decision decision =
        merging.lro.offer(packet, report, pipeline_.queues.largest_packet(rq), at);
    if (decision.closes) close(rq, merging, *decision.closes, at);
    if (decision.action == Lro::Action::ordinary) {
        watch(rq.id.number, merging);
        return false;
    }
    Merging::Held& held = merging.held[decision.session];
    if (decision.action == Lro::Action::opens) {
        held.arrival = at;
        held.cqe = cqe;
        held.payload_offsets.push_back(0);
    } else {
        held.payload_offsets.push_back(decision.payload_offset);
    }
    model::FramePtr frame = packet.release();
    frame->resize(decision.payload_offset + decision.payload_bytes);  // padding goes
    held.frames.push_back(std::move(frame));
    if (decision.full) close(rq, merging, decision.session, at);
    watch(rq.id.number, merging);
    return true;
}

void Receiver::close(model::Rq& rq, Merging& merging, std::uint8_t session, Picoseconds at) {
    Merging::Held& held = merging.held[session];
    const LroResult result = merging.lro.close(session);
    model::Cqe cqe = held.cqe;
    result.write(prm::View<prm::cqe64>(cqe));
    pieces_.clear();
    for (std::size_t i = 0; i < held.frames.size(); ++i) {
        pieces_.push_back(std::as_const(*held.frames[i]).bytes().subspan(held.payload_offsets[i]));
    }
    ++counters_.merged_packets;
    counters_.merged_frames += held.frames.size();
    write(rq, at, held.arrival, pieces_, 0, cqe);
    held.frames.clear();
    held.payload_offsets.clear();
}

void Receiver::watch(std::uint32_t rqn, Merging& merging) {
    pipeline_.calendar.cancel(merging.timer);
    merging.timer = {};
    const Picoseconds deadline = merging.lro.next_deadline();
    if (deadline == Picoseconds::max()) return;
    merging.timer = pipeline_.calendar.schedule<&Receiver::merge_timer>(
        std::max(deadline, pipeline_.calendar.now()), this, {rqn});
}

void Receiver::merge_timer(const model::EventArguments& arguments) {
    const auto place = merging_.find(static_cast<std::uint32_t>(arguments.a));
    if (place == merging_.end()) return;
    Merging& merging = place->second;
    merging.timer = {};
    model::Rq* rq = pipeline_.resources.rqs.find(place->first);
    if (rq == nullptr || rq->wq.tag != merging.life) {
        drop(merging);
        merging_.erase(place);
        return;
    }
    const Picoseconds now = pipeline_.calendar.now();
    while (const auto session = merging.lro.expired(now)) close(*rq, merging, *session, now);
    watch(place->first, merging);
}

void Receiver::drop(Merging& merging) {
    pipeline_.calendar.cancel(merging.timer);
    for (const auto& held : merging.held) counters_.no_queue += held.frames.size();
}

}  // namespace cxsim::eth
