// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/queues/transport_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

constexpr WqeStatus kTooLong{0x01, 0x00, 0x00, 0x00};

// A QP that receives from its own ring of 16 WQEs, or from a shared queue of 8 linked ones.
struct ReceiveBench : TransportBench {
    Qp& qp = make_qp();
    std::uint16_t posted = 0;
    WorkQueue* shared = nullptr;
    std::uint32_t shared_number = 0;

    Rmp& use_rmp() {
        Rmp& rmp = *resources.rmps.create();
        fill_wq(rmp.wq, 3, 6);
        rmp.view().set<prm::rmpc::wq, prm::wq::pd>(kPd);
        rmp.state = QueueState::ready;
        share(rmp.wq, rmp.id.number);
        return rmp;
    }
    void share(WorkQueue& wq, std::uint32_t number) {
        shared = &wq;
        shared_number = number;
        qp.view().set<prm::qpc::rq_type>(1U);
        qp.view().set<prm::qpc::srqn_rmpn_xrqn>(number);
        for (std::uint32_t i = 0; i < 8; ++i) link(i, (i + 1) & 7);
    }
    void link(std::uint32_t slot, std::uint32_t next) {
        host.store_be<std::uint32_t>(shared->ring.address(slot * 64).value, next);
    }
    std::uint64_t post_receive(std::uint32_t bytes, std::uint32_t key = 0) {
        const std::uint64_t address = allocate(bytes);
        const auto segment = data_segment(bytes, key != 0 ? key : pa_key, address);
        if (shared != nullptr) {
            const std::uint64_t wqe = shared->ring.address((posted & 7U) * 64U).value;
            host.poke(wqe + 16, segment + data_segment(0, 0x100, 0));
        } else {
            host.poke(qp.rq.ring.address((posted & 15U) * 16U).value, segment);
        }
        ++posted;
        host.store_be<std::uint32_t>(
            shared != nullptr ? shared->doorbell_record.value : qp.rq.doorbell_record.value,
            posted);
        return address;
    }
    ReceiveVerdict take(PostedReceive& into) {
        Picoseconds at = calendar.now();
        return queues.take_receive(qp, at, into);
    }
    void finish(const PostedReceive& taken, std::uint32_t bytes, bool solicited = false) {
        std::array<std::byte, 64> cqe{};
        const prm::View<prm::cqe64> view(cqe);
        view.set<prm::cqe64::opcode>(3U);
        view.set<prm::cqe64::byte_cnt>(bytes);
        view.set<prm::cqe64::immediate>(0xfeedU);
        queues.receive_done(qp, calendar.now(),
                            {taken.wqe_index, taken.shared_number, cqe, solicited});
    }
};

TEST_CASE("receive WQEs of the QP's ring are taken in order and completed", "[qp-receive]") {
    ReceiveBench bench;
    PostedReceive taken;
    for (std::uint32_t i = 0; i < 40; ++i) {  // several laps
        const std::uint64_t buffer = bench.post_receive(2048);
        Picoseconds at = bench.calendar.now();
        REQUIRE(bench.queues.take_receive(bench.qp, at, taken) == ReceiveVerdict::delivered);
        CHECK(at > bench.calendar.now());  // its fetch
        CHECK(taken.wqe_index == i);
        CHECK(taken.shared_number == 0);
        CHECK(taken.bytes == 2048);
        REQUIRE(taken.ranges.size() == 1);
        CHECK(taken.ranges[0] == HostRange{{buffer}, 2048, false});
        bench.run();
        bench.finish(taken, 100 + i);
        CHECK_FALSE(bench.poll_cq(bench.receive_cq));
        bench.run();
        const auto cqe = bench.poll_cq(bench.receive_cq);
        REQUIRE(cqe);
        bench.update_cq(bench.receive_cq);
        const prm::ConstView<prm::cqe64> view(cqe->bytes);
        CHECK(cqe->opcode == 3);
        CHECK(cqe->queue == bench.qp.id.number);
        CHECK(cqe->wqe_counter == i);
        CHECK(view.get<prm::cqe64::byte_cnt>() == 100 + i);
        CHECK(view.get<prm::cqe64::immediate>() == 0xfeed);
        CHECK(view.get<prm::cqe64::srqn>() == 0);
        CHECK(view.get<prm::cqe64::timestamp>() != 0);
    }
    CHECK(bench.counters().receives_taken == 40);
    CHECK(bench.counters().receives_completed == 40);
}

TEST_CASE("a CQE of version 1 names the QP by its user's index", "[qp-receive]") {
    for (const bool shared : {false, true}) {
        ReceiveBench bench;
        if (shared) bench.use_rmp();
        bench.qp.view().set<prm::qpc::user_index>(0x321U);
        bench.post_receive(64);
        PostedReceive taken;
        REQUIRE(bench.take(taken) == ReceiveVerdict::delivered);
        bench.finish(taken, 8);
        bench.run();
        const auto cqe = bench.poll_cq(bench.receive_cq);
        REQUIRE(cqe);
        CHECK(prm::ConstView<prm::cqe64>(cqe->bytes).get<prm::cqe64::srqn>() == 0x321);
    }
}

TEST_CASE("only solicited completions wake a CQ that is armed for them", "[qp-receive]") {
    ReceiveBench bench;
    bench.arm_cq(bench.receive_cq, true);
    PostedReceive taken;
    for (const bool solicited : {false, true}) {
        bench.post_receive(64);
        REQUIRE(bench.take(taken) == ReceiveVerdict::delivered);
        bench.finish(taken, 8, solicited);
        bench.run();
        CHECK(bench.poll_eq(bench.completions).has_value() == solicited);
    }
}

TEST_CASE("completions reported ahead of time keep their order", "[qp-receive]") {
    ReceiveBench bench;
    std::array<PostedReceive, 2> taken;
    for (auto& one : taken) {
        bench.post_receive(64);
        REQUIRE(bench.take(one) == ReceiveVerdict::delivered);
    }
    const std::array<std::byte, 64> cqe{};
    const Picoseconds now = bench.calendar.now();
    bench.queues.receive_done(bench.qp, now + microseconds(4),
                              {taken[0].wqe_index, 0, std::span<const std::byte, 64>(cqe), false});
    bench.queues.receive_done(bench.qp, now + microseconds(1),
                              {taken[1].wqe_index, 0, std::span<const std::byte, 64>(cqe), false});
    bench.run(microseconds(3));
    CHECK(bench.drain_cq(bench.receive_cq).empty());
    bench.run();
    const auto seen = bench.drain_cq(bench.receive_cq);
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].wqe_counter == 0);
    CHECK(seen[1].wqe_counter == 1);
}

TEST_CASE("nothing posted is told and counted, and ends when something is", "[qp-receive]") {
    ReceiveBench bench;
    PostedReceive taken;
    CHECK(bench.take(taken) == ReceiveVerdict::no_buffer);
    CHECK(bench.counted("out_of_buffer") == 1);
    CHECK(bench.qp.state == QpState::rts);
    bench.post_receive(64);
    CHECK(bench.take(taken) == ReceiveVerdict::delivered);
    bench.qp.view().set<prm::qpc::rq_type>(3U);  // no receive queue at all
    CHECK(bench.take(taken) == ReceiveVerdict::no_buffer);
    CHECK(bench.counted("out_of_buffer") == 2);
    CHECK(bench.counters().receive_no_buffer == 0);  // of receive queues' packets
}

TEST_CASE("states in which a QP does not receive", "[qp-receive]") {
    for (const QpState state : {QpState::reset, QpState::init, QpState::error}) {
        ReceiveBench bench;
        bench.post_receive(64);
        bench.qp.state = state;
        PostedReceive taken;
        CHECK(bench.take(taken) == ReceiveVerdict::not_ready);
    }
    for (const QpState state : {QpState::rtr, QpState::rts, QpState::sq_error, QpState::sq_drained,
                                QpState::sq_draining}) {
        ReceiveBench bench;
        bench.post_receive(64);
        bench.qp.state = state;
        PostedReceive taken;
        CHECK(bench.take(taken) == ReceiveVerdict::delivered);
    }
}

TEST_CASE("a WQE with a bad key ends in its error and the QP with it", "[qp-receive]") {
    for (const bool shared : {false, true}) {
        ReceiveBench bench;
        if (shared) bench.use_rmp();
        const std::uint32_t foreign = bench.physical_key(kPd + 1);
        bench.post_receive(64);
        bench.post_receive(64, foreign);
        bench.post_receive(64);
        PostedReceive first;
        PostedReceive taken;
        REQUIRE(bench.take(first) == ReceiveVerdict::delivered);
        bench.finish(first, 8);
        CHECK(bench.take(taken) == ReceiveVerdict::failed);
        CHECK(bench.qp.state == QpState::error);
        CHECK(bench.transport.changes.back().to == QpState::error);
        bench.run(milliseconds(1));
        const auto seen = bench.drain_cq(bench.receive_cq);
        REQUIRE(seen.size() == (shared ? 2 : 3));
        CHECK(seen[0].opcode == 3);
        CHECK(seen[1].opcode == 14);
        CHECK(seen[1].wqe_counter == 1);
        CHECK(seen[1].syndrome == 0x04);
        CHECK(seen[1].vendor == 0x32);
        CHECK(seen[1].hardware == 0x93);
        if (!shared) {
            CHECK(seen[2].syndrome == 0x05);
            CHECK(seen[2].vendor == 0xf9);
            CHECK(seen[2].wqe_counter == 2);
        }
        CHECK(bench.counted("resp_local_protection") == 1);
        CHECK(bench.counted("resp_cqe_error") == seen.size() - 1);
    }
}

TEST_CASE("memory that the message does not reach is not looked at", "[qp-receive]") {
    ReceiveBench bench;
    Mkey& small = bench.create_mkey(kPd, 0, 0, 0, 0, 0);
    const std::uint64_t buffer = bench.post_receive(4096, small.key());
    small.view().set<prm::mkc::start_addr>(buffer);
    small.view().set<prm::mkc::len>(100U);
    PostedReceive taken;
    taken.needed = 100;
    REQUIRE(bench.take(taken) == ReceiveVerdict::delivered);
    CHECK(taken.bytes == 4096);
    REQUIRE(taken.ranges.size() == 1);
    CHECK(taken.ranges[0].bytes == 100);
}

TEST_CASE("a responder's error: CQE for the WQE taken, flush, both sides", "[qp-receive]") {
    ReceiveBench bench;
    SqDriver driver = bench.driver(bench.qp);
    bench.send(driver, 0x0a, bench.data());
    for (int i = 0; i < 3; ++i) bench.post_receive(64);
    bench.host.store_be<std::uint32_t>(driver.record + 4, driver.producer);
    PostedReceive taken;
    REQUIRE(bench.take(taken) == ReceiveVerdict::delivered);
    bench.queues.receive_failed(bench.qp, bench.calendar.now(), taken, kTooLong);
    CHECK(bench.qp.state == QpState::error);
    CHECK(bench.qp.view().get<prm::qpc::state>() == 6);
    bench.run(milliseconds(1));
    const auto received = bench.drain_cq(bench.receive_cq);
    REQUIRE(received.size() == 3);
    CHECK(received[0].opcode == 14);
    CHECK(received[0].syndrome == 0x01);
    CHECK(received[0].wqe_counter == 0);
    CHECK(received[1].syndrome == 0x05);
    CHECK(received[2].wqe_counter == 2);
    const auto sent = bench.drain_cq(bench.send_cq);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].syndrome == 0x05);
    CHECK(bench.counted("resp_local_length_error") == 1);
    CHECK(bench.counted("resp_cqe_flush_error") == 2);
    CHECK(bench.counted("req_cqe_flush_error") == 1);
    CHECK_FALSE(bench.event());
}

TEST_CASE("an error without a WQE is an event, and the QP is in error", "[qp-receive]") {
    for (const auto type : {prm::EventType::WQ_INVAL_REQ_ERROR, prm::EventType::WQ_ACCESS_ERROR,
                            prm::EventType::WQ_CATAS_ERROR}) {
        ReceiveBench bench;
        bench.post_receive(64);
        bench.queues.responder_error(bench.qp, bench.calendar.now(), type);
        bench.queues.responder_error(bench.qp, bench.calendar.now(), type);  // once is enough
        CHECK(bench.qp.state == QpState::error);
        bench.run(milliseconds(1));
        const auto eqe = bench.event();
        REQUIRE(eqe);
        CHECK(eqe->type == static_cast<std::uint32_t>(type));
        CHECK((eqe->number() & 0xffffff) == bench.qp.id.number);
        CHECK_FALSE(bench.event());
        CHECK(bench.drain_cq(bench.receive_cq).size() == 1);
    }
}

TEST_CASE("other events name the QP and change nothing", "[qp-receive]") {
    ReceiveBench bench;
    bench.queues.event(bench.qp, bench.calendar.now(), prm::EventType::COMM_EST);
    const auto eqe = bench.event();
    REQUIRE(eqe);
    CHECK(eqe->type == 0x02);
    CHECK(bench.qp.state == QpState::rts);
}

TEST_CASE("a WQE that is taken when the QP goes to error is flushed in its place", "[qp-receive]") {
    for (const bool done : {false, true}) {
        ReceiveBench bench;
        for (int i = 0; i < 4; ++i) bench.post_receive(64);
        std::array<PostedReceive, 2> taken;
        for (auto& one : taken) REQUIRE(bench.take(one) == ReceiveVerdict::delivered);
        bench.finish(taken[0], 8);
        if (done) bench.finish(taken[1], 8);
        bench.move_qp(bench.qp, QpState::error);
        bench.finish(taken[1], 8);  // too late, or again
        bench.run(milliseconds(1));
        const auto seen = bench.drain_cq(bench.receive_cq);
        REQUIRE(seen.size() == 4);
        for (std::size_t i = 0; i < 4; ++i) CHECK(seen[i].wqe_counter == i);
        CHECK(seen[0].opcode == 3);
        CHECK(seen[1].opcode == (done ? 3 : 14));
        CHECK(seen[2].opcode == 14);
        CHECK(seen[done ? 2 : 1].vendor == 0xf4);
        CHECK(seen[3].vendor == 0xf9);
        CHECK(bench.counters().stale_reports == 1);
    }
}

TEST_CASE("a shared queue's WQE that is taken is flushed to the QP, then its last one told",
          "[qp-receive]") {
    ReceiveBench bench;
    bench.use_rmp();
    for (int i = 0; i < 4; ++i) bench.post_receive(64);
    PostedReceive taken;
    REQUIRE(bench.take(taken) == ReceiveVerdict::delivered);
    bench.move_qp(bench.qp, QpState::error);
    bench.run(milliseconds(1));
    const auto seen = bench.drain_cq(bench.receive_cq);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].opcode == 14);
    CHECK(seen[0].syndrome == 0x05);
    CHECK(seen[0].wqe_counter == 0);
    CHECK(prm::ConstView<prm::cqe64>(seen[0].bytes).get<prm::cqe64::srqn>() == bench.shared_number);
    const auto eqe = bench.event();
    REQUIRE(eqe);
    CHECK(eqe->type == 0x13);
}

TEST_CASE("WQEs of a pool follow their links, whatever their order", "[qp-receive]") {
    ReceiveBench bench;
    bench.use_rmp();
    const std::array<std::uint32_t, 8> order{0, 3, 1, 7, 5, 2, 6, 4};
    for (std::size_t i = 0; i < 8; ++i) bench.link(order[i], order[(i + 1) % 8]);
    for (int i = 0; i < 8; ++i) bench.post_receive(64);
    PostedReceive taken;
    for (const std::uint32_t slot : order) {
        REQUIRE(bench.take(taken) == ReceiveVerdict::delivered);
        CHECK(taken.wqe_index == slot);
        CHECK(taken.shared_number == bench.shared_number);
        bench.finish(taken, 8);
    }
    CHECK(bench.take(taken) == ReceiveVerdict::no_buffer);
    bench.run();
    const auto seen = bench.drain_cq(bench.receive_cq);
    REQUIRE(seen.size() == 8);
    for (std::size_t i = 0; i < 8; ++i) {
        CHECK(seen[i].wqe_counter == order[i]);
        CHECK(prm::ConstView<prm::cqe64>(seen[i].bytes).get<prm::cqe64::srqn>() ==
              bench.shared_number);
    }
}

TEST_CASE("QPs share a pool, each with its own completions", "[qp-receive]") {
    ReceiveBench bench;
    Rmp& rmp = bench.use_rmp();
    Qp& other = bench.make_qp();
    other.view().set<prm::qpc::rq_type>(1U);
    other.view().set<prm::qpc::srqn_rmpn_xrqn>(rmp.id.number);
    for (int i = 0; i < 2; ++i) bench.post_receive(64);
    PostedReceive first;
    PostedReceive second;
    REQUIRE(bench.take(first) == ReceiveVerdict::delivered);
    Picoseconds at = bench.calendar.now();
    REQUIRE(bench.queues.take_receive(other, at, second) == ReceiveVerdict::delivered);
    CHECK(first.wqe_index == 0);
    CHECK(second.wqe_index == 1);
    bench.move_qp(other, QpState::error);
    bench.finish(first, 8);
    bench.run(milliseconds(1));
    const auto seen = bench.drain_cq(bench.receive_cq);
    REQUIRE(seen.size() == 2);
    for (const SeenCqe& cqe : seen) {
        CHECK(cqe.queue == (cqe.wqe_counter == 0 ? bench.qp.id.number : other.id.number));
        CHECK(cqe.opcode == (cqe.wqe_counter == 0 ? 3 : 14));
    }
    rmp.state = QueueState::error;
    CHECK(bench.take(first) == ReceiveVerdict::no_buffer);
}

TEST_CASE("a pool below its limit says so once for each time it is armed", "[qp-receive]") {
    ReceiveBench bench;
    Rmp& rmp = bench.use_rmp();
    for (int i = 0; i < 4; ++i) bench.post_receive(64);
    rmp.view().set<prm::rmpc::wq, prm::wq::lwm>(3U);
    bench.engines.limit_armed(rmp.id);
    CHECK_FALSE(bench.event());
    PostedReceive taken;
    REQUIRE(bench.take(taken) == ReceiveVerdict::delivered);  // 3 left
    CHECK_FALSE(bench.event());
    bench.post_receive(64);                                   // 4, which the card does not know
    REQUIRE(bench.take(taken) == ReceiveVerdict::delivered);  // 3
    CHECK_FALSE(bench.event());
    REQUIRE(bench.take(taken) == ReceiveVerdict::delivered);  // 2
    const auto eqe = bench.event();
    REQUIRE(eqe);
    CHECK(eqe->type == 0x14);
    CHECK((eqe->number() & 0xffffff) == rmp.id.number);
    CHECK(rmp.view().get<prm::rmpc::wq, prm::wq::lwm>() == 0);
    REQUIRE(bench.take(taken) == ReceiveVerdict::delivered);
    CHECK_FALSE(bench.event());
    rmp.view().set<prm::rmpc::wq, prm::wq::lwm>(2U);
    bench.engines.limit_armed(rmp.id);  // below it already
    CHECK(bench.event());
    CHECK(bench.counters().receive_limits == 2);
}

TEST_CASE("an SRQ feeds a QP as a pool does", "[qp-receive]") {
    for (const bool xrc : {false, true}) {
        ReceiveBench bench;
        Srq& srq = *bench.resources.srqs.create();
        XrcSrq& xrc_srq = *bench.resources.xrc_srqs.create();
        WorkQueue& wq = xrc ? xrc_srq.wq : srq.wq;
        std::uint32_t& limit = xrc ? xrc_srq.limit_watermark : srq.limit_watermark;
        bench.fill_wq(wq, 3, 6);
        srq.view().set<prm::srqc::pd>(kPd);
        xrc_srq.view().set<prm::xrc_srqc::pd>(kPd);
        bench.share(wq, xrc ? xrc_srq.id.number : srq.id.number);
        limit = 2;
        for (int i = 0; i < 2; ++i) bench.post_receive(64);
        PostedReceive taken;
        REQUIRE(bench.take(taken) == ReceiveVerdict::delivered);
        CHECK(taken.bytes == 64);
        CHECK(bench.event());
        CHECK(limit == 0);
    }
}

TEST_CASE("a receive CQ that is full is the QP's catastrophe", "[qp-receive]") {
    ReceiveBench bench;
    const CqDriver tiny = bench.create_cq(1, bench.completions.eq->id.number);
    bench.qp.receive_cqn = tiny.cq->id.number;
    PostedReceive taken;
    for (int i = 0; i < 3; ++i) {
        bench.post_receive(64);
        REQUIRE(bench.take(taken) == ReceiveVerdict::delivered);
        bench.finish(taken, 8);
    }
    bench.run();
    CHECK(bench.qp.state == QpState::error);
    const auto overrun = bench.event();
    REQUIRE(overrun);
    CHECK(overrun->type == 0x04);
    const auto catastrophe = bench.event();
    REQUIRE(catastrophe);
    CHECK(catastrophe->type == 0x05);
}

TEST_CASE("what a QP received before its reset is not completed behind it", "[qp-receive]") {
    ReceiveBench bench;
    bench.post_receive(64);
    bench.post_receive(64);
    PostedReceive taken;
    REQUIRE(bench.take(taken) == ReceiveVerdict::delivered);
    bench.finish(taken, 8);
    REQUIRE(bench.take(taken) == ReceiveVerdict::delivered);
    bench.move_qp(bench.qp, QpState::reset);
    bench.finish(taken, 8);
    bench.run();
    CHECK(bench.drain_cq(bench.receive_cq).empty());
    CHECK(bench.counters().stale_events == 0);
    CHECK(bench.counters().stale_reports == 1);
    bench.move_qp(bench.qp, QpState::rtr);
    bench.posted = 0;
    bench.post_receive(64);
    REQUIRE(bench.take(taken) == ReceiveVerdict::delivered);
    CHECK(taken.wqe_index == 0);
}

TEST_CASE("a reset of the function leaves nothing of its QPs behind", "[qp-receive]") {
    ReceiveBench bench;
    SqDriver driver = bench.driver(bench.qp);
    bench.send(driver, 0x0a, bench.data());
    bench.report(bench.qp, bench.transport.posts[0]);
    bench.post_receive(64);
    PostedReceive taken;
    REQUIRE(bench.take(taken) == ReceiveVerdict::delivered);
    bench.finish(taken, 8);
    CHECK_FALSE(bench.calendar.empty());
    bench.engines.reset();
    bench.resources.clear();
    CHECK(bench.calendar.empty());
    CHECK(bench.transport.gone.size() == 1);
}

TEST_CASE("remote invalidation asks for the key's leave, domain and QP", "[qp-receive]") {
    ReceiveBench bench;
    Mkey& mkey = bench.create_mkey(kPd, 1, 0, 0x1000, 12, 4);
    CHECK_FALSE(bench.queues.invalidate(bench.qp, mkey.key()));  // no leave
    mkey.view().set<prm::mkc::en_rinval>(1U);
    CHECK_FALSE(bench.queues.invalidate(bench.qp, mkey.key() ^ 1));
    mkey.view().set<prm::mkc::pd>(kPd + 1);
    CHECK_FALSE(bench.queues.invalidate(bench.qp, mkey.key()));
    mkey.view().set<prm::mkc::pd>(kPd);
    mkey.view().set<prm::mkc::qpn>(bench.qp.id.number + 1);
    CHECK_FALSE(bench.queues.invalidate(bench.qp, mkey.key()));
    mkey.view().set<prm::mkc::qpn>(bench.qp.id.number);
    CHECK(mkey.view().get<prm::mkc::free>() == 0);
    CHECK(bench.queues.invalidate(bench.qp, mkey.key()));
    CHECK(mkey.view().get<prm::mkc::free>() == 1);
    CHECK_FALSE(bench.queues.invalidate(bench.qp, mkey.key()));  // it is gone
}

TEST_CASE("counters go to the QP's set, if it has one", "[qp-receive]") {
    ReceiveBench bench;
    bench.queues.count(bench.qp, std::string("rx_write_requests"), 2);
    bench.queues.count(bench.qp, "rx_write_requests", 3);
    CHECK(bench.counted("rx_write_requests") == 5);
    bench.qp.view().set<prm::qpc::counter_set_id>(0U);
    bench.queues.count(bench.qp, "rx_write_requests", 1);
    CHECK(bench.counted("rx_write_requests") == 5);
    bench.qp.view().set<prm::qpc::counter_set_id>(bench.counter.id.number);
    bench.resources.destroy(bench.counter.id);
    bench.queues.count(bench.qp, "rx_write_requests", 1);  // the set is gone: nothing dangles
}

TEST_CASE("remote access asks for remote rights of the key that is named only", "[qp-receive]") {
    ReceiveBench bench;
    const std::uint64_t page = 0x40000;
    Mkey& region = bench.create_mkey(kPd, 1, 0, 0x1000, 12, 1);
    QueueBench::set_mtt(region, 0, page);
    Mkey& window = bench.create_mkey(kPd, 2, 0, 0x800, 0, 1);
    QueueBench::set_klm(window, 0, 0x800, region.key(), 0x100);
    TranslationRequest request;
    request.pd = kPd;
    request.queue_number = bench.qp.id.number;
    request.bytes = 16;
    std::vector<HostRange> ranges;
    for (const Access access : {Access::remote_read, Access::remote_write, Access::atomic}) {
        request.access = access;
        request.key = region.key();
        CHECK(bench.queues.translate(request, ranges) == TranslationError::no_permission);
        request.key = window.key();
        CHECK(bench.queues.translate(request, ranges) == TranslationError::no_permission);
        window.view().set<prm::mkc::rr>(1U);
        window.view().set<prm::mkc::rw>(1U);
        window.view().set<prm::mkc::a>(1U);
        ranges.clear();
        REQUIRE(bench.queues.translate(request, ranges) == TranslationError::none);
        CHECK(ranges[0] == HostRange{{page + 0x100}, 16, false});
        if (access != Access::remote_read) {
            region.view().set<prm::mkc::lw>(0U);
            CHECK(bench.queues.translate(request, ranges) == TranslationError::no_permission);
            region.view().set<prm::mkc::lw>(1U);
        }
        window.view().set<prm::mkc::rr>(0U);
        window.view().set<prm::mkc::rw>(0U);
        window.view().set<prm::mkc::a>(0U);
        request.key = bench.keys.null_mkey;
        CHECK(bench.queues.translate(request, ranges) == TranslationError::no_permission);
    }
    window.view().set<prm::mkc::rr>(1U);
    window.view().set<prm::mkc::qpn>(bench.qp.id.number + 1);
    request.key = window.key();
    request.access = Access::remote_read;
    CHECK(bench.queues.translate(request, ranges) == TranslationError::wrong_domain);
}

}  // namespace
}  // namespace cxsim::test
