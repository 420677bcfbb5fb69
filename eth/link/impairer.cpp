// SPDX-License-Identifier: Apache-2.0
#include "eth/link/impairer.h"

#include "model/base/assert.h"

#include <algorithm>
#include <stdexcept>

namespace cxsim::eth {

using model::FramePtr;
using model::Picoseconds;

const char* Impairments::problem() const {
    for (const double probability : {loss, duplicate, reorder, corrupt}) {
        if (!(probability >= 0 && probability <= 1)) return "impairments are probabilities";
    }
    if (reorder_time < Picoseconds{}) return "reorder_time is a duration";
    return nullptr;
}

Impairer::Impairer(model::Calendar& calendar, const ImpairerConfig& config,
                   model::FramePool& frames, model::stats::Group& statistics)
    : calendar_(calendar),
      config_(config),
      frames_(frames),
      counters_(statistics, config.name),
      random_{model::RandomStream(config.seed, config.name + ".towards0"),
              model::RandomStream(config.seed, config.name + ".towards1")} {
    for (unsigned i = 0; i < 2; ++i) {
        set(i, config.towards[i]);
        MacConfig port = config.port;
        port.name = "port" + std::to_string(i);
        ports_[i] = std::make_unique<Port>(*this, i, calendar, port, frames, counters_);
        model::PortSettings settings;
        settings.modes = all_modes_mask();
        settings.mtu = config.mtu;
        ports_[i]->mac.configure(settings);
        ports_[i]->mac.set_receiver(ports_[i].get());
    }
}

Impairer::~Impairer() {
    for (const Held& held : held_) {
        if (held.frame != nullptr) calendar_.cancel(held.event);
    }
}

Mac& Impairer::port(unsigned index) {
    return ports_.at(index)->mac;
}

void Impairer::set(unsigned towards, const Impairments& impairments) {
    if (const char* problem = impairments.problem()) throw std::invalid_argument(problem);
    config_.towards.at(towards) = impairments;
}

std::size_t Impairer::held() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(held_, [](const Held& held) { return held.frame != nullptr; }));
}

bool Impairer::happens(unsigned towards, double probability) {
    return probability > 0 && random_[towards].uniform() < probability;
}

void Impairer::pass(Picoseconds at, unsigned towards, FramePtr frame) {
    const Impairments& impairments = config_.towards[towards];
    ++counters_.received[towards];
    if (happens(towards, impairments.loss)) {
        ++counters_.lost[towards];
        return;
    }
    if (happens(towards, impairments.corrupt)) corrupt(towards, *frame);
    FramePtr copy;
    if (happens(towards, impairments.duplicate)) {
        ++counters_.duplicated[towards];
        copy = frames_.copy(*frame);
    }
    if (happens(towards, impairments.reorder)) {
        ++counters_.reordered[towards];
        const auto longest = static_cast<std::uint64_t>(impairments.reorder_time.value) + 1;
        const auto time = static_cast<std::int64_t>(random_[towards].below(longest));
        hold(at + config_.latency + Picoseconds{time}, towards, std::move(frame));
    } else {
        send(at, towards, std::move(frame));
    }
    if (copy != nullptr) send(at, towards, std::move(copy));
}

/// Of counted bytes there are no bits to flip: the frame arrives with a wrong check sequence.
void Impairer::corrupt(unsigned towards, model::Frame& frame) {
    constexpr unsigned kMostBits = 3;
    ++counters_.corrupted[towards];
    model::RandomStream& random = random_[towards];
    for (std::uint64_t bits = 1 + random.below(kMostBits); bits > 0; --bits) {
        const std::uint64_t bit = random.below(std::uint64_t{frame.size()} * 8);
        if (bit / 8 < frame.stored()) {
            frame.bytes()[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        } else {
            frame.damaged = true;
        }
    }
}

void Impairer::hold(Picoseconds until, unsigned towards, FramePtr frame) {
    auto place = std::ranges::find_if(held_, [](const Held& held) { return held.frame == nullptr; });
    if (place == held_.end()) place = held_.insert(held_.end(), Held{});
    place->frame = std::move(frame);
    place->towards = towards;
    const auto index = static_cast<std::uint64_t>(place - held_.begin());
    place->event = calendar_.schedule<&Impairer::release>(until, this, {index});
}

void Impairer::release(const model::EventArguments& arguments) {
    Held& held = held_[static_cast<std::size_t>(arguments.a)];
    send(calendar_.now() - config_.latency, held.towards, std::move(held.frame));
}

void Impairer::send(Picoseconds at, unsigned towards, FramePtr frame) {
    Mac& port = ports_[towards]->mac;
    if (!port.link_up()) {
        ++counters_.no_link[towards];
        return;
    }
    ++counters_.forwarded[towards];
    port.transmit(at + config_.latency, std::move(frame));
}

}  // namespace cxsim::eth
