// SPDX-License-Identifier: Apache-2.0
#include "model/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace cxsim::model {
namespace {
std::string (*g_context)() = nullptr;
}

void set_assertion_context(std::string (*context)()) {
    g_context = context;
}

void assertion_failed(const char* condition, const char* file, int line,
                      const std::string& message) {
    std::fprintf(stderr, "cxsim: internal error: %s:%d: %s is false: %s\n", file, line, condition,
                 message.c_str());
    if (g_context != nullptr) std::fprintf(stderr, "%s\n", g_context().c_str());
    std::fflush(stderr);
    std::abort();
}

}  // namespace cxsim::model
