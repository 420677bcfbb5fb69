// SPDX-License-Identifier: Apache-2.0
#include "scenarios/testbed/network.h"

namespace cxsim::scenarios {

eth::Link& Network::join(Card& one, Card& other, const eth::LinkConfig& config) {
    links_.push_back(std::make_unique<eth::Link>(kernel_.calendar(), config, statistics_));
    one.port().connect(*links_.back(), 0);
    other.port().connect(*links_.back(), 1);
    return *links_.back();
}

}  // namespace cxsim::scenarios
