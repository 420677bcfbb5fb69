// SPDX-License-Identifier: Apache-2.0
#include "scenarios/driver/event_queue.h"

#include "model/prm/view.h"
#include "prm/layouts.h"

#include <algorithm>

namespace cxsim::scenarios {

using model::HostAddress;

namespace {

constexpr std::uint64_t kUarBytes = 4096;
constexpr std::uint32_t kIndexMask = 0xffffff;

}  // namespace

EventQueue::EventQueue(Host& host, std::vector<HostAddress> pages, std::uint64_t page_bytes,
                       std::uint32_t log_size, std::uint32_t uar, std::uint32_t vector)
    : host_(host),
      pages_(std::move(pages)),
      page_bytes_(page_bytes),
      log_size_(log_size),
      uar_(uar),
      vector_(vector),
      interrupts_seen_(vector < host.vectors() ? host.interrupts(vector) : 0) {
    // The card's first lap writes owner 0, so the driver starts with 1.
    const std::array<std::byte, 1> software{std::byte{1}};
    for (std::uint32_t i = 0; i < entries(); ++i) {
        host_.memory().store(entry_address(i) + (kEntryBytes - 1), software);
    }
}

HostAddress EventQueue::entry_address(std::uint32_t index) const {
    const std::uint64_t offset = std::uint64_t{index} * kEntryBytes;
    return pages_.at(offset / page_bytes_) + offset % page_bytes_;
}

std::optional<Event> EventQueue::poll() {
    std::array<std::byte, kEntryBytes> bytes;
    host_.memory().load(entry_address(consumer_ & (entries() - 1)), bytes);
    const prm::ConstView<prm::eqe> eqe(bytes);
    if (eqe.get<prm::eqe::owner>() != ((consumer_ >> log_size_) & 1)) return {};
    ++consumer_;
    ++consumed_;
    Event event;
    event.type = static_cast<prm::EventType>(eqe.get<prm::eqe::event_type>());
    event.subtype = static_cast<std::uint8_t>(eqe.get<prm::eqe::event_sub_type>());
    std::ranges::copy(eqe.bytes<prm::eqe::event_data>(), event.data.begin());
    return event;
}

void EventQueue::doorbell(bool arm) {
    const std::uint32_t at =
        arm ? prm::uar_page::eq_update_arm::kOffset / 8 : prm::uar_page::eq_update::kOffset / 8;
    host_.mmio_write32(uar_ * kUarBytes + at, number_ << 24 | (consumer_ & kIndexMask));
}

bool EventQueue::interrupted() {
    const std::uint64_t now = host_.interrupts(vector_);
    const bool fresh = now != interrupts_seen_;
    interrupts_seen_ = now;
    return fresh;
}

}  // namespace cxsim::scenarios
