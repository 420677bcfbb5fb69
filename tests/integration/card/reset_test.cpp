// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/card/card_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using namespace cxsim::test;
using prm::Opcode;

namespace {

std::vector<std::byte> alloc_pd() {
    prm::Buffer<prm::alloc_pd_in> in;
    in.view().set<prm::alloc_pd_in::opcode>(Opcode::ALLOC_PD);
    return {in.bytes().begin(), in.bytes().end()};
}

void start_some_commands(CardBench& bench) {
    const auto input = alloc_pd();
    for (int i = 0; i < 5; ++i) {
        bench.driver.commands().submit(input, prm::alloc_pd_out::kBytes);
    }
    bench.host.wait_for(model::microseconds(5));  // fetched, not ended
    REQUIRE(bench.function().commands().in_flight() == 5);
}

void check_works_again(CardBench& bench) {
    bench.bring_up.up();
    CHECK(bench.objects() == 18);
    bench.bring_up.down();
    CHECK(bench.objects() == 0);
    CHECK(bench.pages() == 0);
    CHECK(bench.host.wild_interrupts() == 0);
}

}  // namespace

TEST_CASE("a new driver starts after one that died without teardown", "[card]") {
    CardBench bench;
    bench.bring_up.up();
    const std::uint32_t pages = bench.pages();
    bench.bring_up.abandon();
    CHECK(bench.objects() == 18);
    CHECK(bench.pages() == pages);
    check_works_again(bench);
}

TEST_CASE("a function level reset ends commands under way and everything they built", "[card]") {
    CardBench bench;
    bench.bring_up.up();
    start_some_commands(bench);
    const std::uint64_t interrupts = bench.host.interrupts(0);
    bench.host.function_level_reset();
    bench.bring_up.abandon();
    CHECK(bench.objects() == 0);
    CHECK(bench.pages() == 0);
    CHECK(bench.function().commands().in_flight() == 0);
    CHECK(bench.function().phase() == firmware_stub::Phase::reset);
    CHECK(bench.host.interrupts(0) == interrupts);
    CHECK(bench.card.endpoint().statistics().function_level_resets == 1);
    check_works_again(bench);
}

TEST_CASE("a function is reset at every step of its start", "[card]") {
    CardBench bench;
    for (int step = 0; step < 12; ++step) {
        INFO("step " << step);
        bench.host.enable();
        bench.driver.commands().open();
        if (step % 4 > 0) bench.driver.command("ENABLE_HCA");
        if (step % 4 > 1) bench.driver.command("QUERY_ISSI");
        if (step % 4 > 2) bench.driver.command("QUERY_PAGES", {{"op_mod", 1}});
        bench.host.function_level_reset();
        bench.driver.abandon();
        CHECK(bench.function().phase() == firmware_stub::Phase::reset);
    }
    check_works_again(bench);
}

TEST_CASE("a hot reset takes objects, pages and configuration", "[card]") {
    CardBench bench;
    bench.bring_up.up();
    start_some_commands(bench);
    bench.host.hot_reset();
    bench.bring_up.abandon();
    CHECK(bench.objects() == 0);
    CHECK(bench.pages() == 0);
    CHECK((bench.host.config_read(0x04, 2) & 0x6) == 0);  // memory space, bus mastering
    CHECK_THROWS_AS(bench.host.mmio_read32(0), scenarios::DriverError);
    check_works_again(bench);
}

TEST_CASE("the firmware boots anew after a reset", "[card]") {
    CardBench bench;
    bench.bring_up.up();
    bench.bring_up.down();
    const model::Picoseconds before = bench.host.now();
    bench.card.endpoint().hot_reset();
    bench.host.enable();
    CHECK((bench.host.mmio_read32(0x1fc) >> 31) == 1);
    bench.driver.commands().open();
    CHECK(bench.host.now() - before >= bench.card.firmware().config().initialisation_time);
    CHECK((bench.host.mmio_read32(0x1fc) >> 31) == 0);
}

TEST_CASE("without bus mastering no command is fetched, with it the next one is", "[card]") {
    CardBench bench("connectx5", {}, {.timeout = model::milliseconds(50)});
    bench.driver.start();
    const std::uint32_t command = bench.host.config_read(0x04, 2);
    bench.host.config_write(0x04, command & ~4U, 2);
    CHECK_THROWS_AS(bench.driver.command("ALLOC_PD"), scenarios::DriverTimeout);
    CHECK(bench.function().commands().counters().entries_unreachable == 1);
    bench.driver.commands().abandon();
    bench.host.config_write(0x04, command, 2);
    CHECK(bench.driver.command("ALLOC_PD").contains("pd"));
}
