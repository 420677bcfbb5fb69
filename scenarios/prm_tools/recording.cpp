// SPDX-License-Identifier: Apache-2.0
#include "scenarios/prm_tools/recording.h"

#include "model/prm/command.h"
#include "model/prm/event_type.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

namespace cxsim::scenarios {
namespace {

constexpr std::string_view kMagic = "cxsim-prm-recording 1";
// More than any command can hold; bounds what a damaged file makes us allocate.
constexpr std::uint64_t kMostBytes = 4U << 20;

std::string_view take_word(std::string_view& text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    return word;
}

bool parse_number(std::string_view text, std::uint64_t& value) {
    int base = 10;
    if (text.starts_with("0x")) {
        text.remove_prefix(2);
        base = 16;
    }
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return !text.empty() && result.ec == std::errc{} && result.ptr == text.data() + text.size();
}

template <class Enum, class Name>
bool find_name(std::string_view text, unsigned last, Name&& name, Enum& value) {
    std::uint64_t number = 0;
    if (parse_number(text, number) && number <= last) {
        value = static_cast<Enum>(number);
        return true;
    }
    for (unsigned i = 0; i <= last; ++i) {
        if (!text.empty() && name(static_cast<Enum>(i)) == text) {
            value = static_cast<Enum>(i);
            return true;
        }
    }
    return false;
}

// Number of seconds or microseconds after `key`; 0 if it is not there.
double number_after(std::string_view text, std::string_view key) {
    const std::size_t at = text.find(key);
    if (at == text.npos) return 0;
    const std::string rest(text.substr(at + key.size(), 32));
    return std::strtod(rest.c_str(), nullptr);
}

}  // namespace

RecordingParser::RecordingParser(std::string name, std::function<void(Block&&)> block)
    : name_(std::move(name)), block_(std::move(block)) {}

void RecordingParser::fail(const std::string& message) const {
    throw model::ConfigError({name_, static_cast<unsigned>(line_)}, "", message);
}

void RecordingParser::line(std::string_view text) {
    ++line_;
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.find_first_not_of(' ') == text.npos) return;
    if (line_ == 1) {
        if (text != kMagic)
            fail("not a recording: the first line is not \"" + std::string(kMagic) + "\"");
        return;
    }
    const std::string_view trimmed = text.substr(text.find_first_not_of(' '));
    if (trimmed.front() == '#') {
        if (open_) comment(trimmed);
    } else if (text.front() == ' ') {
        if (!open_) fail("an indented line outside of a block");
        inner_line(trimmed);
    } else {
        header_line(text);
    }
}

void RecordingParser::header_line(std::string_view text) {
    std::string_view rest = text;
    const std::string_view word = take_word(rest);
    const std::string_view value = rest.empty() ? rest : rest.substr(1);
    std::uint64_t number = 0;
    if (in_header_ && word == "card") {
        header_.card = value;
    } else if (in_header_ && word == "seed") {
        if (!parse_number(value, header_.seed)) fail("seed is not a number");
    } else if (in_header_ && word == "instance") {
        if (!parse_number(value, number) || number > UINT16_MAX) fail("instance is not a number");
        header_.instance = static_cast<std::uint16_t>(number);
    } else if (in_header_ && word == "host") {
        header_.host = value;
    } else if (in_header_ && word == "set") {
        header_.overrides.emplace_back(value);
    } else if (in_header_ && word == "clock") {
        header_.wall_clock = value == "wall";
    } else {
        flush();
        in_header_ = false;
        start_block(text);
    }
}

void RecordingParser::start_block(std::string_view text) {
    current_ = Block{};
    current_.line = line_;
    const std::string_view kind = take_word(text);
    std::uint64_t number = 0;
    if (kind == "command") {
        current_.kind = BlockKind::command;
        const std::string_view name = take_word(text);
        current_.opcode = prm::opcode_by_name(name);
        if (current_.opcode == 0) {
            if (!parse_number(name, number) || number > UINT16_MAX) {
                fail(fmt::format("no command \"{}\"", name));
            }
            current_.opcode = static_cast<std::uint16_t>(number);
        }
        current_.number = ++commands_;
    } else if (kind == "event") {
        current_.kind = BlockKind::event;
        const std::string_view name = take_word(text);
        prm::EventType type{};
        if (!find_name(
                name, 0xff,
                [](prm::EventType t) { return prm::event_type_name(static_cast<std::uint8_t>(t)); },
                type)) {
            fail(fmt::format("no event \"{}\"", name));
        }
        current_.event_type = static_cast<std::uint8_t>(type);
        current_.event_queue = take_word(text);
    } else if (kind == "reset") {
        current_.kind = BlockKind::reset;
        const std::string_view name = take_word(text);
        if (name == "conventional") {
            current_.reset = model::ResetKind::conventional;
        } else if (name == "function_level") {
            current_.reset = model::ResetKind::function_level;
        } else if (name == "power_state") {
            current_.reset = model::ResetKind::power_state;
        } else {
            fail(fmt::format("no reset \"{}\"", name));
        }
    } else if (kind == "queue") {
        current_.kind = BlockKind::queue;
    } else if (kind == "nic_interface") {
        current_.kind = BlockKind::nic_interface;
        if (!parse_number(take_word(text), number) || number > 7)
            fail("nic_interface is not 0 to 7");
        current_.nic_interface = static_cast<std::uint32_t>(number);
    } else if (kind == "lost") {
        current_.kind = BlockKind::lost;
        current_.number = ++commands_;
    } else if (kind == "undelivered") {
        current_.kind = BlockKind::undelivered;
        current_.number = ++commands_;
        if (!find_name(take_word(text), 0x10, prm::delivery_status_name, current_.delivery)) {
            fail("no such delivery status");
        }
    } else {
        fail(fmt::format("unknown word \"{}\"", kind));
    }
    while (true) {
        const std::string_view word = take_word(text);
        if (word.empty()) break;
        const bool two = word == "bytes";
        if (!parse_number(take_word(text), number)) fail(fmt::format("{} wants a number", word));
        if (word == "op_mod" && number <= UINT16_MAX) {
            current_.op_mod = static_cast<std::uint16_t>(number);
        } else if (word == "function" && number <= UINT16_MAX) {
            current_.function = static_cast<std::uint16_t>(number);
        } else if (word == "subtype" && number <= UINT8_MAX) {
            current_.event_subtype = static_cast<std::uint8_t>(number);
        } else if (two && number <= kMostBytes) {
            current_.input_bytes = number;
            if (!parse_number(take_word(text), number) || number > kMostBytes) {
                fail("bytes wants two numbers");
            }
            current_.output_bytes = number;
        } else {
            fail(fmt::format("unknown word or value: {} {}", word, number));
        }
    }
    open_ = true;
}

void RecordingParser::inner_line(std::string_view text) {
    const std::string_view word = take_word(text);
    if (word == "status") {
        const std::string_view name = take_word(text);
        if (!find_name(name, 0xff, prm::status_name, current_.status)) {
            fail(fmt::format("no status \"{}\"", name));
        }
        std::uint64_t number = 0;
        const std::string_view key = take_word(text);
        if (key.empty()) return;
        if (key != "syndrome" || !parse_number(take_word(text), number) || number > UINT32_MAX) {
            fail("a status may be followed by a syndrome");
        }
        current_.syndrome = static_cast<std::uint32_t>(number);
        return;
    }
    RecordedValue value;
    value.path = take_word(text);
    if (take_word(text) != "=" || value.path.empty() || text.size() < 2) {
        fail("expected MEMBER = VALUE");
    }
    value.text = text.substr(1);
    if (word == "in") {
        current_.in.push_back(std::move(value));
    } else if (word == "out") {
        current_.out.push_back(std::move(value));
    } else if (word == "data") {
        current_.data.push_back(std::move(value));
    } else {
        fail(fmt::format("unknown word \"{}\"", word));
    }
}

// Times, reasons and values that move: for people and for show, never compared.
void RecordingParser::comment(std::string_view text) {
    text.remove_prefix(1);
    if (text.find("at ") != text.npos && text.find(" s") != text.npos && current_.at.value == 0) {
        current_.at = {static_cast<std::int64_t>(number_after(text, "at ") * 1e12)};
        current_.took = {static_cast<std::int64_t>(number_after(text, "took ") * 1e6)};
        return;
    }
    std::string_view rest = text;
    if (take_word(rest) == "out") {
        RecordedValue value;
        value.path = take_word(rest);
        if (take_word(rest) == "=" && rest.size() > 1) {
            value.text = rest.substr(1);
            current_.told.push_back(std::move(value));
            return;
        }
    }
    if (!text.empty()) current_.reason = text.substr(1);
}

void RecordingParser::flush() {
    if (!open_) return;
    open_ = false;
    block_(std::move(current_));
}

model::Picoseconds Recording::duration() const {
    model::Picoseconds first = model::Picoseconds::max();
    model::Picoseconds last;
    for (const Block& block : blocks) {
        if (block.kind != BlockKind::command) continue;
        first = std::min(first, block.at);
        last = std::max(last, block.at + block.took);
    }
    return last > first ? last - first : model::Picoseconds{};
}

namespace {

Recording read_lines(std::istream& in, const std::string& name) {
    Recording recording;
    RecordingParser parser(name,
                           [&](Block&& block) { recording.blocks.push_back(std::move(block)); });
    std::string line;
    bool any = false;
    while (std::getline(in, line)) {
        any = true;
        parser.line(line);
    }
    parser.flush();
    if (!any) throw model::ConfigError({name, 1}, "", "not a recording: empty");
    recording.header = parser.header();
    return recording;
}

}  // namespace

Recording read_recording(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        throw model::ConfigError({path, 0}, "",
                                 fmt::format("cannot be read: {}", std::strerror(errno)));
    }
    return read_lines(file, path);
}

Recording parse_recording(std::string_view text, const std::string& name) {
    std::istringstream stream{std::string(text)};
    return read_lines(stream, name);
}

}  // namespace cxsim::scenarios
