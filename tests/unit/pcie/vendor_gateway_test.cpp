// SPDX-License-Identifier: Apache-2.0
// The gateway as the kernel's lib/pci_vsc and mstflint use it.
#include "pcie/config_space/vendor_gateway.h"

#include "tests/unit/pcie/connectx5_example.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using namespace cxsim::pcie;
using namespace cxsim::pcie::test;

namespace {

constexpr std::uint16_t kControl = kGateway + 0x04;
constexpr std::uint16_t kCounter = kGateway + 0x08;
constexpr std::uint16_t kSemaphore = kGateway + 0x0c;
constexpr std::uint16_t kAddress = kGateway + 0x10;
constexpr std::uint16_t kData = kGateway + 0x14;

bool lock(Bench& bench) {
    if (bench.read(kSemaphore, 4) != 0) return false;
    const std::uint32_t ticket = bench.read(kCounter, 4);
    bench.write(kSemaphore, 4, ticket);
    return bench.read(kSemaphore, 4) == ticket;
}

bool select(Bench& bench, std::uint16_t space) {
    const std::uint32_t control = bench.read(kControl, 4);
    bench.write(kControl, 4, (control & 0xffff0000) | space);
    const std::uint32_t answer = bench.read(kControl, 4);
    return (answer & 0xffff) == space && answer >> 29 != 0;
}

}  // namespace

TEST_CASE("the semaphore goes to one holder until released", "[gateway]") {
    Bench bench;
    REQUIRE(lock(bench));
    const std::uint32_t holder = bench.read(kSemaphore, 4);
    CHECK(holder != 0);
    // Another one that raced: its ticket is not taken.
    const std::uint32_t other = bench.read(kCounter, 4);
    CHECK(other != holder);
    bench.write(kSemaphore, 4, other);
    CHECK(bench.read(kSemaphore, 4) == holder);
    CHECK_FALSE(lock(bench));
    bench.write(kSemaphore, 4, 0);
    CHECK(bench.read(kSemaphore, 4) == 0);
    CHECK(lock(bench));
}

TEST_CASE("two functions have two semaphores", "[gateway]") {
    Bench bench;
    REQUIRE(lock(bench));
    CHECK(bench.read(kSemaphore, 4, 1) == 0);
}

TEST_CASE("each read of the counter gives another ticket, a dump gives none", "[gateway]") {
    Bench bench;
    const std::uint32_t first = bench.read(kCounter, 4);
    bench.dump();
    CHECK(bench.read(kCounter, 4) == first + 1);
}

TEST_CASE("a supported space answers reads and writes with the flag protocol", "[gateway]") {
    Bench bench;
    REQUIRE(select(bench, 2));
    bench.write(kData, 4, 0xcafe1234);
    bench.write(kAddress, 4, 0x80000000u | 0xf0014);
    CHECK(bench.read(kAddress, 4) == 0xf0014);  // flag clear: written
    CHECK(bench.device.registers.at(0xf0014) == 0xcafe1234);
    bench.write(kData, 4, 0);
    bench.write(kAddress, 4, 0xf0014);
    CHECK(bench.read(kAddress, 4) == (0x80000000u | 0xf0014));  // flag set: data there
    CHECK(bench.read(kData, 4) == 0xcafe1234);
}

TEST_CASE("an unsupported space shows status 0 and refuses accesses", "[gateway]") {
    Bench bench;
    CHECK_FALSE(select(bench, 7));
    CHECK(bench.read(kControl, 4) == 7);
    bench.write(kAddress, 4, 0x10);
    CHECK((bench.read(kAddress, 4) & 0x40000000) != 0);
    CHECK(bench.endpoint.function({0}).gateway()->statistics().unsupported_spaces == 1);
    CHECK(bench.endpoint.function({0}).gateway()->statistics().syndromes == 1);
}

TEST_CASE("an address out of range sets syndrome and its code", "[gateway]") {
    Bench bench;
    REQUIRE(select(bench, 2));
    bench.write(kAddress, 4, 0x100000);
    CHECK((bench.read(kAddress, 4) >> 30) == 3);        // flag and syndrome
    CHECK((bench.read(kControl, 4) >> 24 & 0xf) == 3);  // address out of range
    bench.write(kAddress, 4, 0x10);
    CHECK((bench.read(kAddress, 4) >> 30) == 2);  // a good access clears it
    CHECK((bench.read(kControl, 4) >> 24 & 0xf) == 0);
}

TEST_CASE("an address written in bytes takes effect with its last byte", "[gateway]") {
    Bench bench;
    REQUIRE(select(bench, 2));
    bench.device.registers[0x20] = 5;
    bench.write(kAddress, 2, 0x20);
    CHECK(bench.read(kData, 4) == 0);
    bench.write(kAddress + 2, 2, 0);
    CHECK(bench.read(kData, 4) == 5);
}

TEST_CASE("without a device no space is supported", "[gateway]") {
    model::Calendar calendar;
    Endpoint endpoint("lonely", calendar, connectx5(), ideal_host());
    const std::uint32_t space = 2;
    endpoint.config_write({0}, kControl, {reinterpret_cast<const std::byte*>(&space), 4});
    std::uint32_t control = 0;
    endpoint.config_read({0}, kControl, {reinterpret_cast<std::byte*>(&control), 4});
    CHECK(control == 2);
}

TEST_CASE("the legacy window reads and writes configuration registers", "[gateway]") {
    Bench bench;
    bench.write(0x58, 4, 0xf0014);
    bench.write(0x5c, 4, 0x1017);
    CHECK(bench.device.registers.at(0xf0014) == 0x1017);
    CHECK(bench.read(0x5c, 4) == 0x1017);
    bench.write(0x58, 4, 0x7ffffffc);
    CHECK(bench.read(0x5c, 4) == 0xbadacce5);
}
