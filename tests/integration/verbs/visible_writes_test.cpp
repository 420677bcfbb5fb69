// SPDX-License-Identifier: Apache-2.0
#include "scenarios/driver/visible_writes.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <vector>

using namespace cxsim;
using model::nanoseconds;
using model::Picoseconds;
using scenarios::VisibleWrites;

namespace {

/// Writes take 100 ns.
class SlowBus final : public model::HostBus {
  public:
    model::DmaResult read(model::FunctionId, Picoseconds start, model::HostAddress,
                          std::span<std::byte>) override {
        return {model::DmaStatus::ok, start};
    }
    model::DmaResult write(model::FunctionId, Picoseconds start, model::HostAddress,
                           std::span<const std::byte>) override {
        return {model::DmaStatus::ok, start + nanoseconds(100)};
    }
    Picoseconds raise_interrupt(model::FunctionId, Picoseconds start, std::uint32_t) override {
        return start;
    }
};

}  // namespace

TEST_CASE("a watched block knows when its last write is visible", "[visible]") {
    SlowBus bus;
    VisibleWrites visible(bus);
    visible.watch({0x2000}, 256);
    visible.watch({0x1000}, 64);
    std::array<std::byte, 64> entry{};
    CHECK(visible.write({}, nanoseconds(5), {0x2040}, entry).finish == nanoseconds(105));
    CHECK(visible.visible({0x2040}) == nanoseconds(105));
    CHECK(visible.visible({0x207f}) == nanoseconds(105));
    CHECK(visible.visible({0x2000}) == Picoseconds{});
    CHECK(visible.visible({0x2080}) == Picoseconds{});
    visible.write({}, nanoseconds(10), {0x2040}, entry);
    CHECK(visible.visible({0x2040}) == nanoseconds(110));
    // Over three blocks and beyond the range's end.
    const std::vector<std::byte> more(200);
    visible.write({}, nanoseconds(20), {0x2070}, more);
    CHECK(visible.visible({0x2040}) == nanoseconds(120));
    CHECK(visible.visible({0x20ff}) == nanoseconds(120));
    CHECK(visible.visible({0x2100}) == Picoseconds{});
    CHECK(visible.visible({0x1000}) == Picoseconds{});
    CHECK(visible.visible({0x0fff}) == Picoseconds{});
    visible.forget({0x2000});
    CHECK(visible.visible({0x2040}) == Picoseconds{});
}
