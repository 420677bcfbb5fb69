// SPDX-License-Identifier: Apache-2.0
// Where the flow tables send a packet. Made once and used for all packets: it takes no memory
// after that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cxsim::model {

class SteeredPacket;

/// Why a packet, or its branch to one of several destinations, went nowhere.
enum class DropReason : std::uint8_t {
    miss,         ///< no rule matched and the miss leads nowhere, or there is no root table
    action,       ///< a rule says drop
    edit_failed,  ///< the packet has no such header, or no room for the new one
    walk_limit,   ///< more tables or groups than one packet may visit: a loop
    no_room,      ///< more destinations than a Deliveries holds
    no_copy,      ///< destinations want the packet differently and it cannot be copied
    count,
};

struct Delivery {
    enum class Kind : std::uint8_t {
        tir,   ///< `number` is a TIR, which lives
        wire,  ///< transmit: the packet may leave
    };
    Kind kind = Kind::tir;
    bool sniffer = false;  ///< a rule of a sniffer table wants a look
    std::uint32_t number = 0;
    std::uint32_t flow_tag = 0;  ///< 24 bits; of the last rule that has one
    std::uint32_t metadata = 0;  ///< register B: ft_metadata of the CQE
    /// The packet as this destination gets it: the steered one or, where a rule changed it for
    /// others only, a copy, which lives as long as the steered packet.
    SteeredPacket* packet = nullptr;
};

class Deliveries {
  public:
    /// A rule has at most 2^log_max_destination destinations, 256 on all cards.
    static constexpr std::size_t kCapacity = 512;

    Deliveries() { list_.reserve(kCapacity); }

    std::span<const Delivery> list() const { return list_; }
    auto begin() const { return list_.begin(); }
    auto end() const { return list_.end(); }
    std::size_t size() const { return list_.size(); }
    bool empty() const { return list_.empty(); }
    const Delivery& operator[](std::size_t index) const { return list_[index]; }

    /// Branches that ended without destination, those of sniffers left out.
    std::uint32_t drops() const { return drops_; }
    /// Of the last such branch; meaningful if there are any.
    DropReason drop_reason() const { return reason_; }

    void clear() {
        list_.clear();
        drops_ = 0;
    }
    /// False if full.
    bool add(const Delivery& delivery) {
        if (list_.size() == kCapacity) return false;
        list_.push_back(delivery);
        return true;
    }
    void add_drop(DropReason reason) {
        ++drops_;
        reason_ = reason;
    }

  private:
    std::vector<Delivery> list_;
    std::uint32_t drops_ = 0;
    DropReason reason_ = DropReason::miss;
};

}  // namespace cxsim::model
