// SPDX-License-Identifier: Apache-2.0
// The trace of one simulation: a ring of 64-byte records, delivered in batches to sinks that
// stream. Recording neither allocates nor formats; a kind that is off costs one branch.
#pragma once

#include "model/base/units.h"
#include "model/trace/kinds.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cxsim::model::trace {

/// Index of a component's path in its tracer.
struct ComponentId {
    std::uint16_t value = 0;
};

/// Index of a message text in its tracer.
struct MessageId {
    std::uint32_t value = 0;
};

/// What the ring holds. `payload` is one of the kinds.
struct Record {
    Picoseconds time;
    std::uint16_t kind = 0;
    ComponentId component;
    std::uint16_t function = 0;     ///< PCI function of the card
    std::uint16_t blobs = 0;        ///< how many blobs belong to it
    std::uint64_t blob_offset = 0;  ///< where they start in the tracer's blob buffer
    std::array<std::byte, 40> payload{};
};
static_assert(sizeof(Record) == 64);

class Tracer;

/// Bytes that belong to a record, valid during Sink::write.
using Blobs = std::span<const std::span<const std::byte>>;

/// Receives records in order, in batches. Sinks may format, allocate and write files.
class Sink {
  public:
    virtual ~Sink() = default;
    virtual void write(const Tracer& tracer, const Record& record, Blobs blobs) = 0;
    /// No more records follow: close brackets, flush files. Called once.
    virtual void finish(const Tracer& tracer) = 0;
};

/// Sizes of the buffers, allocated once.
struct TracerSizes {
    std::size_t records = 4096;  ///< a power of two
    std::size_t blob_bytes = 1024 * 1024;
};

class Tracer {
  public:
    explicit Tracer(TracerSizes sizes = {});
    ~Tracer();
    Tracer(const Tracer&) = delete;
    Tracer& operator=(const Tracer&) = delete;

    // Before the simulation starts: names become numbers.

    /// The same path gives the same number. At most 65535 components.
    ComponentId component(std::string_view path);
    /// `text` is a fmt format string with at most four {} for integers, e.g. "no QP {:#x}".
    /// The same text gives the same number. A bad format string is our bug and asserts.
    MessageId message(std::string_view text);

    // What is recorded.

    /// Kinds that are on without asking: commands, events, registers, resets, logs.
    static std::uint64_t default_mask();
    void set_mask(std::uint64_t kinds) { mask_ = kinds; }
    std::uint64_t mask() const { return mask_; }
    template <class T>
    static constexpr std::uint64_t bit() {
        return std::uint64_t{1} << kind_number<T>();
    }
    /// Mask of kinds by name, e.g. {"command", "dma"}; "all" is every kind. Returns false, leaving
    /// `mask` alone, when a name is unknown.
    static bool mask_of(std::span<const std::string> names, std::uint64_t& mask);
    template <class T>
    bool on() const {
        return (mask_ & bit<T>()) != 0;
    }
    /// Whether bytes given to record() are kept; they are dropped while off or without a sink.
    void keep_blobs(bool keep) { keep_blobs_ = keep; }

    /// From now on every record goes to `sink`.
    void add_sink(std::unique_ptr<Sink> sink);

    // On any path.

    template <class T>
    void record(ComponentId component, std::uint16_t function, Picoseconds time, const T& payload) {
        if (!on<T>()) [[likely]]
            return;
        store(component, function, time, payload);
    }
    /// With bytes, e.g. a command's input and output.
    template <class T>
    void record(ComponentId component, std::uint16_t function, Picoseconds time, const T& payload,
                std::initializer_list<std::span<const std::byte>> blobs) {
        if (!on<T>()) [[likely]]
            return;
        Record& record = store(component, function, time, payload);
        if (keep_blobs_ && !sinks_.empty()) attach(record, blobs);
    }
    /// A log line; counted even while the kind is off.
    void log(ComponentId component, std::uint16_t function, Picoseconds time, LogClass log_class,
             MessageId message, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0,
             std::uint64_t d = 0) {
        ++messages_[message.value].count;
        record(component, function, time, Log{{a, b, c, d}, message.value, log_class});
    }

    /// Gives all records that were not yet delivered to the sinks.
    void flush();
    /// flush(), then closes and removes the sinks. The destructor does it too.
    void finish();

    // Reading.

    std::string_view component_name(ComponentId component) const;
    std::string_view message_text(MessageId message) const;
    /// How often log() was called with this message.
    std::uint64_t message_count(MessageId message) const;
    /// All messages that were logged, most frequent first: for the end of a run.
    std::vector<std::pair<std::string_view, std::uint64_t>> logged_messages() const;
    std::uint64_t recorded() const { return written_; }
    /// The last `count` records that the ring still holds, oldest first, one a line.
    std::string last_as_text(std::size_t count) const;

  private:
    struct Message {
        std::string text;
        std::uint64_t count = 0;
    };

    template <class T>
    Record& store(ComponentId component, std::uint16_t function, Picoseconds time,
                  const T& payload) {
        static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(Record::payload));
        if (written_ - delivered_ == ring_.size()) make_room();
        Record& record = ring_[written_ & (ring_.size() - 1)];
        ++written_;
        record.time = time;
        record.kind = kind_number<T>();
        record.component = component;
        record.function = function;
        record.blobs = 0;
        std::memcpy(record.payload.data(), &payload, sizeof(T));
        std::memset(record.payload.data() + sizeof(T), 0, sizeof(Record::payload) - sizeof(T));
        return record;
    }
    void make_room();
    void attach(Record& record, std::initializer_list<std::span<const std::byte>> blobs);
    void deliver(const Record& record, std::vector<std::span<const std::byte>>& scratch);

    std::vector<Record> ring_;
    std::uint64_t written_ = 0;
    std::uint64_t delivered_ = 0;
    std::uint64_t mask_ = default_mask();
    bool keep_blobs_ = false;
    std::vector<std::byte> blobs_;
    std::size_t blobs_used_ = 0;
    std::vector<std::unique_ptr<Sink>> sinks_;
    std::vector<std::string> components_;
    std::vector<Message> messages_;
};

/// While it lives, a failed CX_ASSERT prints the tracer's last records. The newest one counts: an
/// assertion has no other way to know which simulation it belongs to.
class AssertionTrace {
  public:
    explicit AssertionTrace(const Tracer& tracer, std::size_t records = 64);
    ~AssertionTrace();
    AssertionTrace(const AssertionTrace&) = delete;
    AssertionTrace& operator=(const AssertionTrace&) = delete;

  private:
    const Tracer* before_;
    std::size_t records_before_;
};

}  // namespace cxsim::model::trace
