// SPDX-License-Identifier: Apache-2.0
#include "model/params/parameter.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <boost/program_options.hpp>
#include <sstream>

using namespace cxsim::model;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

struct Sample : ParameterGroup {
    Sample() : ParameterGroup("sample") {}
    Parameter<Picoseconds> read_latency{*this, "pcie.read_latency", "time of a read"};
    Parameter<Bytes> buffer{*this, "pcie.buffer", "completion buffer"};
    Parameter<std::uint8_t> lanes{*this, "port.lanes", "lanes of the port"};
};

constexpr const char* kGood =
    "# a comment of its own\n"
    "[pcie]\n"
    "read_latency = 430ns   # measured: table 3\n"
    "buffer = 64KiB # guess: fitted to a figure: 7\n"
    "\n"
    "[port]\n"
    "lanes=4#vendor\n";

IniFile file(const std::string& text) {
    return IniFile::parse("sample.ini", text);
}

void require_error(const std::string& text, unsigned line, const std::string& message) {
    CAPTURE(text);
    try {
        Sample sample;
        sample.load(file(text));
        FAIL("no ConfigError");
    } catch (const ConfigError& error) {
        CHECK(error.place().file == "sample.ini");
        CHECK(error.place().line == line);
        CHECK_THAT(error.what(), ContainsSubstring(message));
    }
}

}  // namespace

TEST_CASE("a file fills the group, with source word and note", "[parameter]") {
    Sample sample;
    sample.load(file(kGood));
    CHECK(sample.read_latency() == nanoseconds(430));
    CHECK(sample.buffer() == Bytes{65536});
    CHECK(sample.lanes() == 4);
    CHECK(sample.read_latency.source() == Source::measured);
    CHECK(sample.read_latency.note() == "table 3");
    CHECK(sample.buffer.note() == "fitted to a figure: 7");
    CHECK(sample.lanes.source() == Source::vendor);
    CHECK(sample.lanes.note().empty());
}

TEST_CASE("a value without a source word is an error with file, line and key", "[parameter]") {
    require_error("[pcie]\nread_latency = 430ns\n", 2, "measured, vendor, paper");
    require_error("[pcie]\nread_latency = 430ns # table 3\n", 2, "'table 3' is no source word");
    require_error("[pcie]\nread_latency = 430ns #\n", 2, "read_latency");
}

TEST_CASE("unknown and missing keys are errors that help", "[parameter]") {
    require_error("[pcie]\nread_latencies = 430ns # guess\n", 2,
                  "the nearest is 'pcie.read_latency'");
    require_error("[pcie]\nread_latency = 430ns # guess\n", 0,
                  "pcie.buffer: missing; expected SIZE");
}

TEST_CASE("wrong units and impossible values name the line", "[parameter]") {
    require_error("[pcie]\n\nread_latency = 430 # guess\n", 3, "430ns");
    require_error("[port]\nlanes = 256 # guess\n", 2, "255");
}

TEST_CASE("lines that are no parameters are refused", "[parameter]") {
    require_error("[pcie]\nread_latency\n", 2, "key = value");
    require_error("[pcie\n", 1, "without ']'");
    require_error("[]\n", 1, "without a name");
    require_error("read_latency = 1ns # guess\n", 1, "before the first [section]");
    require_error("[pcie]\nread_latency = # guess\n", 2, "no value");
    require_error("[pcie]\n = 1ns # guess\n", 2, "key = value");
    require_error("[port]\nlanes = 4 # vendor\nlanes = 4 # vendor\n", 3, "second time");
}

TEST_CASE("files with odd bytes are refused, not crashed on", "[parameter]") {
    CHECK_THROWS_AS(file(std::string("[a]\n\0=\xff # guess", 14)), ConfigError);
    CHECK_NOTHROW(file(""));
    CHECK_NOTHROW(file("\r\n[pcie]\r\nx = 1 # guess\r\n"));
}

TEST_CASE("an override beats the file and says so", "[parameter]") {
    Sample sample;
    const std::vector<Override> overrides = {{"sample.pcie.read_latency", "2us"},
                                             {"other.pcie.read_latency", "nonsense"}};
    sample.load(file(kGood), overrides);
    CHECK(sample.read_latency() == microseconds(2));
    CHECK(sample.read_latency.source() == Source::command_line);
    const auto rows = sample.rows();
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].name == "sample.pcie.read_latency");
    CHECK(rows[0].value == "2us");
    CHECK(source_name(rows[0].source) == "command line");
    CHECK(rows[1].value == "64KiB");
}

TEST_CASE("a wrong override is an error of the command line", "[parameter]") {
    Sample sample;
    const std::vector<Override> unknown = {{"sample.pcie.typo", "2us"}};
    CHECK_THROWS_MATCHES(sample.load(file(kGood), unknown), ConfigError,
                         MessageMatches(ContainsSubstring("command line: pcie.typo")));
    Sample other;
    const std::vector<Override> unit = {{"sample.pcie.read_latency", "2"}};
    CHECK_THROWS_MATCHES(other.load(file(kGood), unit), ConfigError,
                         MessageMatches(ContainsSubstring("430ns")));
}

TEST_CASE("the declaration gives command line option and help text", "[parameter]") {
    namespace po = boost::program_options;
    Sample sample;
    po::options_description options;
    sample.describe(options);
    std::ostringstream help;
    help << options;
    CHECK_THAT(help.str(), ContainsSubstring("--sample.pcie.read_latency"));
    CHECK_THAT(help.str(), ContainsSubstring("TIME such as 430ns"));
    CHECK_THAT(help.str(), ContainsSubstring("time of a read"));

    const std::vector<std::string> arguments = {"--sample.pcie.read_latency=2us"};
    const auto parsed = po::command_line_parser(arguments).options(options).run();
    sample.load(file(kGood), overrides_from(parsed));
    CHECK(sample.read_latency() == microseconds(2));
}
