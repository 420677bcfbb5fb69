// SPDX-License-Identifier: Apache-2.0
// cxsim prm record: what the driver of a running serve does, into a file.
#include "scenarios/cli/prm.h"

#include <fmt/format.h>

#include <fstream>
#include <iostream>

namespace cxsim::scenarios {

int run_prm_record(const Arguments& arguments) {
    namespace po = boost::program_options;
    po::options_description options(
        "cxsim prm record --socket CONTROL --output FILE [--index N] [--seconds S]\n"
        "Records until the serve ends, Ctrl-C, or S seconds. A serve that is to be recorded from "
        "its start is given --record FILE instead.");
    options.add_options()("help,h", "this text")("socket", po::value<std::string>(),
                                                 "what serve was given as --control")(
        "output,o", po::value<std::string>(), "the recording")(
        "index", po::value<unsigned>()->default_value(0), "which card of the serve")(
        "seconds", po::value<double>()->default_value(0), "stop after so long, 0: never")(
        "quiet", "no progress");
    po::variables_map values;
    po::store(po::command_line_parser(arguments).options(options).run(), values);
    if (values.count("help") != 0) {
        std::cout << options;
        return 0;
    }
    if (values.count("socket") == 0 || values.count("output") == 0) {
        throw UsageError("--socket and --output are needed");
    }
    const std::string path = values["output"].as<std::string>();
    std::ofstream file(path, std::ios::trunc);
    if (!file) throw UsageError("cannot write " + path);
    std::size_t bytes = 0;
    std::size_t commands = 0;
    std::string tail;  // of a line that is cut in two
    watch_serve(values["socket"].as<std::string>(), values["index"].as<unsigned>(),
                values["seconds"].as<double>(), [&](std::string_view text) {
                    file << text << std::flush;
                    bytes += text.size();
                    tail += text;
                    for (std::size_t end = tail.find('\n'); end != tail.npos;
                         end = tail.find('\n')) {
                        commands += tail.starts_with("command ") ? 1 : 0;
                        tail.erase(0, end + 1);
                    }
                    if (values.count("quiet") == 0 && !text.empty()) {
                        fmt::print(stderr, "\r{} commands, {} KiB", commands, bytes / 1024);
                    }
                });
    if (values.count("quiet") == 0) fmt::print(stderr, "\r{} commands in {}\n", commands, path);
    if (!file) throw std::runtime_error("cannot write " + path);
    return bytes == 0 ? 1 : 0;
}

}  // namespace cxsim::scenarios
