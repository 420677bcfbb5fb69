// SPDX-License-Identifier: Apache-2.0
// What a link and the device at one of its ends know of each other.
#pragma once

#include "eth/link/link_mode.h"
#include "eth/link/phy_counters.h"
#include "model/ports/frame.h"

namespace cxsim::eth {

/// What a device offers; the link compares both ends.
struct LinkOffer {
    bool enabled = false;
    model::LinkModeMask modes = 0;
    std::array<model::FecMask, model::kLinkModes> fec{};  ///< 0: the port's choice
    /// From both ends' agreement until this end is ready; the slower end counts.
    model::Picoseconds bring_up;
};

/// What the ends agreed on. `mode` and `fec` are null while the link is down.
struct LinkState {
    const ModeFacts* mode = nullptr;
    const FecFacts* fec = nullptr;
    model::LinkDownReason reason = model::LinkDownReason::no_cable;
    model::LinkModeMask partner_modes = 0;
    model::Picoseconds time_to_up;
    bool up() const { return mode != nullptr; }
};

class LinkDevice {
  public:
    virtual ~LinkDevice() = default;

    virtual LinkOffer link_offer() const = 0;
    /// From the last bit at the receiver's connector until frame_arrived(), FEC decoding included.
    virtual model::Picoseconds receive_latency(const LinkState& state) const = 0;
    /// The state differs from before. Frames under way on a link that went down are lost.
    virtual void link_state_changed(const LinkState& state) = 0;
    /// A whole frame, damaged or not, receive_latency() after its last bit. The calendar's now.
    virtual void frame_arrived(model::FramePtr frame) = 0;
    /// The link is being destroyed.
    virtual void link_removed() = 0;
    /// Where the link counts what the physical layer of this end sees.
    virtual PhyCounters& phy_counters() = 0;
};

/// One end of a link as its device uses it.
class LinkPort {
  public:
    virtual ~LinkPort() = default;

    /// The device's offer is another than before.
    virtual void offer_changed() = 0;
    /// A frame whose first bit (of the preamble) goes out at `first_bit` and whose last (of the
    /// FCS) at `last_bit`; not before the calendar's now, in order, only while the link is up.
    virtual void send(model::Picoseconds first_bit, model::Picoseconds last_bit,
                      model::FramePtr frame) = 0;
    /// Counts errors of the physical layer up to now.
    virtual void account() = 0;
};

}  // namespace cxsim::eth
