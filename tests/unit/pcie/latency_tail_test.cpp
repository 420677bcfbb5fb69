// SPDX-License-Identifier: Apache-2.0
// Tails of latencies: what is no tail, and draws against the distribution that was written.
#include "pcie/host/latency_tail.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace cxsim;
using model::nanoseconds;
using model::Picoseconds;
using pcie::LatencyTail;

namespace {

std::vector<Picoseconds> sorted_draws(const LatencyTail& tail, std::size_t count) {
    model::RandomStream random(1, "tail");
    std::vector<Picoseconds> draws;
    for (std::size_t i = 0; i < count; ++i) draws.push_back(tail.draw(random));
    std::sort(draws.begin(), draws.end());
    return draws;
}

}  // namespace

TEST_CASE("what is no tail is refused", "[host]") {
    for (const char* text :
         {"", "0.5", ":1ns", "0:1ns", "1.5:1ns", "-0.1:1ns", "nan:1ns", "0.5:1", "0.5:1ns,",
          "0.5x:1ns", "0.1:0ns, 0.1:5ns", "0.1:0ns, 0.2:5ns", "0.1:5ns, 0.01:4ns"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(LatencyTail::parse(text), model::ValueError);
    }
    CHECK(LatencyTail::parse("none").empty());
    CHECK_FALSE(LatencyTail::parse("0.01:0ns").empty());
}

TEST_CASE("an empty tail adds nothing and draws nothing", "[host]") {
    model::RandomStream random(1, "tail");
    model::RandomStream untouched = random;
    CHECK(LatencyTail().draw(random) == Picoseconds{});
    CHECK(random() == untouched());
}

TEST_CASE("draws have the shares that were written, and an exponential between them", "[host]") {
    constexpr std::size_t kDraws = 1000000;
    const auto draws =
        sorted_draws(LatencyTail::parse("0.1:0ns, 0.01:100ns, 0.001:1us, 0.0001:2us"), kDraws);
    const auto longer = [&](Picoseconds than) {
        return static_cast<double>(draws.end() -
                                   std::upper_bound(draws.begin(), draws.end(), than)) /
               kDraws;
    };
    // Expected share, and six standard deviations of a count of it.
    const auto close = [&](Picoseconds than, double share) {
        CAPTURE(than.nanoseconds(), longer(than), share);
        CHECK(std::abs(longer(than) - share) < 6 * std::sqrt(share / kDraws));
    };
    close({}, 0.1);
    close(nanoseconds(50), 0.1 / std::sqrt(10));  // half of the way in time, in logarithms too
    close(nanoseconds(100), 0.01);
    close(nanoseconds(1000), 0.001);
    CHECK(draws.back() == nanoseconds(2000));  // beyond the last share there is no more
    close(nanoseconds(1999), 0.0001 * std::pow(10, 0.001));
}
