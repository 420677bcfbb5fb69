// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/queues/queue_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

// A bench with one EQ for completions, one for asynchronous events, and one CQ.
struct CqBench : QueueBench {
    explicit CqBench(std::uint32_t log_size = 3, std::uint32_t cqe_bytes = 64)
        : async(create_eq(4, 1, {0x04})),
          completions(create_eq(4, 2)),
          cq(create_cq(log_size, completions.eq->id.number, cqe_bytes)) {
        update_eq(completions, true);
    }
    bool push(std::uint16_t tag, bool solicited = false) {
        return push_at(calendar.now(), tag, solicited);
    }
    bool push_at(Picoseconds at, std::uint16_t tag, bool solicited = false) {
        std::array<std::byte, 64> cqe{};
        prm::View<prm::cqe64>(cqe).set<prm::cqe64::wqe_counter>(tag);
        return engines.complete(*cq.cq, at, cqe, solicited);
    }
    unsigned events() {
        unsigned n = 0;
        while (auto eqe = poll_eq(completions)) {
            CHECK(eqe->type == 0);
            CHECK(eqe->number() == cq.cq->id.number);
            ++n;
        }
        update_eq(completions, true);
        return n;
    }

    EqDriver async;
    EqDriver completions;
    CqDriver cq;
};

TEST_CASE("CQEs come in order over several laps", "[cq]") {
    for (const std::uint32_t bytes : {64U, 128U}) {
        CqBench bench(2, bytes);
        for (std::uint16_t i = 0; i < 30; ++i) {
            REQUIRE(bench.push(i));
            const auto cqe = bench.poll_cq(bench.cq);
            REQUIRE(cqe);
            CHECK(cqe->wqe_counter == i);
            CHECK_FALSE(bench.poll_cq(bench.cq));
            bench.update_cq(bench.cq);
        }
        CHECK(bench.counters().cqes == 30);
    }
}

TEST_CASE("no CQE goes out before its predecessor, no event before the last CQE", "[cq]") {
    CqBench bench;
    bench.push_at(nanoseconds(1000), 0);
    CHECK(bench.host.accesses.back().start == nanoseconds(1000));
    bench.push_at(nanoseconds(100), 1);
    CHECK(bench.host.accesses.back().start == nanoseconds(1000));
    bench.arm_cq(bench.cq);
    CHECK(bench.events() == 1);
    CHECK(bench.host.accesses.back().start == nanoseconds(1000) + bench.timing.event_write);
}

TEST_CASE("an unarmed queue sends no event", "[cq]") {
    CqBench bench;
    bench.push(0);
    bench.push(1, true);
    bench.run();
    CHECK(bench.events() == 0);
    CHECK(bench.host.interrupts.empty());
}

TEST_CASE("one event per arm, with the queue's number and an interrupt", "[cq]") {
    CqBench bench;
    bench.arm_cq(bench.cq);
    CHECK(bench.events() == 0);
    bench.push(0);
    bench.push(1);
    CHECK(bench.host.interrupts.size() == 1);
    CHECK(bench.host.interrupts[0].vector == 2);
    CHECK(bench.events() == 1);
    CHECK(bench.cq.cq->events == 1);
    CHECK(bench.counters().completion_events == 1);
    bench.drain_cq(bench.cq);
    ++bench.cq.arm_sequence;
    bench.arm_cq(bench.cq);
    CHECK(bench.events() == 0);
    bench.push(2);
    CHECK(bench.events() == 1);
}

TEST_CASE("arming with a CQE that the driver has not consumed reports at once", "[cq]") {
    CqBench bench;
    bench.push(0);
    bench.push(1);
    bench.poll_cq(bench.cq);
    bench.arm_cq(bench.cq);  // the second came after the poll
    CHECK(bench.events() == 1);
    bench.push(2);
    CHECK(bench.events() == 0);
}

TEST_CASE("a CQE that was reported is not reported again to a driver that arms before it polls",
          "[cq]") {
    CqBench bench;
    bench.arm_cq(bench.cq);
    bench.push(0);
    CHECK(bench.events() == 1);
    ++bench.cq.arm_sequence;
    bench.arm_cq(bench.cq);  // the first is still there
    CHECK(bench.events() == 0);
    bench.drain_cq(bench.cq);
    bench.push(1);
    CHECK(bench.events() == 1);
    bench.push(2);  // unarmed, and nobody was told
    ++bench.cq.arm_sequence;
    bench.arm_cq(bench.cq);
    CHECK(bench.events() == 1);
}

TEST_CASE("the consumer index of an arm counts modulo 24 bits", "[cq]") {
    CqBench bench;
    bench.cq.cq->producer = 0x1000000;
    bench.cq.cq->consumer = 0x1000000;
    bench.cq.consumer = 0x1000000;
    bench.arm_cq(bench.cq);
    CHECK(bench.events() == 0);
    bench.push(1);
    CHECK(bench.events() == 1);
    CHECK(bench.poll_cq(bench.cq));
}

TEST_CASE("a solicited arm waits for a solicited CQE", "[cq]") {
    CqBench bench;
    bench.arm_cq(bench.cq, true);
    bench.push(0);
    CHECK(bench.events() == 0);
    bench.push(1, true);
    CHECK(bench.events() == 1);
    bench.push(2, true);
    CHECK(bench.events() == 0);

    bench.drain_cq(bench.cq);
    bench.push(3);
    bench.arm_cq(bench.cq, true);  // only an unsolicited one is waiting
    CHECK(bench.events() == 0);
    bench.push(4, true);
    CHECK(bench.events() == 1);
    bench.push(5, true);
    bench.arm_cq(bench.cq, true);  // a solicited one is waiting, beside the one reported
    CHECK(bench.events() == 1);
}

TEST_CASE("moderation by count reports the n-th CQE", "[cq]") {
    CqBench bench;
    bench.engines.set_moderation(*bench.cq.cq, {}, 3, {});
    bench.arm_cq(bench.cq);
    bench.push(0);
    bench.push(1);
    bench.run(milliseconds(1));
    CHECK(bench.events() == 0);
    bench.push(2);
    CHECK(bench.events() == 1);
}

TEST_CASE("moderation by period from the last event reports the first CQE of a quiet queue at once",
          "[cq]") {
    CqBench bench;
    bench.run(milliseconds(1));
    bench.engines.set_moderation(*bench.cq.cq, {}, 0, microseconds(16));
    bench.arm_cq(bench.cq);
    bench.push(0);
    CHECK(bench.events() == 1);  // the last event is longer ago than the period
    bench.drain_cq(bench.cq);
    bench.arm_cq(bench.cq);
    bench.push(1);
    bench.run(microseconds(8));
    bench.push(2);
    CHECK(bench.events() == 0);
    bench.run(microseconds(7));
    CHECK(bench.events() == 0);
    bench.run(microseconds(2));
    CHECK(bench.events() == 1);
}

TEST_CASE("moderation by period from the CQE starts anew with each CQE", "[cq]") {
    CqBench bench;
    bench.cq.cq->view().set<prm::cqc::cq_period_mode>(1U);
    bench.engines.set_moderation(*bench.cq.cq, {}, 4, microseconds(10));
    bench.arm_cq(bench.cq);
    bench.push(0);
    bench.run(microseconds(8));
    bench.push(1);
    bench.run(microseconds(8));
    CHECK(bench.events() == 0);
    bench.run(microseconds(3));
    CHECK(bench.events() == 1);
    bench.drain_cq(bench.cq);
    bench.arm_cq(bench.cq);
    for (std::uint16_t i = 0; i < 4; ++i) bench.push(i);
    CHECK(bench.events() == 1);  // the count is first
    bench.run(milliseconds(1));
    CHECK(bench.events() == 0);
}

TEST_CASE("a solicited CQE breaks moderation where the queue asks for it", "[cq]") {
    CqBench bench;
    bench.engines.set_moderation(*bench.cq.cq, {}, 8, {});
    bench.arm_cq(bench.cq);
    bench.push(0, true);
    CHECK(bench.events() == 0);
    bench.cq.cq->view().set<prm::cqc::scqe_break_moderation_en>(1U);
    bench.push(1, true);
    CHECK(bench.events() == 1);
}

TEST_CASE("new moderation applies to CQEs that wait", "[cq]") {
    CqBench bench;
    bench.engines.set_moderation(*bench.cq.cq, {}, 8, {});
    bench.arm_cq(bench.cq);
    bench.push(0);
    bench.push(1);
    bench.engines.set_moderation(*bench.cq.cq, bench.calendar.now(), 8, microseconds(5));
    CHECK(bench.events() == 0);
    bench.run(microseconds(6));
    CHECK(bench.events() == 1);
    bench.drain_cq(bench.cq);
    bench.arm_cq(bench.cq);
    bench.push(2);
    CHECK(bench.events() == 0);
    bench.engines.set_moderation(*bench.cq.cq, bench.calendar.now(), 0, {});
    CHECK(bench.events() == 1);
}

TEST_CASE("the doorbell record is read only when the queue looks full", "[cq]") {
    CqBench bench(3);
    for (std::uint16_t i = 0; i < 8; ++i) bench.push(i);
    const auto reads = [&] {
        return std::ranges::count_if(bench.host.accesses, [](auto& a) { return !a.write; });
    };
    CHECK(reads() == 0);
    CHECK(bench.drain_cq(bench.cq).size() == 8);
    CHECK(bench.push(8));
    CHECK(reads() == 1);
    CHECK(bench.push(9));
    CHECK(reads() == 1);
}

TEST_CASE("an overrun is a CQ error: event 4, status, no more CQEs", "[cq]") {
    CqBench bench(2);
    bench.arm_cq(bench.cq);
    for (std::uint16_t i = 0; i < 4; ++i) CHECK(bench.push(i));
    CHECK_FALSE(bench.push(4));
    const auto eqe = bench.poll_eq(bench.async);
    REQUIRE(eqe);
    CHECK(eqe->type == 0x04);
    CHECK(load_be<std::uint32_t>(eqe->data.data()) == bench.cq.cq->id.number);
    CHECK(eqe->data[11] == std::byte{1});
    CHECK(bench.cq.cq->view().get<prm::cqc::status>() == 0x9);
    CHECK(bench.drain_cq(bench.cq).size() == 4);
    CHECK_FALSE(bench.push(5));
    CHECK_FALSE(bench.poll_eq(bench.async));
    CHECK(bench.counters().cq_overruns == 1);
    CHECK(bench.counters().cqes_dropped == 2);
}

TEST_CASE("a queue that ignores overruns overwrites", "[cq]") {
    CqBench bench(2);
    bench.cq.cq->overrun_ignore = true;
    for (std::uint16_t i = 0; i < 9; ++i) CHECK(bench.push(i));
    CHECK(bench.counters().cq_overruns == 0);
}

TEST_CASE("a CQ the host does not let us write is in error with an access violation", "[cq]") {
    CqBench bench;
    bench.host.refuse(bench.cq.ring, 64);
    CHECK_FALSE(bench.push(0));
    CHECK(bench.poll_eq(bench.async)->data[11] == std::byte{2});
    CHECK(bench.cq.cq->view().get<prm::cqc::status>() == 0xa);
}

TEST_CASE("a CQE without bus mastering is lost, the queue lives", "[cq]") {
    CqBench bench;
    bench.host.bus_master = false;
    CHECK_FALSE(bench.push(0));
    bench.host.bus_master = true;
    CHECK(bench.push(1));
    CHECK(bench.poll_cq(bench.cq)->wqe_counter == 1);
}

TEST_CASE("completions of a CQ whose event queue is gone are counted", "[cq]") {
    CqBench bench;
    bench.cq.cq->eqn = 200;
    bench.arm_cq(bench.cq);
    bench.push(0);
    CHECK(bench.counters().completion_events_untaken == 1);
    CHECK(bench.events() == 0);
}

TEST_CASE("a resized CQ marks the old ring and goes on in the new one", "[cq]") {
    CqBench bench(2);
    bench.push(10);
    bench.push(11);
    bench.poll_cq(bench.cq);
    const std::uint64_t ring = bench.make_cq_ring(4, 64);
    CHECK(bench.engines.resize(*bench.cq.cq, bench.calendar.now(), bench.make_ring(ring, 1024), 4,
                               64));
    bench.push(12);

    // The old ring as the driver still sees it: the rest, then RESIZE_CQ.
    const auto old_entry = [&](std::uint64_t slot) {
        std::array<std::byte, 64> bytes{};
        bench.host.peek(bench.cq.ring + slot * 64, bytes);
        return bytes;
    };
    CHECK(prm::ConstView<prm::cqe64>(old_entry(1)).get<prm::cqe64::wqe_counter>() == 11);
    const auto marker = old_entry(2);
    CHECK(prm::ConstView<prm::cqe64>(marker).get<prm::cqe64::opcode>() == 5);
    CHECK(prm::ConstView<prm::cqe64>(marker).get<prm::cqe64::owner>() == 0);

    // The driver moves entry 1 to index 2 and consumes the marker; the card goes on at index 3.
    bench.cq.ring = ring;
    bench.cq.consumer = 3;
    CHECK(bench.poll_cq(bench.cq)->wqe_counter == 12);
    for (std::uint16_t i = 13; i < 40; ++i) {
        REQUIRE(bench.push(i));
        CHECK(bench.poll_cq(bench.cq)->wqe_counter == i);
        bench.update_cq(bench.cq);
    }
}

TEST_CASE("a collapsed CQ writes its first entry only", "[cq]") {
    CqBench bench(3);
    bench.cq.cq->view().set<prm::cqc::cc>(1U);
    bench.cq.cq->overrun_ignore = true;
    for (std::uint16_t i = 0; i < 5; ++i) bench.push(i);
    std::array<std::byte, 64> first{};
    bench.host.peek(bench.cq.ring, first);
    CHECK(prm::ConstView<prm::cqe64>(first).get<prm::cqe64::wqe_counter>() == 4);
    CHECK(bench.host.load_be<std::uint8_t>(bench.cq.ring + 127) == 0xf1);
}

TEST_CASE("the enhanced layout carries the lap in the validity count", "[cq]") {
    CqBench bench(1);
    bench.cq.cq->view().set<prm::cqc::cqe_comp_en>(1U);
    bench.cq.cq->view().set<prm::cqc::cqe_compression_layout>(1U);
    for (std::uint16_t i = 0; i < 10; ++i) {
        bench.push(i);
        const auto cqe = bench.poll_cq(bench.cq);
        REQUIRE(cqe);
        CHECK(cqe->bytes[62] == static_cast<std::byte>(i / 2));
        bench.update_cq(bench.cq);
    }
}

TEST_CASE("a moderation timer of a destroyed CQ does nothing to its successor", "[cq]") {
    CqBench bench;
    bench.cq.cq->view().set<prm::cqc::cq_period_mode>(1U);
    bench.engines.set_moderation(*bench.cq.cq, {}, 0, microseconds(10));
    bench.arm_cq(bench.cq);
    bench.push(0);
    const std::uint32_t number = bench.cq.cq->id.number;
    bench.resources.destroy(bench.cq.cq->id);  // without telling the engines
    bench.cq = bench.create_cq(3, bench.completions.eq->id.number);
    REQUIRE(bench.cq.cq->id.number == number);
    bench.arm_cq(bench.cq);
    bench.run(microseconds(20));
    CHECK(bench.events() == 0);
    CHECK(bench.counters().stale_events == 1);
}

TEST_CASE("a query sees producer, arm and status of a CQ", "[cq]") {
    CqBench bench;
    bench.push(0);
    bench.push(1, true);
    bench.drain_cq(bench.cq);
    bench.arm_cq(bench.cq);
    bench.engines.refresh(*bench.cq.cq);
    const auto view = bench.cq.cq->view();
    CHECK(view.get<prm::cqc::producer_counter>() == 2);
    CHECK(view.get<prm::cqc::consumer_counter>() == 2);
    CHECK(view.get<prm::cqc::st>() == 0x9);
    CHECK(view.get<prm::cqc::last_notified_index>() == 2);
    bench.push(2);
    bench.engines.refresh(*bench.cq.cq);
    CHECK(view.get<prm::cqc::st>() == 0xa);
}

}  // namespace
}  // namespace cxsim::test
