// SPDX-License-Identifier: Apache-2.0
#include "eth/mac/receive_buffers.h"

#include <algorithm>

namespace cxsim::eth {

using model::Picoseconds;

void ReceiveBuffers::settle(Buffer& buffer, Picoseconds now) {
    while (buffer.count > 0 && buffer.ring[buffer.head].release <= now) {
        buffer.held -= buffer.ring[buffer.head].bytes;
        buffer.head = (buffer.head + 1) & (buffer.ring.size() - 1);
        --buffer.count;
    }
}

bool ReceiveBuffers::fits(Picoseconds now, unsigned buffer, std::uint32_t bytes) {
    return held(now, buffer) + bytes <= buffers_[buffer].limits.size;
}

void ReceiveBuffers::take(unsigned index, std::uint32_t bytes, Picoseconds release) {
    Buffer& buffer = buffers_[index];
    if (buffer.count == buffer.ring.size()) {
        std::rotate(buffer.ring.begin(),
                    buffer.ring.begin() + static_cast<std::ptrdiff_t>(buffer.head),
                    buffer.ring.end());
        buffer.head = 0;
        buffer.ring.resize(buffer.ring.size() * 2);
    }
    buffer.last_release = std::max(buffer.last_release, release);
    buffer.ring[(buffer.head + buffer.count) & (buffer.ring.size() - 1)] = {buffer.last_release,
                                                                            bytes};
    ++buffer.count;
    buffer.held += bytes;
}

std::uint64_t ReceiveBuffers::held(Picoseconds now, unsigned index) {
    Buffer& buffer = buffers_[index];
    settle(buffer, now);
    return buffer.held;
}

model::Bytes ReceiveBuffers::occupancy(Picoseconds now) {
    std::uint64_t total = 0;
    for (unsigned i = 0; i < kBuffers; ++i) total += held(now, i);
    return {total};
}

Picoseconds ReceiveBuffers::time_of_level(Picoseconds now, unsigned index, std::uint64_t bytes) {
    Buffer& buffer = buffers_[index];
    settle(buffer, now);
    std::uint64_t level = buffer.held;
    Picoseconds time = now;
    for (std::size_t i = 0; i < buffer.count && level > bytes; ++i) {
        const Hold& hold = buffer.ring[(buffer.head + i) & (buffer.ring.size() - 1)];
        level -= hold.bytes;
        time = std::max(time, hold.release);
    }
    return time;
}

void ReceiveBuffers::clear() {
    for (Buffer& buffer : buffers_) {
        buffer.held = 0;
        buffer.count = 0;
        buffer.last_release = {};
    }
}

}  // namespace cxsim::eth
