// SPDX-License-Identifier: Apache-2.0
// What a data centre's switch does beyond forwarding: classes of traffic, marks of congestion, and
// lossless classes. By default nothing of it.
#pragma once

#include "model/base/units.h"
#include "model/ports/port_control.h"

#include <array>
#include <cstdint>

namespace cxsim::eth {

/// Marking of an egress queue as random early detection does it: nothing below `kmin`, with a
/// probability that grows to `pmax` at `kmax`, everything from there on.
struct EcnThresholds {
    model::Bytes kmin;
    model::Bytes kmax;  ///< 0: no marking
    double pmax = 0;    ///< 0 to 1

    bool on() const { return kmax.value != 0; }
    double probability(model::Bytes queue) const {
        if (!on() || queue < kmin) return 0;
        if (queue >= kmax) return 1;
        return pmax * static_cast<double>((queue - kmin).value) /
               static_cast<double>((kmax - kmin).value);
    }
    friend bool operator==(const EcnThresholds&, const EcnThresholds&) = default;
};

struct SwitchSettings {
    static constexpr unsigned kPriorities = model::PortSettings::kPriorities;

    SwitchSettings() {
        for (std::size_t i = 0; i < priority_of_dscp.size(); ++i) {
            priority_of_dscp[i] = static_cast<std::uint8_t>(i >> 3);
        }
    }

    /// Frames with a VLAN tag have the tag's priority. Of the others IP packets have the one of
    /// their DSCP if this is set; the rest has priority 0.
    bool trust_dscp = false;
    std::array<std::uint8_t, 64> priority_of_dscp{};  ///< DSCP / 8

    std::array<EcnThresholds, kPriorities> ecn{};  ///< by priority
    std::uint64_t seed = 1;                        ///< of the marks

    /// Of all ports; beyond it frames are dropped. 0: only SwitchConfig::queue_limit counts.
    model::Bytes shared_buffer;
    /// Priorities with flow control (802.1Qbb), a bit each: ports obey it, and ask for it when
    /// more than `xoff` bytes that came in by a port with a priority wait in the switch, until
    /// they are `xon` or less. With a shared buffer no limit of a queue counts for them.
    std::uint8_t lossless = 0;
    model::Bytes xoff;
    model::Bytes xon;
    /// Dynamic thresholds instead of xoff and xon, if not 0; they need the shared buffer. Each port
    /// has of each lossless priority `reserve` and `headroom` for itself; the rest is the pool. Its
    /// sender is paused when it holds, beyond its reserve, alpha times what is free of the
    /// pool, and goes on when it holds `resume_offset` less than that. What comes in meanwhile goes
    /// into the headroom, and is dropped beyond it.
    double alpha = 0;
    model::Bytes reserve;
    model::Bytes headroom;
    model::Bytes resume_offset;
    bool obey_pause = false;  ///< PAUSE frames (802.3x) that arrive; none are sent

    /// Speeds that the ports offer; 0: all.
    model::LinkModeMask modes = 0;

    void mark_all(const EcnThresholds& thresholds) { ecn.fill(thresholds); }
    /// Of the shared buffer: what belongs to ports and lossless priorities.
    model::Bytes set_apart(unsigned ports) const;
    /// Null, or what is wrong with them for a switch of so many ports.
    const char* problem(unsigned ports = 2) const;
};

}  // namespace cxsim::eth
