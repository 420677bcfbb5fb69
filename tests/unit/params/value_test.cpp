// SPDX-License-Identifier: Apache-2.0
#include "model/params/value.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace cxsim::model;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEST_CASE("times are read exactly, in all their units", "[value]") {
    CHECK(parse_time("430ns") == nanoseconds(430));
    CHECK(parse_time("1.5us") == nanoseconds(1500));
    CHECK(parse_time("7 ps") == picoseconds(7));
    CHECK(parse_time("120s") == seconds(120));
    CHECK(parse_time("0ns") == picoseconds(0));
    CHECK(format_time(nanoseconds(1500)) == "1500ns");
    CHECK(format_time(parse_time("2ms")) == "2ms");
    CHECK(format_time(picoseconds(0)) == "0ps");
}

TEST_CASE("a wrong unit is refused and the right ones are named", "[value]") {
    for (const char* text : {"430", "ns", "430 parsecs", "430KiB", "-5ns", "1..2ns", ".ns", ""}) {
        CAPTURE(text);
        CHECK_THROWS_MATCHES(parse_time(text), ValueError,
                             MessageMatches(ContainsSubstring("ps, ns, us, ms, s")));
    }
    CHECK_THROWS_MATCHES(parse_bytes("64KB"), ValueError,
                         MessageMatches(ContainsSubstring("B, KiB, MiB, GiB")));
    CHECK_THROWS_MATCHES(parse_rate("25Gbps"), ValueError,
                         MessageMatches(ContainsSubstring("25Gb/s")));
}

TEST_CASE("a value that would have to be rounded or overflows is refused", "[value]") {
    CHECK_THROWS_AS(parse_time("0.3ps"), ValueError);
    CHECK_THROWS_AS(parse_bytes("0.3B"), ValueError);
    CHECK_THROWS_AS(parse_time("99999999s"), ValueError);
    CHECK_THROWS_AS(parse_bytes("99999999999999999999B"), ValueError);
    CHECK_THROWS_AS(parse_time("0.000000000000000000000001s"), ValueError);
    CHECK(parse_bytes("0.5KiB") == Bytes{512});
}

TEST_CASE("sizes and rates", "[value]") {
    CHECK(parse_bytes("32MiB") == Bytes{32u << 20});
    CHECK(format_bytes(Bytes{64u << 10}) == "64KiB");
    CHECK(parse_rate("25Gb/s") == gigabits_per_second(25));
    CHECK(parse_rate("25.78125Gb/s").value == 25'781'250'000.0);
    CHECK(format_rate(gigabits_per_second(100)) == "100Gb/s");
    CHECK_THROWS_AS(parse_rate("0Gb/s"), ValueError);
}

TEST_CASE("unsigned numbers know their limit", "[value]") {
    CHECK(parse_unsigned("0x15b3", 0xffff) == 0x15b3);
    CHECK(parse_unsigned("65535", 0xffff) == 65535);
    CHECK_THROWS_MATCHES(parse_unsigned("65536", 0xffff), ValueError,
                         MessageMatches(ContainsSubstring("65535")));
    CHECK_THROWS_AS(parse_unsigned("99999999999999999999999", UINT64_MAX), ValueError);
    for (const char* text : {"", "0x", "12x", "-1", "1 2", "0x1g"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parse_unsigned(text, UINT64_MAX), ValueError);
    }
}

TEST_CASE("booleans, texts and word lists", "[value]") {
    CHECK(parse_bool("true"));
    CHECK_FALSE(parse_bool("false"));
    CHECK_THROWS_AS(parse_bool("1"), ValueError);
    CHECK(parse_text("\"PCIeGen4 x16 \"") == "PCIeGen4 x16 ");
    CHECK(parse_text("plain text") == "plain text");
    CHECK_THROWS_AS(parse_text("\"open"), ValueError);
    CHECK(parse_words("a, b c ,d") == std::vector<std::string>{"a", "b c", "d"});
    CHECK_THROWS_AS(parse_words("a,,b"), ValueError);
}
