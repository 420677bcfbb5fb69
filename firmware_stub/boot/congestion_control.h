// SPDX-License-Identifier: Apache-2.0
// Settings of RoCE congestion control (DCQCN) as QUERY/MODIFY_CONG_* show and change them. The
// buffers hold what the commands exchange; the values in the base are what the transport works by.
#pragma once

#include "model/ports/congestion_control.h"
#include "model/prm/view.h"
#include "prm/layouts.h"

#include <cstdint>

namespace cxsim::firmware_stub {

/// cong_protocol of the commands: the sender's side, the receiver's side, and what is common.
enum class CongestionProtocol : std::uint8_t {
    reaction_point = 1,
    notification_point = 2,
    general = 3
};

struct CongestionControl : model::CongestionControl {
    /// Defaults of real cards.
    CongestionControl();

    prm::Buffer<prm::cong_control_r_roce_ecn_rp> reaction_point;
    prm::Buffer<prm::cong_control_r_roce_ecn_np> notification_point;
    prm::Buffer<prm::cong_control_r_roce_general> general;

    /// The values follow the buffers; within change().
    void follow_buffers();
    /// As after power-on. Flows that still are there keep their places and go on by the defaults.
    void reset();

  private:
    void write_buffers();
};

}  // namespace cxsim::firmware_stub
