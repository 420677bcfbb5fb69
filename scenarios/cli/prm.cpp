// SPDX-License-Identifier: Apache-2.0
// cxsim prm: tools around the command interface.
#include "scenarios/cli/prm.h"

#include <fmt/format.h>

#include <cstdio>

namespace cxsim::scenarios {
namespace {

constexpr Subcommand kParts[] = {
    {"show", "commands, registers and events of a recording or a running serve, by field name",
     run_prm_show},
    {"record", "write what the driver of a running serve does", run_prm_record},
    {"replay", "play a recording against a fresh card and tell what differs", run_prm_replay},
    {"coverage", "which commands are handled, which are refused and why", run_prm_coverage},
};

void print_usage(std::FILE* to) {
    fmt::print(to, "usage: cxsim prm COMMAND [OPTIONS]\n\n");
    for (const Subcommand& part : kParts) fmt::print(to, "  {:<9} {}\n", part.name, part.summary);
    fmt::print(to, "\ncxsim prm COMMAND --help tells a command's options.\n");
}

}  // namespace

int run_prm(const Arguments& arguments) {
    if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h") {
        print_usage(arguments.empty() ? stderr : stdout);
        return arguments.empty() ? 2 : 0;
    }
    for (const Subcommand& part : kParts) {
        if (arguments[0] == part.name) {
            return part.run(Arguments(arguments.begin() + 1, arguments.end()));
        }
    }
    throw UsageError("no command \"" + arguments[0] + "\"");
}

}  // namespace cxsim::scenarios
