// SPDX-License-Identifier: Apache-2.0
// What the generated layouts.h is made of: types that carry a member's place. None is ever
// instantiated as an object; views take them as template arguments.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace cxsim::prm {

/// A plain field of `Width` bits at bit `Offset` of layout `L`.
template <class L, std::uint32_t Offset, std::uint32_t Width>
struct Field {
    using Layout = L;
    static constexpr std::uint32_t kOffset = Offset;
    static constexpr std::uint32_t kWidth = Width;
};

/// A layout `T` inside layout `L`. Open: T ends in a variable tail that reaches to the buffer's
/// end.
template <class L, std::uint32_t Offset, class T, bool Open>
struct Nested {
    using Layout = L;
    using Type = T;
    static constexpr std::uint32_t kOffset = Offset;
    static constexpr bool kOpen = Open;
};

/// Element of an array of plain fields.
template <std::uint32_t Width>
struct Bits {
    static constexpr std::uint32_t kBits = Width;
};

/// `Count` elements, each Bits<width> or a layout; 0 is a variable tail.
template <class L, std::uint32_t Offset, std::uint32_t Count, class E>
struct Array {
    using Layout = L;
    using Element = E;
    static constexpr std::uint32_t kOffset = Offset;
    static constexpr std::uint32_t kCount = Count;
};

namespace detail {

template <class T>
inline constexpr bool kIsField = false;
template <class L, std::uint32_t O, std::uint32_t W>
inline constexpr bool kIsField<Field<L, O, W>> = true;
template <class T>
inline constexpr bool kIsNested = false;
template <class L, std::uint32_t O, class T, bool Open>
inline constexpr bool kIsNested<Nested<L, O, T, Open>> = true;
template <class T>
inline constexpr bool kIsArray = false;
template <class L, std::uint32_t O, std::uint32_t C, class E>
inline constexpr bool kIsArray<Array<L, O, C, E>> = true;
template <class T>
inline constexpr bool kIsBits = false;
template <std::uint32_t W>
inline constexpr bool kIsBits<Bits<W>> = true;

/// A path of members, outermost first: absolute bit offset and the last member.
template <class First, class... Rest>
struct Path {
    static_assert(kIsNested<First>, "only nested layouts have members");
    using Next = Path<Rest...>;
    static_assert(std::is_same_v<typename First::Type, typename Next::Root>,
                  "the next member belongs to another layout");
    using Root = typename First::Layout;
    using Last = typename Next::Last;
    static constexpr std::uint32_t kOffset = First::kOffset + Next::kOffset;
    static constexpr bool kOpen = First::kOpen && Next::kOpen;
};

template <class Only>
struct Path<Only> {
    using Root = typename Only::Layout;
    using Last = Only;
    static constexpr std::uint32_t kOffset = Only::kOffset;
    static constexpr bool kOpen = [] {
        if constexpr (kIsNested<Only>) return Only::kOpen;
        return true;
    }();
};

}  // namespace detail
}  // namespace cxsim::prm
