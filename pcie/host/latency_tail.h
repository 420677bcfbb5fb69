// SPDX-License-Identifier: Apache-2.0
// What a host's latency has above its base: a distribution as measurements publish one, by the
// share of accesses that took longer.
#pragma once

#include "model/base/random.h"
#include "model/base/units.h"
#include "model/params/value.h"

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace cxsim::pcie {

/// Points (share of accesses that take longer, what they take more), shares descending. Between
/// two points the logarithm of the share falls linearly: a piece of an exponential distribution.
/// An access outside of the first share takes nothing more, one inside of the last its time.
class LatencyTail {
  public:
    LatencyTail() = default;
    /// "none", or "0.5:0ns, 0.001:26ns": throws model::ValueError unless shares descend within
    /// (0, 1] and times do not.
    static LatencyTail parse(std::string_view text);

    bool empty() const { return points_.empty(); }
    /// What one access takes more.
    model::Picoseconds draw(model::RandomStream& random) const {
        if (points_.empty()) return {};
        const double share = 1 - random.uniform();
        return share > points_.front().share ? model::Picoseconds{} : inside(share);
    }

  private:
    struct Point {
        double share;
        double log_share;
        model::Picoseconds more;
    };

    model::Picoseconds inside(double share) const;

    std::vector<Point> points_;
};

}  // namespace cxsim::pcie

template <>
struct cxsim::model::ValueTraits<cxsim::pcie::LatencyTail> {
    static std::string type_name() { return "SHARE:TIME, ... such as 0.01:0ns, 0.001:26ns"; }
    static pcie::LatencyTail parse(std::string_view text) { return pcie::LatencyTail::parse(text); }
};
