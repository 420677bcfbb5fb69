// SPDX-License-Identifier: Apache-2.0
// Two whole cards with an RDMA driver each, in the configuration of a published measurement. One
// pair per process: SystemC elaborates once.
#pragma once

#include "scenarios/driver/verbs_driver.h"
#include "scenarios/testbed/card.h"
#include "tests/perf/calibration/wire.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cxsim::calibration {

/// Longest frame of the ports, with FCS.
inline constexpr std::uint32_t kPortMtu = 9'022;

struct PairOptions {
    std::string card = "connectx5";
    std::string host = "broadwell_e5_2630v4";
    std::vector<model::Override> overrides;  ///< of the card's data
    unsigned max_payload = 256;              ///< of PCIe, bytes
    WireOptions wire;
};

/// "identity.pci.link_width" of a slot with fewer lanes than the card has.
inline model::Override lanes(unsigned width) {
    return {"identity.pci.link_width", std::to_string(width)};
}

/// A card of the pair. Its bus is watched by a `Watch`, which is made with the card and put into
/// `watch`.
template <class Watch>
scenarios::CardSetup card_setup(model::FramePool& frames, const PairOptions& options,
                                std::uint16_t instance, std::unique_ptr<Watch>& watch) {
    scenarios::CardSetup result;
    result.name = "card" + std::to_string(instance);
    result.model = options.card;
    result.options.overrides = options.overrides;
    result.host_profile = options.host;
    result.instance = instance;
    result.frames = &frames;
    result.wrap_bus = [&watch](model::HostBus& bus) -> model::HostBus& {
        watch = std::make_unique<Watch>(bus);
        return *watch;
    };
    return result;
}

/// A card in its machine.
struct Station {
    Station(model::Kernel& kernel, model::FramePool& frames, const PairOptions& options,
            std::uint16_t instance)
        : card(kernel, card_setup(frames, options, instance, visible)),
          host(("host" + std::to_string(instance)).c_str(), kernel, card),
          driver(host),
          verbs(driver, {.ipv4 = 0x0a000001U + instance,
                         .max_payload = options.max_payload,
                         .visible = visible.get()}) {}

    std::unique_ptr<scenarios::VisibleWrites> visible;
    scenarios::Card card;
    scenarios::Host host;
    scenarios::Driver driver;
    scenarios::VerbsDriver verbs;

    model::CongestionControl& congestion() {
        return card.firmware().function(model::FunctionId{0}).congestion;
    }
};

/// Both, on a wire that is up.
struct Pair {
    explicit Pair(const PairOptions& options)
        : a(kernel, frames, options, 0), b(kernel, frames, options, 1) {
        wire.connect(kernel, frames, a.card.port(), b.card.port(), options.wire);
        for (Station* station : {&a, &b}) station->verbs.open();
        for (Station* station : {&a, &b}) {
            // What the network driver does where packets of 4096 bytes are to fit.
            model::PortSettings settings = station->card.port().settings();
            settings.mtu = kPortMtu;
            station->card.port().configure(settings);
        }
        for (Station* station : {&a, &b}) {
            if (!station->verbs.wait_for_link(model::seconds(10))) {
                throw scenarios::DriverError("no link between the cards");
            }
        }
    }

    model::Kernel kernel;
    model::FramePool frames;
    Station a;
    Station b;
    Wire wire;  // goes before the ports at its ends
};

}  // namespace cxsim::calibration
