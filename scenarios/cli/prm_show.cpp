// SPDX-License-Identifier: Apache-2.0
// cxsim prm show: what a driver did, decoded.
#include "model/prm/command.h"
#include "scenarios/cli/prm.h"
#include "scenarios/prm_tools/show.h"

#include <fstream>
#include <iostream>

namespace cxsim::scenarios {
namespace {

namespace po = boost::program_options;

// Cuts text into lines, whatever the pieces in which it comes.
class LineFeeder {
  public:
    explicit LineFeeder(RecordingParser& parser) : parser_(parser) {}
    void feed(std::string_view text) {
        rest_ += text;
        std::size_t start = 0;
        for (std::size_t end = rest_.find('\n'); end != rest_.npos; end = rest_.find('\n', start)) {
            parser_.line(std::string_view(rest_).substr(start, end - start));
            start = end + 1;
        }
        rest_.erase(0, start);
    }

  private:
    RecordingParser& parser_;
    std::string rest_;
};

ShowFilter filter_of(const po::variables_map& values) {
    ShowFilter filter;
    filter.refused = values.count("refused") != 0;
    if (values.count("opcode") == 0) return filter;
    for (const std::string& name : values["opcode"].as<std::vector<std::string>>()) {
        std::uint16_t opcode = prm::opcode_by_name(name);
        if (opcode == 0) {
            char* end = nullptr;
            const unsigned long number = std::strtoul(name.c_str(), &end, 0);
            if (name.empty() || *end != '\0' || number == 0 || number > UINT16_MAX) {
                throw UsageError("no command \"" + name + "\"");
            }
            opcode = static_cast<std::uint16_t>(number);
        }
        filter.opcodes.insert(opcode);
    }
    return filter;
}

}  // namespace

int run_prm_show(const Arguments& arguments) {
    po::options_description options(
        "cxsim prm show FILE\ncxsim prm show --control SOCKET [--index N]");
    options.add_options()("help,h", "this text")("file", po::value<std::string>(), "a recording")(
        "control", po::value<std::string>(),
        "control socket of a running serve: what its driver does from now on, every event too")(
        "index", po::value<unsigned>()->default_value(0), "which card of the serve")(
        "seconds", po::value<double>()->default_value(0), "stop after so long, 0: never")(
        "json", "one JSON object a line")("opcode",
                                          po::value<std::vector<std::string>>()->composing(),
                                          "only this command, by name or number, repeatable")(
        "refused", "only what was not carried out");
    po::positional_options_description positional;
    positional.add("file", 1);
    po::variables_map values;
    po::store(po::command_line_parser(arguments).options(options).positional(positional).run(),
              values);
    if (values.count("help") != 0) {
        std::cout << options;
        return 0;
    }
    if (values.count("file") + values.count("control") != 1) {
        throw UsageError("a FILE or --control SOCKET is needed");
    }
    const ShowFilter filter = filter_of(values);
    const bool json = values.count("json") != 0;
    const auto show = [&](Block&& block) {
        if (!filter.takes(block)) return;
        if (json) {
            std::cout << block_json(block).dump() << '\n';
        } else {
            std::cout << block_text(block);
        }
    };
    if (values.count("file") != 0) {
        Recording recording = read_recording(values["file"].as<std::string>());
        for (Block& block : recording.blocks) show(std::move(block));
        std::cout.flush();
        return 0;
    }
    const std::string control = values["control"].as<std::string>();
    RecordingParser parser(control, show);
    LineFeeder feeder(parser);
    watch_serve(control, values["index"].as<unsigned>(), values["seconds"].as<double>(),
                [&](std::string_view text) {
                    // The serve sends whole blocks: silence ends one.
                    if (text.empty()) {
                        parser.flush();
                    } else {
                        feeder.feed(text);
                    }
                    std::cout.flush();
                });
    parser.flush();
    std::cout.flush();
    return 0;
}

}  // namespace cxsim::scenarios
