// SPDX-License-Identifier: Apache-2.0
// The port as firmware sees it: settings that registers write, state and counters that they read.
// eth/mac implements PortControl; firmware_stub uses it and knows no Ethernet.
#pragma once

#include <array>
#include <cstdint>

#include "model/base/units.h"

namespace cxsim::model {

namespace stats {
class Group;
}

/// Ways of running a port's lanes. The values are the bit numbers of PTYS's extended masks.
enum class LinkMode : std::uint8_t {
    speed_100m = 0,
    speed_1g = 1,
    speed_5g = 3,
    speed_10g = 4,
    speed_40g_4x = 5,
    speed_25g = 6,
    speed_50g_2x = 7,
    speed_50g_1x = 8,
    speed_100g_4x = 9,
    speed_100g_2x = 10,
    speed_100g_1x = 11,
    speed_200g_4x = 12,
    speed_200g_2x = 13,
    speed_400g_8x = 15,
    speed_400g_4x = 16,
    speed_800g_8x = 19,
};
constexpr unsigned kLinkModes = 20;

/// One bit for each LinkMode.
using LinkModeMask = std::uint32_t;
constexpr LinkModeMask mask_of(LinkMode mode) {
    return LinkModeMask{1} << static_cast<unsigned>(mode);
}

/// Forward error correction. The values are the bit numbers of PPLM's masks.
enum class FecMode : std::uint8_t {
    none = 0,
    firecode = 1,
    rs_528_514 = 2,
    ll_rs_271_257 = 3,
    rs_544_514 = 7,
};
using FecMask = std::uint16_t;
constexpr FecMask mask_of(FecMode mode) {
    return static_cast<FecMask>(1U << static_cast<unsigned>(mode));
}

/// One receive buffer. Thresholds of 0 leave them to the port.
struct ReceiveBufferSettings {
    Bytes size;
    Bytes xoff;          ///< above it the sender is told to pause
    Bytes xon;           ///< at or below it the sender may go on
    bool lossy = true;   ///< never pauses the sender
    friend bool operator==(const ReceiveBufferSettings&, const ReceiveBufferSettings&) = default;
};

/// What registers write. Plain values: read them, change some, configure().
struct PortSettings {
    static constexpr unsigned kPriorities = 8;
    static constexpr unsigned kBuffers = 8;
    static constexpr unsigned kDscps = 64;

    bool admin_up = true;
    LinkModeMask modes = 0;           ///< enabled ones; 0 brings no link up
    bool autonegotiation = true;
    /// Longest frame in bytes as PMTU counts it: destination address to FCS, one VLAN tag
    /// included.
    std::uint32_t mtu = 1522;
    bool pause_rx = false;            ///< obey pause frames
    bool pause_tx = false;            ///< send them when a buffer fills
    std::uint8_t pfc_rx = 0;          ///< a bit for each priority
    std::uint8_t pfc_tx = 0;
    /// Priorities of IP packets come from their DSCP, of all others it is 0; else from VLAN tags.
    bool trust_dscp = false;
    std::array<std::uint8_t, kDscps> priority_of_dscp{};
    std::array<FecMask, kLinkModes> fec{};  ///< allowed ones by LinkMode; 0 leaves it to the port
    bool check_fcs = true;            ///< drop damaged frames; else they reach the receiver
    std::array<ReceiveBufferSettings, kBuffers> buffers{};
    std::array<std::uint8_t, kPriorities> buffer_of_priority{};  ///< index into buffers
    std::uint16_t pause_quanta = 0xffff;   ///< time in a pause frame, in 512 bit times
    std::uint16_t pause_refresh = 0x7fff;  ///< it is repeated after this long

    friend bool operator==(const PortSettings&, const PortSettings&) = default;
};

enum class LinkDownReason : std::uint8_t {
    none,            ///< the link is up
    no_cable,
    admin_down,      ///< of this port
    partner_down,    ///< nobody answers: the other end is disabled or the link was cut
    no_common_mode,  ///< the ends share no speed
    no_common_fec,
    training,        ///< both ends agree, the link comes up soon
};

struct PortStatus {
    bool cable_present = false;
    bool up = false;
    LinkDownReason reason = LinkDownReason::no_cable;
    LinkMode mode = LinkMode::speed_10g;   ///< these five only while up
    BitsPerSecond rate;
    unsigned lanes = 0;
    FecMode fec = FecMode::none;
    LinkModeMask partner_modes = 0;        ///< what the other end offers
    Picoseconds time_to_up;                ///< how long it took to come up, last time
};

class PortListener {
  public:
    virtual ~PortListener() = default;
    /// The link went up or down; PortControl::status() tells the new state.
    virtual void link_changed(bool up) = 0;
};

class PortControl {
  public:
    virtual ~PortControl() = default;

    virtual const PortSettings& settings() const = 0;
    /// Takes over all settings. The link goes down at once if it must, the listener hears of it
    /// before this returns; it comes up later. Buffers larger than receive_buffer() in sum are
    /// cut off by the caller, not here.
    virtual void configure(const PortSettings& settings) = 0;

    virtual PortStatus status() const = 0;
    /// Total of receive buffers that settings may share out.
    virtual Bytes receive_buffer() const = 0;

    /// All counters of the port, those that grow with time brought up to now.
    virtual const stats::Group& counters() = 0;
    /// When the link came up last, in simulated time; only while up.
    virtual Picoseconds up_since() const = 0;

    /// Null: nobody listens.
    virtual void set_listener(PortListener* listener) = 0;
};

}  // namespace cxsim::model
