// SPDX-License-Identifier: Apache-2.0
// cxsim serve: cards for virtual machines.
#include "scenarios/cli/serve.h"

#include <iostream>

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "firmware_stub/boot/firmware.h"
#include "model/params/value.h"
#include "model/prm/command.h"
#include "scenarios/cli/card_options.h"
#include "scenarios/cli/options.h"

namespace cxsim::scenarios {
namespace {

namespace po = boost::program_options;

/// Refusals in the log: what a driver asked for and why it did not get it.
class RefusalLog : public firmware_stub::CommandObserver {
  public:
    explicit RefusalLog(std::string card) : card_(std::move(card)) {}

    void command_ended(const firmware_stub::CommandReport& report) override {
        const unsigned opcode =
            report.input.size() < 2
                ? 0
                : (std::to_integer<unsigned>(report.input[0]) << 8) |
                      std::to_integer<unsigned>(report.input[1]);
        const std::string_view name = prm::opcode_name(static_cast<std::uint16_t>(opcode));
        if (report.delivery != prm::DeliveryStatus::OK) {
            spdlog::warn("{}: {} ({:#x}) not delivered: {}", card_, name, opcode,
                         prm::delivery_status_name(report.delivery));
        } else if (!report.reply.ok()) {
            spdlog::warn("{}: {} ({:#x}) refused: {}, syndrome {:#x}: {}", card_, name, opcode,
                         prm::status_name(report.reply.status), report.reply.syndrome,
                         report.reply.reason);
        }
    }

  private:
    std::string card_;
};

/// Throws UsageError, model::ConfigError or std::runtime_error for what is no such value.
NetworkSetup network_setup(const po::variables_map& values) {
    NetworkSetup network;
    network.topology = parse_topology(values["wire"].as<std::string>());
    network.delay = model::parse_time(values["delay"].as<std::string>());
    network.bit_error_ratio = values["ber"].as<double>();
    if (network.bit_error_ratio < 0 || network.bit_error_ratio > eth::Link::kMaxBitErrorRatio) {
        throw UsageError("--ber wants a ratio from 0 to 1e-3");
    }
    if (values.count("impair") != 0) {
        network.impairments =
            parse_impairments(values["impair"].as<std::vector<std::string>>());
    }
    network.seed = values["seed"].as<std::uint64_t>();
    if (values.count("tap") != 0) network.taps = values["tap"].as<std::vector<std::string>>();
    if (values.count("pcap") != 0) network.pcap_prefix = values["pcap"].as<std::string>();
    return network;
}

}  // namespace

int run_serve(const Arguments& arguments) {
    po::options_description options(
        "cxsim serve --card NAME --socket PATH [--card NAME --socket PATH ...]");
    options.add_options()("help,h", "this text")(
        "card", po::value<std::vector<std::string>>()->composing(), "a card (see cxsim cards)")(
        "socket", po::value<std::vector<std::string>>()->composing(),
        "vfio-user socket of the card at the same place")(
        "control", po::value<std::string>(), "socket for cxsim ctl")(
        "seed", po::value<std::uint64_t>()->default_value(1), "seed of names and random streams")(
        "set", po::value<std::vector<std::string>>()->composing(),
        "KEY=VALUE: override a value of the cards' data or their hosts', e.g. "
        "timing.command.query=5us, host.iommu.enabled=true")(
        "record", po::value<std::string>(),
        "write what the driver does to this file, FILE.cardN each if there are several cards")(
        "wire", po::value<std::string>()->default_value("auto"),
        "none, link (two cards back to back), switch, or auto: by the number of cards and TAPs")(
        "tap", po::value<std::vector<std::string>>()->composing(),
        "a TAP device of this host at the switch; made if it does not exist")(
        "delay", po::value<std::string>()->default_value("10ns"), "one-way delay of each link")(
        "ber", po::value<double>()->default_value(0), "bit error ratio of each link, to 1e-3")(
        "impair", po::value<std::vector<std::string>>()->composing(),
        "KEY=VALUE: frames on each cable are impaired. loss, duplicate, reorder, corrupt are probabilities, "
        "reorder_time is how long a frame is held back at most, e.g. loss=1e-3")(
        "pcap", po::value<std::string>(),
        "capture what passes the cards' ports into PREFIX.cardN.pcap, in simulated time")(
        "host", po::value<std::string>()->default_value("broadwell_e5_2630v4"), "host profile")(
        "trace-messages", "log every vfio-user message");
    po::variables_map values;
    po::store(po::command_line_parser(arguments).options(options).run(), values);
    if (values.count("help") != 0) {
        std::cout << options;
        return 0;
    }
    if (values.count("card") == 0 || values.count("socket") == 0) {
        throw UsageError("a --card and its --socket are needed");
    }
    const auto cards = values["card"].as<std::vector<std::string>>();
    const auto sockets = values["socket"].as<std::vector<std::string>>();
    if (cards.size() != sockets.size()) {
        throw UsageError(fmt::format("{} cards but {} sockets", cards.size(), sockets.size()));
    }
    model::CardOptions card_options;
    for (const std::string& text : set_words(values)) {
        card_options.overrides.push_back(parse_override(text));
    }
    const NetworkSetup network = network_setup(values);
    spdlog::set_default_logger(spdlog::stderr_logger_mt("cxsim"));
    spdlog::set_pattern("%H:%M:%S.%e %^%l%$ %v");

    ServeLoop loop(values.count("trace-messages") != 0, set_words(values));
    std::vector<std::unique_ptr<RefusalLog>> logs;
    for (std::size_t i = 0; i < cards.size(); ++i) {
        CardSetup setup;
        setup.name = fmt::format("card{}", i);
        setup.model = cards[i];
        setup.options = card_options;
        setup.host_profile = values["host"].as<std::string>();
        setup.seed = values["seed"].as<std::uint64_t>();
        setup.instance = static_cast<std::uint16_t>(i);
        loop.add(setup, sockets[i]);
        logs.push_back(std::make_unique<RefusalLog>(setup.name));
        loop.cards().back()->card().firmware().add_observer(logs.back().get());
        if (values.count("record") != 0) {
            const std::string path = values["record"].as<std::string>();
            loop.record(i, cards.size() == 1 ? path : fmt::format("{}.{}", path, setup.name));
        }
        spdlog::info("{}: {} at {}", setup.name, setup.model, sockets[i]);
    }
    loop.connect(network);
    if (values.count("control") != 0) loop.open_control(values["control"].as<std::string>());
    loop.run();
    return 0;
}

}  // namespace cxsim::scenarios
