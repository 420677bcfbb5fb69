// SPDX-License-Identifier: Apache-2.0
// Loads and stores of fixed byte order: the PRM and the wire are big-endian, PCI registers are
// little-endian.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace cxsim::model {

static_assert(std::endian::native == std::endian::little, "the loads below swap for big-endian");

template <class T>
T byte_swap(T value) {
    static_assert(std::is_unsigned_v<T>);
    if constexpr (sizeof(T) == 1) return value;
    if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
    if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
    if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

template <class T>
T load_le(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class T>
T load_be(const void* from) {
    return byte_swap(load_le<T>(from));
}

template <class T>
void store_le(void* to, std::type_identity_t<T> value) {
    std::memcpy(to, &value, sizeof value);
}

template <class T>
void store_be(void* to, std::type_identity_t<T> value) {
    store_le<T>(to, byte_swap(value));
}

}  // namespace cxsim::model
