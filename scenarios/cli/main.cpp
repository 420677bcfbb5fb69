// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <string>

#include <fmt/format.h>
#include <systemc>

#include "model/params/config_error.h"
#include "scenarios/cli/options.h"

namespace {

using cxsim::scenarios::Arguments;
using cxsim::scenarios::Subcommand;

constexpr Subcommand kSubcommands[] = {
    {"cards", "the cards there are, as a table or JSON", cxsim::scenarios::run_cards},
    {"serve", "offer cards to virtual machines over vfio-user sockets",
     cxsim::scenarios::run_serve},
    {"bringup", "start a card with the in-process driver and tear it down again",
     cxsim::scenarios::run_bringup},
    {"frames", "send frames from one card to another in this process",
     cxsim::scenarios::run_frames},
    {"run", "run a Python script that uses the module cxsim", cxsim::scenarios::run_python},
    {"prm", "record, show and replay commands; what is covered", cxsim::scenarios::run_prm},
    {"ctl", "ask a running serve for its state", cxsim::scenarios::run_ctl},
};

void print_usage(std::FILE* to) {
    fmt::print(to, "usage: cxsim COMMAND [OPTIONS]\n\n");
    for (const Subcommand& command : kSubcommands) {
        fmt::print(to, "  {:<8} {}\n", command.name, command.summary);
    }
    fmt::print(to, "\ncxsim COMMAND --help tells a command's options.\n");
}

}  // namespace

int sc_main(int argc, char** argv) {
    const Arguments words(argv + 1, argv + argc);
    if (words.empty() || words[0] == "--help" || words[0] == "-h") {
        print_usage(words.empty() ? stderr : stdout);
        return words.empty() ? 2 : 0;
    }
    for (const Subcommand& command : kSubcommands) {
        if (words[0] != command.name) continue;
        try {
            return command.run(Arguments(words.begin() + 1, words.end()));
        } catch (const cxsim::scenarios::UsageError& error) {
            fmt::print(stderr, "cxsim {}: {} (cxsim {} --help)\n", command.name, error.what(),
                       command.name);
            return 2;
        } catch (const boost::program_options::error& error) {
            fmt::print(stderr, "cxsim {}: {} (cxsim {} --help)\n", command.name, error.what(),
                       command.name);
            return 2;
        } catch (const cxsim::model::ConfigError& error) {
            fmt::print(stderr, "cxsim {}: {}\n", command.name, error.what());
            return 2;
        } catch (const std::exception& error) {
            fmt::print(stderr, "cxsim {}: {}\n", command.name, error.what());
            return 1;
        }
    }
    fmt::print(stderr, "cxsim: no command \"{}\"\n\n", words[0]);
    print_usage(stderr);
    return 2;
}

int main(int argc, char** argv) {
    // SystemC prints its banner to stdout unless told otherwise; stdout is for results.
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
    return sc_core::sc_elab_and_sim(argc, argv);
}
