// SPDX-License-Identifier: Apache-2.0
// Typed access to PRM structures in memory. A view owns nothing and checks its bounds once, when
// it is made; a field access is then one load, a swap and a mask.
#pragma once

#include "model/base/endian.h"
#include "model/prm/bits.h"
#include "model/prm/field.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace cxsim::prm {

namespace detail {

/// Width 1..32 reads as uint32_t, more as uint64_t.
template <std::uint32_t Width>
using Value = std::conditional_t<(Width <= 32), std::uint32_t, std::uint64_t>;

/// The dword or two that hold a field, if they lie inside the layout; 0 means byte by byte.
template <std::uint32_t Offset, std::uint32_t Width, std::uint32_t LayoutBits>
constexpr std::uint32_t word_bits() {
    constexpr std::uint32_t start = Offset / 32 * 32;
    if (Offset + Width <= start + 32 && start + 32 <= LayoutBits) return 32;
    if (Offset + Width <= start + 64 && start + 64 <= LayoutBits) return 64;
    return 0;
}

template <std::uint32_t Offset, std::uint32_t Width, std::uint32_t LayoutBits>
Value<Width> load_field(const std::byte* data) {
    constexpr std::uint32_t word = word_bits<Offset, Width, LayoutBits>();
    if constexpr (word == 0) {
        return static_cast<Value<Width>>(load_bits(data, Offset, Width));
    } else {
        using Word = Value<word>;
        const auto value = model::load_be<Word>(data + Offset / 32 * 4);
        constexpr auto mask = static_cast<Word>(field_mask(Width));
        return static_cast<Value<Width>>((value >> (word - Offset % 32 - Width)) & mask);
    }
}

template <std::uint32_t Offset, std::uint32_t Width, std::uint32_t LayoutBits>
void store_field(std::byte* data, std::uint64_t value) {
    constexpr std::uint32_t word = word_bits<Offset, Width, LayoutBits>();
    if constexpr (word == 0) {
        store_bits(data, Offset, Width, value);
    } else {
        using Word = Value<word>;
        constexpr std::uint32_t shift = word - Offset % 32 - Width;
        constexpr auto mask = static_cast<Word>(static_cast<Word>(field_mask(Width)) << shift);
        std::byte* place = data + Offset / 32 * 4;
        const auto old = model::load_be<Word>(place);
        const auto bits = static_cast<Word>(static_cast<Word>(value) << shift);
        model::store_be<Word>(place, static_cast<Word>((old & static_cast<Word>(~mask)) | bits));
    }
}

/// Field values come as integers, bools or enums; a negative one never fits.
template <class V>
std::uint64_t field_value(V value, std::uint32_t width) {
    static_assert(std::is_integral_v<V> || std::is_enum_v<V>);
    std::uint64_t raw = 0;
    if constexpr (std::is_enum_v<V>) {
        raw = static_cast<std::uint64_t>(static_cast<std::underlying_type_t<V>>(value));
    } else {
        raw = static_cast<std::uint64_t>(value);
    }
    if (raw > field_mask(width)) access_failed("value of field", raw, field_mask(width));
    return raw;
}

}  // namespace detail

/// Base of ConstView and View. Every member function takes a path of members of L, outermost
/// first: `in.get<create_cq_in::cq_context, cqc::log_cq_size>()`.
template <class L, class Byte>
class BasicView {
    static constexpr bool kMutable = !std::is_const_v<Byte>;
    template <class... P>
    using PathOf = detail::Path<P...>;
    template <class... P>
    using LastOf = typename detail::Path<P...>::Last;

  public:
    using Layout = L;

    /// Asserts that `data` holds the layout (without variable tail). Longer data is kept as tail.
    explicit BasicView(std::span<Byte> data) : data_(data) {
        if (data.size() < L::kBytes) {
            detail::access_failed("bytes in buffer of view", data.size(), L::kBytes);
        }
    }

    // NOLINTNEXTLINE(google-explicit-constructor): reading is always allowed, as with pointers.
    operator BasicView<L, const std::byte>() const requires kMutable {
        return BasicView<L, const std::byte>(data_);
    }

    /// All bytes of the view, a variable tail included.
    std::span<Byte> bytes() const { return data_; }

    /// A plain field's value: uint32_t up to 32 bits, uint64_t up to 64.
    template <class... P>
    auto get() const {
        check_root<P...>();
        using F = LastOf<P...>;
        static_assert(detail::kIsField<F>, "get takes a plain field");
        static_assert(F::kWidth <= 64, "wider than 64 bits: use bytes<>()");
        return detail::load_field<PathOf<P...>::kOffset, F::kWidth, L::kBits>(data_.data());
    }

    /// Writes a plain field; asserts that the value fits.
    template <class... P, class V>
    void set(V value) const requires kMutable {
        check_root<P...>();
        using F = LastOf<P...>;
        static_assert(detail::kIsField<F>, "set takes a plain field");
        static_assert(F::kWidth <= 64, "wider than 64 bits: use bytes<>()");
        detail::store_field<PathOf<P...>::kOffset, F::kWidth, L::kBits>(
            data_.data(), detail::field_value(value, F::kWidth));
    }

    /// View of a nested layout; one that ends in a variable tail reaches to the end of the buffer.
    template <class... P>
    auto nested() const {
        check_root<P...>();
        using F = LastOf<P...>;
        static_assert(detail::kIsNested<F>, "nested takes a nested layout");
        using T = typename F::Type;
        constexpr std::size_t start = byte_offset<P...>();
        constexpr std::size_t size = PathOf<P...>::kOpen ? std::dynamic_extent : T::kBytes;
        return BasicView<T, Byte>(data_.subspan(start, size));
    }

    /// Number of elements: of the array, or as many whole ones as a variable tail holds.
    template <class... P>
    std::size_t size() const {
        check_root<P...>();
        using A = LastOf<P...>;
        static_assert(detail::kIsArray<A>, "size takes an array");
        if constexpr (A::kCount > 0) return A::kCount;
        return (data_.size() * 8 - PathOf<P...>::kOffset) / A::Element::kBits;
    }

    /// Element `index` (asserted < size): a value, or a view if the elements are layouts.
    template <class... P>
    auto at(std::size_t index) const {
        using A = LastOf<P...>;
        using E = typename A::Element;
        const std::size_t bit = element_offset<P...>(index);
        if constexpr (detail::kIsBits<E>) {
            static_assert(E::kBits <= 64, "elements wider than 64 bits: use bytes<>()");
            return static_cast<detail::Value<E::kBits>>(
                detail::load_bits(data_.data(), bit, E::kBits));
        } else {
            static_assert(byte_offset<P...>() * 8 == PathOf<P...>::kOffset && E::kBits % 8 == 0);
            return BasicView<E, Byte>(data_.subspan(bit / 8, E::kBytes));
        }
    }

    /// Writes element `index` of an array of plain fields; asserts place and value.
    template <class... P, class V>
    void set_at(std::size_t index, V value) const requires kMutable {
        using E = typename LastOf<P...>::Element;
        static_assert(detail::kIsBits<E> && E::kBits <= 64, "set_at takes elements of 1..64 bits");
        const std::size_t bit = element_offset<P...>(index);
        detail::store_bits(data_.data(), bit, E::kBits, detail::field_value(value, E::kBits));
    }

    /// The bytes of a variable tail, up to the end of the buffer.
    template <class... P>
    std::span<Byte> tail() const {
        check_root<P...>();
        using A = LastOf<P...>;
        static_assert(detail::kIsArray<A> && A::kCount == 0, "tail takes a variable tail");
        return data_.subspan(byte_offset<P...>());
    }

    /// The bytes of any member that starts and ends at a byte: addresses, keys, strings, MACs.
    template <class... P>
    requires(sizeof...(P) > 0) std::span<Byte> bytes()
    const {
        check_root<P...>();
        constexpr std::size_t bits = member_bits<LastOf<P...>>();
        static_assert(bits % 8 == 0, "the member does not end at a byte");
        return data_.subspan(byte_offset<P...>(), bits / 8);
    }

    /// Zeroes all bytes, a variable tail included.
    void clear() const requires kMutable { std::fill(data_.begin(), data_.end(), std::byte{0}); }

  private:
    template <class... P>
    static constexpr void check_root() {
        static_assert(std::is_same_v<typename PathOf<P...>::Root, L>,
                      "the member belongs to another layout");
    }

    template <class... P>
    static constexpr std::size_t byte_offset() {
        static_assert(PathOf<P...>::kOffset % 8 == 0, "the member does not start at a byte");
        return PathOf<P...>::kOffset / 8;
    }

    template <class F>
    static constexpr std::size_t member_bits() {
        if constexpr (detail::kIsField<F>)
            return F::kWidth;
        else if constexpr (detail::kIsNested<F>)
            return F::Type::kBits;
        else {
            static_assert(F::kCount > 0, "bytes takes no variable tail: use tail<>()");
            return std::size_t{F::kCount} * F::Element::kBits;
        }
    }

    template <class... P>
    std::size_t element_offset(std::size_t index) const {
        const std::size_t count = size<P...>();
        if (index >= count) detail::access_failed("element index", index, count);
        return PathOf<P...>::kOffset + index * LastOf<P...>::Element::kBits;
    }

    std::span<Byte> data_;
};

template <class L>
using ConstView = BasicView<L, const std::byte>;
template <class L>
using View = BasicView<L, std::byte>;

/// Zeroed memory for one layout, with `tail_bytes` more for a variable tail.
template <class L>
class Buffer {
  public:
    explicit Buffer(std::size_t tail_bytes = 0) : data_(L::kBytes + tail_bytes) {}

    View<L> view() { return View<L>(data_); }
    ConstView<L> view() const { return ConstView<L>(data_); }
    std::span<std::byte> bytes() { return data_; }
    std::span<const std::byte> bytes() const { return data_; }

  private:
    std::vector<std::byte> data_;
};

}  // namespace cxsim::prm
