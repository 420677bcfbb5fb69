// SPDX-License-Identifier: Apache-2.0
// A device with two ports that passes frames from one to the other and does to some what bad
// networks do: loses them, sends them twice, holds them back behind later ones, changes bits that
// no frame check sequence tells of.
#pragma once

#include "eth/mac/mac.h"
#include "model/base/random.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cxsim::eth {

/// Probabilities for each frame, 0 to 1, drawn independently of each other.
struct Impairments {
    double loss = 0;
    double duplicate = 0;  ///< a copy follows at once
    double reorder = 0;    ///< held back for up to `reorder_time`; later frames pass
    double corrupt = 0;    ///< 1 to 3 bits flipped, the frame check sequence made anew
    model::Picoseconds reorder_time = model::microseconds(10);
    /// Null if it can be used, else what is wrong.
    const char* problem() const;
};

struct ImpairerConfig {
    std::string name = "impairer0";  ///< names its random streams and counters
    std::array<Impairments, 2> towards;  ///< port 0, port 1
    model::Picoseconds latency = model::nanoseconds(200);  ///< of a frame that nothing happens to
    std::uint32_t mtu = 10'000;  ///< longest frame with FCS
    MacConfig port;              ///< its name is replaced
    std::uint64_t seed = 1;
};

struct ImpairerCounters : model::stats::Group {
    ImpairerCounters(Group& parent, const std::string& name) : Group(parent, name) {}
    using Unit = model::stats::Unit;
    template <std::size_t N>
    using CounterArray = model::stats::CounterArray<N>;
    // Index: the port they go towards.
    CounterArray<2> received{*this, "received_for_port{}", Unit::packets, "Frames that came in"};
    CounterArray<2> lost{*this, "lost_for_port{}", Unit::packets, "Of those: lost"};
    CounterArray<2> duplicated{*this, "duplicated_for_port{}", Unit::packets,
                               "Of those not lost: sent twice"};
    CounterArray<2> reordered{*this, "reordered_for_port{}", Unit::packets,
                              "Of those not lost: held back"};
    CounterArray<2> corrupted{*this, "corrupted_for_port{}", Unit::packets,
                              "Of those not lost: with bits flipped, in both of two copies"};
    CounterArray<2> no_link{*this, "dropped_no_link_for_port{}", Unit::packets,
                            "Copies dropped: the port had no link"};
    CounterArray<2> forwarded{*this, "forwarded_for_port{}", Unit::packets,
                              "Copies given to the port"};
};

class Impairer {
  public:
    /// All outlive the device. Links are given to its ports: port(i).connect(link, end).
    /// Throws std::invalid_argument for impairments that have a problem().
    Impairer(model::Calendar& calendar, const ImpairerConfig& config, model::FramePool& frames,
             model::stats::Group& statistics);
    ~Impairer();
    Impairer(const Impairer&) = delete;
    Impairer& operator=(const Impairer&) = delete;

    /// Enabled for all speeds, without pause.
    Mac& port(unsigned index);
    /// For frames that come from now on. Throws as the constructor does.
    void set(unsigned towards, const Impairments& impairments);
    const Impairments& impairments(unsigned towards) const { return config_.towards.at(towards); }
    const ImpairerCounters& counters() const { return counters_; }
    /// Frames held back now.
    std::size_t held() const;

  private:
    struct Port : model::FrameReceiver {
        Port(Impairer& owner, unsigned index, model::Calendar& calendar, const MacConfig& config,
             model::FramePool& frames, model::stats::Group& statistics)
            : owner_(owner), index_(index), mac(calendar, config, frames, statistics) {}
        model::Picoseconds receive(model::Picoseconds at, model::FramePtr frame) override {
            owner_.pass(at, 1 - index_, std::move(frame));
            return at;
        }

      private:
        Impairer& owner_;
        unsigned index_;

      public:
        Mac mac;
    };
    struct Held {
        model::FramePtr frame;
        model::EventHandle event;
        unsigned towards = 0;
    };

    void pass(model::Picoseconds at, unsigned towards, model::FramePtr frame);
    bool happens(unsigned towards, double probability);
    void corrupt(unsigned towards, model::Frame& frame);
    void hold(model::Picoseconds until, unsigned towards, model::FramePtr frame);
    void release(const model::EventArguments& arguments);
    void send(model::Picoseconds at, unsigned towards, model::FramePtr frame);

    model::Calendar& calendar_;
    ImpairerConfig config_;
    model::FramePool& frames_;
    ImpairerCounters counters_;
    std::array<model::RandomStream, 2> random_;
    std::array<std::unique_ptr<Port>, 2> ports_;
    std::vector<Held> held_;  ///< places are used again
};

}  // namespace cxsim::eth
