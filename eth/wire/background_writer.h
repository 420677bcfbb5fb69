// SPDX-License-Identifier: Apache-2.0
// A file that is written by a thread of its own, so that the simulation does not stand still while
// a disk or a pipe's reader does.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace cxsim::eth {

class BackgroundWriter {
  public:
    /// append() waits while more than this is on its way: memory is bounded.
    static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

    /// Makes or truncates the file; see error().
    explicit BackgroundWriter(const std::string& path);
    /// Waits until everything is written, or failed.
    ~BackgroundWriter();
    BackgroundWriter(const BackgroundWriter&) = delete;
    BackgroundWriter& operator=(const BackgroundWriter&) = delete;

    /// Takes a copy of `head` followed by `body`; the file gets both or, if it fails, neither.
    void append(std::span<const std::byte> head, std::span<const std::byte> body = {});
    /// Waits until everything taken is with the system, or failed.
    void flush();

    /// Bytes taken that the system has not got yet.
    std::size_t backlog() const { return backlog_.load(std::memory_order_relaxed); }
    /// errno of what went wrong when the file was made or written, 0 if nothing did. Nothing more is
    /// written then.
    int error() const { return error_.load(std::memory_order_relaxed); }
    bool failed() const { return error() != 0; }

  private:
    void run();
    int write_all(std::span<const std::byte> bytes) const;

    int file_;
    std::mutex mutex_;
    std::condition_variable to_writer_;
    std::condition_variable from_writer_;
    std::vector<std::byte> waiting_;
    std::atomic<std::size_t> backlog_{0};
    std::atomic<int> error_{0};
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace cxsim::eth
