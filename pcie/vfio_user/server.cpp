// SPDX-License-Identifier: Apache-2.0
#include "pcie/vfio_user/server.h"

#include "pcie/vfio_user/sigbus_guard.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cxsim::vfio_user {
namespace {

constexpr std::uint32_t kMaxFdsAtOnce = 253;

Status check_options(const ServerOptions& options) {
    const bool good = options.max_msg_fds >= 1 && options.max_msg_fds <= kMaxFdsAtOnce &&
                      options.max_data_xfer_size >= 4096 &&
                      options.max_data_xfer_size <= (1u << 30) && options.max_dma_maps >= 1 &&
                      options.pgsizes != 0 && (options.pgsizes & 0xfff) == 0 &&
                      options.output_high_water > 0 && options.dma_timeout.count() > 0;
    return good ? Status() : Status(EINVAL);
}

}  // namespace

Server::Server(ServerOptions options) {
    options_status_ = check_options(options);
    state_.options = std::move(options);
    state_.wake.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    state_.spare.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!options_status_.ok()) return;
    if (!state_.loop.valid() || !state_.wake.valid()) {
        options_status_ = Status(EMFILE);
        return;
    }
    // Only there to make the epoll readable; service_endpoints() resets it.
    options_status_ = state_.loop.add(state_.wake.get(), EPOLLIN, [](std::uint32_t) {}).status();
}

Server::~Server() = default;

Status Server::check_device(Device& device) const {
    for (const RegionInfo& region : device.regions()) {
        for (const SparseMmapArea& area : region.mmap_areas) {
            const bool inside = area.size > 0 && area.offset <= region.size &&
                                area.size <= region.size - area.offset;
            if (region.fd < 0 || !inside) return Status(EINVAL);
        }
    }
    return Status();
}

Result<Endpoint*> Server::listen(const std::string& path, Device& device) {
    if (!options_status_.ok()) return options_status_;
    if (const Status status = check_device(device); !status.ok()) return status;
    auto endpoint = std::make_unique<Endpoint>(state_, device, path);
    if (const Status status = endpoint->listen(); !status.ok()) return status;
    endpoints_.push_back(std::move(endpoint));
    return endpoints_.back().get();
}

Result<Endpoint*> Server::adopt(int socket, std::string name, Device& device) {
    UniqueFd owned(socket);
    if (!options_status_.ok()) return options_status_;
    if (const Status status = check_device(device); !status.ok()) return status;
    auto endpoint = std::make_unique<Endpoint>(state_, device, std::move(name));
    if (const Status status = endpoint->adopt(std::move(owned)); !status.ok()) return status;
    endpoints_.push_back(std::move(endpoint));
    return endpoints_.back().get();
}

Status Server::remove(Endpoint* endpoint) {
    if (dispatching_) return Status(EBUSY);
    const auto found =
        std::find_if(endpoints_.begin(), endpoints_.end(),
                     [endpoint](const auto& owned) { return owned.get() == endpoint; });
    if (found == endpoints_.end()) return Status(ENOENT);
    endpoints_.erase(found);
    return Status();
}

void Server::service_endpoints() {
    if (const std::uint64_t faults = SigbusGuard::total_faults(); faults != seen_faults_) {
        seen_faults_ = faults;
        for (const auto& endpoint : endpoints_) endpoint->check_memory_faults();
    }
    if (!state_.attention) return;
    state_.attention = false;
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(state_.wake.get(), &count, sizeof(count));
    for (const auto& endpoint : endpoints_) endpoint->service();
}

Result<int> Server::dispatch(int max_messages) {
    if (dispatching_) return Status(EBUSY);
    if (!options_status_.ok()) return options_status_;
    dispatching_ = true;
    state_.budget = std::max(max_messages, 1);
    const int budget = state_.budget;
    Status status;
    // Each round either handles messages or is the last; the bound is for events that are neither
    // messages nor answered by making them go away.
    for (int round = 0; round < budget + 16 && state_.budget > 0; ++round) {
        service_endpoints();
        const Result<int> events = state_.loop.run(0);
        if (!events.ok()) {
            status = events.status();
            break;
        }
        if (events.value() == 0 && !state_.attention) break;
    }
    if (state_.budget > 0) service_endpoints();
    dispatching_ = false;
    if (!status.ok()) return status;
    return budget - state_.budget;
}

Result<int> Server::poll_once(int timeout_ms, int max_messages) {
    if (dispatching_) return Status(EBUSY);
    pollfd ready{state_.loop.fd(), POLLIN, 0};
    if (::poll(&ready, 1, timeout_ms) < 0 && errno != EINTR) return Status(errno);
    return dispatch(max_messages);
}

}  // namespace cxsim::vfio_user
