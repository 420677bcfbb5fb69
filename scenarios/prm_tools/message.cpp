// SPDX-License-Identifier: Apache-2.0
#include "scenarios/prm_tools/message.h"

#include "model/base/endian.h"
#include "model/prm/command.h"
#include "model/prm/event_type.h"
#include "model/prm/hca_cap.h"
#include "model/prm/register_id.h"
#include "model/prm/view.h"
#include "prm/layouts.h"
#include "scenarios/prm_tools/symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace cxsim::scenarios {

using prm::FieldInfo;
using prm::LayoutInfo;

namespace {

constexpr std::uint32_t kHeaderBytes = 16;  // of ACCESS_REG in front of the register
constexpr std::uint32_t kAccessModeMtt = 1;
constexpr std::string_view kRaw = "raw[";

std::uint16_t opcode_of(std::span<const std::byte> input) {
    return input.size() < 2 ? std::uint16_t{0} : model::load_be<std::uint16_t>(input.data());
}

bool is_address_list(const FieldInfo& field) {
    return field.name == "pas" && field.count == 0 && field.bit_width == 64;
}

// Destinations and counters of a flow rule share a list of 8-byte entries; the header's union is as
// wide as its widest member, which only rules with extended destinations have.
constexpr std::string_view kRuleList = "dest_format_flow_counter_list_auto";
constexpr std::uint32_t kRuleEntryBits = 64;

bool is_rule_list(const FieldInfo& field) {
    return field.nested != nullptr && field.count == 0 && field.nested->name == kRuleList;
}

// A doorbell record's address in two members, the lower without its two zero bits: told as one.
constexpr std::string_view kSplitAddress = "db_record_addr";
constexpr std::string_view kSplitAddressHigh = "db_record_addr_h";

// Keys are bytes whatever the words in which the header writes them.
bool is_byte_string(const FieldInfo& field) {
    return field.array && field.nested == nullptr &&
           (field.bit_width == 8 || is_random_key(field.name));
}

// "flow_context.destination[2].destination_id"
std::optional<Place> find_rule_entry(const LayoutInfo& layout, std::string_view path) {
    const std::size_t bracket = path.rfind('[');
    const std::size_t end = path.find("].", bracket == path.npos ? 0 : bracket);
    if (bracket == path.npos || end == path.npos) return {};
    const auto list = prm::find_path(layout, path.substr(0, bracket));
    if (!list || !is_rule_list(*list->field)) return {};
    std::uint32_t index = 0;
    const char* last = path.data() + end;
    const auto parsed = std::from_chars(path.data() + bracket + 1, last, index);
    if (parsed.ec != std::errc{} || parsed.ptr != last || index > (1U << 20)) return {};
    const std::string_view name = path.substr(end + 2);
    auto member = prm::find_path(prm::layout_info<prm::dest_format_struct>(), name);
    if (!member) member = prm::find_path(prm::layout_info<prm::flow_counter_list>(), name);
    if (!member) return {};
    return Place{list->bit_offset + index * kRuleEntryBits + member->bit_offset, member->bit_width,
                 ValueForm::number};
}

}  // namespace

/// Bits of the message that have not been told yet.
struct Message::Walk {
    std::span<const std::byte> before;  // the whole message
    std::vector<std::byte> rest;
    std::vector<NamedValue> found;

    std::uint32_t bits() const { return static_cast<std::uint32_t>(rest.size()) * 8; }
    bool any(std::uint32_t bit, std::uint32_t end) const {
        end = std::min(end, bits());
        for (; bit < end && bit % 8 != 0; ++bit) {
            if (prm::detail::load_bits(rest.data(), bit, 1) != 0) return true;
        }
        for (; bit + 8 <= end; bit += 8) {
            if (rest[bit / 8] != std::byte{0}) return true;
        }
        for (; bit < end; ++bit) {
            if (prm::detail::load_bits(rest.data(), bit, 1) != 0) return true;
        }
        return false;
    }
};

void Message::choose(std::span<const std::byte> input) {
    const auto opcode = static_cast<prm::Opcode>(opcode_of(input));
    const std::uint16_t op_mod = prm::layout_selector(input);
    switch (opcode) {
        case prm::Opcode::QUERY_HCA_CAP:
        case prm::Opcode::SET_HCA_CAP: {
            const auto* group = prm::find_hca_cap_type(prm::hca_cap_type_of(op_mod));
            if (group != nullptr) union_member_ = group->layout;
            break;
        }
        case prm::Opcode::ACCESS_REG: {
            if (input.size() < kHeaderBytes) break;
            const auto id = model::load_be<std::uint16_t>(input.data() + 10);
            if (const LayoutInfo* layout = prm::register_layout(id)) {
                section_ = Section{layout->name, layout, kHeaderBytes};
            }
            break;
        }
        case prm::Opcode::CREATE_MKEY:
            if (input.size() >= prm::create_mkey_in::kBytes) {
                const auto mkc = prm::ConstView<prm::create_mkey_in>(input)
                                     .nested<prm::create_mkey_in::memory_key_mkey_entry>();
                translations_are_addresses_ =
                    mkc.get<prm::mkc::access_mode_1_0>() == kAccessModeMtt &&
                    mkc.get<prm::mkc::access_mode_4_2>() == 0;
            }
            break;
        default:
            break;
    }
}

Message Message::input(std::span<const std::byte> input) {
    Message message;
    message.layout_ = prm::input_layout(opcode_of(input), prm::layout_selector(input));
    message.choose(input);
    return message;
}

Message Message::output(std::span<const std::byte> input) {
    Message message;
    message.layout_ = prm::output_layout(opcode_of(input), prm::layout_selector(input));
    message.choose(input);
    return message;
}

Message Message::event(std::uint8_t type) {
    Message message;
    message.layout_ = &prm::layout_info<prm::eqe>();
    const auto* info = prm::find_event_type(type);
    message.union_member_ = info != nullptr ? info->data_member : std::string_view{};
    return message;
}

void Message::emit(Walk& walk, std::uint32_t bit, std::uint32_t width, std::string path,
                   std::string_view leaf) const {
    NamedValue value;
    value.path = std::move(path);
    value.leaf = leaf;
    value.place = {bit, width, ValueForm::number};
    value.number = prm::detail::load_bits(walk.rest.data(), bit, width);
    prm::detail::store_bits(walk.rest.data(), bit, width, 0);
    walk.found.push_back(std::move(value));
}

void Message::visit_field(Walk& walk, const FieldInfo& field, std::uint32_t base,
                          const std::string& prefix) const {
    const std::uint32_t start = base + field.bit_offset;
    if (start >= walk.bits()) return;
    const bool translations = translations_are_addresses_ && field.name == "klm_pas_mtt";
    if (is_address_list(field) || translations) {
        NamedValue value;
        value.path = prefix + std::string(field.name);
        value.leaf = field.name;
        value.place = {start, 0, ValueForm::addresses};
        for (std::size_t at = start / 8; at + 8 <= walk.rest.size(); at += 8) {
            value.addresses.push_back(model::load_be<std::uint64_t>(walk.rest.data() + at));
        }
        while (!value.addresses.empty() && value.addresses.back() == 0) value.addresses.pop_back();
        if (value.addresses.empty()) return;
        std::fill_n(walk.rest.begin() + start / 8, value.addresses.size() * 8, std::byte{0});
        walk.found.push_back(std::move(value));
        return;
    }
    if (field.name == kSplitAddressHigh && start + 64 <= walk.bits()) {
        if (walk.any(start, start + 64)) {
            emit(walk, start, 64, prefix + std::string(kSplitAddress), kSplitAddress);
        }
        return;
    }
    if (is_rule_list(field)) {
        visit_rule_list(walk, base, start, prefix + std::string(field.name));
        return;
    }
    const std::uint32_t count =
        field.count > 0 ? field.count : (walk.bits() - start) / std::max(1U, field.bit_width);
    if (!walk.any(start, start + count * field.bit_width)) return;
    const bool wide = field.nested == nullptr && field.bit_width > 64 && field.bit_width % 8 == 0;
    if ((is_byte_string(field) || wide) && start % 8 == 0) {
        const std::size_t first = start / 8;
        const std::size_t size = std::min<std::size_t>(walk.rest.size() - first,
                                                       std::size_t{count} * field.bit_width / 8);
        const auto from = walk.rest.begin() + static_cast<std::ptrdiff_t>(first);
        NamedValue value;
        value.path = prefix + std::string(field.name);
        value.leaf = field.name;
        value.place = {start, static_cast<std::uint32_t>(size * 8), ValueForm::bytes};
        value.bytes.assign(from, from + static_cast<std::ptrdiff_t>(size));
        std::fill_n(from, size, std::byte{0});
        walk.found.push_back(std::move(value));
        return;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t bit = start + i * field.bit_width;
        if (bit >= walk.bits()) return;
        if (!walk.any(bit, bit + field.bit_width)) continue;
        std::string path = prefix + std::string(field.name);
        if (field.array) path += fmt::format("[{}]", i);
        if (field.nested != nullptr) {
            visit(walk, *field.nested, bit, path + ".");
        } else if (field.bit_width <= 64 && bit + field.bit_width <= walk.bits()) {
            emit(walk, bit, field.bit_width, std::move(path), field.name);
        }
    }
}

void Message::visit_rule_list(Walk& walk, std::uint32_t context, std::uint32_t start,
                              const std::string& name) const {
    const prm::ConstView<prm::flow_context> rule(
        std::span<const std::byte>(walk.before).subspan(context / 8));
    if (rule.get<prm::flow_context::extended_destination>() != 0) return;  // raw dwords
    const auto destinations = rule.get<prm::flow_context::destination_list_size>();
    for (std::uint32_t i = 0; start + (i + 1) * kRuleEntryBits <= walk.bits(); ++i) {
        const LayoutInfo& entry = i < destinations ? prm::layout_info<prm::dest_format_struct>()
                                                   : prm::layout_info<prm::flow_counter_list>();
        visit(walk, entry, start + i * kRuleEntryBits, fmt::format("{}[{}].", name, i));
    }
}

void Message::visit(Walk& walk, const LayoutInfo& layout, std::uint32_t base,
                    const std::string& prefix) const {
    if (layout.is_union && !union_member_.empty()) {
        // What the union does not mean stays for the raw dwords.
        if (const FieldInfo* chosen = layout.find(union_member_)) {
            visit_field(walk, *chosen, base, prefix);
            return;
        }
    }
    for (const FieldInfo& field : layout.fields) {
        if (!field.reserved) visit_field(walk, field, base, prefix);
    }
}

std::vector<NamedValue> Message::decode(std::span<const std::byte> data) const {
    Walk walk{data, {data.begin(), data.end()}, {}};
    if (section_ && data.size() > section_->offset) {
        visit(walk, *section_->layout, section_->offset * 8, std::string(section_->name) + ".");
    }
    if (layout_ != nullptr) visit(walk, *layout_, 0, "");
    for (std::size_t at = 0; at < walk.rest.size(); at += 4) {
        const auto bits =
            static_cast<std::uint32_t>(std::min<std::size_t>(4, walk.rest.size() - at) * 8);
        const auto bit = static_cast<std::uint32_t>(at * 8);
        if (walk.any(bit, bit + bits)) emit(walk, bit, bits, fmt::format("raw[{:#x}]", at), "");
    }
    return std::move(walk.found);
}

std::optional<Place> Message::find(std::string_view path) const {
    if (path.starts_with(kRaw)) {
        std::string_view digits = path.substr(kRaw.size());
        if (digits.starts_with("0x")) digits.remove_prefix(2);
        std::uint32_t at = 0;
        const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), at, 16);
        const bool closed =
            parsed.ec == std::errc{} && parsed.ptr + 1 == digits.data() + digits.size();
        if (!closed || *parsed.ptr != ']' || at > (1U << 24)) return {};
        return Place{at * 8, 32, ValueForm::number};
    }
    const LayoutInfo* layout = layout_;
    std::uint32_t base = 0;
    if (section_ && path.starts_with(section_->name) && path.size() > section_->name.size() &&
        path[section_->name.size()] == '.') {
        layout = section_->layout;
        base = section_->offset * 8;
        path.remove_prefix(section_->name.size() + 1);
    }
    if (layout == nullptr) return {};
    if (const auto entry = find_rule_entry(*layout, path)) return entry;
    if (path.ends_with(kSplitAddress)) {
        const auto high = prm::find_path(*layout, std::string(path) + "_h");
        if (high) return Place{base + high->bit_offset, 64, ValueForm::number};
    }
    const auto location = prm::find_path(*layout, path);
    if (!location || location->field->nested != nullptr) {
        // wq.pas has elements of a layout of its own and is one list all the same.
        if (!location || !is_address_list(*location->field)) return {};
    }
    const FieldInfo& field = *location->field;
    const std::uint32_t bit = base + location->bit_offset;
    const bool whole = !path.ends_with(']');
    if (whole &&
        (is_address_list(field) || (translations_are_addresses_ && field.name == "klm_pas_mtt"))) {
        return Place{bit, 0, ValueForm::addresses};
    }
    if (whole && field.array && !is_byte_string(field)) return {};
    const std::uint32_t width = field.array && whole && field.count == 0 ? 0 : location->bit_width;
    if ((is_byte_string(field) && whole) || width > 64) return Place{bit, width, ValueForm::bytes};
    return Place{bit, width, ValueForm::number};
}

void put_number(std::span<std::byte> data, const Place& place, std::uint64_t value) {
    const std::size_t bits = data.size() * 8;
    if (place.bit >= bits || place.width == 0) return;
    std::uint32_t width = place.width;
    if (place.bit + width > bits) {
        const auto beyond = static_cast<std::uint32_t>(place.bit + width - bits);
        value >>= beyond;
        width -= beyond;
    }
    value |= prm::detail::load_bits(data.data(), place.bit, width);
    prm::detail::store_bits(data.data(), place.bit, width, value);
}

void put_bytes(std::span<std::byte> data, const Place& place, std::span<const std::byte> value) {
    const std::size_t first = place.bit / 8;
    for (std::size_t i = 0; i < value.size() && first + i < data.size(); ++i) {
        data[first + i] |= value[i];
    }
}

void put_addresses(std::span<std::byte> data, const Place& place,
                   std::span<const std::uint64_t> value) {
    std::size_t at = place.bit / 8;
    for (const std::uint64_t address : value) {
        if (at + 8 > data.size()) return;
        model::store_be<std::uint64_t>(data.data() + at, address);
        at += 8;
    }
}

}  // namespace cxsim::scenarios
