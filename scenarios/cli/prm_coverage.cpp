// SPDX-License-Identifier: Apache-2.0
// cxsim prm coverage: every command of the header, handled or refused with a reason.
#include "scenarios/cli/prm.h"
#include "scenarios/prm_tools/coverage.h"

#include <fmt/format.h>

#include <iostream>

namespace cxsim::scenarios {

int run_prm_coverage(const Arguments& arguments) {
    namespace po = boost::program_options;
    po::options_description options(
        "cxsim prm coverage [RECORDING ...]\n"
        "All commands of the header and all access registers that are known: handled, or refused "
        "and why; with recordings, how often each was used. Status 1 if one was forgotten.");
    options.add_options()("help,h", "this text")("json", "JSON instead of a table")(
        "file", po::value<std::vector<std::string>>()->composing(), "a recording, repeatable");
    po::positional_options_description positional;
    positional.add("file", -1);
    po::variables_map values;
    po::store(po::command_line_parser(arguments).options(options).positional(positional).run(),
              values);
    if (values.count("help") != 0) {
        std::cout << options;
        return 0;
    }
    std::vector<Recording> recordings;
    if (values.count("file") != 0) {
        for (const std::string& path : values["file"].as<std::vector<std::string>>()) {
            recordings.push_back(read_recording(path));
        }
    }
    const Coverage result = coverage(recordings);
    if (values.count("json") != 0) {
        std::cout << result.json().dump(2) << "\n";
    } else {
        std::cout << result.table();
    }
    const std::vector<std::string> forgotten = result.forgotten();
    if (!forgotten.empty()) {
        fmt::print(stderr, "cxsim prm coverage: neither handled nor refused with a reason:");
        for (const std::string& name : forgotten) fmt::print(stderr, " {}", name);
        fmt::print(stderr, "\n");
    }
    return forgotten.empty() ? 0 : 1;
}

}  // namespace cxsim::scenarios
