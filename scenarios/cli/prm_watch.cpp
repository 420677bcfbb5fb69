// SPDX-License-Identifier: Apache-2.0
#include "pcie/vfio_user/unique_fd.h"
#include "scenarios/cli/prm.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

namespace cxsim::scenarios {
namespace {

volatile sig_atomic_t g_stop = 0;

void stop(int) {
    g_stop = 1;
}

constexpr int kQuietMilliseconds = 100;

}  // namespace

void watch_serve(const std::string& socket, unsigned card, double seconds,
                 const std::function<void(std::string_view)>& text) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket.size() >= sizeof address.sun_path) throw UsageError("socket path too long");
    std::copy(socket.begin(), socket.end(), address.sun_path);
    const vfio_user::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd.get() < 0 ||
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        throw std::runtime_error("no serve answers at " + socket + ": " + std::strerror(errno));
    }
    const std::string question = "watch " + std::to_string(card) + "\n";
    if (::send(fd.get(), question.data(), question.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(question.size())) {
        throw std::runtime_error("serve at " + socket +
                                 " does not listen: " + std::strerror(errno));
    }
    struct sigaction action {};
    action.sa_handler = stop;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    char buffer[65536];
    while (g_stop == 0) {
        const std::chrono::duration<double> passed = Clock::now() - start;
        if (seconds > 0 && passed.count() >= seconds) break;
        pollfd ready{fd.get(), POLLIN, 0};
        const int count = ::poll(&ready, 1, kQuietMilliseconds);
        if (count == 0) {
            text({});
            continue;
        }
        if (count < 0) continue;  // a signal: looked at above
        const ssize_t n = ::recv(fd.get(), buffer, sizeof buffer, 0);
        if (n == 0) break;
        if (n < 0) {
            if (errno == EINTR) continue;
            throw std::runtime_error("serve at " + socket + ": " + std::strerror(errno));
        }
        const std::string_view part(buffer, static_cast<std::size_t>(n));
        if (part.starts_with("{\"error\"")) throw std::runtime_error("serve: " + std::string(part));
        text(part);
    }
}

}  // namespace cxsim::scenarios
