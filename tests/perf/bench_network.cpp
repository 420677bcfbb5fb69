// SPDX-License-Identifier: Apache-2.0
// Frames through two whole cards back to back, for `scripts/bench network`. Without an argument
// the number of cases; with one, that case as JSON (SystemC elaborates once per process). With
// "latency CARD" half of a round trip; with "rdma N" RDMA through a switch, N from 0 on.
#include "tests/perf/event_load.h"
#include "tests/perf/network_load.h"
#include "tests/perf/rdma_load.h"
#include "tests/support/allocations.h"

#include <fmt/format.h>

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <string_view>
#include <systemc>
#include <vector>

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

// Wall times are medians of `kRounds`, the yardstick's in between.
void print_rdma(const perf::RdmaCase& which) {
    constexpr unsigned kRounds = 5;
    constexpr std::uint64_t kEvents = 500'000;
    perf::RdmaLoad load(which);
    perf::MultimapLoad few(100);
    perf::MultimapLoad many(1000);
    const auto yardstick = [](perf::MultimapLoad& map) {
        const auto start = std::chrono::steady_clock::now();
        map.run(kEvents);
        return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
                   .count() / static_cast<double>(kEvents);
    };
    const auto median = [](std::vector<double> values) {
        std::ranges::sort(values);
        return values[values.size() / 2];
    };
    load.run(which.bytes, test::g_allocations);  // warm-up
    std::vector<double> rates;
    std::vector<double> at_100;
    std::vector<double> at_1000;
    perf::RdmaResult result;
    for (unsigned i = 0; i < kRounds; ++i) {
        result = load.run(which.bytes, test::g_allocations);
        rates.push_back(static_cast<double>(result.packets) / result.wall_seconds);
        at_100.push_back(yardstick(few));
        at_1000.push_back(yardstick(many));
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const double per_packet = 1.0 / static_cast<double>(result.packets);
    fmt::print("{{\"name\": \"{}\", \"packets\": {}, \"rate\": {:.0f}, \"events\": {:.4f}, "
               "\"allocations\": {:.6f}, \"goodput\": {:.0f}, \"memory_kib\": {}, "
               "\"multimap_100\": {:.1f}, \"multimap_1000\": {:.1f}}}\n",
               which.name, result.packets, median(rates),
               static_cast<double>(result.events) * per_packet,
               static_cast<double>(result.allocations) * per_packet, result.goodput,
               usage.ru_maxrss, median(at_100), median(at_1000));
}

}  // namespace

int main(int argc, char** argv) {
    return sc_core::sc_elab_and_sim(argc, argv);
}

int sc_main(int argc, char** argv) {
    constexpr std::size_t kCases = std::size(perf::kNetworkCases);
    if (argc < 2) {
        fmt::print("{{\"cases\": {}, \"rdma_cases\": {}}}\n", kCases,
                   std::size(perf::kRdmaCases));
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
    if (word == "rdma" && argc > 2) {
        std::size_t which = std::size(perf::kRdmaCases);
        const std::string_view number = argv[2];
        std::from_chars(number.data(), number.data() + number.size(), which);
        if (which < std::size(perf::kRdmaCases)) {
            print_rdma(perf::kRdmaCases[which]);
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
