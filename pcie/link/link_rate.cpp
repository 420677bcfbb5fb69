// SPDX-License-Identifier: Apache-2.0
#include "pcie/link/link_rate.h"

#include "model/base/assert.h"

#include <algorithm>
#include <array>
#include <bit>

namespace cxsim::pcie {

namespace {

constexpr double kDllpBytes = 8;  // 2 framing, 4 contents, 2 CRC
constexpr double kSkpBytes = 4;   // a SKP ordered set per lane and interval
constexpr double kSkpInterval = 1538;

// Rows x1, x2, x4, x8, x16, x32; columns Max_Payload_Size 128 to 4096.
using DistanceTable = std::array<std::array<std::uint16_t, 6>, 6>;
constexpr DistanceTable kGen1{{{237, 416, 559, 1071, 2095, 4143},
                               {128, 217, 289, 545, 1057, 2081},
                               {73, 118, 154, 282, 538, 1050},
                               {67, 107, 86, 150, 278, 534},
                               {48, 72, 86, 150, 278, 534},
                               {33, 45, 52, 84, 148, 276}}};
constexpr DistanceTable kGen2{{{288, 467, 610, 1122, 2146, 4194},
                               {179, 268, 340, 596, 1108, 2132},
                               {124, 169, 205, 333, 589, 1101},
                               {118, 158, 137, 201, 329, 585},
                               {99, 123, 137, 201, 329, 585},
                               {84, 96, 103, 135, 199, 327}}};
constexpr DistanceTable kGen3AndUp{{{333, 512, 655, 1167, 2191, 4239},
                                    {224, 313, 385, 641, 1153, 2177},
                                    {169, 214, 250, 378, 634, 1146},
                                    {163, 203, 182, 246, 374, 630},
                                    {144, 168, 182, 246, 374, 630},
                                    {129, 141, 148, 180, 244, 372}}};

}  // namespace

TlpOverhead tlp_overhead(bool address_64bit, bool ecrc) {
    const std::uint64_t framing = 8 + (ecrc ? 4 : 0);
    const std::uint64_t request = framing + (address_64bit ? 16 : 12);
    return {{request}, {request}, {framing + 12}, {framing + 12}};
}

model::BitsPerSecond encoded_rate(LinkGeneration generation, unsigned width) {
    static constexpr std::array<double, 5> kTransfers{2.5e9, 5e9, 8e9, 16e9, 32e9};
    const bool old = generation <= LinkGeneration::gen2;
    const double efficiency = old ? 8.0 / 10.0 : 128.0 / 130.0;
    return {kTransfers[static_cast<std::size_t>(generation) - 1] * efficiency * width};
}

unsigned dllp_distance(LinkGeneration generation, unsigned width, unsigned max_payload) {
    CX_ASSERT(std::has_single_bit(width) && width <= 32, "link width {}", width);
    CX_ASSERT(std::has_single_bit(max_payload) && max_payload >= 128 && max_payload <= 4096,
              "maximum payload {}", max_payload);
    const DistanceTable& table = generation == LinkGeneration::gen1   ? kGen1
                                 : generation == LinkGeneration::gen2 ? kGen2
                                                                      : kGen3AndUp;
    return table[static_cast<std::size_t>(std::countr_zero(width))]
                [static_cast<std::size_t>(std::countr_zero(max_payload)) - 7];
}

model::BitsPerSecond tlp_rate(LinkGeneration generation, unsigned width, unsigned max_payload) {
    const double distance = dllp_distance(generation, width, max_payload);
    const double taken = 2 * kDllpBytes / distance + kSkpBytes / kSkpInterval;
    return {encoded_rate(generation, width).value * (1 - taken)};
}

}  // namespace cxsim::pcie
