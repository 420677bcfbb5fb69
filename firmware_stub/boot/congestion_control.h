// SPDX-License-Identifier: Apache-2.0
// Settings of RoCE congestion control (DCQCN) as QUERY/MODIFY_CONG_* show and change them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/prm/view.h"
#include "prm/layouts.h"

namespace cxsim::firmware_stub {

/// cong_protocol of the commands: the sender's side, the receiver's side, and what is common.
enum class CongestionProtocol : std::uint8_t { reaction_point = 1, notification_point = 2,
                                               general = 3 };

struct CongestionControl {
    static constexpr std::size_t kPriorities = 8;

    struct PriorityState {
        bool enable = true;
        bool tag_enable = true;
    };

    /// Defaults of real cards.
    CongestionControl();

    std::array<PriorityState, kPriorities> reaction_point_state{};
    std::array<PriorityState, kPriorities> notification_point_state{};
    prm::Buffer<prm::cong_control_r_roce_ecn_rp> reaction_point;
    prm::Buffer<prm::cong_control_r_roce_ecn_np> notification_point;
    prm::Buffer<prm::cong_control_r_roce_general> general;

    // Statistics; the transport counts.
    std::uint64_t cnps_handled = 0;
    std::uint64_t cnps_ignored = 0;
    std::uint64_t cnps_sent = 0;
    std::uint64_t ecn_marked_packets = 0;
    std::uint32_t limited_flows = 0;
};

}  // namespace cxsim::firmware_stub
