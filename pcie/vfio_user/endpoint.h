// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pcie/vfio_user/device.h"
#include "pcie/vfio_user/event_loop.h"
#include "pcie/vfio_user/guest_memory.h"
#include "pcie/vfio_user/interrupts.h"
#include "pcie/vfio_user/options.h"
#include "pcie/vfio_user/unique_fd.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cxsim::vfio_user {

class Refusal;
class Session;

// What all endpoints of one server share.
struct ServerState {
    ServerOptions options;
    EventLoop loop;
    UniqueFd wake;           // eventfd: makes the epoll readable when work waits in memory
    UniqueFd spare;          // given up for a moment to refuse a client when descriptors run out
    bool attention = false;  // some endpoint has such work
    int budget = 0;          // messages still to be handled in this dispatch

    void request_attention();
};

// One socket with its device. memory() and interrupts() live as long as the endpoint; they are
// empty while no client is connected.
class Endpoint {
  public:
    Endpoint(ServerState& state, Device& device, std::string name);
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    const std::string& path() const { return name_; }
    Device& device() { return device_; }
    GuestMemory& memory() { return memory_; }
    Interrupts& interrupts() { return interrupts_; }
    const Stats& stats() const { return stats_; }
    bool connected() const { return session_ != nullptr; }
    // Drops the client at the next dispatch; allowed inside callbacks.
    void disconnect(std::string_view reason);

    // For the server.
    Status listen();  // at path()
    Status adopt(UniqueFd socket);
    void service();  // work that no event announced
    void check_memory_faults();

  private:
    void on_listener();
    void on_session(std::uint32_t events);
    void accept_client(UniqueFd socket);
    void refuse_client(UniqueFd socket);
    void run_session();
    void update_or_end();
    void tear_down();
    void log(LogLevel level, const std::string& text) const;

    ServerState& state_;
    Device& device_;
    std::string name_;
    Stats stats_;
    GuestMemory memory_;
    Interrupts interrupts_;

    UniqueFd listener_;
    EventLoop::Token listener_token_ = 0;
    dev_t socket_device_ = 0;  // identity of the socket file, so that only our own is unlinked
    ino_t socket_inode_ = 0;
    std::unique_ptr<Session> session_;
    EventLoop::Token session_token_ = 0;
    std::vector<std::unique_ptr<Refusal>> refusals_;
};

}  // namespace cxsim::vfio_user
