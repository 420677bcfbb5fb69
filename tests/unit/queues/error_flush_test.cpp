// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/queues/queue_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

constexpr std::uint32_t kRc = 0;
constexpr std::uint32_t kUd = 2;

struct FlushBench : QueueBench {
    EqDriver async = create_eq(6, 0, {0x04, 0x05, 0x13});
    EqDriver completions = create_eq(6, 1);
    CqDriver send_cq = create_cq(8, completions.eq->id.number);
    CqDriver receive_cq = create_cq(8, completions.eq->id.number);

    Qp& make_qp(QpState state = QpState::rts, std::uint32_t type = kRc) {
        return create_qp(type, send_cq.cq->id.number, receive_cq.cq->id.number, 4, state);
    }
    void post_receives(Qp& qp, std::uint16_t counter) {
        host.store_be<std::uint32_t>(qp.rq.doorbell_record.value, counter);
    }
};

TEST_CASE("the root cause comes first, then one flush per WQE in order", "[flush]") {
    FlushBench bench;
    Qp& qp = bench.make_qp();
    SqDriver driver = bench.driver_of(qp.id.number, qp.sq);
    bench.post(driver, 0, 0, {}, 0);
    bench.post(driver, 0x08, 0, {}, 0);                           // refused
    bench.post(driver, 0x0a, 0, std::vector<std::byte>(100), 0);  // two blocks, unsignaled
    bench.ring(driver, bench.post(driver, 0, 0, {}));
    bench.run(microseconds(10));
    auto seen = bench.drain_cq(bench.send_cq);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].wqe_counter == 1);
    CHECK(seen[0].syndrome == 0x02);
    CHECK(seen[0].send_opcode == 0x08);
    CHECK(qp.state == QpState::error);
    bench.run(microseconds(100));
    seen = bench.drain_cq(bench.send_cq);
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].wqe_counter == 2);
    CHECK(seen[0].send_opcode == 0x0a);
    CHECK(seen[1].wqe_counter == 4);
    for (const SeenCqe& cqe : seen) {
        CHECK(cqe.opcode == 13);
        CHECK(cqe.syndrome == 0x05);
        CHECK(cqe.vendor == 0xf9);
        CHECK(cqe.queue == qp.id.number);
    }
    bench.run(milliseconds(5));
    CHECK(bench.drain_cq(bench.send_cq).empty());
    CHECK(bench.counters().flushed_send_wqes == 2);
    CHECK(bench.counters().error_cqes == 3);
}

TEST_CASE("a move to error by software: 0xf5 first, then 0xf9; receives 0xf4", "[flush]") {
    FlushBench bench;
    Qp& qp = bench.make_qp(QpState::sq_drained);
    SqDriver driver = bench.driver_of(qp.id.number, qp.sq);
    for (int i = 0; i < 3; ++i) bench.post_nop(driver);
    bench.post_receives(qp, 3);
    bench.move_qp(qp, QpState::error);
    bench.run(milliseconds(1));
    const auto sent = bench.drain_cq(bench.send_cq);
    REQUIRE(sent.size() == 3);
    CHECK(sent[0].vendor == 0xf5);
    CHECK(sent[1].vendor == 0xf9);
    CHECK(sent[2].vendor == 0xf9);
    const auto received = bench.drain_cq(bench.receive_cq);
    REQUIRE(received.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(received[i].opcode == 14);
        CHECK(received[i].syndrome == 0x05);
        CHECK(received[i].vendor == (i == 0 ? 0xf4 : 0xf9));
        CHECK(received[i].wqe_counter == i);
        CHECK(received[i].queue == qp.id.number);
    }
    CHECK(bench.counters().flushed_receive_wqes == 3);
}

TEST_CASE("work that is under way when software moves the queue ends exactly once", "[flush]") {
    // Every moment from the doorbell to well behind the completion.
    for (int ns = 0; ns < 1200; ns += 10) {
        FlushBench bench;
        Qp& qp = bench.make_qp();
        SqDriver driver = bench.driver_of(qp.id.number, qp.sq);
        bench.post(driver, 0, 0, {});
        bench.ring(driver, bench.post(driver, 0, 0, {}));
        bench.run(nanoseconds(ns));
        bench.move_qp(qp, QpState::error);
        bench.run(milliseconds(1));
        const auto seen = bench.drain_cq(bench.send_cq);
        REQUIRE(seen.size() == 2);
        CHECK(seen[0].wqe_counter == 0);
        CHECK(seen[1].wqe_counter == 1);
        CHECK(seen[0].opcode <= seen[1].opcode);  // no success behind a flush
    }
}

// ib_drain_qp: the queue is in error already, then a last WQE is posted on each side.
TEST_CASE("WQEs posted to a QP in error are flushed too", "[flush]") {
    FlushBench bench;
    Qp& qp = bench.make_qp();
    SqDriver driver = bench.driver_of(qp.id.number, qp.sq);
    bench.move_qp(qp, QpState::error);
    bench.run(microseconds(30));
    bench.post_nop(driver);
    bench.run(microseconds(2));
    CHECK(bench.drain_cq(bench.send_cq).size() == 1);  // the doorbell asks at once
    bench.post_receives(qp, 1);                        // no doorbell
    bench.run(microseconds(73));
    CHECK(bench.drain_cq(bench.receive_cq).size() == 1);

    bench.run(milliseconds(100));  // scans have become rare
    bench.post_receives(qp, 2);
    bench.run(milliseconds(2));
    CHECK(bench.drain_cq(bench.receive_cq).size() == 1);
}

TEST_CASE("scans of an idle queue in error become rare", "[flush]") {
    FlushBench bench;
    bench.make_qp();
    Qp& qp = bench.make_qp();
    bench.move_qp(qp, QpState::error);
    bench.run(milliseconds(20));
    const std::uint64_t before = bench.counters().doorbell_record_scans;
    bench.run(milliseconds(100));
    CHECK(bench.counters().doorbell_record_scans - before <= 101);
    bench.post_receives(qp, 1);
    bench.run(milliseconds(2));
    CHECK(bench.drain_cq(bench.receive_cq).size() == 1);
}

TEST_CASE("without its doorbell record no WQE completes, not even the bad one", "[flush]") {
    FlushBench bench;
    Qp& qp = bench.make_qp();
    SqDriver driver = bench.driver_of(qp.id.number, qp.sq);
    const auto doorbell = bench.post(driver, 0x08, 0, {});
    bench.engines.uar_write(bench.calendar.now(), bench.uar, 0x800, doorbell);
    bench.run(milliseconds(1));
    CHECK(qp.state == QpState::error);
    CHECK(bench.drain_cq(bench.send_cq).empty());
    bench.write_record(driver);
    bench.run(microseconds(73));
    const auto seen = bench.drain_cq(bench.send_cq);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].syndrome == 0x02);
}

TEST_CASE("a doorbell record that promises more than the ring holds is not believed", "[flush]") {
    FlushBench bench;
    Qp& qp = bench.make_qp(QpState::init);
    bench.host.store_be<std::uint32_t>(qp.sq.doorbell_record.value + 4, 0x7000);
    bench.post_receives(qp, 0x7000);
    bench.move_qp(qp, QpState::error);
    bench.run(milliseconds(1));
    CHECK(bench.drain_cq(bench.send_cq).empty());
    CHECK(bench.drain_cq(bench.receive_cq).empty());
}

TEST_CASE("receives posted before RTR are flushed", "[flush]") {
    FlushBench bench;
    Qp& qp = bench.make_qp(QpState::init);
    bench.post_receives(qp, 5);
    bench.move_qp(qp, QpState::error);
    bench.run(milliseconds(1));
    CHECK(bench.drain_cq(bench.receive_cq).size() == 5);
}

TEST_CASE("receive counters wrap around 16 bits", "[flush]") {
    FlushBench bench;
    Qp& qp = bench.make_qp();
    qp.rq.consumer = 0xfffe;
    bench.post_receives(qp, 3);
    bench.move_qp(qp, QpState::error);
    bench.run(milliseconds(1));
    const auto seen = bench.drain_cq(bench.receive_cq);
    REQUIRE(seen.size() == 5);
    CHECK(seen[0].wqe_counter == 0xfffe);
    CHECK(seen[4].wqe_counter == 2);
}

TEST_CASE("an SRQ's QP reports its last WQE and flushes no receives", "[flush]") {
    FlushBench bench;
    Qp& qp = bench.make_qp();
    qp.view().set<prm::qpc::rq_type>(1U);
    bench.post_receives(qp, 5);
    bench.move_qp(qp, QpState::error);
    bench.run(milliseconds(1));
    CHECK(bench.drain_cq(bench.receive_cq).empty());
    const auto eqe = bench.poll_eq(bench.async);
    REQUIRE(eqe);
    CHECK(eqe->type == 0x13);
    CHECK(eqe->data[20] == std::byte{0});
    CHECK((eqe->number() & 0xffffff) == qp.id.number);
    CHECK_FALSE(bench.poll_eq(bench.async));
    bench.move_qp(qp, QpState::error);  // again: no second event
    CHECK_FALSE(bench.poll_eq(bench.async));
}

TEST_CASE("SQ error flushes sends, error then also receives", "[flush]") {
    FlushBench bench;
    Qp& qp = bench.make_qp(QpState::rts, kUd);
    SqDriver driver = bench.driver_of(qp.id.number, qp.sq);
    bench.post_receives(qp, 2);
    bench.post(driver, 0x0a, 0, {});  // no address vector
    bench.ring(driver, bench.post(driver, 0, 0, {}));
    bench.run(milliseconds(1));
    CHECK(qp.state == QpState::sq_error);
    CHECK(bench.drain_cq(bench.send_cq).size() == 2);
    CHECK(bench.drain_cq(bench.receive_cq).empty());
    bench.move_qp(qp, QpState::error);
    bench.run(milliseconds(1));
    CHECK(bench.drain_cq(bench.send_cq).empty());
    CHECK(bench.drain_cq(bench.receive_cq).size() == 2);
}

TEST_CASE("a QP leaves SQ error for RTS and works again", "[flush]") {
    FlushBench bench;
    Qp& qp = bench.make_qp(QpState::rts, kUd);
    SqDriver driver = bench.driver_of(qp.id.number, qp.sq);
    bench.ring(driver, bench.post(driver, 0x0a, 0, {}));
    bench.run(milliseconds(1));
    CHECK(bench.drain_cq(bench.send_cq).size() == 1);
    bench.move_qp(qp, QpState::rts);
    bench.post_nop(driver);
    bench.run(milliseconds(1));
    const auto seen = bench.drain_cq(bench.send_cq);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].opcode == 0);
    CHECK(seen[0].wqe_counter == 1);
}

TEST_CASE("an SQ flushes if its context asks for it", "[flush]") {
    for (const bool flush : {true, false}) {
        FlushBench bench;
        Sq& sq = bench.create_sq(bench.send_cq.cq->id.number, 4);
        sq.view().set<prm::sqc::flush_in_error_en>(flush);
        SqDriver driver = bench.driver_of(sq.id.number, sq.wq);
        bench.post(driver, 0, 0, {});
        bench.post(driver, 0, 0, {});
        bench.write_record(driver);
        sq.state = QueueState::error;
        bench.engines.stopped(sq);
        bench.run(milliseconds(1));
        CHECK(bench.drain_cq(bench.send_cq).size() == (flush ? 2 : 0));
        bench.post_nop(driver);
        bench.run(milliseconds(1));
        CHECK(bench.drain_cq(bench.send_cq).size() == (flush ? 1 : 0));
    }
}

TEST_CASE("an SQ that does not flush still reports its bad WQE", "[flush]") {
    FlushBench bench;
    Sq& sq = bench.create_sq(bench.send_cq.cq->id.number, 4);
    sq.view().set<prm::sqc::flush_in_error_en>(0U);
    SqDriver driver = bench.driver_of(sq.id.number, sq.wq);
    bench.post(driver, 0x29, 0, {}, 0);
    bench.ring(driver, bench.post(driver, 0, 0, {}));
    bench.run(milliseconds(5));
    const auto seen = bench.drain_cq(bench.send_cq);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].syndrome == 0x02);
    CHECK(bench.calendar.empty());
}

Rq& make_rq(FlushBench& bench, std::uint32_t wq_type) {
    Rq& rq = *bench.resources.rqs.create();
    rq.cqn = bench.receive_cq.cq->id.number;
    rq.view().set<prm::rqc::flush_in_error_en>(1U);
    rq.view().set<prm::rqc::user_index>(0xffffffU);
    rq.view().set<prm::rqc::wq, prm::wq::wq_type>(wq_type);
    bench.fill_wq(rq.wq, 3, 6);
    rq.state = QueueState::ready;
    bench.engines.started(rq);
    return rq;
}

void stop(FlushBench& bench, Rq& rq) {
    rq.state = QueueState::error;
    bench.engines.stopped(rq);
    bench.run(milliseconds(1));
}

TEST_CASE("a cyclic RQ is flushed by counter", "[flush]") {
    FlushBench bench;
    Rq& rq = make_rq(bench, 1);
    bench.host.store_be<std::uint32_t>(rq.wq.doorbell_record.value, 8);
    stop(bench, rq);
    const auto seen = bench.drain_cq(bench.receive_cq);
    REQUIRE(seen.size() == 8);
    CHECK(seen[7].wqe_counter == 7);
    CHECK(seen[7].queue == rq.id.number);
}

TEST_CASE("a linked RQ is flushed along its list, a striding one names the WQE", "[flush]") {
    FlushBench bench;
    Rq& rq = make_rq(bench, 2);
    const std::array<std::uint16_t, 8> next{3, 7, 1, 5, 0, 2, 4, 6};
    for (std::uint64_t i = 0; i < 8; ++i) {
        bench.host.store_be<std::uint16_t>(rq.wq.ring.address(i * 64).value + 2, next[i]);
    }
    bench.host.store_be<std::uint32_t>(rq.wq.doorbell_record.value, 5);
    stop(bench, rq);
    const auto seen = bench.drain_cq(bench.receive_cq);
    REQUIRE(seen.size() == 5);
    const std::array<std::uint32_t, 5> order{0, 3, 5, 2, 1};
    for (std::size_t i = 0; i < order.size(); ++i) {
        CHECK(seen[i].wqe_counter == order[i]);
        CHECK(load_be<std::uint16_t>(seen[i].bytes.data() + 2) == order[i]);
    }
}

TEST_CASE("an RQ over an RMP has nothing to flush", "[flush]") {
    FlushBench bench;
    Rq& rq = make_rq(bench, 1);
    rq.view().set<prm::rqc::mem_rq_type>(1U);
    bench.host.store_be<std::uint32_t>(rq.wq.doorbell_record.value, 4);
    stop(bench, rq);
    CHECK(bench.drain_cq(bench.receive_cq).empty());
}

TEST_CASE("a host that refuses the doorbell record is asked again", "[flush]") {
    FlushBench bench;
    Qp& qp = bench.make_qp();
    bench.post_receives(qp, 2);
    bench.host.refuse(qp.rq.doorbell_record.value, 8);
    bench.move_qp(qp, QpState::error);
    bench.run(milliseconds(3));
    CHECK(bench.counters().doorbell_record_failures >= 2);
    bench.host.allow_all();
    bench.run(milliseconds(2));
    CHECK(bench.drain_cq(bench.receive_cq).size() == 2);
}

}  // namespace
}  // namespace cxsim::test
