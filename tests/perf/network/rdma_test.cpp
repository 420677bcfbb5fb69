// SPDX-License-Identifier: Apache-2.0
// What a RoCE packet costs through two whole cards and a switch: events, allocations, memory. A
// process for each case, since SystemC elaborates once.
#include "tests/perf/rdma_load.h"
#include "tests/support/allocation_count.h"

#include <catch2/catch_test_macros.hpp>

#include <sys/resource.h>

namespace {

using namespace cxsim;

constexpr std::uint64_t kMegabytes = 1'000'000;
constexpr long kMemoryKib = 64 * 1024;

void check(std::size_t index, std::uint64_t bytes, double events) {
    const perf::RdmaCase& which = perf::kRdmaCases[index];
    perf::RdmaLoad load(which);
    load.run(bytes, test::g_allocations);  // warm-up
    const perf::RdmaResult result = load.run(bytes, test::g_allocations);
    const std::uint64_t expected = which.senders * (bytes / which.mtu);
    CAPTURE(which.name, result.packets, result.goodput);
    CHECK(result.packets >= expected);
    CHECK(static_cast<double>(result.packets) < 1.05 * static_cast<double>(expected));
    CHECK(static_cast<double>(result.events) / static_cast<double>(result.packets) <= events);
    CHECK(result.allocations == 0);
    rusage usage{};
    REQUIRE(getrusage(RUSAGE_SELF, &usage) == 0);
    CHECK(usage.ru_maxrss < kMemoryKib);
}

}  // namespace

// A packet starts at the card, arrives at the switch, starts there, arrives: four events. A turn of
// the sender brings seven packets, an answer comes for many.
TEST_CASE("one flow through a switch takes four events and a half for a packet", "[perf]") {
    check(0, 20 * kMegabytes, 4.5);
}
TEST_CASE("one flow with its payload through PCIe takes no more events", "[perf]") {
    check(1, 20 * kMegabytes, 4.5);
}
TEST_CASE("eight flows with DCQCN and flow control take five events and a half for a packet", "[perf]") {
    check(2, 2 * kMegabytes, 5.5);
}
