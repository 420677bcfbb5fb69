// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pcie/vfio_user/options.h"
#include "pcie/vfio_user/protocol.h"
#include "pcie/vfio_user/status.h"
#include "pcie/vfio_user/unique_fd.h"

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

namespace cxsim::vfio_user {

struct Message {
    Header header;
    std::vector<std::byte> body;
    std::vector<UniqueFd> fds;
    bool fds_lost = false;  // more came than are allowed, or than this process could take
};

// Messages over one non-blocking stream socket: framing, file descriptors, output queue.
//
// A message is read as exactly its header, then exactly its body. A larger read would be cheaper,
// but the kernel joins what the client sent in pieces up to and including the first piece with
// descriptors, and nothing then says to which message those belong.
class MessageChannel {
  public:
    MessageChannel(UniqueFd socket, std::string_view name, const ServerOptions& options,
                   Stats& stats);

    enum class Received { kMessage, kNothingYet, kClosed, kBadFrame, kFailed };
    // kBadFrame: the size or type in a header cannot be, so where the next one begins is unknown.
    Received receive(Message& out);

    // Sends or queues a message (header.size is filled in). The descriptors are sent, not taken.
    // An error means that the connection is lost.
    Status send(Header header, std::span<const std::byte> first, std::span<const std::byte> second,
                std::span<const int> fds);
    Status flush();

    int fd() const { return socket_.get(); }
    bool output_waiting() const { return !output_.empty(); }
    std::size_t output_bytes() const { return output_bytes_; }
    const Header& bad_header() const { return partial_.header; }

  private:
    struct Outgoing {
        std::vector<std::byte> bytes;
        std::size_t sent = 0;
        std::vector<UniqueFd> fds;  // go with the first byte
    };
    // Bytes read, 0 at the end of the stream, -1 with errno.
    ssize_t receive_some(std::byte* into, std::size_t size);
    void take_fds(msghdr& message);

    UniqueFd socket_;
    std::string_view name_;
    const ServerOptions& options_;
    Stats& stats_;
    std::size_t max_message_size_;
    Message partial_;
    std::array<std::byte, sizeof(Header)> header_bytes_{};
    std::size_t partial_size_ = 0;  // of header and body together
    std::deque<Outgoing> output_;
    std::size_t output_bytes_ = 0;
};

}  // namespace cxsim::vfio_user
