// SPDX-License-Identifier: Apache-2.0
#include "model/prm/decode.h"

#include <fmt/format.h>

#include <algorithm>

namespace cxsim::prm {

namespace {

using Json = nlohmann::ordered_json;

/// Walks a layout over data that may be too short; `end` is where the enclosing member ends (bits).
class Decoder {
  public:
    Decoder(std::span<const std::byte> data, const DecodeOptions& options)
        : data_(data), options_(options) {}

    Json layout(const LayoutInfo& info, std::size_t base, std::size_t end) const {
        Json result = Json::object();
        for (const FieldInfo& f : info.fields) {
            if (hidden(info, f)) continue;
            const std::size_t at = base + f.bit_offset;
            if (f.array) {
                const std::size_t count = elements(f, at, end);
                if (count == 0) continue;
                const bool zero = is_zero(at, count * f.bit_width);
                if (zero && (options_.omit_zero || f.reserved)) continue;
                result[std::string(f.name)] = array(f, at, count);
            } else {
                if (at + f.bit_width > data_.size() * 8) continue;
                const std::size_t inner_end = f.open ? end : at + f.bit_width;
                const bool zero = is_zero(at, f.nested != nullptr ? inner_end - at : f.bit_width);
                if (zero && (options_.omit_zero || f.reserved)) continue;
                result[std::string(f.name)] = element(f, at, inner_end);
            }
        }
        return result;
    }

  private:
    /// Members of a union beside the one that the caller chose.
    bool hidden(const LayoutInfo& info, const FieldInfo& f) const {
        if (!info.is_union) return false;
        const auto chosen = [&](const FieldInfo& member) {
            return std::find(options_.union_members.begin(), options_.union_members.end(),
                             member.name) != options_.union_members.end();
        };
        return std::any_of(info.fields.begin(), info.fields.end(), chosen) && !chosen(f);
    }

    std::size_t elements(const FieldInfo& f, std::size_t at, std::size_t end) const {
        end = std::min(end, data_.size() * 8);
        if (f.bit_width == 0 || at >= end) return 0;
        const std::size_t fit = (end - at) / f.bit_width;
        return f.count == 0 ? fit : std::min<std::size_t>(f.count, fit);
    }

    bool is_zero(std::size_t at, std::size_t width) const {
        const std::size_t end = std::min(at + width, data_.size() * 8);
        while (at < end) {
            const auto step = static_cast<std::uint32_t>(
                std::min<std::size_t>(at % 8 == 0 ? 64 : 8 - at % 8, end - at));
            if (detail::load_bits(data_.data(), at, step) != 0) return false;
            at += step;
        }
        return true;
    }

    /// Any number of bits as one hexadecimal number.
    std::string hex_string(std::size_t at, std::size_t width) const {
        std::string text = "0x";
        std::size_t first = width % 4 == 0 ? 4 : width % 4;
        for (std::size_t done = 0; done < width; done += first, first = 4) {
            const auto digit =
                detail::load_bits(data_.data(), at + done, static_cast<std::uint32_t>(first));
            text += "0123456789abcdef"[digit];
        }
        return text;
    }

    Json element(const FieldInfo& f, std::size_t at, std::size_t end) const {
        if (f.nested != nullptr) return layout(*f.nested, at, end);
        if (f.bit_width > 64) return hex_string(at, f.bit_width);
        const std::uint64_t value = detail::load_bits(data_.data(), at, f.bit_width);
        return options_.hex ? Json(fmt::format("{:#x}", value)) : Json(value);
    }

    Json array(const FieldInfo& f, std::size_t at, std::size_t count) const {
        if (f.nested == nullptr && f.bit_width == 8) return hex_string(at, count * 8);
        Json result = Json::array();
        for (std::size_t i = 0; i < count; ++i, at += f.bit_width) {
            result.push_back(element(f, at, at + f.bit_width));
        }
        return result;
    }

    std::span<const std::byte> data_;
    const DecodeOptions& options_;
};

void print(const Json& json, std::size_t indent, std::size_t max_elements, std::string& out);

void print_member(const std::string& name, const Json& value, std::size_t indent,
                  std::size_t max_elements, std::string& out) {
    if (value.is_array()) {
        for (std::size_t i = 0; i < std::min(value.size(), max_elements); ++i) {
            print_member(fmt::format("{}[{}]", name, i), value[i], indent, max_elements, out);
        }
        if (value.size() > max_elements) {
            out += fmt::format("{:{}}{}: {} more\n", "", indent, name, value.size() - max_elements);
        }
    } else if (value.is_object()) {
        out += fmt::format("{:{}}{}:\n", "", indent, name);
        print(value, indent + 2, max_elements, out);
    } else {
        out += fmt::format("{:{}}{}: {}\n", "", indent, name, value.get<std::string>());
    }
}

void print(const Json& json, std::size_t indent, std::size_t max_elements, std::string& out) {
    for (const auto& [name, value] : json.items()) {
        print_member(name, value, indent, max_elements, out);
    }
}

}  // namespace

Json to_json(const LayoutInfo& layout, std::span<const std::byte> data,
             const DecodeOptions& options) {
    return Decoder(data, options).layout(layout, 0, data.size() * 8);
}

std::string to_text(const LayoutInfo& layout, std::span<const std::byte> data,
                    const DecodeOptions& options, std::size_t indent) {
    DecodeOptions in_hex = options;
    in_hex.hex = true;
    std::string out;
    print(to_json(layout, data, in_hex), indent, options.max_elements, out);
    return out;
}

}  // namespace cxsim::prm
