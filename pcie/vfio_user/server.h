// SPDX-License-Identifier: Apache-2.0
//
// A vfio-user server for PCI devices. It owns no thread: the caller watches epoll_fd() in its own
// event loop and calls dispatch(), or lets poll_once() wait.
#pragma once

#include "pcie/vfio_user/device.h"
#include "pcie/vfio_user/endpoint.h"
#include "pcie/vfio_user/options.h"
#include "pcie/vfio_user/status.h"

#include <memory>
#include <string>
#include <vector>

namespace cxsim::vfio_user {

// Any number of sockets, each with one device, none of which waits for another (a memory access
// through messages excepted: it blocks its caller, at most options.dma_timeout). Single-threaded:
// everything of a server, its endpoints, memories and interrupts, is used on one thread.
class Server {
  public:
    explicit Server(ServerOptions options = {});
    ~Server();  // disconnects the clients, unlinks the sockets
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // Listens at `path`. A socket file there that nobody listens at is replaced. The device must
    // outlive the endpoint. Errors: EADDRINUSE (somebody listens), EEXIST (no socket),
    // ENAMETOOLONG, EINVAL (options or the device's regions are impossible), or an errno of the
    // system.
    Result<Endpoint*> listen(const std::string& path, Device& device);
    // The same for an already connected stream socket; taken over, closed also on error. When its
    // client leaves, the endpoint stays without one.
    Result<Endpoint*> adopt(int socket, std::string name, Device& device);
    // Disconnects and forgets. EBUSY inside a callback, ENOENT for a stranger.
    Status remove(Endpoint* endpoint);
    const std::vector<std::unique_ptr<Endpoint>>& endpoints() const { return endpoints_; }

    int epoll_fd() const { return state_.loop.fd(); }  // readable when dispatch() has work
    // Handles what is there, at most `max_messages`, without waiting; how many there were.
    // EBUSY inside a callback.
    Result<int> dispatch(int max_messages = 1024);
    // Waits for work (milliseconds; negative: without limit), then as dispatch().
    Result<int> poll_once(int timeout_ms, int max_messages = 1024);

  private:
    Status check_device(Device& device) const;
    void service_endpoints();

    ServerState state_;
    Status options_status_;
    std::vector<std::unique_ptr<Endpoint>> endpoints_;
    bool dispatching_ = false;
    std::uint64_t seen_faults_ = 0;
};

}  // namespace cxsim::vfio_user
