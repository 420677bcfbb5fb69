// SPDX-License-Identifier: Apache-2.0
// The packet memory of a switch: what the frames of each port of entry hold of it, what may still
// come in, and which ports must be told to pause. Bytes are those of the wire.
#pragma once

#include "eth/link/switch_settings.h"

#include <array>
#include <cstdint>
#include <vector>

namespace cxsim::eth {

class SharedBuffer {
  public:
    /// `settings` outlive it and have no problem(ports).
    SharedBuffer(const SwitchSettings& settings, unsigned ports);

    /// Whether a frame that came in by `port` finds room.
    bool has_room(unsigned port, unsigned priority, std::uint32_t bytes) const;
    /// Only what has room.
    void take(unsigned port, unsigned priority, std::uint32_t bytes);
    void give_back(unsigned port, unsigned priority, std::uint32_t bytes);

    /// Of lossless priorities: whether the port's sender is to be told to pause, or, being paused,
    /// to go on. In between neither.
    bool must_pause(unsigned port, unsigned priority) const;
    bool may_resume(unsigned port, unsigned priority) const;

    std::uint64_t held() const { return held_; }
    std::uint64_t held_of(unsigned port, unsigned priority) const {
        return accounts_[port][priority].held;
    }
    /// The most of all ports so far.
    std::uint64_t peak() const { return peak_; }
    void reset_peak() { peak_ = held_; }
    /// What a port may now hold of the pool (alpha above 1: more than is free). With fixed
    /// thresholds: xoff.
    std::uint64_t threshold() const;
    /// What is not set apart for anybody; with dynamic thresholds.
    std::uint64_t pool() const { return pool_; }

  private:
    struct Account {
        std::uint64_t held = 0;
        std::uint64_t in_headroom = 0;  ///< of held
    };
    enum class Place : std::uint8_t { shared, headroom, none };

    bool dynamic() const { return settings_.alpha > 0; }
    bool lossless(unsigned priority) const { return (settings_.lossless >> priority & 1) != 0; }
    std::uint64_t shared_of(const Account& account, unsigned priority) const;
    Place place_for(const Account& account, unsigned priority, std::uint32_t bytes) const;

    const SwitchSettings& settings_;
    std::uint64_t pool_ = 0;
    std::uint64_t shared_used_ = 0;  ///< of the pool
    std::uint64_t held_ = 0;
    std::uint64_t peak_ = 0;
    std::vector<std::array<Account, SwitchSettings::kPriorities>> accounts_;
};

}  // namespace cxsim::eth
