// SPDX-License-Identifier: Apache-2.0
// Members of the current capabilities of any group, for checks of commands.
#pragma once

#include "firmware_stub/boot/function_state.h"
#include "model/prm/hca_cap.h"
#include "model/prm/view.h"
#include "prm/layouts.h"

#include <cstdint>
#include <span>

namespace cxsim::firmware_stub {

/// Value of a member of a group's current capabilities; 0 when the card lacks the group.
template <class... Path>
auto capability(FunctionState& function, prm::HcaCapType group) {
    using Layout = typename prm::detail::Path<Path...>::Root;
    const std::span<const std::byte> image =
        function.current_capability(static_cast<std::uint16_t>(group));
    using Value = decltype(prm::ConstView<Layout>(image).template get<Path...>());
    if (image.size() < Layout::kBytes) return Value{0};
    return prm::ConstView<Layout>(image).template get<Path...>();
}

template <class... Path>
auto ethernet_capability(FunctionState& function) {
    return capability<Path...>(function, prm::HcaCapType::ETHERNET_OFFLOADS);
}

template <class... Path>
auto qos_capability(FunctionState& function) {
    return capability<Path...>(function, prm::HcaCapType::QOS);
}

}  // namespace cxsim::firmware_stub
