// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pcie/vfio_user/protocol.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace cxsim::vfio_user {

enum class LogLevel { kInfo, kWarning };
using LogFunction = std::function<void(LogLevel, std::string_view)>;

// One message as it passed a socket; the payload is valid during the callback only.
struct MessageTrace {
    std::string_view socket;
    bool from_client;
    const Header& header;
    std::span<const std::byte> payload;
    std::size_t fd_count;
};
using TraceFunction = std::function<void(const MessageTrace&)>;

struct ServerOptions {
    // Limits told to the client. A limit of the client's own is respected where it is lower.
    std::uint32_t max_msg_fds = 16;              // 1..253 (what the kernel passes at once)
    std::uint32_t max_data_xfer_size = 1 << 20;  // bytes, at least 4096
    std::uint32_t max_dma_maps = 65535;
    std::uint64_t pgsizes = 4096;  // page sizes of DMA maps, or'ed

    // A client that does not read its replies is no longer read from once this many bytes wait.
    std::size_t output_high_water = std::size_t{4} << 20;
    // What a client may send while the server waits for its answer to a DMA_READ or DMA_WRITE.
    std::size_t max_deferred_messages = 4096;
    std::size_t max_deferred_bytes = std::size_t{16} << 20;
    // The longest that one GuestMemory access through messages blocks the caller.
    std::chrono::milliseconds dma_timeout{1000};
    // Survive a client that truncates the file behind a DMA map (see sigbus_guard.h). Installs a
    // process-wide SIGBUS handler, which passes on what is not its own.
    bool guard_sigbus = true;

    LogFunction log;
    TraceFunction trace;
};

// Counts of one socket, over all its clients.
struct Stats {
    std::array<std::uint64_t, kCommandCount> commands{};  // received, by number; 0: unknown
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint64_t fds_in = 0;
    std::uint64_t fds_out = 0;
    std::uint64_t replies = 0;
    std::uint64_t error_replies = 0;
    std::uint64_t silent_errors = 0;  // failed commands that wanted no reply
    std::uint64_t unexpected_replies = 0;
    std::uint64_t multi_writes = 0;         // entries of REGION_WRITE_MULTI
    std::uint64_t failed_multi_writes = 0;  // of them refused
    std::uint64_t connections = 0;
    std::uint64_t refused_connections = 0;
    std::uint64_t disconnections = 0;
    std::uint64_t protocol_drops = 0;  // of them because the client broke the protocol
    std::uint64_t output_stalls = 0;   // times a client was no longer read from
    std::uint64_t deferred_messages = 0;
    std::uint64_t remote_reads = 0;  // DMA_READ messages sent
    std::uint64_t remote_writes = 0;
    std::uint64_t remote_failures = 0;
    std::uint64_t remote_timeouts = 0;
    std::uint64_t memory_faults = 0;  // DMA maps whose file shrank
    std::uint64_t suppressed_log_lines = 0;
};

}  // namespace cxsim::vfio_user
