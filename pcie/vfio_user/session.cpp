// SPDX-License-Identifier: Apache-2.0
#include "pcie/vfio_user/session.h"

#include <poll.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cxsim::vfio_user {

Session::Session(UniqueFd socket, SessionContext context)
    : context_(std::move(context)),
      channel_(std::move(socket), context_.name, context_.options, context_.stats) {}

bool Session::congested() const {
    return channel_.output_bytes() >= context_.options.output_high_water;
}

std::uint32_t Session::wanted_events() const {
    std::uint32_t events = 0;
    if (!congested()) events |= EPOLLIN;
    if (channel_.output_waiting()) events |= EPOLLOUT;
    return events;
}

bool Session::peer_gone() const {
    pollfd state{channel_.fd(), POLLRDHUP, 0};
    return ::poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0;
}

void Session::end(const std::string& reason, bool protocol_error) {
    if (over_) return;
    over_ = true;
    end_reason_ = reason;
    if (protocol_error) ++context_.stats.protocol_drops;
    context_.request_attention();
}

void Session::abort(std::string_view reason) {
    end(std::string(reason), false);
}

void Session::flush() {
    if (over_) return;
    if (const Status status = channel_.flush(); !status.ok()) {
        end(std::string("client gone: ") + std::strerror(status.error()), false);
    }
    if (!congested()) stalled_ = false;
}

// True when `what` ended the session.
bool Session::received_end(MessageChannel::Received what) {
    switch (what) {
        case MessageChannel::Received::kMessage:
        case MessageChannel::Received::kNothingYet:
            return false;
        case MessageChannel::Received::kClosed:
            end("client closed the connection", false);
            return true;
        case MessageChannel::Received::kFailed:
            end(std::string("client gone: ") + std::strerror(errno), false);
            return true;
        case MessageChannel::Received::kBadFrame: {
            const Header& header = channel_.bad_header();
            end("impossible message header: command " + std::to_string(header.command) + ", size " +
                    std::to_string(header.size) + ", flags " + std::to_string(header.flags),
                true);
            return true;
        }
    }
    return true;
}

int Session::process(int limit) {
    int handled = 0;
    while (handled < limit && !over_) {
        if (congested()) {
            if (!std::exchange(stalled_, true)) ++context_.stats.output_stalls;
            break;
        }
        if (!deferred_.empty()) {
            Message message = std::move(deferred_.front());
            deferred_.pop_front();
            deferred_bytes_ -= message.body.size();
            deferred_fds_ -= message.fds.size();
            handle(message);
            ++handled;
            continue;
        }
        const MessageChannel::Received what = channel_.receive(message_);
        if (received_end(what) || what == MessageChannel::Received::kNothingYet) break;
        if ((message_.header.flags & kFlagTypeMask) == kFlagTypeReply) {
            stray_reply(message_.header);
        } else {
            handle(message_);
        }
        message_.fds.clear();
        ++handled;
    }
    return handled;
}

void Session::stray_reply(const Header& header) {
    if (unanswered_.erase(header.id) == 0) ++context_.stats.unexpected_replies;
}

void Session::handle(Message& message) {
    const Header& header = message.header;
    const bool known = header.command != 0 && header.command < kCommandCount;
    ++context_.stats.commands[known ? header.command : 0];
    reply_.clear();
    reply_fds_.clear();
    const Status status = execute(message);
    if (!status.ok()) complain(header, status);
    if (over_) return;
    if ((header.flags & kFlagNoReply) != 0) {
        if (!status.ok()) ++context_.stats.silent_errors;
    } else {
        reply(header, status);
    }
    if (end_after_reply_) end("no agreement on the protocol", true);
}

void Session::reply(const Header& command, Status status) {
    Header header;
    header.id = command.id;
    header.command = command.command;
    header.flags = kFlagTypeReply;
    if (!status.ok()) {
        header.flags |= kFlagError;
        header.error = static_cast<std::uint32_t>(status.error());
        reply_.clear();
        reply_fds_.clear();
        ++context_.stats.error_replies;
    } else {
        ++context_.stats.replies;
    }
    const Status sent = channel_.send(header, reply_, {}, reply_fds_);
    if (!sent.ok()) end(std::string("client gone: ") + std::strerror(sent.error()), false);
}

void Session::complain(const Header& header, Status status) {
    // A client that errs a million times must not fill somebody's disk.
    if (log_lines_left_ == 0) {
        ++context_.stats.suppressed_log_lines;
        return;
    }
    --log_lines_left_;
    context_.log(
        LogLevel::kWarning,
        std::string(command_name(header.command)) + " (command " + std::to_string(header.command) +
            ", " + std::to_string(header.size) +
            " bytes) refused: " + std::strerror(status.error()) +
            (log_lines_left_ == 0 ? "; further ones of this client are only counted" : ""));
}

Status Session::execute(Message& message) {
    const Header& header = message.header;
    const auto command = static_cast<Command>(header.command);
    if (!negotiated_ && command != Command::kVersion) {
        end_after_reply_ = true;
        return Status(EINVAL);
    }
    if (message.fds_lost || (header.flags & kFlagError) != 0) return Status(EINVAL);
    if (!message.fds.empty() && command != Command::kDmaMap && command != Command::kDeviceSetIrqs) {
        return Status(EINVAL);
    }
    switch (command) {
        case Command::kVersion:
            return version(message);
        case Command::kDmaMap:
            return dma_map(message);
        case Command::kDmaUnmap:
            return dma_unmap(message);
        case Command::kDeviceGetInfo:
            return device_info(message);
        case Command::kDeviceGetRegionInfo:
            return region_info(message);
        case Command::kDeviceGetRegionIoFds:
            return region_io_fds(message);
        case Command::kDeviceGetIrqInfo:
            return irq_info(message);
        case Command::kDeviceSetIrqs:
            return set_irqs(message);
        case Command::kRegionRead:
            return region_read(message);
        case Command::kRegionWrite:
            return region_write(message);
        case Command::kRegionWriteMulti:
            return region_write_multi(message);
        case Command::kDeviceReset:
            if (!message.body.empty()) return Status(EINVAL);
            return context_.device.reset();
        case Command::kDirtyPages:  // migration is not offered
        case Command::kDeviceFeature:
        case Command::kMigDataRead:
        case Command::kMigDataWrite:
            return Status(ENOTSUP);
        case Command::kDmaRead:  // only the server sends these
        case Command::kDmaWrite:
            return Status(EINVAL);
    }
    return Status(EINVAL);
}

}  // namespace cxsim::vfio_user
