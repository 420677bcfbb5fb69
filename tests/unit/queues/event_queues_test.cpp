// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/queues/queue_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

using prm::EventType;

class Health : public QueueListener {
  public:
    void eq_overrun(const Eq& eq, Picoseconds) override { overrun_eq = eq.id.number; }
    void cq_error(const Cq& cq, std::uint8_t syndrome, Picoseconds) override {
        error_cq = cq.id.number;
        error_syndrome = syndrome;
    }
    std::uint32_t overrun_eq = 0;
    std::uint32_t error_cq = 0;
    std::uint8_t error_syndrome = 0;
};

std::array<std::byte, 28> data_of(std::uint8_t value) {
    std::array<std::byte, 28> data{};
    data.fill(std::byte{value});
    return data;
}

TEST_CASE("an EQE carries type, subtype and data", "[eq]") {
    QueueBench bench;
    EqDriver eq = bench.create_eq(3, 5);
    CHECK_FALSE(bench.poll_eq(eq));
    CHECK(bench.engines.post(*eq.eq, bench.calendar.now(), EventType::PORT_CHANGE, 4, data_of(9)));
    const auto eqe = bench.poll_eq(eq);
    REQUIRE(eqe);
    CHECK(eqe->type == 0x09);
    CHECK(eqe->subtype == 4);
    CHECK(eqe->data == data_of(9));
    CHECK_FALSE(bench.poll_eq(eq));
    CHECK(bench.counters().eqes == 1);
    CHECK(bench.counters().events[0x09] == 1);
}

TEST_CASE("an EQE goes out after the card's event time", "[eq]") {
    QueueBench bench;
    EqDriver eq = bench.create_eq(3, 0);
    bench.engines.post(*eq.eq, nanoseconds(100), EventType::CMD, 0, {});
    CHECK(bench.host.accesses.back().start == nanoseconds(100) + bench.timing.event_write);
}

TEST_CASE("no EQE goes out before its predecessor, no interrupt before the last EQE", "[eq]") {
    QueueBench bench;
    EqDriver eq = bench.create_eq(3, 0);
    bench.engines.post(*eq.eq, nanoseconds(1000), EventType::CMD, 0, {});
    const Picoseconds first = bench.host.accesses.back().start;
    bench.engines.post(*eq.eq, nanoseconds(100), EventType::CMD, 0, {});
    CHECK(bench.host.accesses.back().start == first);
    bench.update_eq(eq, true);
    REQUIRE(bench.host.interrupts.size() == 1);
    CHECK(bench.host.interrupts[0].start == first);
}

TEST_CASE("the owner bit follows the laps of the ring", "[eq]") {
    QueueBench bench;
    EqDriver eq = bench.create_eq(2, 0);
    for (std::uint8_t i = 0; i < 30; ++i) {
        REQUIRE(bench.engines.post(*eq.eq, {}, EventType::CMD, i, data_of(i)));
        const auto eqe = bench.poll_eq(eq);
        REQUIRE(eqe);
        CHECK(eqe->subtype == i);
        CHECK_FALSE(bench.poll_eq(eq));
        bench.update_eq(eq, false);
    }
    CHECK(bench.counters().eq_doorbells == 30);
}

TEST_CASE("an armed queue raises one interrupt, then none until armed again", "[eq]") {
    QueueBench bench;
    EqDriver eq = bench.create_eq(4, 6);
    bench.engines.post(*eq.eq, {}, EventType::CMD, 0, {});
    CHECK(bench.host.interrupts.empty());
    bench.poll_eq(eq);
    bench.update_eq(eq, true);
    CHECK(bench.host.interrupts.empty());
    bench.engines.post(*eq.eq, {}, EventType::CMD, 1, {});
    bench.engines.post(*eq.eq, {}, EventType::CMD, 2, {});
    REQUIRE(bench.host.interrupts.size() == 1);
    CHECK(bench.host.interrupts[0].vector == 6);
    bench.poll_eq(eq);
    bench.poll_eq(eq);
    bench.update_eq(eq, false);
    bench.engines.post(*eq.eq, {}, EventType::CMD, 3, {});
    CHECK(bench.host.interrupts.size() == 1);
}

TEST_CASE("arming with an EQE that the driver has not seen raises at once", "[eq]") {
    QueueBench bench;
    EqDriver eq = bench.create_eq(4, 1);
    bench.engines.post(*eq.eq, {}, EventType::CMD, 0, {});
    bench.engines.post(*eq.eq, {}, EventType::CMD, 1, {});
    bench.poll_eq(eq);
    bench.update_eq(eq, true);  // the second EQE came after the last poll
    CHECK(bench.host.interrupts.size() == 1);
    bench.engines.post(*eq.eq, {}, EventType::CMD, 2, {});
    CHECK(bench.host.interrupts.size() == 1);
}

TEST_CASE("a full queue overruns, says so and takes no more", "[eq]") {
    QueueBench bench;
    Health health;
    bench.engines.set_listener(&health);
    EqDriver eq = bench.create_eq(2, 0);
    for (int i = 0; i < 4; ++i) CHECK(bench.engines.post(*eq.eq, {}, EventType::CMD, 0, {}));
    CHECK_FALSE(bench.engines.post(*eq.eq, {}, EventType::CMD, 0, {}));
    CHECK(eq.eq->overrun);
    CHECK(health.overrun_eq == eq.eq->id.number);
    CHECK(eq.eq->view().get<prm::eqc::status>() == 0xa);
    while (bench.poll_eq(eq)) {
    }
    bench.update_eq(eq, true);
    CHECK_FALSE(bench.engines.post(*eq.eq, {}, EventType::CMD, 0, {}));
    CHECK(bench.counters().eq_overruns == 1);
    CHECK(bench.counters().eqes_dropped == 2);
}

TEST_CASE("a queue that ignores overruns goes on", "[eq]") {
    QueueBench bench;
    EqDriver eq = bench.create_eq(2, 0);
    eq.eq->view().set<prm::eqc::oi>(1U);
    for (int i = 0; i < 9; ++i) CHECK(bench.engines.post(*eq.eq, {}, EventType::CMD, 0, {}));
    CHECK(bench.counters().eq_overruns == 0);
}

TEST_CASE("an event goes to every queue that subscribes, or is counted as untaken", "[eq]") {
    QueueBench bench;
    EqDriver commands = bench.create_eq(3, 0, {0x0a});
    EqDriver async = bench.create_eq(3, 1, {0x09, 0x13, 0x27});
    EqDriver other = bench.create_eq(3, 2, {0x09});
    CHECK(bench.engines.post_event({}, EventType::CMD, 0, {}) == 1);
    CHECK(bench.engines.post_event({}, EventType::PORT_CHANGE, 4, {}) == 2);
    CHECK(bench.engines.post_event({}, EventType::OBJECT_CHANGE, 0, {}) == 1);
    CHECK(bench.engines.post_event({}, EventType::PAGE_REQUEST, 0, {}) == 0);
    CHECK(bench.poll_eq(commands)->type == 0x0a);
    CHECK_FALSE(bench.poll_eq(commands));
    CHECK(bench.poll_eq(async)->type == 0x09);
    CHECK(bench.poll_eq(async)->type == 0x27);
    CHECK(bench.poll_eq(other)->type == 0x09);
    CHECK(bench.counters().events_untaken == 1);
}

TEST_CASE("a host that refuses an EQE leaves no hole in the ring", "[eq]") {
    QueueBench bench;
    EqDriver eq = bench.create_eq(3, 0);
    bench.update_eq(eq, true);
    bench.host.bus_master = false;
    CHECK_FALSE(bench.engines.post(*eq.eq, {}, EventType::CMD, 1, {}));
    CHECK(bench.host.interrupts.empty());
    bench.host.bus_master = true;
    CHECK(bench.engines.post(*eq.eq, {}, EventType::CMD, 2, {}));
    CHECK(bench.poll_eq(eq)->subtype == 2);
    CHECK(bench.host.interrupts.size() == 1);
    CHECK(bench.counters().eqes_dropped == 1);
}

TEST_CASE("a queue whose pages are too few drops what does not fit", "[eq]") {
    QueueBench bench;
    EqDriver eq = bench.create_eq(3, 0);
    eq.eq->ring = HostRing();
    CHECK_FALSE(bench.engines.post(*eq.eq, {}, EventType::CMD, 1, {}));
    CHECK(bench.counters().eqes_dropped == 1);
}

TEST_CASE("a query sees the counters and whether the queue is armed", "[eq]") {
    QueueBench bench;
    EqDriver eq = bench.create_eq(3, 0);
    bench.engines.post(*eq.eq, {}, EventType::CMD, 1, {});
    bench.poll_eq(eq);
    bench.update_eq(eq, true);
    bench.engines.post(*eq.eq, {}, EventType::CMD, 1, {});
    bench.engines.refresh(*eq.eq);
    CHECK(eq.eq->view().get<prm::eqc::producer_counter>() == 2);
    CHECK(eq.eq->view().get<prm::eqc::consumer_counter>() == 1);
    CHECK(eq.eq->view().get<prm::eqc::st>() == 0xa);
    bench.poll_eq(eq);
    bench.update_eq(eq, true);
    bench.engines.refresh(*eq.eq);
    CHECK(eq.eq->view().get<prm::eqc::st>() == 0x9);
}

}  // namespace
}  // namespace cxsim::test
