// SPDX-License-Identifier: Apache-2.0
// What the receive buffers of a port hold. A frame's room is given back at the time that its
// receiver named; nothing is scheduled for that, the books are settled when somebody looks.
#pragma once

#include "model/base/units.h"
#include "model/ports/port_control.h"

#include <array>
#include <cstdint>
#include <vector>

namespace cxsim::eth {

class ReceiveBuffers {
  public:
    static constexpr unsigned kBuffers = model::PortSettings::kBuffers;

    struct Limits {
        std::uint64_t size = 0;
        std::uint64_t xoff = 0;
        std::uint64_t xon = 0;
        bool lossy = true;
    };
    /// Frames that lie in a buffer stay there when it shrinks.
    void set_limits(unsigned buffer, const Limits& limits) { buffers_[buffer].limits = limits; }
    const Limits& limits(unsigned buffer) const { return buffers_[buffer].limits; }

    /// Whether `bytes` more fit at `now`.
    bool fits(model::Picoseconds now, unsigned buffer, std::uint32_t bytes);
    /// Takes room until `release`. A buffer is left in the order of arrival: a frame that is done
    /// early waits for those before it.
    void take(unsigned buffer, std::uint32_t bytes, model::Picoseconds release);

    std::uint64_t held(model::Picoseconds now, unsigned buffer);
    model::Bytes occupancy(model::Picoseconds now);
    /// When no more than `bytes` are held, if nothing else arrives. Not before `now`.
    model::Picoseconds time_of_level(model::Picoseconds now, unsigned buffer, std::uint64_t bytes);
    void clear();

  private:
    struct Hold {
        model::Picoseconds release;
        std::uint32_t bytes;
    };
    struct Buffer {
        Limits limits;
        std::uint64_t held = 0;
        std::vector<Hold> ring = std::vector<Hold>(64);  // a power of two
        std::size_t head = 0;
        std::size_t count = 0;
        model::Picoseconds last_release;
    };
    static void settle(Buffer& buffer, model::Picoseconds now);

    std::array<Buffer, kBuffers> buffers_;
};

}  // namespace cxsim::eth
