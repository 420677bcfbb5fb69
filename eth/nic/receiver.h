// SPDX-License-Identifier: Apache-2.0
// From a frame at the port to a receive queue: flow tables, hashing, what the completion says of
// the packet, merging of TCP segments (LRO).
#pragma once

#include "eth/nic/pipeline.h"
#include "eth/offloads/lro.h"
#include "eth/offloads/packet.h"
#include "eth/offloads/receive.h"
#include "model/queues/wqe.h"
#include "model/steering/deliveries.h"

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace cxsim::eth {

struct ReceiveCounters {
    std::uint64_t frames = 0;         ///< that the port handed over
    std::uint64_t bytes = 0;          ///< without FCS
    std::uint64_t looped = 0;         ///< frames of the own transmitter, beside `frames`
    std::uint64_t loop_blocked = 0;   ///< deliveries of such dropped: the TIR takes none
    std::uint64_t vport_down = 0;     ///< dropped: the vport is down
    std::uint64_t steered_away = 0;   ///< dropped by the flow tables: no rule, or one that drops;
                                      ///< a sniffer may have seen them
    std::uint64_t copies = 0;         ///< deliveries beyond one for each frame: sniffers, multicast
    std::uint64_t deliveries = 0;     ///< frames times destinations, LRO's merged ones included
    std::uint64_t no_queue = 0;       ///< deliveries dropped: the TIR leads to no queue, or the queue
                                      ///< went away while they were being merged
    std::uint64_t refused = 0;        ///< deliveries that the queue did not take (its counters say why)
    std::uint64_t merged_packets = 0; ///< packets of LRO
    std::uint64_t merged_frames = 0;  ///< frames in them
};

class Receiver final : public model::FrameReceiver {
  public:
    explicit Receiver(const Pipeline& pipeline);
    ~Receiver() override;

    model::Picoseconds receive(model::Picoseconds at, model::FramePtr frame) override;

    /// A frame that the function sent to itself: the tables see it as any other, of the TIRs only
    /// those take it whose self_lb_block has the bit of its kind.
    model::Picoseconds loop_back(model::Picoseconds at, model::FramePtr frame);

    /// Gives a frame to one TIR, as the flow tables decided. Returns when it has left the card.
    model::Picoseconds deliver(model::Picoseconds at, model::FramePtr frame,
                               const model::Delivery& delivery);

    /// The function was reset: merged packets that are not complete are dropped (no_queue).
    void reset();

    const ReceiveCounters& counters() const { return counters_; }

  private:
    /// Sessions of one receive queue and the frames they hold.
    struct Merging {
        Merging(const LroConfig& config, std::uint64_t queue_life) : lro(config), life(queue_life) {}
        Lro lro;
        /// The queue's tag, new with each start: numbers are given out again.
        std::uint64_t life;
        struct Held {
            std::vector<model::FramePtr> frames;
            std::vector<std::uint32_t> payload_offsets;
            model::Picoseconds arrival;
            model::Cqe cqe{};  ///< hash, tag, metadata of the first frame
        };
        std::array<Held, Lro::kSessions> held;
        model::EventHandle timer;
    };

    model::Picoseconds steer(model::Picoseconds at, model::FramePtr frame);
    model::Picoseconds deliver(model::Picoseconds at, Packet& packet,
                               const model::Delivery& delivery);
    bool takes_loop(const model::Tir& tir, const model::Frame& frame) const;
    model::Picoseconds write(model::Rq& rq, model::Picoseconds at, model::Picoseconds arrival,
                             std::span<const std::span<const std::byte>> pieces,
                             std::uint32_t synthetic, const model::Cqe& cqe);
    LroConfig merge_config(const model::Tir& tir) const;
    bool merge(const LroConfig& config, model::Rq& rq, Packet& packet, const ReceiveReport& report,
               model::Picoseconds at, const model::Cqe& cqe);
    void close(model::Rq& rq, Merging& merging, std::uint8_t session, model::Picoseconds at);
    void watch(std::uint32_t rqn, Merging& merging);
    void merge_timer(const model::EventArguments& arguments);
    /// Drops what waits for a queue that is no more.
    void drop(Merging& merging);

    Pipeline pipeline_;
    ParserConfig parser_;
    Packet packet_;
    Packet copy_;
    model::Deliveries deliveries_;
    std::map<std::uint32_t, Merging> merging_;                ///< by RQ number
    std::vector<std::span<const std::byte>> pieces_;          // reused
    bool looping_ = false;  ///< the frame under way is of the own transmitter
    ReceiveCounters counters_;
};

}  // namespace cxsim::eth
