// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/pcie/connectx5_example.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using namespace cxsim::pcie;
using namespace cxsim::pcie::test;

namespace {

/// One port with two virtual functions behind it, ids 1 and 2.
EndpointConfig with_vfs() {
    EndpointConfig config = connectx5(1);
    for (int i = 0; i < 2; ++i) {
        config.functions.push_back(virtual_function(config.functions[0], {0}, 12));
    }
    return config;
}

}  // namespace

TEST_CASE("the SR-IOV structure shows the card's data", "[sriov]") {
    Bench bench;
    CHECK(bench.read(kSriov + 0x0c, 4) == 0x00080008);     // initial, total
    CHECK(bench.read(kSriov + 0x14, 4) == 0x00010002);     // PF0: offset 2, stride 1
    CHECK(bench.read(kSriov + 0x14, 4, 1) == 0x00010009);  // PF1: 1 + 8
    CHECK(bench.read(kSriov + 0x18, 4) == 0x10180000);
    CHECK(bench.read(kSriov + 0x1c, 4) == 0x7ff);
    CHECK(bench.read(kSriov + 0x20, 4) == 1);
    bench.write(kSriov + 0x24, 4, 0xffffffff);
    CHECK(bench.read(kSriov + 0x24, 4) == 0xfff0000c);  // 1 MiB, 64-bit, prefetchable
    // ARI hierarchy is a matter of the lowest function.
    bench.write(kSriov + 0x08, 2, 0x10);
    bench.write(kSriov + 0x08, 2, 0x10, 1);
    CHECK(bench.read(kSriov + 0x08, 2) == 0x10);
    CHECK(bench.read(kSriov + 0x08, 2, 1) == 0);
}

TEST_CASE("NumVFs holds and cannot change while VFs are enabled", "[sriov]") {
    Bench bench(with_vfs());
    bench.write(kSriov + 0x10, 2, 2);
    bench.write(kSriov + 0x08, 2, 0x1);
    bench.write(kSriov + 0x10, 2, 1);
    CHECK(bench.read(kSriov + 0x10, 2) == 2);
    bench.write(kSriov + 0x08, 2, 0);
    bench.write(kSriov + 0x10, 2, 1);
    CHECK(bench.read(kSriov + 0x10, 2) == 1);
}

TEST_CASE("VF Enable without configured virtual functions stays clear and is counted", "[sriov]") {
    Bench bench;
    bench.write(kSriov + 0x10, 2, 1);
    bench.write(kSriov + 0x08, 2, 0x9);
    CHECK(bench.read(kSriov + 0x08, 2) == 0x8);
    CHECK(bench.endpoint.statistics().vf_enable_refused == 1);
}

TEST_CASE("a virtual function exists while it is enabled", "[sriov]") {
    Bench bench(with_vfs());
    CHECK(bench.read(0x60, 1, 1) == 0xff);
    bench.write(kSriov + 0x10, 2, 1);
    bench.write(kSriov + 0x08, 2, 0x1);
    CHECK(bench.read(0x60, 1, 1) == 0x10);
    CHECK(bench.read(0x60, 1, 2) == 0xff);  // only one asked for
    CHECK(bench.device.resets.size() == 2);
    // Ids read all ones, BARs and memory enable do not exist (SR-IOV 9.3.4.1).
    CHECK(bench.read(0x00, 4, 1) == 0xffffffff);
    bench.write(0x10, 4, 0xffffffff, 1);
    CHECK(bench.read(0x10, 4, 1) == 0);
    bench.write(0x04, 2, 0xffff, 1);
    CHECK(bench.read(0x04, 2, 1) == 0x0004);
    CHECK(bench.read(kMsix + 2, 2, 1) == 11);  // 12 vectors
    std::uint32_t value = 0;
    CHECK_FALSE(bench.bar_read(0, value, 1).ok());
    bench.write(kSriov + 0x08, 2, 0x9);  // VF MSE
    CHECK(bench.bar_read(0, value, 1).ok());
    CHECK_FALSE(bench.bar_read(1u << 20, value, 1).ok());
    std::array<std::byte, 4> data{};
    CHECK(bench.endpoint.read({1}, {}, {0x1000}, data).ok());
    bench.write(kSriov + 0x08, 2, 0);
    CHECK(bench.endpoint.read({1}, {}, {0x1000}, data).status ==
          model::DmaStatus::bus_master_disabled);
    CHECK(bench.read(0x60, 1, 1) == 0xff);
}

TEST_CASE("a reset of the physical function takes its virtual functions away", "[sriov]") {
    Bench bench(with_vfs());
    bench.write(kSriov + 0x10, 2, 2);
    bench.write(kSriov + 0x08, 2, 0x9);
    bench.device.resets.clear();
    bench.endpoint.function_level_reset({0});
    CHECK(bench.read(kSriov + 0x08, 2) == 0);
    CHECK_FALSE(bench.endpoint.present({1}));
    REQUIRE(bench.device.resets.size() == 3);
    CHECK(bench.device.resets[2].first.value == 0);
}
