// SPDX-License-Identifier: Apache-2.0
// cxsim bringup: cold start of a card by the in-process driver, and its teardown.
#include "model/trace/sinks.h"
#include "scenarios/cli/card_options.h"
#include "scenarios/driver/bring_up.h"
#include "scenarios/prm_tools/command_statistics.h"
#include "scenarios/prm_tools/recorder.h"
#include "scenarios/prm_tools/trace_listener.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iostream>

namespace cxsim::scenarios {
namespace {

namespace po = boost::program_options;

po::options_description bringup_options() {
    po::options_description options(
        "cxsim bringup [--card NAME] [--trace FILE ...] [--record FILE]\n"
        "Starts a card through its virtual BAR as a driver does, queues included, and tears it "
        "down again.");
    options.add_options()("help,h", "this text");
    add_card_options(options);
    options.add_options()(
        "trace", po::value<std::vector<std::string>>()->composing(),
        "write every command, access, event and interrupt: FILE.jsonl JSON Lines, FILE.json a "
        "timeline for Perfetto, any other name text")(
        "record", po::value<std::string>(), "write what the driver does, for cxsim prm replay")(
        "rounds", po::value<unsigned>()->default_value(1), "so many cold starts and teardowns");
    return options;
}

const char* kind_of(const std::string& path) {
    if (path.ends_with(".jsonl")) return "JSON Lines";
    if (path.ends_with(".json")) return "Perfetto timeline";
    return "text";
}

std::uint64_t tlps(const pcie::DirectionStatistics& direction) {
    return direction.memory_writes + direction.memory_reads + direction.completions;
}

}  // namespace

int run_bringup(const Arguments& arguments) {
    const auto started = std::chrono::steady_clock::now();
    const po::options_description options = bringup_options();
    po::variables_map values;
    po::store(po::command_line_parser(arguments).options(options).run(), values);
    if (values.count("help") != 0) {
        std::cout << options;
        return 0;
    }
    const CardSetup setup = card_setup(values);
    model::Kernel kernel;
    CardTap tap;
    Card card(kernel, tap.tapped(setup));
    tap.attach(card, kernel);
    Host host("host", kernel, card);

    CommandStatistics statistics;
    tap.add(statistics);
    model::trace::Tracer tracer;
    TraceListener listener(tracer, card);
    std::vector<std::string> traces;
    if (values.count("trace") != 0) traces = values["trace"].as<std::vector<std::string>>();
    if (!traces.empty()) {
        tracer.set_mask(~std::uint64_t{0});
        tracer.keep_blobs(true);
        for (const std::string& path : traces) {
            tracer.add_sink(model::trace::open_file_sink(path));
        }
        tap.add(listener);
    }
    std::ofstream recording;
    std::unique_ptr<Recorder> recorder;
    if (values.count("record") != 0) {
        recording.open(values["record"].as<std::string>(), std::ios::trunc);
        if (!recording) throw UsageError("cannot write " + values["record"].as<std::string>());
        RecorderOptions recorder_options;
        recorder_options.overrides = set_words(values);
        recorder = std::make_unique<Recorder>(card, recorder_options,
                                              [&](std::string_view text) { recording << text; });
        tap.add(*recorder);
    }

    firmware_stub::FunctionState& function = card.firmware().function(model::FunctionId{0});
    Driver driver(host);
    BringUp bring_up(driver);
    std::string census;
    std::uint64_t objects = 0;
    std::size_t pages = 0;
    model::Picoseconds up_at;
    for (unsigned round = 0; round < values["rounds"].as<unsigned>(); ++round) {
        const model::Picoseconds begin = kernel.now();
        bring_up.up();
        if (round == 0) up_at = kernel.now() - begin;
        census = function.resources().census();
        objects = function.resources().total();
        pages = driver.pages().held();
        bring_up.down();
    }
    if (recorder) recorder->finish();
    tracer.finish();

    fmt::print("{}: {} {}, firmware {}\n\n", card.name(), setup.model,
               card.data().identity().product_name(), card.data().identity().firmware_version());
    fmt::print("{}\n", statistics.table());
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - started;
    const pcie::Link& link = card.endpoint().link();
    fmt::print("simulated time   {:.6f} s, of that {:.6f} s to the last queue\n",
               kernel.now().seconds(), up_at.seconds());
    fmt::print("wall time        {:.3f} s\n", wall.count());
    fmt::print("PCIe             {} TLPs to the card, {} from it, {} and {} bytes on the link\n",
               tlps(link.downstream_statistics()), tlps(link.upstream_statistics()),
               link.downstream_statistics().wire_bytes, link.upstream_statistics().wire_bytes);
    fmt::print("objects          {} at work ({}), {} left\n", objects, census,
               function.resources().total());
    fmt::print("firmware pages   {} at work, {} left; {} page request(s) answered\n", pages,
               function.pages().held(), driver.page_requests());
    fmt::print("completions      {}\n", bring_up.completions());
    for (const std::string& path : traces)
        fmt::print("trace            {} ({})\n", path, kind_of(path));
    if (recorder) {
        fmt::print("recording        {}\n", values["record"].as<std::string>());
    }
    const bool balanced = function.resources().total() == 0 && function.pages().held() == 0 &&
                          driver.pages().held() == 0;
    if (!balanced) fmt::print(stderr, "cxsim bringup: objects or pages were left behind\n");
    return balanced && statistics.sum().refused == 0 ? 0 : 1;
}

}  // namespace cxsim::scenarios
