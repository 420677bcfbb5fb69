// SPDX-License-Identifier: Apache-2.0
#include "scenarios/cli/card_options.h"

namespace cxsim::scenarios {

namespace po = boost::program_options;

void add_card_options(po::options_description& options) {
    options.add_options()("card", po::value<std::string>()->default_value("connectx5"),
                          "the card (see cxsim cards)")(
        "set", po::value<std::vector<std::string>>()->composing(),
        "KEY=VALUE: override a value of the card's data or its host's, e.g. "
        "timing.command.query=5us, host.iommu.enabled=true")(
        "seed", po::value<std::uint64_t>()->default_value(1), "seed of names and random streams")(
        "host", po::value<std::string>()->default_value("broadwell_e5_2630v4"), "host profile");
}

std::vector<std::string> set_words(const po::variables_map& values) {
    return values.count("set") != 0 ? values["set"].as<std::vector<std::string>>()
                                    : std::vector<std::string>{};
}

model::Override parse_override(const std::string& text) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
        throw UsageError("--set wants KEY=VALUE: " + text);
    }
    return {text.substr(0, equals), text.substr(equals + 1)};
}

CardSetup card_setup(const po::variables_map& values) {
    CardSetup setup;
    setup.model = values["card"].as<std::string>();
    setup.host_profile = values["host"].as<std::string>();
    setup.seed = values["seed"].as<std::uint64_t>();
    for (const std::string& text : set_words(values)) {
        setup.options.overrides.push_back(parse_override(text));
    }
    return setup;
}

}  // namespace cxsim::scenarios
