// SPDX-License-Identifier: Apache-2.0
#include "scenarios/prm_tools/replayer.h"

#include "model/base/endian.h"
#include "model/prm/command.h"
#include "model/prm/event_type.h"
#include "model/prm/view.h"
#include "prm/layouts.h"
#include "scenarios/prm_tools/symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace cxsim::scenarios {

using prm::Opcode;

namespace {

// A driver would have given up long before; the card answers within milliseconds.
constexpr model::Picoseconds kCommandLimit = model::seconds(10);
constexpr model::Picoseconds kEventLimit = model::milliseconds(100);
constexpr std::uint64_t kNicInterfaceOffset = 0x14;
constexpr unsigned kNicInterfaceShift = 8;
constexpr std::uint8_t kPowerManagement = 0x01;
constexpr std::uint16_t kPowerState = 4;
constexpr std::uint64_t kMostPageBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostListed = std::uint64_t{1} << 18;

[[noreturn]] void bad_value(const Block& block, const RecordedValue& value) {
    throw DriverError(fmt::format("recording, block at line {}: {} = {} is not understood",
                                  block.line, value.path, value.text));
}

std::uint64_t number_of(const Block& block, const RecordedValue& value, std::string_view text) {
    std::uint64_t number = 0;
    const int base = text.starts_with("0x") ? 16 : 10;
    if (base == 16) text.remove_prefix(2);
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) {
        bad_value(block, value);
    }
    return number;
}

std::vector<std::byte> bytes_of(const Block& block, const RecordedValue& value) {
    std::vector<std::byte> bytes;
    std::string_view text = value.text;
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
        for (const char c : text.substr(1, text.size() - 2))
            bytes.push_back(static_cast<std::byte>(c));
        return bytes;
    }
    if (text.starts_with("$key")) {
        // Any bytes do, as long as they are the same wherever the name stands.
        const std::size_t bracket = text.find('[');
        if (bracket == text.npos || !text.ends_with(']')) bad_value(block, value);
        const std::uint64_t number = number_of(block, value, text.substr(4, bracket - 4));
        const std::uint64_t size =
            number_of(block, value, text.substr(bracket + 1, text.size() - bracket - 2));
        if (size > kMostListed) bad_value(block, value);
        for (std::uint64_t i = 0; i < size; ++i) {
            bytes.push_back(static_cast<std::byte>(number * 31 + i * 7 + 1));
        }
        return bytes;
    }
    if (!text.starts_with("hex:") || text.size() % 2 != 0) bad_value(block, value);
    for (text.remove_prefix(4); !text.empty(); text.remove_prefix(2)) {
        unsigned byte = 0;
        const auto parsed = std::from_chars(text.data(), text.data() + 2, byte, 16);
        if (parsed.ptr != text.data() + 2) bad_value(block, value);
        bytes.push_back(static_cast<std::byte>(byte));
    }
    return bytes;
}

std::string value_text(const NamedValue& value) {
    switch (value.place.form) {
        case ValueForm::number:
            return fmt::format("{:#x}", value.number);
        case ValueForm::addresses:
            return fmt::format("{} addresses", value.addresses.size());
        case ValueForm::bytes:
            break;
    }
    std::string text = "hex:";
    for (const std::byte b : value.bytes)
        text += fmt::format("{:02x}", std::to_integer<unsigned>(b));
    return text;
}

std::string status_text(prm::Status status) {
    const std::string_view name = prm::status_name(status);
    return name.empty() ? fmt::format("{:#x}", static_cast<unsigned>(status)) : std::string(name);
}

}  // namespace

std::string Difference::text() const {
    const std::string who = command != 0 ? fmt::format("command {} {}", command, name) : name;
    return fmt::format("{} (line {}): {}: expected {}, got {}", who, line, member, expected, got);
}

Replayer::Replayer(Host& host, const Recording& recording)
    : host_(host),
      recording_(recording),
      port_(host,
            {.signatures = false, .timeout = kCommandLimit, .boot_timeout = model::seconds(120)}) {}

Replayer::~Replayer() = default;

ReplayResult Replayer::run(const std::function<void(std::size_t)>& progress) {
    std::size_t done = 0;
    for (const Block& block : recording_.blocks) {
        const auto skip = [&](std::string reason) {
            const std::string name = block.kind == BlockKind::command ? command_name(block.opcode)
                                                                      : std::string("command");
            result_.skipped.push_back({block.number, block.line, name, std::move(reason), false});
        };
        if (block.function != 0) {
            if (block.kind == BlockKind::command) skip("of another function");
        } else {
            switch (block.kind) {
                case BlockKind::command:
                    command(block);
                    break;
                case BlockKind::event:
                    event(block);
                    break;
                case BlockKind::reset:
                    reset(block);
                    break;
                case BlockKind::queue:
                    open_queue();
                    break;
                case BlockKind::nic_interface:
                    host_.mmio_write32(kNicInterfaceOffset,
                                       block.nic_interface << kNicInterfaceShift);
                    break;
                case BlockKind::lost:
                    skip("never ended in the recording");
                    break;
                case BlockKind::undelivered:
                    skip("was not delivered in the recording");
                    break;
            }
        }
        if (progress) progress(++done);
    }
    collect_events();
    for (const auto& [key, events] : seen_) {
        const auto type = static_cast<prm::EventType>(key.first);
        if (type == prm::EventType::CMD || type == prm::EventType::COMP) continue;
        for (std::size_t i = 0; i < events.size(); ++i) {
            result_.differences.push_back({0, 0,
                                           fmt::format("event {}", prm::event_type_name(key.first)),
                                           "event", "none more", "one more"});
        }
    }
    result_.simulated = host_.now();
    return std::move(result_);
}

void Replayer::open_queue() {
    if (!enabled_) host_.enable();
    enabled_ = true;
    port_.open();
}

void Replayer::reset(const Block& block) {
    collect_events();
    switch (block.reset) {
        case model::ResetKind::conventional:
            host_.hot_reset();
            break;
        case model::ResetKind::function_level:
            host_.function_level_reset();
            break;
        case model::ResetKind::power_state: {
            const std::uint16_t power = host_.find_capability(kPowerManagement);
            const auto at = static_cast<std::uint16_t>(power + kPowerState);
            host_.config_write(at, 3, 2);
            host_.wait_for(model::milliseconds(10));
            host_.config_write(at, 0, 2);
            host_.wait_for(model::milliseconds(10));
            break;
        }
    }
    enabled_ = false;
    port_.abandon();
    queues_.clear();
    given_.clear();
}

// ---- Symbols -----------------------------------------------------------------------------------

Replayer::Reference Replayer::parse(const Block& block, const RecordedValue& value) {
    Reference reference;
    std::string_view text = value.text;
    if (!text.starts_with('$') && !text.starts_with('*')) {
        reference.addend = number_of(block, value, text);
        return reference;
    }
    reference.anonymous = text.starts_with('*');
    if (const std::size_t plus = text.find('+'); plus != text.npos) {
        reference.addend = number_of(block, value, text.substr(plus + 1));
        text = text.substr(0, plus);
    }
    if (text.ends_with(']')) {
        const std::size_t bracket = text.find('[');
        if (bracket == text.npos) bad_value(block, value);
        reference.count =
            number_of(block, value, text.substr(bracket + 1, text.size() - bracket - 2));
        if (reference.count > kMostListed) bad_value(block, value);
        reference.list = true;
        text = text.substr(0, bracket);
    }
    reference.symbol = text;
    return reference;
}

std::uint64_t Replayer::page(const std::string& symbol) {
    const auto [place, fresh] = pages_.try_emplace(symbol, 0);
    if (fresh) place->second = host_.memory().allocate(4096, 4096).value;
    return place->second;
}

// Contexts say how large the pages of their lists are.
std::uint64_t Replayer::page_bytes_of(const Block& block) {
    for (const RecordedValue& value : block.in) {
        const bool context = value.path.ends_with("log_page_size");
        const bool queue = value.path.ends_with("log_wq_pg_sz");
        if (!context && !queue) continue;
        const std::uint64_t log = std::min<std::uint64_t>(number_of(block, value, value.text), 40);
        const bool absolute = static_cast<Opcode>(block.opcode) == Opcode::CREATE_MKEY;
        return std::min(kMostPageBytes, std::uint64_t{absolute ? 1U : 4096U} << log);
    }
    return 4096;
}

const Replayer::Buffer& Replayer::buffer(const std::string& symbol, std::uint64_t count,
                                         std::uint64_t page_bytes) {
    const auto [place, fresh] = buffers_.try_emplace(symbol);
    Buffer& made = place->second;
    if (fresh) {
        made.page_bytes = std::max<std::uint64_t>(page_bytes, 4096);
        const std::uint64_t start =
            host_.memory().allocate(count * made.page_bytes, made.page_bytes).value;
        for (std::uint64_t i = 0; i < count; ++i) made.pages.push_back(start + i * made.page_bytes);
    }
    return made;
}

bool Replayer::put(const Message& message, const Block& block, const RecordedValue& value,
                   std::span<std::byte> data, std::string& missing) {
    const auto place = message.find(value.path);
    if (!place) {
        throw DriverError(fmt::format("recording, block at line {}: {} has no member {}",
                                      block.line, command_name(block.opcode), value.path));
    }
    if (place->form == ValueForm::bytes) {
        put_bytes(data, *place, bytes_of(block, value));
        return true;
    }
    const Reference reference = parse(block, value);
    if (reference.list) {
        if (place->form != ValueForm::addresses) bad_value(block, value);
        std::vector<std::uint64_t> list =
            buffer(reference.symbol, reference.count, page_bytes_of(block)).pages;
        for (std::uint64_t& address : list) address += reference.addend;
        put_addresses(data, *place, list);
        return true;
    }
    std::uint64_t number = reference.addend;
    if (reference.symbol.starts_with("$page")) {
        number += page(reference.symbol);
    } else if (!reference.symbol.empty()) {
        const auto object = objects_.find(reference.symbol);
        if (object == objects_.end()) {
            missing = reference.symbol;
            return false;
        }
        number += object->second;
    }
    if (place->form != ValueForm::number || (place->width < 64 && number >> place->width != 0)) {
        bad_value(block, value);
    }
    put_number(data, *place, number);
    return true;
}

// ---- Commands ----------------------------------------------------------------------------------

bool Replayer::fill_input(const Block& block, std::vector<std::byte>& input, std::string& missing) {
    input.assign(block.input_bytes, std::byte{0});
    if (input.size() < 8)
        throw DriverError(fmt::format("recording, block at line {}: no bytes", block.line));
    model::store_be<std::uint16_t>(input.data(), block.opcode);
    model::store_be<std::uint16_t>(input.data() + 6, block.op_mod);
    // What a command holds may depend on its first members (register id, access mode): those
    // that are found without go first.
    const Message plain = Message::input(input);
    std::vector<const RecordedValue*> later;
    for (const RecordedValue& value : block.in) {
        if (value.text.starts_with("$buf") || !plain.find(value.path)) {
            later.push_back(&value);
        } else if (!put(plain, block, value, input, missing)) {
            return false;
        }
    }
    if (later.empty()) return true;
    const Message whole = Message::input(input);
    return std::ranges::all_of(later, [&](const RecordedValue* value) {
        return put(whole, block, *value, input, missing);
    });
}

void Replayer::command(const Block& block) {
    std::vector<std::byte> input;
    std::string missing;
    if (!fill_input(block, input, missing)) {
        const bool consequence = wanted_.contains(missing);
        result_.skipped.push_back({block.number, block.line, command_name(block.opcode),
                                   "needs " + missing + ", which the card has not made",
                                   consequence});
        if (!consequence) {
            differ(block, "input", missing + " to exist", "no such object in this recording");
        }
        // What this one would have made is missing, too.
        for (const RecordedValue& value : block.out) {
            if (makes_objects(block.opcode) && value.text.starts_with('$'))
                wanted_.insert(value.text);
        }
        return;
    }
    before(block, input);
    const CommandResult result = port_.execute(input, block.output_bytes);
    ++result_.commands;
    compare(block, input, result);
    after(block, input, result);
    collect_events();
}

void Replayer::differ(const Block& block, std::string member, std::string expected,
                      std::string got) {
    const std::string name = block.kind == BlockKind::event
                                 ? fmt::format("event {}", prm::event_type_name(block.event_type))
                                 : command_name(block.opcode);
    result_.differences.push_back(
        {block.number, block.line, name, std::move(member), std::move(expected), std::move(got)});
}

// Expected output in this run's numbers. New objects get their numbers from what the card answered.
bool Replayer::expect(const Block& block, const Message& message, std::span<const std::byte> got,
                      std::vector<std::byte>& expected) {
    expected.assign(got.size(), std::byte{0});
    const bool creates = makes_objects(block.opcode);
    for (const RecordedValue& value : block.out) {
        const auto place = message.find(value.path);
        if (value.text.starts_with('*') && place && place->form == ValueForm::addresses) {
            const std::uint64_t count = parse(block, value).count;
            std::vector<std::uint64_t> back;
            for (std::size_t at = place->bit / 8; at + 8 <= got.size() && back.size() < count;
                 at += 8) {
                back.push_back(model::load_be<std::uint64_t>(got.data() + at));
            }
            const bool ours = std::ranges::all_of(
                back, [&](std::uint64_t address) { return given_.erase(address) == 1; });
            if (!ours) {
                differ(block, value.path, "pages that were given to the card", "others");
            }
            put_addresses(expected, *place, back);
            continue;
        }
        if (creates && value.text.starts_with('$') && place && place->form == ValueForm::number &&
            !objects_.contains(value.text)) {
            const std::uint64_t number = place->bit + place->width <= got.size() * 8
                                             ? prm::get_bits(got, place->bit, place->width)
                                             : 0;
            objects_[value.text] = number;
            put_number(expected, *place, number);
            continue;
        }
        std::string missing;
        if (!put(message, block, value, expected, missing)) {
            differ(block, value.path, missing, "an object that this card has not made");
            return false;
        }
    }
    return true;
}

void Replayer::compare(const Block& block, std::span<const std::byte> input,
                       const CommandResult& result) {
    if (result.delivery != prm::DeliveryStatus::OK) {
        differ(block, "delivery", "OK", std::string(prm::delivery_status_name(result.delivery)));
    }
    if (result.status() != block.status || result.delivery != prm::DeliveryStatus::OK) {
        differ(block, "status", status_text(block.status), status_text(result.status()));
        for (const RecordedValue& value : block.out) {
            if (makes_objects(block.opcode) && value.text.starts_with('$'))
                wanted_.insert(value.text);
        }
    }
    if (result.syndrome() != block.syndrome) {
        differ(block, "syndrome", fmt::format("{:#x}", block.syndrome),
               fmt::format("{:#x}", result.syndrome()));
    }
    if (!result.ok() || block.status != prm::Status::OK) return;
    const Message message = Message::output(input);
    std::vector<std::byte> got(result.output);
    if (got.size() >= 8) {
        got[0] = std::byte{0};
        std::fill_n(got.begin() + 4, 4, std::byte{0});
    }
    std::vector<std::byte> expected;
    if (!expect(block, message, got, expected) || expected == got) return;
    std::map<std::string, std::pair<std::string, std::string>> members;
    for (const NamedValue& value : message.decode(expected)) {
        if (!is_volatile(block.opcode, value.path, value.leaf)) {
            members[value.path].first = value_text(value);
        }
    }
    for (const NamedValue& value : message.decode(got)) {
        if (!is_volatile(block.opcode, value.path, value.leaf)) {
            members[value.path].second = value_text(value);
        }
    }
    for (auto& [path, values] : members) {
        auto& [wanted, seen] = values;
        if (wanted == seen) continue;
        differ(block, path, wanted.empty() ? "0x0" : wanted, seen.empty() ? "0x0" : seen);
    }
}

// ---- Events ------------------------------------------------------------------------------------

// The ring of an event queue is made ready before the card may write into it.
void Replayer::before(const Block& block, std::span<const std::byte> input) {
    const auto opcode = static_cast<Opcode>(block.opcode);
    if (opcode == Opcode::MANAGE_PAGES && block.op_mod == 1) {
        for (const RecordedValue& value : block.in) {
            if (!value.text.starts_with("$buf")) continue;
            const Buffer& pages = buffers_.at(parse(block, value).symbol);
            given_.insert(pages.pages.begin(), pages.pages.end());
        }
    }
    if (opcode != Opcode::CREATE_EQ || input.size() < prm::create_eq_in::kBytes) return;
    const prm::ConstView<prm::create_eq_in> in(input);
    const auto context = in.nested<prm::create_eq_in::eq_context_entry>();
    std::vector<model::HostAddress> ring;
    std::uint64_t page_bytes = 4096;
    for (const RecordedValue& value : block.in) {
        if (!value.text.starts_with("$buf")) continue;
        const Buffer& pages = buffers_.at(parse(block, value).symbol);
        page_bytes = pages.page_bytes;
        for (const std::uint64_t address : pages.pages) ring.push_back({address});
    }
    const auto log_size = context.get<prm::eqc::log_eq_size>();
    const std::uint64_t needed = EventQueue::kEntryBytes << log_size;
    const bool usable = log_size < 24 && needed <= ring.size() * page_bytes &&
                        context.get<prm::eqc::page_offset>() == 0 &&
                        context.get<prm::eqc::intr>() < host_.vectors();
    if (!usable) return;
    next_queue_ = std::make_unique<EventQueue>(host_, std::move(ring), page_bytes, log_size,
                                               context.get<prm::eqc::uar_page>(),
                                               context.get<prm::eqc::intr>());
}

void Replayer::after(const Block& block, std::span<const std::byte> input,
                     const CommandResult& result) {
    const auto opcode = static_cast<Opcode>(block.opcode);
    if (opcode == Opcode::CREATE_EQ) {
        std::unique_ptr<EventQueue> queue = std::move(next_queue_);
        if (queue == nullptr || !result.ok()) return;
        queue->set_number(
            prm::ConstView<prm::create_eq_out>(result.output).get<prm::create_eq_out::eq_number>());
        queue->arm();
        queues_.push_back(std::move(queue));
    } else if (opcode == Opcode::DESTROY_EQ && result.ok()) {
        const auto number =
            prm::ConstView<prm::destroy_eq_in>(input).get<prm::destroy_eq_in::eq_number>();
        std::erase_if(queues_, [&](const auto& queue) { return queue->number() == number; });
    } else if (opcode == Opcode::TEARDOWN_HCA && result.ok()) {
        collect_events();
    } else if (opcode == Opcode::DISABLE_HCA && result.ok()) {
        queues_.clear();
        given_.clear();
    }
}

void Replayer::collect_events() {
    for (const auto& queue : queues_) {
        if (!queue->interrupted()) continue;
        while (const auto next = queue->poll()) {
            if (next->type == prm::EventType::CMD || next->type == prm::EventType::COMP) continue;
            seen_[{static_cast<std::uint8_t>(next->type), next->subtype}].push_back(*next);
        }
        queue->arm();
    }
}

void Replayer::event(const Block& block) {
    const auto type = static_cast<prm::EventType>(block.event_type);
    // Command events follow from the commands, completion events from traffic.
    if (type == prm::EventType::CMD || type == prm::EventType::COMP) return;
    auto& events = seen_[{block.event_type, block.event_subtype}];
    ++result_.events;
    const bool came = host_.wait_until(
        [&] {
            collect_events();
            return !events.empty();
        },
        kEventLimit);
    if (!came) {
        differ(block, "event", "one",
               fmt::format("none within {} ms", kEventLimit.seconds() * 1e3));
        return;
    }
    std::vector<std::byte> got(prm::eqe::kBytes);
    std::ranges::copy(events.front().data,
                      prm::View<prm::eqe>(got).bytes<prm::eqe::event_data>().begin());
    events.pop_front();
    const Message message = Message::event(block.event_type);
    std::vector<std::byte> expected(got.size());
    std::string missing;
    for (const RecordedValue& value : block.data) {
        if (!put(message, block, value, expected, missing)) {
            differ(block, value.path, missing, "an object that this card has not made");
            return;
        }
    }
    if (expected == got) return;
    std::map<std::string, std::pair<std::string, std::string>> members;
    for (const NamedValue& value : message.decode(expected))
        members[value.path].first = value_text(value);
    for (const NamedValue& value : message.decode(got))
        members[value.path].second = value_text(value);
    for (auto& [path, values] : members) {
        auto& [wanted, seen] = values;
        if (wanted == seen) continue;
        differ(block, path, wanted.empty() ? "0x0" : wanted, seen.empty() ? "0x0" : seen);
    }
}

}  // namespace cxsim::scenarios
