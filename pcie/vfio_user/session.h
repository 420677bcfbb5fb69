// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pcie/vfio_user/device.h"
#include "pcie/vfio_user/guest_memory.h"
#include "pcie/vfio_user/interrupts.h"
#include "pcie/vfio_user/message_channel.h"
#include "pcie/vfio_user/options.h"
#include "pcie/vfio_user/version.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cxsim::vfio_user {

// What a session needs of the endpoint it belongs to; all of it outlives the session.
struct SessionContext {
    std::string_view name;
    Device& device;
    GuestMemory& memory;
    Interrupts& interrupts;
    Stats& stats;
    const ServerOptions& options;
    std::function<void(LogLevel, const std::string&)> log;
    std::function<void()> request_attention;  // there is work that no file descriptor announces
};

// One client, from its connection to its end: commands in, replies out, and DMA_READ and DMA_WRITE
// in the other direction.
class Session final : public RemoteMemory {
  public:
    Session(UniqueFd socket, SessionContext context);

    // Handles at most `limit` messages, without waiting. Returns how many.
    int process(int limit);
    void flush();
    // Ends the session; the owner tears it down when it next looks.
    void abort(std::string_view reason);

    bool over() const { return over_; }
    const std::string& end_reason() const { return end_reason_; }
    bool has_deferred() const { return !deferred_.empty(); }
    bool peer_gone() const;
    bool congested() const;
    std::uint32_t wanted_events() const;  // for epoll
    int fd() const { return channel_.fd(); }

    // RemoteMemory: waits for the client's answer, at most options.dma_timeout. Commands that come
    // meanwhile are kept and handled later. After a timeout further requests fail with EBUSY until
    // the late answer is there, so that a client that stopped answering costs one timeout only.
    Status read(std::uint64_t address, std::span<std::byte> out) override;
    Status write(std::uint64_t address, std::span<const std::byte> in) override;

  private:
    using Clock = std::chrono::steady_clock;

    // session.cpp
    void handle(Message& message);
    Status execute(Message& message);
    void stray_reply(const Header& header);
    void reply(const Header& command, Status status);
    void end(const std::string& reason, bool protocol_error);
    bool received_end(MessageChannel::Received what);
    void complain(const Header& header, Status status);

    // session_commands.cpp
    Status version(const Message& message);
    Status device_info(const Message& message);
    Status region_info(const Message& message);
    Status region_io_fds(const Message& message);
    Status irq_info(const Message& message);
    Status set_irqs(Message& message);
    Status region_read(const Message& message);
    Status region_write(const Message& message);
    Status region_write_multi(const Message& message);
    Status check_access(std::uint32_t region, std::uint64_t offset, std::uint64_t size,
                        bool write) const;

    // session_dma.cpp
    Status dma_map(Message& message);
    Status dma_unmap(const Message& message);
    Status request(Command command, const DmaAccessPayload& access, std::span<const std::byte> data,
                   Clock::time_point deadline);
    Status await_reply(std::uint16_t id, Command command, Clock::time_point deadline);
    Status lost_reply(std::uint16_t id, int error);

    template <typename T>
    T payload_as(const Message& message) const;
    template <typename T>
    void put(const T& value);

    SessionContext context_;
    MessageChannel channel_;
    bool negotiated_ = false;
    Agreement agreement_;
    bool over_ = false;
    bool end_after_reply_ = false;
    std::string end_reason_;
    bool stalled_ = false;
    int log_lines_left_ = 32;

    Message message_;
    std::vector<std::byte> reply_;
    std::vector<int> reply_fds_;

    bool awaiting_ = false;
    Message answer_;
    std::uint16_t next_id_ = 1;
    std::set<std::uint16_t> unanswered_;
    std::deque<Message> deferred_;
    std::size_t deferred_bytes_ = 0;
    std::size_t deferred_fds_ = 0;
};

template <typename T>
T Session::payload_as(const Message& message) const {
    T value;  // the caller has checked that the body is long enough
    std::memcpy(&value, message.body.data(), sizeof(T));
    return value;
}

template <typename T>
void Session::put(const T& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    reply_.insert(reply_.end(), bytes.begin(), bytes.end());
}

}  // namespace cxsim::vfio_user
