// SPDX-License-Identifier: Apache-2.0
// A cable between two devices: delay, negotiation of speed and FEC, bit errors, cut and mended at
// run time.
#pragma once

#include "eth/link/error_process.h"
#include "eth/link/frame_ring.h"
#include "eth/link/link_device.h"
#include "model/base/random.h"
#include "model/sim/calendar.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cxsim::eth {

struct LinkConfig {
    std::string name = "link0";                         ///< names its random streams and counters
    model::Picoseconds delay = model::nanoseconds(10);  ///< one way: 2 m of cable
    /// Bit error ratio of what arrives at end 0 and end 1: 0 to 1e-3.
    std::array<double, 2> bit_error_ratio{};
    std::uint64_t seed = 1;
    bool plugged = true;  ///< the cable is there from the start
};

/// Sees the frames that pass one end of a link, in the order of their times.
class LinkObserver {
  public:
    virtual ~LinkObserver() = default;
    enum class Direction : std::uint8_t { sent, received };
    /// `at`: first bit of a sent frame, arrival of a received one. Damaged ones included.
    virtual void frame_seen(model::Picoseconds at, Direction direction,
                            const model::Frame& frame) = 0;
};

struct LinkCounters : model::stats::Group {
    LinkCounters(Group& parent, const std::string& name) : Group(parent, name) {}
    using Unit = model::stats::Unit;
    template <std::size_t N>
    using CounterArray = model::stats::CounterArray<N>;
    // Index: the receiving end.
    CounterArray<2> sent{*this, "sent_to_end{}", Unit::packets, "Frames put on the link"};
    CounterArray<2> delivered{*this, "delivered_to_end{}", Unit::packets,
                              "Frames that arrived, damaged ones included"};
    CounterArray<2> damaged{*this, "damaged_to_end{}", Unit::packets,
                            "Of the frames put on the link: damaged by bit errors"};
    CounterArray<2> lost{*this, "lost_to_end{}", Unit::packets,
                         "Frames under way when the link went down"};
};

class Link {
  public:
    static constexpr double kMaxBitErrorRatio = 1e-3;

    /// `statistics` outlives the link; the group "<config.name>" is made below it.
    Link(model::Calendar& calendar, const LinkConfig& config, model::stats::Group& statistics);
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// Puts a device on end 0 or 1, once. The device is told of the state before this returns and
    /// outlives the link or is detached before. Returns the end for the device to use.
    LinkPort& attach(unsigned end, LinkDevice& device);
    void detach(unsigned end);

    const std::string& name() const { return config_.name; }
    bool up() const { return state_.up(); }
    const LinkState& state() const { return state_; }
    /// Frames on the way towards `end`.
    std::size_t in_flight(unsigned end) const { return directions_[end].frames.size(); }
    const LinkCounters& counters() const { return counters_; }
    model::Picoseconds delay() const { return config_.delay; }

    // At run time
    /// Takes the cable out or puts it in.
    void set_plugged(bool plugged);
    bool plugged() const { return config_.plugged; }
    /// For frames sent from now on; they never overtake earlier ones.
    void set_delay(model::Picoseconds delay) { config_.delay = delay; }
    /// Of the bits that arrive at `end`. 0 to kMaxBitErrorRatio: returns false for others.
    bool set_bit_error_ratio(unsigned end, double ratio);
    double bit_error_ratio(unsigned end) const { return config_.bit_error_ratio[end]; }

    /// Null stops it.
    void observe(unsigned end, LinkObserver* observer) { observers_[end] = observer; }

  private:
    struct End : LinkPort {
        void offer_changed() override { link->negotiate(index); }
        void send(model::Picoseconds first_bit, model::Picoseconds last_bit,
                  model::FramePtr frame) override {
            link->send(index, first_bit, last_bit, std::move(frame));
        }
        void account() override { link->account(index); }
        Link* link = nullptr;
        unsigned index = 0;
        LinkDevice* device = nullptr;
        LinkState told;  ///< what the device knows
    };
    /// Towards the end of the same index.
    struct Direction {
        explicit Direction(model::RandomStream stream) : errors(stream) {}
        FrameRing frames;
        ErrorProcess errors;
        model::Picoseconds latency;  ///< of the receiving device
        model::Picoseconds last_arrival;
        model::EventHandle arrival;
    };
    static constexpr unsigned kNobody = 2;

    /// `initiator`: the end whose wish it is, kNobody for the cable.
    void negotiate(unsigned initiator);
    LinkState agreement() const;
    LinkState seen_from(unsigned end, LinkState common) const;
    void bring_up(const model::EventArguments&);
    void take_down(unsigned initiator);
    void tell();
    void send(unsigned from, model::Picoseconds first_bit, model::Picoseconds last_bit,
              model::FramePtr frame);
    void schedule_arrival(unsigned end);
    void arrive(const model::EventArguments& arguments);
    void account(unsigned end);

    model::Calendar& calendar_;
    LinkConfig config_;
    LinkCounters counters_;
    std::array<End, 2> ends_;
    std::array<Direction, 2> directions_;
    std::array<LinkObserver*, 2> observers_{};
    LinkState state_;
    LinkState pending_;  ///< what comes up when training ends; up() while training
    model::EventHandle training_;
    model::Picoseconds training_since_;
};

}  // namespace cxsim::eth
