// SPDX-License-Identifier: Apache-2.0
// What all subcommands of `cxsim` share: parsing with Program_options and how errors end.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

namespace cxsim::scenarios {

/// Wrong use of the command line: printed with a hint to --help, exit status 2.
class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

using Arguments = std::vector<std::string>;

/// A subcommand: its words after the name, its exit status.
struct Subcommand {
    const char* name;
    const char* summary;
    int (*run)(const Arguments& arguments);
};

int run_cards(const Arguments& arguments);
int run_serve(const Arguments& arguments);
int run_ctl(const Arguments& arguments);
int run_prm(const Arguments& arguments);
int run_bringup(const Arguments& arguments);
int run_frames(const Arguments& arguments);
int run_python(const Arguments& arguments);

}  // namespace cxsim::scenarios
