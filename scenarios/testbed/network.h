// SPDX-License-Identifier: Apache-2.0
// The wire between cards: one link back to back, or a switch with a link to each card and to TAP
// devices of the host.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eth/link/impairer.h"
#include "eth/link/link.h"
#include "eth/link/pcap_tap.h"
#include "eth/link/switch.h"
#include "eth/link/tap_port.h"
#include "model/ports/frame.h"
#include "model/sim/kernel.h"
#include "model/stats/stats.h"
#include "scenarios/testbed/card.h"

namespace cxsim::scenarios {

enum class Topology : std::uint8_t {
    automatic,  ///< nothing for a single card, a link for two, a switch for more or with TAPs
    none,       ///< no cable in any port
    link,       ///< two cards back to back
    switched,   ///< every card, and every TAP, at one learning switch
};
/// "auto", "none", "link", "switch"; throws std::runtime_error for others.
Topology parse_topology(const std::string& text);

/// "loss=1e-3", "reorder_time=20us" and so on, by the names of eth::Impairments. Throws
/// std::runtime_error for others and for what is no probability or time.
eth::Impairments parse_impairments(std::span<const std::string> settings);

struct NetworkSetup {
    Topology topology = Topology::automatic;
    model::Picoseconds delay = model::nanoseconds(10);  ///< of each link, one way
    double bit_error_ratio = 0;                         ///< of each link, both directions
    /// Losses, copies, reordering and wrong bits in both directions of each card's cable, by a
    /// device in it that stores and forwards (eth::Impairer); between two cards there is one.
    std::optional<eth::Impairments> impairments;
    std::uint64_t seed = 1;
    std::vector<std::string> taps;  ///< interface names on the host
    std::string pcap_prefix;        ///< "<prefix>.<card's name>.pcap" each; empty: no captures
    /// Of the switch: classes, marks, buffer, flow control, speeds. The marks' seed is `seed`.
    eth::SwitchSettings switch_settings{};
    model::Bytes queue_limit = eth::SwitchConfig{}.queue_limit;  ///< of its lossy queues
    model::Picoseconds switch_latency = eth::SwitchConfig{}.latency;
};

class Network {
  public:
    explicit Network(model::Kernel& kernel) : kernel_(kernel) {}

    model::FramePool& frames() { return frames_; }
    model::stats::Group& statistics() { return statistics_; }

    /// Joins the ports of `cards`, once; they go before the network. Throws std::runtime_error when
    /// the topology does not fit the number of cards, the switch's settings contradict each other
    /// or the impairments (pause does not pass an impairer), or a TAP or capture file cannot be opened.
    void connect(std::span<Card* const> cards, const NetworkSetup& setup);

    /// The link of a card's port and the card's end of it; null without a cable.
    struct Place {
        eth::Link* link = nullptr;
        unsigned end = 0;
    };
    Place place_of(const Card& card) const;

    /// Of frames towards the card and from it, from now on. Throws std::runtime_error for a cable
    /// without impairer, std::invalid_argument for what is no probability.
    void impair(const Card& card, const eth::Impairments& towards, const eth::Impairments& from);
    struct Impaired {
        eth::Impairments towards;
        eth::Impairments from;
    };
    /// What was asked for last; nothing for a cable without impairer.
    std::optional<Impaired> impairments(const Card& card) const;

    /// Sees the card's end of its cable, beside a capture. Null: nobody. Nothing without a cable.
    void observe(const Card& card, eth::LinkObserver* observer);
    /// The same at the switch's end.
    void observe_switch(const Card& card, eth::LinkObserver* observer);

    /// Brings frames of the host in; true if there may be more.
    bool pump();
    const std::vector<std::unique_ptr<eth::TapPort>>& taps() const { return taps_; }
    const std::vector<std::unique_ptr<eth::PcapTap>>& captures() const { return captures_; }
    /// Bytes that the slowest capture's file has not got yet.
    std::size_t capture_backlog() const;
    /// The switch with its queues and what it counts; null without one.
    const eth::Switch* fabric() const { return switch_.get(); }
    eth::Switch* fabric() { return switch_.get(); }
    /// The switch's port that a card's cable leads to, in the order of the cards. Throws
    /// std::runtime_error for a card without one.
    unsigned port_of(const Card& card) const;

  private:
    struct CardPlace {
        const Card* card;
        Place place;
        Place peer;                         ///< the peer's end of the cable
        eth::Impairer* impairer = nullptr;  ///< null: none
        unsigned side = 0;                  ///< the impairer's port towards the card
    };

    eth::Link& add_link(const std::string& name, const NetworkSetup& setup);
    /// Joins a card's port and a peer's, by way of an impairer if there are to be some.
    void join(Card& card, eth::Mac& peer, unsigned number, const NetworkSetup& setup);
    void capture(const Card& card, const Place& place, const NetworkSetup& setup);
    const CardPlace* find(const Card& card) const;
    void add_tap(const std::string& name, unsigned port, const NetworkSetup& setup);

    model::Kernel& kernel_;
    model::FramePool frames_;
    model::stats::Group statistics_{"network"};
    std::unique_ptr<eth::Switch> switch_;
    std::vector<std::unique_ptr<eth::TapPort>> taps_;
    std::vector<std::unique_ptr<eth::Impairer>> impairers_;
    std::vector<std::unique_ptr<eth::Link>> links_;  // go before the devices at their ends
    std::vector<CardPlace> places_;
    std::vector<std::unique_ptr<eth::PcapTap>> captures_;
};

}  // namespace cxsim::scenarios
