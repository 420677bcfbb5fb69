// SPDX-License-Identifier: Apache-2.0
#include "model/queues/uar_pages.h"

#include "model/base/copy_bytes.h"
#include "prm/layouts.h"

#include <algorithm>
#include <array>

namespace cxsim::model {
namespace {

constexpr std::uint32_t kPageBytes = 4096;
constexpr std::uint32_t kCqArm = prm::uar_page::cq_arm::kOffset / 8;
constexpr std::uint32_t kEqArm = prm::uar_page::eq_update_arm::kOffset / 8;
constexpr std::uint32_t kEqUpdate = prm::uar_page::eq_update::kOffset / 8;
constexpr std::uint32_t kBlueFlame = prm::uar_page::blueflame::kOffset / 8;
constexpr std::uint32_t kBufferBytes = prm::blueflame_buffer::kBytes;
constexpr std::uint64_t kDoorbellDwords = 0x3;
constexpr std::uint32_t kDoorbellBytes = 8;
constexpr std::uint64_t kBasicBlockDwords = 0xffff;
// A write-combining CPU sends the 64 bytes of a BlueFlame write as one. A virtual machine traps
// each store, and they come one by one; on a page where that was seen, a doorbell waits this long
// for the rest of its WQE. Approximation of the CPU's buffer; whole writes never wait.
constexpr Picoseconds kCombining = microseconds(60);

}  // namespace

void UarPages::write(Picoseconds arrival, std::uint64_t page, std::uint32_t offset,
                     std::span<const std::byte> data) {
    Uar* uar = page <= UINT32_MAX
                   ? state_.context.resources.uars.find(static_cast<std::uint32_t>(page))
                   : nullptr;
    if (uar == nullptr) {
        ++state_.counters.uar_not_allocated;
        return;
    }
    if (data.empty() || offset % 4 != 0 || data.size() % 4 != 0 || offset >= kPageBytes ||
        data.size() > kPageBytes - offset) {
        ++state_.counters.uar_bad_write;
    } else if (offset >= kBlueFlame) {
        blue_flame(arrival, *uar, offset - kBlueFlame, data);
    } else if (offset == kCqArm || offset == kCqArm + 4) {
        arm_cq(arrival, *uar, offset - kCqArm, data);
    } else if (offset == kEqArm || offset == kEqUpdate) {
        ring_eq(arrival, *uar, offset == kEqArm, data);
    } else {
        ++state_.counters.uar_bad_write;
    }
}

void UarPages::arm_cq(Picoseconds arrival, Uar& uar, std::uint32_t offset,
                      std::span<const std::byte> data) {
    if (offset == 0 && data.size() == prm::cq_doorbell::kBytes) {
        ring_cq(arrival, uar, data);
        return;
    }
    if (data.size() != 4) {
        ++state_.counters.uar_bad_write;
        return;
    }
    // Two halves: the command, then the number.
    if (uar.latches == nullptr) uar.latches = std::make_unique<UarLatches>();
    UarLatches& latches = *uar.latches;
    if (offset == 0) {
        std::ranges::copy(data, latches.cq_arm.begin());
        latches.cq_arm_valid = true;
        return;
    }
    if (!latches.cq_arm_valid) {
        ++state_.counters.uar_bad_write;
        return;
    }
    latches.cq_arm_valid = false;
    std::array<std::byte, prm::cq_doorbell::kBytes> doorbell{};
    std::ranges::copy(latches.cq_arm, doorbell.begin());
    std::ranges::copy(data, doorbell.begin() + 4);
    ring_cq(arrival, uar, doorbell);
}

void UarPages::ring_cq(Picoseconds arrival, const Uar& uar, std::span<const std::byte> doorbell) {
    const prm::ConstView<prm::cq_doorbell> view(doorbell);
    Cq* cq = state_.context.resources.cqs.find(view.get<prm::cq_doorbell::cqn>());
    if (cq == nullptr) {
        ++state_.counters.doorbell_unknown_object;
        return;
    }
    if (cq->view().get<prm::cqc::uar_page>() != uar.id.number) {
        ++state_.counters.doorbell_wrong_uar;
        return;
    }
    ++state_.counters.cq_arms;
    completions_.arm(*cq, arrival, view.get<prm::cq_doorbell::cmd_sn>(),
                     view.get<prm::cq_doorbell::cmd>() != 0, view.get<prm::cq_doorbell::ci>());
}

void UarPages::ring_eq(Picoseconds arrival, const Uar& uar, bool arm,
                       std::span<const std::byte> data) {
    if (data.size() != prm::eq_doorbell::kBytes) {
        ++state_.counters.uar_bad_write;
        return;
    }
    const prm::ConstView<prm::eq_doorbell> view(data);
    Eq* eq = state_.context.resources.eqs.find(view.get<prm::eq_doorbell::eqn>());
    if (eq == nullptr) {
        ++state_.counters.doorbell_unknown_object;
        return;
    }
    if (eq->view().get<prm::eqc::uar_page>() != uar.id.number) {
        ++state_.counters.doorbell_wrong_uar;
        return;
    }
    ++state_.counters.eq_doorbells;
    events_.consumer_update(*eq, arrival, view.get<prm::eq_doorbell::ci>(), arm);
}

void UarPages::blue_flame(Picoseconds arrival, Uar& uar, std::uint32_t offset,
                          std::span<const std::byte> data) {
    const auto index = static_cast<std::uint8_t>(offset / kBufferBytes);
    const std::uint32_t start = offset % kBufferBytes;
    if (data.size() > kBufferBytes - start) {
        ++state_.counters.uar_bad_write;
        return;
    }
    if (uar.latches == nullptr) uar.latches = std::make_unique<UarLatches>();
    UarLatches::BlueFlame& buffer = uar.latches->blue_flame[index];
    if (start == 0) {
        // A new doorbell: what was there belongs to an older one.
        if (release_held(buffer)) ring_send(arrival, uar, index);
        buffer.filled = 0;
    } else if (start >= kDoorbellBytes &&
               buffer.filled == (std::uint64_t{1} << (start / 4)) - 1) {
        uar.latches->piecewise = true;
    }
    const bool had_doorbell = (buffer.filled & kDoorbellDwords) == kDoorbellDwords;
    copy_bytes(data, buffer.data.data() + start);
    for (std::uint32_t dword = start / 4; dword < (start + data.size()) / 4; ++dword) {
        buffer.filled |= std::uint64_t{1} << dword;
    }
    const bool whole = (buffer.filled & kBasicBlockDwords) == kBasicBlockDwords;
    if (had_doorbell) {
        if (whole && release_held(buffer)) ring_send(arrival, uar, index);
    } else if ((buffer.filled & kDoorbellDwords) == kDoorbellDwords) {
        if (whole || !uar.latches->piecewise) {
            ring_send(arrival, uar, index);
        } else {
            ++doorbells_held_;
            buffer.held = state_.calendar().schedule<&UarPages::ring_held>(
                state_.not_before_now(arrival) + kCombining, this, {uar.id.number, index, 0});
        }
    }
}

// Takes back the wait of a buffer's doorbell; false if none waits.
bool UarPages::release_held(UarLatches::BlueFlame& buffer) {
    if (!state_.calendar().cancel(buffer.held)) return false;
    --doorbells_held_;
    return true;
}

void UarPages::ring_held(const EventArguments& page_and_buffer) {
    --doorbells_held_;
    Uar* uar = state_.context.resources.uars.find(static_cast<std::uint32_t>(page_and_buffer.a));
    if (uar == nullptr || uar->latches == nullptr) return;  // deallocated meanwhile
    ring_send(state_.calendar().now(), *uar, static_cast<std::uint8_t>(page_and_buffer.b));
}

void UarPages::ring_send(Picoseconds arrival, Uar& uar, std::uint8_t index) {
    const UarLatches::BlueFlame& buffer = uar.latches->blue_flame[index];
    sends_.doorbell(arrival, uar.id.number, index,
                    std::span<const std::byte>(buffer.data).first<8>());
}

}  // namespace cxsim::model
