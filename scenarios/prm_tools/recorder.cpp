// SPDX-License-Identifier: Apache-2.0
#include "scenarios/prm_tools/recorder.h"

#include "firmware_stub/boot/init_segment.h"
#include "model/base/endian.h"
#include "model/prm/command.h"
#include "model/prm/event_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace cxsim::scenarios {

using model::FunctionId;
using model::Picoseconds;

namespace {

constexpr std::uint64_t kQueueAddressLow = 0x14;
constexpr std::uint64_t kCommandDoorbell = 0x18;
constexpr std::uint32_t kNicInterfaceShift = 8;
constexpr std::uint32_t kNicInterfaceMask = 7;

std::string bytes_text(std::span<const std::byte> bytes) {
    // Texts end in zeros; anything else is shown as it is.
    std::size_t size = bytes.size();
    while (size > 0 && bytes[size - 1] == std::byte{0}) --size;
    const bool printable = std::ranges::all_of(bytes.first(size), [](std::byte b) {
        const auto c = std::to_integer<unsigned char>(b);
        return std::isprint(c) != 0 && c != '"' && c != '\\';
    });
    std::string text;
    if (printable) {
        for (const std::byte b : bytes.first(size)) text += std::to_integer<char>(b);
        return '"' + text + '"';
    }
    for (const std::byte b : bytes.first(size)) {
        text += fmt::format("{:02x}", std::to_integer<unsigned>(b));
    }
    return "hex:" + text;
}

std::string time_text(Picoseconds at) {
    return fmt::format("{:.9f} s", at.seconds());
}

std::string function_text(std::uint16_t function) {
    return function == 0 ? std::string{} : fmt::format(" function {}", function);
}

bool told_by_default(prm::EventType type) {
    return type != prm::EventType::CMD && type != prm::EventType::COMP;
}

}  // namespace

Recorder::Recorder(const Card& card, RecorderOptions options,
                   std::function<void(std::string_view)> write)
    : write_(std::move(write)), options_(std::move(options)) {
    const CardSetup& setup = card.setup();
    std::string text =
        fmt::format("cxsim-prm-recording 1\ncard {}\nseed {}\ninstance {}\nhost {}\n", setup.model,
                    setup.seed, setup.instance, setup.host_profile);
    for (const std::string& value : options_.overrides) text += fmt::format("set {}\n", value);
    text +=
        fmt::format("clock {}\n\n", options_.clock == RecordingClock::wall ? "wall" : "simulated");
    write_(text);
}

void Recorder::add(FunctionId function, Picoseconds at,
                   std::function<std::string(SymbolTable&)> text) {
    Entry entry;
    entry.ended = true;
    entry.function = function.value;
    entry.at = at;
    entry.text = std::move(text);
    entries_.push_back(std::move(entry));
    flush();
}

void Recorder::bar_write(FunctionId function, Picoseconds arrival, std::uint64_t offset,
                         std::span<const std::byte> from) {
    if (offset + from.size() > firmware_stub::InitSegment::kBytes || offset % 4 != 0 ||
        from.size() % 4 != 0) {
        return;
    }
    for (std::size_t i = 0; i < from.size(); i += 4) {
        dword_written(function, arrival, offset + i,
                      model::load_be<std::uint32_t>(from.data() + i));
    }
}

void Recorder::dword_written(FunctionId function, Picoseconds at, std::uint64_t offset,
                             std::uint32_t value) {
    const std::uint16_t f = function.value;
    if (offset == kQueueAddressLow) {
        const std::uint32_t interface = (value >> kNicInterfaceShift) & kNicInterfaceMask;
        add(function, at, [f, interface, at](SymbolTable&) {
            const std::string head = interface == firmware_stub::InitSegment::kNicFull
                                         ? std::string("queue")
                                         : fmt::format("nic_interface {}", interface);
            return fmt::format("{}{}\n  # at {}\n", head, function_text(f), time_text(at));
        });
    } else if (offset == kCommandDoorbell) {
        for (std::uint32_t slot = 0; slot < 32; ++slot) {
            if (((value >> slot) & 1) == 0) continue;
            // A second doorbell of a slot is ignored by the card, or the first was.
            std::erase_if(entries_, [&](const Entry& entry) {
                return entry.command && !entry.ended && entry.function == f && entry.slot == slot;
            });
            Entry entry;
            entry.command = true;
            entry.function = f;
            entry.slot = slot;
            entry.at = at;
            entries_.push_back(std::move(entry));
        }
    }
}

void Recorder::event(FunctionId function, Picoseconds finish, std::uint32_t eqn, std::uint32_t,
                     std::span<const std::byte> eqe) {
    const prm::ConstView<prm::eqe> view(eqe);
    const auto type = static_cast<std::uint8_t>(view.get<prm::eqe::event_type>());
    if (!options_.all_events && !told_by_default(static_cast<prm::EventType>(type))) return;
    std::vector<std::byte> bytes(eqe.begin(), eqe.end());
    add(function, finish,
        [this, type, eqn, function, finish, bytes = std::move(bytes)](SymbolTable& symbols) {
            const prm::ConstView<prm::eqe> entry(bytes);
            const std::string_view name = prm::event_type_name(type);
            std::string queue = symbols.find(function.value, "eq", eqn);
            if (queue.empty()) queue = fmt::format("{:#x}", eqn);
            std::string text =
                fmt::format("event {} {}",
                            name.empty() ? fmt::format("{:#x}", type) : std::string(name), queue);
            if (const auto subtype = entry.get<prm::eqe::event_sub_type>(); subtype != 0) {
                text += fmt::format(" subtype {:#x}", subtype);
            }
            text +=
                fmt::format("{}\n  # at {}\n", function_text(function.value), time_text(finish));
            std::vector<std::byte> data(bytes);
            const prm::View<prm::eqe> rest(data);
            rest.set<prm::eqe::event_type>(0U);
            rest.set<prm::eqe::event_sub_type>(0U);
            rest.set<prm::eqe::owner>(0U);
            return text + values_text("data", 0, function.value, Message::event(type), data, false);
        });
}

void Recorder::reset(FunctionId function, Picoseconds at, model::ResetKind kind) {
    // Commands under way die with the function and never end.
    for (Entry& entry : entries_) {
        const bool dies =
            kind == model::ResetKind::conventional || entry.function == function.value;
        if (entry.command && !entry.ended && dies) entry.ended = true;
    }
    add(function, at, [f = function.value, kind, at](SymbolTable& symbols) {
        constexpr std::string_view kNames[] = {"conventional", "function_level", "power_state"};
        symbols.forget_addresses(f);
        return fmt::format("reset {}{}\n  # at {}\n", kNames[static_cast<std::size_t>(kind)],
                           function_text(f), time_text(at));
    });
}

void Recorder::command_ended(const firmware_stub::CommandReport& report, std::uint32_t others) {
    auto place = std::ranges::find_if(entries_, [&](const Entry& entry) {
        return entry.command && !entry.ended && entry.slot == report.slot &&
               entry.function == report.function.value;
    });
    if (place == entries_.end()) {
        // Under way when the recording began.
        Entry entry;
        entry.command = true;
        entry.function = report.function.value;
        entry.slot = report.slot;
        entry.at = report.doorbell;
        entries_.push_back(std::move(entry));
        place = std::prev(entries_.end());
    }
    place->ended = true;
    place->at = report.doorbell;
    place->finish = report.finish;
    place->input.assign(report.input.begin(), report.input.end());
    place->output.assign(report.output.begin(), report.output.end());
    place->delivery = report.delivery;
    place->reply = report.reply;
    if (others == 0) {
        // Doorbells that the card ignored.
        std::erase_if(entries_, [&](const Entry& entry) {
            return entry.command && !entry.ended && entry.function == report.function.value;
        });
    }
    flush();
}

void Recorder::flush() {
    while (!entries_.empty() && entries_.front().ended) {
        const Entry& entry = entries_.front();
        write_(entry.command ? command_text(entry) : entry.text(symbols_));
        entries_.pop_front();
    }
}

void Recorder::finish() {
    for (Entry& entry : entries_) entry.ended = true;
    flush();
}

std::string Recorder::values_text(std::string_view word, std::uint16_t opcode,
                                  std::uint16_t function, const Message& message,
                                  std::span<const std::byte> data, bool output) {
    std::string text;
    const bool creates = output && makes_objects(opcode);
    const bool pages_back = output && static_cast<prm::Opcode>(opcode) == prm::Opcode::MANAGE_PAGES;
    for (const NamedValue& value : message.decode(data)) {
        std::string shown;
        if (value.place.form == ValueForm::bytes) {
            shown = is_random_key(value.leaf) ? symbols_.key(value.bytes) : bytes_text(value.bytes);
        } else if (value.place.form == ValueForm::addresses) {
            shown = pages_back ? fmt::format("*[{}]", value.addresses.size())
                               : symbols_.buffer(value.addresses);
        } else if (is_address(value.leaf)) {
            shown = symbols_.address(function, value.number);
        } else {
            const auto kinds = handle_kinds(opcode, value, data);
            for (const std::string_view kind : kinds) {
                shown = creates ? symbols_.define(function, kind, value.number)
                                : symbols_.find(function, kind, value.number);
                if (!shown.empty()) break;
            }
            if (shown.empty()) shown = fmt::format("{:#x}", value.number);
        }
        const bool told_only = output && is_volatile(opcode, value.path, value.leaf);
        text += fmt::format("  {}{} {} = {}\n", told_only ? "# " : "", word, value.path, shown);
    }
    return text;
}

std::string Recorder::command_text(const Entry& entry) {
    ++commands_;
    const std::string times =
        fmt::format("  # {}: at {}, took {:.3f} us, slot {}", commands_, time_text(entry.at),
                    (entry.finish - entry.at).microseconds(), entry.slot);
    if (entry.finish < entry.at || entry.finish == Picoseconds{}) {
        return fmt::format("lost{}\n  # {}: at {}, slot {}\n", function_text(entry.function),
                           commands_, time_text(entry.at), entry.slot);
    }
    if (entry.delivery != prm::DeliveryStatus::OK || entry.input.size() < 8) {
        return fmt::format("undelivered {}{}\n{}\n", prm::delivery_status_name(entry.delivery),
                           function_text(entry.function), times);
    }
    const auto opcode = model::load_be<std::uint16_t>(entry.input.data());
    const auto op_mod = model::load_be<std::uint16_t>(entry.input.data() + 6);
    const std::string_view name = prm::opcode_name(opcode);
    std::string text =
        fmt::format("command {}", name.empty() ? fmt::format("{:#x}", opcode) : std::string(name));
    if (op_mod != 0) text += fmt::format(" op_mod {:#x}", op_mod);
    text += fmt::format(" bytes {} {}{}\n{}\n", entry.input.size(), entry.output.size(),
                        function_text(entry.function), times);

    std::vector<std::byte> data(entry.input);
    data[0] = data[1] = data[6] = data[7] = std::byte{0};
    text += values_text("in", opcode, entry.function, Message::input(entry.input), data, false);

    const std::string_view status = prm::status_name(entry.reply.status);
    text +=
        fmt::format("  status {}",
                    status.empty() ? fmt::format("{:#x}", static_cast<unsigned>(entry.reply.status))
                                   : std::string(status));
    if (entry.reply.syndrome != 0) text += fmt::format(" syndrome {:#x}", entry.reply.syndrome);
    text += '\n';
    if (!entry.reply.ok()) {
        return text + fmt::format("  # {}\n", entry.reply.reason);
    }
    data = entry.output;
    if (data.size() >= 8) {
        data[0] = std::byte{0};
        std::fill_n(data.begin() + 4, 4, std::byte{0});
    }
    text += values_text("out", opcode, entry.function, Message::output(entry.input), data, true);
    const bool ends = static_cast<prm::Opcode>(opcode) == prm::Opcode::DISABLE_HCA ||
                      static_cast<prm::Opcode>(opcode) == prm::Opcode::TEARDOWN_HCA;
    if (ends) symbols_.forget_addresses(entry.function);
    return text;
}

}  // namespace cxsim::scenarios
