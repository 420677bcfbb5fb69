// SPDX-License-Identifier: Apache-2.0
#include "pcie/vfio_user/interrupts.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

namespace cxsim::vfio_user {
namespace {

// Writing to anything else a client may hand us (a full pipe, a file of its own making) could block
// forever.
bool is_eventfd(int fd) {
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    std::array<char, 64> target;
    const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
    return length > 0 && std::string_view(target.data(), static_cast<std::size_t>(length)) ==
                             "anon_inode:[eventfd]";
}

// An eventfd whose counter is full blocks its writer unless the client made it non-blocking.
bool write_one(int fd) {
    pollfd ready{fd, POLLOUT, 0};
    if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return false;
    const std::uint64_t one = 1;
    return ::write(fd, &one, sizeof(one)) == sizeof(one);
}

}  // namespace

void Interrupts::configure(std::span<const IrqInfo> infos) {
    clear();
    types_.clear();
    for (const IrqInfo& info : infos) {
        Type& type = types_.emplace_back();
        type.info = info;
        type.vectors.resize(info.count);
    }
}

void Interrupts::clear() {
    for (Type& type : types_) {
        for (Vector& vector : type.vectors) disable(vector);
    }
}

void Interrupts::disable(Vector& vector) {
    loop_.remove(vector.mask_token);
    loop_.remove(vector.unmask_token);
    vector = Vector{};
}

const Interrupts::Vector* Interrupts::find(std::uint32_t index, std::uint32_t subindex) const {
    if (index >= types_.size() || subindex >= types_[index].vectors.size()) return nullptr;
    return &types_[index].vectors[subindex];
}

Interrupts::Vector* Interrupts::find(std::uint32_t index, std::uint32_t subindex) {
    return const_cast<Vector*>(std::as_const(*this).find(index, subindex));
}

bool Interrupts::enabled(std::uint32_t index, std::uint32_t subindex) const {
    const Vector* vector = find(index, subindex);
    return vector != nullptr && vector->trigger.valid();
}

bool Interrupts::masked(std::uint32_t index, std::uint32_t subindex) const {
    const Vector* vector = find(index, subindex);
    return vector != nullptr && vector->masked;
}

bool Interrupts::pending(std::uint32_t index, std::uint32_t subindex) const {
    const Vector* vector = find(index, subindex);
    return vector != nullptr && vector->pending;
}

Delivery Interrupts::trigger(std::uint32_t index, std::uint32_t subindex) {
    Vector* vector = find(index, subindex);
    if (vector == nullptr) return Delivery::kBadVector;
    return signal(types_[index].info, *vector);
}

Delivery Interrupts::signal(const IrqInfo& info, Vector& vector) {
    if (!vector.trigger.valid()) {
        ++counters_.no_eventfd;
        return Delivery::kNoEventfd;
    }
    if (vector.masked) {
        vector.pending = true;
        ++counters_.masked;
        return Delivery::kMasked;
    }
    if (!write_one(vector.trigger.get())) {
        ++counters_.failed;
        return Delivery::kFailed;
    }
    ++counters_.delivered;
    if (info.automasked) vector.masked = true;
    return Delivery::kDelivered;
}

void Interrupts::withdraw(std::uint32_t index, std::uint32_t subindex) {
    if (Vector* vector = find(index, subindex)) vector->pending = false;
}

Status Interrupts::set_masked(std::uint32_t index, std::uint32_t subindex, bool masked) {
    Vector* vector = find(index, subindex);
    if (vector == nullptr) return Status(EINVAL);
    vector->masked = masked;
    if (!masked && std::exchange(vector->pending, false)) {
        signal(types_[index].info, *vector);
    }
    return Status();
}

Status Interrupts::validate(const IrqSetPayload& request, std::size_t bool_count,
                            std::span<const UniqueFd> fds) const {
    const std::uint32_t data = request.flags & kIrqSetDataMask;
    const std::uint32_t action = request.flags & kIrqSetActionBits;
    if ((request.flags & ~(kIrqSetDataMask | kIrqSetActionBits)) != 0) return Status(EINVAL);
    if (data != kIrqSetDataNone && data != kIrqSetDataBool && data != kIrqSetDataEventfd) {
        return Status(EINVAL);
    }
    if (action != kIrqSetActionMask && action != kIrqSetActionUnmask &&
        action != kIrqSetActionTrigger) {
        return Status(EINVAL);
    }
    if (request.argsz < sizeof(request) || request.index >= types_.size()) return Status(EINVAL);
    const Type& type = types_[request.index];
    if (request.start >= type.info.count || request.count > type.info.count - request.start) {
        return Status(EINVAL);
    }
    // A count of nothing means the whole type, and only "disable" has that form.
    if (request.count == 0 &&
        (request.start != 0 || data != kIrqSetDataNone || action != kIrqSetActionTrigger)) {
        return Status(EINVAL);
    }
    if (action != kIrqSetActionTrigger && !type.info.maskable) return Status(EINVAL);
    if (data == kIrqSetDataBool && bool_count != request.count) return Status(EINVAL);
    if (data != kIrqSetDataEventfd && !fds.empty()) return Status(EINVAL);
    if (data == kIrqSetDataEventfd && !fds.empty() && fds.size() != request.count) {
        return Status(EINVAL);
    }
    for (const UniqueFd& fd : fds) {
        if (!is_eventfd(fd.get())) return Status(EINVAL);
    }
    return Status();
}

Status Interrupts::set(const IrqSetPayload& request, std::span<const std::byte> bools,
                       std::span<UniqueFd> fds) {
    if (const Status status = validate(request, bools.size(), fds); !status.ok()) return status;
    Type& type = types_[request.index];
    const std::uint32_t data = request.flags & kIrqSetDataMask;
    const std::uint32_t action = request.flags & kIrqSetActionBits;

    if (request.count == 0) {
        for (Vector& vector : type.vectors) disable(vector);
        notify(request.index, 0, type.info.count);
        return Status();
    }
    for (std::uint32_t i = 0; i < request.count; ++i) {
        const std::uint32_t subindex = request.start + i;
        Vector& vector = type.vectors[subindex];
        if (data == kIrqSetDataEventfd) {
            const Status status =
                assign(vector, request, subindex, fds.empty() ? UniqueFd() : std::move(fds[i]));
            if (!status.ok()) return status;
            continue;
        }
        if (data == kIrqSetDataBool && bools[i] == std::byte{0}) continue;
        if (action == kIrqSetActionTrigger) {
            signal(type.info, vector);
        } else {
            const Status status = set_masked(request.index, subindex, action == kIrqSetActionMask);
            if (!status.ok()) return status;
        }
    }
    notify(request.index, request.start, request.count);
    return Status();
}

Status Interrupts::assign(Vector& vector, const IrqSetPayload& request, std::uint32_t subindex,
                          UniqueFd fd) {
    const std::uint32_t action = request.flags & kIrqSetActionBits;
    if (action == kIrqSetActionTrigger) {
        vector.trigger = std::move(fd);
        if (!vector.trigger.valid()) vector.pending = false;
        return Status();
    }
    const bool mask = action == kIrqSetActionMask;
    UniqueFd& slot = mask ? vector.mask_request : vector.unmask_request;
    EventLoop::Token& token = mask ? vector.mask_token : vector.unmask_token;
    loop_.remove(token);
    token = 0;
    slot = std::move(fd);
    if (!slot.valid()) return Status();
    // Edge-triggered: every write of the client gives one event although nobody here reads the
    // counter, which could block (the client may read it, too).
    const std::uint32_t index = request.index;
    const Result<EventLoop::Token> added =
        loop_.add(slot.get(), EPOLLIN | EPOLLET, [this, index, subindex, mask](std::uint32_t) {
            if (set_masked(index, subindex, mask).ok()) notify(index, subindex, 1);
        });
    if (!added.ok()) {
        slot.reset();
        return added.status();
    }
    token = added.value();
    return Status();
}

void Interrupts::notify(std::uint32_t index, std::uint32_t start, std::uint32_t count) {
    if (observer_) observer_(index, start, count);
}

}  // namespace cxsim::vfio_user
