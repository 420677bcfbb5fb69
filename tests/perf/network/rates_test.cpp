// SPDX-License-Identifier: Apache-2.0
// Frames through two whole cards: the wire's arithmetic rate, or the smallest other bound by name;
// events and allocations for each. A process for each case, since SystemC elaborates once.
#include "tests/perf/network_load.h"
#include "tests/support/allocations.h"

#include <catch2/catch_test_macros.hpp>

#include <cmath>

namespace {

using namespace cxsim;

// Steady state needs the buffers of both cards to have filled where the wire is not the bound.
constexpr std::uint64_t kFrames = 100'000;
constexpr double kWireTolerance = 0.005;
constexpr double kOtherTolerance = 0.01;

void check(std::size_t index, const std::string& bound, double events) {
    const perf::NetworkCase& which = perf::kNetworkCases[index];
    perf::TwoCards cards(which);
    const perf::NetworkResult result = cards.measure(kFrames, test::g_allocations);
    const std::vector<perf::Bound> bounds = cards.bounds();
    CAPTURE(which.card, which.bytes, result.frames_per_second, bounds[0].name,
            bounds[0].frames_per_second);
    CHECK(bounds[0].name == bound);
    const double deviation = result.frames_per_second / bounds[0].frames_per_second - 1;
    CHECK(std::abs(deviation) <= (bound == "wire" ? kWireTolerance : kOtherTolerance));
    CHECK(cards.receiver().counters().wrong == 0);
    CHECK(static_cast<double>(result.events) / static_cast<double>(result.frames) <= events);
    CHECK(result.allocations == 0);
}

constexpr const char* kReceiverUp = "PCIe of the receiver, from the card";
constexpr const char* kSendQueues = "send queues: fetch and execution of WQEs";
// A frame: it starts at the port, arrives, is completed. Beside it a WQE is fetched and executed,
// with several frames or, on the oldest card, one.
constexpr double kEvents = 3.35;
constexpr double kEventsOfSingleWqes = 4.35;

}  // namespace

TEST_CASE("64 bytes at 25 Gb/s fill the wire", "[perf]") {
    check(0, "wire", kEventsOfSingleWqes);
}
TEST_CASE("1500 bytes at 25 Gb/s fill the wire", "[perf]") {
    check(1, "wire", kEventsOfSingleWqes);
}
TEST_CASE("64 bytes at 100 Gb/s fill PCIe 3.0 of the receiver", "[perf]") {
    check(2, kReceiverUp, kEvents);
}
TEST_CASE("1500 bytes at 100 Gb/s fill PCIe 3.0 of the receiver, just below the wire", "[perf]") {
    check(3, kReceiverUp, kEvents);
}
TEST_CASE("64 bytes at 100 Gb/s fill the wire with PCIe 4.0", "[perf]") {
    check(4, "wire", kEvents);
}
TEST_CASE("1500 bytes at 100 Gb/s fill the wire with PCIe 4.0", "[perf]") {
    check(5, "wire", kEvents);
}
TEST_CASE("64 bytes at 200 Gb/s fill the wire with PCIe 5.0", "[perf]") {
    check(6, "wire", kEvents);
}
TEST_CASE("1500 bytes at 200 Gb/s fill the wire with PCIe 5.0", "[perf]") {
    check(7, "wire", kEvents);
}
TEST_CASE("64 bytes at 400 Gb/s are as many as sixteen send queues bring", "[perf]") {
    check(8, kSendQueues, kEvents);
}
TEST_CASE("1500 bytes at 400 Gb/s fill PCIe 5.0 of the receiver, just below the wire", "[perf]") {
    check(9, kReceiverUp, kEvents);
}

TEST_CASE("half a round trip of 64 bytes takes a small number of microseconds", "[perf]") {
    perf::TwoCards cards(perf::kNetworkCases[4], true);
    const double nanoseconds = cards.half_round_trip(50).nanoseconds();
    CAPTURE(nanoseconds);
    CHECK(nanoseconds > 700);
    CHECK(nanoseconds < 2500);
}
