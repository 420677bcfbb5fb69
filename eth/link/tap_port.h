// SPDX-License-Identifier: Apache-2.0
// The far end of a link in the host's network: a Linux TAP device, or any descriptor that carries
// one frame a read and write (a socketpair of SOCK_SEQPACKET or SOCK_DGRAM).
#pragma once

#include "eth/mac/mac.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cxsim::eth {

struct TapConfig {
    std::string name = "tap0";
    std::uint32_t mtu = 10'000;     ///< longest frame with FCS
    unsigned frames_per_pump = 64;  ///< at most so many are taken from the host at once
    MacConfig port;                 ///< its name is replaced
};

struct TapCounters : model::stats::Group {
    TapCounters(Group& parent, const std::string& name) : Group(parent, name) {}
    using Counter = model::stats::Counter;
    using Unit = model::stats::Unit;
    Counter from_host{*this, "from_host", Unit::packets, "Frames read from the host"};
    Counter to_host{*this, "to_host", Unit::packets, "Frames written to the host"};
    Counter dropped_host_full{*this, "dropped_host_full", Unit::packets,
                              "To the host: it did not take them"};
    Counter dropped_bad{*this, "dropped_bad", Unit::packets,
                        "Shorter than a header, longer than the MTU, or without content"};
    Counter errors{*this, "errors", Unit::events, "Reads or writes that failed otherwise"};
};

/// Opens or creates a TAP device without packet information. Returns the descriptor, non-blocking,
/// or -1 with errno; needs CAP_NET_ADMIN unless the device belongs to the user.
int open_tap(const std::string& interface_name);

class TapPort : private model::FrameReceiver {
  public:
    /// Takes over `descriptor` and closes it; it is made non-blocking.
    TapPort(model::Calendar& calendar, const TapConfig& config, int descriptor,
            model::FramePool& frames, model::stats::Group& statistics);
    ~TapPort() override;
    TapPort(const TapPort&) = delete;
    TapPort& operator=(const TapPort&) = delete;

    /// For connect(): port().connect(link, end).
    Mac& port() { return mac_; }
    /// Readable when pump() has something to do.
    int fd() const { return descriptor_; }
    /// Injects what the host has sent, as of now. Returns how many frames; when that is
    /// frames_per_pump there may be more.
    unsigned pump();
    const TapCounters& counters() const { return counters_; }

  private:
    model::Picoseconds receive(model::Picoseconds at, model::FramePtr frame) override;

    model::Calendar& calendar_;
    TapConfig config_;
    int descriptor_;
    model::FramePool& frames_;
    TapCounters counters_;
    Mac mac_;
    std::vector<std::byte> buffer_;
};

}  // namespace cxsim::eth
