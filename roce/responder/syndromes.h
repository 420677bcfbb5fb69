// SPDX-License-Identifier: Apache-2.0
// err_cqe.syndrome of receives (mlx5's MLX5_CQE_SYNDROME_…), and limits of messages.
#pragma once

#include <cstdint>

namespace cxsim::roce {

inline constexpr std::uint8_t kSyndromeLocalLength = 0x01;
inline constexpr std::uint8_t kSyndromeLocalQpOperation = 0x02;
inline constexpr std::uint8_t kSyndromeLocalProtection = 0x04;
inline constexpr std::uint8_t kSyndromeLocalAccess = 0x11;
inline constexpr std::uint8_t kSyndromeRemoteInvalidRequest = 0x12;

/// Bytes of a message (IBTA volume 1, section 9.7.6).
inline constexpr std::uint32_t kLargestMessage = 1U << 31;

}  // namespace cxsim::roce
