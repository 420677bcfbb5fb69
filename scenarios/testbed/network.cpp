// SPDX-License-Identifier: Apache-2.0
#include "scenarios/testbed/network.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "model/params/value.h"

namespace cxsim::scenarios {

Topology parse_topology(const std::string& text) {
    if (text == "auto") return Topology::automatic;
    if (text == "none") return Topology::none;
    if (text == "link") return Topology::link;
    if (text == "switch") return Topology::switched;
    throw std::runtime_error(fmt::format("wire '{}': auto, none, link or switch", text));
}

eth::Impairments parse_impairments(std::span<const std::string> settings) {
    eth::Impairments result;
    for (const std::string& setting : settings) {
        const std::size_t equals = std::min(setting.find('='), setting.size());
        const std::string key = setting.substr(0, equals);
        const std::string value = equals < setting.size() ? setting.substr(equals + 1) : "";
        double* const probability = key == "loss"        ? &result.loss
                                    : key == "duplicate" ? &result.duplicate
                                    : key == "reorder"   ? &result.reorder
                                    : key == "corrupt"   ? &result.corrupt
                                                         : nullptr;
        if (key == "reorder_time") {
            result.reorder_time = model::parse_time(value);
            continue;
        }
        char* end = nullptr;
        const double number = std::strtod(value.c_str(), &end);
        if (probability == nullptr || value.empty() || *end != 0) {
            throw std::runtime_error(fmt::format(
                "impairment '{}': loss, duplicate, reorder or corrupt=PROBABILITY, or "
                "reorder_time=TIME",
                setting));
        }
        *probability = number;
    }
    if (const char* problem = result.problem()) throw std::runtime_error(problem);
    return result;
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
        if (setup.impairments) throw std::runtime_error("nothing to impair: no card has a cable");
        return;
    }
    if (setup.impairments) {
        if (const char* problem = setup.impairments->problem()) throw std::runtime_error(problem);
        if (setup.switch_settings.lossless != 0) {
            throw std::runtime_error("pause does not pass what impairs: no lossless priorities");
        }
    }
    if (topology == Topology::link) {
        if (cards.size() != 2) {
            throw std::runtime_error(
                fmt::format("a link joins two cards, there are {}", cards.size()));
        }
        join(*cards[0], cards[1]->port(), 0, setup);
        CardPlace other{cards[1], places_[0].peer, places_[0].place, places_[0].impairer,
                        1 - places_[0].side};
        places_.push_back(other);
        capture(*cards[1], other.place, setup);
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
        join(*card, switch_->port(port), port, setup);
        ++port;
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

void Network::join(Card& card, eth::Mac& peer, unsigned number, const NetworkSetup& setup) {
    eth::Link& link = add_link(fmt::format("link{}", number), setup);
    CardPlace place{&card, {&link, 0}, {&link, 1}};
    card.port().connect(link, 0);
    if (setup.impairments) {
        eth::ImpairerConfig config;
        config.name = fmt::format("impairer{}", number);
        config.towards = {*setup.impairments, *setup.impairments};
        config.seed = setup.seed;
        impairers_.push_back(std::make_unique<eth::Impairer>(kernel_.calendar(), config, frames_,
                                                             statistics_));
        place.impairer = impairers_.back().get();
        place.impairer->port(0).connect(link, 1);
        eth::Link& behind = add_link(fmt::format("link{}_behind", number), setup);
        place.impairer->port(1).connect(behind, 0);
        place.peer = {&behind, 1};
    }
    peer.connect(*place.peer.link, 1);
    places_.push_back(place);
    capture(card, place.place, setup);
}

void Network::capture(const Card& card, const Place& place, const NetworkSetup& setup) {
    if (setup.pcap_prefix.empty()) return;
    const std::string path = fmt::format("{}.{}.pcap", setup.pcap_prefix, card.name());
    captures_.push_back(std::make_unique<eth::PcapTap>(*place.link, place.end, path));
    if (const int error = captures_.back()->error(); error != 0) {
        throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(error)));
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

const Network::CardPlace* Network::find(const Card& card) const {
    const auto found = std::ranges::find(places_, &card, &CardPlace::card);
    return found == places_.end() ? nullptr : &*found;
}

Network::Place Network::place_of(const Card& card) const {
    const CardPlace* place = find(card);
    return place == nullptr ? Place{} : place->place;
}

void Network::impair(const Card& card, const eth::Impairments& towards,
                     const eth::Impairments& from) {
    const CardPlace* place = find(card);
    if (place == nullptr || place->impairer == nullptr) {
        throw std::runtime_error(
            fmt::format("{}: nothing impairs its cable, ask for it at the start", card.name()));
    }
    for (const eth::Impairments& each : {towards, from}) {
        if (const char* problem = each.problem()) throw std::invalid_argument(problem);
    }
    place->impairer->set(place->side, towards);
    place->impairer->set(1 - place->side, from);
}

std::optional<Network::Impaired> Network::impairments(const Card& card) const {
    const CardPlace* place = find(card);
    if (place == nullptr || place->impairer == nullptr) return std::nullopt;
    return Impaired{.towards = place->impairer->impairments(place->side),
                    .from = place->impairer->impairments(1 - place->side)};
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
    const CardPlace* place = find(card);
    if (switch_ != nullptr && place != nullptr) {
        place->peer.link->observe(place->peer.end, observer);
    }
}

std::size_t Network::capture_backlog() const {
    std::size_t most = 0;
    for (const auto& capture : captures_) most = std::max(most, capture->backlog());
    return most;
}

bool Network::pump() {
    bool more = false;
    for (const auto& tap : taps_) more = tap->pump() == eth::TapConfig{}.frames_per_pump || more;
    return more;
}

}  // namespace cxsim::scenarios
