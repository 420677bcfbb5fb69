// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <set>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "model/base/endian.h"
#include "model/base/random.h"
#include "model/base/units.h"

namespace cxsim::model {
namespace {

TEST_CASE("a rate gives the time of a size, rounded up to a picosecond", "[units]") {
    CHECK(gigabits_per_second(100).time_for(Bytes{1250}) == nanoseconds(100));
    // 1 byte at 3 Gb/s is 2666.67 ps.
    CHECK(gigabits_per_second(3).time_for(Bytes{1}) == picoseconds(2667));
    CHECK(gigabits_per_second(3).time_for(Bytes{0}) == picoseconds(0));
}

TEST_CASE("durations of different units compare and add", "[units]") {
    CHECK(microseconds(1) == nanoseconds(1000));
    CHECK(nanoseconds(2) + picoseconds(5) == picoseconds(2005));
    CHECK(seconds(1).seconds() == Catch::Approx(1.0));
}

TEST_CASE("random streams depend on seed and component and on nothing else", "[random]") {
    RandomStream a(1, "nic.port0");
    RandomStream same(1, "nic.port0");
    RandomStream other_component(1, "nic.port1");
    RandomStream other_seed(2, "nic.port0");
    const auto first = a();
    CHECK(first == same());
    CHECK(first != other_component());
    CHECK(first != other_seed());
}

// Chi-squared with 9 degrees of freedom exceeds 33.7 with probability 1e-4.
TEST_CASE("draws below a bound are uniform", "[random]") {
    RandomStream random(3, "uniform");
    std::array<int, 10> hits{};
    constexpr int kDraws = 100'000;
    for (int i = 0; i < kDraws; ++i) ++hits.at(random.below(10));
    double chi = 0;
    for (const int n : hits) chi += (n - 10'000.0) * (n - 10'000.0) / 10'000.0;
    CHECK(chi < 33.7);
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) sum += random.uniform();
    CHECK(sum / kDraws == Catch::Approx(0.5).margin(0.005));
}

TEST_CASE("big-endian and little-endian loads mirror their stores", "[endian]") {
    std::array<unsigned char, 8> bytes{};
    store_be<std::uint32_t>(bytes.data(), 0x01020304U);
    CHECK(bytes[0] == 1);
    CHECK(load_be<std::uint32_t>(bytes.data()) == 0x01020304U);
    CHECK(load_le<std::uint32_t>(bytes.data()) == 0x04030201U);
    store_be<std::uint64_t>(bytes.data(), 0x0102030405060708U);
    CHECK(load_be<std::uint16_t>(bytes.data() + 6) == 0x0708U);
}

}  // namespace
}  // namespace cxsim::model
