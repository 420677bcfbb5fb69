// SPDX-License-Identifier: Apache-2.0
#include "eth/nic/transmitter.h"

#include "eth/nic/receiver.h"
#include "model/base/copy_bytes.h"
#include "model/queues/wqe.h"

#include <algorithm>
#include <array>

namespace cxsim::eth {
namespace {

using model::Picoseconds;
using model::WqeStatus;

// IEEE 802.3: 64 bytes with the FCS. The port adds the FCS; the padding is zeros and belongs to the
// frame that a receiver sees.
constexpr std::uint32_t kMinFrame = 60;
constexpr std::size_t kEthSegmentOffset = 16;

}  // namespace

// Where in the payload's pieces the next byte comes from.
struct Transmitter::Cursor {
    const model::SendRequest& request;
    std::size_t piece = 0;
    std::uint64_t used = 0;  // of that piece
};

Transmitter::Transmitter(const Pipeline& pipeline, Receiver& receiver)
    : pipeline_(pipeline), receiver_(receiver), packet_(parser_, &pipeline.frames) {}

unsigned Transmitter::priority_of(const model::Sq& sq) const {
    const std::uint32_t number = sq.view().get<prm::sqc::tis_num_0>();
    const model::Tis* tis = pipeline_.resources.tises.find(number);
    // tisc.prio counts service levels of InfiniBand, two to a priority of Ethernet.
    return tis == nullptr ? 0 : tis->view().get<prm::tisc::prio>() >> 1;
}

// Fills `into` with the next bytes of the payload. False: the host refused.
bool Transmitter::gather(Cursor& cursor, Picoseconds at, std::span<std::byte> into,
                         Picoseconds& finish) {
    while (!into.empty()) {
        const model::PayloadPiece& piece = cursor.request.payload[cursor.piece];
        if (cursor.used == piece.bytes) {
            ++cursor.piece;
            cursor.used = 0;
            continue;
        }
        const auto n = static_cast<std::size_t>(
            std::min<std::uint64_t>(into.size(), piece.bytes - cursor.used));
        const auto part = into.first(n);
        if (piece.in_wqe) {
            const auto from = cursor.request.wqe.subspan(
                piece.wqe_offset + static_cast<std::size_t>(cursor.used), n);
            model::copy_bytes(from, part.data());
        } else if (piece.zeros) {
            std::ranges::fill(part, std::byte{0});
        } else {
            const Picoseconds start =
                pipeline_.caches == nullptr
                    ? at
                    : pipeline_.caches->memory(piece.origin, cursor.used, n, at);
            const model::DmaResult read = pipeline_.host.read(
                pipeline_.function, start, piece.address + cursor.used, part);
            if (!read.ok()) return false;
            finish = std::max(finish, read.finish);
        }
        cursor.used += n;
        into = into.subspan(n);
    }
    return true;
}

model::SendOutcome Transmitter::send(Picoseconds at, const model::SendRequest& request) {
    if (request.queue.kind != model::ObjectKind::sq) {
        ++counters_.no_transport;
        return {at, model::wqe_status::kSuccess, at};
    }
    // The context's allow_multi_pkt_send_wqe is of the older kind; drivers ask the capability alone.
    if (request.opcode ==
            static_cast<std::uint8_t>(model::WqeOpcode::enhanced_multi_packet_send) &&
        !pipeline_.options.multi_packet) {
        return {at, model::wqe_status::kBadWqe, at};
    }
    const model::Sq* sq = pipeline_.resources.sqs.find(request.queue.number);
    if (sq == nullptr) return {at, model::wqe_status::kBadWqe, at};
    const unsigned priority = priority_of(*sq);
    const prm::ConstView<prm::wqe_eth_seg> segment(request.wqe.subspan(kEthSegmentOffset));
    const SendOffloads offloads = read_send_offloads(
        segment, pipeline_.options.software_parser && sq->view().get<prm::sqc::allow_swp>() != 0);
    Origin origin;
    origin.sqn = request.queue.number;
    origin.reg_a = segment.get<prm::wqe_eth_seg::flow_table_metadata>();
    follow_vxlan_ports(pipeline_.resources, parser_);
    Picoseconds finish = at;
    const bool large = request.opcode == static_cast<std::uint8_t>(model::WqeOpcode::lso);
    const WqeStatus status =
        large ? send_segments(at, request, offloads, origin, priority, finish)
              : send_whole(at, request, offloads, origin, priority, finish);
    return {finish, status, pipeline_.port.room_at(at, priority)};
}

WqeStatus Transmitter::send_whole(Picoseconds at, const model::SendRequest& request,
                                  const SendOffloads& offloads, const Origin& origin,
                                  unsigned priority, Picoseconds& finish) {
    const std::uint64_t bytes = request.headers.size() + request.payload_bytes;
    if (bytes > model::FramePool::kMaxFrame) {
        ++counters_.too_long;
        return model::wqe_status::kMessageTooLong;
    }
    model::FramePtr frame = pipeline_.frames.make(static_cast<std::uint32_t>(bytes));
    const auto into = frame->bytes();
    model::copy_bytes(request.headers, into.data());
    Cursor cursor{request};
    if (!gather(cursor, at, into.subspan(request.headers.size()), finish)) {
        ++counters_.gather_failures;
        return model::wqe_status::kGatherFailed;
    }
    packet_.take(std::move(frame), origin);
    if (!apply_send_offloads(packet_, offloads)) {
        packet_.drop();
        return model::wqe_status::kBadWqe;
    }
    launch(finish, priority);
    return model::wqe_status::kSuccess;
}

WqeStatus Transmitter::send_segments(Picoseconds at, const model::SendRequest& request,
                                     const SendOffloads& offloads, const Origin& origin,
                                     unsigned priority, Picoseconds& finish) {
    if (!segmenter_.start(request.headers, request.payload_bytes, offloads, parser_,
                          {pipeline_.options.constant_outer_id})) {
        return model::wqe_status::kBadWqe;
    }
    ++counters_.segmented_wqes;
    const std::uint32_t header_bytes = segmenter_.header_bytes();
    if (header_bytes + segmenter_.piece(0).bytes > model::FramePool::kMaxFrame) {
        ++counters_.too_long;
        return model::wqe_status::kMessageTooLong;
    }
    Cursor cursor{request};
    for (std::uint32_t i = 0; i < segmenter_.count(); ++i) {
        model::FramePtr frame =
            pipeline_.frames.make(header_bytes + segmenter_.piece(i).bytes);
        const auto into = frame->bytes();
        segmenter_.write_headers(i, into.first(header_bytes));
        Picoseconds ready = at;
        if (!gather(cursor, at, into.subspan(header_bytes), ready)) {
            ++counters_.gather_failures;
            return model::wqe_status::kGatherFailed;
        }
        segmenter_.finish(*frame);
        finish = std::max(finish, ready);
        packet_.take(std::move(frame), origin);
        launch(finish, priority);
    }
    return model::wqe_status::kSuccess;
}

// The packet that is ready goes through the vport and the flow tables to the port.
void Transmitter::launch(Picoseconds ready, unsigned priority) {
    if (!pipeline_.gate.open) {
        ++counters_.vport_down;
        ++pipeline_.gate.transmit_vport_down;
        packet_.drop();
        return;
    }
    if (!pipeline_.steering.transmit_tables()) {
        leave(ready, priority, packet_.release());
        return;
    }
    using model::Delivery;
    pipeline_.steering.transmit(packet_, deliveries_);
    const auto list = deliveries_.list();
    const auto on_wire = [](const Delivery& delivery) {
        return delivery.kind == Delivery::Kind::wire;
    };
    if (std::ranges::none_of(list, on_wire)) ++counters_.steered_away;
    for (const Delivery& delivery : list) {
        if (on_wire(delivery)) continue;
        const auto& packet = static_cast<const Packet&>(*delivery.packet);
        receiver_.deliver(ready, pipeline_.frames.copy(packet.frame()), delivery);
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (!on_wire(list[i])) continue;
        auto& packet = static_cast<Packet&>(*list[i].packet);
        const bool again = std::ranges::any_of(list.subspan(i + 1), [&](const Delivery& other) {
            return on_wire(other) && other.packet == &packet;
        });
        leave(ready, priority,
              again ? pipeline_.frames.copy(packet.frame()) : packet.release());
    }
    packet_.drop();
}

// Out of the vport and to the port.
void Transmitter::leave(Picoseconds ready, unsigned priority, model::FramePtr frame) {
    model::VportTraffic& traffic = pipeline_.traffic;
    const Cast cast = cast_of(*frame);
    switch (cast) {
        case Cast::unicast:
            traffic.transmitted_eth_unicast.count(frame->size());
            break;
        case Cast::multicast:
            traffic.transmitted_eth_multicast.count(frame->size());
            break;
        case Cast::broadcast:
            traffic.transmitted_eth_broadcast.count(frame->size());
            break;
    }
    if (loop_back(ready, *frame, cast)) return;
    ++counters_.frames;
    counters_.bytes += frame->size();
    if (frame->size() < kMinFrame) {
        const std::uint32_t before = frame->stored();
        frame->resize(before + kMinFrame - frame->size());
        std::ranges::fill(frame->bytes().subspan(before), std::byte{0});
    }
    frame->priority = static_cast<std::uint8_t>(priority);
    pipeline_.port.transmit(ready + pipeline_.options.transmit, std::move(frame));
}

// Gives the function its own frame where the vport is told so. True: it does not leave the card.
bool Transmitter::loop_back(Picoseconds ready, const model::Frame& frame, Cast cast) {
    const model::VportGate& gate = pipeline_.gate;
    const bool unicast = cast == Cast::unicast;
    const bool wanted = unicast ? gate.loop_unicast && gate.is_station(destination_of(frame))
                                : gate.loop_multicast;
    if (!wanted) return false;
    ++counters_.looped;
    receiver_.loop_back(ready, pipeline_.frames.copy(frame));
    return unicast;
}

}  // namespace cxsim::eth
