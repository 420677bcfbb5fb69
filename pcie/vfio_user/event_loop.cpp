// SPDX-License-Identifier: Apache-2.0
#include "pcie/vfio_user/event_loop.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <utility>

namespace cxsim::vfio_user {

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

Result<EventLoop::Token> EventLoop::add(int fd, std::uint32_t events, Callback callback) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = next_token_;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return Status(errno);
    watches_.emplace(next_token_,
                     Watch{fd, events, std::make_shared<Callback>(std::move(callback))});
    return next_token_++;
}

void EventLoop::modify(Token token, std::uint32_t events) {
    const auto found = watches_.find(token);
    if (found == watches_.end() || found->second.events == events) return;
    epoll_event event{};
    event.events = events;
    event.data.u64 = token;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, found->second.fd, &event) == 0) {
        found->second.events = events;
    }
}

void EventLoop::remove(Token token) {
    const auto found = watches_.find(token);
    if (found == watches_.end()) return;
    // Closing would not do: the client may hold the same open file, which keeps it in the epoll.
    epoll_event unused{};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second.fd, &unused);
    watches_.erase(found);
}

Result<int> EventLoop::run(int timeout_ms) {
    std::array<epoll_event, 64> events;
    const int count =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
    if (count < 0) {
        if (errno == EINTR) return 0;
        return Status(errno);
    }
    for (int i = 0; i < count; ++i) {
        // By value: the structure is packed, so that references to its members may be misaligned.
        const epoll_event event = events[static_cast<std::size_t>(i)];
        const Token token = event.data.u64;
        const auto found = watches_.find(token);
        if (found == watches_.end()) continue;
        const std::shared_ptr<Callback> callback = found->second.callback;
        (*callback)(event.events);
    }
    return count;
}

}  // namespace cxsim::vfio_user
