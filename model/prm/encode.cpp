// SPDX-License-Identifier: Apache-2.0
#include "model/prm/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace cxsim::prm {

namespace {

using Json = nlohmann::ordered_json;

/// Writes members and remembers which bits are written, so that contradicting members of a union
/// are found. A growing encoder lengthens the data for a variable tail.
class Encoder {
  public:
    Encoder(std::vector<std::byte>& data, bool grow)
        : data_(data), written_(data.size()), grow_(grow) {}

    /// False after the first error.
    bool layout(const LayoutInfo& info, std::size_t base, const Json& json,
                const std::string& path) {
        if (!json.is_object()) return fail(path, "is not an object");
        for (const auto& [name, value] : json.items()) {
            const std::string member = path.empty() ? name : path + "." + name;
            const FieldInfo* f = info.find(name);
            if (f == nullptr) {
                return fail(member, fmt::format("unknown field of {}", info.name));
            }
            const std::size_t at = base + f->bit_offset;
            if (!(f->array ? array(*f, at, value, member) : element(*f, at, value, member))) {
                return false;
            }
        }
        return true;
    }

    std::string error;

  private:
    bool fail(const std::string& path, const std::string& what) {
        error = fmt::format("{}: {}", path.empty() ? "input" : path, what);
        return false;
    }

    bool room(std::size_t end, const std::string& path) {
        const std::size_t bytes = (end + 7) / 8;
        if (bytes > data_.size()) {
            if (!grow_) return fail(path, "does not fit into the buffer");
            data_.resize(bytes);
            written_.resize(bytes);
        }
        return true;
    }

    bool bits(std::size_t at, std::uint32_t width, std::uint64_t value, const std::string& path) {
        const std::uint64_t known = detail::load_bits(written_.data(), at, width);
        const std::uint64_t old = detail::load_bits(data_.data(), at, width);
        if (((old ^ value) & known) != 0) {
            return fail(path, "contradicts another member of the same place");
        }
        detail::store_bits(data_.data(), at, width, value);
        detail::store_bits(written_.data(), at, width, field_mask(width));
        return true;
    }

    bool element(const FieldInfo& f, std::size_t at, const Json& value, const std::string& path) {
        if (!room(at + f.bit_width, path)) return false;
        if (f.nested != nullptr) return layout(*f.nested, at, value, path);
        if (f.bit_width > 64) return hex(at, f.bit_width, value, path);
        std::uint64_t number = 0;
        if (value.is_boolean()) {
            number = value.get<bool>() ? 1 : 0;
        } else if (value.is_number_integer() && (value.is_number_unsigned() || value >= 0)) {
            number = value.get<std::uint64_t>();
        } else if (!value.is_string() || !parse(value.get<std::string>(), number)) {
            return fail(path, fmt::format("{} is no unsigned number of 64 bits", value.dump()));
        }
        if (number > field_mask(f.bit_width)) {
            return fail(path, fmt::format("{:#x} does not fit into {} bits", number, f.bit_width));
        }
        return bits(at, f.bit_width, number, path);
    }

    static bool parse(std::string_view text, std::uint64_t& number) {
        const bool is_hex = text.starts_with("0x");
        if (is_hex) text.remove_prefix(2);
        const char* end = text.data() + text.size();
        const auto result = std::from_chars(text.data(), end, number, is_hex ? 16 : 10);
        return result.ec == std::errc{} && result.ptr == end;
    }

    /// A hexadecimal number of any length, right-aligned.
    bool hex(std::size_t at, std::size_t width, const Json& value, const std::string& path) {
        if (!value.is_string()) return fail(path, "is not a \"0x...\" string");
        const auto text = value.get<std::string>();
        if (!text.starts_with("0x")) return fail(path, "is not a \"0x...\" string");
        std::size_t end = at + width;
        for (std::size_t i = text.size(); i-- > 2;) {
            std::uint64_t digit = 0;
            if (!parse("0x" + text.substr(i, 1), digit)) return fail(path, "is not hexadecimal");
            const auto step = static_cast<std::uint32_t>(std::min<std::size_t>(4, end - at));
            if (digit > (step == 0 ? 0 : field_mask(step))) {
                return fail(path, fmt::format("does not fit into {} bits", width));
            }
            if (step > 0 && !bits(end - step, step, digit, path)) return false;
            end -= step;
        }
        while (end > at) {  // digits that the text leaves out are zero
            const auto step = static_cast<std::uint32_t>(std::min<std::size_t>(4, end - at));
            if (!bits(end - step, step, 0, path)) return false;
            end -= step;
        }
        return true;
    }

    bool array(const FieldInfo& f, std::size_t at, const Json& value, const std::string& path) {
        const bool is_bytes = f.nested == nullptr && f.bit_width == 8 && value.is_string();
        if (is_bytes) {
            const std::size_t length = value.get<std::string>().size();
            const std::size_t digits = length < 2 ? 0 : length - 2;
            const std::size_t count = f.count == 0 ? (digits + 1) / 2 : f.count;
            return room(at + count * 8, path) && hex(at, count * 8, value, path);
        }
        if (!value.is_array()) return fail(path, "is not an array");
        if (f.count > 0 && value.size() > f.count) {
            return fail(path, fmt::format("has {} elements, at most {}", value.size(), f.count));
        }
        for (std::size_t i = 0; i < value.size(); ++i, at += f.bit_width) {
            if (!element(f, at, value[i], fmt::format("{}[{}]", path, i))) return false;
        }
        return true;
    }

    std::vector<std::byte>& data_;
    std::vector<std::byte> written_;
    bool grow_;
};

}  // namespace

Encoded encode(const LayoutInfo& layout, const Json& json) {
    Encoded result;
    result.data.resize(layout.bytes());
    Encoder encoder(result.data, true);
    encoder.layout(layout, 0, json, "");
    result.error = encoder.error;
    return result;
}

std::string encode_into(const LayoutInfo& layout, const Json& json, std::span<std::byte> data) {
    std::vector<std::byte> copy(data.begin(), data.end());
    Encoder encoder(copy, false);
    if (encoder.layout(layout, 0, json, "")) std::copy(copy.begin(), copy.end(), data.begin());
    return encoder.error;
}

}  // namespace cxsim::prm
