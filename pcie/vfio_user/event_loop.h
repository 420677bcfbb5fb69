// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pcie/vfio_user/status.h"
#include "pcie/vfio_user/unique_fd.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

namespace cxsim::vfio_user {

// epoll with callbacks. A callback may add, change and remove any watch, its own included: watches
// are named by numbers that are never reused, so an event of a removed one finds nobody.
class EventLoop {
  public:
    using Callback = std::function<void(std::uint32_t events)>;
    using Token = std::uint64_t;  // 0 is never given

    EventLoop();
    int fd() const { return epoll_.get(); }
    bool valid() const { return epoll_.valid(); }

    Result<Token> add(int fd, std::uint32_t events, Callback callback);
    void modify(Token token, std::uint32_t events);
    void remove(Token token);  // before the fd is closed

    // Waits for events (milliseconds; 0: not at all, negative: until one comes), then calls back
    // for each. Returns how many there were.
    Result<int> run(int timeout_ms);

  private:
    struct Watch {
        int fd;
        std::uint32_t events;
        std::shared_ptr<Callback> callback;
    };

    UniqueFd epoll_;
    Token next_token_ = 1;
    std::unordered_map<Token, Watch> watches_;
};

}  // namespace cxsim::vfio_user
