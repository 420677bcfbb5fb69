// SPDX-License-Identifier: Apache-2.0
// The stages of RDMA as slices of a timeline, from what passes at the waists: doorbells, DMA,
// frames at the ends of cables. The cards know nothing of it: without a trace it costs nothing.
// What a DMA access is for is told by its address (queues) or its content (payload of packets).
#pragma once

#include "eth/link/link.h"
#include "model/trace/tracer.h"
#include "roce/wire/codec.h"
#include "scenarios/prm_tools/card_tap.h"

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace cxsim::scenarios {

/// Packets under way, by what both ends can tell of them; shared by all ends of one wire.
class PacketsUnderWay {
  public:
    static std::uint64_t flow_of(const roce::ReceivedPacket& packet);
    void sent(std::uint64_t flow, model::Picoseconds first_bit) { sent_[flow] = first_bit; }
    /// False for one that nobody saw leave.
    bool take(std::uint64_t flow, model::Picoseconds& first_bit);

  private:
    std::unordered_map<std::uint64_t, model::Picoseconds> sent_;  ///< never iterated
};

/// Names of the tracks of one owner, "<owner>.<stage>".
class StageTracks {
  public:
    StageTracks(model::trace::Tracer& tracer, const std::string& owner);
    void record(model::trace::StageId stage, model::Picoseconds start, model::Picoseconds end,
                std::uint32_t queue, std::uint32_t number, std::uint64_t bytes, std::uint64_t flow,
                std::uint64_t other_flow = 0);

  private:
    model::trace::Tracer& tracer_;
    std::array<model::trace::ComponentId, model::trace::kStageCount> tracks_;
};

/// A switch's end of a cable.
class SwitchStages : public eth::LinkObserver {
  public:
    /// All outlive the object. `arrivals` is shared by all ends of the switch.
    SwitchStages(StageTracks& tracks, PacketsUnderWay& under_way, PacketsUnderWay& arrivals)
        : tracks_(tracks), under_way_(under_way), arrivals_(arrivals) {}
    void frame_seen(model::Picoseconds at, Direction direction, const model::Frame& frame) override;

  private:
    StageTracks& tracks_;
    PacketsUnderWay& under_way_;
    PacketsUnderWay& arrivals_;
};

/// A card: at its tap and at its end of the cable.
class CardStages : public TapListener, public eth::LinkObserver {
  public:
    /// All outlive the object.
    CardStages(model::trace::Tracer& tracer, Card& card, PacketsUnderWay& under_way);

    // TapListener
    void bar_write(model::FunctionId function, model::Picoseconds arrival, std::uint64_t offset,
                   std::span<const std::byte> from) override;
    void dma(model::FunctionId function, bool write, model::Picoseconds start,
             const model::DmaResult& result, model::HostAddress address,
             std::span<const std::byte> data) override;
    void interrupt(model::FunctionId function, model::Picoseconds arrival, std::uint32_t vector,
                   bool masked) override;
    void reset(model::FunctionId function, model::Picoseconds at, model::ResetKind kind) override;

    // eth::LinkObserver
    void frame_seen(model::Picoseconds at, Direction direction, const model::Frame& frame) override;

  private:
    /// Bytes that were read of host memory and have not left in a packet yet.
    struct Read {
        model::Picoseconds start;
        model::Picoseconds finish;
        std::vector<std::byte> bytes;
    };
    /// A packet whose payload has not been written yet.
    struct Arrival {
        model::Picoseconds at;
        std::uint64_t flow;
        std::uint32_t queue;  ///< the card's own
        std::uint32_t psn;
        std::vector<std::byte> payload;
        std::size_t written = 0;
    };
    /// A work request that has not left in packets yet.
    struct Work {
        std::uint16_t index;
        model::Picoseconds ready;
    };
    struct QueueState {
        model::Picoseconds doorbell = model::Picoseconds::max();  ///< not yet followed by a read
        std::deque<Work> works{};
        std::uint16_t next_index = 0;
        bool known = false;                ///< next_index says something
        model::Picoseconds answered{};     ///< the last answer of the peer came
        std::uint64_t answer_flow = 0;
        model::Picoseconds executed{};     ///< the peer's last request was decided on, its write posted
        std::uint64_t executed_flow = 0;
    };

    void fetched(model::Qp& qp, model::Picoseconds start, model::Picoseconds finish,
                 std::span<const std::byte> data);
    bool context_read(model::Picoseconds start, model::Picoseconds finish, std::uint64_t bytes);
    bool completion(model::Picoseconds start, model::Picoseconds finish,
                    model::HostAddress address, std::span<const std::byte> data);
    bool event_entry(model::Picoseconds start, model::Picoseconds finish,
                     model::HostAddress address, std::span<const std::byte> data);
    void payload_written(model::Picoseconds start, model::Picoseconds finish,
                         std::span<const std::byte> data);
    void sent(model::Picoseconds first_bit, const roce::ReceivedPacket& packet,
              std::uint64_t flow);
    void received(model::Picoseconds at, const roce::ReceivedPacket& packet, std::uint64_t flow);
    /// Of the card's own queue pair that sends such packets; 0: none.
    std::uint32_t sender_of(const roce::ReceivedPacket& packet);
    std::uint64_t work_flow(std::uint32_t queue, std::uint16_t index) const;
    model::Resources& resources();

    Card& card_;
    PacketsUnderWay& under_way_;
    StageTracks tracks_;
    std::deque<Read> reads_;
    std::deque<Arrival> arrivals_;
    std::unordered_map<std::uint32_t, QueueState> queues_;  ///< never iterated
    model::Picoseconds event_written_;
};

}  // namespace cxsim::scenarios
