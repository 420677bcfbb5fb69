// SPDX-License-Identifier: Apache-2.0
#include "tests/perf/calibration/cases.h"

#include "eth/link/link_mode.h"
#include "tests/perf/calibration/traffic.h"

namespace cxsim::calibration {

using scenarios::SendOp;

namespace {

using Cases = std::map<std::string, Measure, std::less<>>;

/// Desktop processor of 5.5 GHz, card in a slot of eight lanes, the other card on a short cable.
PairOptions baseline() {
    PairOptions options;
    options.host = "zen4_5500mhz";
    options.overrides = {lanes(8)};
    return options;
}

/// Servers at a switch.
PairOptions servers() {
    PairOptions options;
    options.wire.between = Between::network_switch;
    return options;
}

PairOptions with(PairOptions options, std::span<const model::Override> overrides) {
    options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
    return options;
}

void add(Cases& into, const std::string& name, const PairOptions& options,
         std::function<Quantities(Pair&)> measure) {
    into[name] = [options, measure](std::span<const model::Override> overrides) {
        Pair pair(with(options, overrides));
        return measure(pair);
    };
}

Quantities all(const Times& times) {
    return {{"min", times.min}, {"typical", times.typical}, {"average", times.average},
            {"p99", times.p99}, {"p999", times.p999}};
}

void add_rates(Cases& into, const std::string& name, const PairOptions& options,
               const RateCase& which) {
    add(into, name, options, [which](Pair& pair) {
        const double per_second = rate(pair, which);
        return Quantities{{"mops", per_second / 1e6},
                          {"gbps", per_second * which.bytes * 8 / 1e9},
                          {"mib", per_second * which.bytes / (1 << 20)}};
    });
}

}  // namespace

void add_latency_cases(Cases& into) {
    constexpr unsigned kForTails = 50000;
    add(into, "write_lat_cable", baseline(),
        [](Pair& pair) { return all(latency(pair, {.rounds = kForTails})); });
    add(into, "send_lat_cable", baseline(), [](Pair& pair) {
        return all(latency(pair, {.op = SendOp::send, .rounds = kForTails}));
    });
    add(into, "write_lat_switch", servers(),
        [](Pair& pair) { return all(latency(pair, {.bytes = 2})); });
    add(into, "read_lat_switch", servers(),
        [](Pair& pair) { return all(latency(pair, {.op = SendOp::read, .bytes = 2})); });
    add(into, "write_lat_doorbell", servers(),
        [](Pair& pair) { return all(latency(pair, {.bytes = 2, .blue_flame = false})); });
    PairOptions newer = baseline();
    newer.card = "connectx6dx";
    newer.overrides = {};
    add(into, "write_lat_cable_cx6dx", newer,
        [](Pair& pair) { return all(latency(pair, {.bytes = 2})); });
    for (const bool at_switch : {false, true}) {
        PairOptions options;
        options.host = baseline().host;  // the source does not name its machines
        options.wire.modes = model::mask_of(model::LinkMode::speed_40g_4x);
        if (at_switch) options.wire.between = Between::network_switch;
        into[at_switch ? "ethernet_switch" : "ethernet_cable"] =
            [options](std::span<const model::Override> overrides) {
                return Quantities{
                    {"half_ns", ethernet_half_round_trip(with(options, overrides))}};
            };
    }
}

void add_rate_cases(Cases& into) {
    // Bandwidth: perftest's depth of 128, a completion for every 100 requests.
    const RateCase bandwidth{.bytes = 65536, .signal_every = 100,
                             .warm_up = model::milliseconds(2), .window = model::milliseconds(10)};
    RateCase sends = bandwidth;
    sends.op = SendOp::send;
    add_rates(into, "write_bw", servers(), bandwidth);
    add_rates(into, "send_bw", servers(), sends);
    for (const unsigned mtu : {256U, 512U, 1024U, 2048U, 4096U}) {
        RateCase which = bandwidth;
        which.mtu = mtu;
        add_rates(into, "ceiling_" + std::to_string(mtu), PairOptions{}, which);
    }
    PairOptions fastest;
    fastest.card = "connectx7";
    fastest.host = "sapphire_rapids";
    fastest.max_payload = 512;
    RateCase large = bandwidth;
    large.mtu = 4096;
    add_rates(into, "ceiling_4096_400g", fastest, large);
    PairOptions slowest;
    slowest.card = "connectx4lx";
    large.warm_up = model::milliseconds(5);
    large.window = model::milliseconds(30);
    add_rates(into, "ceiling_4096_25g", slowest, large);
    for (const unsigned payload : {256U, 512U}) {
        PairOptions narrow;
        narrow.overrides = {lanes(8)};
        narrow.max_payload = payload;
        add_rates(into, "write_bw_x8_mps" + std::to_string(payload), narrow, bandwidth);
    }
    // Message rates.
    const RateCase small{.inlined = true};
    for (const unsigned qps : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 12U}) {
        RateCase which = small;
        which.qps = qps;
        which.outstanding = 372;
        add_rates(into, "message_rate_" + std::to_string(qps), servers(), which);
    }
    PairOptions newer = servers();
    newer.card = "connectx6dx";
    RateCase one = small;
    one.outstanding = 372;
    add_rates(into, "message_rate_1_cx6dx", newer, one);
    struct Kind {
        const char* name;
        SendOp op;
    };
    for (const Kind kind : {Kind{"write", SendOp::write}, Kind{"read", SendOp::read},
                            Kind{"cas", SendOp::compare_swap}}) {
        for (const unsigned outstanding : {24U, 96U, 168U, 384U}) {
            RateCase which = small;
            which.op = kind.op;
            which.qps = 24;
            which.outstanding = outstanding / 24;
            which.inlined = kind.op == SendOp::write;
            which.blue_flame = true;  // libraries ring so for single requests
            add_rates(into, std::string(kind.name) + "_" + std::to_string(outstanding), servers(),
                      which);
        }
    }
    RateCase atomic{.op = SendOp::fetch_add, .outstanding = 16};
    add_rates(into, "atomic_bw", servers(), atomic);
    atomic.op = SendOp::compare_swap;
    add_rates(into, "atomic_one_qp", servers(), atomic);
    atomic.qps = 24;
    atomic.one_address = true;
    add_rates(into, "atomic_one_address", servers(), atomic);
}

const Cases& cases() {
    static const Cases made = [] {
        Cases all;
        add_latency_cases(all);
        add_rate_cases(all);
        add_cache_cases(all);
        add_pcie_cases(all);
        add_transport_cases(all);
        return all;
    }();
    return made;
}

}  // namespace cxsim::calibration
