// SPDX-License-Identifier: Apache-2.0
#include "eth/mac/receive_buffers.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using eth::ReceiveBuffers;
using model::nanoseconds;

TEST_CASE("room is given back at its time, in order of arrival", "[buffers]") {
    ReceiveBuffers buffers;
    buffers.set_limits(0, {1000, 0, 0, true});
    buffers.take(0, 400, nanoseconds(20));
    buffers.take(0, 500, nanoseconds(10));  // done early, waits for the first
    CHECK(buffers.held(nanoseconds(15), 0) == 900);
    CHECK_FALSE(buffers.fits(nanoseconds(15), 0, 101));
    CHECK(buffers.fits(nanoseconds(15), 0, 100));
    CHECK(buffers.time_of_level(nanoseconds(15), 0, 899) == nanoseconds(20));
    CHECK(buffers.time_of_level(nanoseconds(15), 0, 900) == nanoseconds(15));
    CHECK(buffers.held(nanoseconds(20), 0) == 0);
}

TEST_CASE("buffers do not lend each other room", "[buffers]") {
    ReceiveBuffers buffers;
    buffers.set_limits(0, {1000, 0, 0, true});
    buffers.set_limits(1, {1000, 0, 0, true});
    buffers.take(0, 1000, nanoseconds(20));
    CHECK_FALSE(buffers.fits({}, 0, 1));
    CHECK(buffers.fits({}, 1, 1000));
    CHECK_FALSE(buffers.fits({}, 2, 1));  // has no size
    CHECK(buffers.occupancy({}) == model::Bytes{1000});
    buffers.clear();
    CHECK(buffers.occupancy({}) == model::Bytes{0});
}

TEST_CASE("a buffer remembers any number of frames", "[buffers]") {
    ReceiveBuffers buffers;
    buffers.set_limits(0, {100'000, 0, 0, true});
    for (int i = 1; i <= 1000; ++i) {
        buffers.take(0, 64, nanoseconds(i * 10));
        if (i == 300) CHECK(buffers.held(nanoseconds(1000), 0) == 200 * 64);
    }
    CHECK(buffers.held(nanoseconds(1000), 0) == 900 * 64);
    CHECK(buffers.time_of_level(nanoseconds(1000), 0, 64) == nanoseconds(9990));
    CHECK(buffers.held(nanoseconds(9990), 0) == 64);
}
