// SPDX-License-Identifier: Apache-2.0
// From a send WQE to frames at the port: gathers headers and payload, segments, fills checksums and
// tags, asks the transmit flow tables, queues the frames by priority.
#pragma once

#include "eth/nic/pipeline.h"
#include "eth/offloads/packet.h"
#include "eth/offloads/segmenter.h"
#include "eth/offloads/transmit.h"
#include "model/queues/queue_ports.h"
#include "model/steering/deliveries.h"

#include <cstdint>
#include <span>

namespace cxsim::eth {

class Receiver;

struct TransmitCounters {
    std::uint64_t frames = 0;          ///< given to the port (rules may send one packet twice)
    std::uint64_t bytes = 0;           ///< without FCS
    std::uint64_t looped = 0;          ///< given to the own receiver; unicast ones not to the port
    std::uint64_t segmented_wqes = 0;  ///< LSO
    std::uint64_t steered_away = 0;    ///< dropped by a flow table
    std::uint64_t vport_down = 0;      ///< dropped: the vport is down
    std::uint64_t no_transport = 0;    ///< messages of QPs, which nobody carries
    std::uint64_t too_long = 0;        ///< WQEs whose frame no port takes
    std::uint64_t gather_failures = 0; ///< the host refused a read
};

class Transmitter final : public model::PacketSink {
  public:
    /// `receiver` takes what sniffer tables want of sent packets.
    Transmitter(const Pipeline& pipeline, Receiver& receiver);

    model::SendOutcome send(model::Picoseconds at, const model::SendRequest& request) override;

    const TransmitCounters& counters() const { return counters_; }

  private:
    struct Cursor;
    unsigned priority_of(const model::Sq& sq) const;
    bool gather(Cursor& cursor, model::Picoseconds at, std::span<std::byte> into,
                model::Picoseconds& finish);
    model::WqeStatus send_whole(model::Picoseconds at, const model::SendRequest& request,
                                const SendOffloads& offloads, const Origin& origin,
                                unsigned priority, model::Picoseconds& finish);
    model::WqeStatus send_segments(model::Picoseconds at, const model::SendRequest& request,
                                   const SendOffloads& offloads, const Origin& origin,
                                   unsigned priority, model::Picoseconds& finish);
    void launch(model::Picoseconds ready, unsigned priority);
    void leave(model::Picoseconds ready, unsigned priority, model::FramePtr frame);
    bool loop_back(model::Picoseconds ready, const model::Frame& frame, Cast cast);

    Pipeline pipeline_;
    Receiver& receiver_;
    ParserConfig parser_;
    Packet packet_;
    Segmenter segmenter_;
    model::Deliveries deliveries_;
    TransmitCounters counters_;
};

}  // namespace cxsim::eth
