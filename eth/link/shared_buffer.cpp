// SPDX-License-Identifier: Apache-2.0
#include "eth/link/shared_buffer.h"

#include "model/base/assert.h"

#include <algorithm>

namespace cxsim::eth {

SharedBuffer::SharedBuffer(const SwitchSettings& settings, unsigned ports)
    : settings_(settings), accounts_(ports) {
    if (dynamic()) pool_ = settings.shared_buffer.value - settings.set_apart(ports).value;
}

// Lossless priorities have their reserve first; the others live on the pool alone.
std::uint64_t SharedBuffer::shared_of(const Account& account, unsigned priority) const {
    const std::uint64_t own = account.held - account.in_headroom;
    const std::uint64_t reserve = lossless(priority) ? settings_.reserve.value : 0;
    return own > reserve ? own - reserve : 0;
}

// As shared-memory switches do it: a part of what is free, so that some always stays free for a
// port that was quiet.
std::uint64_t SharedBuffer::threshold() const {
    if (!dynamic()) return settings_.xoff.value;
    return static_cast<std::uint64_t>(settings_.alpha * static_cast<double>(pool_ - shared_used_));
}

SharedBuffer::Place SharedBuffer::place_for(const Account& account, unsigned priority,
                                            std::uint32_t bytes) const {
    if (!dynamic()) {
        const std::uint64_t limit = settings_.shared_buffer.value;
        return limit == 0 || held_ + bytes <= limit ? Place::shared : Place::none;
    }
    const std::uint64_t before = shared_of(account, priority);
    const std::uint64_t after =
        shared_of({account.held + bytes, account.in_headroom}, priority);
    const bool fits = shared_used_ + (after - before) <= pool_;
    if (!lossless(priority)) return fits ? Place::shared : Place::none;
    if (fits && (after == 0 || after <= threshold())) return Place::shared;
    return account.in_headroom + bytes <= settings_.headroom.value ? Place::headroom : Place::none;
}

bool SharedBuffer::has_room(unsigned port, unsigned priority, std::uint32_t bytes) const {
    return place_for(accounts_[port][priority], priority, bytes) != Place::none;
}

void SharedBuffer::take(unsigned port, unsigned priority, std::uint32_t bytes) {
    Account& account = accounts_[port][priority];
    const Place place = place_for(account, priority, bytes);
    CX_ASSERT(place != Place::none, "a frame is taken that has no room");
    const std::uint64_t before = shared_of(account, priority);
    account.held += bytes;
    if (place == Place::headroom) account.in_headroom += bytes;
    if (dynamic()) shared_used_ += shared_of(account, priority) - before;
    held_ += bytes;
    peak_ = std::max(peak_, held_);
}

// Headroom is free again first: it is what the next pause counts on.
void SharedBuffer::give_back(unsigned port, unsigned priority, std::uint32_t bytes) {
    Account& account = accounts_[port][priority];
    CX_ASSERT(account.held >= bytes, "more is given back than was taken");
    const std::uint64_t before = shared_of(account, priority);
    account.in_headroom -= std::min<std::uint64_t>(account.in_headroom, bytes);
    account.held -= bytes;
    if (dynamic()) shared_used_ -= before - shared_of(account, priority);
    held_ -= bytes;
}

bool SharedBuffer::must_pause(unsigned port, unsigned priority) const {
    const Account& account = accounts_[port][priority];
    if (!dynamic()) return account.held > settings_.xoff.value;
    return account.in_headroom > 0 || shared_of(account, priority) >= threshold();
}

bool SharedBuffer::may_resume(unsigned port, unsigned priority) const {
    const Account& account = accounts_[port][priority];
    if (!dynamic()) return account.held <= settings_.xon.value;
    if (account.in_headroom > 0) return false;
    const std::uint64_t shared = shared_of(account, priority);
    return shared == 0 || shared + settings_.resume_offset.value <= threshold();
}

}  // namespace cxsim::eth
