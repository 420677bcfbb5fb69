// SPDX-License-Identifier: Apache-2.0
// Where trace records go: text for people, JSON Lines for scripts, a timeline for Perfetto, a
// digest for comparison. All stream; none keeps records.
#pragma once

#include "model/trace/tracer.h"

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cxsim::model::trace {

/// One line a record; decoded bytes on indented lines below it. `out` must outlive the sink.
class TextSink : public Sink {
  public:
    explicit TextSink(std::ostream& out) : out_(out) {}
    void write(const Tracer& tracer, const Record& record, Blobs blobs) override;
    void finish(const Tracer& tracer) override;

  private:
    std::ostream& out_;
};

/// One JSON object a line, decoded by field name.
class JsonLinesSink : public Sink {
  public:
    explicit JsonLinesSink(std::ostream& out) : out_(out) {}
    void write(const Tracer& tracer, const Record& record, Blobs blobs) override;
    void finish(const Tracer& tracer) override;

  private:
    std::ostream& out_;
};

/// The JSON array form of the trace event format, for Perfetto and chrome://tracing: a track for
/// each component, asynchronous slices for kinds with a start, instants for the others. Stages are
/// plain slices, on as many tracks as overlap, with arrows from each to the next one of its flow,
/// which come with finish(). The file is readable even when the process dies before that.
class TimelineSink : public Sink {
  public:
    explicit TimelineSink(std::ostream& out);
    void write(const Tracer& tracer, const Record& record, Blobs blobs) override;
    void finish(const Tracer& tracer) override;

  private:
    struct FlowPoint {
        std::uint64_t flow;
        Picoseconds at;
        std::uint64_t track;
        std::uint64_t order;  ///< of arrival
    };

    void event(const std::string& text);
    void name_track(std::uint64_t track, const std::string& name);
    void name_component(const Tracer& tracer, ComponentId component);
    std::uint64_t lane(const Tracer& tracer, const Record& record, Picoseconds start);
    void stage(const Tracer& tracer, const Record& record);
    void write_flows();

    std::ostream& out_;
    bool first_ = true;
    std::uint64_t slices_ = 0;
    std::vector<bool> named_;
    std::map<std::uint16_t, std::vector<Picoseconds>> lanes_;  ///< ends of tracks, by component
    std::vector<FlowPoint> flow_points_;
};

/// FNV-1a over time, kind, component path, function and members (not bytes) of every record: the
/// same seed must give the same digest.
class DigestSink : public Sink {
  public:
    /// `digest` receives the result after each batch and must outlive the sink.
    explicit DigestSink(std::uint64_t& digest);
    void write(const Tracer& tracer, const Record& record, Blobs blobs) override;
    void finish(const Tracer&) override {}

  private:
    void add(std::uint64_t value);
    std::uint64_t& digest_;
};

/// By the ending of the name: .jsonl, .json (timeline), anything else text. Throws ConfigError if
/// the file cannot be written. The sink owns the file.
std::unique_ptr<Sink> open_file_sink(const std::string& path);

}  // namespace cxsim::model::trace
