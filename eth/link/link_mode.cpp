// SPDX-License-Identifier: Apache-2.0
#include "eth/link/link_mode.h"

#include "model/base/assert.h"

#include <bit>

namespace cxsim::eth {

using model::BitsPerSecond;
using model::FecMask;
using model::FecMode;
using model::LinkMode;
using model::LinkModeMask;
using model::mask_of;

namespace {

constexpr double kScrambled = 66.0 / 64.0;            // 64b/66b, also transcoded with KR4
constexpr double kKp4 = 66.0 / 64.0 * 544.0 / 528.0;  // RS(544,514) on top: 17/16
constexpr double kTenBit = 10.0 / 8.0;                // 8b/10b of 1 Gb/s and below

constexpr FecMask kNone = mask_of(FecMode::none);
constexpr FecMask kFire = mask_of(FecMode::firecode);
constexpr FecMask kKr4Code = mask_of(FecMode::rs_528_514);
constexpr FecMask kKp4Codes =
    static_cast<FecMask>(mask_of(FecMode::rs_544_514) | mask_of(FecMode::ll_rs_271_257));

constexpr ModeFacts mode(LinkMode mode, const char* name, double gigabits, unsigned lanes,
                         double coding, FecMode default_fec, FecMask possible,
                         unsigned interleave = 1) {
    return {mode,
            name,
            static_cast<std::uint32_t>(gigabits),
            BitsPerSecond{gigabits * 1e9},
            lanes,
            BitsPerSecond{gigabits * 1e9 * coding},
            default_fec,
            possible,
            interleave};
}

constexpr FecMask kUpTo25 = kNone | kFire | kKr4Code;

// The slowest first; of one speed, the one with more lanes (older, and preferred) last.
constexpr ModeFacts kModes[] = {
    mode(LinkMode::speed_100m, "100m", 0.1, 1, kTenBit, FecMode::none, kNone),
    mode(LinkMode::speed_1g, "1g", 1, 1, kTenBit, FecMode::none, kNone),
    mode(LinkMode::speed_5g, "5g", 5, 1, kScrambled, FecMode::none, kNone),
    mode(LinkMode::speed_10g, "10g", 10, 1, kScrambled, FecMode::none, kNone | kFire),
    mode(LinkMode::speed_25g, "25g", 25, 1, kScrambled, FecMode::rs_528_514, kUpTo25),
    mode(LinkMode::speed_40g_4x, "40g_4x", 40, 4, kScrambled, FecMode::none, kNone | kFire),
    mode(LinkMode::speed_50g_1x, "50g_1x", 50, 1, kKp4, FecMode::rs_544_514, kKp4Codes),
    mode(LinkMode::speed_50g_2x, "50g_2x", 50, 2, kScrambled, FecMode::rs_528_514, kUpTo25),
    mode(LinkMode::speed_100g_1x, "100g_1x", 100, 1, kKp4, FecMode::rs_544_514, kKp4Codes),
    mode(LinkMode::speed_100g_2x, "100g_2x", 100, 2, kKp4, FecMode::rs_544_514, kKp4Codes),
    mode(LinkMode::speed_100g_4x, "100g_4x", 100, 4, kScrambled, FecMode::rs_528_514,
         kNone | kKr4Code),
    mode(LinkMode::speed_200g_2x, "200g_2x", 200, 2, kKp4, FecMode::rs_544_514, kKp4Codes, 2),
    mode(LinkMode::speed_200g_4x, "200g_4x", 200, 4, kKp4, FecMode::rs_544_514, kKp4Codes, 2),
    mode(LinkMode::speed_400g_4x, "400g_4x", 400, 4, kKp4, FecMode::rs_544_514, kKp4Codes, 2),
    mode(LinkMode::speed_400g_8x, "400g_8x", 400, 8, kKp4, FecMode::rs_544_514, kKp4Codes, 2),
    mode(LinkMode::speed_800g_8x, "800g_8x", 800, 8, kKp4, FecMode::rs_544_514, kKp4Codes, 4),
};

// Correction powers: RS(528,514) t = 7, RS(544,514) t = 15, RS(271,257) t = 7; the FireCode of
// clause 74 corrects one burst of up to 11 bits in 2112.
constexpr FecFacts kCodes[] = {
    {FecMode::none, "none", 0, 0, 0, 0},
    {FecMode::firecode, "firecode", 2112, 1, 2112, 11},
    {FecMode::rs_528_514, "rs_528_514", 5280, 10, 528, 7},
    {FecMode::ll_rs_271_257, "ll_rs_271_257", 2710, 10, 271, 7},
    {FecMode::rs_544_514, "rs_544_514", 5440, 10, 544, 15},
};

// The strongest first.
constexpr FecMode kPreference[] = {FecMode::rs_544_514, FecMode::rs_528_514, FecMode::ll_rs_271_257,
                                   FecMode::firecode, FecMode::none};

}  // namespace

std::span<const ModeFacts> all_modes() {
    return kModes;
}

const ModeFacts* find_mode(LinkMode wanted) {
    for (const ModeFacts& facts : kModes) {
        if (facts.mode == wanted) return &facts;
    }
    return nullptr;
}

const ModeFacts& facts_of(LinkMode wanted) {
    const ModeFacts* facts = find_mode(wanted);
    CX_ASSERT(facts != nullptr, "no such link mode");
    return *facts;
}

LinkModeMask all_modes_mask() {
    LinkModeMask mask = 0;
    for (const ModeFacts& facts : kModes) mask |= mask_of(facts.mode);
    return mask;
}

const ModeFacts* best_mode(LinkModeMask mask) {
    const ModeFacts* best = nullptr;
    for (const ModeFacts& facts : kModes) {
        if ((mask & mask_of(facts.mode)) != 0) best = &facts;
    }
    return best;
}

const FecFacts& facts_of(FecMode wanted) {
    for (const FecFacts& facts : kCodes) {
        if (facts.mode == wanted) return facts;
    }
    CX_ASSERT(false, "no such FEC mode");
    return kCodes[0];
}

const FecFacts* common_fec(const ModeFacts& mode, FecMask one, FecMask other) {
    if (one == 0 && other == 0) return &facts_of(mode.default_fec);
    FecMask common = mode.possible_fec;
    if (one != 0) common &= one;
    if (other != 0) common &= other;
    for (const FecMode candidate : kPreference) {
        if ((common & mask_of(candidate)) != 0) return &facts_of(candidate);
    }
    return nullptr;
}

model::Picoseconds codeword_time(const ModeFacts& mode, FecMode fec) {
    const double bits = facts_of(fec).codeword_bits;
    // FireCode runs on each lane by itself.
    const double groups = fec == FecMode::firecode ? mode.lanes : mode.interleave;
    return model::picoseconds(
        static_cast<std::int64_t>(bits * groups * 1e12 / mode.line_rate.value + 0.5));
}

}  // namespace cxsim::eth
