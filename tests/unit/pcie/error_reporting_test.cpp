// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/pcie/connectx5_example.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using namespace cxsim::pcie;
using namespace cxsim::pcie::test;

namespace {
constexpr std::uint32_t kUr = 1u << 20;
constexpr std::uint16_t kDevCtl = kExpress + 0x08;
constexpr std::uint16_t kDevSta = kExpress + 0x0a;
}  // namespace

TEST_CASE("a refused read is an advisory error with its header logged", "[aer]") {
    Bench bench;
    bench.write(0x10, 4, 0xfa000000);
    bench.write(0x14, 4, 0x2);
    bench.write(kAer + 0x14, 4, 0);  // unmask advisory non-fatal
    std::uint32_t value = 0;
    bench.bar_read(0x1234, value);
    CHECK(bench.read(kDevSta, 2) == 0x0009);  // correctable, unsupported request
    CHECK(bench.read(kAer + 0x04, 4) == kUr);
    CHECK(bench.read(kAer + 0x10, 4) == 1u << 13);
    CHECK((bench.read(kAer + 0x18, 4) & 0x1f) == 20);  // first error pointer
    CHECK(bench.read(kAer + 0x1c, 4) == 0x20000001);   // MRd, 4 dword header, one dword
    CHECK(bench.read(kAer + 0x20, 4) == 0x0000000f);   // first byte enables
    CHECK(bench.read(kAer + 0x24, 4) == 0x00000002);
    CHECK(bench.read(kAer + 0x28, 4) == 0xfa001234);
}

TEST_CASE("the first error keeps its header until its status is cleared", "[aer]") {
    Bench bench;
    bench.bar_write(0x10, 0);
    bench.bar_write(0x20, 0);
    CHECK(bench.read(kAer + 0x28, 4) == 0x10);
    bench.write(kAer + 0x04, 4, kUr);
    CHECK(bench.read(kAer + 0x04, 4) == 0);
    bench.bar_write(0x30, 0);
    CHECK(bench.read(kAer + 0x28, 4) == 0x30);
    CHECK(bench.read(kAer + 0x1c, 4) == 0x60000001);  // MWr
}

TEST_CASE("a refused posted write is non-fatal, or fatal as severity says", "[aer]") {
    Bench bench;
    bench.bar_write(0, 0);
    CHECK(bench.read(kDevSta, 2) == 0x000a);
    bench.write(kDevSta, 2, 0x000f);
    CHECK(bench.read(kDevSta, 2) == 0);
    bench.write(kAer + 0x0c, 4, kUr);
    bench.bar_write(0, 0);
    CHECK(bench.read(kDevSta, 2) == 0x000c);
}

TEST_CASE("a masked error sets status and logs no header", "[aer]") {
    Bench bench;
    bench.write(kAer + 0x08, 4, kUr);
    bench.bar_write(0x40, 0);
    CHECK(bench.read(kAer + 0x04, 4) == kUr);
    CHECK(bench.read(kAer + 0x28, 4) == 0);
    CHECK((bench.read(kAer + 0x18, 4) & 0x1f) == 8);  // idle pointer of this card
}

TEST_CASE("error messages go to the root only when reporting is enabled", "[aer]") {
    Bench bench;
    const ErrorStatistics& sent = bench.endpoint.function({0}).errors().statistics();
    bench.bar_write(0, 0);
    CHECK(sent.messages_non_fatal == 0);
    bench.write(kDevCtl, 2, 0x291f & 0xfff7);  // all but unsupported requests
    bench.bar_write(0, 0);
    CHECK(sent.messages_non_fatal == 0);
    bench.write(kDevCtl, 2, 0x291f);
    bench.bar_write(0, 0);
    CHECK(sent.messages_non_fatal == 1);
    bench.write(kAer + 0x14, 4, 0);
    std::uint32_t value = 0;
    bench.bar_read(0, value);
    CHECK(sent.messages_correctable == 1);
    CHECK((bench.read(0x06, 2) & 0x4000) == 0);
    bench.write(0x04, 2, 0x0100);  // SERR#
    bench.bar_write(0, 0);
    CHECK((bench.read(0x06, 2) & 0x4000) != 0);
    CHECK(sent.unsupported_requests == 5);
}

TEST_CASE("reserved AER bits stay zero", "[aer]") {
    Bench bench;
    bench.write(kAer + 0x08, 4, 0xffffffff);
    CHECK(bench.read(kAer + 0x08, 4) == 0x003ff010);
    bench.write(kAer + 0x14, 4, 0xffffffff);
    CHECK(bench.read(kAer + 0x14, 4) == 0x000031c1);
}

TEST_CASE("a DMA read nobody claims is a received master abort", "[aer]") {
    Bench bench;
    bench.enable();
    std::array<std::byte, 8> data{};
    const model::DmaResult result = bench.endpoint.read({0}, {}, {1ull << 40}, data);
    CHECK(result.status == model::DmaStatus::unsupported_request);
    CHECK(result.finish > model::Picoseconds{});
    CHECK((bench.read(0x06, 2) & 0x2000) != 0);
    bench.write(0x06, 2, 0x2000);
    CHECK((bench.read(0x06, 2) & 0x2000) == 0);
    CHECK(bench.endpoint.dma_statistics().refused == 1);
}
