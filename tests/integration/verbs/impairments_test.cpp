// SPDX-License-Identifier: Apache-2.0
// Impairments of the testbed's cables: on the named card's cable and direction only, between two
// cards and at a switch; what cannot be had is refused.
#include "tests/integration/verbs/verbs_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace cxsim;
using namespace cxsim::scenarios;
using namespace cxsim::test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Writes 64 KiB from card 0 to the last one; true if they arrived.
bool writes(VerbsBench& bench) {
    VerbsDriver& from = bench.verbs(0);
    VerbsDriver& to = bench.verbs(static_cast<unsigned>(bench.stations.size() - 1));
    constexpr std::uint64_t kBytes = 1 << 16;
    VerbsMr& source = from.create_mr(from.pd(), kBytes);
    VerbsMr& target = to.create_mr(to.pd(), kBytes);
    VerbsCq& cq = from.create_cq(64);
    VerbsQp& qp = from.create_qp(from.pd(), cq, cq, {});
    VerbsCq& other_cq = to.create_cq(64);
    VerbsQp& other = to.create_qp(to.pd(), other_cq, other_cq, {});
    connect(qp, from, other, to, {}, VerbsDriver::kIpv4V2);
    fill_pattern(source.bytes(), 7);
    SendRequest request;
    const Sge piece = source.sge(0, kBytes);
    request.op = SendOp::write;
    request.sges = {&piece, 1};
    request.remote_address = target.address();
    request.rkey = target.rkey();
    if (!qp.post_send(request)) return false;
    Completion done;
    return cq.wait(done, model::seconds(5)) && done.ok() &&
           std::ranges::equal(source.bytes(), target.bytes());
}

std::uint64_t count(VerbsBench& bench, std::string_view name) {
    std::uint64_t sum = 0;
    bench.network.statistics().visit([&](const std::string& path, const model::stats::Counter& each) {
        if (path.ends_with(name)) sum += each.value();
    });
    return sum;
}

NetworkSetup impaired(Topology topology) {
    NetworkSetup setup;
    setup.topology = topology;
    setup.impairments.emplace();
    return setup;
}

TEST_CASE("a cable's losses are of the named card and direction", "[network][impairments]") {
    VerbsBench bench(2, "connectx5", impaired(Topology::link));
    CHECK(writes(bench));
    // Card 1 lies at the impairer's port 1.
    bench.network.impair(bench.station(1).card, {.loss = 0.1}, {});
    CHECK(writes(bench));
    CHECK(count(bench, "lost_for_port1") > 0);
    CHECK(count(bench, "lost_for_port0") == 0);
    const std::uint64_t lost = count(bench, "lost_for_port1");
    bench.network.impair(bench.station(0).card, {.duplicate = 1}, {});
    CHECK(writes(bench));
    CHECK(count(bench, "duplicated_for_port0") > 0);
    CHECK(count(bench, "duplicated_for_port1") == 0);
    CHECK(count(bench, "lost_for_port1") == lost);
    CHECK_THROWS_AS(bench.network.impair(bench.station(0).card, {.loss = 1.5}, {}),
                    std::invalid_argument);
    // Each card sees what goes towards it and what comes from it.
    bench.network.impair(bench.station(1).card, {.loss = 0.2}, {.reorder = 0.3});
    for (const unsigned card : {0U, 1U}) {
        const auto impaired = bench.network.impairments(bench.station(card).card);
        REQUIRE(impaired);
        CHECK((card == 1 ? impaired->towards : impaired->from).loss == 0.2);
        CHECK((card == 1 ? impaired->from : impaired->towards).reorder == 0.3);
        CHECK((card == 1 ? impaired->towards : impaired->from).reorder == 0);
    }
}

TEST_CASE("at a switch each card's cable has an impairer", "[network][impairments]") {
    VerbsBench bench(3, "connectx5", impaired(Topology::switched));
    CHECK(writes(bench));
    bench.network.impair(bench.station(2).card, {.duplicate = 1}, {});
    const std::uint64_t before = count(bench, "impairer2.received_for_port0");
    CHECK(writes(bench));
    CHECK(before > 0);
    CHECK(count(bench, "impairer2.duplicated_for_port0") ==
          count(bench, "impairer2.received_for_port0") - before);
    CHECK(count(bench, "impairer0.duplicated_for_port0") == 0);
    CHECK(count(bench, "impairer1.duplicated_for_port0") == 0);
}

TEST_CASE("a network without impairments cannot be impaired", "[network][impairments]") {
    VerbsBench bench(2);
    CHECK_THROWS_AS(bench.network.impair(bench.station(0).card, {}, {}), std::runtime_error);
    CHECK_FALSE(bench.network.impairments(bench.station(0).card));
}

TEST_CASE("impairments without a cable are refused", "[network][impairments]") {
    CHECK_THROWS_AS(VerbsBench(1, "connectx5", impaired(Topology::automatic)), std::runtime_error);
}

TEST_CASE("impairments of lossless priorities are refused", "[network][impairments]") {
    NetworkSetup lossless = impaired(Topology::switched);
    lossless.switch_settings.lossless = 8;
    lossless.switch_settings.shared_buffer = model::Bytes{1'000'000};
    lossless.switch_settings.xoff = model::Bytes{100'000};
    lossless.switch_settings.xon = model::Bytes{50'000};
    CHECK_THROWS_WITH(VerbsBench(2, "connectx5", lossless), ContainsSubstring("pause"));
}

TEST_CASE("impairments by name", "[network][impairments]") {
    const std::vector<std::string> all{"loss=1e-3", "duplicate=0.5", "reorder=1", "corrupt=0",
                                       "reorder_time=20us"};
    const eth::Impairments parsed = parse_impairments(all);
    CHECK(parsed.loss == 1e-3);
    CHECK(parsed.duplicate == 0.5);
    CHECK(parsed.reorder == 1);
    CHECK(parsed.corrupt == 0);
    CHECK(parsed.reorder_time == model::microseconds(20));
    for (const char* wrong : {"loss", "loss=", "loss=x", "loss=1x", "loss=2", "loss=-1", "los=0.1",
                              "reorder_time=5", "reorder_time=", "=1", ""}) {
        CAPTURE(wrong);
        const std::vector<std::string> one{wrong};
        CHECK_THROWS(parse_impairments(one));
    }
}

}  // namespace
