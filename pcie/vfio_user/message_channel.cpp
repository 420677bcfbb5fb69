// SPDX-License-Identifier: Apache-2.0
#include "pcie/vfio_user/message_channel.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace cxsim::vfio_user {
namespace {

constexpr std::size_t kMaxFdsAtOnce = 253;  // SCM_MAX_FD of the kernel

// The longest command is a REGION_WRITE of the largest transfer, or a REGION_WRITE_MULTI, for
// which nothing is negotiated; clients put up to 200 writes (4.8 kB) into one.
std::size_t largest_message(const ServerOptions& options) {
    return sizeof(Header) + 64 + std::max<std::size_t>(options.max_data_xfer_size, 64 * 1024);
}

ssize_t send_some(int socket, std::span<iovec> pieces, std::span<const int> fds) {
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * kMaxFdsAtOnce)> control;
    if (!fds.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(fds.size_bytes());
        std::memset(control.data(), 0, message.msg_controllen);
        cmsghdr* rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(fds.size_bytes());
        std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
    }
    ssize_t sent;
    do {
        sent = ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent;
}

bool would_block(int error) {
    return error == EAGAIN || error == EWOULDBLOCK;
}

iovec piece(std::span<const std::byte> bytes) {
    return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

const char* command_name(std::uint16_t command) {
    static constexpr std::array<const char*, kCommandCount> kNames = {"unknown",
                                                                      "VERSION",
                                                                      "DMA_MAP",
                                                                      "DMA_UNMAP",
                                                                      "DEVICE_GET_INFO",
                                                                      "DEVICE_GET_REGION_INFO",
                                                                      "DEVICE_GET_REGION_IO_FDS",
                                                                      "DEVICE_GET_IRQ_INFO",
                                                                      "DEVICE_SET_IRQS",
                                                                      "REGION_READ",
                                                                      "REGION_WRITE",
                                                                      "DMA_READ",
                                                                      "DMA_WRITE",
                                                                      "DEVICE_RESET",
                                                                      "DIRTY_PAGES",
                                                                      "REGION_WRITE_MULTI",
                                                                      "DEVICE_FEATURE",
                                                                      "MIG_DATA_READ",
                                                                      "MIG_DATA_WRITE"};
    return kNames[command < kNames.size() ? command : 0];
}

MessageChannel::MessageChannel(UniqueFd socket, std::string_view name, const ServerOptions& options,
                               Stats& stats)
    : socket_(std::move(socket)),
      name_(name),
      options_(options),
      stats_(stats),
      max_message_size_(largest_message(options)) {}

void MessageChannel::take_fds(msghdr& message) {
    if ((message.msg_flags & MSG_CTRUNC) != 0) partial_.fds_lost = true;
    for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
         control = CMSG_NXTHDR(&message, control)) {
        if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        stats_.fds_in += count;
        for (std::size_t i = 0; i < count; ++i) {
            int fd;
            std::memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof(int));
            UniqueFd owned(fd);
            if (partial_.fds.size() < options_.max_msg_fds) {
                partial_.fds.push_back(std::move(owned));
            } else {
                partial_.fds_lost = true;
            }
        }
    }
}

ssize_t MessageChannel::receive_some(std::byte* into, std::size_t size) {
    iovec vector{into, size};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * kMaxFdsAtOnce)> control;
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ssize_t got;
    do {
        got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return got;
    take_fds(message);
    stats_.bytes_in += static_cast<std::uint64_t>(got);
    return got;
}

MessageChannel::Received MessageChannel::receive(Message& out) {
    for (;;) {
        std::byte* into = nullptr;
        std::size_t wanted = 0;
        if (partial_size_ < sizeof(Header)) {
            into = header_bytes_.data() + partial_size_;
            wanted = sizeof(Header) - partial_size_;
        } else if (partial_size_ < partial_.header.size) {
            const std::size_t have = partial_size_ - sizeof(Header);
            into = partial_.body.data() + have;
            wanted = partial_.body.size() - have;
        }
        if (wanted > 0) {
            const ssize_t got = receive_some(into, wanted);
            if (got < 0) {
                return would_block(errno) ? Received::kNothingYet : Received::kFailed;
            }
            if (got == 0) return Received::kClosed;
            const bool was_in_header = partial_size_ < sizeof(Header);
            partial_size_ += static_cast<std::size_t>(got);
            if (!was_in_header || partial_size_ < sizeof(Header)) continue;
            std::memcpy(&partial_.header, header_bytes_.data(), sizeof(Header));
            const Header& header = partial_.header;
            const std::uint32_t type = header.flags & kFlagTypeMask;
            if (header.size < sizeof(Header) || header.size > max_message_size_ ||
                (type != kFlagTypeCommand && type != kFlagTypeReply)) {
                return Received::kBadFrame;
            }
            partial_.body.resize(header.size - sizeof(Header));
            continue;
        }
        std::swap(out, partial_);
        partial_.fds.clear();
        partial_.fds_lost = false;
        partial_size_ = 0;
        if (options_.trace) {
            options_.trace({name_, true, out.header, out.body, out.fds.size()});
        }
        return Received::kMessage;
    }
}

Status MessageChannel::send(Header header, std::span<const std::byte> first,
                            std::span<const std::byte> second, std::span<const int> fds) {
    header.size = static_cast<std::uint32_t>(sizeof(Header) + first.size() + second.size());
    if (options_.trace) {
        // The parts lie apart; what a reader of traces wants to see is mostly in the first.
        if (second.empty()) {
            options_.trace({name_, false, header, first, fds.size()});
        } else {
            std::vector<std::byte> whole(first.begin(), first.end());
            whole.insert(whole.end(), second.begin(), second.end());
            options_.trace({name_, false, header, whole, fds.size()});
        }
    }
    std::size_t sent = 0;
    if (output_.empty()) {
        std::array<iovec, 3> pieces = {piece(std::as_bytes(std::span(&header, 1))), piece(first),
                                       piece(second)};
        const ssize_t result = send_some(socket_.get(), pieces, fds);
        if (result < 0 && !would_block(errno)) return Status(errno);
        if (result > 0) {
            sent = static_cast<std::size_t>(result);
            stats_.bytes_out += sent;
            stats_.fds_out += fds.size();
        }
        if (sent == header.size) return Status();
    }
    Outgoing queued;
    queued.bytes.reserve(header.size);
    const auto header_span = std::as_bytes(std::span(&header, 1));
    queued.bytes.insert(queued.bytes.end(), header_span.begin(), header_span.end());
    queued.bytes.insert(queued.bytes.end(), first.begin(), first.end());
    queued.bytes.insert(queued.bytes.end(), second.begin(), second.end());
    queued.sent = sent;
    if (sent == 0) {
        for (const int fd : fds) {
            UniqueFd copy = UniqueFd::duplicate(fd);
            if (!copy.valid()) return Status(errno);
            queued.fds.push_back(std::move(copy));
        }
    }
    output_bytes_ += header.size - sent;
    output_.push_back(std::move(queued));
    return Status();
}

Status MessageChannel::flush() {
    // One message per call to the kernel: a client that takes a header in one read (QEMU does) must
    // not find it split, which joining messages would cause at buffer borders.
    while (!output_.empty()) {
        Outgoing& next = output_.front();
        std::array<iovec, 1> rest = {piece(std::span(next.bytes).subspan(next.sent))};
        std::vector<int> fds;
        for (const UniqueFd& fd : next.fds) fds.push_back(fd.get());
        const ssize_t result = send_some(socket_.get(), rest, fds);
        if (result < 0) return would_block(errno) ? Status() : Status(errno);
        const auto sent = static_cast<std::size_t>(result);
        stats_.bytes_out += sent;
        stats_.fds_out += fds.size();
        next.fds.clear();
        next.sent += sent;
        output_bytes_ -= sent;
        if (next.sent == next.bytes.size()) output_.pop_front();
    }
    return Status();
}

}  // namespace cxsim::vfio_user
