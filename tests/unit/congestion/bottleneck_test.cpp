// SPDX-License-Identifier: Apache-2.0
// Both ends of DCQCN around one queue: senders that always have something share its rate.
#include "model/base/random.h"
#include "roce/congestion/notification_point.h"
#include "roce/congestion/reaction_point.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <queue>
#include <tuple>
#include <vector>

using namespace cxsim;
using model::microseconds;
using model::milliseconds;
using model::Picoseconds;

namespace {

constexpr double kRate = 25e9;  // of the queue and of each sender's port
constexpr std::uint32_t kPacket = 1082;
constexpr double kKmin = 100e3;
constexpr double kKmax = 400e3;
constexpr double kPmax = 0.2;

struct Outcome {
    double utilisation = 0;
    double fairness = 0;  ///< Jain's index: 1 when all have the same
    double mean_queue = 0;
    double worst_queue = 0;
    std::uint64_t notifications = 0;
};

// The first half of the time is for settling.
Outcome share(unsigned senders, const model::ReactionPointSettings& settings, Picoseconds time) {
    enum class Kind { packet, departure, notification };
    using Event = std::tuple<Picoseconds, std::uint64_t, Kind, unsigned>;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
    std::uint64_t order = 0;
    model::RandomStream random(1, "bottleneck");
    model::CongestionControl sender_side;
    sender_side.rp = settings;
    roce::ReactionPoints shared(sender_side, {kRate});
    model::CongestionControl receiver_side;
    receiver_side.np.scope = model::CnpScope::source_qp;
    roce::NotificationPoint receiver(receiver_side);
    const roce::Gid gid{};
    std::vector<std::unique_ptr<roce::ReactionPoint>> flows;
    const Picoseconds packet_time = model::BitsPerSecond{kRate}.time_for({kPacket});
    for (unsigned i = 0; i < senders; ++i) {
        flows.push_back(std::make_unique<roce::ReactionPoint>(shared, 3));
        events.emplace(microseconds(i), order++, Kind::packet, i);
    }
    std::vector<double> sent(senders);
    double queue = 0;
    double queue_sum = 0;
    std::uint64_t looks = 0;
    Outcome outcome;
    Picoseconds last;
    double idle = 0;
    const Picoseconds half = time / 2;
    while (std::get<0>(events.top()) < time) {
        const auto [at, number, kind, index] = events.top();
        events.pop();
        roce::ReactionPoint& flow = *flows[index];
        if (kind == Kind::notification) {
            flow.notified(at);
            continue;
        }
        const double drained = kRate / 8 * (at - last).seconds();
        if (at >= half) idle += std::max(0.0, drained - queue);
        queue = std::max(0.0, queue - drained);
        last = at;
        if (kind == Kind::departure) {
            const double probability = queue < kKmin    ? 0
                                       : queue >= kKmax ? 1
                                                        : kPmax * (queue - kKmin) / (kKmax - kKmin);
            if (probability > 0 && random.uniform() < probability &&
                receiver.marked(at, {gid, gid, index, 0, 3})) {
                events.emplace(at + microseconds(2), order++, Kind::notification, index);
            }
            continue;
        }
        queue += kPacket;
        if (at >= half) {
            sent[index] += kPacket;
            queue_sum += queue;
            ++looks;
            outcome.worst_queue = std::max(outcome.worst_queue, queue);
        }
        const auto leaves = at + Picoseconds{std::llround(queue * 8 / kRate * 1e12)};
        events.emplace(leaves, order++, Kind::departure, index);
        const Picoseconds next = std::max(at + packet_time, flow.reserve(at, kPacket));
        events.emplace(std::max(next, flow.reserve(at, 0)), order++, Kind::packet, index);
    }
    double sum = 0;
    double squares = 0;
    for (const double bytes : sent) {
        sum += bytes;
        squares += bytes * bytes;
    }
    outcome.fairness = sum * sum / (static_cast<double>(senders) * squares);
    outcome.utilisation = 1 - idle / (kRate / 8 * half.seconds());
    outcome.mean_queue = queue_sum / static_cast<double>(looks);
    outcome.notifications = sender_side.cnps_handled;
    return outcome;
}

}  // namespace

TEST_CASE("with published parameters senders share a bottleneck evenly, its queue is short",
          "[dcqcn]") {
    model::ReactionPointSettings vendor;
    vendor.rpg_byte_reset = 0;
    vendor.dce_tcp_g = 1020;
    vendor.initial_alpha_value = 1024;
    vendor.rpg_min_rate = 1000;
    model::ReactionPointSettings paper = vendor;
    paper.dce_tcp_rtt = 50;
    paper.rate_reduce_monitor_period = 50;
    paper.rpg_time_reset = 55;
    for (const model::ReactionPointSettings& settings : {vendor, paper}) {
        for (const unsigned senders : {2U, 8U, 16U}) {
            const Outcome outcome = share(senders, settings, milliseconds(50));
            CAPTURE(settings.dce_tcp_rtt, senders, outcome.utilisation, outcome.fairness,
                    outcome.mean_queue, outcome.worst_queue, outcome.notifications);
            CHECK(outcome.utilisation > 0.95);
            CHECK(outcome.fairness > 0.98);
            CHECK(outcome.mean_queue < kKmax / 2);
            CHECK(outcome.worst_queue < 2 * kKmax);
            CHECK(outcome.notifications > 100);
        }
    }
}

// The byte counter of the defaults lets single senders rise quickly: less even, still bounded.
TEST_CASE("with the card's defaults the queue stays bounded and the link busy", "[dcqcn]") {
    for (const unsigned senders : {2U, 8U, 16U}) {
        const Outcome outcome = share(senders, {}, milliseconds(50));
        CAPTURE(senders, outcome.utilisation, outcome.fairness, outcome.mean_queue,
                outcome.worst_queue, outcome.notifications);
        CHECK(outcome.utilisation > 0.85);
        CHECK(outcome.mean_queue < kKmax);
        CHECK(outcome.worst_queue < 4 * kKmax);
    }
}

TEST_CASE("without notifications the same senders fill any queue", "[dcqcn]") {
    model::ReactionPointSettings blind;
    blind.rpg_min_dec_fac = 100;  // decreases take nothing
    const Outcome outcome = share(2, blind, milliseconds(5));
    CHECK(outcome.worst_queue > 10 * kKmax);
}
