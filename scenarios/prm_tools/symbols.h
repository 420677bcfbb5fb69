// SPDX-License-Identifier: Apache-2.0
// Which members of commands are numbers of objects, which are addresses of the host, and which
// change by themselves: what makes recordings comparable between runs.
#pragma once

#include "scenarios/prm_tools/message.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace cxsim::scenarios {

/// The kinds of objects that a member may name ("cq", "eq", ...), most likely first; none for
/// members that are plain numbers. `data` is the message: some members say elsewhere what they
/// name.
std::span<const std::string_view> handle_kinds(std::uint16_t opcode, const NamedValue& value,
                                               std::span<const std::byte> data);

/// Whether outputs of this command bring new numbers (CREATE_*, ALLOC_*).
bool makes_objects(std::uint16_t opcode);

/// A single bus address of the host (doorbell records).
bool is_address(std::string_view leaf);

/// Bytes that a driver draws at random (the RSS hash key).
bool is_random_key(std::string_view leaf);

/// An output member that depends on time, temperature or traffic: told, never compared.
bool is_volatile(std::uint16_t opcode, std::string_view path, std::string_view leaf);

/// Names for numbers and addresses, given in the order of appearance.
class SymbolTable {
  public:
    /// "$cq3" for an object that is known; empty otherwise.
    std::string find(std::uint16_t function, std::string_view kind, std::uint64_t number) const;
    /// A new symbol for an object.
    std::string define(std::uint16_t function, std::string_view kind, std::uint64_t number);
    /// "$page4+0x40".
    std::string address(std::uint16_t function, std::uint64_t address);
    /// "$buf4[32]": every list is a new one.
    std::string buffer(std::span<const std::uint64_t> addresses);
    /// "$key2[40]": equal bytes have the same name.
    std::string key(std::span<const std::byte> bytes);
    /// Pages that were named belong to somebody else from now on.
    void forget_addresses(std::uint16_t function);

  private:
    std::map<std::tuple<std::uint16_t, std::string_view, std::uint64_t>, unsigned> objects_;
    std::map<std::string_view, unsigned> next_;
    std::map<std::pair<std::uint16_t, std::uint64_t>, unsigned> pages_;
    std::map<std::vector<std::byte>, unsigned> keys_;
    unsigned next_page_ = 1;
    unsigned next_buffer_ = 1;
};

}  // namespace cxsim::scenarios
