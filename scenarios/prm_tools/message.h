// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of commands, and event data, as lists of named values and back, without loss:
// bits that no named member covers become "raw[byte]" dwords.
#pragma once

#include "model/prm/reflect.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cxsim::scenarios {

enum class ValueForm : std::uint8_t {
    number,     ///< up to 64 bits
    bytes,      ///< longer, or an array of bytes
    addresses,  ///< a list of 64-bit bus addresses up to the end of the message
};

/// Where a named member lies.
struct Place {
    std::uint32_t bit = 0;
    std::uint32_t width = 0;  ///< 0 for an address list
    ValueForm form = ValueForm::number;
};

/// A member that is not zero.
struct NamedValue {
    std::string path;
    std::string_view leaf;  ///< last name of the path; empty for raw dwords
    Place place;
    std::uint64_t number = 0;
    std::vector<std::byte> bytes;
    std::vector<std::uint64_t> addresses;
};

/// What kind of structure some bytes are.
class Message {
  public:
    /// The input of a command; layouts follow from its opcode, op_mod and register id.
    static Message input(std::span<const std::byte> input);
    /// The output of the command with this input.
    static Message output(std::span<const std::byte> input);
    /// An event queue entry.
    static Message event(std::uint8_t type);

    /// Null for an unknown opcode.
    const prm::LayoutInfo* layout() const { return layout_; }

    /// All members that are not zero, in layout order. Of a union whose meaning the message tells,
    /// only that member. `data` may be shorter or longer than the layout.
    std::vector<NamedValue> decode(std::span<const std::byte> data) const;

    /// Empty for a path that the structure does not have.
    std::optional<Place> find(std::string_view path) const;

  private:
    struct Section {
        std::string_view name;
        const prm::LayoutInfo* layout;
        std::uint32_t offset;  // bytes
    };
    struct Walk;

    void choose(std::span<const std::byte> input);
    void visit(Walk& walk, const prm::LayoutInfo& layout, std::uint32_t base,
               const std::string& prefix) const;
    void visit_field(Walk& walk, const prm::FieldInfo& field, std::uint32_t base,
                     const std::string& prefix) const;
    void visit_rule_list(Walk& walk, std::uint32_t context, std::uint32_t start,
                         const std::string& name) const;
    void emit(Walk& walk, std::uint32_t bit, std::uint32_t width, std::string path,
              std::string_view leaf) const;

    const prm::LayoutInfo* layout_ = nullptr;
    std::optional<Section> section_;  // registers inside ACCESS_REG
    std::string_view union_member_;   // of hca_cap_union, event_auto
    bool translations_are_addresses_ = false;
};

/// Writes a value; bits that lie beyond `data` are dropped. Bits are set, never cleared.
void put_number(std::span<std::byte> data, const Place& place, std::uint64_t value);
void put_bytes(std::span<std::byte> data, const Place& place, std::span<const std::byte> value);
void put_addresses(std::span<std::byte> data, const Place& place,
                   std::span<const std::uint64_t> value);

}  // namespace cxsim::scenarios
