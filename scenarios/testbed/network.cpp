// SPDX-License-Identifier: Apache-2.0
#include "scenarios/testbed/network.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

namespace cxsim::scenarios {

Topology parse_topology(const std::string& text) {
    if (text == "auto") return Topology::automatic;
    if (text == "none") return Topology::none;
    if (text == "link") return Topology::link;
    if (text == "switch") return Topology::switched;
    throw std::runtime_error(fmt::format("wire '{}': auto, none, link or switch", text));
}

void Network::connect(std::span<Card* const> cards, const NetworkSetup& setup) {
    Topology topology = setup.topology;
    if (topology == Topology::automatic) {
        topology = cards.size() > 2 || !setup.taps.empty() ? Topology::switched
                   : cards.size() == 2                     ? Topology::link
                                                           : Topology::none;
    }
    if (topology != Topology::switched && !setup.taps.empty()) {
        throw std::runtime_error("TAP devices need the switch");
    }
    if (topology == Topology::none) {
        if (!setup.pcap_prefix.empty()) {
            throw std::runtime_error("nothing to capture: no card has a cable");
        }
        return;
    }
    if (topology == Topology::link) {
        if (cards.size() != 2) {
            throw std::runtime_error(
                fmt::format("a link joins two cards, there are {}", cards.size()));
        }
        eth::Link& link = add_link("link0", setup);
        place(*cards[0], link, 0, setup);
        place(*cards[1], link, 1, setup);
        cards[0]->port().connect(link, 0);
        cards[1]->port().connect(link, 1);
        return;
    }
    eth::SwitchConfig config;
    config.ports = static_cast<unsigned>(cards.size() + setup.taps.size());
    if (config.ports < 2) throw std::runtime_error("a switch joins two devices or more");
    config.settings = setup.switch_settings;
    config.settings.seed = setup.seed;
    config.queue_limit = setup.queue_limit;
    config.latency = setup.switch_latency;
    if (const char* problem = config.settings.problem(config.ports)) {
        throw std::runtime_error(fmt::format("switch: {}", problem));
    }
    switch_ = std::make_unique<eth::Switch>(kernel_.calendar(), config, frames_, statistics_);
    unsigned port = 0;
    for (Card* card : cards) {
        eth::Link& link = add_link(fmt::format("link{}", port), setup);
        place(*card, link, 0, setup);
        card->port().connect(link, 0);
        switch_->port(port++).connect(link, 1);
    }
    for (const std::string& name : setup.taps) add_tap(name, port++, setup);
}

eth::Link& Network::add_link(const std::string& name, const NetworkSetup& setup) {
    eth::LinkConfig config;
    config.name = name;
    config.delay = setup.delay;
    config.bit_error_ratio = {setup.bit_error_ratio, setup.bit_error_ratio};
    config.seed = setup.seed;
    links_.push_back(std::make_unique<eth::Link>(kernel_.calendar(), config, statistics_));
    return *links_.back();
}

void Network::place(const Card& card, eth::Link& link, unsigned end, const NetworkSetup& setup) {
    places_.push_back({&card, {&link, end}});
    if (setup.pcap_prefix.empty()) return;
    const std::string path = fmt::format("{}.{}.pcap", setup.pcap_prefix, card.name());
    captures_.push_back(std::make_unique<eth::PcapTap>(link, end, path));
    if (captures_.back()->failed()) {
        throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));
    }
}

void Network::add_tap(const std::string& name, unsigned port, const NetworkSetup& setup) {
    const int descriptor = eth::open_tap(name);
    if (descriptor < 0) {
        throw std::runtime_error(fmt::format("TAP device {}: {}", name, std::strerror(errno)));
    }
    eth::TapConfig config;
    config.name = name;
    taps_.push_back(std::make_unique<eth::TapPort>(kernel_.calendar(), config, descriptor, frames_,
                                                   statistics_));
    eth::Link& link = add_link(fmt::format("link{}", port), setup);
    taps_.back()->port().connect(link, 0);
    switch_->port(port).connect(link, 1);
}

Network::Place Network::place_of(const Card& card) const {
    for (const CardPlace& place : places_) {
        if (place.card == &card) return place.place;
    }
    return {};
}

unsigned Network::port_of(const Card& card) const {
    if (switch_ != nullptr) {
        for (std::size_t i = 0; i < places_.size(); ++i) {
            if (places_[i].card == &card) return static_cast<unsigned>(i);
        }
    }
    throw std::runtime_error(fmt::format("{} is not at a switch", card.name()));
}

void Network::observe(const Card& card, eth::LinkObserver* observer) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
        if (places_[i].card != &card) continue;
        if (captures_.empty()) {
            places_[i].place.link->observe(places_[i].place.end, observer);
        } else {
            captures_[i]->pass_on(observer);  // one for each card, in their order
        }
    }
}

void Network::observe_switch(const Card& card, eth::LinkObserver* observer) {
    const Place place = place_of(card);
    if (switch_ != nullptr && place.link != nullptr) {
        place.link->observe(1 - place.end, observer);
    }
}

bool Network::pump() {
    bool more = false;
    for (const auto& tap : taps_) more = tap->pump() == eth::TapConfig{}.frames_per_pump || more;
    return more;
}

}  // namespace cxsim::scenarios
