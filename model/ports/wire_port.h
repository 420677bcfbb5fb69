// SPDX-License-Identifier: Apache-2.0
// The narrow waist towards the wire: what the card's pipelines ask of the MAC, and what the MAC
// asks of them. eth/mac implements WirePort; eth/nic implements FrameReceiver.
#pragma once

#include <cstdint>

#include "model/base/units.h"
#include "model/ports/frame.h"

namespace cxsim::model {

class WirePort {
  public:
    virtual ~WirePort() = default;

    /// Queues a frame for `frame->priority` that is complete at `ready` (not before the calendar's
    /// now). Frames of one priority leave in the order of the calls. Without a link, or beyond the
    /// port's MTU, the frame is dropped and counted.
    virtual void transmit(Picoseconds ready, FramePtr frame) = 0;

    /// When a sender of `priority` may bring more, if it has something at `at`: `at` itself while
    /// the queue is short, else a later time (of a paused priority not the end of the pause, which
    /// mostly comes earlier than announced). The port takes every frame nevertheless.
    virtual Picoseconds room_at(Picoseconds at, unsigned priority) = 0;

    virtual bool link_up() const = 0;
};

class FrameReceiver {
  public:
    virtual ~FrameReceiver() = default;

    /// A whole frame with a right FCS (or a damaged one, if the port was told to keep those) has
    /// arrived; `at` is the calendar's now. Returns when it will have left the port's buffer: the
    /// end of the last DMA write, or `at` for a frame that was dropped.
    virtual Picoseconds receive(Picoseconds at, FramePtr frame) = 0;
};

}  // namespace cxsim::model
