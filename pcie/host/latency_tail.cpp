// SPDX-License-Identifier: Apache-2.0
#include "pcie/host/latency_tail.h"

#include <fmt/format.h>

#include <charconv>

namespace cxsim::pcie {

using model::Picoseconds;
using model::ValueError;

namespace {

double parse_share(std::string_view text) {
    double share = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
    if (error != std::errc{} || end != text.data() + text.size() || !(share > 0) || share > 1) {
        throw ValueError(fmt::format("'{}' is no share above 0 and up to 1", text));
    }
    return share;
}

}  // namespace

LatencyTail LatencyTail::parse(std::string_view text) {
    LatencyTail tail;
    if (text == "none") return tail;
    for (const std::string& word : model::parse_words(text)) {
        const std::size_t colon = word.find(':');
        if (colon == std::string::npos) {
            throw ValueError(fmt::format("'{}' is no SHARE:TIME", word));
        }
        const double share = parse_share(std::string_view(word).substr(0, colon));
        const Picoseconds more = model::parse_time(std::string_view(word).substr(colon + 1));
        if (!tail.empty() &&
            (share >= tail.points_.back().share || more < tail.points_.back().more)) {
            throw ValueError(fmt::format("'{}': shares descend, times do not", text));
        }
        tail.points_.push_back({share, std::log(share), more});
    }
    return tail;
}

Picoseconds LatencyTail::inside(double share) const {
    const double at = std::log(share);
    for (std::size_t i = 1; i < points_.size(); ++i) {
        const Point& left = points_[i - 1];
        const Point& right = points_[i];
        if (at < right.log_share) continue;
        const double part = (left.log_share - at) / (left.log_share - right.log_share);
        const auto more = static_cast<double>((right.more - left.more).value);
        return left.more + Picoseconds{std::llround(more * part)};
    }
    return points_.back().more;
}

}  // namespace cxsim::pcie
