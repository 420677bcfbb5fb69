// SPDX-License-Identifier: Apache-2.0
// What the typed header views have in common. A view is a pointer to a header that is known to lie
// whole in memory (eth/offloads/headers.h finds out); it checks nothing. Views come in two kinds:
// Name over mutable and ConstName over constant bytes.
#pragma once

#include "model/base/endian.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cxsim::eth {

template <class Byte>
class HeaderView {
    static_assert(std::is_same_v<std::remove_const_t<Byte>, std::byte>);

  public:
    explicit HeaderView(Byte* at) : at_(at) {}
    Byte* data() const { return at_; }

  protected:
    static constexpr bool kMutable = !std::is_const_v<Byte>;

    template <class T>
    T get(std::size_t offset) const {
        return model::load_be<T>(at_ + offset);
    }
    template <class T>
    void put(std::size_t offset, std::type_identity_t<T> value) const requires kMutable {
        model::store_be<T>(at_ + offset, value);
    }
    std::uint64_t get48(std::size_t offset) const {
        return static_cast<std::uint64_t>(get<std::uint16_t>(offset)) << 32 |
               get<std::uint32_t>(offset + 2);
    }
    void put48(std::size_t offset, std::uint64_t value) const requires kMutable {
        put<std::uint16_t>(offset, static_cast<std::uint16_t>(value >> 32));
        put<std::uint32_t>(offset + 2, static_cast<std::uint32_t>(value));
    }

    Byte* at_;
};

}  // namespace cxsim::eth
