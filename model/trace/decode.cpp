// SPDX-License-Identifier: Apache-2.0
#include "model/trace/decode.h"

#include "model/params/value.h"
#include "model/prm/command.h"
#include "model/prm/decode.h"
#include "model/prm/event_type.h"
#include "model/prm/register_id.h"
#include "model/prm/status.h"

#include <fmt/format.h>

namespace cxsim::model::trace {
namespace {

constexpr std::array<std::string_view, 4> kDmaStatus = {"ok", "bus_master_disabled",
                                                        "unsupported_request", "completer_abort"};
constexpr std::array<std::string_view, 3> kResetKinds = {"conventional", "function_level",
                                                         "power_state"};

template <class T>
T payload(const Record& record) {
    T value;
    std::memcpy(&value, record.payload.data(), sizeof value);
    return value;
}

/// Name of a value that has names; empty where the format has none or the value is unknown.
std::string_view value_name(Format format, std::uint64_t value) {
    const auto byte = static_cast<std::uint8_t>(value);
    switch (format) {
        case Format::opcode:
            return prm::opcode_name(static_cast<std::uint16_t>(value));
        case Format::status:
            return prm::status_name(static_cast<prm::Status>(byte));
        case Format::delivery_status:
            return prm::delivery_status_name(static_cast<prm::DeliveryStatus>(byte));
        case Format::event_type:
            return prm::event_type_name(byte);
        case Format::register_id:
            return prm::register_name(static_cast<std::uint16_t>(value));
        case Format::direction:
            return value == 0 ? "read" : "write";
        case Format::dma_status:
            return byte < kDmaStatus.size() ? kDmaStatus[byte] : "";
        case Format::reset_kind:
            return byte < kResetKinds.size() ? kResetKinds[byte] : "";
        case Format::doorbell_type:
            return doorbell_type_name(byte);
        case Format::log_class:
            return log_class_name(byte);
        case Format::stage:
            return stage_name(byte);
        default:
            return {};
    }
}

std::string message_line(const Tracer& tracer, const Record& record) {
    const auto log = payload<Log>(record);
    return fmt::format(fmt::runtime(tracer.message_text({log.message})), log.arguments[0],
                       log.arguments[1], log.arguments[2], log.arguments[3]);
}

struct NamedBlob {
    std::string_view name;
    const prm::LayoutInfo* layout;
    std::span<const std::byte> bytes;
};

/// What the bytes of a record are.
std::vector<NamedBlob> name_blobs(const Record& record, Blobs blobs) {
    std::vector<NamedBlob> named;
    const std::uint16_t kind = record.kind;
    for (std::size_t i = 0; i < blobs.size(); ++i) {
        NamedBlob blob{"data", nullptr, blobs[i]};
        if (kind == kind_number<Command>()) {
            const auto command = payload<Command>(record);
            const std::uint16_t selector = prm::layout_selector(blobs[0]);
            blob.name = i == 0 ? "input" : "output";
            blob.layout = i == 0 ? prm::input_layout(command.opcode, selector)
                                 : prm::output_layout(command.opcode, selector);
        } else if (kind == kind_number<Cqe>()) {
            blob.layout = prm::find_layout("cqe64");
        } else if (kind == kind_number<Eqe>()) {
            blob.layout = prm::find_layout("eqe");
        } else if (kind == kind_number<Wqe>() && blobs[i].size() >= 16) {
            blob.name = "wqe";
            blob.layout = prm::find_layout("wqe_ctrl_seg");
        } else if (kind == kind_number<RegisterAccess>()) {
            const auto* info = prm::find_register(payload<RegisterAccess>(record).id);
            if (info != nullptr) blob.layout = prm::find_layout(info->layout);
        }
        named.push_back(blob);
    }
    return named;
}

/// Only the event data that this type of event fills.
prm::DecodeOptions options_for(const Record& record, std::string_view& member) {
    prm::DecodeOptions options;
    if (record.kind == kind_number<Eqe>()) {
        const auto* info = prm::find_event_type(payload<Eqe>(record).type);
        if (info != nullptr && !info->data_member.empty()) {
            member = info->data_member;
            options.union_members = {&member, 1};
        }
    }
    return options;
}

std::string hex_lines(std::span<const std::byte> bytes, std::size_t indent) {
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 16) {
        text += fmt::format("{:{}}{:04x}:", "", indent, i);
        for (std::size_t j = i; j < std::min(i + 16, bytes.size()); ++j) {
            text += fmt::format(" {:02x}", std::to_integer<unsigned>(bytes[j]));
        }
        text += '\n';
    }
    return text;
}

std::string hex_word(std::span<const std::byte> bytes) {
    std::string text = "0x";
    for (const std::byte byte : bytes) {
        text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    }
    return text;
}

}  // namespace

std::uint64_t field_value(const Record& record, const Field& field) {
    std::uint64_t value = 0;
    std::memcpy(&value, record.payload.data() + field.offset, std::min<std::size_t>(field.size, 8));
    return value;
}

std::string field_text(const Tracer& tracer, const Record& record, const Field& field) {
    const std::uint64_t value = field_value(record, field);
    switch (field.format) {
        case Format::decimal:
            return fmt::format("{}", value);
        case Format::hexadecimal:
            return fmt::format("{:#x}", value);
        case Format::time:
            return format_time({static_cast<std::int64_t>(value)});
        case Format::message:
            return message_line(tracer, record);
        default:
            break;
    }
    const std::string_view name = value_name(field.format, value);
    return name.empty() ? fmt::format("{:#x}", value) : std::string(name);
}

std::string to_text(const Tracer& tracer, const Record& record) {
    const KindInfo& kind = kind_info(record.kind);
    std::string line =
        fmt::format("{:>14.6f}us {} f{} {}", record.time.microseconds(),
                    tracer.component_name(record.component), record.function, kind.name);
    for (const Field& field : kind.fields) {
        if (field.format == Format::hidden) continue;
        if (kind.span && field.name == "start") {
            const auto start = static_cast<std::int64_t>(field_value(record, field));
            line += fmt::format(" took={}", format_time(record.time - Picoseconds{start}));
            continue;
        }
        line += fmt::format(" {}={}", field.name, field_text(tracer, record, field));
    }
    return line;
}

std::string blobs_to_text(const Record& record, Blobs blobs) {
    std::string text;
    std::string_view member;
    const prm::DecodeOptions options = options_for(record, member);
    for (const NamedBlob& blob : name_blobs(record, blobs)) {
        text += fmt::format("  {} ({} bytes)\n", blob.name, blob.bytes.size());
        text += blob.layout != nullptr ? prm::to_text(*blob.layout, blob.bytes, options, 4)
                                       : hex_lines(blob.bytes, 4);
    }
    return text;
}

nlohmann::ordered_json to_json(const Tracer& tracer, const Record& record, Blobs blobs) {
    const KindInfo& kind = kind_info(record.kind);
    nlohmann::ordered_json object;
    object["time_ps"] = record.time.value;
    object["component"] = tracer.component_name(record.component);
    object["function"] = record.function;
    object["kind"] = kind.name;
    for (const Field& field : kind.fields) {
        const std::string name(field.name);
        switch (field.format) {
            case Format::hidden:
                break;
            case Format::decimal:
            case Format::hexadecimal:
                object[name] = field_value(record, field);
                break;
            case Format::time:
                object[name + "_ps"] = field_value(record, field);
                break;
            default:
                object[name] = field_text(tracer, record, field);
                break;
        }
    }
    std::string_view member;
    const prm::DecodeOptions options = options_for(record, member);
    for (const NamedBlob& blob : name_blobs(record, blobs)) {
        const std::string name(blob.name);
        if (blob.layout != nullptr) {
            object[name] = prm::to_json(*blob.layout, blob.bytes, options);
        } else {
            object[name] = hex_word(blob.bytes);
        }
    }
    return object;
}

}  // namespace cxsim::model::trace
