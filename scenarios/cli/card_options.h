// SPDX-License-Identifier: Apache-2.0
// Options that name one card, shared by the subcommands that run one in process.
#pragma once

#include "scenarios/cli/options.h"
#include "scenarios/testbed/card.h"

#include <string>
#include <vector>

namespace cxsim::scenarios {

/// --card, --set, --seed, --host.
void add_card_options(boost::program_options::options_description& options);

/// The "KEY=VALUE" words of --set.
std::vector<std::string> set_words(const boost::program_options::variables_map& values);

/// "KEY=VALUE" as an override. Throws UsageError.
model::Override parse_override(const std::string& text);

/// What the options describe.
CardSetup card_setup(const boost::program_options::variables_map& values);

}  // namespace cxsim::scenarios
