// SPDX-License-Identifier: Apache-2.0
// Facts of the link modes and their forward error correction (IEEE 802.3 clauses 49, 74, 82, 91,
// 108, 119, 134): rates on the lanes, codewords, defaults.
#pragma once

#include "model/base/units.h"
#include "model/ports/port_control.h"

#include <array>
#include <cstdint>
#include <span>

namespace cxsim::eth {

struct ModeFacts {
    model::LinkMode mode;
    const char* name;           ///< "100g_4x"
    std::uint32_t gigabits;     ///< rate of the MAC in Gb/s; 0 for 100 Mb/s
    model::BitsPerSecond rate;  ///< of the MAC
    unsigned lanes;
    model::BitsPerSecond line_rate;  ///< of all lanes together, FEC and 64b/66b included
    model::FecMode default_fec;
    model::FecMask possible_fec;
    /// Codewords that are interleaved, so that they arrive together.
    unsigned interleave;
};

/// All modes, the slowest first.
std::span<const ModeFacts> all_modes();
/// Null for a bit that is no mode.
const ModeFacts* find_mode(model::LinkMode mode);
const ModeFacts& facts_of(model::LinkMode mode);
/// Every mode.
model::LinkModeMask all_modes_mask();
/// The fastest of the mask, the one with fewer lanes first; null if none.
const ModeFacts* best_mode(model::LinkModeMask mask);

struct FecFacts {
    model::FecMode mode;
    const char* name;             ///< "rs_544_514"
    std::uint32_t codeword_bits;  ///< on the line; 0 without FEC
    std::uint32_t symbol_bits;    ///< 1 for FireCode
    std::uint32_t symbols;        ///< in a codeword
    std::uint32_t correctable;    ///< symbols; for FireCode the length of the burst
};
const FecFacts& facts_of(model::FecMode mode);

/// The mode that ends with these wishes agree on. A mask of 0 leaves the choice to the port: its
/// default, or what the other end insists on. Null if there is none.
const FecFacts* common_fec(const ModeFacts& mode, model::FecMask one, model::FecMask other);

/// How long one codeword (or one group of interleaved ones) takes on the line: the least time that
/// a decoder must wait. 0 without FEC.
model::Picoseconds codeword_time(const ModeFacts& mode, model::FecMode fec);

}  // namespace cxsim::eth
