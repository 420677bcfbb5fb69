// SPDX-License-Identifier: Apache-2.0
// Transport under loss and marks, judged by what passes the middle of the wire, as published
// testers judge real cards (go-back-N, NAKs, CNPs, counters, timers).
#include "tests/perf/calibration/cases.h"
#include "tests/perf/calibration/go_back_n.h"
#include "tests/perf/calibration/pair.h"

#include "eth/link/link_mode.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cxsim::calibration {
namespace {

using model::Picoseconds;
using scenarios::Completion;
using scenarios::DriverError;
using scenarios::SendOp;
using Cases = std::map<std::string, Measure, std::less<>>;

constexpr std::uint64_t kRegion = 1 << 20;

PairOptions filtered(const std::string& card, std::span<const model::Override> overrides) {
    PairOptions options;
    options.card = card;
    options.wire.between = Between::filter;
    options.overrides.assign(overrides.begin(), overrides.end());
    return options;
}

/// A queue pair on each card, and a region.
struct Flow {
    explicit Flow(Pair& pair, const scenarios::ConnectionOptions& connection = {},
                  std::uint32_t requests = 512) {
        auto& from = pair.a.verbs;
        auto& to = pair.b.verbs;
        local = &from.create_mr(from.pd(), kRegion);
        remote = &to.create_mr(to.pd(), kRegion);
        cq = &from.create_cq(2 * requests);
        auto& far_cq = to.create_cq(16);
        scenarios::QpOptions options;
        options.send_requests = requests;
        options.max_send_sges = 1;
        qp = &from.create_qp(from.pd(), *cq, *cq, options);
        auto& peer = to.create_qp(to.pd(), far_cq, far_cq, options);
        scenarios::connect(*qp, from, peer, to, connection);
    }
    void post(SendOp op, std::uint32_t bytes) {
        const scenarios::Sge piece = local->sge(0, bytes);
        if (!qp->post_send({.op = op, .sges = {&piece, 1}, .remote_address = remote->address(),
                            .rkey = remote->rkey()})) {
            throw DriverError("the send queue is full");
        }
    }
    void complete(unsigned requests) {
        Completion done;
        for (; requests > 0; --requests) {
            if (!cq->wait(done, model::seconds(5)) || !done.ok()) {
                throw DriverError("a request does not complete");
            }
        }
    }

    scenarios::VerbsMr* local;
    scenarios::VerbsMr* remote;
    scenarios::VerbsCq* cq;
    scenarios::VerbsQp* qp;
};

/// One in a hundred, the same in each run.
struct OneInHundred {
    std::uint64_t state = 1;
    bool operator()() {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return (state >> 33) % 100 == 0;
    }
};

/// WRITEs and READs of 32 packets, one data packet in a hundred lost. `timeout`: of the QP.
Quantities recovery(const std::string& card, std::span<const model::Override> overrides) {
    std::vector<model::Override> all(overrides.begin(), overrides.end());
    all.push_back({"timing.roce.adaptive_timers", "0"});  // a timeout is a local_ack_timeout_err
    Pair pair(filtered(card, all));
    Filter& filter = pair.wire.filter();
    scenarios::ConnectionOptions connection;
    connection.ack_timeout = 10;
    connection.mtu = 1024;
    Flow flow(pair, connection);
    OneInHundred chance;
    filter.loses = [&](const Passed& passed) { return passed.payload_bytes > 0 && chance(); };
    constexpr unsigned kMessages = 100;
    constexpr std::uint32_t kBytes = 32 * 1024;
    const auto run = [&](SendOp op) {
        filter.forget();
        pair.a.verbs.counters(true);
        pair.b.verbs.counters(true);
        for (unsigned i = 0; i < kMessages; ++i) flow.post(op, kBytes);
        flow.complete(kMessages);
    };
    Quantities q;
    run(SendOp::write);
    const WriteJudgement writes = judge_writes(filter.passed());
    q["lost"] = static_cast<double>(writes.lost);
    q["violations"] = static_cast<double>(writes.violations);
    q["selective"] = writes.resent <= writes.lost ? 1 : 0;  // only what was lost went again
    q["naks"] = static_cast<double>(writes.naks);
    q["notifications"] = static_cast<double>(writes.notifications);
    q["nak_generation_us"] = writes.nak_generation.microseconds();
    q["nak_reaction_us"] = writes.nak_reaction.microseconds();
    q["packet_seq_err_off"] = pair.a.verbs.counter("packet_seq_err") -
                              static_cast<double>(writes.naks);
    q["out_of_sequence_off"] = pair.b.verbs.counter("out_of_sequence") -
                               static_cast<double>(writes.naks);
    q["timeouts"] = static_cast<double>(writes.timeouts);
    q["local_ack_timeout_err_off"] = pair.a.verbs.counter("local_ack_timeout_err") -
                                     static_cast<double>(writes.timeouts);
    run(SendOp::read);
    const ReadJudgement reads = judge_reads(filter.passed());
    q["read_lost"] = static_cast<double>(reads.lost);
    q["read_violations"] = static_cast<double>(reads.violations);
    q["read_episodes"] = static_cast<double>(reads.episodes);
    q["read_generation_us"] = reads.generation.microseconds();
    q["implied_nak_seq_err_off"] = pair.a.verbs.counter("implied_nak_seq_err") -
                                   static_cast<double>(reads.episodes);
    return q;
}

/// The receiver of lossy WRITEs tells the sender of loss as of congestion.
Quantities slow_restart(const std::string& card, std::span<const model::Override> overrides) {
    Pair pair(filtered(card, overrides));
    Filter& filter = pair.wire.filter();
    Flow flow(pair);
    pair.b.congestion().change(pair.kernel.now(), [](model::CongestionControl& control) {
        control.np.slow_restart = true;
    });
    pair.b.congestion().clear_statistics();
    // Far apart, so that no CNP falls into the interval of another.
    std::uint64_t packets = 0;
    filter.loses = [&](const Passed& passed) {
        return passed.payload_bytes > 0 && ++packets % 500 == 0;
    };
    const std::uint64_t counted = pair.b.congestion().slow_restart_cnps;
    for (int i = 0; i < 100; ++i) flow.post(SendOp::write, 64 * 1024);
    flow.complete(100);
    const WriteJudgement judged = judge_writes(filter.passed());
    const auto notifications = static_cast<double>(judged.notifications);
    return {{"per_nak", notifications / static_cast<double>(judged.naks)},
            {"naks", static_cast<double>(judged.naks)},
            {"counter_off",
             static_cast<double>(pair.b.congestion().slow_restart_cnps - counted) - notifications}};
}

/// Bytes of the wire around a middle packet of a WRITE, and rates of the shortest frames.
Quantities wire_arithmetic(std::span<const model::Override> overrides) {
    Pair pair(filtered("connectx5", overrides));
    Flow flow(pair);
    flow.post(SendOp::write, 3 * 1024);
    flow.complete(1);
    Quantities q;
    for (const Passed& passed : pair.wire.filter().passed()) {
        if (passed.headers.operation() != roce::Operation::write_middle) continue;
        q["overhead"] =
            eth::wire_bytes_of(passed.frame_bytes) - static_cast<double>(passed.payload_bytes);
    }
    struct Line {
        model::LinkMode mode;
        double millions;  // of 64-byte frames a second
    };
    double worst = 0;
    for (const Line& line :
         {Line{model::LinkMode::speed_10g, 14.88095}, Line{model::LinkMode::speed_25g, 37.20238},
          Line{model::LinkMode::speed_40g_4x, 59.52381},
          Line{model::LinkMode::speed_50g_2x, 74.40476},
          Line{model::LinkMode::speed_100g_4x, 148.80952},
          Line{model::LinkMode::speed_200g_4x, 297.61905},
          Line{model::LinkMode::speed_400g_4x, 595.2381}}) {
        const double rate = eth::facts_of(line.mode).rate.value / 8 / eth::wire_bytes_of(60) / 1e6;
        worst = std::max(worst, std::abs(100 * (rate / line.millions - 1)));
    }
    q["frames_off"] = worst;
    return q;
}

/// Every data packet is marked.
Quantities notifications(const std::string& card, std::span<const model::Override> overrides) {
    Pair pair(filtered(card, overrides));
    Filter& filter = pair.wire.filter();
    Flow flow(pair);
    filter.marks = [](const Passed& passed) { return passed.to_b && passed.payload_bytes > 0; };
    pair.b.congestion().clear_statistics();
    for (int i = 0; i < 4; ++i) flow.post(SendOp::write, 1 << 20);
    flow.complete(4);
    pair.kernel.run_for(model::microseconds(20));  // the last CNP
    const auto interval =
        model::microseconds(pair.b.congestion().np.min_time_between_cnps);
    std::uint64_t marks = 0;
    std::uint64_t expected = 0;
    std::uint64_t sent = 0;
    std::uint64_t early = 0;
    Picoseconds last = Picoseconds{} - interval - interval;
    Picoseconds last_sent = last;
    for (const Passed& passed : filter.passed()) {
        if (passed.marked) {
            ++marks;
            if (passed.at - last > interval) {
                ++expected;
                last = passed.at;
            }
        } else if (!passed.to_b && passed.headers.opcode == roce::kCnpOpcode) {
            ++sent;
            if (passed.at - last_sent < interval) ++early;
            last_sent = passed.at;
        }
    }
    const model::CongestionControl& counted = pair.b.congestion();
    return {{"interval_us", interval.microseconds()},
            {"marks", static_cast<double>(marks)},
            {"sent", static_cast<double>(sent)},
            {"expected_off", static_cast<double>(sent) - static_cast<double>(expected)},
            {"early", static_cast<double>(early)},
            {"np_cnp_sent_off",
             static_cast<double>(counted.cnps_sent) - static_cast<double>(sent)},
            {"np_ecn_marked_off",
             static_cast<double>(counted.ecn_marked_packets) - static_cast<double>(marks)}};
}

double distinct_requests(const std::vector<Passed>& passed) {
    std::vector<std::uint32_t> psns;
    for (const Passed& one : passed) {
        if (one.to_b) psns.push_back(one.headers.psn);
    }
    std::ranges::sort(psns);
    const auto doubled = std::ranges::unique(psns);
    return static_cast<double>(psns.size() - doubled.size());
}

/// What a queue pair sends to a peer that never answers.
Quantities windows(const std::string& card, std::span<const model::Override> overrides) {
    Pair pair(filtered(card, overrides));
    Filter& filter = pair.wire.filter();
    filter.loses = [](const Passed& passed) { return !passed.to_b; };
    Quantities q;
    Flow packets(pair);
    packets.post(SendOp::write, 1 << 20);
    pair.kernel.run_for(model::milliseconds(1));  // before any timer
    q["packets"] = distinct_requests(filter.passed());
    Flow requests(pair);
    filter.forget();
    for (int i = 0; i < 400; ++i) requests.post(SendOp::write, 8);
    // The first queue pair's timer may have fired: its packets are no small ones.
    pair.kernel.run_for(model::milliseconds(1));
    std::vector<Passed> small = filter.passed();
    std::erase_if(small, [](const Passed& passed) { return passed.payload_bytes != 8; });
    q["requests"] = distinct_requests(small);
    return q;
}

/// Milliseconds between the tries of a request that nobody answers.
std::vector<double> tries(Pair& pair, SendOp op, std::uint8_t timeout, Picoseconds time) {
    Filter& filter = pair.wire.filter();
    scenarios::ConnectionOptions connection;
    connection.ack_timeout = timeout;
    Flow flow(pair, connection);
    filter.loses = [](const Passed& passed) { return !passed.to_b; };
    filter.forget();
    flow.post(op, 8);
    pair.kernel.run_for(time);
    std::vector<double> intervals;
    Picoseconds last;
    for (const Passed& passed : filter.passed()) {
        if (!passed.to_b) continue;
        if (last != Picoseconds{}) intervals.push_back((passed.at - last).seconds() * 1e3);
        last = passed.at;
    }
    return intervals;
}

Quantities plain_timeout(std::span<const model::Override> overrides) {
    std::vector<model::Override> all(overrides.begin(), overrides.end());
    all.push_back({"timing.roce.adaptive_timers", "0"});
    Pair pair(filtered("connectx5", all));
    const auto intervals = tries(pair, SendOp::write, 14, model::milliseconds(300));
    return {{"first_ms", intervals.at(0)}, {"of_nominal", intervals.at(0) / 67.108864}};
}

Quantities adaptive_timeout(std::uint8_t timeout, std::span<const model::Override> overrides) {
    Pair pair(filtered("connectx5", overrides));
    const auto intervals = tries(pair, SendOp::read, timeout, model::milliseconds(100));
    Quantities q;
    for (std::size_t i = 0; i < 4; ++i) q["try" + std::to_string(i + 1) + "_ms"] = intervals.at(i);
    q["on"] = pair.a.card.data().timing().roce_adaptive_timers() != 0 ? 1 : 0;
    q["ratio"] = intervals.at(3) / intervals.at(2);
    return q;
}

/// A round trip of 30 ms.
Quantities long_haul(std::span<const model::Override> overrides) {
    PairOptions options = filtered("connectx5", overrides);
    options.wire.delay = model::microseconds(7500);
    Pair pair(options);
    scenarios::ConnectionOptions connection;
    connection.ack_timeout = 18;
    Flow flow(pair, connection);
    pair.wire.filter().forget();
    const Picoseconds start = pair.kernel.now();
    constexpr unsigned kMessages = 10;
    for (unsigned i = 0; i < kMessages; ++i) {
        flow.post(SendOp::write, 8);
        flow.complete(1);
    }
    const auto sent = std::ranges::count_if(pair.wire.filter().passed(),
                                            [](const Passed& passed) { return passed.to_b; });
    const double again = static_cast<double>(sent) - kMessages;
    return {{"every_ms", (pair.kernel.now() - start).seconds() * 1e3 / again}};
}

}  // namespace

void add_transport_cases(Cases& into) {
    for (const char* card : {"connectx4lx", "connectx5", "connectx6dx"}) {
        const std::string name = card;
        into["recovery_" + name] = [name](auto overrides) { return recovery(name, overrides); };
        into["notifications_" + name] = [name](auto overrides) {
            return notifications(name, overrides);
        };
        into["slow_restart_" + name] = [name](auto overrides) {
            return slow_restart(name, overrides);
        };
        into["windows_" + name] = [name](auto overrides) { return windows(name, overrides); };
    }
    into["plain_timeout"] = plain_timeout;
    into["adaptive_timeout_14"] = [](auto overrides) { return adaptive_timeout(14, overrides); };
    into["adaptive_timeout_18"] = [](auto overrides) { return adaptive_timeout(18, overrides); };
    into["long_haul"] = long_haul;
    into["wire_arithmetic"] = wire_arithmetic;
}

}  // namespace cxsim::calibration
