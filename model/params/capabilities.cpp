// SPDX-License-Identifier: Apache-2.0
#include "model/params/capabilities.h"

#include "model/base/assert.h"
#include "model/prm/bits.h"

#include <fmt/format.h>

#include <optional>

namespace cxsim::model {
namespace {

constexpr std::string_view kPrefix = "capabilities.";

enum class SectionKind { maximum, current, register_group };

struct Section {
    std::string layout;
    SectionKind kind;
};

Section parse_section(const IniEntry& entry) {
    const std::string& text = entry.section;
    const auto blank = text.find(' ');
    const std::string layout = text.substr(0, blank);
    const std::string rest = blank == std::string::npos ? "" : text.substr(blank + 1);
    if (rest.empty()) return {layout, SectionKind::maximum};
    if (rest == "current") return {layout, SectionKind::current};
    if (rest.compare(0, 6, "group ") == 0) {
        try {
            parse_unsigned(rest.substr(6), 255);
            return {layout, SectionKind::register_group};
        } catch (const ValueError&) {
            // Falls through to the error that names all forms.
        }
    }
    throw ConfigError(entry.value.place, text,
                      "expected [LAYOUT], [LAYOUT current] or [LAYOUT group NUMBER]");
}

const prm::LayoutInfo& known_layout(const Place& place, const std::string& name) {
    const prm::LayoutInfo* layout = prm::find_layout(name);
    if (layout == nullptr) {
        throw ConfigError(place, name, "no such PRM layout; see mlx5_ifc.h for the names");
    }
    return *layout;
}

void assign(CapabilityImage& image, const IniEntry& entry) {
    const Place& place = entry.value.place;
    try {
        image.set(entry.key, parse_unsigned(entry.value.text, UINT64_MAX));
    } catch (const ValueError& error) {
        throw ConfigError(place, entry.path(), error.what());
    }
}

template <class Images>
auto* find_image(Images& images, std::string_view name) {
    const auto found = images.find(name);
    return found == images.end() ? nullptr : &found->second;
}

/// The last part of a path that exists, so that the error can list its neighbours.
std::string siblings(const prm::LayoutInfo& layout) {
    std::string names;
    for (const auto& field : layout.fields) {
        if (field.reserved) continue;
        if (!names.empty()) names += ", ";
        names += field.name;
        if (names.size() > 200) return names + ", ...";
    }
    return names;
}

}  // namespace

CapabilityImage::CapabilityImage(const prm::LayoutInfo& layout)
    : layout_(&layout), bytes_(layout.bytes()) {}

std::uint64_t CapabilityImage::get(std::string_view path) const {
    const auto location = prm::find_path(*layout_, path);
    CX_ASSERT(location.has_value() && location->bit_width <= 64, "{} has no plain member {}",
              layout_->name, path);
    return prm::get_bits(bytes_, location->bit_offset, location->bit_width);
}

void CapabilityImage::set(std::string_view path, std::uint64_t value) {
    const auto location = prm::find_path(*layout_, path);
    if (!location) {
        throw ValueError(fmt::format("{} has no member '{}'; it has {}", layout_->name, path,
                                     siblings(*layout_)));
    }
    if (location->field->reserved) {
        throw ValueError(fmt::format("'{}' of {} is reserved", path, layout_->name));
    }
    if (location->field->nested != nullptr) {
        throw ValueError(fmt::format("'{}' is a structure; name one of its members: {}", path,
                                     siblings(*location->field->nested)));
    }
    if (location->bit_width == 0 || location->bit_width > 64) {
        throw ValueError(
            fmt::format("'{}' is an array; name an element such as {}[0]", path, path));
    }
    if (value > prm::field_mask(location->bit_width)) {
        throw ValueError(fmt::format("{} does not fit the {} bits of '{}'; at most {}", value,
                                     location->bit_width, path,
                                     prm::field_mask(location->bit_width)));
    }
    prm::set_bits(bytes_, location->bit_offset, location->bit_width, value);
}

Capabilities::Capabilities(const IniFile& file, std::span<const Override> overrides) {
    std::vector<const IniEntry*> current_entries;
    for (const IniEntry& entry : file.entries()) {
        const Section section = parse_section(entry);
        const auto& layout = known_layout(entry.value.place, section.layout);
        rows_.push_back({fmt::format("{}{}", kPrefix, entry.path()), entry.value.text,
                         entry.value.source, entry.value.note});
        switch (section.kind) {
            case SectionKind::maximum:
                assign(maximum_.try_emplace(section.layout, layout).first->second, entry);
                break;
            case SectionKind::register_group:
                assign(groups_.try_emplace(entry.section, layout).first->second, entry);
                break;
            case SectionKind::current:
                current_entries.push_back(&entry);
                break;
        }
    }
    for (const Override& entry : overrides) {
        if (entry.key.compare(0, kPrefix.size(), kPrefix) != 0) continue;
        const std::string key = entry.key.substr(kPrefix.size());
        const auto dot = key.find('.');
        const Place place{"command line", 0};
        CapabilityImage* image = find_image(maximum_, key.substr(0, dot));
        if (image == nullptr || dot == std::string::npos) {
            throw ConfigError(place, key,
                              "expected <layout>.<member> with a layout that the card has");
        }
        const SourcedText value{entry.value, Source::command_line, "", place};
        assign(*image, {key.substr(0, dot), key.substr(dot + 1), value});
        rows_.push_back({entry.key, entry.value, Source::command_line, ""});
    }
    current_ = maximum_;
    for (const IniEntry* entry : current_entries) {
        const std::string layout = parse_section(*entry).layout;
        CapabilityImage* image = find_image(current_, layout);
        if (image == nullptr) {
            throw ConfigError(entry->value.place, entry->section,
                              fmt::format("there is no [{}] with the maximum", layout));
        }
        assign(*image, *entry);
    }
}

const CapabilityImage* Capabilities::max(std::string_view layout) const {
    return find_image(maximum_, layout);
}

const CapabilityImage* Capabilities::current(std::string_view layout) const {
    return find_image(current_, layout);
}

const CapabilityImage* Capabilities::register_group(std::string_view layout, unsigned group) const {
    return find_image(groups_, fmt::format("{} group {}", layout, group));
}

std::uint64_t Capabilities::max_value(std::string_view layout, std::string_view path) const {
    const CapabilityImage* image = max(layout);
    return image == nullptr ? 0 : image->get(path);
}

std::vector<std::string_view> Capabilities::layouts() const {
    std::vector<std::string_view> names;
    for (const auto& [name, image] : maximum_) names.push_back(name);
    return names;
}

}  // namespace cxsim::model
