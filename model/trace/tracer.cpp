// SPDX-License-Identifier: Apache-2.0
#include "model/trace/tracer.h"

#include "model/base/assert.h"
#include "model/trace/decode.h"

#include <fmt/format.h>

#include <algorithm>

namespace cxsim::model::trace {
namespace {

/// A blob in the buffer: its length, then its bytes.
constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);

const Tracer* g_assertion_tracer = nullptr;
std::size_t g_assertion_records = 0;

std::string assertion_text() {
    if (g_assertion_tracer == nullptr) return {};
    return fmt::format("last trace records:\n{}",
                       g_assertion_tracer->last_as_text(g_assertion_records));
}

template <std::size_t... I>
constexpr std::uint64_t mask_by_default(std::index_sequence<I...>) {
    return ((std::tuple_element_t<I, Kinds>::kByDefault ? std::uint64_t{1} << I : 0) | ...);
}

}  // namespace

Tracer::Tracer(TracerSizes sizes) : ring_(sizes.records), blobs_(sizes.blob_bytes) {
    CX_ASSERT(std::has_single_bit(sizes.records), "{} records are no power of two", sizes.records);
    component("");
}

Tracer::~Tracer() {
    finish();
}

std::uint64_t Tracer::default_mask() {
    return mask_by_default(std::make_index_sequence<kKindCount>{});
}

bool Tracer::mask_of(std::span<const std::string> names, std::uint64_t& mask) {
    std::uint64_t wanted = 0;
    for (const std::string& name : names) {
        if (name == "all") {
            wanted |= (std::uint64_t{1} << kKindCount) - 1;
            continue;
        }
        std::uint16_t number = 0;
        while (number < kKindCount && kind_info(number).name != name) ++number;
        if (number == kKindCount) return false;
        wanted |= std::uint64_t{1} << number;
    }
    mask = wanted;
    return true;
}

ComponentId Tracer::component(std::string_view path) {
    const auto found = std::find(components_.begin(), components_.end(), path);
    if (found == components_.end()) {
        CX_ASSERT(components_.size() < UINT16_MAX, "too many components, {} is one more", path);
        components_.emplace_back(path);
        return {static_cast<std::uint16_t>(components_.size() - 1)};
    }
    return {static_cast<std::uint16_t>(found - components_.begin())};
}

MessageId Tracer::message(std::string_view text) {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
        if (messages_[i].text == text) return {static_cast<std::uint32_t>(i)};
    }
    std::string error;
    try {
        (void)fmt::format(fmt::runtime(text), std::uint64_t{}, std::uint64_t{}, std::uint64_t{},
                          std::uint64_t{});
    } catch (const fmt::format_error& bad) {
        error = bad.what();
    }
    CX_ASSERT(error.empty(), "message '{}': {}", text, error);
    messages_.push_back({std::string(text), 0});
    return {static_cast<std::uint32_t>(messages_.size() - 1)};
}

void Tracer::add_sink(std::unique_ptr<Sink> sink) {
    if (sinks_.empty()) {
        delivered_ = written_;  // what came before is for assertions only
        blobs_used_ = 0;
    } else {
        flush();
    }
    sinks_.push_back(std::move(sink));
}

void Tracer::make_room() {
    if (sinks_.empty()) {
        delivered_ = written_;
    } else {
        flush();
    }
}

void Tracer::attach(Record& record, std::initializer_list<std::span<const std::byte>> blobs) {
    std::size_t needed = 0;
    for (const auto& blob : blobs) needed += kLengthBytes + blob.size();
    if (blobs_used_ + needed > blobs_.size()) {
        // Deliver everything but this record, which has no bytes yet.
        --written_;
        flush();
        ++written_;
        // One record with more bytes than the buffer: rare enough to pay for.
        if (needed > blobs_.size()) blobs_.resize(needed);
    }
    record.blobs = static_cast<std::uint16_t>(blobs.size());
    record.blob_offset = blobs_used_;
    for (const auto& blob : blobs) {
        const auto length = static_cast<std::uint32_t>(blob.size());
        std::memcpy(blobs_.data() + blobs_used_, &length, kLengthBytes);
        blobs_used_ += kLengthBytes;
        if (!blob.empty()) std::memcpy(blobs_.data() + blobs_used_, blob.data(), blob.size());
        blobs_used_ += blob.size();
    }
}

void Tracer::deliver(const Record& record, std::vector<std::span<const std::byte>>& scratch) {
    scratch.clear();
    std::size_t at = record.blob_offset;
    for (unsigned i = 0; i < record.blobs; ++i) {
        std::uint32_t length = 0;
        std::memcpy(&length, blobs_.data() + at, kLengthBytes);
        at += kLengthBytes;
        scratch.emplace_back(blobs_.data() + at, length);
        at += length;
    }
    for (const auto& sink : sinks_) sink->write(*this, record, scratch);
}

void Tracer::flush() {
    if (!sinks_.empty()) {
        std::vector<std::span<const std::byte>> scratch;
        for (std::uint64_t i = delivered_; i < written_; ++i) {
            deliver(ring_[i & (ring_.size() - 1)], scratch);
        }
    }
    delivered_ = written_;
    blobs_used_ = 0;
}

void Tracer::finish() {
    flush();
    for (const auto& sink : sinks_) sink->finish(*this);
    sinks_.clear();
}

std::string_view Tracer::component_name(ComponentId component) const {
    if (component.value >= components_.size()) return "?";
    return components_[component.value];
}

std::string_view Tracer::message_text(MessageId message) const {
    if (message.value >= messages_.size()) return "?";
    return messages_[message.value].text;
}

std::uint64_t Tracer::message_count(MessageId message) const {
    return message.value < messages_.size() ? messages_[message.value].count : 0;
}

std::vector<std::pair<std::string_view, std::uint64_t>> Tracer::logged_messages() const {
    std::vector<std::pair<std::string_view, std::uint64_t>> result;
    for (const Message& message : messages_) {
        if (message.count > 0) result.emplace_back(message.text, message.count);
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    return result;
}

std::string Tracer::last_as_text(std::size_t count) const {
    std::string text;
    const std::uint64_t held = std::min<std::uint64_t>(written_, ring_.size());
    const std::uint64_t shown = std::min<std::uint64_t>(held, count);
    for (std::uint64_t i = written_ - shown; i < written_; ++i) {
        text += to_text(*this, ring_[i & (ring_.size() - 1)]);
        text += '\n';
    }
    return text;
}

AssertionTrace::AssertionTrace(const Tracer& tracer, std::size_t records)
    : before_(g_assertion_tracer), records_before_(g_assertion_records) {
    g_assertion_tracer = &tracer;
    g_assertion_records = records;
    set_assertion_context(&assertion_text);
}

AssertionTrace::~AssertionTrace() {
    g_assertion_tracer = before_;
    g_assertion_records = records_before_;
    if (before_ == nullptr) set_assertion_context(nullptr);
}

}  // namespace cxsim::model::trace
