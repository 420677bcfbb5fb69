// SPDX-License-Identifier: Apache-2.0
#include "model/prm/reflect.h"

#include <algorithm>
#include <charconv>

namespace cxsim::prm {

const FieldInfo* LayoutInfo::find(std::string_view field) const {
    for (const FieldInfo& f : fields) {
        if (f.name == field) return &f;
    }
    return nullptr;
}

const LayoutInfo* find_layout(std::string_view name) {
    const auto layouts = all_layouts();
    const auto found = std::lower_bound(
        layouts.begin(), layouts.end(), name,
        [](const LayoutInfo& layout, std::string_view key) { return layout.name < key; });
    return found != layouts.end() && found->name == name ? &*found : nullptr;
}

std::optional<Location> find_path(const LayoutInfo& layout, std::string_view path) {
    const LayoutInfo* inside = &layout;
    std::uint32_t base = 0;
    while (true) {
        const std::size_t dot = path.find('.');
        std::string_view name = path.substr(0, dot);
        std::optional<std::uint32_t> index;
        if (const std::size_t bracket = name.find('['); bracket != name.npos) {
            std::uint32_t value = 0;
            const char* end = name.data() + name.size();
            const auto parsed = std::from_chars(name.data() + bracket + 1, end, value);
            if (parsed.ec != std::errc{} || parsed.ptr + 1 != end || *parsed.ptr != ']') return {};
            index = value;
            name = name.substr(0, bracket);
        }
        const FieldInfo* field = inside != nullptr ? inside->find(name) : nullptr;
        if (field == nullptr || (index && !field->array)) return {};
        if (index && field->count > 0 && *index >= field->count) return {};
        const std::uint64_t skip = std::uint64_t{index.value_or(0)} * field->bit_width;
        if (skip > UINT32_MAX / 2) return {};
        base += field->bit_offset + static_cast<std::uint32_t>(skip);
        if (dot == path.npos) {
            const std::uint32_t elements = field->array && !index ? field->count : 1;
            return Location{base, field->bit_width * elements, field};
        }
        if (field->array && !index) return {};
        inside = field->nested;
        path = path.substr(dot + 1);
    }
}

namespace {

bool any_bit(std::span<const std::byte> data, std::size_t offset, std::size_t end) {
    end = std::min(end, data.size() * 8);
    while (offset < end) {
        if (offset % 8 == 0 && end - offset >= 8) {
            if (data[offset / 8] != std::byte{0}) return true;
            offset += 8;
        } else {
            const auto width =
                static_cast<std::uint32_t>(std::min<std::size_t>(8 - offset % 8, end - offset));
            if (detail::load_bits(data.data(), offset, width) != 0) return true;
            offset += width;
        }
    }
    return false;
}

/// Clears in `data` all bits that a member which is not reserved defines.
void clear_defined(const LayoutInfo& layout, std::span<std::byte> data, std::size_t base) {
    for (const FieldInfo& f : layout.fields) {
        if (f.reserved) continue;
        for (std::uint32_t i = 0; i < f.count; ++i) {
            std::size_t at = base + f.bit_offset + std::size_t{i} * f.bit_width;
            if (f.nested != nullptr) {
                clear_defined(*f.nested, data, at);
                continue;
            }
            const std::size_t end = std::min(at + f.bit_width, data.size() * 8);
            while (at < end) {
                const auto width = static_cast<std::uint32_t>(std::min<std::size_t>(64, end - at));
                detail::store_bits(data.data(), at, width, 0);
                at += width;
            }
        }
    }
}

struct ReservedSearch {
    std::span<const std::byte> data;
    std::size_t limit;
    std::vector<std::string> found;

    void visit(const LayoutInfo& layout, std::size_t base, const std::string& prefix) {
        for (const FieldInfo& f : layout.fields) {
            for (std::uint32_t i = 0; i < f.count && found.size() < limit; ++i) {
                if (!f.reserved && f.nested == nullptr) break;
                const std::size_t at = base + f.bit_offset + std::size_t{i} * f.bit_width;
                if (!any_bit(data, at, at + f.bit_width)) continue;
                std::string path = prefix + std::string(f.name);
                if (f.array) path += "[" + std::to_string(i) + "]";
                if (f.nested != nullptr)
                    visit(*f.nested, at, path + ".");
                else
                    found.push_back(std::move(path));
            }
        }
    }
};

}  // namespace

std::vector<std::string> reserved_bits_set(const LayoutInfo& layout,
                                           std::span<const std::byte> data, std::size_t limit) {
    data = data.first(std::min<std::size_t>(data.size(), layout.bytes()));
    ReservedSearch search{data, limit, {}};
    search.visit(layout, 0, "");
    if (search.found.empty()) return {};  // the usual case needs no copy
    std::vector<std::byte> rest(data.begin(), data.end());
    clear_defined(layout, rest, 0);
    search = {rest, limit, {}};
    search.visit(layout, 0, "");
    return search.found;
}

}  // namespace cxsim::prm
