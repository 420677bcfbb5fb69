// SPDX-License-Identifier: Apache-2.0
// What a process has allocated, where one of its source files includes allocations.h; else 0.
#pragma once

#include <cstdint>

namespace cxsim::test {

inline std::uint64_t g_allocations = 0;

}  // namespace cxsim::test
