// SPDX-License-Identifier: Apache-2.0
#include "pcie/vfio_user/endpoint.h"

#include "pcie/vfio_user/message_channel.h"
#include "pcie/vfio_user/session.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace cxsim::vfio_user {
namespace {

// Messages of one socket before the next gets its turn.
constexpr int kBurst = 16;
constexpr int kDrainLimit = 4096;
constexpr std::size_t kMaxRefusals = 4;
constexpr int kAcceptsPerEvent = 16;

// True when somebody accepts connections at the address.
bool somebody_listens(const sockaddr_un& address) {
    const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe.valid()) return true;  // unknown, so leave it alone
    if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
        return true;
    }
    return errno != ECONNREFUSED;
}

}  // namespace

void ServerState::request_attention() {
    if (std::exchange(attention, true)) return;
    const std::uint64_t one = 1;
    // Cannot fail: the counter is reset before it is set again.
    [[maybe_unused]] const ssize_t written = ::write(wake.get(), &one, sizeof(one));
}

// A client that came while another one is connected: its first message is answered with EBUSY.
class Refusal {
  public:
    Refusal(UniqueFd socket, std::string_view name, ServerState& state, Stats& stats)
        : state_(state), channel_(std::move(socket), name, state.options, stats), stats_(stats) {}
    ~Refusal() { state_.loop.remove(token_); }
    Refusal(const Refusal&) = delete;
    Refusal& operator=(const Refusal&) = delete;

    Status start() {
        const Result<EventLoop::Token> added =
            state_.loop.add(channel_.fd(), EPOLLIN, [this](std::uint32_t) { on_readable(); });
        if (added.ok()) token_ = added.value();
        return added.status();
    }
    bool finished() const { return finished_; }

  private:
    void on_readable() {
        Message message;
        const MessageChannel::Received what = channel_.receive(message);
        if (what == MessageChannel::Received::kNothingYet) return;
        if (what == MessageChannel::Received::kMessage &&
            (message.header.flags & kFlagNoReply) == 0) {
            Header header;
            header.id = message.header.id;
            header.command = message.header.command;
            header.flags = kFlagTypeReply | kFlagError;
            header.error = EBUSY;
            if (channel_.send(header, {}, {}, {}).ok()) ++stats_.error_replies;
        }
        finished_ = true;
        state_.loop.remove(token_);
        state_.request_attention();
    }

    ServerState& state_;
    MessageChannel channel_;
    Stats& stats_;
    EventLoop::Token token_ = 0;
    bool finished_ = false;
};

Endpoint::Endpoint(ServerState& state, Device& device, std::string name)
    : state_(state), device_(device), name_(std::move(name)), interrupts_(state.loop) {
    memory_.set_unmap_observer([this](const DmaRegion& region) { device_.dma_unmapped(region); });
    interrupts_.configure(device_.irqs());
    interrupts_.set_observer([this](std::uint32_t index, std::uint32_t start, std::uint32_t count) {
        device_.irqs_changed(index, start, count);
    });
}

Endpoint::~Endpoint() {
    if (session_) {
        session_->abort("server ends");
        tear_down();
    }
    refusals_.clear();
    state_.loop.remove(listener_token_);
    if (listener_.valid()) {
        struct stat file {};
        if (::lstat(name_.c_str(), &file) == 0 && file.st_dev == socket_device_ &&
            file.st_ino == socket_inode_) {
            ::unlink(name_.c_str());
        }
    }
}

void Endpoint::log(LogLevel level, const std::string& text) const {
    if (state_.options.log) state_.options.log(level, name_ + ": " + text);
}

Status Endpoint::listen() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name_.empty() || name_.size() >= sizeof(address.sun_path)) return Status(ENAMETOOLONG);
    std::memcpy(address.sun_path, name_.c_str(), name_.size());
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid()) return Status(errno);
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    if (::bind(socket.get(), generic, sizeof(address)) != 0) {
        if (errno != EADDRINUSE) return Status(errno);
        struct stat file {};
        if (::lstat(name_.c_str(), &file) != 0) return Status(errno);
        // Somebody's file, or somebody's socket in use: not ours to remove.
        if (!S_ISSOCK(file.st_mode)) return Status(EEXIST);
        if (somebody_listens(address)) return Status(EADDRINUSE);
        log(LogLevel::kInfo, "replacing a socket file nobody listens at");
        if (::unlink(name_.c_str()) != 0) return Status(errno);
        if (::bind(socket.get(), generic, sizeof(address)) != 0) return Status(errno);
    }
    struct stat file {};
    if (::lstat(name_.c_str(), &file) != 0) return Status(errno);
    if (::listen(socket.get(), 16) != 0) {
        const int error = errno;
        ::unlink(name_.c_str());
        return Status(error);
    }
    const Result<EventLoop::Token> added =
        state_.loop.add(socket.get(), EPOLLIN, [this](std::uint32_t) { on_listener(); });
    if (!added.ok()) {
        ::unlink(name_.c_str());
        return added.status();
    }
    listener_ = std::move(socket);
    listener_token_ = added.value();
    socket_device_ = file.st_dev;
    socket_inode_ = file.st_ino;
    return Status();
}

void Endpoint::on_listener() {
    for (int i = 0; i < kAcceptsPerEvent; ++i) {
        UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (client.valid()) {
            accept_client(std::move(client));
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if ((errno == EMFILE || errno == ENFILE) && state_.spare.valid()) {
            // Without this the client would wait for ever and the listener stay ready.
            state_.spare.reset();
            UniqueFd refused(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            const bool somebody = refused.valid();
            refused.reset();
            state_.spare.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
            if (!somebody) return;  // the kernel says EMFILE even when nobody waits
            ++stats_.refused_connections;
            log(LogLevel::kWarning, "client refused: no file descriptors left");
            continue;
        }
        return;
    }
}

void Endpoint::accept_client(UniqueFd socket) {
    if (session_ && session_->peer_gone()) {
        // A killed client and its successor in one turn: finish what the first one still sent.
        session_->process(kDrainLimit);
        session_->abort("client closed the connection");
        tear_down();
    }
    if (session_) {
        refuse_client(std::move(socket));
        return;
    }
    if (const Status status = adopt(std::move(socket)); !status.ok()) {
        log(LogLevel::kWarning, std::string("client not taken: ") + std::strerror(status.error()));
    }
}

void Endpoint::refuse_client(UniqueFd socket) {
    ++stats_.refused_connections;
    log(LogLevel::kWarning, "second client refused: one is connected");
    // The longest waiting one has had its chance to say something.
    if (refusals_.size() >= kMaxRefusals) refusals_.erase(refusals_.begin());
    auto refusal = std::make_unique<Refusal>(std::move(socket), name_, state_, stats_);
    if (refusal->start().ok()) refusals_.push_back(std::move(refusal));
}

Status Endpoint::adopt(UniqueFd socket) {
    if (session_) return Status(EBUSY);
    const int fd = socket.get();
    const Result<EventLoop::Token> added =
        state_.loop.add(fd, EPOLLIN, [this](std::uint32_t events) { on_session(events); });
    if (!added.ok()) return added.status();
    session_token_ = added.value();
    session_ = std::make_unique<Session>(
        std::move(socket),
        SessionContext{
            .name = name_,
            .device = device_,
            .memory = memory_,
            .interrupts = interrupts_,
            .stats = stats_,
            .options = state_.options,
            .log = [this](LogLevel level, const std::string& text) { log(level, text); },
            .request_attention = [this] { state_.request_attention(); },
        });
    memory_.set_remote(session_.get());
    ++stats_.connections;
    log(LogLevel::kInfo, "client connected");
    return Status();
}

void Endpoint::on_session(std::uint32_t events) {
    if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) session_->flush();
    run_session();
}

void Endpoint::run_session() {
    const int handled = session_->process(std::min(kBurst, state_.budget));
    state_.budget -= handled;
    update_or_end();
}

void Endpoint::update_or_end() {
    if (session_->over()) {
        tear_down();
        return;
    }
    state_.loop.modify(session_token_, session_->wanted_events());
    if (session_->has_deferred() && !session_->congested()) state_.request_attention();
}

void Endpoint::service() {
    std::erase_if(refusals_, [](const auto& refusal) { return refusal->finished(); });
    if (!session_) return;
    if (session_->has_deferred() && !session_->over()) {
        run_session();
    } else {
        update_or_end();
    }
}

void Endpoint::check_memory_faults() {
    if (!session_ || !memory_.any_faulted()) return;
    ++stats_.memory_faults;
    session_->abort("client took away memory under a DMA map");
}

void Endpoint::disconnect(std::string_view reason) {
    if (session_) session_->abort(reason);
}

void Endpoint::tear_down() {
    const std::string reason = session_->end_reason();
    state_.loop.remove(session_token_);
    memory_.set_remote(nullptr);
    memory_.clear();
    interrupts_.clear();
    session_.reset();
    ++stats_.disconnections;
    log(LogLevel::kInfo, "client disconnected: " + reason);
    device_.client_disconnected(reason);
}

}  // namespace cxsim::vfio_user
