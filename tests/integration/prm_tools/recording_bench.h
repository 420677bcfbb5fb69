// SPDX-License-Identifier: Apache-2.0
// Cards, hosts and recorders for the tools around the command interface. All cards of a test are
// made before the simulation runs.
#pragma once

#include "scenarios/driver/bring_up.h"
#include "scenarios/prm_tools/card_tap.h"
#include "scenarios/prm_tools/recorder.h"
#include "scenarios/prm_tools/recording.h"
#include "scenarios/prm_tools/replayer.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cxsim::test {

/// One card in a machine of its own.
struct Plugged {
    Plugged(model::Kernel& kernel, const std::string& name, const std::string& model,
            std::vector<model::Override> overrides = {})
        : card(kernel, tap.tapped(setup(name, model, std::move(overrides)))),
          host((tap.attach(card, kernel), (name + "_host").c_str()), kernel, card) {}

    static scenarios::CardSetup setup(const std::string& name, const std::string& model,
                                      std::vector<model::Override> overrides) {
        scenarios::CardSetup setup;
        setup.name = name;
        setup.model = model;
        setup.options.overrides = std::move(overrides);
        return setup;
    }

    scenarios::CardTap tap;
    scenarios::Card card;
    scenarios::Host host;
};

/// What `drive` does with the card, as text.
template <class Drive>
std::string record(Plugged& plugged, Drive&& drive) {
    std::string text;
    scenarios::Recorder recorder(plugged.card, {}, [&](std::string_view part) { text += part; });
    plugged.tap.add(recorder);
    drive(plugged.host);
    plugged.tap.remove(recorder);
    recorder.finish();
    return text;
}

inline std::string record_bring_up(Plugged& plugged) {
    return record(plugged, [](scenarios::Host& host) {
        scenarios::Driver driver(host);
        scenarios::BringUp bring_up(driver);
        bring_up.up();
        bring_up.down();
    });
}

/// Without what is for people only.
inline std::string without_comments(const std::string& text) {
    std::string kept;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find('\n', start), text.size());
        const std::string line = text.substr(start, end - start);
        const std::size_t first = line.find_first_not_of(' ');
        if (first == line.npos || line[first] != '#') kept += line + '\n';
        start = end + 1;
    }
    return kept;
}

inline scenarios::ReplayResult replay(Plugged& plugged, const scenarios::Recording& recording) {
    return scenarios::Replayer(plugged.host, recording).run();
}

}  // namespace cxsim::test
