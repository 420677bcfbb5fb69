// SPDX-License-Identifier: Apache-2.0
// qpc.st as far as the queues tell services apart.
#pragma once

#include <cstdint>

namespace cxsim::model::service {

inline constexpr std::uint32_t kRc = 0x0;
inline constexpr std::uint32_t kUc = 0x1;
inline constexpr std::uint32_t kUd = 0x2;
inline constexpr std::uint32_t kXrc = 0x3;
inline constexpr std::uint32_t kDci = 0x5;
inline constexpr std::uint32_t kQp1 = 0x8;
inline constexpr std::uint32_t kRegUmr = 0xc;

constexpr bool is_datagram(std::uint32_t type) {
    return type == kUd || type == kQp1;
}
/// Whether work of the service goes to the transport, where there is one.
constexpr bool uses_transport(std::uint32_t type) {
    return type == kRc || type == kUc || type == kUd || type == kXrc || type == kQp1;
}

}  // namespace cxsim::model::service
