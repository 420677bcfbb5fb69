// SPDX-License-Identifier: Apache-2.0
// cxsim cards: what cards there are and what they are.
#include <cstdio>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/params/card_data.h"
#include "scenarios/cli/options.h"

namespace cxsim::scenarios {
namespace {

namespace po = boost::program_options;

// GT/s per lane by PCIe generation, as lspci and sysfs spell them.
const char* link_speed(unsigned generation) {
    constexpr const char* kSpeeds[] = {"?",      "2.5GT/s", "5GT/s",  "8GT/s",
                                       "16GT/s", "32GT/s",  "64GT/s"};
    return generation < std::size(kSpeeds) ? kSpeeds[generation] : "?";
}

nlohmann::ordered_json describe(const model::CardData& card) {
    const model::Identity& id = card.identity();
    return {
        {"name", card.name()},
        {"vendor_id", fmt::format("{:04x}", id.vendor_id())},
        {"device_id", fmt::format("{:04x}", id.device_id())},
        {"fw_version", id.firmware_version()},
        {"psid", id.psid()},
        {"link_speed", link_speed(id.link_generation())},
        {"link_width", static_cast<unsigned>(id.link_width())},
        {"port_speed_gbps", id.max_speed().value / 1e9},
        {"product_name", id.product_name()},
    };
}

}  // namespace

int run_cards(const Arguments& arguments) {
    po::options_description options("cxsim cards [CARD]");
    options.add_options()("help,h", "this text")("json", "JSON instead of a table")(
        "data", "every value of a card with its source word")(
        "card", po::value<std::string>(), "only this card");
    po::positional_options_description positional;
    positional.add("card", 1);
    po::variables_map values;
    po::store(po::command_line_parser(arguments).options(options).positional(positional).run(),
              values);
    if (values.count("help") != 0) {
        std::cout << options;
        return 0;
    }
    std::vector<std::string> names;
    if (values.count("card") != 0) {
        names.push_back(values["card"].as<std::string>());
    } else {
        for (const std::string_view name : model::card_names()) names.emplace_back(name);
    }
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const std::string& name : names) {
        const auto card = model::load_shared_card(name);
        if (values.count("data") != 0) fmt::print("{}", model::describe_card(*card));
        list.push_back(describe(*card));
    }
    if (values.count("data") != 0) return 0;
    if (values.count("json") != 0) {
        std::cout << list.dump(2) << "\n";
        return 0;
    }
    fmt::print("{:<12} {:<10} {:<12} {:<16} {:<12} {:>9}  {}\n", "card", "device", "firmware",
               "PSID", "PCIe", "port Gb/s", "product");
    for (const auto& card : list) {
        fmt::print("{:<12} {:<10} {:<12} {:<16} {:<12} {:>9}  {}\n",
                   card["name"].get<std::string>(),
                   card["vendor_id"].get<std::string>() + ":" +
                       card["device_id"].get<std::string>(),
                   card["fw_version"].get<std::string>(), card["psid"].get<std::string>(),
                   card["link_speed"].get<std::string>() + " x" +
                       std::to_string(card["link_width"].get<unsigned>()),
                   card["port_speed_gbps"].get<double>(), card["product_name"].get<std::string>());
    }
    return 0;
}

}  // namespace cxsim::scenarios
