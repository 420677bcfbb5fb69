// SPDX-License-Identifier: Apache-2.0
// The receiver's side of DCQCN: which packets with the congestion mark are answered with a
// congestion notification packet (CNP).
#pragma once

#include "model/ports/congestion_control.h"
#include "roce/wire/packet.h"

#include <array>
#include <cstdint>
#include <vector>

namespace cxsim::roce {

class NotificationPoint {
  public:
    /// A packet that arrived, as far as it matters here.
    struct Packet {
        const Gid& source;
        const Gid& destination;
        std::uint32_t source_qp = 0;    ///< as the receiving QP knows it
        std::uint16_t source_port = 0;  ///< UDP
        unsigned priority = 0;          ///< 0 to 7
    };
    static constexpr std::size_t kWays = 4;
    static constexpr std::size_t kSets = 256;

    /// `control` outlives this.
    explicit NotificationPoint(model::CongestionControl& control) : control_(control) {}

    /// A packet with the mark arrived: counts it. True: a CNP goes back now, and is counted.
    bool marked(model::Picoseconds at, const Packet& packet);
    /// A packet arrived out of order and is answered with a NAK. True: with a CNP as well.
    bool lost(model::Picoseconds at, const Packet& packet);

    /// Of the CNP. `packet_priority`: of the packet that it answers.
    std::uint8_t cnp_dscp() const { return control_.np.cnp_dscp; }
    std::uint8_t cnp_priority(unsigned packet_priority) const;

    /// Flows that were forgotten before their time had passed, because there were too many: each
    /// may have brought a CNP too early.
    std::uint64_t forgotten() const { return forgotten_; }

  private:
    struct Key {
        Gid source{};
        Gid destination{};
        std::uint32_t rest = 0;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct Entry {
        Key key;
        model::Picoseconds sent;
        bool used = false;
    };
    Key key_of(const Packet& packet) const;
    /// Whether the scope's time has passed since its latest CNP; if so it begins anew.
    bool due(model::Picoseconds at, const Packet& packet);

    model::CongestionControl& control_;
    std::vector<Entry> entries_;  ///< sets of kWays; empty until the first mark
    std::uint64_t forgotten_ = 0;
};

}  // namespace cxsim::roce
