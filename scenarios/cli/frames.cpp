// SPDX-License-Identifier: Apache-2.0
// cxsim frames: two cards back to back in one process; one sends, the other receives.
#include "model/params/value.h"
#include "scenarios/cli/card_options.h"
#include "scenarios/driver/packet_driver.h"
#include "scenarios/testbed/network.h"

#include <fmt/format.h>

#include <chrono>
#include <iostream>

namespace cxsim::scenarios {
namespace {

namespace po = boost::program_options;

constexpr model::Picoseconds kPoll = model::microseconds(2);
constexpr model::Picoseconds kLinkLimit = model::seconds(10);
constexpr unsigned kFcsBytes = 4;

po::options_description frames_options() {
    po::options_description options(
        "cxsim frames [--card NAME] [--size BYTES] [--time TIME] [--pcap PREFIX]\n"
        "Two cards on one link, a driver in each: sends frames as fast as it can for some "
        "simulated time and tells what arrived.");
    options.add_options()("help,h", "this text");
    add_card_options(options);
    options.add_options()("size", po::value<unsigned>()->default_value(1500),
                          "bytes of a frame with its FCS, 64 to 2048")(
        "time", po::value<std::string>()->default_value("200us"), "how long to send")(
        "queues", po::value<unsigned>()->default_value(16), "send and receive queues")(
        "delay", po::value<std::string>()->default_value("10ns"), "one-way delay of the link")(
        "ber", po::value<double>()->default_value(0), "bit error ratio of the link, to 1e-3")(
        "pcap", po::value<std::string>(), "capture both ports into PREFIX.cardN.pcap");
    return options;
}

// A card in its host, and a driver that sends and receives frames.
struct Station {
    Station(model::Kernel& kernel, Network& network, CardSetup setup, const char* name,
            std::uint16_t instance)
        : card(kernel,
               [&] {
                   setup.name = name;
                   setup.instance = instance;
                   setup.frames = &network.frames();
                   return setup;
               }()),
          host((std::string(name) + "_host").c_str(), kernel, card),
          driver(host) {}

    Card card;
    Host host;
    Driver driver;
};

}  // namespace

int run_frames(const Arguments& arguments) {
    const po::options_description options = frames_options();
    po::variables_map values;
    po::store(po::command_line_parser(arguments).options(options).run(), values);
    if (values.count("help") != 0) {
        std::cout << options;
        return 0;
    }
    const unsigned size = values["size"].as<unsigned>();
    if (size < 64 || size > 2048) throw UsageError("--size wants 64 to 2048 bytes");
    const double ber = values["ber"].as<double>();
    if (ber < 0 || ber > eth::Link::kMaxBitErrorRatio) throw UsageError("--ber wants 0 to 1e-3");
    NetworkSetup wire;
    wire.delay = model::parse_time(values["delay"].as<std::string>());
    wire.bit_error_ratio = ber;
    wire.seed = values["seed"].as<std::uint64_t>();
    if (values.count("pcap") != 0) wire.pcap_prefix = values["pcap"].as<std::string>();
    const model::Picoseconds duration = model::parse_time(values["time"].as<std::string>());

    model::Kernel kernel;
    Network network(kernel);
    const CardSetup setup = card_setup(values);
    Station one(kernel, network, setup, "card0", 0);
    Station other(kernel, network, setup, "card1", 1);
    Card* cards[] = {&one.card, &other.card};
    network.connect(cards, wire);

    PacketOptions packet_options;
    packet_options.frame_bytes = size - kFcsBytes;
    packet_options.queues = values["queues"].as<unsigned>();
    packet_options.destination = other.card.board().mac;
    PacketDriver sender(one.driver, packet_options);
    PacketDriver receiver(other.driver, packet_options);
    sender.open();
    receiver.open();
    if (!sender.wait_for_link(kLinkLimit) || !receiver.wait_for_link(kLinkLimit)) {
        throw DriverTimeout("the drivers wait for the link, which did not come up within 10 s");
    }
    const model::PortStatus link = one.card.port().status();
    fmt::print("{} -> {}, {:.0f} Gb/s, link up after {:.3f} s of simulated time\n\n", setup.model,
               setup.model, static_cast<double>(link.rate.value) / 1e9, kernel.now().seconds());

    const auto wall = std::chrono::steady_clock::now();
    const std::uint64_t events = kernel.calendar().executed();
    const model::Picoseconds begin = kernel.now();
    sender.send(true);
    const auto run = [&](model::Picoseconds time) {
        for (const model::Picoseconds end = kernel.now() + time; kernel.now() < end;) {
            sender.poll();
            receiver.poll();
            kernel.run_until(std::min(end, kernel.now() + kPoll));
        }
    };
    run(duration);
    const std::uint64_t in_time = receiver.counters().received;
    const double seconds = (kernel.now() - begin).seconds();
    sender.send(false);
    run(model::milliseconds(2));  // what is on its way
    receiver.poll();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - wall;

    const double rate = static_cast<double>(in_time) / seconds;
    const double bits = static_cast<double>(eth::wire_bytes_of(size - kFcsBytes)) * 8;
    const double line = static_cast<double>(link.rate.value) / bits;
    const auto& port = other.card.port().port_counters();
    const std::uint64_t sent = one.card.port().port_counters().tx_frames.value();
    const auto row = [](const char* what, const std::string& value) {
        fmt::print("{:<28}{:>16}\n", what, value);
    };
    row("frames sent", fmt::format("{}", sent));
    row("frames received", fmt::format("{}", receiver.counters().received));
    row("dropped, bit errors", fmt::format("{}", port.rx_errors.value()));
    row("dropped, port's buffer", fmt::format("{}", port.rx_discards.value()));
    row("million frames a second", fmt::format("{:.3f}", rate / 1e6));
    row("of the wire's rate", fmt::format("{:.1f} %", 100 * rate / line));
    row("Gb/s of frames", fmt::format("{:.2f}", rate * size * 8 / 1e9));
    row("events a frame",
        fmt::format("{:.2f}", static_cast<double>(kernel.calendar().executed() - events) /
                                  static_cast<double>(std::max<std::uint64_t>(sent, 1))));
    row("frames a second of wall time",
        fmt::format("{:.0f}", static_cast<double>(sent) / took.count()));
    if (!wire.pcap_prefix.empty()) {
        for (const Card* card : cards) {
            fmt::print("capture  {}.{}.pcap\n", wire.pcap_prefix, card->name());
        }
    }
    sender.close();
    receiver.close();
    const std::uint64_t lost = sent - receiver.counters().received - port.rx_errors.value() -
                               port.rx_discards.value();
    if (lost != 0 || receiver.counters().wrong != 0) {
        fmt::print(stderr, "cxsim frames: {} frames are unaccounted for, {} arrived changed\n",
                   lost, receiver.counters().wrong);
        return 1;
    }
    return 0;
}

}  // namespace cxsim::scenarios
