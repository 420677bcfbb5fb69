// SPDX-License-Identifier: Apache-2.0
// Counts what a process allocates. The hooks are defined where this is included: in one source
// file of an executable.
#pragma once

#include "tests/support/allocation_count.h"

#include <cstdlib>
#include <new>

namespace cxsim::test {

inline void* counted_allocation(std::size_t size) {
    ++g_allocations;
    if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc();
}

}  // namespace cxsim::test

// NOLINTBEGIN(misc-new-delete-overloads,misc-definitions-in-headers): all of the process.
void* operator new(std::size_t size) {
    return cxsim::test::counted_allocation(size);
}
void* operator new[](std::size_t size) {
    return cxsim::test::counted_allocation(size);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}
// NOLINTEND(misc-new-delete-overloads,misc-definitions-in-headers)
