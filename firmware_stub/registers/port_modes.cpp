// SPDX-License-Identifier: Apache-2.0
#include "firmware_stub/registers/port_modes.h"

#include <optional>

namespace cxsim::firmware_stub {

using model::LinkMode;
using model::LinkModeMask;

namespace {

struct LegacyBit {
    unsigned bit;
    LinkMode mode;
};

// Of one mode, the bit for copper cables first, then back planes, optics, twisted pair. 20 Gb/s
// (bit 5) and 56 Gb/s (bit 8) are the vendor's own and not modelled.
constexpr LegacyBit kLegacyBits[] = {
    {24, LinkMode::speed_100m},    {1, LinkMode::speed_1g},       {0, LinkMode::speed_1g},
    {25, LinkMode::speed_1g},      {12, LinkMode::speed_10g},     {4, LinkMode::speed_10g},
    {2, LinkMode::speed_10g},      {3, LinkMode::speed_10g},      {13, LinkMode::speed_10g},
    {14, LinkMode::speed_10g},     {26, LinkMode::speed_10g},     {6, LinkMode::speed_40g_4x},
    {7, LinkMode::speed_40g_4x},   {15, LinkMode::speed_40g_4x},  {16, LinkMode::speed_40g_4x},
    {27, LinkMode::speed_25g},     {28, LinkMode::speed_25g},     {29, LinkMode::speed_25g},
    {30, LinkMode::speed_50g_2x},  {31, LinkMode::speed_50g_2x},  {18, LinkMode::speed_50g_2x},
    {20, LinkMode::speed_100g_4x}, {22, LinkMode::speed_100g_4x}, {21, LinkMode::speed_100g_4x},
    {23, LinkMode::speed_100g_4x},
};

constexpr LinkMode kExtendedModes[] = {
    LinkMode::speed_100m,    LinkMode::speed_1g,      LinkMode::speed_5g,
    LinkMode::speed_10g,     LinkMode::speed_40g_4x,  LinkMode::speed_25g,
    LinkMode::speed_50g_2x,  LinkMode::speed_50g_1x,  LinkMode::speed_100g_4x,
    LinkMode::speed_100g_2x, LinkMode::speed_100g_1x, LinkMode::speed_200g_4x,
    LinkMode::speed_200g_2x, LinkMode::speed_400g_8x, LinkMode::speed_400g_4x,
    LinkMode::speed_800g_8x,
};

}  // namespace

LinkModeMask modes_of_legacy(std::uint32_t bits) {
    LinkModeMask modes = 0;
    for (const LegacyBit& row : kLegacyBits) {
        if ((bits >> row.bit & 1) != 0) modes |= mask_of(row.mode);
    }
    return modes;
}

LinkModeMask modes_of_extended(std::uint32_t bits) {
    LinkModeMask known = 0;
    for (const LinkMode mode : kExtendedModes) known |= mask_of(mode);
    return bits & known;  // the values are the bit numbers
}

std::uint32_t legacy_of_modes(LinkModeMask modes) {
    std::uint32_t bits = 0;
    for (const LegacyBit& row : kLegacyBits) {
        if ((modes & mask_of(row.mode)) != 0) bits |= 1U << row.bit;
    }
    return bits;
}

std::uint32_t legacy_oper(LinkMode mode, std::uint32_t allowed) {
    for (const LegacyBit& row : kLegacyBits) {
        if (row.mode == mode && (allowed >> row.bit & 1) != 0) return 1U << row.bit;
    }
    return 0;
}

std::array<model::FecMask, model::kLinkModes> fec_wishes(prm::ConstView<prm::pplm_reg> overrides) {
    std::array<model::FecMask, model::kLinkModes> wishes{};
    for_each_fec_class([&]<class Admin, class Cap>(LinkModeMask modes) {
        for (unsigned i = 0; i < model::kLinkModes; ++i) {
            if ((modes >> i & 1) != 0) {
                wishes[i] = static_cast<model::FecMask>(overrides.get<Admin>());
            }
        }
    });
    return wishes;
}

}  // namespace cxsim::firmware_stub
