// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/queues/queue_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

struct UarBench : QueueBench {
    EqDriver eq = create_eq(4, 0);
    CqDriver cq = create_cq(4, eq.eq->id.number);
    Sq& sq = create_sq(cq.cq->id.number, 4);
    SqDriver driver = driver_of(sq.id.number, sq.wq);

    void write(std::uint32_t offset, std::span<const std::byte> data) {
        engines.uar_write(calendar.now(), uar, offset, data);
    }
};

TEST_CASE("a page that the function has not allocated ignores writes", "[uar]") {
    UarBench bench;
    const std::array<std::byte, 8> data{};
    bench.engines.uar_write({}, bench.uar + 1, 0x800, data);
    bench.engines.uar_write({}, std::uint64_t{1} << 40, 0x800, data);
    CHECK(bench.counters().uar_not_allocated == 2);
    CHECK(bench.counters().send_doorbells == 0);
}

TEST_CASE("what is no doorbell is ignored and counted", "[uar]") {
    UarBench bench;
    const std::array<std::byte, 512> data{};
    const std::span<const std::byte> bytes(data);
    bench.write(0x30, bytes.first(8));
    bench.write(0x40, bytes.first(8));
    bench.write(0x20, bytes.first(16));
    bench.write(0x24, bytes.first(4));  // second half without the first
    bench.write(0x41, bytes.first(4));
    bench.write(0x40, bytes.first(3));
    bench.write(0x800, bytes.first(260));
    bench.write(0xff8, bytes.first(16));
    bench.write(0x5000, bytes.first(4));
    bench.write(0x40, bytes.first(0));
    CHECK(bench.counters().uar_bad_write == 10);
}

TEST_CASE("UAR pages read as zeros", "[uar]") {
    UarBench bench;
    std::array<std::byte, 8> into{};
    into.fill(std::byte{0xaa});
    bench.engines.uar_read(bench.uar, 0x20, into);
    CHECK(into == std::array<std::byte, 8>{});
}

TEST_CASE("an arm doorbell may come in two halves", "[uar]") {
    UarBench bench;
    bench.update_eq(bench.eq, true);
    std::array<std::byte, 8> doorbell{};
    store_be<std::uint32_t>(doorbell.data() + 4, bench.cq.cq->id.number);
    bench.write(0x20, std::span(doorbell).first(4));
    CHECK(bench.cq.cq->arm == CqArm::none);
    bench.write(0x24, std::span(doorbell).last(4));
    CHECK(bench.cq.cq->arm == CqArm::any);
    CHECK(bench.counters().cq_arms == 1);
}

TEST_CASE("doorbells that name nothing are counted", "[uar]") {
    UarBench bench;
    std::array<std::byte, 8> doorbell{};
    store_be<std::uint32_t>(doorbell.data() + 4, 0x777U);
    bench.write(0x20, doorbell);
    std::array<std::byte, 4> eq{};
    store_be<std::uint32_t>(eq.data(), 0xee000000U);
    bench.write(0x40, eq);
    store_be<std::uint32_t>(doorbell.data() + 4, 0x77701U);
    bench.write(0x800, doorbell);
    CHECK(bench.counters().doorbell_unknown_object == 3);
}

TEST_CASE("a doorbell in another page than the object's own is ignored", "[uar]") {
    UarBench bench;
    bench.uar = bench.resources.uars.create()->id.number;
    bench.arm_cq(bench.cq);
    bench.update_eq(bench.eq, true);
    bench.post_nop(bench.driver);
    bench.run();
    CHECK(bench.counters().doorbell_wrong_uar == 3);
    CHECK(bench.cq.cq->arm == CqArm::none);
    CHECK_FALSE(bench.eq.eq->armed);
    CHECK_FALSE(bench.poll_cq(bench.cq));
}

TEST_CASE("send doorbells work in all BlueFlame buffers and in halves", "[uar]") {
    UarBench bench;
    for (std::uint32_t offset = 0x800; offset < 0x1000; offset += 0x100) {
        const auto doorbell = bench.post(bench.driver, 0, 0, {});
        bench.write_record(bench.driver);
        bench.write(offset, std::span(doorbell).first(4));
        bench.run();
        CHECK_FALSE(bench.poll_cq(bench.cq));
        bench.write(offset + 4, std::span(doorbell).last(4));
        bench.run();
        CHECK(bench.poll_cq(bench.cq));
        bench.update_cq(bench.cq);
    }
    CHECK(bench.counters().send_doorbells == 8);
}

// The WQE of the BlueFlame copy asks for a completion, the one in the ring does not: as the
// driver's test of write combining does.
std::array<std::byte, 64> blue_flame_nop(UarBench& bench) {
    std::array<std::byte, 64> copy{};
    bench.post(bench.driver, 0, 0, {}, 0);
    bench.write_record(bench.driver);
    bench.host.peek(bench.driver.ring + std::uint64_t{bench.driver.producer - 1U} * 64, copy);
    prm::View<prm::wqe_ctrl_seg>(copy).set<prm::wqe_ctrl_seg::ce>(2U);
    return copy;
}

TEST_CASE("where BlueFlame arrives store by store a doorbell waits for the rest", "[uar]") {
    UarBench bench;
    const auto store = [&](std::span<const std::byte> copy, std::uint32_t bytes) {
        for (std::uint32_t at = 0; at < bytes; at += 8) bench.write(0x800 + at, copy.subspan(at, 8));
    };
    // The first one is rung at its first store; its page is known from then on.
    store(blue_flame_nop(bench), 64);
    bench.run();
    bench.poll_cq(bench.cq);
    bench.update_cq(bench.cq);
    // Whole: taken from the buffer, although the ring's WQE asks for no completion.
    const std::uint64_t taken = bench.counters().blue_flame_wqes;
    store(blue_flame_nop(bench), 64);
    bench.run();
    CHECK(bench.poll_cq(bench.cq));
    bench.update_cq(bench.cq);
    CHECK(bench.counters().blue_flame_wqes == taken + 1);
    CHECK(bench.engines.doorbells_held() == 0);
    // A doorbell alone: rung after the wait, the WQE comes from the ring.
    const std::uint64_t rung = bench.counters().send_doorbells;
    store(blue_flame_nop(bench), 8);
    bench.run();
    CHECK(bench.counters().send_doorbells == rung);
    CHECK(bench.engines.doorbells_held() == 1);
    bench.run(microseconds(100));
    CHECK(bench.counters().send_doorbells == rung + 1);
    CHECK(bench.engines.doorbells_held() == 0);
    CHECK_FALSE(bench.poll_cq(bench.cq));
    // The next doorbell in the buffer ends the wait of the one before.
    store(blue_flame_nop(bench), 8);
    store(blue_flame_nop(bench), 16);
    CHECK(bench.counters().send_doorbells == rung + 2);
    CHECK(bench.engines.doorbells_held() == 1);
    bench.run(microseconds(100));
    CHECK(bench.counters().send_doorbells == rung + 3);
    CHECK(bench.engines.doorbells_held() == 0);
}

TEST_CASE("a WQE that came whole through BlueFlame is executed without a read", "[uar]") {
    for (const bool split : {false, true}) {
        UarBench bench;
        const auto copy = blue_flame_nop(bench);
        if (split) {
            for (std::uint32_t at = 0; at < 64; at += 8) {
                bench.write(0x900 + at, std::span(copy).subspan(at, 8));
            }
        } else {
            bench.write(0x900, copy);
        }
        bench.run();
        CHECK(bench.poll_cq(bench.cq));
        CHECK(bench.counters().blue_flame_wqes == 1);
        CHECK(bench.counters().send_doorbells == 1);
        CHECK(std::ranges::all_of(bench.host.accesses, [](auto& a) { return a.write; }));
    }
}

TEST_CASE("an incomplete BlueFlame copy is a doorbell, no more", "[uar]") {
    UarBench bench;
    const auto copy = blue_flame_nop(bench);
    bench.write(0x800, std::span(copy).first(56));
    bench.run();
    CHECK_FALSE(bench.poll_cq(bench.cq));
    CHECK(bench.counters().wqes == 1);
    CHECK(bench.counters().blue_flame_wqes == 0);
}

TEST_CASE("a BlueFlame copy that is not next in the queue is fetched from the ring", "[uar]") {
    UarBench bench;
    bench.post(bench.driver, 0, 0, {}, 0);
    const auto copy = blue_flame_nop(bench);  // of the second WQE
    bench.write(0x800, copy);
    bench.run();
    CHECK(bench.counters().wqes == 2);
    CHECK(bench.counters().blue_flame_wqes == 0);
}

TEST_CASE("BlueFlame copies that follow each other at once need no read", "[uar]") {
    UarBench bench;
    Sq& other = bench.create_sq(bench.cq.cq->id.number, 4);
    SqDriver other_driver = bench.driver_of(other.id.number, other.wq);
    // Two of one queue and one of another, in one buffer, before the card comes to the first.
    bench.write(0x800, blue_flame_nop(bench));
    bench.write(0x800, blue_flame_nop(bench));
    std::swap(bench.driver, other_driver);
    bench.write(0x800, blue_flame_nop(bench));
    bench.run();
    CHECK(bench.counters().blue_flame_wqes == 3);
    CHECK(bench.counters().wqes == 3);
    CHECK(std::ranges::all_of(bench.host.accesses, [](auto& a) { return a.write; }));
}

}  // namespace
}  // namespace cxsim::test
