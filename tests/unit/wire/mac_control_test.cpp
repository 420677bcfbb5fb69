// SPDX-License-Identifier: Apache-2.0
#include "eth/wire/mac_control.h"

#include "tests/unit/offloads/frames.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::eth {
namespace {

using namespace cxsim::test;

constexpr MacAddress kSource{0x0200'0000'00aa};

TEST_CASE("a pause frame has the bytes of annex 31B", "[mac-control]") {
    Bytes frame(60, std::byte{0xee});
    encode_mac_control({.quanta = {0x1234}}, kSource, frame);
    const Bytes head = big(0x0180'c200'0001, 6) + big(kSource.value, 6) + big(0x8808, 2) +
                       big(0x0001, 2) + big(0x1234, 2);
    CHECK(frame == head + Bytes(60 - head.size()));
    const auto control = decode_mac_control(frame);
    REQUIRE(control);
    CHECK(control->kind == MacControl::Kind::pause);
    CHECK(control->quanta[0] == 0x1234);
}

TEST_CASE("a PFC frame has the bytes of 802.1Qbb", "[mac-control]") {
    MacControl sent{.kind = MacControl::Kind::priority, .enabled = 0x81};
    for (std::size_t i = 0; i < 8; ++i) sent.quanta[i] = static_cast<std::uint16_t>(0x100 + i);
    Bytes frame(64, std::byte{0xee});
    encode_mac_control(sent, kSource, frame);
    CHECK(number(frame, 14, 2) == 0x0101);
    CHECK(number(frame, 16, 2) == 0x0081);
    for (std::size_t i = 0; i < 8; ++i) CHECK(number(frame, 18 + 2 * i, 2) == 0x100 + i);
    CHECK(frame[63] == std::byte{0xee});  // beyond the minimum size nothing is written
    CHECK(decode_mac_control(frame) == sent);
}

TEST_CASE("what is no MAC control frame is not decoded", "[mac-control]") {
    Bytes frame(60);
    encode_mac_control({.kind = MacControl::Kind::priority, .enabled = 1}, kSource, frame);
    CHECK(is_mac_control(frame));
    CHECK_FALSE(decode_mac_control(View(frame).first(33)));
    CHECK_FALSE(is_mac_control(View(frame).first(13)));
    Bytes other = frame;
    put(other, 14, 0x0002, 2);
    CHECK(is_mac_control(other));
    CHECK_FALSE(decode_mac_control(other));
    put(other, 12, 0x0800, 2);
    CHECK_FALSE(is_mac_control(other));
    CHECK_FALSE(decode_mac_control(other));
}

}  // namespace
}  // namespace cxsim::eth
