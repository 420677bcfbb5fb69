// SPDX-License-Identifier: Apache-2.0
// Boot, touch everything, reset: the configuration space is what it was, but for sticky bits.
#include "tests/unit/pcie/connectx5_example.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using namespace cxsim::pcie;
using namespace cxsim::pcie::test;

namespace {

constexpr std::uint16_t kDevCtl = kExpress + 0x08;

/// Writes all ones to every byte but Initiate FLR, makes an error, arms an interrupt.
void touch_everything(Bench& bench) {
    for (std::uint16_t at = 0; at < 4096; ++at) {
        if (at == kDevCtl + 1 || at == kPower + 4) continue;
        bench.write(at, 1, 0xff);
    }
    bench.write(kDevCtl + 1, 1, 0x7f);
    bench.bar_write(0x2000, 0xfee00000);
    bench.bar_write(1u << 25, 0);  // beyond the BAR: unsupported request
}

/// Offsets that differ.
std::vector<std::size_t> difference(const std::vector<std::byte>& a,
                                    const std::vector<std::byte>& b) {
    std::vector<std::size_t> offsets;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] != b[i]) offsets.push_back(i);
    }
    return offsets;
}

bool inside(std::size_t at, std::size_t start, std::size_t bytes) {
    return at >= start && at < start + bytes;
}

}  // namespace

TEST_CASE("a power cycle restores every byte", "[reset]") {
    Bench bench;
    const std::vector<std::byte> initial = bench.dump();
    touch_everything(bench);
    CHECK(difference(initial, bench.dump()).size() > 40);
    bench.endpoint.power_cycle();
    CHECK(difference(initial, bench.dump()).empty());
    bench.enable();
    std::uint32_t value = 0;
    bench.bar_read(0x2000, value);
    CHECK(value == 0);
}

TEST_CASE("a hot reset restores everything but sticky bits", "[reset]") {
    Bench bench;
    const std::vector<std::byte> initial = bench.dump();
    touch_everything(bench);
    bench.endpoint.hot_reset();
    bool error_kept = false;
    for (const std::size_t at : difference(initial, bench.dump())) {
        CAPTURE(at);
        // AER registers, PME enable, LnkCtl2 and nothing else.
        const bool sticky =
            inside(at, kAer, 0x2c) || at == kPower + 5 || inside(at, kExpress + 0x30, 2);
        CHECK(sticky);
        error_kept |= inside(at, kAer + 4, 4);
    }
    CHECK(error_kept);
    REQUIRE(bench.device.resets.size() == 1);
    CHECK(bench.device.resets[0].second == model::ResetKind::conventional);
    // Function 1 is reset as well.
    CHECK(bench.read(0x04, 2, 1) == 0);
}

TEST_CASE("function level reset by DevCtl keeps payload size and link control", "[reset]") {
    Bench bench;
    const std::vector<std::byte> initial = bench.dump();
    touch_everything(bench);
    bench.write(kDevCtl, 2, 0x2910 | 2u << 5);  // MPS 512
    bench.enable(1);
    bench.write(kDevCtl, 2, 0x8000 | 2u << 5);
    for (const std::size_t at : difference(initial, bench.dump())) {
        CAPTURE(at);
        const bool kept = inside(at, kAer, 0x2c) || at == kPower + 5 ||
                          inside(at, kExpress + 0x10, 2) || inside(at, kExpress + 0x30, 2) ||
                          at == kDevCtl;
        CHECK(kept);
    }
    CHECK(bench.read(kDevCtl, 2) == (0x2910 | 2u << 5));  // FLR bit reads 0
    REQUIRE(bench.device.resets.size() == 1);
    CHECK(bench.device.resets[0].first.value == 0);
    CHECK(bench.device.resets[0].second == model::ResetKind::function_level);
    CHECK(bench.read(0x04, 2, 1) == 0x0006);  // the other function is not touched
    CHECK(bench.endpoint.statistics().function_level_resets == 1);
}

TEST_CASE("the FLR bit works in a byte write, too, and 0 does nothing", "[reset]") {
    Bench bench;
    bench.write(kDevCtl, 2, 0x2910);
    CHECK(bench.device.resets.empty());
    bench.write(kDevCtl + 1, 1, 0x80);
    CHECK(bench.device.resets.size() == 1);
    bench.write(kDevCtl, 1, 0x80);
    CHECK(bench.device.resets.size() == 1);
}

TEST_CASE("after FLR the function neither answers nor masters until enabled again", "[reset]") {
    Bench bench;
    bench.enable();
    bench.endpoint.function_level_reset({0});
    std::array<std::byte, 4> data{};
    CHECK(bench.endpoint.write({0}, {}, {0x1000}, data).status ==
          model::DmaStatus::bus_master_disabled);
    std::uint32_t value = 0;
    CHECK_FALSE(bench.bar_read(0, value).ok());
    bench.enable();
    CHECK(bench.endpoint.write({0}, {}, {0x1000}, data).ok());
    CHECK(bench.bar_read(0, value).ok());
}

TEST_CASE("D3hot to D0 resets a function without NoSoftRst", "[reset]") {
    EndpointConfig config = connectx5(1);
    config.functions[0].no_soft_reset = false;
    Bench bench(config);
    const std::vector<std::byte> initial = bench.dump();
    bench.enable();
    bench.write(0x3c, 1, 0x0b);
    bench.write(kPower + 4, 2, 3);
    CHECK(bench.device.resets.empty());
    bench.write(kPower + 4, 2, 0);
    REQUIRE(bench.device.resets.size() == 1);
    CHECK(bench.device.resets[0].second == model::ResetKind::power_state);
    CHECK(difference(initial, bench.dump()).empty());
    CHECK(bench.endpoint.statistics().power_state_resets == 1);
}

TEST_CASE("switching the bus master tells the device", "[reset]") {
    Bench bench;
    bench.write(0x04, 2, 0x0004);
    bench.write(0x04, 2, 0x0004);
    bench.write(0x04, 2, 0x0000);
    CHECK(bench.device.masters ==
          std::vector<std::pair<model::FunctionId, bool>>{{{0}, true}, {{0}, false}});
}

TEST_CASE("transactions pending shows while a read is out", "[reset]") {
    Bench bench;
    bench.enable();
    std::vector<std::byte> data(4096);
    const model::DmaResult read = bench.endpoint.read({0}, {}, {0x1000}, data);
    CHECK((bench.read(kExpress + 0x0a, 2) & 0x20) != 0);
    bench.calendar.run_until(read.finish);
    CHECK((bench.read(kExpress + 0x0a, 2) & 0x20) == 0);
}
