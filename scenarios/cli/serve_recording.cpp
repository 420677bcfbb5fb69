// SPDX-License-Identifier: Apache-2.0
// Recordings of what guests do: into a file, and to clients of the control socket.
#include "scenarios/cli/serve.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace cxsim::scenarios {
namespace {

// A client that lags so far behind is cut off: the serve must not grow without bound.
constexpr std::size_t kMostPending = 64U << 20;

RecorderOptions options_for(std::vector<std::string> overrides, bool all_events) {
    RecorderOptions options;
    options.clock = RecordingClock::wall;
    options.all_events = all_events;
    options.overrides = std::move(overrides);
    return options;
}

}  // namespace

FileRecording::FileRecording(ServedCard& card, std::vector<std::string> overrides,
                             const std::string& path)
    : card_(card), file_(path, std::ios::trunc) {
    if (!file_) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
    recorder_ = std::make_unique<Recorder>(card.card(), options_for(std::move(overrides), false),
                                           [this](std::string_view text) {
                                               // Whole blocks at once, so that a serve that is
                                               // killed leaves a readable file.
                                               file_ << text << std::flush;
                                           });
    card_.tap().add(*recorder_);
}

FileRecording::~FileRecording() {
    card_.tap().remove(*recorder_);
    recorder_->finish();
}

Watcher::Watcher(ServedCard& card, std::vector<std::string> overrides, vfio_user::UniqueFd client)
    : card_(card), client_(std::move(client)) {
    recorder_ = std::make_unique<Recorder>(card.card(), options_for(std::move(overrides), true),
                                           [this](std::string_view text) { pending_ += text; });
    card_.tap().add(*recorder_);
}

Watcher::~Watcher() {
    card_.tap().remove(*recorder_);
}

bool Watcher::send() {
    char byte = 0;
    const ssize_t seen = ::recv(client_.get(), &byte, 1, MSG_DONTWAIT);
    if (seen == 0 || (seen < 0 && errno != EAGAIN && errno != EINTR)) return false;
    while (!pending_.empty()) {
        const ssize_t n =
            ::send(client_.get(), pending_.data(), pending_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) return (errno == EAGAIN || errno == EINTR) && pending_.size() < kMostPending;
        pending_.erase(0, static_cast<std::size_t>(n));
    }
    return true;
}

}  // namespace cxsim::scenarios
