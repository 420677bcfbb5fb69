// SPDX-License-Identifier: Apache-2.0
// What perftest and its like do, with perftest's conventions: half a round trip of WRITE and SEND
// through memory polling, whole ones of READ and atomics; the programs themselves take no time.
#pragma once

#include "tests/perf/calibration/pair.h"

#include <cstdint>
#include <vector>

namespace cxsim::calibration {

struct Times {
    double min = 0;  ///< microseconds
    double typical = 0;
    double average = 0;
    double p99 = 0;
    double p999 = 0;
};

struct LatencyCase {
    scenarios::SendOp op = scenarios::SendOp::write;
    std::uint32_t bytes = 8;
    std::uint32_t mtu = 1024;
    bool inlined = true;     ///< where the operation can
    bool blue_flame = true;  ///< as libraries ring single requests
    unsigned rounds = 1000;
};
Times latency(Pair& pair, const LatencyCase& which);

struct RateCase {
    scenarios::SendOp op = scenarios::SendOp::write;
    std::uint32_t bytes = 8;
    unsigned qps = 1;
    unsigned outstanding = 128;  ///< of each QP
    unsigned signal_every = 1;   ///< requests to a completion
    std::uint32_t mtu = 1024;
    bool inlined = false;
    bool blue_flame = false;   ///< a single request is written into the UAR
    bool one_address = false;  ///< of all remote accesses
    model::Picoseconds warm_up = model::microseconds(200);
    model::Picoseconds window = model::milliseconds(1);
};
/// Operations a second of a, completed.
double rate(Pair& pair, const RateCase& which);

/// Half a round trip of a 60-byte Ethernet frame, in nanoseconds, between programs that bypass the
/// kernel.
double ethernet_half_round_trip(const PairOptions& options);

}  // namespace cxsim::calibration
