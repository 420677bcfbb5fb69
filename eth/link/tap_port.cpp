// SPDX-License-Identifier: Apache-2.0
#include "eth/link/tap_port.h"

#include "eth/wire/protocol.h"
#include "model/base/assert.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cxsim::eth {

using model::FramePtr;
using model::Picoseconds;

int open_tap(const std::string& interface_name) {
    if (interface_name.empty() || interface_name.size() >= IFNAMSIZ) {
        errno = EINVAL;
        return -1;
    }
    const int descriptor = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return -1;
    ifreq request{};
    std::copy(interface_name.begin(), interface_name.end(), request.ifr_name);
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (::ioctl(descriptor, TUNSETIFF, &request) < 0) {
        const int error = errno;
        ::close(descriptor);
        errno = error;
        return -1;
    }
    return descriptor;
}

TapPort::TapPort(model::Calendar& calendar, const TapConfig& config, int descriptor,
                 model::FramePool& frames, model::stats::Group& statistics)
    : calendar_(calendar),
      config_(config),
      descriptor_(descriptor),
      frames_(frames),
      counters_(statistics, config.name),
      mac_(
          calendar,
          [&] {
              MacConfig port = config.port;
              port.name = "port";
              return port;
          }(),
          frames, counters_),
      buffer_(model::FramePool::kMaxFrame) {
    CX_ASSERT(descriptor >= 0, "a TAP port needs an open descriptor");
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    model::PortSettings settings;
    settings.modes = all_modes_mask();
    settings.mtu = config.mtu;
    mac_.configure(settings);
    mac_.set_receiver(this);
}

TapPort::~TapPort() {
    ::close(descriptor_);
}

unsigned TapPort::pump() {
    unsigned count = 0;
    while (count < config_.frames_per_pump) {
        const ssize_t got = ::read(descriptor_, buffer_.data(), buffer_.size());
        if (got < 0) {
            if (errno == EINTR) continue;
            if (errno != EAGAIN && errno != EWOULDBLOCK) ++counters_.errors;
            break;
        }
        if (got == 0) break;  // the other end is gone
        ++count;
        ++counters_.from_host;
        const auto size = static_cast<std::uint32_t>(got);
        if (size < kEthernetBytes || octets_of(size) > config_.mtu) {
            ++counters_.dropped_bad;
            continue;
        }
        FramePtr frame = frames_.make(size);
        std::memcpy(frame->bytes().data(), buffer_.data(), size);
        mac_.transmit(calendar_.now(), std::move(frame));
    }
    return count;
}

Picoseconds TapPort::receive(Picoseconds at, FramePtr frame) {
    if (frame->synthetic != 0) {
        // The padding of a short frame may be counted only; nothing else has bytes to offer.
        const std::uint32_t padding = frame->synthetic;
        if (frame->size() > kMinFrameBytes || frame->tailroom() < padding) {
            ++counters_.dropped_bad;
            return at;
        }
        const std::uint32_t stored = frame->stored();
        frame->synthetic = 0;
        frame->resize(stored + padding);
        std::fill_n(frame->bytes().begin() + stored, padding, std::byte{0});
    }
    const auto bytes = frame->bytes();
    ssize_t done = -1;
    do {
        done = ::write(descriptor_, bytes.data(), bytes.size());
    } while (done < 0 && errno == EINTR);
    if (done == static_cast<ssize_t>(bytes.size())) {
        ++counters_.to_host;
    } else if (done < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS) {
        ++counters_.errors;
    } else {
        ++counters_.dropped_host_full;
    }
    return at;
}

}  // namespace cxsim::eth
