// SPDX-License-Identifier: Apache-2.0
// Compression of completions, basic layout: n completions of one kind take their n entries, but
// only the title and arrays of eight mini completions are written.
#include "model/queues/completion_queues.h"

#include "model/base/copy_bytes.h"
#include "prm/layouts.h"

#include <algorithm>
#include <array>

namespace cxsim::model {
namespace {

constexpr std::size_t kMiniArray = 8;
// cqe_compression_max_num and cqe_compression_timeout (taken as microseconds, a guess) as all cards
// tell them.
constexpr std::size_t kMaxBlock = 64;
constexpr Picoseconds kWindow = microseconds(2);

enum MiniFormat : std::uint32_t { kHash = 0, kChecksum = 1, kChecksumStrideIndex = 3 };

constexpr std::uint32_t kOpcodeReceive = 2;
constexpr std::uint32_t kFormatCompressed = 3;
constexpr std::uint32_t kBasicLayout = 0;

using Entry = std::array<std::byte, 64>;
using View = prm::ConstView<prm::cqe64>;
using Mpwrq = prm::cqe64_mpwrq;

// What mini completions carry or the driver derives is taken out; the rest must be equal.
Entry common_part(std::span<const std::byte, 64> cqe) {
    Entry entry;
    copy_bytes(cqe, entry.data());
    const prm::View<prm::cqe64> view(entry);
    view.set<prm::cqe64::rss_hash_result>(0U);
    view.set<prm::cqe64::rss_hash_type_l4>(0U);
    view.set<prm::cqe64::rss_hash_type_ip>(0U);
    view.set<prm::cqe64::check_sum>(0U);
    view.set<prm::cqe64::byte_cnt>(0U);
    view.set<prm::cqe64::timestamp>(0U);
    view.set<prm::cqe64::wqe_counter>(0U);
    view.set<prm::cqe64::owner>(0U);
    return entry;
}

// The driver counts WQEs or strides on from the title.
bool follows(View before, View next, std::uint32_t format) {
    if (format == kChecksumStrideIndex) return true;
    const std::uint32_t step = before.get<prm::cqe64::wqe_id>() != 0 ||
                                       before.get<prm::cqe64::mpwrq, Mpwrq::consumed_strides>() != 0
                                   ? before.get<prm::cqe64::mpwrq, Mpwrq::consumed_strides>()
                                   : 1;
    return next.get<prm::cqe64::wqe_counter>() ==
           ((before.get<prm::cqe64::wqe_counter>() + step) & 0xffff);
}

}  // namespace

bool CompletionQueues::compressible(const Cq& cq, std::span<const std::byte, 64> cqe) {
    const auto context = cq.view();
    if (context.get<prm::cqc::cqe_comp_en>() == 0 || cq.cqe_bytes != cqe.size() ||
        context.get<prm::cqc::cqe_compression_layout>() != kBasicLayout ||
        context.get<prm::cqc::cc>() != 0) {
        return false;
    }
    const View view(cqe);
    return view.get<prm::cqe64::opcode>() == kOpcodeReceive &&
           view.get<prm::cqe64::cqe_format>() == 0 &&
           view.get<prm::cqe64::lro_num_seg>() <= 1;
}

// Holds a completion back for others of its kind.
bool CompletionQueues::collect(Cq& cq, Picoseconds at, std::span<const std::byte, 64> cqe) {
    if (cq.compression == nullptr) {
        cq.compression = std::make_unique<CqCompression>();
        cq.compression->waiting.reserve(kMaxBlock);
    }
    auto& waiting = cq.compression->waiting;
    if (!waiting.empty()) {
        const std::uint32_t format = cq.view().get<prm::cqc::mini_cqe_res_format>();
        const bool joins = common_part(waiting.back()) == common_part(cqe) &&
                           follows(View(waiting.back()), View(cqe), format);
        if (!joins && !flush(cq, at)) return false;
    }
    if (waiting.empty()) {
        cq.compression->flush = state_.calendar().schedule<&CompletionQueues::window_closed>(
            at + kWindow, this, {cq.id.number, state_.tag(cq.tag)});
    }
    copy_bytes(cqe, waiting.emplace_back().data());
    return waiting.size() < kMaxBlock || flush(cq, at);
}

void CompletionQueues::window_closed(const EventArguments& arguments) {
    Cq* cq = state_.context.resources.cqs.find(static_cast<std::uint32_t>(arguments.a));
    if (cq == nullptr || cq->tag != arguments.b || cq->compression == nullptr) {
        ++state_.counters.stale_events;
        return;
    }
    cq->compression->flush = {};
    flush(*cq, state_.calendar().now());
}

// Writes what waits: one completion as it is, more as a block.
bool CompletionQueues::flush(Cq& cq, Picoseconds at) {
    if (cq.compression == nullptr || cq.compression->waiting.empty()) return true;
    state_.calendar().cancel(cq.compression->flush);
    cq.compression->flush = {};
    auto& waiting = cq.compression->waiting;
    if (waiting.size() == 1) {
        Entry only = waiting.front();
        waiting.clear();
        if (!append(cq, at, std::span<std::byte, 64>(only))) return false;
        announce(cq, at, false);
        return true;
    }
    const std::uint32_t format = cq.view().get<prm::cqc::mini_cqe_res_format>();
    const auto count = static_cast<std::uint32_t>(waiting.size());
    const std::uint32_t first = cq.producer;
    DmaStatus status = DmaStatus::ok;
    for (std::uint32_t done = 0; done < count && status == DmaStatus::ok;
         done += static_cast<std::uint32_t>(kMiniArray)) {
        Entry array{};
        for (std::uint32_t i = done; i < std::min<std::uint32_t>(done + kMiniArray, count); ++i) {
            const View cqe(waiting[i]);
            const prm::View<prm::mini_cqe8> mini(
                std::span<std::byte>(array).subspan((i - done) * prm::mini_cqe8::kBytes));
            if (format == kHash) {
                mini.set<prm::mini_cqe8::rx_hash_result>(cqe.get<prm::cqe64::rss_hash_result>());
            } else {
                mini.set<prm::mini_cqe8::checksum>(cqe.get<prm::cqe64::check_sum>());
                if (format == kChecksumStrideIndex) {
                    mini.set<prm::mini_cqe8::stridx>(cqe.get<prm::cqe64::wqe_counter>());
                }
            }
            mini.set<prm::mini_cqe8::byte_cnt>(cqe.get<prm::cqe64::byte_cnt>());
        }
        // The first array stands behind the title, the others at their own eighth entry.
        status = write_slot(cq, at, first + (done == 0 ? 1 : done), array);
    }
    Entry title = waiting.front();
    waiting.clear();
    const prm::View<prm::cqe64> view(title);
    view.set<prm::cqe64::mini_cqe_num>(count);
    view.set<prm::cqe64::cqe_format>(kFormatCompressed);
    view.set<prm::cqe64::owner>((first >> cq.log_size) & 1);
    if (status == DmaStatus::ok) status = write_slot(cq, at, first, title);
    if (!wrote(cq, at, status)) return false;
    cq.producer = first + count;
    state_.counters.cqes += count - 1;
    state_.counters.compressed_cqes += count;
    for (std::uint32_t i = 0; i < count; ++i) announce(cq, at, false);
    return true;
}

}  // namespace cxsim::model
