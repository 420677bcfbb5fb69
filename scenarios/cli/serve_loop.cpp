// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <charconv>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "scenarios/cli/serve.h"

namespace cxsim::scenarios {
namespace {

volatile sig_atomic_t g_stop = 0;

void stop(int) {
    g_stop = 1;
}

std::runtime_error system_error(const std::string& what, int error) {
    return std::runtime_error(what + ": " + std::strerror(error));
}

vfio_user::ServerOptions server_options(bool trace_messages) {
    vfio_user::ServerOptions options;
    options.log = [](vfio_user::LogLevel level, std::string_view text) {
        if (level == vfio_user::LogLevel::kWarning) {
            spdlog::warn("vfio-user: {}", text);
        } else {
            spdlog::info("vfio-user: {}", text);
        }
    };
    if (trace_messages) {
        options.trace = [](const vfio_user::MessageTrace& message) {
            spdlog::info("{} {} {} id {} size {} flags {:#x} fds {}", message.socket,
                         message.from_client ? "<-" : "->",
                         vfio_user::command_name(message.header.command), message.header.id,
                         message.header.size, message.header.flags, message.fd_count);
        };
    }
    return options;
}

// Linux's struct sched_attr, of which C libraries of Debian 12 know nothing.
struct SchedulingAttributes {
    std::uint32_t size = 0;
    std::uint32_t policy = 0;  // SCHED_OTHER
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 0;  // ns
    std::uint64_t deadline = 0;
    std::uint64_t period = 0;
};

// Guests whose programs poll keep all processors busy, and what they poll for comes from here.
// Short slices let a thread that was woken go first (since Linux 6.12; older kernels ignore it).
void ask_for_short_slices() {
    SchedulingAttributes attributes;
    attributes.size = sizeof attributes;
    attributes.runtime = 100'000;  // the shortest there is
    ::syscall(SYS_sched_setattr, 0, &attributes, 0U);
}

// The kernel may otherwise let a sleep take 50 us longer, so as to wake for several at once.
void ask_for_exact_sleeps() {
    ::prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // ns
}

timespec to_timespec(model::Picoseconds time) {
    const std::int64_t ns = std::max<std::int64_t>(0, time.value / 1000);
    return {ns / 1'000'000'000, ns % 1'000'000'000};
}

// Wall time of simulation between two looks at the sockets.
constexpr model::Picoseconds kTurn = model::microseconds(500);
// More than this that a capture's disk has not taken, and the cards wait for it.
constexpr std::size_t kCaptureBacklog = std::size_t{8} << 20;
// How long between two looks at that.
constexpr model::Picoseconds kDiskPause = model::milliseconds(1);
// A guest's access waits so long for simulated time to become the wall clock's: far less than its
// machine's patience, and than the time in which a store to a device may take effect.
constexpr model::Picoseconds kAccessTurn = model::milliseconds(2);
// A loop with work looks so often for questions.
constexpr model::Picoseconds kControlPeriod = model::milliseconds(10);
// Longest wait when nothing is due: the health counter and friends need no events.
constexpr model::Picoseconds kIdle = model::milliseconds(100);
// Bounds of the time that a loop without work keeps looking before it sleeps.
constexpr model::Picoseconds kShortestLook = model::microseconds(10);
constexpr model::Picoseconds kLongestLook = model::microseconds(200);
// What going to sleep and being woken cost at least: not worth it for what is due sooner.
constexpr model::Picoseconds kCostOfSleep = model::microseconds(15);
// About the time in which a guest's trapped stores of one WQE come, and its processor is given back.
constexpr model::Picoseconds kStores = model::microseconds(30);

}  // namespace

Processors::Processors()
    : count_(std::max(1U, std::thread::hardware_concurrency())),
      load_(::open("/proc/loadavg", O_RDONLY | O_CLOEXEC)) {}

// The fourth number of /proc/loadavg: how many threads run or could run, this one included.
bool Processors::wanted_by_others(model::Picoseconds now) {
    constexpr model::Picoseconds kPeriod = model::milliseconds(2);
    constexpr double kWeight = 0.125;
    if (now < next_look_ || load_.get() < 0) return share_ > 0.5;
    next_look_ = now + kPeriod;
    char text[64]{};
    if (::pread(load_.get(), text, sizeof text - 1, 0) <= 0) return false;
    double averages[3];
    unsigned running = 0;
    if (std::sscanf(text, "%lf %lf %lf %u/", &averages[0], &averages[1], &averages[2], &running) != 4) {
        return false;
    }
    share_ += ((running > count_ ? 1.0 : 0.0) - share_) * kWeight;
    return share_ > 0.5;
}

ServedCard::ServedCard(model::Kernel& kernel, const CardSetup& setup,
                       std::function<void()> synchronise)
    : card_(kernel, tap_.tapped(setup)),
      memory_(card_.endpoint().functions()),
      function_(card_.endpoint(), model::FunctionId{0}, kernel.calendar(),
                std::move(synchronise), card_.firmware().function(model::FunctionId{0}).resources()) {
    tap_.attach(card_, kernel);
    card_.endpoint().attach(static_cast<pcie::HostMemory&>(memory_));
    card_.endpoint().attach(static_cast<pcie::InterruptSink&>(*this));
}

void ServedCard::listen(vfio_user::Server& server, const std::string& path) {
    auto result = server.listen(path, function_);
    if (!result.ok()) throw system_error("cannot listen at " + path, result.error());
    socket_ = path;
    endpoint_ = result.value();
    function_.connect(*result.value(), memory_);
}

void ServedCard::interrupt(model::FunctionId, unsigned vector, const pcie::MsixMessage&) {
    function_.interrupt(vector);
}

ServeLoop::ServeLoop(bool trace_messages, std::vector<std::string> overrides)
    : overrides_(std::move(overrides)), server_(server_options(trace_messages)) {}

void ServeLoop::record(std::size_t index, const std::string& path) {
    recordings_.push_back(std::make_unique<FileRecording>(*cards_.at(index), overrides_, path));
}

void ServeLoop::add(const CardSetup& setup, const std::string& socket) {
    CardSetup wired = setup;
    wired.frames = &network_.frames();
    auto card = std::make_unique<ServedCard>(kernel_, wired, [this] { synchronise(); });
    card->listen(server_, socket);
    cards_.push_back(std::move(card));
}

void ServeLoop::connect(const NetworkSetup& setup) {
    std::vector<Card*> cards;
    for (const auto& served : cards_) cards.push_back(&served->card());
    network_.connect(cards, setup);
}

void ServeLoop::open_control(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        throw system_error("control socket " + path, ENAMETOOLONG);
    }
    std::copy(path.begin(), path.end(), address.sun_path);
    vfio_user::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ::unlink(path.c_str());
    if (fd.get() < 0 ||
        ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(fd.get(), 8) != 0) {
        throw system_error("control socket " + path, errno);
    }
    control_ = std::move(fd);
    control_path_ = path;
}

// Captures lose no frame: the cards wait for the disk, the sockets do not.
bool ServeLoop::disk_waits() const {
    return network_.capture_backlog() > kCaptureBacklog;
}

// Simulates towards the wall clock's time. Says so when the machine is too slow for that, at a
// second lost and then whenever it has doubled.
bool ServeLoop::keep_pace(model::Picoseconds budget) {
    const bool waits = disk_waits();
    if (waits) pacer_.stand_still();
    const bool there = !waits && pacer_.catch_up(budget);
    if (pacer_.given_up() >= warn_at_) {
        spdlog::warn("simulated time is {:.1f} s behind the wall clock: this machine is too slow for "
                     "what the cards have to do, or its disk for their captures",
                     pacer_.given_up().seconds());
        warn_at_ = pacer_.given_up() * 2;
    }
    return there;
}

// Called before each access of a guest, so that what it sees is of now.
void ServeLoop::synchronise() {
    keep_pace(kAccessTurn);
}

// Whether a driver is in the middle of a WQE that it writes store by store.
bool ServeLoop::stores_under_way() {
    return std::ranges::any_of(cards_, [](const auto& served) {
        return served->card().firmware().function(model::FunctionId{0}).queues().doorbells_held() != 0;
    });
}

int ServeLoop::poll_sockets(model::Picoseconds time) {
    // poll ignores negative descriptors: no control socket.
    waited_for_.assign({{server_.epoll_fd(), POLLIN, 0}, {control_.get(), POLLIN, 0}});
    for (const auto& tap : network_.taps()) waited_for_.push_back({tap->fd(), POLLIN, 0});
    const timespec timeout = to_timespec(time);
    return ::ppoll(waited_for_.data(), waited_for_.size(), &timeout, nullptr);
}

// A sleeping thread is woken on a processor that has gone idle only after tens of microseconds, and
// a guest's access waits for that. So the loop keeps looking for a while before it sleeps, as
// kvm's halt polling does: longer when messages come soon after a sleep began, shorter when looking
// found nothing. It yields between two looks. While guests keep all processors busy it sleeps at
// once, what it would take of them they would wait for, too; and since it is woken by each store
// then, in the place of the guest that stores, it is not to be woken amid the stores of one WQE.
void ServeLoop::wait() {
    const model::Picoseconds began = pacer_.now();
    const model::Picoseconds next = std::min(kernel_.next_activity(), began + kIdle);
    int ready = poll_sockets(model::Picoseconds{0});
    if (ready == 0 && next < began + kCostOfSleep) return;
    if (ready == 0 && !processors_.wanted_by_others(pacer_.elapsed())) {
        const model::Picoseconds look_until = std::min(next, began + look_);
        while (ready == 0 && pacer_.now() < look_until) {
            ::sched_yield();
            ready = poll_sockets(model::Picoseconds{0});
        }
    } else if (ready == 0 && stores_under_way()) {
        const timespec pause = to_timespec(kStores);
        ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
        return;
    }
    if (ready == 0 && pacer_.now() < next) {
        ready = poll_sockets(next - pacer_.now());
        const bool soon = ready > 0 && pacer_.now() - began < kLongestLook;
        look_ = soon ? std::min(look_ + look_, kLongestLook)
                     : std::max(model::Picoseconds{look_.value / 2}, kShortestLook);
    }
    if ((waited_for_[1].revents & POLLIN) != 0) control_due_ = {};
}

// A capture that ends early is told of when it does.
void ServeLoop::tell_of_captures() {
    for (const auto& capture : network_.captures()) {
        if (!capture->failed() || !captures_told_of_.insert(capture.get()).second) continue;
        spdlog::warn("capture {} ends early: {}", capture->path(), std::strerror(capture->error()));
    }
}

void ServeLoop::run() {
    struct sigaction action {};
    action.sa_handler = stop;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    ask_for_short_slices();
    ask_for_exact_sleeps();
    while (g_stop == 0) {
        const bool there = keep_pace(kTurn);
        const auto handled = server_.dispatch();
        feed_watchers();
        tell_of_captures();
        // Frames of the host stay there while time stands still: here nothing would bound them.
        const bool waits = disk_waits();
        const bool more = !waits && network_.pump();
        const bool messages = handled.ok() && handled.value() != 0;
        if (there && !more && !messages) {
            wait();
        } else if (waits && !messages) {
            poll_sockets(kDiskPause);
        }
        if (pacer_.elapsed() >= control_due_) serve_control();
    }
    if (!control_path_.empty()) ::unlink(control_path_.c_str());
    ::signal(SIGINT, SIG_DFL);
    ::signal(SIGTERM, SIG_DFL);
    for (const auto& capture : network_.captures()) {
        if (capture->backlog() == 0) continue;
        spdlog::info("capture {} waits for its disk or reader with {} bytes; another signal ends it",
                     capture->path(), capture->backlog());
    }
}

// "watch [CARD]": from now on the client gets a recording of that card, until it goes.
void ServeLoop::watch(const std::string& question, vfio_user::UniqueFd client) {
    std::size_t index = 0;
    const auto blank = question.find(' ');
    const std::string number = blank == std::string::npos ? "0" : question.substr(blank + 1);
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), index);
    if (parsed.ec != std::errc{} || index >= cards_.size()) {
        const std::string reply = nlohmann::ordered_json{{"error", "no card " + number}}.dump();
        (void)::send(client.get(), reply.data(), reply.size(), MSG_NOSIGNAL);
        return;
    }
    watchers_.push_back(std::make_unique<Watcher>(*cards_[index], overrides_, std::move(client)));
}

void ServeLoop::feed_watchers() {
    std::erase_if(watchers_, [](const auto& watcher) { return !watcher->send(); });
}

// One line in, an answer out, connection closed: no client can hold the loop up.
void ServeLoop::serve_control() {
    control_due_ = pacer_.elapsed() + kControlPeriod;
    vfio_user::UniqueFd client(::accept4(control_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.get() < 0) return;
    const timeval limit{1, 0};
    ::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(client.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    std::string question;
    char buffer[256];
    while (question.find('\n') == std::string::npos && question.size() < 4096) {
        const ssize_t n = ::recv(client.get(), buffer, sizeof buffer, 0);
        if (n <= 0) break;
        question.append(buffer, static_cast<std::size_t>(n));
    }
    question = question.substr(0, question.find('\n'));
    if (question.starts_with("watch")) {
        watch(question, std::move(client));
        return;
    }
    const std::string reply = answer(question);
    std::size_t sent = 0;
    while (sent < reply.size()) {
        const ssize_t n = ::send(client.get(), reply.data() + sent, reply.size() - sent, 0);
        if (n <= 0) break;
        sent += static_cast<std::size_t>(n);
    }
}

}  // namespace cxsim::scenarios
