// SPDX-License-Identifier: Apache-2.0
// Times and credits that travel as codes (IBTA volume 1, tables 45 and 46 and section 11.2.4.2).
#pragma once

#include "model/base/units.h"

#include <array>
#include <cstdint>

namespace cxsim::roce {

/// 4.096 us * 2^exponent.
constexpr model::Picoseconds transport_timeout(unsigned exponent) {
    return model::nanoseconds(std::int64_t{4096} << exponent);
}

/// How long a requester waits after an RNR NAK.
constexpr model::Picoseconds rnr_time(std::uint8_t code) {
    constexpr std::array<std::int64_t, 32> kMicroseconds{
        655360, 10,    20,    30,    40,    60,    80,     120,    160,    240,    320,
        480,    640,   960,   1280,  1920,  2560,  3840,   5120,   7680,   10240,  15360,
        20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};
    return model::microseconds(kMicroseconds[code & 31U]);
}

/// Receive WQEs that the responder has; code 31 (no limit) has no number.
constexpr std::uint32_t credits_of(std::uint8_t code) {
    constexpr std::array<std::uint32_t, 31> kCredits{
        0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,    48,    64,    96,   128, 192,
        256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};
    return kCredits[code < kCredits.size() ? code : kCredits.size() - 1];
}

/// The adaptive timer: 2.1 ms, doubled each time while below what the QP asks for.
inline constexpr unsigned kFirstRung = 9;
/// Rungs before a QP's own timeout counts; 0: it is no longer than the first.
constexpr unsigned adaptive_rungs(unsigned exponent) {
    return exponent > kFirstRung ? exponent - kFirstRung : 0;
}
/// Of the retry count, what the rungs take together.
inline constexpr unsigned kRungRetries = 2;

}  // namespace cxsim::roce
