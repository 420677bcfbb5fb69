// SPDX-License-Identifier: Apache-2.0
#include "roce/congestion/notification_point.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using model::CnpScope;
using model::microseconds;
using model::nanoseconds;
using model::Picoseconds;
using roce::Gid;
using roce::NotificationPoint;

namespace {

Gid gid(std::uint32_t number) {
    Gid result{};
    result[10] = result[11] = std::byte{0xff};
    for (std::size_t i = 0; i < 4; ++i) {
        result[15 - i] = static_cast<std::byte>(number >> (8 * i) & 0xff);
    }
    return result;
}

struct Bench {
    bool marked(Picoseconds at, std::uint32_t from, std::uint32_t qp = 1, std::uint16_t port = 1) {
        const Gid source = gid(from);
        return point.marked(at, {source, own, qp, port, 3});
    }
    Gid own = gid(0x0a000001);
    model::CongestionControl control;
    NotificationPoint point{control};
};

}  // namespace

TEST_CASE("a CNP goes when more than the set time has passed since the one before",
          "[notification_point]") {
    Bench bench;
    CHECK(bench.marked(microseconds(1), 7));
    CHECK_FALSE(bench.marked(microseconds(2), 7));
    CHECK_FALSE(bench.marked(microseconds(5), 7));
    CHECK(bench.marked(microseconds(5) + model::picoseconds(1), 7));
    CHECK_FALSE(bench.marked(microseconds(9), 7));
    CHECK(bench.control.ecn_marked_packets == 5);
    CHECK(bench.control.cnps_sent == 2);
}

TEST_CASE("without a time between them each marked packet brings a CNP", "[notification_point]") {
    Bench bench;
    bench.control.np.min_time_between_cnps = 0;
    for (int i = 0; i < 10; ++i) CHECK(bench.marked(microseconds(1), 7));
    CHECK(bench.control.cnps_sent == 10);
}

TEST_CASE("who shares the time between CNPs is the scope", "[notification_point]") {
    struct Row {
        CnpScope scope;
        bool other_source, other_qp, other_port;  // brings a CNP of its own
    };
    for (const Row row : {Row{CnpScope::port, false, false, false},
                          Row{CnpScope::destination_ip, true, false, false},
                          Row{CnpScope::source_qp, true, true, false},
                          Row{CnpScope::five_tuple, true, false, true}}) {
        CAPTURE(static_cast<int>(row.scope));
        Bench bench;
        bench.control.np.scope = row.scope;
        REQUIRE(bench.marked(microseconds(1), 7, 1, 1));
        CHECK_FALSE(bench.marked(microseconds(1), 7, 1, 1));
        CHECK(bench.marked(microseconds(1), 8, 1, 1) == row.other_source);
        CHECK(bench.marked(microseconds(1), 7, 2, 1) == row.other_qp);
        CHECK(bench.marked(microseconds(1), 7, 1, 2) == row.other_port);
    }
}

TEST_CASE("a change of scope begins anew", "[notification_point]") {
    Bench bench;
    REQUIRE(bench.marked(microseconds(1), 7));
    bench.control.np.scope = CnpScope::destination_ip;
    CHECK(bench.marked(microseconds(1), 7));
    CHECK_FALSE(bench.marked(microseconds(1), 7));
}

TEST_CASE("more flows than there is room for forget the oldest, and it is counted",
          "[notification_point]") {
    Bench bench;
    bench.control.np.scope = CnpScope::destination_ip;
    bench.control.np.min_time_between_cnps = 1'000;
    constexpr std::uint32_t kFlows = 4 * NotificationPoint::kSets * NotificationPoint::kWays;
    for (std::uint32_t i = 0; i < kFlows; ++i) CHECK(bench.marked(nanoseconds(i), i));
    CHECK(bench.point.forgotten() == kFlows - NotificationPoint::kSets * NotificationPoint::kWays);
    CHECK(bench.point.forgotten() > kFlows / 2);
    // The latest ones are known.
    CHECK_FALSE(bench.marked(nanoseconds(kFlows), kFlows - 1));
    // Those whose time has passed make room without a loss.
    const auto before = bench.point.forgotten();
    for (std::uint32_t i = 0; i < 1000; ++i) {
        CHECK(bench.marked(microseconds(10'000 + 2'000 * i), kFlows + i));
    }
    CHECK(bench.point.forgotten() == before);
}

TEST_CASE("a priority that takes no part counts marks and sends nothing", "[notification_point]") {
    Bench bench;
    bench.control.notification_point_state[3].enable = false;
    CHECK_FALSE(bench.marked(microseconds(1), 7));
    CHECK(bench.control.ecn_marked_packets == 1);
    CHECK(bench.control.cnps_sent == 0);
    bench.control.notification_point_state[3].enable = true;
    CHECK(bench.marked(microseconds(1), 7));
}

TEST_CASE("a NAK brings a CNP where the card has slow restart, in the same time",
          "[notification_point]") {
    Bench bench;
    const Gid source = gid(7);
    const NotificationPoint::Packet packet{source, bench.own, 1, 1, 3};
    CHECK_FALSE(bench.point.lost(microseconds(1), packet));
    bench.control.np.slow_restart = true;
    CHECK(bench.point.lost(microseconds(1), packet));
    CHECK_FALSE(bench.point.lost(microseconds(2), packet));
    CHECK_FALSE(bench.marked(microseconds(2), 7));
    CHECK(bench.control.cnps_sent == 1);
    CHECK(bench.control.slow_restart_cnps == 1);
    CHECK(bench.control.ecn_marked_packets == 1);
    bench.control.notification_point_state[3].enable = false;
    CHECK_FALSE(bench.point.lost(microseconds(100), packet));
}

TEST_CASE("CNPs go with the priority and DSCP that were set", "[notification_point]") {
    Bench bench;
    CHECK(bench.point.cnp_dscp() == 48);
    CHECK(bench.point.cnp_priority(3) == 6);
    bench.control.np.cnp_prio_mode = 1;
    CHECK(bench.point.cnp_priority(3) == 3);
}
