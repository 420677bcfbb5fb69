// SPDX-License-Identifier: Apache-2.0
#include "scenarios/python/testbed.h"

#include <fmt/format.h>

namespace cxsim::scenarios {

namespace {

constexpr std::uint32_t kFirstAddress = 0x0a000001;  // 10.0.0.1
bool made = false;

// SystemC's kernel cannot be made a second time in a process.
model::Picoseconds claim() {
    if (made) {
        throw std::runtime_error("a process holds one testbed only: run another process");
    }
    made = true;
    return {};
}

}  // namespace

Station::Station(model::Kernel& kernel, Network& network, const TestbedSetup& setup,
                 unsigned index, model::trace::Tracer* tracer)
    : ipv4_(kFirstAddress + index),
      card_(kernel, card_setup(network, setup, index)),
      host_((tap_.attach(card_, kernel), fmt::format("host{}", index).c_str()), kernel, card_),
      driver_(host_),
      verbs_(driver_, {.ipv4 = ipv4_, .visible = visible_.get()}) {
    if (tracer == nullptr) return;
    listener_ = std::make_unique<TraceListener>(*tracer, card_);
    tap_.add(*listener_);
}

CardSetup Station::card_setup(Network& network, const TestbedSetup& setup, unsigned index) {
    CardSetup result;
    result.name = fmt::format("card{}", index);
    result.model = setup.cards.at(index);
    result.options.overrides = setup.overrides;
    result.host_profile = setup.host_profile;
    result.seed = setup.seed;
    result.instance = static_cast<std::uint16_t>(index);
    result.frames = &network.frames();
    result.synthetic = setup.synthetic;
    result = tap_.tapped(std::move(result));
    // The watch stands behind the tap: it needs the times of the endpoint.
    result.wrap_bus = [this, tapped = result.wrap_bus](model::HostBus& endpoint) -> model::HostBus& {
        visible_ = std::make_unique<VisibleWrites>(endpoint);
        return tapped(*visible_);
    };
    return result;
}

VerbsDriver& Station::open() {
    if (!verbs_.is_open()) {
        ++session_;
        verbs_.open();
    }
    return verbs_;
}

Testbed::Testbed(const TestbedSetup& setup)
    : kernel_((claim(), "kernel")), network_(kernel_) {
    if (setup.cards.empty()) throw std::runtime_error("a testbed needs a card");
    if (setup.bit_error_ratio < 0 || setup.bit_error_ratio > eth::Link::kMaxBitErrorRatio) {
        throw std::runtime_error("the bit error ratio is 0 to 1e-3");
    }
    const bool traced = !setup.traces.empty();
    if (traced) {
        tracer_.set_mask(~std::uint64_t{0});
        tracer_.keep_blobs(true);
        for (const std::string& path : setup.traces) {
            tracer_.add_sink(model::trace::open_file_sink(path));
        }
    }
    std::vector<Card*> cards;
    for (unsigned i = 0; i < setup.cards.size(); ++i) {
        stations_.push_back(std::make_unique<Station>(kernel_, network_, setup, i,
                                                      traced ? &tracer_ : nullptr));
        cards.push_back(&stations_.back()->card());
    }
    NetworkSetup wire;
    wire.topology = parse_topology(setup.wire);
    wire.delay = setup.delay;
    wire.bit_error_ratio = setup.bit_error_ratio;
    wire.impairments = setup.impairments;
    wire.seed = setup.seed;
    wire.pcap_prefix = setup.pcap;
    wire.switch_settings = setup.switch_settings;
    wire.queue_limit = setup.queue_limit;
    wire.switch_latency = setup.switch_latency;
    network_.connect(cards, wire);
    if (traced) trace_stages();
}

void Testbed::trace_stages() {
    switch_tracks_ = std::make_unique<StageTracks>(tracer_, "switch");
    for (auto& station : stations_) {
        Card& card = station->card();
        card_stages_.push_back(std::make_unique<CardStages>(tracer_, card, packets_));
        station->tap().add(*card_stages_.back());
        network_.observe(card, card_stages_.back().get());
        if (network_.fabric() == nullptr) continue;
        switch_stages_.push_back(
            std::make_unique<SwitchStages>(*switch_tracks_, packets_, in_switch_));
        network_.observe_switch(card, switch_stages_.back().get());
    }
}

// Files are complete also when the program ended by an exception.
Testbed::~Testbed() {
    for (std::size_t i = 0; i < card_stages_.size(); ++i) {
        stations_[i]->tap().remove(*card_stages_[i]);
        network_.observe(stations_[i]->card(), nullptr);
        network_.observe_switch(stations_[i]->card(), nullptr);
    }
    tracer_.finish();
}

void Testbed::open(model::Picoseconds limit) {
    for (auto& station : stations_) station->open();
    for (auto& station : stations_) {
        if (network_.place_of(station->card()).link == nullptr) continue;
        if (!station->verbs().wait_for_link(limit)) {
            throw DriverTimeout(fmt::format("no link at {}", station->card().name()));
        }
    }
}

void Testbed::close() {
    if (closed_) return;
    closed_ = true;
    for (auto& station : stations_) station->verbs().close();
    tracer_.finish();
}

}  // namespace cxsim::scenarios
