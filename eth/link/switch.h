// SPDX-License-Identifier: Apache-2.0
// A learning switch: stores frames and forwards them, with a port (eth::Mac) for each link.
#pragma once

#include "eth/link/link.h"
#include "eth/mac/mac.h"

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
    Counter table_full{*this, "table_full", Unit::events, "Addresses that could not be learned"};
};

class Switch {
  public:
    /// All outlive the switch. Links are given to its ports: port(i).connect(link, end).
    Switch(model::Calendar& calendar, const SwitchConfig& config, model::FramePool& frames,
           model::stats::Group& statistics);
    ~Switch();
    Switch(const Switch&) = delete;
    Switch& operator=(const Switch&) = delete;

    unsigned ports() const { return static_cast<unsigned>(ports_.size()); }
    /// Enabled for all speeds; pause is off.
    Mac& port(unsigned index);
    const SwitchCounters& counters() const { return counters_; }
    std::size_t known_addresses() const { return stations_.size(); }

  private:
    struct Port : model::FrameReceiver {
        Port(Switch& owner, unsigned index, model::Calendar& calendar, const MacConfig& config,
             model::FramePool& frames, model::stats::Group& statistics)
            : owner_(owner), index_(index), mac(calendar, config, frames, statistics) {}
        model::Picoseconds receive(model::Picoseconds at, model::FramePtr frame) override {
            owner_.forward(at, index_, std::move(frame));
            return at;
        }

      private:
        Switch& owner_;
        unsigned index_;

      public:
        Mac mac;
    };
    struct Station {
        unsigned port;
        model::Picoseconds seen;
    };

    void forward(model::Picoseconds at, unsigned from, model::FramePtr frame);
    void learn(model::Picoseconds at, unsigned from, MacAddress source);
    /// Port of a known station, or ports() for none.
    unsigned port_of(model::Picoseconds at, MacAddress destination) const;
    void send(model::Picoseconds at, unsigned to, model::FramePtr frame);

    SwitchConfig config_;
    model::FramePool& frames_;
    SwitchCounters counters_;
    std::vector<std::unique_ptr<Port>> ports_;
    std::unordered_map<std::uint64_t, Station> stations_;  // never iterated
};

}  // namespace cxsim::eth
