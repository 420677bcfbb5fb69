// SPDX-License-Identifier: Apache-2.0
#include "model/params/card_data.h"

#include "model/params/embedded_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace cxsim::model {
namespace {

std::vector<std::string_view> built_in_names() {
    std::vector<std::string_view> names;
    for (const EmbeddedCard& card : embedded_cards()) names.push_back(card.name);
    return names;
}

std::string read_file(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    if (!stream || !text) {
        throw ConfigError({path.string(), 0}, "", "cannot be read; expected a card's file");
    }
    return std::move(text).str();
}

/// A card's name becomes part of a path: nothing but the characters that card names have.
bool is_plain_name(std::string_view name) {
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    };
    return !name.empty() && std::all_of(name.begin(), name.end(), allowed);
}

// host.: of the machine that the card is plugged into, taken by who does that.
constexpr std::array<std::string_view, 4> kGroups = {"identity.", "timing.", "capabilities.",
                                                     "host."};

void check_override_groups(std::span<const Override> overrides) {
    for (const Override& entry : overrides) {
        const bool known = std::any_of(kGroups.begin(), kGroups.end(), [&](auto prefix) {
            return entry.key.compare(0, prefix.size(), prefix) == 0;
        });
        if (!known) {
            throw ConfigError(
                {"command line", 0}, entry.key,
                "expected a key that starts with identity., timing., capabilities. or host.");
        }
    }
}

}  // namespace

CardData::CardData(const CardFiles& files, std::span<const Override> overrides)
    : name_(files.card),
      capabilities_(IniFile::parse(files.capabilities.name, files.capabilities.text), overrides) {
    check_override_groups(overrides);
    identity_.load(IniFile::parse(files.identity.name, files.identity.text), overrides);
    identity_.check(files.identity.name);
    timing_.load(IniFile::parse(files.timing.name, files.timing.text), overrides);
    timing_.check(files.timing.name);
    if (timing_.dma_tags() > 256 && !identity_.ten_bit_tag_requester()) {
        throw ConfigError({files.timing.name, 0}, std::string(timing_.dma_tags.name()),
                          "more than 256 tags need pci.ten_bit_tag_requester in identity.ini");
    }
}

std::vector<ParameterRow> CardData::rows() const {
    std::vector<ParameterRow> rows = identity_.rows();
    for (auto& row : timing_.rows()) rows.push_back(std::move(row));
    rows.insert(rows.end(), capabilities_.rows().begin(), capabilities_.rows().end());
    return rows;
}

std::span<const std::string_view> card_names() {
    static const std::vector<std::string_view> names = built_in_names();
    return names;
}

CardFiles card_files(std::string_view name, const std::filesystem::path& directory) {
    CardFiles files;
    files.card = name;
    if (!directory.empty()) {
        const Place place{directory.string(), 0};
        if (!is_plain_name(name)) {
            throw ConfigError(place, std::string(name), "no name of a card (a-z, 0-9, _ and -)");
        }
        const auto load = [&](std::string_view file) -> CardFiles::File {
            const auto path = directory / name / file;
            return {path.string(), read_file(path)};
        };
        files.identity = load("identity.ini");
        files.capabilities = load("capabilities.ini");
        files.timing = load("timing.ini");
        return files;
    }
    for (const EmbeddedCard& card : embedded_cards()) {
        if (card.name != name) continue;
        const auto file = [&](std::string_view which, std::string_view text) -> CardFiles::File {
            return {fmt::format("{}/{}", name, which), std::string(text)};
        };
        files.identity = file("identity.ini", card.identity);
        files.capabilities = file("capabilities.ini", card.capabilities);
        files.timing = file("timing.ini", card.timing);
        return files;
    }
    throw ConfigError({"card", 0}, std::string(name),
                      fmt::format("no such card; there are {}", fmt::join(card_names(), ", ")));
}

CardData load_card(std::string_view name, const CardOptions& options) {
    return CardData(card_files(name, options.directory), options.overrides);
}

std::shared_ptr<const CardData> load_shared_card(std::string_view name,
                                                 const CardOptions& options) {
    return std::make_shared<const CardData>(card_files(name, options.directory), options.overrides);
}

std::string describe_card(const CardData& card) {
    std::string text = fmt::format("# card {}\n", card.name());
    for (const ParameterRow& row : card.rows()) {
        text += fmt::format("{} = {}  # {}", row.name, row.value, source_name(row.source));
        if (!row.note.empty()) text += fmt::format(": {}", row.note);
        text += '\n';
    }
    return text;
}

}  // namespace cxsim::model
