// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/queues/queue_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

constexpr std::uint32_t kRc = 0;

struct LifeBench : QueueBench {
    EqDriver completions = create_eq(6, 1);
    CqDriver cq = create_cq(8, completions.eq->id.number);
};

TEST_CASE("an SQ goes from error through reset to ready and starts at index 0", "[life]") {
    LifeBench bench;
    Sq& sq = bench.create_sq(bench.cq.cq->id.number, 4);
    SqDriver driver = bench.driver_of(sq.id.number, sq.wq);
    for (int i = 0; i < 5; ++i) bench.post_nop(driver);
    bench.ring(driver, bench.post(driver, 0x29, 0, {}));
    bench.run(milliseconds(1));
    CHECK(sq.state == QueueState::error);
    CHECK(bench.drain_cq(bench.cq).size() == 6);

    sq.state = QueueState::reset;
    bench.engines.stopped(sq);
    sq.state = QueueState::ready;
    bench.engines.started(sq);
    driver.producer = 0;
    bench.post_nop(driver);
    bench.run(milliseconds(1));
    const auto seen = bench.drain_cq(bench.cq);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].opcode == 0);
    CHECK(seen[0].wqe_counter == 0);
}

TEST_CASE("a reset QP forgets what was under way", "[life]") {
    for (int ns = 0; ns < 800; ns += 20) {
        LifeBench bench;
        const std::uint32_t cqn = bench.cq.cq->id.number;
        Qp& qp = bench.create_qp(kRc, cqn, cqn, 4);
        SqDriver driver = bench.driver_of(qp.id.number, qp.sq);
        bench.post_nop(driver);
        bench.run(nanoseconds(ns));
        const std::size_t before = bench.drain_cq(bench.cq).size();
        bench.move_qp(qp, QpState::reset);
        bench.run(milliseconds(1));
        CHECK(bench.drain_cq(bench.cq).empty());
        CHECK(before <= 1);
        bench.move_qp(qp, QpState::rts);
        driver.producer = 0;
        bench.post_nop(driver);
        bench.run();
        const auto seen = bench.drain_cq(bench.cq);
        REQUIRE(seen.size() == 1);
        CHECK(seen[0].wqe_counter == 0);
    }
}

TEST_CASE("no event of a destroyed queue reaches its successor of the same number", "[life]") {
    for (const bool told : {true, false}) {
        for (int ns = 0; ns < 800; ns += 20) {
            LifeBench bench;
            Sq* sq = &bench.create_sq(bench.cq.cq->id.number, 4);
            SqDriver driver = bench.driver_of(sq->id.number, sq->wq);
            bench.post_nop(driver);
            bench.run(nanoseconds(ns));
            const std::size_t before = bench.drain_cq(bench.cq).size();
            const ObjectId id = sq->id;
            if (told) bench.engines.destroyed(id);
            bench.resources.destroy(id);
            sq = &bench.create_sq(bench.cq.cq->id.number, 4);
            REQUIRE(sq->id == id);
            bench.run(milliseconds(1));
            CHECK(bench.drain_cq(bench.cq).empty());
            if (told || before == 1)
                CHECK(bench.counters().stale_events == 0);
            else
                CHECK(bench.counters().stale_events == 1);
            driver = bench.driver_of(sq->id.number, sq->wq);
            bench.post_nop(driver);
            bench.run();
            CHECK(bench.drain_cq(bench.cq).size() == 1);
        }
    }
}

TEST_CASE("a reset of the function leaves no event behind", "[life]") {
    LifeBench bench;
    const std::uint32_t cqn = bench.cq.cq->id.number;
    Sq& sq = bench.create_sq(cqn, 4);
    SqDriver driver = bench.driver_of(sq.id.number, sq.wq);
    Qp& qp = bench.create_qp(kRc, cqn, cqn, 4);
    bench.engines.set_moderation(*bench.cq.cq, {}, 100, milliseconds(1));
    bench.arm_cq(bench.cq);
    for (int i = 0; i < 5; ++i) bench.post_nop(driver);
    bench.move_qp(qp, QpState::error);
    bench.run(nanoseconds(650));
    CHECK_FALSE(bench.calendar.empty());
    bench.engines.reset();
    bench.resources.clear();
    CHECK(bench.calendar.empty());
}

TEST_CASE("tables that are cleared without a word make all pending events void", "[life]") {
    LifeBench bench;
    const std::uint32_t cqn = bench.cq.cq->id.number;
    Sq& sq = bench.create_sq(cqn, 4);
    SqDriver driver = bench.driver_of(sq.id.number, sq.wq);
    bench.post_nop(driver);
    Qp& qp = bench.create_qp(kRc, cqn, cqn, 4);
    bench.move_qp(qp, QpState::error);
    bench.resources.clear();
    bench.run(milliseconds(5));
    CHECK(bench.calendar.empty());
    CHECK(bench.counters().stale_events == 2);
}

TEST_CASE("engines that go take their events with them", "[life]") {
    LifeBench bench;
    Calendar calendar;
    const std::uint32_t cqn = bench.cq.cq->id.number;
    {
        QueueEngines engines({FunctionId{0}, bench.resources, bench.host, calendar, bench.timing});
        Sq& sq = bench.create_sq(cqn, 4);
        SqDriver driver = bench.driver_of(sq.id.number, sq.wq);
        const auto doorbell = bench.post(driver, 0, 0, {});
        engines.uar_write({}, bench.uar, 0x800, doorbell);
        CHECK_FALSE(calendar.empty());
    }
    CHECK(calendar.empty());
}

TEST_CASE("queries see the counters of work queues", "[life]") {
    LifeBench bench;
    const std::uint32_t cqn = bench.cq.cq->id.number;
    Sq& sq = bench.create_sq(cqn, 4);
    SqDriver driver = bench.driver_of(sq.id.number, sq.wq);
    bench.post_nop(driver);
    bench.post_nop(driver);
    bench.engines.refresh(sq);
    CHECK(sq.view().get<prm::sqc::wq, prm::wq::sw_counter>() == 2);
    CHECK(sq.view().get<prm::sqc::wq, prm::wq::hw_counter>() == 0);
    bench.run();
    bench.engines.refresh(sq);
    CHECK(sq.view().get<prm::sqc::wq, prm::wq::hw_counter>() == 2);

    Qp& qp = bench.create_qp(kRc, cqn, cqn, 4);
    driver = bench.driver_of(qp.id.number, qp.sq);
    bench.post_nop(driver);
    bench.run();
    bench.engines.refresh(qp);
    CHECK(qp.view().get<prm::qpc::state>() == 3);
    CHECK(qp.view().get<prm::qpc::hw_sq_wqebb_counter>() == 1);
    CHECK(qp.view().get<prm::qpc::sw_sq_wqebb_counter>() == 1);
}

}  // namespace
}  // namespace cxsim::test
