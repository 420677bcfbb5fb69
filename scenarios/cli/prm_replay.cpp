// SPDX-License-Identifier: Apache-2.0
// cxsim prm replay: a recording against a fresh card.
#include "scenarios/cli/card_options.h"
#include "scenarios/cli/prm.h"
#include "scenarios/prm_tools/card_tap.h"
#include "scenarios/prm_tools/replayer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iostream>

namespace cxsim::scenarios {
namespace {

namespace po = boost::program_options;
using Clock = std::chrono::steady_clock;

po::options_description replay_options() {
    po::options_description options(
        "cxsim prm replay FILE [--card NAME] [--set KEY=VALUE ...] [--junit FILE]\n"
        "Runs the recorded commands through the command interface of a fresh card in this process; "
        "objects, addresses and times are matched by role. Status 0: all came out as recorded, 1: "
        "something differs.");
    options.add_options()("help,h", "this text")("file", po::value<std::string>(), "the recording")(
        "card", po::value<std::string>(), "another card than the recording's")(
        "set", po::value<std::vector<std::string>>()->composing(),
        "KEY=VALUE: override a value of the card's data or its host's, on top of the recording's own")(
        "junit", po::value<std::string>(), "write the result as JUnit XML")(
        "limit", po::value<std::size_t>()->default_value(50), "print so many differences at most")(
        "quiet", "no progress");
    return options;
}

CardSetup setup_for(const Recording& recording, const po::variables_map& values) {
    CardSetup setup;
    setup.model =
        values.count("card") != 0 ? values["card"].as<std::string>() : recording.header.card;
    setup.seed = recording.header.seed;
    setup.instance = recording.header.instance;
    if (!recording.header.host.empty()) setup.host_profile = recording.header.host;
    std::vector<std::string> overrides = recording.header.overrides;
    for (const std::string& word : set_words(values)) overrides.push_back(word);
    for (const std::string& word : overrides) {
        setup.options.overrides.push_back(parse_override(word));
    }
    return setup;
}

// Progress for people at a terminal, a few times a second.
class Progress {
  public:
    Progress(std::size_t total, bool wanted)
        : total_(total), wanted_(wanted && ::isatty(STDERR_FILENO) != 0), start_(Clock::now()) {}
    void operator()(std::size_t done) {
        if (!wanted_ || (done % 64 != 0 && done != total_)) return;
        const auto now = Clock::now();
        if (now - last_ < std::chrono::milliseconds(200) && done != total_) return;
        last_ = now;
        const std::chrono::duration<double> passed = now - start_;
        fmt::print(stderr, "\r{}/{} blocks, {:.0f} a second{}", done, total_,
                   static_cast<double>(done) / std::max(passed.count(), 1e-6),
                   done == total_ ? "\n" : "");
    }

  private:
    std::size_t total_;
    bool wanted_;
    Clock::time_point start_;
    Clock::time_point last_{};
};

void print_result(const ReplayResult& result, std::size_t limit) {
    for (std::size_t i = 0; i < std::min(limit, result.differences.size()); ++i) {
        fmt::print("{}\n", result.differences[i].text());
    }
    if (result.differences.size() > limit) {
        fmt::print("... and {} more\n", result.differences.size() - limit);
    }
    std::size_t consequences = 0;
    for (const auto& skip : result.skipped) {
        if (skip.consequence) {
            ++consequences;
        } else {
            fmt::print("not run: command {} {} (line {}): {}\n", skip.command, skip.name, skip.line,
                       skip.reason);
        }
    }
    if (consequences > 0) {
        fmt::print("not run: {} command(s) that need objects of the above\n", consequences);
    }
}

}  // namespace

int run_prm_replay(const Arguments& arguments) {
    const po::options_description options = replay_options();
    po::positional_options_description positional;
    positional.add("file", 1);
    po::variables_map values;
    po::store(po::command_line_parser(arguments).options(options).positional(positional).run(),
              values);
    if (values.count("help") != 0) {
        std::cout << options;
        return 0;
    }
    if (values.count("file") == 0) throw UsageError("a FILE is needed");
    const std::string path = values["file"].as<std::string>();
    const auto started = Clock::now();
    const Recording recording = read_recording(path);
    const CardSetup setup = setup_for(recording, values);
    model::Kernel kernel;
    Card card(kernel, setup);
    Host host("host", kernel, card);
    Replayer replayer(host, recording);
    Progress progress(recording.blocks.size(), values.count("quiet") == 0);
    const ReplayResult result = replayer.run([&](std::size_t done) { progress(done); });
    const std::chrono::duration<double> wall = Clock::now() - started;

    print_result(result, values["limit"].as<std::size_t>());
    fmt::print("{}: {} commands and {} events on {}: {} difference(s), {} not run\n", path,
               result.commands, result.events, setup.model, result.differences.size(),
               result.skipped.size());
    const double recorded = recording.duration().seconds();
    fmt::print("wall time {:.3f} s, reading and start included ({:.0f} commands a second)",
               wall.count(), static_cast<double>(result.commands) / wall.count());
    if (recording.header.wall_clock) {
        fmt::print("; the guest took {:.3f} s: {:.0f} times its speed", recorded,
                   recorded / wall.count());
    }
    fmt::print("\n");
    if (values.count("junit") != 0) {
        std::ofstream file(values["junit"].as<std::string>(), std::ios::trunc);
        file << junit(recording, path, result, wall.count());
        file.close();
        if (!file) throw std::runtime_error("cannot write " + values["junit"].as<std::string>());
    }
    return result.same() ? 0 : 1;
}

}  // namespace cxsim::scenarios
