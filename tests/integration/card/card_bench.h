// SPDX-License-Identifier: Apache-2.0
// A card in a machine with the in-process driver. One per process: SystemC elaborates once.
#pragma once

#include "scenarios/driver/bring_up.h"
#include "scenarios/prm_tools/card_tap.h"
#include "scenarios/prm_tools/command_statistics.h"

#include <string>
#include <utility>
#include <vector>

namespace cxsim::test {

struct CardBench {
    explicit CardBench(const std::string& model = "connectx5",
                       std::vector<model::Override> overrides = {},
                       scenarios::CommandPortOptions options = {})
        : card(kernel, tap.tapped(setup(model, std::move(overrides)))),
          host((tap.attach(card, kernel), "host"), kernel, card),
          driver(host, options),
          bring_up(driver) {
        tap.add(statistics);
    }

    static scenarios::CardSetup setup(const std::string& model,
                                      std::vector<model::Override> overrides) {
        scenarios::CardSetup setup;
        setup.model = model;
        setup.options.overrides = std::move(overrides);
        return setup;
    }

    firmware_stub::FunctionState& function() {
        return card.firmware().function(model::FunctionId{0});
    }
    std::uint64_t objects() { return function().resources().total(); }
    std::uint32_t pages() { return function().pages().held(); }

    model::Kernel kernel;
    scenarios::CardTap tap;
    scenarios::CommandStatistics statistics;
    scenarios::Card card;
    scenarios::Host host;
    scenarios::Driver driver;
    scenarios::BringUp bring_up;
};

}  // namespace cxsim::test
