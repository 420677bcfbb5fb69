// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/queues/queue_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

constexpr std::uint32_t kRc = 0;
constexpr std::uint32_t kUd = 2;
constexpr std::uint32_t kQp1 = 8;

struct SendBench : QueueBench {
    EqDriver async = create_eq(6, 0, {0x04, 0x05, 0x13});
    EqDriver completions = create_eq(6, 1);
    CqDriver cq = create_cq(8, completions.eq->id.number);
    Sq& sq = create_sq(cq.cq->id.number, 4);
    SqDriver driver = driver_of(sq.id.number, sq.wq);
};

std::vector<std::byte> ethernet_segment(std::uint16_t inlined, std::uint16_t mss = 0) {
    std::vector<std::byte> segment(16);
    store_be<std::uint16_t>(segment.data() + 6, mss);
    store_be<std::uint16_t>(segment.data() + 12, inlined);
    if (inlined > 2) segment.resize(16 + (inlined - 2U + 15) / 16 * 16);
    return segment;
}

std::vector<std::byte> address_vector(bool extended = true) {
    std::vector<std::byte> segment(extended ? 48 : 16);
    if (extended) segment[8] = std::byte{0x80};
    return segment;
}

std::vector<std::byte> inline_segment(std::uint32_t bytes) {
    std::vector<std::byte> segment((bytes + 4 + 15) / 16 * 16);
    store_be<std::uint32_t>(segment.data(), bytes | 0x80000000U);
    return segment;
}

class Recorder : public PacketSink {
  public:
    SendOutcome send(Picoseconds at, const SendRequest& request) override {
        ++sends;
        last = request;
        headers.assign(request.headers.begin(), request.headers.end());
        pieces.assign(request.payload.begin(), request.payload.end());
        return {at + delay, status};
    }
    int sends = 0;
    SendRequest last;
    std::vector<std::byte> headers;
    std::vector<PayloadPiece> pieces;
    Picoseconds delay;
    WqeStatus status;
};

TEST_CASE("a NOP completes with its index, number and opcode", "[sq]") {
    SendBench bench;
    bench.post_nop(bench.driver);
    bench.run();
    const auto cqe = bench.poll_cq(bench.cq);
    REQUIRE(cqe);
    CHECK(cqe->opcode == 0);
    CHECK(cqe->send_opcode == 0);
    CHECK(cqe->queue == bench.sq.id.number);
    CHECK(cqe->wqe_counter == 0);
    CHECK(cqe->bytes[62] == std::byte{0});
    CHECK(bench.counters().nops == 1);
    CHECK_FALSE(bench.poll_cq(bench.cq));
}

TEST_CASE("a NOP takes doorbell, read, execution and completion time", "[sq]") {
    SendBench bench;
    bench.run(microseconds(3));
    const Picoseconds rung = bench.calendar.now();
    bench.post_nop(bench.driver);
    bench.host.accesses.clear();
    bench.run();
    REQUIRE(bench.host.accesses.size() == 2);
    CHECK(bench.host.accesses[0].start == rung + bench.timing.doorbell);
    CHECK(bench.host.accesses[1].start == rung + bench.timing.doorbell + bench.host.read_latency +
                                              bench.timing.wqe_execute +
                                              bench.timing.completion_write);
    const auto cqe = bench.poll_cq(bench.cq);
    const auto stamp = prm::ConstView<prm::cqe64>(cqe->bytes).get<prm::cqe64::timestamp>();
    CHECK(stamp == static_cast<std::uint64_t>(bench.host.accesses[1].start.value) / 12800);
}

TEST_CASE("one doorbell runs all that was posted; unsignaled WQEs complete silently", "[sq]") {
    SendBench bench;
    for (int i = 0; i < 7; ++i) bench.post(bench.driver, 0, 0, {}, 0);
    bench.ring(bench.driver, bench.post(bench.driver, 0, 0, {}, 2));
    bench.run();
    const auto seen = bench.drain_cq(bench.cq);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].wqe_counter == 7);
    CHECK(bench.counters().wqes == 8);
}

TEST_CASE("doorbells while the queue works are not lost", "[sq]") {
    SendBench bench;
    for (int i = 0; i < 12; ++i) {
        bench.post_nop(bench.driver);
        bench.run(nanoseconds(40));
    }
    bench.run();
    const auto seen = bench.drain_cq(bench.cq);
    REQUIRE(seen.size() == 12);
    for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i].wqe_counter == i);
}

TEST_CASE("indices wrap around the ring and around 16 bits", "[sq]") {
    SendBench bench;
    bench.sq.wq.producer = bench.sq.wq.consumer = bench.driver.producer = 0xfff0;
    for (std::uint32_t i = 0; i < 40; ++i) {
        // Three sizes, so that WQEs cross the end of the ring.
        const std::vector<std::byte> padding(16 * (i % 3) * 5);
        bench.ring(bench.driver, bench.post(bench.driver, 0, 0, padding));
        bench.run();
        const auto seen = bench.drain_cq(bench.cq);
        REQUIRE(seen.size() == 1);
        CHECK(seen[0].opcode == 0);
    }
    CHECK(bench.counters().wqe_errors == 0);
}

TEST_CASE("a WQE of the largest size is read whole", "[sq]") {
    SendBench bench;
    bench.ring(bench.driver, bench.post(bench.driver, 0, 0, std::vector<std::byte>(62 * 16)));
    bench.run();
    CHECK(bench.poll_cq(bench.cq)->opcode == 0);
    CHECK(bench.sq.wq.consumer == 16);
}

TEST_CASE("CQ update with EQE makes the completion solicited", "[sq]") {
    SendBench bench;
    bench.arm_cq(bench.cq, true);
    bench.post_nop(bench.driver, 2);
    bench.run();
    CHECK_FALSE(bench.poll_eq(bench.completions));
    bench.post_nop(bench.driver, 3);
    bench.run();
    CHECK(bench.poll_eq(bench.completions));
}

TEST_CASE("doorbells that are not ahead, or too far, are ignored", "[sq]") {
    SendBench bench;
    const auto doorbell = bench.post(bench.driver, 0, 0, {});
    bench.ring(bench.driver, doorbell);
    bench.run();
    bench.ring(bench.driver, doorbell);
    auto far = doorbell;
    store_be<std::uint32_t>(far.data(), 40U << 8);
    bench.ring(bench.driver, far);
    bench.run();
    CHECK(bench.counters().doorbell_ignored == 2);
    CHECK(bench.drain_cq(bench.cq).size() == 1);
}

TEST_CASE("a queue that is not ready ignores doorbells", "[sq]") {
    SendBench bench;
    bench.sq.state = QueueState::reset;
    bench.engines.stopped(bench.sq);
    bench.post_nop(bench.driver);
    Qp& qp = bench.create_qp(kRc, bench.cq.cq->id.number, bench.cq.cq->id.number, 4, QpState::rtr);
    SqDriver driver = bench.driver_of(qp.id.number, qp.sq);
    bench.post_nop(driver);
    bench.run();
    CHECK(bench.counters().doorbell_ignored == 2);
    CHECK(bench.counters().wqes == 0);
}

TEST_CASE("a wrong index, queue number or size in the WQE is a local QP operation error", "[sq]") {
    for (const std::uint32_t damage : {0U, 1U, 2U, 3U}) {
        SendBench bench;
        const auto doorbell = bench.post(bench.driver, 0, 0, {});
        if (damage == 0) bench.host.store_be<std::uint32_t>(bench.driver.ring, 5U << 8);
        if (damage == 1) bench.host.store_be<std::uint32_t>(bench.driver.ring + 4, 0x12301U);
        if (damage == 2) bench.host.fill(bench.driver.ring + 7, 1, 0);
        if (damage == 3) bench.host.fill(bench.driver.ring + 7, 1, 20);
        bench.ring(bench.driver, doorbell);
        bench.run();
        const auto cqe = bench.poll_cq(bench.cq);
        REQUIRE(cqe);
        CHECK(cqe->opcode == 13);
        CHECK(cqe->syndrome == 0x02);
        CHECK(cqe->vendor == 0x68);
        CHECK(bench.sq.state == QueueState::error);
        CHECK(bench.sq.view().get<prm::sqc::state>() == 3);
    }
}

TEST_CASE("operations that are not modelled are refused and counted by opcode", "[sq]") {
    for (const std::uint8_t opcode :
         std::array<std::uint8_t, 5>{0x20, 0x23, 0x08, 0x0b, 0xff}) {
        SendBench bench;
        bench.ring(bench.driver, bench.post(bench.driver, opcode, 0, {}));
        bench.run();
        const auto cqe = bench.poll_cq(bench.cq);
        REQUIRE(cqe);
        CHECK(cqe->syndrome == 0x02);
        CHECK(cqe->send_opcode == opcode);
        CHECK(bench.counters().unimplemented_opcodes[opcode] == 1);
    }
    for (const std::uint8_t opcode : std::array<std::uint8_t, 4>{0x0a, 0x08, 0x10, 0x11}) {
        SendBench bench;
        const std::uint32_t cqn = bench.cq.cq->id.number;
        Qp& qp = bench.create_qp(kRc, cqn, cqn, 4);
        SqDriver driver = bench.driver_of(qp.id.number, qp.sq);
        bench.ring(driver, bench.post(driver, opcode, 0, {}));
        bench.run();
        CHECK(bench.poll_cq(bench.cq)->syndrome == 0x02);
        CHECK(qp.state == QpState::error);
    }
}

TEST_CASE("an Ethernet send without a cable is counted and completes", "[sq]") {
    SendBench bench;
    const auto wqe = ethernet_segment(18) + data_segment(1000, bench.pa_key, 0x5000) +
                     data_segment(42, bench.pa_key, 0x9000);
    bench.ring(bench.driver, bench.post(bench.driver, 0x0a, 0, wqe));
    bench.run();
    const auto cqe = bench.poll_cq(bench.cq);
    REQUIRE(cqe);
    CHECK(cqe->opcode == 0);
    CHECK(cqe->send_opcode == 0x0a);
    CHECK(bench.counters().tx_discards_no_link == 1);
    CHECK(bench.counters().send_bytes == 1060);
}

TEST_CASE("a packet sink gets headers and translated payload and sets the time", "[sq]") {
    SendBench bench;
    Recorder sink;
    sink.delay = microseconds(5);
    bench.engines.set_packet_sink(&sink);
    auto segments = ethernet_segment(20, 1448) + inline_segment(20) +
                    data_segment(0x40, bench.pa_key, 0x5000) +
                    data_segment(8, bench.keys.null_mkey, 0);
    segments[14] = std::byte{0xaa};
    segments[33] = std::byte{0xbb};
    const Picoseconds rung = bench.calendar.now();
    bench.ring(bench.driver, bench.post(bench.driver, 0x0e, 0, segments));
    bench.run();
    REQUIRE(sink.sends == 1);
    CHECK(sink.last.mss == 1448);
    CHECK(sink.last.payload_bytes == 92);
    REQUIRE(sink.headers.size() == 20);
    CHECK(sink.headers[0] == std::byte{0xaa});
    CHECK(sink.headers[19] == std::byte{0xbb});
    REQUIRE(sink.pieces.size() == 3);
    CHECK(sink.pieces[0].in_wqe);
    CHECK(sink.pieces[0].bytes == 20);
    CHECK(sink.pieces[1].address.value == 0x5000);
    CHECK(sink.pieces[2].zeros);
    CHECK(bench.host.accesses.back().write);
    CHECK(bench.host.accesses.back().start > rung + microseconds(5));
    CHECK(bench.counters().tx_discards_no_link == 0);
}

TEST_CASE("sends overlap, their completions stay in order", "[sq]") {
    SendBench bench;
    Recorder sink;
    bench.engines.set_packet_sink(&sink);
    sink.delay = microseconds(9);
    const auto wqe = ethernet_segment(18) + data_segment(64, bench.pa_key, 0x5000);
    bench.ring(bench.driver, bench.post(bench.driver, 0x0a, 0, wqe));
    bench.run(microseconds(2));
    sink.delay = {};
    bench.ring(bench.driver, bench.post(bench.driver, 0x0a, 0, wqe));
    bench.run(microseconds(2));
    CHECK(sink.sends == 2);
    CHECK(bench.drain_cq(bench.cq).empty());
    bench.run();
    const auto seen = bench.drain_cq(bench.cq);
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].wqe_counter == 0);
    CHECK(seen[1].wqe_counter == 1);
}

TEST_CASE("bad descriptors give the error CQEs of cards", "[sq]") {
    struct Case {
        const char* what;
        std::vector<std::byte> (*segments)(SendBench&);
        std::uint32_t syndrome;
        std::uint32_t vendor;
        std::uint32_t hardware;
    };
    const std::array<Case, 9> cases{{
        {"unknown lkey",
         [](SendBench&) { return ethernet_segment(18) + data_segment(64, 0x77700, 0); }, 0x04, 0x52,
         0x92},
        {"unknown lkey of no length",
         [](SendBench&) { return ethernet_segment(18) + data_segment(0, 0x77700, 0); }, 0x04, 0x52,
         0x92},
        {"key of another PD",
         [](SendBench& b) {
             return ethernet_segment(18) + data_segment(64, b.physical_key(kPd + 1), 0);
         },
         0x04, 0x52, 0x92},
        {"longer than the region",
         [](SendBench& b) {
             return ethernet_segment(18) +
                    data_segment(0x1001, b.create_mkey(kPd, 0, 0, 0x1000, 0, 0).key(), 0);
         },
         0x04, 0x53, 0x9d},
        {"not mapped",
         [](SendBench& b) {
             Mkey& mkey = b.create_mkey(kPd, 1, 0, 0x1000, 12, 1);
             mkey.page_access = true;
             return ethernet_segment(18) + data_segment(64, mkey.key(), 0);
         },
         0x04, 0x51, 0x02},
        {"no Ethernet segment", [](SendBench&) { return std::vector<std::byte>{}; }, 0x02, 0x68,
         0x86},
        {"inlined headers beyond the WQE",
         [](SendBench&) {
             auto segment = ethernet_segment(0);
             store_be<std::uint16_t>(segment.data() + 12, 500);
             return segment;
         },
         0x02, 0x68, 0x86},
        {"inline data beyond the WQE",
         [](SendBench&) {
             auto segment = inline_segment(4);
             store_be<std::uint32_t>(segment.data(), 0x80000100U);
             return ethernet_segment(18) + segment;
         },
         0x02, 0x68, 0x86},
        {"no inlined header where the queue requires it",
         [](SendBench& b) {
             b.sq.view().set<prm::sqc::min_wqe_inline_mode>(1U);
             return ethernet_segment(0) + data_segment(64, b.pa_key, 0);
         },
         0x01, 0x68, 0x60},
    }};
    for (const Case& c : cases) {
        INFO(c.what);
        SendBench bench;
        bench.ring(bench.driver, bench.post(bench.driver, 0x0a, 0, c.segments(bench)));
        bench.run();
        const auto cqe = bench.poll_cq(bench.cq);
        REQUIRE(cqe);
        CHECK(cqe->opcode == 13);
        CHECK(cqe->syndrome == c.syndrome);
        CHECK(cqe->vendor == c.vendor);
        CHECK(cqe->hardware == c.hardware);
        CHECK(bench.counters().sends == 0);
        CHECK(bench.counters().wqe_errors == 1);
    }
}

TEST_CASE("VLAN insertion takes the place of the inline size", "[sq]") {
    SendBench bench;
    auto segment = ethernet_segment(0);
    store_be<std::uint16_t>(segment.data() + 12, 0x8000);
    bench.ring(bench.driver,
               bench.post(bench.driver, 0x0a, 0, segment + data_segment(64, bench.pa_key, 0)));
    bench.run();
    CHECK(bench.poll_cq(bench.cq)->opcode == 0);
    CHECK(bench.counters().send_bytes == 64);
}

TEST_CASE("LSO without MSS or headers is refused", "[sq]") {
    for (const bool headers : {false, true}) {
        SendBench bench;
        const auto eth = headers ? ethernet_segment(54, 0) : ethernet_segment(0, 1448);
        bench.ring(bench.driver,
                   bench.post(bench.driver, 0x0e, 0, eth + data_segment(64, bench.pa_key, 0)));
        bench.run();
        CHECK(bench.poll_cq(bench.cq)->syndrome == 0x02);
    }
}

TEST_CASE("UD and QP1 sends without a cable complete", "[qp]") {
    for (const std::uint32_t type : {kUd, kQp1}) {
        for (const bool extended : {true, false}) {
            SendBench bench;
            const std::uint32_t cqn = bench.cq.cq->id.number;
            Qp& qp = bench.create_qp(type, cqn, cqn, 4);
            SqDriver driver = bench.driver_of(qp.id.number, qp.sq);
            bench.ring(driver, bench.post(driver, 0x0a, 0,
                                          address_vector(extended) +
                                              data_segment(256, bench.pa_key, 0x4000)));
            bench.run();
            const auto cqe = bench.poll_cq(bench.cq);
            REQUIRE(cqe);
            CHECK(cqe->opcode == 0);
            CHECK(cqe->queue == qp.id.number);
            CHECK(bench.counters().tx_discards_no_link == 1);
            CHECK(bench.counters().send_bytes == 256);
        }
    }
}

TEST_CASE("a UD QP with offloads has an Ethernet segment behind the address", "[qp]") {
    SendBench bench;
    const std::uint32_t cqn = bench.cq.cq->id.number;
    Qp& qp = bench.create_qp(kUd, cqn, cqn, 4);
    qp.view().set<prm::qpc::ulp_stateless_offload_mode>(1U);
    SqDriver driver = bench.driver_of(qp.id.number, qp.sq);
    bench.ring(driver, bench.post(driver, 0x0a, 0,
                                  address_vector() + std::vector<std::byte>(16) +
                                      ethernet_segment(0) + data_segment(99, bench.pa_key, 0)));
    bench.run();
    CHECK(bench.poll_cq(bench.cq)->opcode == 0);
    CHECK(bench.counters().send_bytes == 99);
}

TEST_CASE("a UD send cut short of its address is refused; only the send side stops", "[qp]") {
    SendBench bench;
    const std::uint32_t cqn = bench.cq.cq->id.number;
    Qp& qp = bench.create_qp(kUd, cqn, cqn, 4);
    SqDriver driver = bench.driver_of(qp.id.number, qp.sq);
    bench.ring(driver, bench.post(driver, 0x0a, 0, {}));
    bench.run();
    CHECK(bench.poll_cq(bench.cq)->syndrome == 0x02);
    CHECK(qp.state == QpState::sq_error);
    CHECK(qp.view().get<prm::qpc::state>() == 4);
}

TEST_CASE("an SQD queue holds doorbells until it is RTS again", "[qp]") {
    SendBench bench;
    const std::uint32_t cqn = bench.cq.cq->id.number;
    Qp& qp = bench.create_qp(kRc, cqn, cqn, 4);
    SqDriver driver = bench.driver_of(qp.id.number, qp.sq);
    bench.post_nop(driver);
    bench.run(bench.timing.doorbell + nanoseconds(100));  // read, not yet executed
    bench.move_qp(qp, QpState::sq_drained);
    bench.post_nop(driver);
    bench.run();
    CHECK(bench.drain_cq(bench.cq).empty());
    bench.move_qp(qp, QpState::rts);
    bench.run();
    CHECK(bench.drain_cq(bench.cq).size() == 2);
}

TEST_CASE("the user index of a queue goes into its CQEs, 0xffffff means none", "[qp]") {
    SendBench bench;
    const std::uint32_t cqn = bench.cq.cq->id.number;
    Qp& qp = bench.create_qp(kRc, cqn, cqn, 4);
    SqDriver driver = bench.driver_of(qp.id.number, qp.sq);
    bench.post_nop(driver);
    bench.run();
    CHECK(prm::ConstView<prm::cqe64>(bench.poll_cq(bench.cq)->bytes).get<prm::cqe64::srqn>() == 0);
    qp.view().set<prm::qpc::user_index>(0x1234U);
    bench.post_nop(driver);
    bench.run();
    CHECK(prm::ConstView<prm::cqe64>(bench.poll_cq(bench.cq)->bytes).get<prm::cqe64::srqn>() ==
          0x1234);
}

TEST_CASE("a WQE that the host does not let us read is a catastrophe of the queue", "[sq]") {
    SendBench bench;
    bench.host.refuse(bench.driver.ring, 64);
    bench.post_nop(bench.driver);
    bench.run();
    const auto eqe = bench.poll_eq(bench.async);
    REQUIRE(eqe);
    CHECK(eqe->type == 0x05);
    CHECK(eqe->data[20] == std::byte{2});  // an SQ
    CHECK((eqe->number() & 0xffffff) == bench.sq.id.number);
    CHECK(bench.sq.state == QueueState::error);
    CHECK(bench.counters().wqe_fetch_failures == 1);
}

TEST_CASE("without bus mastering WQEs wait", "[sq]") {
    SendBench bench;
    bench.host.bus_master = false;
    bench.post_nop(bench.driver);
    bench.run();
    CHECK(bench.sq.state == QueueState::ready);
    bench.host.bus_master = true;
    bench.engines.bus_master_enabled();
    bench.run();
    CHECK(bench.poll_cq(bench.cq));
}

TEST_CASE("a CQ in error takes its send queues with it", "[sq]") {
    SendBench bench;
    bench.host.refuse(bench.cq.ring, 64);
    bench.post_nop(bench.driver);
    bench.run();
    CHECK(bench.poll_eq(bench.async)->type == 0x04);
    CHECK(bench.poll_eq(bench.async)->type == 0x05);
    CHECK(bench.sq.state == QueueState::error);
}

TEST_CASE("no allocation grows with the number of WQEs", "[sq]") {
    SendBench bench;
    const auto round = [&] {
        for (int i = 0; i < 50; ++i) {
            const auto wqe = ethernet_segment(18) + data_segment(64, bench.pa_key, 0x5000);
            bench.ring(bench.driver, bench.post(bench.driver, 0x0a, 0, wqe));
            bench.run(microseconds(5));
            bench.drain_cq(bench.cq);
        }
    };
    round();
    const std::size_t capacity = bench.sq.wq.fetched.capacity();
    const std::size_t blocks = bench.calendar.pool_blocks();
    round();
    CHECK(bench.sq.wq.fetched.capacity() == capacity);
    CHECK(bench.sq.wq.completions.capacity() <= 4);
    CHECK(bench.calendar.pool_blocks() == blocks);
}

}  // namespace
}  // namespace cxsim::test
