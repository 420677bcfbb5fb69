// SPDX-License-Identifier: Apache-2.0
//
// The client's memory: its announcements, and access through messages where it gave no file.
#include "pcie/vfio_user/session.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace cxsim::vfio_user {
namespace {

constexpr std::uint32_t kDmaMapFlags = kDmaMapRead | kDmaMapWrite;
// Kept commands keep their descriptors open, and a process has few (1024 by default).
constexpr std::size_t kMaxDeferredFds = 256;

}  // namespace

Status Session::dma_map(Message& message) {
    if (message.body.size() != sizeof(DmaMapPayload) || message.fds.size() > 1) {
        return Status(EINVAL);
    }
    const auto request = payload_as<DmaMapPayload>(message);
    if (request.argsz < sizeof(request) || (request.flags & ~kDmaMapFlags) != 0) {
        return Status(EINVAL);
    }
    if (((request.address | request.size) & (agreement_.dma_alignment - 1)) != 0) {
        return Status(EINVAL);
    }
    if (context_.memory.region_count() >= agreement_.max_dma_maps) return Status(ENOSPC);
    DmaRegion region;
    region.address = request.address;
    region.size = request.size;
    region.readable = (request.flags & kDmaMapRead) != 0;
    region.writable = (request.flags & kDmaMapWrite) != 0;
    const int fd = message.fds.empty() ? -1 : message.fds.front().get();
    const Status status =
        context_.memory.map(region, fd, request.offset, context_.options.guard_sigbus);
    if (!status.ok()) return status;
    if (fd >= 0) region.data = context_.memory.find_data(request.address);
    context_.device.dma_mapped(region);
    return Status();
}

Status Session::dma_unmap(const Message& message) {
    if (message.body.size() < sizeof(DmaUnmapPayload)) return Status(EINVAL);
    const auto request = payload_as<DmaUnmapPayload>(message);
    if (request.argsz < sizeof(request)) return Status(EINVAL);
    if ((request.flags & kDmaUnmapGetDirtyBitmap) != 0) return Status(ENOTSUP);
    if ((request.flags & ~kDmaUnmapAll) != 0) return Status(EINVAL);
    if ((request.flags & kDmaUnmapAll) != 0) {
        if (request.address != 0 || request.size != 0) return Status(EINVAL);
        context_.memory.clear();
    } else {
        const Status status = context_.memory.unmap(request.address, request.size);
        if (!status.ok()) return status;
    }
    put(request);
    return Status();
}

Status Session::read(std::uint64_t address, std::span<std::byte> out) {
    const Clock::time_point deadline = Clock::now() + context_.options.dma_timeout;
    while (!out.empty()) {
        const std::size_t part = static_cast<std::size_t>(
            std::min<std::uint64_t>(out.size(), agreement_.peer_max_data_xfer_size));
        const DmaAccessPayload access{address, part};
        ++context_.stats.remote_reads;
        Status status = request(Command::kDmaRead, access, {}, deadline);
        if (status.ok()) {
            DmaAccessPayload echoed{};
            if (answer_.body.size() == sizeof(echoed) + part) {
                echoed = payload_as<DmaAccessPayload>(answer_);
            }
            if (echoed.address != access.address || echoed.count != access.count) {
                status = Status(EIO);
            }
        }
        if (!status.ok()) {
            ++context_.stats.remote_failures;
            return status;
        }
        std::memcpy(out.data(), answer_.body.data() + sizeof(access), part);
        out = out.subspan(part);
        address += part;
    }
    return Status();
}

Status Session::write(std::uint64_t address, std::span<const std::byte> in) {
    const Clock::time_point deadline = Clock::now() + context_.options.dma_timeout;
    while (!in.empty()) {
        const std::size_t part = static_cast<std::size_t>(
            std::min<std::uint64_t>(in.size(), agreement_.peer_max_data_xfer_size));
        const DmaAccessPayload access{address, part};
        ++context_.stats.remote_writes;
        Status status = request(Command::kDmaWrite, access, in.subspan(0, part), deadline);
        if (status.ok()) {
            // The specification's table gives the reply's count 4 bytes where everything else has
            // 8; clients send either. The low half is the same on little-endian machines.
            std::uint64_t echoed_address = 0;
            std::uint32_t echoed_count = 0;
            const bool long_enough =
                answer_.body.size() >= sizeof(echoed_address) + sizeof(echoed_count);
            if (long_enough) {
                std::memcpy(&echoed_address, answer_.body.data(), sizeof(echoed_address));
                std::memcpy(&echoed_count, answer_.body.data() + sizeof(echoed_address),
                            sizeof(echoed_count));
            }
            if (!long_enough || echoed_address != address || echoed_count != part) {
                status = Status(EIO);
            }
        }
        if (!status.ok()) {
            ++context_.stats.remote_failures;
            return status;
        }
        in = in.subspan(part);
        address += part;
    }
    return Status();
}

Status Session::request(Command command, const DmaAccessPayload& access,
                        std::span<const std::byte> data, Clock::time_point deadline) {
    if (over_ || !negotiated_) return Status(ECONNRESET);
    // From a trace or log callback during another request, or while a late answer is missing.
    if (awaiting_ || !unanswered_.empty()) return Status(EBUSY);
    Header header;
    header.id = next_id_++;
    header.command = static_cast<std::uint16_t>(command);
    const Status sent = channel_.send(header, std::as_bytes(std::span(&access, 1)), data, {});
    if (!sent.ok()) {
        end(std::string("client gone: ") + std::strerror(sent.error()), false);
        return Status(ECONNRESET);
    }
    awaiting_ = true;
    const Status status = await_reply(header.id, command, deadline);
    awaiting_ = false;
    if (!deferred_.empty()) context_.request_attention();
    return status;
}

Status Session::lost_reply(std::uint16_t id, int error) {
    unanswered_.insert(id);
    if (error == ETIMEDOUT) ++context_.stats.remote_timeouts;
    return Status(error);
}

Status Session::await_reply(std::uint16_t id, Command command, Clock::time_point deadline) {
    for (;;) {
        const MessageChannel::Received what = channel_.receive(answer_);
        if (received_end(what)) return Status(ECONNRESET);
        if (what == MessageChannel::Received::kMessage) {
            const Header& header = answer_.header;
            if ((header.flags & kFlagTypeMask) == kFlagTypeReply) {
                answer_.fds.clear();
                if (header.id != id || header.command != static_cast<std::uint16_t>(command)) {
                    stray_reply(header);
                    if (Clock::now() >= deadline) return lost_reply(id, ETIMEDOUT);
                    continue;
                }
                if ((header.flags & kFlagError) == 0) return Status();
                // Errno values fit into 12 bits; anything else is not one.
                const bool plausible = header.error > 0 && header.error < 4096;
                return Status(plausible ? static_cast<int>(header.error) : EIO);
            }
            ++context_.stats.deferred_messages;
            deferred_bytes_ += answer_.body.size();
            deferred_fds_ += answer_.fds.size();
            deferred_.push_back(std::move(answer_));
            answer_ = Message{};
            if (deferred_.size() >= context_.options.max_deferred_messages ||
                deferred_bytes_ >= context_.options.max_deferred_bytes ||
                deferred_fds_ >= kMaxDeferredFds) {
                return lost_reply(id, EBUSY);
            }
            if (Clock::now() >= deadline) return lost_reply(id, ETIMEDOUT);
            continue;
        }
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        if (left <= 0) return lost_reply(id, ETIMEDOUT);
        pollfd ready{channel_.fd(), POLLIN, 0};
        if (channel_.output_waiting()) ready.events |= POLLOUT;
        const int count = ::poll(&ready, 1, static_cast<int>(std::min<long>(left, 60'000)));
        if (count > 0 && (ready.revents & POLLOUT) != 0) flush();
        if (over_) return Status(ECONNRESET);
    }
}

}  // namespace cxsim::vfio_user
