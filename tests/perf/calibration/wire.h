// SPDX-License-Identifier: Apache-2.0
// What lies between two cards: a cable, a switch, or a device that loses and marks frames of the
// bench's choice and writes down what passes.
#pragma once

#include "eth/link/link.h"
#include "eth/link/switch.h"
#include "model/sim/kernel.h"
#include "roce/wire/packet.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace cxsim::calibration {

enum class Between : std::uint8_t { cable, network_switch, filter };

struct WireOptions {
    Between between = Between::cable;
    model::Picoseconds delay = model::nanoseconds(10);  ///< of each cable: 2 m
    model::LinkModeMask modes = 0;                      ///< that both ports offer; 0: all
};

/// A RoCE packet that reached the filter.
struct Passed {
    model::Picoseconds at;
    bool to_b = false;  ///< from card 0 to card 1
    bool lost = false;
    bool marked = false;
    roce::TransportHeaders headers;
    std::uint32_t payload_bytes = 0;
    std::uint32_t frame_bytes = 0;  ///< without FCS
};

/// Stores and forwards. Seen at the middle of the wire, as a testbed with a programmable switch
/// sees it.
class Filter {
  public:
    Filter(model::Calendar& calendar, model::FramePool& frames, model::stats::Group& statistics);

    eth::Mac& port(unsigned index) { return ports_.at(index)->mac; }
    const std::vector<Passed>& passed() const { return passed_; }
    void forget() { passed_.clear(); }

    /// Whether a RoCE packet is lost, marked (congestion experienced). Null: none.
    std::function<bool(const Passed&)> loses;
    std::function<bool(const Passed&)> marks;

  private:
    struct Port : model::FrameReceiver {
        Port(Filter& owner, unsigned index, model::Calendar& calendar, const eth::MacConfig& config,
             model::FramePool& frames, model::stats::Group& statistics)
            : owner_(owner), index_(index), mac(calendar, config, frames, statistics) {}
        model::Picoseconds receive(model::Picoseconds at, model::FramePtr frame) override {
            owner_.pass(at, index_, std::move(frame));
            return at;
        }

      private:
        Filter& owner_;
        unsigned index_;

      public:
        eth::Mac mac;
    };
    void pass(model::Picoseconds at, unsigned from, model::FramePtr frame);

    std::array<std::unique_ptr<Port>, 2> ports_;
    std::vector<Passed> passed_;
};

class Wire {
  public:
    void connect(model::Kernel& kernel, model::FramePool& frames, eth::Mac& a, eth::Mac& b,
                 const WireOptions& options);
    Filter& filter() { return *filter_; }

  private:
    eth::Link& add_link(model::Kernel& kernel, const WireOptions& options);

    model::stats::Group statistics_{"wire"};
    std::unique_ptr<eth::Switch> switch_;
    std::unique_ptr<Filter> filter_;
    std::vector<std::unique_ptr<eth::Link>> links_;  // go before the devices at their ends
};

}  // namespace cxsim::calibration
