// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/card/card_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace cxsim;
using namespace cxsim::test;
using Catch::Matchers::ContainsSubstring;
using prm::Opcode;

namespace {

void check_two_rounds(const std::string& card) {
    CardBench bench(card);
    std::uint64_t digests[2] = {};
    for (std::uint64_t& digest : digests) {
        bench.bring_up.up();
        CHECK(bench.objects() == 18);
        CHECK(bench.pages() == bench.driver.pages().held());
        CHECK(bench.pages() > 0);
        digest = bench.function().resources().digest();
        bench.bring_up.down();
        CHECK(bench.objects() == 0);
        CHECK(bench.pages() == 0);
        CHECK(bench.driver.pages().held() == 0);
        CHECK(bench.driver.pages().buffers() == 0);
    }
    CHECK(digests[0] == digests[1]);
    CHECK(bench.statistics.sum().refused == 0);
    CHECK(bench.host.wild_interrupts() == 0);
    CHECK(bench.card.endpoint().statistics().unsupported_requests == 0);
}

}  // namespace

TEST_CASE("a ConnectX-4 Lx comes up twice alike and leaves nothing", "[card]") {
    check_two_rounds("connectx4lx");
}

TEST_CASE("a ConnectX-5 comes up twice alike and leaves nothing", "[card]") {
    check_two_rounds("connectx5");
}

TEST_CASE("a ConnectX-6 Dx comes up twice alike and leaves nothing", "[card]") {
    check_two_rounds("connectx6dx");
}

TEST_CASE("a ConnectX-7 comes up twice alike and leaves nothing", "[card]") {
    check_two_rounds("connectx7");
}

TEST_CASE("commands end by event once there is a command event queue", "[card]") {
    CardBench bench;
    bench.driver.start();
    CHECK_FALSE(bench.driver.commands().uses_events());
    CHECK(bench.host.interrupts(0) == 0);
    bench.driver.open_events();
    CHECK(bench.driver.commands().uses_events());
    const std::uint64_t before = bench.host.interrupts(0);
    bench.driver.run<prm::alloc_pd_in, prm::alloc_pd_out>(Opcode::ALLOC_PD, [](auto) {});
    CHECK(bench.host.interrupts(0) == before + 1);
}

TEST_CASE("bytes told per command add up to what the command queue moved", "[card]") {
    CardBench bench;
    bench.bring_up.up();
    bench.bring_up.down();
    const auto& counters = bench.function().commands().counters();
    CHECK(bench.statistics.sum().dma_bytes == counters.dma_read_bytes + counters.dma_written_bytes);
    CHECK(bench.statistics.sum().count == counters.commands);
}

TEST_CASE("a send queue wraps around and keeps completing", "[card]") {
    CardBench bench;
    bench.bring_up.up();
    for (int i = 0; i < 200; ++i) bench.bring_up.post_nops(1 + static_cast<unsigned>(i % 5));
    CHECK(bench.bring_up.completions() == 201);
    bench.bring_up.down();
    CHECK(bench.objects() == 0);
}

TEST_CASE("commands can be given by name", "[card]") {
    CardBench bench;
    bench.driver.start();
    bench.driver.open_events();
    const auto pd = bench.driver.command("ALLOC_PD").at("pd").get<std::uint32_t>();
    CHECK(bench.function().resources().pds.find(pd) != nullptr);
    CHECK(bench.driver.command("DEALLOC_PD", {{"pd", pd}}).is_object());
    CHECK_THROWS_WITH(bench.driver.command("DEALLOC_PD", {{"pd", pd}}),
                      ContainsSubstring("DEALLOC_PD was refused: BAD_RES"));
    CHECK_THROWS_WITH(bench.driver.command("DEALLOC_PD", {{"pdd", pd}}), ContainsSubstring("pdd"));
    CHECK_THROWS_WITH(bench.driver.command("ALLOC_PDD"), ContainsSubstring("ALLOC_PDD"));
    try {
        bench.driver.command("DESTROY_CQ", {{"cqn", 0x777}});
        FAIL("an unknown CQ was destroyed");
    } catch (const scenarios::CommandFailed& error) {
        CHECK(error.opcode() == static_cast<std::uint16_t>(Opcode::DESTROY_CQ));
        CHECK(error.delivery() == prm::DeliveryStatus::OK);
        CHECK(error.status() == prm::Status::BAD_RES_STATE);
        CHECK(error.syndrome() == 0x1870ad);
    }
}

TEST_CASE("a refused command says its status and syndrome", "[card]") {
    CardBench bench;
    bench.driver.start();
    CHECK_THROWS_WITH((bench.driver.run<prm::query_hca_cap_in, prm::query_hca_cap_out>(
                          Opcode::QUERY_HCA_CAP, [](auto) {}, {}, 0x7ff << 1)),
                      ContainsSubstring("BAD_PARAM") && ContainsSubstring("0x5add95"));
}

TEST_CASE("a driver of a dead card is told who waits for whom", "[card]") {
    CardBench bench("connectx5", {}, {.timeout = model::milliseconds(50)});
    bench.bring_up.up();
    bench.card.firmware().raise_internal_error(model::FunctionId{0}, 0x8, 0);
    CHECK_THROWS_WITH(
        (bench.driver.run<prm::alloc_pd_in, prm::alloc_pd_out>(Opcode::ALLOC_PD, [](auto) {})),
        ContainsSubstring("ALLOC_PD in slot 0") && ContainsSubstring("waits for a command event") &&
            ContainsSubstring("belongs to the card") && ContainsSubstring("health syndrome 0x8"));
}
