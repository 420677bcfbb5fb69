// SPDX-License-Identifier: Apache-2.0
// One card, or two on a link, each in a machine with the RDMA driver. One bench per process:
// SystemC elaborates once.
#pragma once

#include "scenarios/driver/verbs_driver.h"
#include "scenarios/testbed/network.h"

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace cxsim::test {

struct VerbsStation {
    VerbsStation(model::Kernel& kernel, scenarios::Network& network, const std::string& model,
                 std::uint16_t instance, const std::vector<model::Override>& overrides)
        : card(kernel, setup(network, model, instance, overrides)),
          host(("host" + std::to_string(instance)).c_str(), kernel, card),
          driver(host),
          verbs(driver, {.ipv4 = 0x0a000001U + instance, .visible = visible.get()}) {}

    scenarios::CardSetup setup(scenarios::Network& network, const std::string& model,
                               std::uint16_t instance,
                               const std::vector<model::Override>& overrides) {
        scenarios::CardSetup result;
        result.name = "card" + std::to_string(instance);
        result.model = model;
        result.options.overrides = overrides;
        result.instance = instance;
        result.frames = &network.frames();
        result.wrap_bus = [this](model::HostBus& bus) -> model::HostBus& {
            visible = std::make_unique<scenarios::VisibleWrites>(bus);
            return *visible;
        };
        return result;
    }
    firmware_stub::FunctionState& function() {
        return card.firmware().function(model::FunctionId{0});
    }

    std::unique_ptr<scenarios::VisibleWrites> visible;
    scenarios::Card card;
    scenarios::Host host;
    scenarios::Driver driver;
    scenarios::VerbsDriver verbs;
};

struct VerbsBench {
    /// `cards`: 1, without a cable, or 2 on a link, which is up when this returns; more at a switch.
    /// `overrides` replace values of their data.
    explicit VerbsBench(unsigned cards, const std::string& model = "connectx5",
                        const scenarios::NetworkSetup& setup = {},
                        const std::vector<model::Override>& overrides = {})
        : network(kernel) {
        std::vector<scenarios::Card*> all;
        for (unsigned i = 0; i < cards; ++i) {
            stations.push_back(std::make_unique<VerbsStation>(kernel, network, model,
                                                              static_cast<std::uint16_t>(i),
                                                              overrides));
            all.push_back(&stations.back()->card);
        }
        network.connect(all, setup);
        for (auto& station : stations) station->verbs.open();
        if (cards > 1) {
            for (auto& station : stations) {
                if (!station->verbs.wait_for_link(model::seconds(10))) {
                    throw std::runtime_error("no link");
                }
            }
        }
    }

    scenarios::VerbsDriver& verbs(unsigned i) { return stations.at(i)->verbs; }
    VerbsStation& station(unsigned i) { return *stations.at(i); }

    model::Kernel kernel;
    scenarios::Network network;
    std::vector<std::unique_ptr<VerbsStation>> stations;
};

/// Bytes that differ from place to place and from seed to seed.
inline void fill_pattern(std::span<std::byte> bytes, std::uint32_t seed) {
    std::uint32_t state = seed * 2654435761u + 12345u;
    for (std::byte& byte : bytes) {
        state = state * 1664525u + 1013904223u;
        byte = static_cast<std::byte>(state >> 24);
    }
}

}  // namespace cxsim::test
