// SPDX-License-Identifier: Apache-2.0
// A learning switch: stores frames and forwards them, with a port (eth::Mac) for each link. Its
// queues are those of the ports, by priority; bytes of queues and buffers are as on the wire.
#pragma once

#include "eth/link/link.h"
#include "eth/link/shared_buffer.h"
#include "eth/link/switch_settings.h"
#include "eth/mac/mac.h"
#include "model/base/random.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace cxsim::eth {

struct SwitchConfig {
    std::string name = "switch0";
    unsigned ports = 4;
    /// From a frame's end at one port to its start at another, without queueing.
    model::Picoseconds latency = model::nanoseconds(200);
    /// Bytes of the wire that wait at a port before frames to it are dropped.
    model::Bytes queue_limit{512 * 1024};
    std::uint32_t mtu = 10'000;       ///< longest frame with FCS
    model::Picoseconds ageing;        ///< an address is forgotten after this; 0: never
    std::size_t table_size = 16'384;  ///< addresses; beyond, frames to new ones are flooded
    MacConfig port;                   ///< its name is replaced
    SwitchSettings settings;
};

struct SwitchCounters : model::stats::Group {
    SwitchCounters(Group& parent, const std::string& name) : Group(parent, name) {}
    using Counter = model::stats::Counter;
    using Unit = model::stats::Unit;
    Counter received{*this, "received", Unit::packets, "Frames that came in"};
    Counter forwarded{*this, "forwarded", Unit::packets, "Copies given to ports"};
    Counter flooded{*this, "flooded", Unit::packets, "Of the received: sent to all other ports"};
    Counter filtered{*this, "filtered", Unit::packets,
                     "Of the received: for a station at the port they came from, or nobody"};
    Counter dropped_queue_full{*this, "dropped_queue_full", Unit::packets,
                               "Copies dropped: the port's queue was full"};
    Counter dropped_no_link{*this, "dropped_no_link", Unit::packets,
                            "Copies dropped: the port had no link"};
    Counter dropped_buffer_full{*this, "dropped_buffer_full", Unit::packets,
                                "Copies dropped: the shared buffer was full"};
    Counter marked{*this, "marked", Unit::packets, "Sent with a new mark of congestion"};
    Counter not_markable{*this, "not_markable", Unit::packets,
                         "To be marked, but not of a transport that understands marks"};
    Counter pauses_sent{*this, "pauses_sent", Unit::events,
                        "Priorities of ports told to pause, repetitions not counted"};
    Counter resumes_sent{*this, "resumes_sent", Unit::events, "Priorities of ports told to go on"};
    Counter table_full{*this, "table_full", Unit::events, "Addresses that could not be learned"};
};

class Switch {
  public:
    /// All outlive the switch. Links are given to its ports: port(i).connect(link, end).
    /// Throws std::invalid_argument for settings that have a problem().
    Switch(model::Calendar& calendar, const SwitchConfig& config, model::FramePool& frames,
           model::stats::Group& statistics);
    ~Switch();
    Switch(const Switch&) = delete;
    Switch& operator=(const Switch&) = delete;

    unsigned ports() const { return static_cast<unsigned>(ports_.size()); }
    /// Enabled for all speeds; pause is as the settings say.
    Mac& port(unsigned index);
    const SwitchCounters& counters() const { return counters_; }
    std::size_t known_addresses() const { return stations_.size(); }
    /// What waits at a port to be sent, also while it crosses the switch.
    model::Bytes queued(unsigned port, unsigned priority) const;
    /// What waits of that which came in by a port, and altogether. Only with a shared buffer or
    /// lossless priorities, else 0.
    model::Bytes held_of(unsigned port, unsigned priority) const;
    model::Bytes held() const { return {buffer_.held()}; }
    const SharedBuffer& buffer() const { return buffer_; }
    /// The most that has waited at a port since the start or the last reset_peaks().
    model::Bytes peak_queued(unsigned port, unsigned priority) const;
    void reset_peaks();
    /// Whether a port's sender is paused now, by priority (a bit each).
    std::uint8_t paused_priorities(unsigned port) const;
    const SwitchSettings& settings() const { return config_.settings; }

  private:
    static constexpr unsigned kPriorities = SwitchSettings::kPriorities;

    /// Where the frames of a queue came from, in their order.
    class Origins {
      public:
        struct Origin {
            unsigned port;
            std::uint32_t bytes;
        };
        void push(const Origin& origin);
        Origin pop();

      private:
        std::vector<Origin> ring_ = std::vector<Origin>(16);  // a power of two
        std::size_t head_ = 0;
        std::size_t size_ = 0;
    };

    struct Port : model::FrameReceiver, QueueObserver {
        Port(Switch& owner, unsigned index, model::Calendar& calendar, const MacConfig& config,
             model::FramePool& frames, model::stats::Group& statistics)
            : owner_(owner), index_(index), mac(calendar, config, frames, statistics) {}
        model::Picoseconds receive(model::Picoseconds at, model::FramePtr frame) override {
            owner_.forward(at, index_, std::move(frame));
            return at;
        }
        void frame_leaves(model::Frame& frame) override { owner_.frame_leaves(*this, frame); }
        void queue_dropped(unsigned priority, std::size_t frames) override {
            for (; frames > 0; --frames) owner_.give_back(*this, priority);
        }

      private:
        Switch& owner_;
        unsigned index_;

      public:
        Mac mac;
        std::array<Origins, kPriorities> origins;       ///< of the queues to this port
        std::array<std::uint64_t, kPriorities> peak{};  ///< of the queues to this port
        std::uint8_t paused = 0;                        ///< priorities whose sender must wait
    };
    struct Station {
        unsigned port;
        model::Picoseconds seen;
    };

    void forward(model::Picoseconds at, unsigned from, model::FramePtr frame);
    void learn(model::Picoseconds at, unsigned from, MacAddress source);
    /// Port of a known station, or ports() for none.
    unsigned port_of(model::Picoseconds at, MacAddress destination) const;
    void send(model::Picoseconds at, unsigned from, unsigned to, model::FramePtr frame);
    bool has_room(unsigned from, const Mac& to, unsigned priority, std::uint32_t bytes);
    void frame_leaves(Port& port, model::Frame& frame);
    void take(unsigned from, Port& to, unsigned priority, std::uint32_t bytes);
    void give_back(Port& to, unsigned priority);
    void tell(Port& port);

    SwitchConfig config_;
    model::FramePool& frames_;
    SwitchCounters counters_;
    bool keeps_books_;  ///< of where waiting frames came from
    bool marks_;
    model::RandomStream random_;
    SharedBuffer buffer_;
    std::vector<std::unique_ptr<Port>> ports_;
    std::unordered_map<std::uint64_t, Station> stations_;  // never iterated
};

}  // namespace cxsim::eth
