// SPDX-License-Identifier: Apache-2.0
// Serial numbers, MAC addresses and GUIDs of simulated boards.
#include "model/base/random.h"
#include "model/params/card_data.h"

#include <fmt/format.h>

namespace cxsim::model {
namespace {

/// Replaces each {name}; throws ConfigError for a name that does not exist.
std::string fill_in(const Identity::VpdKeyword& keyword, const BoardIdentity& board,
                    std::uint8_t function) {
    std::string result;
    std::string_view text = keyword.value.text;
    while (!text.empty()) {
        const auto open = text.find('{');
        result += text.substr(0, open);
        if (open == std::string_view::npos) break;
        text.remove_prefix(open);
        const auto close = text.find('}');
        const bool closed = close != std::string_view::npos;
        const std::string_view name = closed ? text.substr(1, close - 1) : std::string_view{};
        if (name == "serial") {
            result += board.serial;
        } else if (name == "uuid") {
            result += board.uuid;
        } else if (name == "function") {
            result += fmt::format("{}", function);
        } else {
            throw ConfigError(keyword.value.place, keyword.keyword,
                              "expected {serial}, {uuid} or {function} between braces");
        }
        text.remove_prefix(close + 1);
    }
    return result;
}

}  // namespace

std::uint64_t guid_from_mac(const std::array<std::uint8_t, 6>& mac) {
    std::uint64_t guid = 0;
    for (const std::uint8_t byte :
         {mac[0], mac[1], mac[2], std::uint8_t{0x03}, std::uint8_t{0x00}, mac[3], mac[4], mac[5]}) {
        guid = guid << 8 | byte;
    }
    return guid;
}

std::array<std::uint8_t, 6> function_mac(const BoardIdentity& board, std::uint8_t function) {
    auto mac = board.mac;
    mac[5] = static_cast<std::uint8_t>(mac[5] + function);  // make_board leaves the byte 0
    return mac;
}

BoardIdentity make_board(const CardData& card, std::uint64_t seed, std::uint16_t instance,
                         std::uint8_t function) {
    const Identity& identity = card.identity();
    RandomStream random(seed, fmt::format("board{}", instance));
    RandomStream seed_byte(seed, "boards");

    BoardIdentity board;
    const std::uint16_t prefix = identity.mac_prefix();
    board.mac = {static_cast<std::uint8_t>(prefix >> 8), static_cast<std::uint8_t>(prefix),
                 static_cast<std::uint8_t>(seed_byte()), static_cast<std::uint8_t>(instance >> 8),
                 static_cast<std::uint8_t>(instance),    0};
    board.node_guid = guid_from_mac(board.mac);
    board.system_image_guid = board.node_guid;
    // Year, week, 'X' and a running number, as the maker's serial numbers look.
    board.serial = fmt::format("{}{:02}{:02}X{:05}", identity.serial_prefix(), 18 + random.below(8),
                               1 + random.below(52), instance);
    board.uuid = fmt::format("{:016x}{:016x}", random(), random());
    for (const auto& keyword : identity.vpd_read_only()) {
        board.vpd_read_only.emplace_back(keyword.keyword, fill_in(keyword, board, function));
    }
    return board;
}

}  // namespace cxsim::model
