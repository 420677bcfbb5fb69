// SPDX-License-Identifier: Apache-2.0
// Link modes and FEC between registers and the port: bits of PTYS (legacy and extended masks) and
// of PPLM on one side, model::LinkMode on the other.
#pragma once

#include "model/ports/port_control.h"
#include "model/prm/view.h"
#include "prm/layouts.h"

#include <array>
#include <cstdint>

namespace cxsim::firmware_stub {

/// Modes that bits of eth_proto_* stand for; several bits (media) share one.
model::LinkModeMask modes_of_legacy(std::uint32_t bits);
/// Modes of ext_eth_proto_*.
model::LinkModeMask modes_of_extended(std::uint32_t bits);
/// All bits of eth_proto_* that stand for modes of the mask.
std::uint32_t legacy_of_modes(model::LinkModeMask modes);
/// The one bit that eth_proto_oper shows, among `allowed` (copper first); 0 if there is none.
std::uint32_t legacy_oper(model::LinkMode mode, std::uint32_t allowed);

/// Calls visit<AdminField, CapabilityField>(mask of link modes) for each speed class of PPLM.
template <class Visit>
void for_each_fec_class(Visit&& visit) {
    using R = prm::pplm_reg;
    using model::LinkMode;
    using model::mask_of;
    visit.template operator()<R::fec_override_admin_10g_40g, R::fec_override_cap_10g_40g>(
        mask_of(LinkMode::speed_10g) | mask_of(LinkMode::speed_40g_4x));
    visit.template operator()<R::fec_override_admin_25g, R::fec_override_cap_25g>(
        mask_of(LinkMode::speed_25g));
    visit.template operator()<R::fec_override_admin_50g, R::fec_override_cap_50g>(
        mask_of(LinkMode::speed_50g_2x));
    visit.template operator()<R::fec_override_admin_56g, R::fec_override_cap_56g>(
        model::LinkModeMask{0});
    visit.template operator()<R::fec_override_admin_100g, R::fec_override_cap_100g>(
        mask_of(LinkMode::speed_100g_4x));
    visit.template operator()<R::fec_override_admin_50g_1x, R::fec_override_cap_50g_1x>(
        mask_of(LinkMode::speed_50g_1x));
    visit.template operator()<R::fec_override_admin_100g_2x, R::fec_override_cap_100g_2x>(
        mask_of(LinkMode::speed_100g_2x));
    visit.template operator()<R::fec_override_admin_200g_4x, R::fec_override_cap_200g_4x>(
        mask_of(LinkMode::speed_200g_4x));
    visit.template operator()<R::fec_override_admin_400g_8x, R::fec_override_cap_400g_8x>(
        mask_of(LinkMode::speed_400g_8x));
    visit.template operator()<R::fec_override_admin_100g_1x, R::fec_override_cap_100g_1x>(
        mask_of(LinkMode::speed_100g_1x));
    visit.template operator()<R::fec_override_admin_200g_2x, R::fec_override_cap_200g_2x>(
        mask_of(LinkMode::speed_200g_2x));
    visit.template operator()<R::fec_override_admin_400g_4x, R::fec_override_cap_400g_4x>(
        mask_of(LinkMode::speed_400g_4x));
    visit.template operator()<R::fec_override_admin_800g_8x, R::fec_override_cap_800g_8x>(
        mask_of(LinkMode::speed_800g_8x));
}

/// PPLM's override fields by link mode.
std::array<model::FecMask, model::kLinkModes> fec_wishes(prm::ConstView<prm::pplm_reg> overrides);

}  // namespace cxsim::firmware_stub
