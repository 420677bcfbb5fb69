// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/prm_tools/recording_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>

using namespace cxsim;
using namespace cxsim::test;
using Catch::Matchers::ContainsSubstring;
using scenarios::Difference;
using scenarios::parse_recording;

namespace {

void check_round_trip(const std::string& model) {
    model::Kernel kernel;
    Plugged first(kernel, "first", model);
    Plugged second(kernel, "second", model);
    const auto recording = parse_recording(record_bring_up(first), "bring-up");
    CHECK(recording.header.card == model);
    CHECK(recording.blocks.size() > 70);
    const auto result = replay(second, recording);
    for (const Difference& difference : result.differences) UNSCOPED_INFO(difference.text());
    CHECK(result.same());
    CHECK(result.skipped.empty());
    CHECK(result.commands >= 70);
    CHECK(second.card.firmware().function(model::FunctionId{0}).resources().total() == 0);
    CHECK(second.card.firmware().function(model::FunctionId{0}).pages().held() == 0);
}

const Difference* find(const scenarios::ReplayResult& result, std::string_view member) {
    const auto place = std::ranges::find(result.differences, member, &Difference::member);
    return place == result.differences.end() ? nullptr : &*place;
}

}  // namespace

TEST_CASE("a ConnectX-4 Lx replays its own bring-up without difference", "[replay]") {
    check_round_trip("connectx4lx");
}

TEST_CASE("a ConnectX-5 replays its own bring-up without difference", "[replay]") {
    check_round_trip("connectx5");
}

TEST_CASE("a ConnectX-6 Dx replays its own bring-up without difference", "[replay]") {
    check_round_trip("connectx6dx");
}

TEST_CASE("a ConnectX-7 replays its own bring-up without difference", "[replay]") {
    check_round_trip("connectx7");
}

TEST_CASE("two runs of a driver give the same text apart from comments", "[record]") {
    model::Kernel kernel;
    Plugged first(kernel, "first", "connectx5");
    Plugged second(kernel, "second", "connectx5");
    const std::string one = record_bring_up(first);
    const std::string two = record_bring_up(second);
    CHECK(one != two);  // the times
    CHECK(without_comments(one) == without_comments(two));
    CHECK_THAT(one, ContainsSubstring("out cqn = $cq1"));
    CHECK_THAT(one, ContainsSubstring("in ctx.cqn = $cq1"));
    CHECK_THAT(one, ContainsSubstring("in flow_context.destination[0].destination_id = $tir1"));
    CHECK_THAT(one, ContainsSubstring("in pas = $buf1[16]"));
    CHECK_THAT(one, ContainsSubstring("in cq_context.dbr_addr = $page1"));
    CHECK_THAT(one, ContainsSubstring("in ctx.wq.dbr_addr = $page1+0x40"));
    CHECK_THAT(one, ContainsSubstring("in driver_version = \"cxsim,in-process,1\""));
}

TEST_CASE("a changed capability is named, in the result and in JUnit", "[replay]") {
    model::Kernel kernel;
    Plugged first(kernel, "first", "connectx5");
    Plugged second(kernel, "second", "connectx5", {{"capabilities.cmd_hca_cap.log_max_pd", "21"}});
    const auto recording = parse_recording(record_bring_up(first), "bring-up");
    const auto result = replay(second, recording);
    CHECK_FALSE(result.same());
    const Difference* difference = find(result, "capability.cmd_hca_cap.log_max_pd");
    REQUIRE(difference != nullptr);
    CHECK(difference->name == "QUERY_HCA_CAP");
    CHECK(difference->got == "0x15");
    CHECK(difference->expected != difference->got);
    CHECK(difference->command > 0);
    CHECK(difference->line > 0);
    const std::string xml = scenarios::junit(recording, "bring-up", result, 1.5);
    CHECK_THAT(xml, ContainsSubstring("<testsuite name=\"bring-up\""));
    CHECK_THAT(xml, ContainsSubstring("capability.cmd_hca_cap.log_max_pd: expected " +
                                      difference->expected + ", got 0x15"));
    // One failing case for each command that differs, as many failures as differences.
    std::size_t failures = 0;
    for (std::size_t at = xml.find("<failure"); at != xml.npos; at = xml.find("<failure", at + 1)) {
        ++failures;
    }
    CHECK(failures == result.differences.size());
    CHECK_THAT(xml, ContainsSubstring("skipped=\"0\""));
}

TEST_CASE("a command that is refused where it was not brings down what needs its object",
          "[replay]") {
    model::Kernel kernel;
    Plugged first(kernel, "first", "connectx5");
    // No completion queue is large enough for this card.
    Plugged second(kernel, "second", "connectx5",
                   {{"capabilities.cmd_hca_cap.log_max_cq_sz", "3"}});
    const auto recording = parse_recording(record_bring_up(first), "bring-up");
    const auto result = replay(second, recording);
    const auto refused = std::ranges::find_if(result.differences, [](const Difference& d) {
        return d.name == "CREATE_CQ" && d.member == "status";
    });
    REQUIRE(refused != result.differences.end());
    CHECK(refused->expected == "OK");
    CHECK(refused->got == "BAD_PARAM");
    CHECK_FALSE(result.skipped.empty());
    CHECK(std::ranges::all_of(result.skipped, &scenarios::ReplayResult::Skipped::consequence));
    CHECK(std::ranges::any_of(result.skipped, [](const auto& skip) {
        return skip.name == "CREATE_SQ" && skip.reason.find("$cq1") != std::string::npos;
    }));
}

TEST_CASE("a recorded syndrome and output that the card does not give are named", "[replay]") {
    model::Kernel kernel;
    Plugged first(kernel, "first", "connectx5");
    Plugged second(kernel, "second", "connectx5");
    std::string text = record(first, [](scenarios::Host& host) {
        scenarios::Driver driver(host);
        driver.start();
        CHECK_THROWS(driver.command("QUERY_HCA_CAP", {{"op_mod", 0x7ff << 1}}));
        driver.command("QUERY_ISSI");
        driver.stop();
    });
    const auto change = [&](const std::string& from, const std::string& to) {
        const std::size_t at = text.rfind(from);
        REQUIRE(at != text.npos);
        text.replace(at, from.size(), to);
    };
    change("syndrome 0x5add95", "syndrome 0x123");
    change("supported_issi_dw0 = 0x3", "supported_issi_dw0 = 0x7");
    const auto result = replay(second, parse_recording(text, "changed"));
    REQUIRE(result.differences.size() == 2);
    CHECK(result.differences[0].member == "syndrome");
    CHECK(result.differences[0].expected == "0x123");
    CHECK(result.differences[0].got == "0x5add95");
    CHECK(result.differences[1].member == "supported_issi_dw0");
    CHECK(result.differences[1].expected == "0x7");
    CHECK(result.differences[1].got == "0x3");
}

TEST_CASE("page requests are recorded and come again in a replay", "[replay]") {
    const std::vector<model::Override> tight = {{"timing.pages.boot", "4"},
                                                {"timing.pages.init", "8"},
                                                {"timing.pages.low_water", "6"},
                                                {"timing.pages.high_water", "20"}};
    model::Kernel kernel;
    Plugged first(kernel, "first", "connectx5", tight);
    Plugged second(kernel, "second", "connectx5", tight);
    const std::string text = record(first, [](scenarios::Host& host) {
        scenarios::Driver driver(host);
        driver.start();
        driver.open_events();
        for (int i = 0; i < 400; ++i) {
            driver.run<prm::create_mkey_in, prm::create_mkey_out>(
                prm::Opcode::CREATE_MKEY, [](auto in) {
                    in.template set<prm::create_mkey_in::memory_key_mkey_entry, prm::mkc::length64>(
                        1U);
                });
        }
        CHECK(driver.page_requests() > 0);
    });
    CHECK_THAT(text, ContainsSubstring("event PAGE_REQUEST $eq3"));
    const auto result = replay(second, parse_recording(text, "pages"));
    for (const Difference& difference : result.differences) UNSCOPED_INFO(difference.text());
    CHECK(result.same());
    CHECK(result.events > 0);
}

TEST_CASE("resets are recorded and replayed", "[replay]") {
    model::Kernel kernel;
    Plugged first(kernel, "first", "connectx5");
    Plugged second(kernel, "second", "connectx5");
    const std::string text = record(first, [](scenarios::Host& host) {
        scenarios::Driver driver(host);
        scenarios::BringUp bring_up(driver);
        bring_up.up();
        host.function_level_reset();
        bring_up.abandon();
        bring_up.up();
        host.hot_reset();
        bring_up.abandon();
        bring_up.up();
        bring_up.down();
    });
    CHECK_THAT(text, ContainsSubstring("\nreset function_level\n"));
    CHECK_THAT(text, ContainsSubstring("\nreset conventional\n"));
    const auto result = replay(second, parse_recording(text, "resets"));
    for (const Difference& difference : result.differences) UNSCOPED_INFO(difference.text());
    CHECK(result.same());
    CHECK(second.card.endpoint().statistics().function_level_resets == 1);
}

TEST_CASE("the recordings of guests replay without difference", "[replay][guest]") {
    const char* folder = CXSIM_RECORDINGS;
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".rec") paths.push_back(entry.path().string());
    }
    std::ranges::sort(paths);
    if (paths.empty()) SKIP("no recordings in " << folder);
    model::Kernel kernel;
    std::vector<std::unique_ptr<Plugged>> cards;
    std::vector<scenarios::Recording> recordings;
    for (const std::string& path : paths) {
        recordings.push_back(scenarios::read_recording(path));
        const auto& header = recordings.back().header;
        std::vector<model::Override> overrides;
        for (const std::string& word : header.overrides) {
            const auto equals = word.find('=');
            overrides.push_back({word.substr(0, equals), word.substr(equals + 1)});
        }
        cards.push_back(std::make_unique<Plugged>(kernel, "card" + std::to_string(cards.size()),
                                                  header.card, overrides));
        CHECK(header.wall_clock);
        CHECK(header.seed == 1);
        CHECK(header.instance == 0);
    }
    for (std::size_t i = 0; i < paths.size(); ++i) {
        INFO(paths[i]);
        const auto result = replay(*cards[i], recordings[i]);
        for (const Difference& difference : result.differences) UNSCOPED_INFO(difference.text());
        CHECK(result.same());
        CHECK(result.commands > 100);
    }
}
