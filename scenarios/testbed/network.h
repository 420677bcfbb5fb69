// SPDX-License-Identifier: Apache-2.0
// The wire between cards: one link back to back, or a switch with a link to each card.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "eth/link/link.h"
#include "model/ports/frame.h"
#include "model/sim/kernel.h"
#include "model/stats/stats.h"
#include "scenarios/testbed/card.h"

namespace cxsim::scenarios {

class Network {
  public:
    explicit Network(model::Kernel& kernel) : kernel_(kernel) {}

    model::FramePool& frames() { return frames_; }
    model::stats::Group& statistics() { return statistics_; }

    /// Joins the ports of two cards. The cards must not outlive the network's links: disconnect()
    /// or destroy the cards first.
    eth::Link& join(Card& one, Card& other, const eth::LinkConfig& config = {});

    std::vector<std::unique_ptr<eth::Link>>& links() { return links_; }

  private:
    model::Kernel& kernel_;
    model::FramePool frames_;
    model::stats::Group statistics_{"network"};
    std::vector<std::unique_ptr<eth::Link>> links_;
};

}  // namespace cxsim::scenarios
