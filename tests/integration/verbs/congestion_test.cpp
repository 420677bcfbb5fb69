// SPDX-License-Identifier: Apache-2.0
// Two senders, one receiver, a switch: marks, notifications, rates, and flow control by priority,
// with whole cards from WQE to wire.
#include "scenarios/driver/port_functions.h"
#include "tests/integration/verbs/verbs_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>

using namespace cxsim;
using namespace cxsim::scenarios;
using namespace cxsim::test;
using model::Bytes;
using model::microseconds;

namespace {

constexpr unsigned kSenders = 2;
constexpr unsigned kReceiver = kSenders;
constexpr std::uint64_t kBytes = 1 << 20;
constexpr std::uint8_t kPriority = 3;
constexpr std::uint8_t kMask = 1U << kPriority;
constexpr std::uint8_t kTrafficClass = 26 << 2;  // DSCP 26, of priority 3
constexpr std::uint8_t kCnpPriority = 6;
constexpr double kPortRate = 100e9;

NetworkSetup network(bool marks, bool lossless) {
    NetworkSetup setup;
    setup.delay = microseconds(1);
    eth::SwitchSettings& settings = setup.switch_settings;
    settings.trust_dscp = true;
    if (marks) settings.mark_all({Bytes{20'000}, Bytes{80'000}, 0.2});
    settings.shared_buffer = Bytes{1'000'000};
    settings.alpha = 0.125;
    if (lossless) {
        settings.lossless = kMask;
        settings.reserve = Bytes{4'096};
        settings.headroom = Bytes{60'000};
        settings.resume_offset = Bytes{3'072};
    } else {
        setup.queue_limit = Bytes{100'000};
    }
    return setup;
}

/// Each sender has one WRITE of kBytes under way to a place of its own.
struct Incast : VerbsBench {
    explicit Incast(const NetworkSetup& setup, bool cards_obey = true,
                    std::uint8_t eth_priority = kPriority, bool trust_dscp = false)
        : VerbsBench(kSenders + 1, "connectx5", setup) {
        if (cards_obey) {
            for (auto& one : stations) set_priorities(one->driver, {kMask, trust_dscp, {}});
        }
        VerbsDriver& receiver = verbs(kReceiver);
        target = &receiver.create_mr(receiver.pd(), kSenders * kBytes);
        VerbsCq& receiver_cq = receiver.create_cq(16);
        ConnectionOptions connection;
        connection.path.traffic_class = kTrafficClass;
        connection.path.priority = eth_priority;
        for (unsigned i = 0; i < kSenders; ++i) {
            VerbsDriver& sender = verbs(i);
            sources[i] = &sender.create_mr(sender.pd(), kBytes);
            fill_pattern(sources[i]->bytes(), i + 1);
            cqs[i] = &sender.create_cq(16);
            qps[i] = &sender.create_qp(sender.pd(), *cqs[i], *cqs[i], {});
            VerbsQp& peer =
                receiver.create_qp(receiver.pd(), receiver_cq, receiver_cq, {});
            connect(*qps[i], sender, peer, receiver, connection);
        }
    }
    void start() {
        for (unsigned i = 0; i < kSenders; ++i) {
            const Sge piece = sources[i]->sge(0, kBytes);
            REQUIRE(qps[i]->post_send({.op = SendOp::write,
                                       .sges = {&piece, 1},
                                       .remote_address = target->address() + i * kBytes,
                                       .rkey = target->rkey()}));
        }
    }
    /// Until both are there; looks at the rates every 5 us.
    void run() {
        start();
        std::array<bool, kSenders> done{};
        for (int i = 0; i < 4'000 && !(done[0] && done[1]); ++i) {
            kernel.run_for(microseconds(5));
            for (unsigned k = 0; k < kSenders; ++k) {
                lowest[k] = std::min(lowest[k], rate(k));
                Completion completion;
                if (!cqs[k]->poll(completion)) continue;
                REQUIRE(completion.ok());
                done[k] = true;
            }
        }
        REQUIRE((done[0] && done[1]));
        for (unsigned k = 0; k < kSenders; ++k) {
            CHECK(std::ranges::equal(sources[k]->bytes(),
                                     target->bytes().subspan(k * kBytes, kBytes)));
        }
        kernel.run_for(microseconds(20));  // what is still under way
    }
    double rate(unsigned i) {
        return station(i).card.transport().rate_of(qps[i]->number()).value().value;
    }
    const model::CongestionControl& congestion(unsigned i) {
        return station(i).function().congestion;
    }
    eth::Switch& fabric() { return *network.fabric(); }
    std::uint64_t restarts(unsigned i) {
        auto counters = verbs(i).counters();
        return counters["packet_seq_err"] + counters["local_ack_timeout_err"] +
               counters["roce_adp_retrans"];
    }

    VerbsMr* target = nullptr;
    std::array<VerbsMr*, kSenders> sources{};
    std::array<VerbsCq*, kSenders> cqs{};
    std::array<VerbsQp*, kSenders> qps{};
    std::array<double, kSenders> lowest{kPortRate, kPortRate};
};

}  // namespace

TEST_CASE("marked packets bring notifications, rates fall and recover", "[congestion]") {
    Incast bench(network(true, true));
    for (unsigned i = 0; i < kSenders; ++i) {
        set_congestion_parameters(bench.station(i).driver,
                                  {{"rpg_ai_rate", 1'000}, {"rpg_hai_rate", 10'000}});
        CHECK(congestion_parameters(bench.station(i).driver).at("rpg_ai_rate") == 1'000);
    }
    bench.run();
    const model::CongestionControl& receiver = bench.congestion(kReceiver);
    const eth::SwitchCounters& fabric = bench.fabric().counters();
    CHECK(fabric.marked.value() > 0);
    CHECK(receiver.ecn_marked_packets == fabric.marked.value());
    CHECK(receiver.cnps_sent > 0);
    // At most one in min_time_between_cnps.
    CHECK(receiver.cnps_sent < receiver.ecn_marked_packets);
    std::uint64_t handled = 0;
    for (unsigned i = 0; i < kSenders; ++i) {
        CAPTURE(i);
        CHECK(bench.congestion(i).cnps_handled > 0);
        CHECK(bench.congestion(i).cnps_ignored == 0);
        CHECK(bench.congestion(i).cnps_sent == 0);
        handled += bench.congestion(i).cnps_handled;
        CHECK(bench.lowest[i] <= kPortRate / 2 * 1.001);
        CHECK(bench.restarts(i) == 0);
        // Notifications travel in a priority of their own.
        CHECK(bench.fabric().port(i).port_counters().tx_prio_frames[kCnpPriority].value() ==
              bench.congestion(i).cnps_handled);
    }
    CHECK(handled == receiver.cnps_sent);
    const auto out = bench.station(kReceiver).driver.command("QUERY_CONG_STATISTICS");
    CHECK(out.at("np_cnp_sent_low") == receiver.cnps_sent);
    CHECK(out.at("np_ecn_marked_roce_packets_low") == receiver.ecn_marked_packets);
    double before = 0;
    for (int i = 0; i < 40 && bench.rate(0) < kPortRate; ++i) {
        CHECK(bench.rate(0) >= before);
        before = bench.rate(0);
        bench.kernel.run_for(microseconds(300));
    }
    CHECK(bench.rate(0) == kPortRate);
    CHECK(bench.congestion(0).limited_flows == 0);
}

TEST_CASE("without marks nobody notifies: flow control alone keeps the packets", "[congestion]") {
    Incast bench(network(false, true));
    bench.run();
    CHECK(bench.congestion(kReceiver).ecn_marked_packets == 0);
    CHECK(bench.congestion(kReceiver).cnps_sent == 0);
    const eth::SwitchCounters& fabric = bench.fabric().counters();
    CHECK(fabric.pauses_sent.value() >= kSenders);
    CHECK(fabric.pauses_sent.value() == fabric.resumes_sent.value());
    CHECK(fabric.dropped_buffer_full.value() == 0);
    CHECK(fabric.dropped_queue_full.value() == 0);
    for (unsigned i = 0; i < kSenders; ++i) {
        CHECK(bench.lowest[i] == kPortRate);
        CHECK(bench.congestion(i).cnps_handled == 0);
        CHECK(bench.restarts(i) == 0);
        eth::PortCounters& port = bench.station(i).card.port().port_counters();
        CHECK(port.rx_prio_pause_transition[kPriority].value() > 0);
        CHECK(port.tx_prio_frames[kPriority].value() >= kBytes / 1024);
    }
}

TEST_CASE("a sender whose priority takes no part ignores notifications", "[congestion]") {
    Incast bench(network(true, true));
    for (unsigned i = 0; i < kSenders; ++i) {
        Driver& driver = bench.station(i).driver;
        CHECK(congestion_status(driver, kPriority).reaction_point);
        set_congestion_status(driver, kPriority, {.reaction_point = false});
        CHECK_FALSE(congestion_status(driver, kPriority).reaction_point);
        CHECK(congestion_status(driver, kPriority).notification_point);
    }
    bench.run();
    CHECK(bench.congestion(kReceiver).cnps_sent > 0);
    std::uint64_t ignored = 0;
    for (unsigned i = 0; i < kSenders; ++i) {
        CHECK(bench.congestion(i).cnps_handled == 0);
        ignored += bench.congestion(i).cnps_ignored;
        CHECK(bench.lowest[i] == kPortRate);
    }
    CHECK(ignored == bench.congestion(kReceiver).cnps_sent);
}

TEST_CASE("a receiver whose priority takes no part counts marks and notifies nobody",
          "[congestion]") {
    Incast bench(network(true, true));
    set_congestion_status(bench.station(kReceiver).driver, kPriority,
                          {.notification_point = false});
    bench.run();
    CHECK(bench.congestion(kReceiver).ecn_marked_packets > 0);
    CHECK(bench.congestion(kReceiver).cnps_sent == 0);
    for (unsigned i = 0; i < kSenders; ++i) CHECK(bench.lowest[i] == kPortRate);
}

TEST_CASE("a port that trusts DSCPs sends RoCE in the priority of its DSCP and obeys its pauses",
          "[congestion]") {
    Incast bench(network(false, true), true, 0, true);
    bench.run();
    const eth::SwitchCounters& fabric = bench.fabric().counters();
    CHECK(fabric.pauses_sent.value() >= kSenders);
    CHECK(fabric.dropped_buffer_full.value() == 0);
    for (unsigned i = 0; i < kSenders; ++i) {
        eth::PortCounters& port = bench.station(i).card.port().port_counters();
        CHECK(port.rx_prio_pause_transition[kPriority].value() > 0);
        CHECK(port.tx_prio_frames[kPriority].value() >= kBytes / 1024);
        CHECK(port.tx_prio_frames[0].value() < 100);
    }
    // The receiver's port counts by the same rule.
    CHECK(bench.station(kReceiver).card.port().port_counters().rx_prio_frames[kPriority].value() >=
          kSenders * kBytes / 1024);
}

TEST_CASE("without flow control packets are lost, sent again, and all is there in the end",
          "[congestion]") {
    Incast bench(network(false, false), false);
    bench.run();
    const eth::SwitchCounters& fabric = bench.fabric().counters();
    CHECK(fabric.dropped_queue_full.value() + fabric.dropped_buffer_full.value() > 0);
    CHECK(fabric.pauses_sent.value() == 0);
    CHECK(bench.restarts(0) + bench.restarts(1) > 0);
}

TEST_CASE("ports offer the speed that the switch allows", "[congestion]") {
    NetworkSetup setup = network(false, true);
    setup.switch_settings.modes = model::mask_of(model::LinkMode::speed_25g);
    VerbsBench bench(2 + 1, "connectx5", setup);
    CHECK(bench.station(0).card.port().status().rate.value == 25e9);
    CHECK(bench.network.port_of(bench.station(2).card) == 2);
}

TEST_CASE("settings of a switch that contradict themselves are refused", "[congestion]") {
    NetworkSetup setup = network(true, true);
    setup.switch_settings.xoff = Bytes{1};
    CHECK_THROWS_AS(VerbsBench(3, "connectx5", setup), std::runtime_error);
}

TEST_CASE("registers and parameters by name are refused where they do not exist",
          "[congestion]") {
    VerbsBench bench(1);
    Driver& driver = bench.station(0).driver;
    CHECK(access_register(driver, "PFCC", {}, false).at("pptx") == 1);
    CHECK_THROWS_AS(access_register(driver, "NONE", {}, false), DriverError);
    CHECK_THROWS_AS(access_register(driver, "PFCC", {{"none", 1}}, false), DriverError);
    CHECK_THROWS_AS(set_congestion_parameters(driver, {{"none", 1}}), DriverError);
    CHECK_THROWS_AS(set_congestion_parameters(driver, {{"rpg_threshold", 32}}), CommandFailed);
    CHECK_THROWS_AS(set_congestion_parameters(driver, {{"cnp_dscp", 64}}), DriverError);
    CHECK_THROWS_AS(set_priorities(driver, {.priority_of_dscp = {{64, 0}}}), DriverError);
    CHECK_THROWS_AS(set_priorities(driver, {.priority_of_dscp = {{1, 8}}}), DriverError);
    set_priorities(driver, {.lossless = kMask, .trust_dscp = true, .priority_of_dscp = {{1, 5}}});
    CHECK(access_register(driver, "QPTS", {}, false).at("trust_state") == 2);
    CHECK(access_register(driver, "PFCC", {}, false).at("pfctx") == kMask);
    const auto map = access_register(driver, "QPDPM", {}, false);
    CHECK(map.at("dscp").at(1).at("prio") == 5);
}
