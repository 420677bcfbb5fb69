// SPDX-License-Identifier: Apache-2.0
// A port: queues by priority, the serializer, pause in both directions, checks and buffers of the
// receiving side. Stands between a card's pipelines (or a switch) and one end of a Link.
#pragma once

#include "eth/link/frame_ring.h"
#include "eth/link/link.h"
#include "eth/mac/port_counters.h"
#include "eth/mac/receive_buffers.h"
#include "eth/wire/ethernet.h"
#include "model/params/timing.h"
#include "model/ports/port_control.h"
#include "model/ports/wire_port.h"
#include "model/sim/calendar.h"

#include <array>
#include <cstdint>
#include <string>

namespace cxsim::eth {

/// What is fixed in the hardware.
struct MacConfig {
    std::string name = "port0";       ///< of its counters
    MacAddress address;               ///< source of its pause frames
    model::Picoseconds link_up;       ///< from both ends' agreement until active
    model::Picoseconds mac_latency;   ///< one direction, without FEC
    model::Picoseconds fec_firecode;  ///< decoding, after the codeword's last bit
    model::Picoseconds fec_rs528;
    model::Picoseconds fec_rs544;
    model::Bytes receive_buffer{256 * 1024};
    model::Bytes transmit_buffer{64 * 1024};
};
/// The port of a card.
MacConfig mac_config(const model::FirmwareTiming& timing,
                     const std::array<std::uint8_t, 6>& address);  // as BoardIdentity has it

/// Wire arithmetic (IEEE 802.3 clause 4): preamble and SFD, FCS, inter-frame gap.
constexpr std::uint32_t kPreambleBytes = 8;
constexpr std::uint32_t kGapBytes = 12;
/// From destination address to FCS, padded.
constexpr std::uint32_t octets_of(std::uint32_t size) {
    return (size < kMinFrameBytes ? kMinFrameBytes : size) + kFcsBytes;
}
/// What a frame takes of the wire.
constexpr std::uint32_t wire_bytes_of(std::uint32_t size) {
    return kPreambleBytes + octets_of(size) + kGapBytes;
}

/// Who passes frames through a port and keeps books of where they lie: a switch.
class QueueObserver {
  public:
    virtual ~QueueObserver() = default;
    /// A frame starts and is no longer in the queue of its priority; its content may still change.
    virtual void frame_leaves(model::Frame& frame) = 0;
    /// All frames that waited in the queue of a priority were dropped: the link went down.
    virtual void queue_dropped(unsigned priority, std::size_t frames) = 0;
};

class Mac final : public model::WirePort, public model::PortControl, public LinkDevice {
  public:
    /// All outlive the port; `frames` makes its pause frames. Without configure() no mode is
    /// enabled and the link stays down.
    Mac(model::Calendar& calendar, const MacConfig& config, model::FramePool& frames,
        model::stats::Group& statistics);
    ~Mac() override;

    /// Joins the port to an end of a link, or leaves it (which drops what waits).
    void connect(Link& link, unsigned end);
    void disconnect();
    /// Null: what arrives is dropped and counted.
    void set_receiver(model::FrameReceiver* receiver) { receiver_ = receiver; }

    /// Null: nobody. Called for frames of transmit(), not for MAC control frames.
    void set_queue_observer(QueueObserver* observer) { observer_ = observer; }

    /// Priority flow control for what the port's owner holds, beside what the receive buffers ask
    /// for: these priorities (a bit each) of the other end pause until another call, all others may
    /// go on. Only those of settings().pfc_tx count. Forgotten when the link goes down or the
    /// settings of pause change.
    void hold_other_end(std::uint8_t priorities);
    std::uint8_t held_priorities() const { return held_; }

    // model::WirePort
    void transmit(model::Picoseconds ready, model::FramePtr frame) override;
    model::Picoseconds room_at(model::Picoseconds at, unsigned priority) override;
    bool link_up() const override { return state_.up(); }

    // model::PortControl
    const model::PortSettings& settings() const override { return settings_; }
    void configure(const model::PortSettings& settings) override;
    model::PortStatus status() const override;
    model::Bytes receive_buffer() const override { return config_.receive_buffer; }
    const model::stats::Group& counters() override;
    model::Picoseconds up_since() const override { return up_since_; }
    void set_listener(model::PortListener* listener) override { listener_ = listener; }

    /// The same counters, typed.
    PortCounters& port_counters() { return counters_; }
    /// Frames and bytes (as on the wire) that wait to be sent.
    std::size_t queued_frames() const;
    std::uint64_t queued_bytes(unsigned priority) const { return queues_[priority].bytes; }
    /// What the receive buffers hold now.
    model::Bytes buffered() { return buffers_.occupancy(calendar_.now()); }

    // LinkDevice
    LinkOffer link_offer() const override;
    model::Picoseconds receive_latency(const LinkState& state) const override;
    void link_state_changed(const LinkState& state) override;
    void frame_arrived(model::FramePtr frame) override;
    void link_removed() override;
    PhyCounters& phy_counters() override { return counters_.phy; }

  private:
    static constexpr unsigned kPriorities = model::PortSettings::kPriorities;
    static constexpr unsigned kBuffers = model::PortSettings::kBuffers;

    struct Queue {
        FrameRing frames;
        std::uint64_t bytes = 0;
        bool paused = false;  ///< by the other end
        model::Picoseconds paused_since;
        model::Picoseconds paused_until;
    };
    struct BufferState {
        bool paused = false;  ///< the other end was told to pause
        model::Picoseconds since;
        model::Picoseconds refresh_at;
        bool almost_full = false;
        bool full = false;
    };

    // Sending (mac.cpp)
    void serve(const model::EventArguments& arguments);
    void schedule_serve();
    void pause_ended(const model::EventArguments& arguments);
    model::Picoseconds next_start() const;
    void start_frame(model::FramePtr frame);
    /// Of a frame of `size` bytes at the rate of the moment. Frames of one size follow each other:
    /// the divisions are made for the first.
    struct FrameTimes {
        std::uint32_t size = ~std::uint32_t{0};
        model::Picoseconds whole;     ///< what it takes of the wire
        model::Picoseconds last_bit;  ///< from its first bit on
    };
    const FrameTimes& frame_times(std::uint32_t size);
    void drop_queues();
    void count_sent(const model::Frame& frame, bool control);

    // Receiving (receive_side.cpp)
    void deliver(model::FramePtr frame, std::uint32_t octets);
    void count_received(const model::Frame& frame, std::uint32_t octets);
    void note_fill(unsigned buffer);

    // Pause (pause.cpp)
    void take_control_frame(const model::Frame& frame);
    void pause_sending(unsigned priority, std::uint16_t quanta);
    void settle_pauses();
    void resume_sending();
    void apply_buffers();
    /// Tells the other end to pause, or to go on, for what lies in `buffer`.
    void tell_pause(unsigned buffer, bool pause);
    std::uint8_t pausable_priorities(unsigned buffer) const;
    std::uint8_t priorities_paused_by_buffers() const;
    void check_xoff(unsigned buffer);
    void schedule_watch();
    void watch(const model::EventArguments& arguments);
    void let_other_end_go();
    bool control_frame_waits() const { return announce_global_ || announce_ != 0; }
    model::FramePtr next_control_frame();
    model::Picoseconds quanta_time(std::uint32_t quanta) const;
    void settle_told_pauses();

    model::Calendar& calendar_;
    MacConfig config_;
    model::FramePool& frames_;
    PortCounters counters_;
    model::PortSettings settings_;
    model::PortListener* listener_ = nullptr;
    model::FrameReceiver* receiver_ = nullptr;
    QueueObserver* observer_ = nullptr;
    Link* link_ = nullptr;
    unsigned end_ = 0;
    LinkPort* line_ = nullptr;
    LinkState state_;
    model::Picoseconds up_since_;

    std::array<Queue, kPriorities> queues_;
    std::uint8_t waiting_ = 0;  ///< priorities whose queue holds a frame
    model::Picoseconds wire_free_;
    FrameTimes frame_times_;  ///< of the last frame sent
    bool serving_ = false;  ///< the wire is being given to a frame
    model::EventHandle serve_event_;
    model::Picoseconds serve_at_ = model::Picoseconds::max();
    model::EventHandle pause_event_;
    model::Picoseconds pause_end_at_ = model::Picoseconds::max();

    ReceiveBuffers buffers_;
    std::array<BufferState, kBuffers> buffer_states_;
    bool announce_global_ = false;  ///< a pause frame waits to be sent
    std::uint8_t announce_ = 0;     ///< a PFC frame about these priorities waits
    bool told_global_ = false;      ///< the other end must pause altogether
    std::uint8_t told_ = 0;         ///< ... these priorities
    std::array<model::Picoseconds, kPriorities> told_since_{};
    std::uint8_t held_ = 0;         ///< of told_: by hold_other_end()
    model::Picoseconds held_refresh_at_;
    model::EventHandle watch_event_;
    model::Picoseconds watch_at_ = model::Picoseconds::max();
};

}  // namespace cxsim::eth
