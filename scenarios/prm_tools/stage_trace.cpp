// SPDX-License-Identifier: Apache-2.0
#include "scenarios/prm_tools/stage_trace.h"

#include "model/base/endian.h"
#include "model/queues/wqe.h"
#include "prm/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace cxsim::scenarios {

using model::HostAddress;
using model::Picoseconds;
using model::trace::StageId;

namespace {

constexpr std::uint64_t kUarBytes = 4096;
constexpr std::uint64_t kBlueFlame = prm::uar_page::blueflame::kOffset / 8;
constexpr std::size_t kQueueElement = 64;  // a CQE's, an EQE's bytes
constexpr std::size_t kLongestPayload = 4096;
/// Reads and packets that found no counterpart in this time were something else.
constexpr Picoseconds kForgotten = model::microseconds(200);
constexpr std::uint8_t kRequester = 0;  // cqe64.opcode
constexpr std::uint8_t kRequesterError = 13;

/// SplitMix64's finalizer; zero stands for no flow.
std::uint64_t mix(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return (value ^ (value >> 31)) | 1;
}

bool lies_in(const model::HostRing& ring, std::uint64_t bytes, HostAddress address) {
    bytes = ring.pages().empty() ? 0 : std::min(bytes, ring.capacity());
    for (std::uint64_t offset = 0; offset < bytes; offset += ring.contiguous(offset)) {
        const std::uint64_t start = ring.address(offset).value;
        const std::uint64_t piece = std::min(ring.contiguous(offset), bytes - offset);
        if (address.value >= start && address.value < start + piece) return true;
    }
    return false;
}

bool begins_with(std::span<const std::byte> all, std::span<const std::byte> start) {
    return start.size() <= all.size() &&
           std::memcmp(all.data(), start.data(), start.size()) == 0;
}

}  // namespace

// ---- What both ends share ----

std::uint64_t PacketsUnderWay::flow_of(const roce::ReceivedPacket& packet) {
    std::uint64_t number = 0;
    for (const auto& gid : {packet.source, packet.destination}) {
        for (const std::byte byte : gid) number = mix(number ^ std::to_integer<unsigned>(byte));
    }
    const roce::TransportHeaders& headers = packet.headers;
    return mix(number ^ std::uint64_t{headers.destination_qp} << 32 ^
               std::uint64_t{headers.psn} << 8 ^ headers.opcode);
}

bool PacketsUnderWay::take(std::uint64_t flow, Picoseconds& first_bit) {
    const auto found = sent_.find(flow);
    if (found == sent_.end()) return false;
    first_bit = found->second;
    sent_.erase(found);
    return true;
}

StageTracks::StageTracks(model::trace::Tracer& tracer, const std::string& owner)
    : tracer_(tracer) {
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
        tracks_[i] = tracer.component(
            fmt::format("{}.{}", owner, model::trace::stage_name(static_cast<std::uint8_t>(i))));
    }
}

void StageTracks::record(StageId stage, Picoseconds start, Picoseconds end, std::uint32_t queue,
                         std::uint32_t number, std::uint64_t bytes, std::uint64_t flow,
                         std::uint64_t other_flow) {
    tracer_.record(tracks_[static_cast<std::size_t>(stage)], 0, end,
                   model::trace::Stage{static_cast<std::uint64_t>(start.value), flow, other_flow,
                                       queue, number, static_cast<std::uint32_t>(bytes), stage});
}

// ---- Cables ----

void SwitchStages::frame_seen(Picoseconds at, Direction direction, const model::Frame& frame) {
    roce::ReceivedPacket packet;
    if (roce::parse(frame, packet) != roce::Parsed::packet) return;
    const std::uint64_t flow = PacketsUnderWay::flow_of(packet);
    const std::uint32_t queue = packet.headers.destination_qp;
    const std::uint32_t psn = packet.headers.psn;
    Picoseconds before;
    if (direction == Direction::received) {
        if (under_way_.take(flow, before)) {
            tracks_.record(StageId::link, before, at, queue, psn, frame.size(), flow);
        }
        arrivals_.sent(flow, at);
    } else {
        if (arrivals_.take(flow, before)) {
            tracks_.record(StageId::forward, before, at, queue, psn, frame.size(), flow);
        }
        under_way_.sent(flow, at);
    }
}

// ---- A card ----

CardStages::CardStages(model::trace::Tracer& tracer, Card& card, PacketsUnderWay& under_way)
    : card_(card), under_way_(under_way), tracks_(tracer, card.name()) {}

model::Resources& CardStages::resources() {
    return card_.firmware().function(model::FunctionId{0}).resources();
}

std::uint64_t CardStages::work_flow(std::uint32_t queue, std::uint16_t index) const {
    return mix(std::uint64_t{card_.setup().instance} << 48 ^ std::uint64_t{queue} << 16 ^ index);
}

void CardStages::reset(model::FunctionId, Picoseconds, model::ResetKind) {
    reads_.clear();
    arrivals_.clear();
    queues_.clear();
}

void CardStages::bar_write(model::FunctionId, Picoseconds arrival, std::uint64_t offset,
                           std::span<const std::byte> from) {
    if (offset < kUarBytes || offset % kUarBytes < kBlueFlame || from.size() < 8) return;
    const std::uint32_t number = model::load_be<std::uint32_t>(from.data() + 4) >> 8;
    model::Qp* qp = resources().qps.find(number);
    if (qp == nullptr) return;
    QueueState& queue = queues_[number];
    queue.doorbell = std::min(queue.doorbell, arrival);
    // The work request comes along: nothing is fetched if the card takes it.
    if (from.size() > 8) fetched(*qp, arrival, arrival, from);
}

/// Work requests as they lie in the ring, one behind the other.
void CardStages::fetched(model::Qp& qp, Picoseconds start, Picoseconds finish,
                         std::span<const std::byte> data) {
    const std::uint32_t number = qp.id.number;
    QueueState& queue = queues_[number];
    bool first = true;
    while (data.size() >= model::kBasicBlockBytes) {
        const model::WqeControl control = model::decode_control(data);
        const std::uint64_t bytes = std::uint64_t{control.blocks()} * model::kBasicBlockBytes;
        if (control.queue != number || bytes == 0 || bytes > data.size()) break;
        data = data.subspan(bytes);
        // What was read before comes again when a read begins in the middle.
        if (queue.known && control.index != queue.next_index) continue;
        queue.known = true;
        queue.next_index = static_cast<std::uint16_t>(control.index + control.blocks());
        const std::uint64_t flow = work_flow(number, control.index);
        if (first && queue.doorbell != Picoseconds::max()) {
            tracks_.record(StageId::doorbell, queue.doorbell, start, number, control.index, 8,
                           flow);
            queue.doorbell = Picoseconds::max();
        }
        if (finish > start) {
            tracks_.record(StageId::wqe_fetch, start, finish, number, control.index, bytes, flow);
        }
        first = false;
        queue.works.push_back({control.index, finish});
    }
}

void CardStages::dma(model::FunctionId, bool write, Picoseconds start,
                     const model::DmaResult& result, HostAddress address,
                     std::span<const std::byte> data) {
    if (!result.ok() || data.empty()) return;
    if (write) {
        if (completion(start, result.finish, address, data)) return;
        if (event_entry(start, result.finish, address, data)) return;
        payload_written(start, result.finish, data);
        return;
    }
    if (context_read(start, result.finish, data.size())) return;
    model::Qp* owner = nullptr;
    bool receives = false;
    resources().qps.for_each([&](model::Qp& qp) {
        const model::WorkQueue& sq = qp.sq;
        if (lies_in(sq.ring, std::uint64_t{sq.entries()} * model::kBasicBlockBytes, address)) {
            owner = &qp;
        } else if (lies_in(qp.rq.ring, qp.rq.entries() * qp.rq.stride(), address)) {
            receives = true;
        }
    });
    if (owner != nullptr) {
        fetched(*owner, start, result.finish, data);
    } else if (!receives && data.size() <= kLongestPayload) {
        reads_.push_back({start, result.finish, {data.begin(), data.end()}});
    }
}

/// The cards' own contexts; what of them are their numbers is known while they are being read.
bool CardStages::context_read(Picoseconds start, Picoseconds finish, std::uint64_t bytes) {
    const model::ContextCaches* caches = card_.firmware().function(model::FunctionId{0}).caches();
    if (caches == nullptr || !caches->fetching()) return false;
    const model::ContextCaches::Fetch& fetch = *caches->fetching();
    const bool memory = fetch.kind == model::ContextKind::mkey ||
                        fetch.kind == model::ContextKind::translation;
    tracks_.record(memory ? StageId::translation_fetch : StageId::context_fetch, start, finish,
                   fetch.owner, static_cast<std::uint32_t>(fetch.kind), bytes, 0);
    return true;
}

bool CardStages::completion(Picoseconds start, Picoseconds finish, HostAddress address,
                            std::span<const std::byte> data) {
    if (data.size() != kQueueElement) return false;
    bool found = false;
    resources().cqs.for_each([&](model::Cq& cq) {
        found = found || lies_in(cq.ring, std::uint64_t{cq.entries()} * cq.cqe_bytes, address);
    });
    if (!found) return false;
    const prm::ConstView<prm::cqe64> cqe(data);
    const std::uint32_t number = cqe.get<prm::cqe64::qpn>();
    const auto index = static_cast<std::uint16_t>(cqe.get<prm::cqe64::wqe_counter>());
    const auto opcode = static_cast<std::uint8_t>(cqe.get<prm::cqe64::opcode>());
    const QueueState& queue = queues_[number];
    const bool sender = opcode == kRequester || opcode == kRequesterError;
    const std::uint64_t flow = sender ? work_flow(number, index) : 0;
    if (sender && queue.answer_flow != 0 && queue.answered <= start) {
        tracks_.record(StageId::report, queue.answered, start, number, index, 0, flow,
                       queue.answer_flow);
    }
    tracks_.record(StageId::completion, start, finish, number, index, data.size(), flow);
    return true;
}

bool CardStages::event_entry(Picoseconds start, Picoseconds finish, HostAddress address,
                             std::span<const std::byte> data) {
    if (data.size() != kQueueElement) return false;
    const model::Eq* owner = nullptr;
    resources().eqs.for_each([&](model::Eq& eq) {
        if (lies_in(eq.ring, std::uint64_t{eq.entries()} * kQueueElement, address)) owner = &eq;
    });
    if (owner == nullptr) return false;
    tracks_.record(StageId::event, start, finish, owner->id.number, owner->producer, data.size(),
                   0);
    event_written_ = start;
    return true;
}

// The message is written behind the event, and may not pass it.
void CardStages::interrupt(model::FunctionId, Picoseconds arrival, std::uint32_t vector,
                           bool masked) {
    if (masked || event_written_ > arrival) return;
    tracks_.record(StageId::interrupt, event_written_, arrival, vector, 0, 0, 0);
}

void CardStages::payload_written(Picoseconds start, Picoseconds finish,
                                 std::span<const std::byte> data) {
    while (!arrivals_.empty() && arrivals_.front().at + kForgotten < start) arrivals_.pop_front();
    for (auto packet = arrivals_.begin(); packet != arrivals_.end(); ++packet) {
        const auto rest = std::span<const std::byte>(packet->payload).subspan(packet->written);
        if (packet->at > start || !begins_with(rest, data)) continue;
        if (packet->written == 0) {
            tracks_.record(StageId::receive, packet->at, start, packet->queue, packet->psn,
                           packet->payload.size(), packet->flow);
        }
        tracks_.record(StageId::payload_write, start, finish, packet->queue, packet->psn,
                       data.size(), packet->flow);
        QueueState& queue = queues_[packet->queue];
        queue.executed = std::max(queue.executed, start);
        packet->written += data.size();
        if (packet->written == packet->payload.size()) arrivals_.erase(packet);
        return;
    }
}

// ---- Frames of the card ----

void CardStages::frame_seen(Picoseconds at, Direction direction, const model::Frame& frame) {
    if (frame.damaged) return;
    roce::ReceivedPacket packet;
    if (roce::parse(frame, packet) != roce::Parsed::packet) return;
    if (packet.headers.opcode == roce::kCnpOpcode) return;
    const std::uint64_t flow = PacketsUnderWay::flow_of(packet);
    if (direction == Direction::sent) {
        sent(at, packet, flow);
        under_way_.sent(flow, at);
        return;
    }
    Picoseconds first_bit;
    if (under_way_.take(flow, first_bit)) {
        tracks_.record(StageId::link, first_bit, at, packet.headers.destination_qp,
                       packet.headers.psn, frame.size(), flow);
    }
    received(at, packet, flow);
}

std::uint32_t CardStages::sender_of(const roce::ReceivedPacket& packet) {
    using prm::ads;
    using prm::qpc;
    std::uint32_t number = 0;
    if (packet.headers.service() == roce::WireService::ud) return packet.headers.source_qp;
    resources().qps.for_each([&](model::Qp& qp) {
        const auto context = qp.view();
        if (context.get<qpc::remote_qpn>() != packet.headers.destination_qp) return;
        const auto gid =
            context.nested<qpc::primary_address_path>().bytes<ads::rgid_rip>();
        if (std::ranges::equal(gid, packet.destination)) number = qp.id.number;
    });
    return number;
}

void CardStages::sent(Picoseconds first_bit, const roce::ReceivedPacket& packet,
                      std::uint64_t flow) {
    const roce::TransportHeaders& headers = packet.headers;
    const roce::OperationTraits& traits = headers.traits();
    const std::uint32_t number = sender_of(packet);
    QueueState& queue = queues_[number];
    while (!reads_.empty() && reads_.front().finish + kForgotten < first_bit) reads_.pop_front();
    // The payload came by one read or by several, one for each piece.
    std::vector<Read> parts;
    auto rest = packet.payload;
    for (auto read = reads_.begin(); read != reads_.end() && !rest.empty();) {
        if (begins_with(rest, read->bytes)) {
            rest = rest.subspan(read->bytes.size());
            parts.push_back(std::move(*read));
            read = reads_.erase(read);
        } else {
            ++read;
        }
    }
    Picoseconds asked = first_bit;
    Picoseconds there{};
    for (const Read& part : parts) {
        asked = std::min(asked, part.start);
        there = std::max(there, part.finish);
    }
    if (traits.request && (traits.first || traits.atomic) && !queue.works.empty()) {
        const Work work = queue.works.front();
        queue.works.pop_front();
        if (work.ready <= asked) {
            tracks_.record(StageId::packetize, work.ready, asked, number, headers.psn,
                           packet.payload_bytes, work_flow(number, work.index), flow);
        }
    }
    for (const Read& part : parts) {
        tracks_.record(StageId::payload_read, part.start, part.finish, number, headers.psn,
                       part.bytes.size(), flow);
    }
    if (!parts.empty() && there <= first_bit) {
        tracks_.record(StageId::transmit, there, first_bit, number, headers.psn,
                       packet.payload_bytes, flow);
    }
    if (!traits.request && parts.empty() && queue.executed <= first_bit &&
        queue.executed > Picoseconds{}) {
        tracks_.record(StageId::acknowledge, queue.executed, first_bit, number, headers.psn, 0,
                       flow, queue.executed_flow);
    }
}

void CardStages::received(Picoseconds at, const roce::ReceivedPacket& packet,
                          std::uint64_t flow) {
    const roce::TransportHeaders& headers = packet.headers;
    QueueState& queue = queues_[headers.destination_qp];
    if (headers.traits().request) {
        queue.executed = std::max(queue.executed, at);
        queue.executed_flow = flow;
    } else {
        queue.answered = at;
        queue.answer_flow = flow;
    }
    if (packet.payload.empty()) return;
    arrivals_.push_back({at, flow, headers.destination_qp, headers.psn,
                         {packet.payload.begin(), packet.payload.end()}});
}

}  // namespace cxsim::scenarios
