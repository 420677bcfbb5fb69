// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/pcie/connectx5_example.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using namespace cxsim::pcie;
using namespace cxsim::pcie::test;

namespace {

constexpr std::uint64_t kTable = 0x2000;
constexpr std::uint64_t kPba = 0x3000;

void program(Bench& bench, unsigned vector, std::uint32_t data, std::uint32_t control) {
    const std::uint64_t at = kTable + 16ull * vector;
    bench.bar_write(at, 0xfee00000);
    bench.bar_write(at + 4, 0);
    bench.bar_write(at + 8, data);
    bench.bar_write(at + 12, control);
}

std::uint32_t bar(Bench& bench, std::uint64_t at) {
    std::uint32_t value = 0;
    bench.bar_read(at, value);
    return value;
}

void enable_msix(Bench& bench) {
    bench.write(kMsix + 2, 2, 0x8000);
}

}  // namespace

TEST_CASE("an enabled unmasked vector sends its message", "[msix]") {
    Bench bench;
    bench.enable();
    program(bench, 5, 0x4031, 0);
    enable_msix(bench);
    const model::Picoseconds arrival = bench.endpoint.raise_interrupt({0}, {1000}, 5);
    CHECK(bench.sink.received.empty());
    bench.run();
    REQUIRE(bench.sink.received.size() == 1);
    CHECK(bench.sink.received[0].vector == 5);
    CHECK(bench.sink.received[0].message.address == 0xfee00000);
    CHECK(bench.sink.received[0].message.data == 0x4031);
    CHECK(bench.sink.received[0].at == arrival);
    CHECK(arrival > model::nanoseconds(75));  // at least the way over the link
}

TEST_CASE("table entries are masked after reset and hold only existing bits", "[msix]") {
    Bench bench;
    bench.enable();
    CHECK(bar(bench, kTable + 12) == 1);
    bench.bar_write(kTable, 0xffffffff);
    bench.bar_write(kTable + 12, 0xffffffff);
    CHECK(bar(bench, kTable) == 0xfffffffc);
    CHECK(bar(bench, kTable + 12) == 1);
    CHECK(bench.device.writes.empty());  // the device never sees table accesses
}

TEST_CASE("an access across the end of the table reaches table and device", "[msix]") {
    Bench bench;
    bench.enable();
    std::array<std::byte, 16> data;
    data.fill(std::byte{0xab});
    // 64 vectors end at 0x2400.
    REQUIRE(bench.endpoint.bar_write({0}, {}, 0x23f8, data).ok());
    REQUIRE(bench.device.writes.size() == 1);
    CHECK(bench.device.writes[0].offset == 0x2400);
    CHECK(bench.device.writes[0].bytes.size() == 8);
    CHECK(bar(bench, 0x23f8) == 0xabababab);
    CHECK(bar(bench, 0x23fc) == 1);
    CHECK(bar(bench, 0x2400) == 0xabababab);
}

TEST_CASE("a masked vector becomes pending and fires once when unmasked", "[msix]") {
    Bench bench;
    bench.enable();
    program(bench, 40, 7, 1);
    enable_msix(bench);
    bench.endpoint.raise_interrupt({0}, {}, 40);
    bench.endpoint.raise_interrupt({0}, {}, 40);
    bench.run();
    CHECK(bench.sink.received.empty());
    CHECK(bar(bench, kPba + 4) == 1u << 8);  // bit 40
    CHECK(bench.endpoint.statistics().interrupts_pending == 2);
    bench.bar_write(kPba + 4, 0);  // read-only
    CHECK(bar(bench, kPba + 4) == 1u << 8);
    bench.bar_write(kTable + 16 * 40 + 12, 0);
    bench.run();
    REQUIRE(bench.sink.received.size() == 1);
    CHECK(bench.sink.received[0].vector == 40);
    CHECK(bar(bench, kPba + 4) == 0);
}

TEST_CASE("the function mask holds back all vectors", "[msix]") {
    Bench bench;
    bench.enable();
    program(bench, 0, 1, 0);
    program(bench, 63, 2, 0);
    bench.write(kMsix + 2, 2, 0xc000);
    bench.endpoint.raise_interrupt({0}, {}, 63);
    bench.endpoint.raise_interrupt({0}, {}, 0);
    bench.run();
    CHECK(bench.sink.received.empty());
    bench.write(kMsix + 2, 2, 0x8000);
    bench.run();
    REQUIRE(bench.sink.received.size() == 2);
    CHECK(bench.sink.received[0].vector == 0);
    CHECK(bench.sink.received[1].vector == 63);
}

TEST_CASE("without bus master messages wait, with MSI-X off they are lost", "[msix]") {
    Bench bench;
    bench.enable();
    program(bench, 1, 1, 0);
    bench.endpoint.raise_interrupt({0}, {}, 1);
    CHECK(bench.endpoint.statistics().interrupts_disabled == 1);
    enable_msix(bench);
    bench.run();
    CHECK(bench.sink.received.empty());
    bench.write(0x04, 2, 0x0002);
    bench.endpoint.raise_interrupt({0}, {}, 1);
    bench.run();
    CHECK(bench.sink.received.empty());
    bench.write(0x04, 2, 0x0006);
    bench.run();
    CHECK(bench.sink.received.size() == 1);
}

TEST_CASE("vectors beyond the table and functions beyond the card are ignored", "[msix]") {
    Bench bench;
    bench.enable();
    enable_msix(bench);
    bench.endpoint.raise_interrupt({0}, {}, 64);
    bench.endpoint.raise_interrupt({9}, {}, 0);
    bench.run();
    CHECK(bench.sink.received.empty());
    CHECK(bench.endpoint.statistics().interrupts_no_vector == 2);
}

TEST_CASE("a message follows the function's earlier writes", "[msix]") {
    Bench bench;
    bench.enable();
    program(bench, 0, 1, 0);
    enable_msix(bench);
    std::vector<std::byte> data(64 * 1024);
    const model::DmaResult write = bench.endpoint.write({0}, {}, {0x100000}, data);
    const model::Picoseconds arrival = bench.endpoint.raise_interrupt({0}, {}, 0);
    CHECK(arrival > write.finish);
}

TEST_CASE("a message in flight at a function level reset is dropped and counted", "[msix]") {
    Bench bench;
    bench.enable();
    program(bench, 0, 1, 0);
    enable_msix(bench);
    bench.endpoint.raise_interrupt({0}, {}, 0);
    bench.endpoint.function_level_reset({0});
    bench.run();
    CHECK(bench.sink.received.empty());
    CHECK(bench.endpoint.statistics().interrupts_lost_in_reset == 1);
}

TEST_CASE("a host that owns the table programs vectors directly", "[msix]") {
    Bench bench;
    bench.enable();
    enable_msix(bench);
    bench.endpoint.raise_interrupt({1}, {}, 3);
    bench.enable(1);
    bench.write(kMsix + 2, 2, 0x8000, 1);
    bench.endpoint.raise_interrupt({1}, {}, 3);
    bench.endpoint.program_vector({1}, 3, {0xfee01000, 9}, false);
    bench.endpoint.program_vector({1}, 64, {0xfee01000, 9}, false);  // no such vector
    bench.run();
    REQUIRE(bench.sink.received.size() == 1);
    CHECK(bench.sink.received[0].function.value == 1);
    CHECK(bench.sink.received[0].message.data == 9);
}
