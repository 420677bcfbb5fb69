// SPDX-License-Identifier: Apache-2.0
// Books of a switch's packet memory with dynamic thresholds.
#include "eth/link/shared_buffer.h"
#include "model/base/random.h"

#include <catch2/catch_test_macros.hpp>

#include <deque>
#include <limits>

using namespace cxsim;
using eth::SharedBuffer;
using eth::SwitchSettings;
using model::Bytes;

namespace {

constexpr unsigned kPorts = 3;
constexpr unsigned kLossless = 3;
constexpr unsigned kLossy = 0;

// 3 x (1000 + 2000) set apart, a pool of 10,000.
SwitchSettings dynamic(double alpha) {
    SwitchSettings settings;
    settings.lossless = 1U << kLossless;
    settings.shared_buffer = Bytes{19'000};
    settings.alpha = alpha;
    settings.reserve = Bytes{1'000};
    settings.headroom = Bytes{2'000};
    settings.resume_offset = Bytes{500};
    return settings;
}

void take(SharedBuffer& buffer, unsigned port, unsigned priority, std::uint32_t bytes) {
    REQUIRE(buffer.has_room(port, priority, bytes));
    buffer.take(port, priority, bytes);
}

}  // namespace

TEST_CASE("a lone port gets alpha / (1 + alpha) of the pool beyond its reserve", "[switch]") {
    for (const double alpha : {0.125, 0.5, 1.0, 2.0}) {
        CAPTURE(alpha);
        const SwitchSettings settings = dynamic(alpha);
        REQUIRE(settings.problem(kPorts) == nullptr);
        SharedBuffer buffer(settings, kPorts);
        CHECK(buffer.pool() == 10'000);
        while (!buffer.must_pause(0, kLossless)) take(buffer, 0, kLossless, 10);
        const double expected = 1'000 + 10'000 * alpha / (1 + alpha);
        const auto got = static_cast<double>(buffer.held_of(0, kLossless));
        CHECK(got >= expected - 20);
        CHECK(got <= expected + 20);
    }
}

TEST_CASE("ports share the pool: the more are busy, the lower the threshold", "[switch]") {
    const SwitchSettings settings = dynamic(1);
    SharedBuffer buffer(settings, kPorts);
    CHECK(buffer.threshold() == 10'000);
    take(buffer, 0, kLossless, 5'000);
    CHECK(buffer.threshold() == 6'000);
    CHECK_FALSE(buffer.must_pause(0, kLossless));
    take(buffer, 1, kLossless, 5'000);
    CHECK(buffer.threshold() == 2'000);
    CHECK(buffer.must_pause(1, kLossless));
    CHECK(buffer.must_pause(0, kLossless));
    CHECK_FALSE(buffer.must_pause(2, kLossless));
    // Lossy frames take of the same pool, and have nothing of their own.
    take(buffer, 2, kLossy, 1'000);
    CHECK(buffer.threshold() == 1'000);
}

TEST_CASE("beyond the threshold the headroom takes what was under way, then frames are dropped",
          "[switch]") {
    const SwitchSettings settings = dynamic(0.25);
    SharedBuffer buffer(settings, kPorts);
    take(buffer, 0, kLossless, 3'000);
    CHECK(buffer.must_pause(0, kLossless));
    CHECK(buffer.threshold() == 2'000);
    take(buffer, 0, kLossless, 1'500);
    CHECK(buffer.threshold() == 2'000);
    CHECK_FALSE(buffer.has_room(0, kLossless, 501));
    take(buffer, 0, kLossless, 500);
    CHECK_FALSE(buffer.has_room(0, kLossless, 1));
    CHECK(buffer.has_room(1, kLossless, 1'000));
    CHECK(buffer.held() == 5'000);
    // The headroom is empty again before the port may go on.
    buffer.give_back(0, kLossless, 1'999);
    CHECK_FALSE(buffer.may_resume(0, kLossless));
    buffer.give_back(0, kLossless, 1);
    CHECK_FALSE(buffer.may_resume(0, kLossless));
    buffer.give_back(0, kLossless, 399);
    CHECK_FALSE(buffer.may_resume(0, kLossless));
    buffer.give_back(0, kLossless, 1);
    CHECK(buffer.may_resume(0, kLossless));  // 1600 + 500 <= a quarter of 8400
}

TEST_CASE("lossy frames leave reserves and headroom alone", "[switch]") {
    const SwitchSettings settings = dynamic(0.5);
    SharedBuffer buffer(settings, kPorts);
    take(buffer, 0, kLossy, 10'000);
    CHECK_FALSE(buffer.has_room(1, kLossy, 1));
    CHECK(buffer.threshold() == 0);
    for (unsigned port = 0; port < kPorts; ++port) {
        take(buffer, port, kLossless, 1'000);
        take(buffer, port, kLossless, 2'000);
        CHECK_FALSE(buffer.has_room(port, kLossless, 1));
    }
    CHECK(buffer.held() == settings.shared_buffer.value);
    CHECK(buffer.peak() == settings.shared_buffer.value);
}

TEST_CASE("whatever comes and goes, the buffer is never exceeded and empty in the end",
          "[switch]") {
    for (const double alpha : {0.125, 1.0, 8.0}) {
        const SwitchSettings settings = dynamic(alpha);
        SharedBuffer buffer(settings, kPorts);
        model::RandomStream random(7, "books");
        struct Held {
            unsigned port, priority;
            std::uint32_t bytes;
        };
        std::deque<Held> held;
        std::uint64_t sum = 0;
        for (int i = 0; i < 20'000; ++i) {
            const Held one{static_cast<unsigned>(random.uniform() * kPorts),
                           random.uniform() < 0.7 ? kLossless : kLossy,
                           64 + static_cast<std::uint32_t>(random.uniform() * 1'400)};
            if (random.uniform() < 0.55) {
                if (!buffer.has_room(one.port, one.priority, one.bytes)) continue;
                buffer.take(one.port, one.priority, one.bytes);
                held.push_back(one);
                sum += one.bytes;
            } else if (!held.empty()) {
                buffer.give_back(held.front().port, held.front().priority, held.front().bytes);
                sum -= held.front().bytes;
                held.pop_front();
            }
            REQUIRE(buffer.held() == sum);
            REQUIRE(sum <= settings.shared_buffer.value);
            for (unsigned port = 0; port < kPorts; ++port) {
                REQUIRE_FALSE((buffer.must_pause(port, kLossless) &&
                               buffer.may_resume(port, kLossless) &&
                               buffer.held_of(port, kLossless) > settings.reserve.value));
            }
        }
        for (const Held& one : held) buffer.give_back(one.port, one.priority, one.bytes);
        CHECK(buffer.held() == 0);
        CHECK(buffer.threshold() == static_cast<std::uint64_t>(alpha * 10'000));
    }
}

TEST_CASE("dynamic thresholds that cannot be are refused", "[switch]") {
    const auto refused = [](auto edit) {
        SwitchSettings settings = dynamic(1);
        edit(settings);
        return settings.problem(kPorts) != nullptr;
    };
    CHECK_FALSE(refused([](SwitchSettings&) {}));
    CHECK(refused([](SwitchSettings& s) { s.alpha = -1; }));
    CHECK(refused([](SwitchSettings& s) { s.alpha = std::numeric_limits<double>::quiet_NaN(); }));
    CHECK(refused([](SwitchSettings& s) { s.alpha = std::numeric_limits<double>::infinity(); }));
    CHECK(refused([](SwitchSettings& s) { s.shared_buffer = Bytes{0}; }));
    CHECK(refused([](SwitchSettings& s) { s.shared_buffer = Bytes{9'000}; }));
    CHECK(refused([](SwitchSettings& s) { s.xoff = Bytes{100}; }));
    CHECK(refused([](SwitchSettings& s) { s.alpha = 0; }));
    CHECK(dynamic(1).problem(7) != nullptr);  // 7 x 3000 are more than 19,000
}
