// SPDX-License-Identifier: Apache-2.0
#include "model/trace/sinks.h"

#include "model/params/config_error.h"
#include "model/trace/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <tuple>

namespace cxsim::model::trace {
namespace {

/// A sink that owns the file it writes to.
template <class S>
class FileSink : public Sink {
  public:
    explicit FileSink(std::unique_ptr<std::ofstream> file)
        : file_(std::move(file)), sink_(*file_) {}
    void write(const Tracer& tracer, const Record& record, Blobs blobs) override {
        sink_.write(tracer, record, blobs);
    }
    void finish(const Tracer& tracer) override { sink_.finish(tracer); }

  private:
    std::unique_ptr<std::ofstream> file_;
    S sink_;
};

/// Tracks of stages are numbered behind those of components, next to each other.
constexpr std::uint64_t kFirstLane = 100'000;
constexpr std::uint64_t kLanesOfComponent = 256;

/// The format counts in microseconds; six decimals keep the picoseconds.
std::string timestamp(Picoseconds time) {
    return fmt::format("{}.{:06}", time.value / 1'000'000, time.value % 1'000'000);
}

/// What a slice or an instant is called: the first member that names something.
std::string title(const Tracer& tracer, const Record& record) {
    const KindInfo& kind = kind_info(record.kind);
    for (const Field& field : kind.fields) {
        switch (field.format) {
            case Format::opcode:
            case Format::event_type:
            case Format::register_id:
            case Format::reset_kind:
            case Format::message:
            case Format::stage:
                return field_text(tracer, record, field);
            case Format::direction:
            case Format::doorbell_type:
                return fmt::format("{} {}", kind.name, field_text(tracer, record, field));
            default:
                break;
        }
    }
    return std::string(kind.name);
}

}  // namespace

void TextSink::write(const Tracer& tracer, const Record& record, Blobs blobs) {
    out_ << to_text(tracer, record) << '\n' << blobs_to_text(record, blobs);
}

void TextSink::finish(const Tracer& tracer) {
    for (const auto& [text, count] : tracer.logged_messages()) {
        out_ << fmt::format("# {} x {}\n", count, text);
    }
    out_.flush();
}

void JsonLinesSink::write(const Tracer& tracer, const Record& record, Blobs blobs) {
    out_ << to_json(tracer, record, blobs).dump() << '\n';
}

void JsonLinesSink::finish(const Tracer&) {
    out_.flush();
}

TimelineSink::TimelineSink(std::ostream& out) : out_(out) {
    out_ << "[";
}

void TimelineSink::event(const std::string& text) {
    out_ << (first_ ? "\n" : ",\n") << text;
    first_ = false;
}

void TimelineSink::name_track(std::uint64_t track, const std::string& name) {
    event(fmt::format(R"({{"ph":"M","name":"thread_name","pid":1,"tid":{},"args":{{"name":{}}}}})",
                      track, nlohmann::json(name).dump()));
}

void TimelineSink::name_component(const Tracer& tracer, ComponentId component) {
    if (named_.size() <= component.value) named_.resize(component.value + 1u);
    if (named_[component.value]) return;
    named_[component.value] = true;
    name_track(component.value, std::string(tracer.component_name(component)));
}

/// The first track of the component on which nothing lies behind `start` yet.
std::uint64_t TimelineSink::lane(const Tracer& tracer, const Record& record, Picoseconds start) {
    std::vector<Picoseconds>& ends = lanes_[record.component.value];
    std::size_t lane = 0;
    while (lane < ends.size() && ends[lane] > start) ++lane;
    const std::uint64_t track =
        kFirstLane + record.component.value * kLanesOfComponent + lane;
    if (lane == ends.size()) {
        ends.push_back(record.time);
        const auto name = tracer.component_name(record.component);
        name_track(track, lane == 0 ? std::string(name) : fmt::format("{} {}", name, lane + 1));
        event(fmt::format(
            R"({{"ph":"M","name":"thread_sort_index","pid":1,"tid":{},"args":{{"sort_index":{}}}}})",
            track, track));
    }
    ends[lane] = record.time;
    return track;
}

void TimelineSink::stage(const Tracer& tracer, const Record& record) {
    Stage stage;
    std::memcpy(&stage, record.payload.data(), sizeof stage);
    const Picoseconds start{static_cast<std::int64_t>(stage.start)};
    const std::uint64_t track = lane(tracer, record, start);
    event(fmt::format(
        R"({{"ph":"X","name":"{}","cat":"stage","pid":1,"tid":{},"ts":{},"dur":{},)"
        R"("args":{{"queue":{},"number":{},"bytes":{}}}}})",
        stage_name(static_cast<std::uint8_t>(stage.stage)), track, timestamp(start),
        timestamp(record.time - start), stage.queue, stage.number, stage.bytes));
    for (const std::uint64_t flow : {stage.flow, stage.other_flow}) {
        if (flow != 0) flow_points_.push_back({flow, start, track, flow_points_.size()});
    }
}

/// An arrow begins, goes on and ends at the beginnings of slices, in the order of time.
void TimelineSink::write_flows() {
    std::ranges::sort(flow_points_, [](const FlowPoint& a, const FlowPoint& b) {
        return std::tie(a.flow, a.at, a.order) < std::tie(b.flow, b.at, b.order);
    });
    for (std::size_t i = 0; i < flow_points_.size(); ++i) {
        const FlowPoint& point = flow_points_[i];
        const bool first = i == 0 || flow_points_[i - 1].flow != point.flow;
        const bool last =
            i + 1 == flow_points_.size() || flow_points_[i + 1].flow != point.flow;
        if (first && last) continue;
        event(fmt::format(
            R"({{"ph":"{}","bp":"e","name":"flow","cat":"stage","id":"{:#x}","pid":1,"tid":{},"ts":{}}})",
            first ? "s" : last ? "f" : "t", point.flow, point.track, timestamp(point.at)));
    }
    flow_points_.clear();
}

void TimelineSink::write(const Tracer& tracer, const Record& record, Blobs blobs) {
    if (record.kind == kind_number<Stage>()) {
        stage(tracer, record);
        return;
    }
    name_component(tracer, record.component);
    const KindInfo& kind = kind_info(record.kind);
    const nlohmann::json name = title(tracer, record);
    auto arguments = to_json(tracer, record, blobs);
    for (const char* key : {"time_ps", "component", "kind"}) arguments.erase(key);
    const std::string common = fmt::format(R"("name":{},"cat":"{}","pid":1,"tid":{})", name.dump(),
                                           kind.name, record.component.value);
    if (!kind.span) {
        event(fmt::format(R"({{"ph":"i","s":"t",{},"ts":{},"args":{}}})", common,
                          timestamp(record.time), arguments.dump()));
        return;
    }
    Picoseconds start = record.time;
    for (const Field& field : kind.fields) {
        if (field.name == "start")
            start.value = static_cast<std::int64_t>(field_value(record, field));
    }
    const std::uint64_t id = ++slices_;
    event(fmt::format(R"({{"ph":"b",{},"id":{},"ts":{},"args":{}}})", common, id, timestamp(start),
                      arguments.dump()));
    event(fmt::format(R"({{"ph":"e",{},"id":{},"ts":{}}})", common, id, timestamp(record.time)));
}

void TimelineSink::finish(const Tracer&) {
    write_flows();
    out_ << "\n]\n";
    out_.flush();
}

DigestSink::DigestSink(std::uint64_t& digest) : digest_(digest) {
    digest_ = 0xcbf29ce484222325;
}

void DigestSink::add(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) {
        digest_ = (digest_ ^ (value & 0xff)) * 0x100000001b3;
        value >>= 8;
    }
}

void DigestSink::write(const Tracer& tracer, const Record& record, Blobs) {
    add(static_cast<std::uint64_t>(record.time.value));
    add(record.kind);
    add(record.function);
    for (const char c : tracer.component_name(record.component)) add(static_cast<unsigned char>(c));
    // Member by member: what lies between them is padding.
    for (const Field& field : kind_info(record.kind).fields) {
        for (std::size_t i = 0; i < field.size; ++i) {
            add(std::to_integer<std::uint64_t>(record.payload[field.offset + i]));
        }
    }
}

std::unique_ptr<Sink> open_file_sink(const std::string& path) {
    auto file = std::make_unique<std::ofstream>(path, std::ios::binary | std::ios::trunc);
    if (!*file) {
        throw ConfigError({path, 0}, "",
                          fmt::format("cannot be written: {}", std::strerror(errno)));
    }
    const auto ends_with = [&](std::string_view ending) {
        return path.size() >= ending.size() &&
               path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
    };
    if (ends_with(".jsonl")) return std::make_unique<FileSink<JsonLinesSink>>(std::move(file));
    if (ends_with(".json")) return std::make_unique<FileSink<TimelineSink>>(std::move(file));
    return std::make_unique<FileSink<TextSink>>(std::move(file));
}

}  // namespace cxsim::model::trace
