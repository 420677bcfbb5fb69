// SPDX-License-Identifier: Apache-2.0
#include "model/stats/stats.h"

#include "model/stats/report.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include <sstream>

using namespace cxsim::model::stats;
using Catch::Matchers::ContainsSubstring;

namespace {

struct PortCounters : Group {
    using Group::Group;
    Counter rx_bytes{*this, "rx_bytes_phy", Unit::bytes, "Bytes received, \"good\", with FCS"};
    Counter rx_packets{*this, "rx_packets_phy", Unit::packets, "Packets received"};
    CounterArray<8> rx_prio{*this, "rx_prio{}_bytes", Unit::bytes, "Bytes received in a priority"};
    Formula mean{*this, "rx_mean_size", Unit::bytes, "Mean packet size",
                 [this] { return double(rx_bytes.value()) / double(rx_packets.value()); }};
};

struct Nic : Group {
    using Group::Group;
    Counter resets{*this, "resets", Unit::count, "Resets"};
    PortCounters port0{*this, "port0"};
    PortCounters port1{*this, "port1"};
};

std::string csv(const Group& group) {
    std::ostringstream out;
    write_csv(out, group);
    return out.str();
}

}  // namespace

TEST_CASE("a counter adds, and is found by its dotted path", "[stats]") {
    Nic nic{"nic"};
    ++nic.port1.rx_packets;
    nic.port1.rx_bytes += 64;
    CHECK(nic.find("port1.rx_bytes_phy")->value() == 64);
    CHECK(nic.find("port0.rx_bytes_phy")->value() == 0);
    CHECK(nic.find("port1.rx_prio7_bytes") == &nic.port1.rx_prio[7]);
    CHECK(nic.find("resets") == &nic.resets);
    CHECK(nic.port1.path() == "nic.port1");
    for (const char* path : {"", ".", "port1", "port1.", "port2.rx_bytes_phy", "resets.x"}) {
        CAPTURE(path);
        CHECK(nic.find(path) == nullptr);
    }
}

TEST_CASE("groups nest and leave their parent when they die", "[stats]") {
    Group root{"testbed"};
    {
        Group host{root, "host0"};
        Nic nic{host, "nic"};
        CHECK(nic.port0.path() == "testbed.host0.nic.port0");
        CHECK(root.find("host0.nic.port0.rx_bytes_phy") == &nic.port0.rx_bytes);
        CHECK(root.children().size() == 1);
    }
    CHECK(root.children().empty());
    CHECK(root.find("host0.nic.port0.rx_bytes_phy") == nullptr);
}

TEST_CASE("two cards do not share counters", "[stats]") {
    Nic first{"nic0"};
    Nic second{"nic1"};
    ++first.resets;
    CHECK(first.resets.value() == 1);
    CHECK(second.resets.value() == 0);
}

TEST_CASE("a visit sees every counter once, in order of declaration", "[stats]") {
    Nic nic{"nic"};
    std::vector<std::string> paths;
    nic.visit([&](const std::string& path, const Counter&) { paths.push_back(path); });
    REQUIRE(paths.size() == 1 + 2 * 10);
    CHECK(paths[0] == "nic.resets");
    CHECK(paths[1] == "nic.port0.rx_bytes_phy");
    CHECK(paths[3] == "nic.port0.rx_prio0_bytes");
    CHECK(paths.back() == "nic.port1.rx_prio7_bytes");
}

TEST_CASE("reset zeroes everything below", "[stats]") {
    Nic nic{"nic"};
    ++nic.resets;
    nic.port0.rx_prio[3] += 5;
    nic.port0.reset();
    CHECK(nic.port0.rx_prio[3].value() == 0);
    CHECK(nic.resets.value() == 1);
    nic.reset();
    CHECK(nic.resets.value() == 0);
}

TEST_CASE("CSV quotes what must be quoted and leaves no number empty", "[stats]") {
    Nic nic{"nic"};
    nic.port0.rx_bytes += 96;
    nic.port0.rx_packets += 2;
    const std::string text = csv(nic);
    CHECK_THAT(text, ContainsSubstring("path,value,unit,description\n"));
    CHECK_THAT(text, ContainsSubstring("nic.port0.rx_bytes_phy,96,bytes,"
                                       "\"Bytes received, \"\"good\"\", with FCS\"\n"));
    CHECK_THAT(text, ContainsSubstring("nic.port0.rx_mean_size,48,bytes,"));
    CHECK_THAT(text, ContainsSubstring("nic.port1.rx_mean_size,,bytes,"));
}

TEST_CASE("JSON nests as the groups do; no number is null", "[stats]") {
    Nic nic{"nic"};
    nic.port0.rx_bytes += UINT64_MAX;
    std::ostringstream out;
    write_json(out, nic);
    const auto document = nlohmann::json::parse(out.str());
    CHECK(document["nic"]["port0"]["rx_bytes_phy"] == UINT64_MAX);
    CHECK(document["nic"]["port1"]["rx_mean_size"].is_null());
    CHECK(document["nic"]["resets"] == 0);
}

TEST_CASE("the summary shows only what is not zero", "[stats]") {
    Nic nic{"nic"};
    std::ostringstream empty;
    write_summary(empty, nic);
    CHECK(empty.str() == "(all counters are zero)\n");
    nic.port1.rx_packets += 12;
    std::ostringstream out;
    write_summary(out, nic);
    CHECK(out.str() == "nic.port1.rx_packets_phy  12 packets  Packets received\n");
}
