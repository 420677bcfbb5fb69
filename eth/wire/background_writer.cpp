// SPDX-License-Identifier: Apache-2.0
#include "eth/wire/background_writer.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace cxsim::eth {

BackgroundWriter::BackgroundWriter(const std::string& path)
    : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (file_ < 0) {
        error_ = errno;
    } else {
        thread_ = std::thread(&BackgroundWriter::run, this);
    }
}

BackgroundWriter::~BackgroundWriter() {
    if (file_ < 0) return;
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    to_writer_.notify_one();
    thread_.join();
    ::close(file_);
}

void BackgroundWriter::append(std::span<const std::byte> head, std::span<const std::byte> body) {
    if (failed()) return;
    bool first = false;
    {
        std::unique_lock lock(mutex_);
        from_writer_.wait(lock, [this] { return backlog() < kMostBytes || failed(); });
        if (failed()) return;
        first = waiting_.empty();
        waiting_.insert(waiting_.end(), head.begin(), head.end());
        waiting_.insert(waiting_.end(), body.begin(), body.end());
        backlog_ += head.size() + body.size();
    }
    if (first) to_writer_.notify_one();
}

void BackgroundWriter::flush() {
    std::unique_lock lock(mutex_);
    from_writer_.wait(lock, [this] { return backlog() == 0 || failed(); });
}

void BackgroundWriter::run() {
    // A pipe's reader that goes is a failed write, not a signal.
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    std::vector<std::byte> writing;
    std::unique_lock lock(mutex_);
    while (true) {
        to_writer_.wait(lock, [this] { return !waiting_.empty() || ends_; });
        if (waiting_.empty()) return;
        std::swap(waiting_, writing);
        lock.unlock();
        const int error = write_all(writing);
        lock.lock();
        if (error != 0) error_ = error;
        backlog_ -= writing.size();
        writing.clear();
        from_writer_.notify_all();
    }
}

int BackgroundWriter::write_all(std::span<const std::byte> bytes) const {
    if (failed()) return error();
    while (!bytes.empty()) {
        const ssize_t n = ::write(file_, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : EIO;
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return 0;
}

}  // namespace cxsim::eth
