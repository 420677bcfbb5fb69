// SPDX-License-Identifier: Apache-2.0
// A card as data: identity, capabilities, timing. No code asks which card it is.
#pragma once

#include "model/params/capabilities.h"
#include "model/params/identity.h"
#include "model/params/timing.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cxsim::model {

/// The three files of one card, as text, with the names that errors print.
struct CardFiles {
    struct File {
        std::string name;
        std::string text;
    };
    std::string card;
    File identity;
    File capabilities;
    File timing;
};

/// Immutable once loaded; neither copied nor moved, since parameters know their group. Hold it by
/// std::shared_ptr<const CardData> (load_shared_card) or as a value on the stack.
class CardData {
  public:
    /// Throws ConfigError.
    CardData(const CardFiles& files, std::span<const Override> overrides);

    std::string_view name() const { return name_; }
    const Identity& identity() const { return identity_; }
    const Capabilities& capabilities() const { return capabilities_; }
    const FirmwareTiming& timing() const { return timing_; }

    /// Everything with its source word: the head of a result, and the list of guesses.
    std::vector<ParameterRow> rows() const;

  private:
    std::string name_;
    Identity identity_;
    FirmwareTiming timing_;
    Capabilities capabilities_;
};

struct CardOptions {
    /// A directory with <card>/identity.ini, capabilities.ini, timing.ini instead of the built-in
    /// ones; empty: built in. Cards that exist only there can be loaded too.
    std::filesystem::path directory;
    /// Keys "identity.…", "timing.…", "capabilities.…"; a key that fits nothing is a ConfigError.
    std::vector<Override> overrides;
};

/// Built-in cards, sorted.
std::span<const std::string_view> card_names();

/// The card's files. Throws ConfigError for an unknown card or a file that cannot be read.
CardFiles card_files(std::string_view name, const std::filesystem::path& directory = {});

/// Throws ConfigError; the message names the file, the line, the key and what would be right.
CardData load_card(std::string_view name, const CardOptions& options = {});
std::shared_ptr<const CardData> load_shared_card(std::string_view name,
                                                 const CardOptions& options = {});

/// "name = value  # source: note" lines of all values, grouped by file.
std::string describe_card(const CardData& card);

/// Names and serial numbers of one simulated board; the same for the same seed and instance.
struct BoardIdentity {
    std::array<std::uint8_t, 6> mac;      ///< of the first function
    std::uint64_t node_guid = 0;          ///< of the first function
    std::uint64_t system_image_guid = 0;  ///< of the board
    std::string serial;                   ///< "MT" and 10 characters
    std::string uuid;                     ///< 32 hexadecimal digits
    /// Keyword and value of the read-only VPD, without RV.
    std::vector<std::pair<std::string, std::string>> vpd_read_only;
};

/// `instance` numbers the boards of one simulation from 0; `function` is the PCI function that the
/// VPD belongs to. MACs and GUIDs of function n are those of function 0 plus n (see function_mac).
/// Throws ConfigError for a VPD placeholder that does not exist.
BoardIdentity make_board(const CardData& card, std::uint64_t seed, std::uint16_t instance,
                         std::uint8_t function = 0);

/// Permanent MAC address of function `function`, virtual functions included.
std::array<std::uint8_t, 6> function_mac(const BoardIdentity& board, std::uint8_t function);
/// EUI-64 as the family forms it: three bytes of the MAC, 03 00, three bytes.
std::uint64_t guid_from_mac(const std::array<std::uint8_t, 6>& mac);

}  // namespace cxsim::model
