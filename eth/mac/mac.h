// SPDX-License-Identifier: Apache-2.0
// A port: queues by priority, the serializer, pause in both directions, checks and buffers of the
// receiving side. Stands between a card's pipelines (or a switch) and one end of a Link.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "eth/link/frame_ring.h"
#include "eth/link/link.h"
#include "eth/mac/port_counters.h"
#include "eth/mac/receive_buffers.h"
#include "model/params/identity.h"
#include "model/params/timing.h"
#include "model/ports/port_control.h"
#include "model/ports/wire_port.h"
#include "model/sim/calendar.h"

namespace cxsim::eth {

/// What is fixed in the hardware.
struct MacConfig {
    std::string name = "port0";           ///< of its counters
    std::array<std::uint8_t, 6> address{};  ///< source of its pause frames
    model::Picoseconds link_up;           ///< from both ends' agreement until active
    model::Picoseconds mac_latency;       ///< one direction, without FEC
    model::Picoseconds fec_firecode;      ///< decoding, after the codeword's last bit
    model::Picoseconds fec_rs528;
    model::Picoseconds fec_rs544;
    model::Bytes receive_buffer{256 * 1024};
    model::Bytes transmit_buffer{64 * 1024};
};
/// The port of a card.
MacConfig mac_config(const model::FirmwareTiming& timing,
                     const std::array<std::uint8_t, 6>& address);

/// Wire arithmetic (IEEE 802.3 clause 4): preamble and SFD, FCS, inter-frame gap.
constexpr std::uint32_t kPreambleBytes = 8;
constexpr std::uint32_t kFcsBytes = 4;
constexpr std::uint32_t kGapBytes = 12;
constexpr std::uint32_t kMinFrameBytes = 64;  ///< with FCS
/// From destination address to FCS, padded.
constexpr std::uint32_t octets_of(std::uint32_t size) {
    return size + kFcsBytes < kMinFrameBytes ? kMinFrameBytes : size + kFcsBytes;
}
/// What a frame takes of the wire.
constexpr std::uint32_t wire_bytes_of(std::uint32_t size) {
    return kPreambleBytes + octets_of(size) + kGapBytes;
}

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
    PhyCounters& phy_counters() override { return counters_.phy; }

  private:
    static constexpr unsigned kPriorities = model::PortSettings::kPriorities;

    struct Queue {
        FrameRing frames;
        std::uint64_t bytes = 0;
        model::Picoseconds paused_until;
        model::Picoseconds paused_since;
        bool paused = false;
    };

    // Sending (mac.cpp)
    void serve(const model::EventArguments& arguments);
    void schedule_serve();
    bool start_frame(model::FramePtr frame);
    void drop_queues();
    void count_sent(const model::Frame& frame);

    // Receiving (receive_side.cpp)
    bool passes_checks(const model::Frame& frame, std::uint32_t octets);
    void count_received(const model::Frame& frame, std::uint32_t octets);
    void deliver(model::FramePtr frame, std::uint32_t octets);
    static unsigned priority_of(const model::Frame& frame);

    // Pause (pause.cpp)
    void take_control_frame(const model::Frame& frame);
    void pause(unsigned priority, std::uint16_t quanta);
    void end_pause(unsigned priority);
    void settle_pauses();
    void check_thresholds(unsigned buffer);
    std::uint8_t pausable_priorities(unsigned buffer) const;
    void request_pause(unsigned buffer, bool on);
    void watch_buffers();
    void buffer_watch(const model::EventArguments& arguments);
    model::FramePtr next_control_frame();
    void apply_buffers();
    model::Picoseconds quanta_time(std::uint32_t quanta) const;
    void reset_pause_state();

    model::Calendar& calendar_;
    MacConfig config_;
    model::FramePool& frames_;
    PortCounters counters_;
    model::PortSettings settings_;
    model::PortListener* listener_ = nullptr;
    model::FrameReceiver* receiver_ = nullptr;
    Link* link_ = nullptr;
    unsigned end_ = 0;
    LinkPort* line_ = nullptr;
    LinkState state_;
    model::Picoseconds up_since_;

    std::array<Queue, kPriorities> queues_;
    model::Picoseconds wire_free_;
    model::EventHandle serve_event_;
    model::Picoseconds serve_at_ = model::Picoseconds::max();

    ReceiveBuffers buffers_;
    struct BufferPause {
        bool on = false;                  ///< the other end was told to pause
        model::Picoseconds since;
        model::Picoseconds refresh_at;
    };
    std::array<BufferPause, model::PortSettings::kBuffers> buffer_pauses_;
    std::uint8_t announce_ = 0;           ///< priorities that the next pause frame is about
    bool announce_global_ = false;
    std::uint8_t paused_priorities_ = 0;  ///< those that the other end must not send
    model::EventHandle watch_event_;
    model::Picoseconds watch_at_ = model::Picoseconds::max();
};

}  // namespace cxsim::eth
