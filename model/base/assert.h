// SPDX-License-Identifier: Apache-2.0
// CX_ASSERT is for our own bugs, in all builds. What a guest, a socket, a file or the wire sends
// is never asserted: it is answered.
#pragma once

#include <string>

#include <fmt/format.h>

namespace cxsim::model {

/// Prints condition, place, message, simulated time and the last trace records, then aborts.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line,
                                   const std::string& message);

/// Called by assertion_failed for more context (simulated time, last trace records).
/// `context` returns text to append; it must not throw. Null removes it.
void set_assertion_context(std::string (*context)());

}  // namespace cxsim::model

#define CX_ASSERT(condition, ...)                                                        \
    do {                                                                                 \
        if (!(condition)) [[unlikely]] {                                                 \
            ::cxsim::model::assertion_failed(#condition, __FILE__, __LINE__,             \
                                             ::fmt::format(__VA_ARGS__));                \
        }                                                                                \
    } while (false)
