// SPDX-License-Identifier: Apache-2.0
// Frames through two whole cards back to back, for `scripts/bench network`. Without an argument
// the number of cases; with one, that case as JSON (SystemC elaborates once per process). With
// "latency CARD" half of a round trip.
#include "tests/perf/network_load.h"
#include "tests/support/allocations.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <string_view>
#include <systemc>

namespace {

using namespace cxsim;

void print_case(const perf::NetworkCase& which, std::uint64_t frames) {
    perf::TwoCards cards(which);
    const perf::NetworkResult result = cards.measure(frames, test::g_allocations);
    const auto bounds = cards.bounds();
    const double per_frame = 1.0 / static_cast<double>(result.frames);
    fmt::print("{{\"card\": \"{}\", \"mode\": \"{}\", \"bytes\": {}, \"rate\": {:.0f}, "
               "\"offered\": {:.0f}, \"events\": {:.4f}, \"allocations\": {:.6f}, "
               "\"wall\": {:.0f}, \"wrong\": {}, \"bounds\": {{",
               which.card, eth::facts_of(which.mode).name, which.bytes, result.frames_per_second,
               result.offered_per_second, static_cast<double>(result.events) * per_frame,
               static_cast<double>(result.allocations) * per_frame,
               static_cast<double>(result.frames) / result.wall_seconds,
               cards.receiver().counters().wrong);
    const char* comma = "";
    for (const perf::Bound& bound : bounds) {
        fmt::print("{}\"{}\": {:.0f}", comma, bound.name, bound.frames_per_second);
        comma = ", ";
    }
    fmt::print("}}}}\n");
}

}  // namespace

int main(int argc, char** argv) {
    return sc_core::sc_elab_and_sim(argc, argv);
}

int sc_main(int argc, char** argv) {
    constexpr std::size_t kCases = std::size(perf::kNetworkCases);
    if (argc < 2) {
        fmt::print("{{\"cases\": {}}}\n", kCases);
        return 0;
    }
    const std::string_view word = argv[1];
    if (word == "latency" && argc > 2) {
        for (const perf::NetworkCase& which : perf::kNetworkCases) {
            if (std::string_view(which.card) != argv[2] || which.bytes != 64) continue;
            perf::TwoCards cards(which, true);
            fmt::print("{{\"card\": \"{}\", \"mode\": \"{}\", \"half_round_trip_ns\": {:.1f}}}\n",
                       which.card, eth::facts_of(which.mode).name,
                       cards.half_round_trip(100).nanoseconds());
            return 0;
        }
    }
    std::size_t index = kCases;
    std::from_chars(word.data(), word.data() + word.size(), index);
    if (index >= kCases) {
        fmt::print(stderr, "bench_network: case '{}', there are 0 to {}\n", word, kCases - 1);
        return 2;
    }
    print_case(perf::kNetworkCases[index], 100'000);
    return 0;
}
