// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/queues/transport_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

constexpr WqeStatus kRetryExceeded{0x15, 0x81, 0x00, 0x00};

std::vector<std::uint32_t> counters_of(const std::vector<SeenCqe>& seen) {
    std::vector<std::uint32_t> indices;
    for (const SeenCqe& cqe : seen) indices.push_back(cqe.wqe_counter);
    return indices;
}

TEST_CASE("WQEs are posted in order, and completed when they are reported", "[transport]") {
    TransportBench bench;
    Qp& qp = bench.make_qp();
    SqDriver driver = bench.driver(qp);
    for (int i = 0; i < 3; ++i) bench.post(driver, 0x0a, 0, bench.data(), i == 1 ? 0 : 2);
    bench.ring(driver, bench.post(driver, 0x10, 0, remote_segment(0, 1) + bench.data(512)));
    bench.run();
    REQUIRE(bench.transport.posts.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) CHECK(bench.transport.posts[i].control.index == i);
    CHECK(bench.drain_cq(bench.send_cq).empty());
    for (const auto& post : bench.transport.posts) {
        bench.report(qp, post, post.control.opcode == 0x10 ? 512 : 0);
    }
    bench.run();
    const auto seen = bench.drain_cq(bench.send_cq);
    CHECK(counters_of(seen) == std::vector<std::uint32_t>{0, 2, 3});  // one is not signaled
    CHECK(seen[0].send_opcode == 0x0a);
    CHECK(seen[2].send_opcode == 0x10);
    CHECK(seen[2].opcode == 0);
    CHECK(prm::ConstView<prm::cqe64>(seen[2].bytes).get<prm::cqe64::byte_cnt>() == 512);
    CHECK(bench.counters().posted_to_transport == 4);
}

TEST_CASE("only the first WQEs of a doorbell wait to be read", "[transport]") {
    TransportBench bench;
    Qp& qp = bench.make_qp();
    SqDriver driver = bench.driver(qp);
    bench.send(driver, 0x0a, bench.data());  // the ring's end lies inside the next ones
    bench.transport.posts.clear();
    const std::size_t reads = bench.host.accesses.size();
    for (int i = 0; i < 15; ++i) bench.post(driver, 0x0a, 0, bench.data());
    bench.ring(driver, bench.post(driver, 0x0a, 0, bench.data()));
    bench.run();
    const auto& posts = bench.transport.posts;
    REQUIRE(posts.size() == 16);
    // Four are read first; the others come meanwhile, in one read up to the ring's end and one on.
    const Picoseconds step = posts[1].at - posts[0].at;
    for (std::size_t i = 2; i < posts.size(); ++i) {
        CHECK(posts[i].at - posts[i - 1].at == step);
        CHECK(posts[i].control.index == i + 1);
    }
    CHECK(bench.host.accesses.size() == reads + 3);
}

TEST_CASE("what was read ahead is forgotten when the queue stops", "[transport]") {
    TransportBench bench;
    Qp& qp = bench.make_qp();
    SqDriver driver = bench.driver(qp);
    bench.transport.on_post = [&](Picoseconds at, const QpSend& send) {
        return send.control.index == 5 ? Picoseconds::max() : at;  // no more after this one
    };
    for (int i = 0; i < 9; ++i) bench.post(driver, 0x0a, 0, bench.data());
    bench.ring(driver, bench.post(driver, 0x0a, 0, bench.data()));
    bench.run();
    REQUIRE(bench.transport.posts.size() == 6);
    bench.queues.send_room(qp, bench.calendar.now());
    bench.run();
    REQUIRE(bench.transport.posts.size() == 10);
    for (std::size_t i = 0; i < 10; ++i) CHECK(bench.transport.posts[i].control.index == i);
}

TEST_CASE("a report ahead of time completes then, later ones behind it", "[transport]") {
    TransportBench bench;
    Qp& qp = bench.make_qp();
    SqDriver driver = bench.driver(qp);
    bench.send(driver, 0x0a, bench.data());
    bench.send(driver, 0x0a, bench.data());
    const Picoseconds now = bench.calendar.now();
    bench.queues.send_done(qp, now + microseconds(5), {0, 0x0a, true, false, 0});
    bench.queues.send_done(qp, now + microseconds(3), {1, 0x0a, true, false, 0});
    bench.run(microseconds(5));
    CHECK(bench.drain_cq(bench.send_cq).empty());
    bench.run(microseconds(1));
    CHECK(counters_of(bench.drain_cq(bench.send_cq)) == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("data that came with a report go out in its CQE", "[transport]") {
    using prm::cqe64;
    TransportBench bench;
    Qp& qp = bench.make_qp();
    SqDriver driver = bench.driver(qp);
    for (int i = 0; i < 4; ++i) bench.send(driver, 0x10, remote_segment(0, 1) + bench.data(32));
    const Picoseconds now = bench.calendar.now();
    const std::vector<std::byte> first(32, std::byte{1});
    const std::vector<std::byte> third(8, std::byte{3});
    bench.queues.send_done(qp, now, {0, 0x10, true, false, 32, first});
    bench.queues.send_done(qp, now, {1, 0x10, true, false, 32});
    bench.queues.send_done(qp, now, {2, 0x10, true, false, 8, third});
    bench.run();
    const auto seen = bench.drain_cq(bench.send_cq);
    REQUIRE(seen.size() == 3);
    const auto format = [&](std::size_t i) {
        return prm::ConstView<cqe64>(seen[i].bytes).get<cqe64::cqe_format>();
    };
    CHECK(format(0) == 1);
    CHECK(std::ranges::equal(std::span(seen[0].bytes).first(32), first));
    CHECK(format(1) == 0);
    CHECK(format(2) == 1);
    CHECK(std::ranges::equal(std::span(seen[2].bytes).first(8), third));
    CHECK(prm::ConstView<cqe64>(seen[2].bytes).get<cqe64::byte_cnt>() == 8);
    CHECK(counters_of(seen) == std::vector<std::uint32_t>{0, 1, 2});
    // Of a queue that was reset nothing is left for the next to find.
    bench.queues.send_done(qp, now + microseconds(5), {3, 0x10, true, false, 32, first});
    bench.move_qp(qp, QpState::reset);
    CHECK(qp.sq.completion_data.empty());
}

TEST_CASE("a transport may report during the call", "[transport]") {
    TransportBench bench;
    Qp& qp = bench.make_qp(kUc);
    SqDriver driver = bench.driver(qp);
    bench.transport.on_post = [&](Picoseconds at, const QpSend& send) {
        bench.queues.send_done(send.qp, at, {send.control.index, send.control.opcode, true});
        return at;
    };
    for (int i = 0; i < 9; ++i) bench.post(driver, 0x0a, 0, bench.data());
    bench.ring(driver, bench.post(driver, 0x0a, 0, bench.data()));
    bench.run();
    CHECK(bench.drain_cq(bench.send_cq).size() == 10);
    CHECK(bench.transport.posts.size() == 10);
}

TEST_CASE("a failed WQE ends in its error, what is behind it is flushed once", "[transport]") {
    for (const std::uint32_t failing : {0U, 1U, 3U}) {
        TransportBench bench;
        Qp& qp = bench.make_qp();
        SqDriver driver = bench.driver(qp);
        for (int i = 0; i < 4; ++i) bench.post(driver, 0x0a, 0, bench.data(), 0);
        bench.ring(driver, bench.post(driver, 0, 0, {}));
        bench.run();
        REQUIRE(bench.transport.posts.size() == 5);
        bench.transport.on_change = [&](Qp& changed) {
            // Told before anything is flushed.
            CHECK(changed.state == QpState::error);
            CHECK(bench.drain_cq(bench.send_cq).empty());
        };
        for (std::uint32_t i = 0; i < failing; ++i) bench.report(qp, bench.transport.posts[i]);
        bench.queues.send_failed(qp, bench.calendar.now(), static_cast<std::uint16_t>(failing),
                                 kRetryExceeded);
        CHECK(qp.state == QpState::error);
        bench.run(microseconds(10));
        auto seen = bench.drain_cq(bench.send_cq);
        REQUIRE(seen.size() == 1);
        CHECK(seen[0].wqe_counter == failing);
        CHECK(seen[0].syndrome == 0x15);
        CHECK(seen[0].vendor == 0x81);
        CHECK(seen[0].send_opcode == 0x0a);
        bench.run(milliseconds(1));
        seen = bench.drain_cq(bench.send_cq);
        REQUIRE(seen.size() == 4 - failing);
        for (std::size_t i = 0; i < seen.size(); ++i) {
            CHECK(seen[i].wqe_counter == failing + 1 + i);
            CHECK(seen[i].syndrome == 0x05);
            CHECK(seen[i].vendor == 0xf9);
        }
        CHECK(bench.counted("req_transport_retries_exceeded") == 1);
        CHECK(bench.counted("req_cqe_error") == 5 - failing);
        CHECK(bench.counted("req_cqe_flush_error") == 4 - failing);
        // Late reports change nothing.
        bench.report(qp, bench.transport.posts[4]);
        bench.run(milliseconds(1));
        CHECK(bench.drain_cq(bench.send_cq).empty());
        CHECK(bench.counters().stale_reports == 1);
    }
}

TEST_CASE("a WQE that fails during the call stops the queue", "[transport]") {
    TransportBench bench;
    Qp& qp = bench.make_qp();
    SqDriver driver = bench.driver(qp);
    bench.transport.on_post = [&](Picoseconds at, const QpSend& send) {
        bench.queues.send_failed(send.qp, at, send.control.index, {0x14, 0x89, 0, 0});
        return at;
    };
    for (int i = 0; i < 3; ++i) bench.post(driver, 0x0a, 0, bench.data());
    bench.ring(driver, bench.post(driver, 0x0a, 0, bench.data()));
    bench.run(milliseconds(1));
    const auto seen = bench.drain_cq(bench.send_cq);
    CHECK(counters_of(seen) == std::vector<std::uint32_t>{0, 1, 2, 3});
    CHECK(seen[0].syndrome == 0x14);
    CHECK(bench.transport.posts.size() == 1);
}

TEST_CASE("a move to error by command flushes all that is not reported, once", "[transport]") {
    // Every moment from the doorbell on; two of six WQEs are reported.
    for (int ns = 0; ns < 1500; ns += 30) {
        TransportBench bench;
        Qp& qp = bench.make_qp();
        SqDriver driver = bench.driver(qp);
        bench.transport.on_post = [&](Picoseconds at, const QpSend& send) {
            if (send.control.index < 2) {
                bench.queues.send_done(send.qp, at, {send.control.index, 0x0a, true});
            }
            return at;
        };
        for (int i = 0; i < 5; ++i) bench.post(driver, 0x0a, 0, bench.data());
        bench.ring(driver, bench.post(driver, 0x0a, 0, bench.data()));
        bench.run(nanoseconds(ns));
        bench.move_qp(qp, QpState::error);
        bench.run(milliseconds(1));
        const auto seen = bench.drain_cq(bench.send_cq);
        CHECK(counters_of(seen) == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5});
        for (std::size_t i = 1; i < seen.size(); ++i) CHECK(seen[i - 1].opcode <= seen[i].opcode);
        CHECK(seen[5].syndrome == 0x05);
    }
}

TEST_CASE("local operations keep their place among the completions", "[transport]") {
    TransportBench bench;
    Qp& qp = bench.make_qp();
    Mkey& mkey = bench.create_mkey(kPd, 1, 0, 0x1000, 12, 4);
    SqDriver driver = bench.driver(qp);
    std::vector<std::byte> umr(48 + 64);
    store_be<std::uint32_t>(umr.data(), 0x80000000U);                 // inline
    store_be<std::uint64_t>(umr.data() + 8, std::uint64_t{1} << 29);  // the free bit
    store_be<std::uint32_t>(umr.data() + 48, 0x40000000U);            // is set
    bench.post(driver, 0x0a, 0, bench.data());
    bench.post(driver, 0, 0, {});
    bench.post(driver, 0x25, mkey.key(), umr);
    bench.ring(driver, bench.post(driver, 0x0a, 0, bench.data()));
    bench.run();
    REQUIRE(bench.transport.posts.size() == 4);
    CHECK_FALSE(bench.transport.posts[0].local);
    CHECK(bench.transport.posts[1].local);
    CHECK(bench.transport.posts[2].local);
    CHECK(bench.transport.posts[2].local_finish >= bench.transport.posts[2].at);
    CHECK(bench.transport.posts[3].at >= bench.transport.posts[2].local_finish);
    CHECK(mkey.view().get<prm::mkc::free>() == 1);  // done, if not reported
    CHECK(bench.drain_cq(bench.send_cq).empty());
    for (const auto& post : bench.transport.posts) bench.report(qp, post);
    bench.run();
    const auto seen = bench.drain_cq(bench.send_cq);
    CHECK(counters_of(seen) == std::vector<std::uint32_t>{0, 1, 2, 4});
    CHECK(seen[2].send_opcode == 0x25);
}

TEST_CASE("the short local invalidate frees its key, once", "[transport]") {
    TransportBench bench;
    Qp& qp = bench.make_qp();
    Mkey& mkey = bench.create_mkey(kPd, 1, 0, 0x1000, 12, 4);
    SqDriver driver = bench.driver(qp);
    bench.send(driver, 0x1b, {}, 2, mkey.key());
    REQUIRE(bench.transport.posts.size() == 1);
    CHECK(bench.transport.posts[0].local);
    CHECK(mkey.view().get<prm::mkc::free>() == 1);
    bench.report(qp, bench.transport.posts[0]);
    bench.send(driver, 0x1b, {}, 2, mkey.key());
    const auto seen = bench.drain_cq(bench.send_cq);
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].opcode == 0);
    CHECK(seen[1].syndrome == 0x06);
}

TEST_CASE("the short local invalidate leaves a window to the queue pair that bound it",
          "[transport]") {
    for (const bool own : {true, false}) {
        TransportBench bench;
        Qp& qp = bench.make_qp();
        Mkey& mkey = bench.create_mkey(kPd, 2, 0x1000, 0x1000, 0, 4);
        mkey.view().set<prm::mkc::qpn>(qp.id.number + (own ? 0 : 1));
        SqDriver driver = bench.driver(qp);
        bench.send(driver, 0x1b, {}, 2, mkey.key());
        CHECK(bench.transport.posts.size() == (own ? 1 : 0));
        CHECK(mkey.view().get<prm::mkc::free>() == (own ? 1 : 0));
        if (!own) CHECK(bench.drain_cq(bench.send_cq).at(0).syndrome == 0x06);
    }
}

TEST_CASE("a WQE that is bad here waits for those before it", "[transport]") {
    for (const bool earlier_fails : {false, true}) {
        TransportBench bench;
        Qp& qp = bench.make_qp();
        SqDriver driver = bench.driver(qp);
        bench.post(driver, 0x0a, 0, bench.data());
        bench.post(driver, 0x0a, 0, bench.data());
        bench.post(driver, 0x0a, 0, data_segment(8, 0x77700, 0));
        bench.ring(driver, bench.post(driver, 0x0a, 0, bench.data()));
        bench.run(milliseconds(1));
        CHECK(bench.transport.posts.size() == 2);
        CHECK(qp.state == QpState::rts);
        CHECK(bench.drain_cq(bench.send_cq).empty());
        bench.post_nop(driver);  // a doorbell wakes nothing
        bench.run();
        CHECK(bench.transport.posts.size() == 2);
        bench.report(qp, bench.transport.posts[0]);
        if (earlier_fails)
            bench.queues.send_failed(qp, bench.calendar.now(), 1, kRetryExceeded);
        else
            bench.report(qp, bench.transport.posts[1]);
        bench.run(milliseconds(1));
        const auto seen = bench.drain_cq(bench.send_cq);
        CHECK(counters_of(seen) == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
        CHECK(seen[0].opcode == 0);
        if (earlier_fails) {
            CHECK(seen[1].syndrome == 0x15);
            CHECK(seen[2].syndrome == 0x05);
        } else {
            CHECK(seen[1].opcode == 0);
            CHECK(seen[2].syndrome == 0x04);
            CHECK(seen[2].vendor == 0x52);
        }
        CHECK(seen[3].syndrome == 0x05);
    }
}

TEST_CASE("the queue brings no more than the transport takes", "[transport]") {
    TransportBench bench;
    Qp& qp = bench.make_qp();
    SqDriver driver = bench.driver(qp);
    bench.transport.on_post = [&](Picoseconds at, const QpSend& send) {
        return send.control.index % 3 == 2 ? Picoseconds::max() : at + nanoseconds(400);
    };
    for (int i = 0; i < 6; ++i) bench.post(driver, 0x0a, 0, bench.data());
    bench.ring(driver, bench.post(driver, 0x0a, 0, bench.data()));
    bench.run(milliseconds(1));
    REQUIRE(bench.transport.posts.size() == 3);
    CHECK(bench.transport.posts[1].at - bench.transport.posts[0].at >= nanoseconds(400));
    bench.post_nop(driver);  // a doorbell is no room
    bench.run();
    CHECK(bench.transport.posts.size() == 3);
    bench.queues.send_room(qp, bench.calendar.now());
    bench.run();
    CHECK(bench.transport.posts.size() == 6);
    bench.queues.send_room(qp, bench.calendar.now());
    bench.queues.send_room(qp, bench.calendar.now());
    bench.run();
    CHECK(bench.transport.posts.size() == 8);
    for (std::size_t i = 0; i < 8; ++i) CHECK(bench.transport.posts[i].control.index == i);
}

TEST_CASE("a queue that waits for room is flushed like any other", "[transport]") {
    TransportBench bench;
    Qp& qp = bench.make_qp();
    SqDriver driver = bench.driver(qp);
    bench.transport.on_post = [](Picoseconds, const QpSend&) { return Picoseconds::max(); };
    for (int i = 0; i < 3; ++i) bench.post(driver, 0x0a, 0, bench.data());
    bench.ring(driver, bench.post(driver, 0x0a, 0, bench.data()));
    bench.run();
    bench.move_qp(qp, QpState::error);
    bench.queues.send_room(qp, bench.calendar.now());
    bench.run(milliseconds(1));
    CHECK(bench.drain_cq(bench.send_cq).size() == 4);
    CHECK(bench.transport.posts.size() == 1);
}

TEST_CASE("a UD QP recovers from a failed send", "[transport]") {
    TransportBench bench;
    Qp& qp = bench.make_qp(kUd);
    SqDriver driver = bench.driver(qp);
    const auto segments = std::vector<std::byte>(16) + bench.data();
    bench.send(driver, 0x0a, segments);
    bench.send(driver, 0x0a, segments);
    bench.queues.send_failed(qp, bench.calendar.now(), 0, {0x02, 0x68, 0x86, 0});
    bench.run(milliseconds(1));
    CHECK(qp.state == QpState::sq_error);
    CHECK(bench.drain_cq(bench.send_cq).size() == 2);
    bench.move_qp(qp, QpState::rts);
    bench.send(driver, 0x0a, segments);
    REQUIRE(bench.transport.posts.size() == 3);
    bench.report(qp, bench.transport.posts[2]);
    bench.run();
    const auto seen = bench.drain_cq(bench.send_cq);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].opcode == 0);
    CHECK(seen[0].wqe_counter == 2);
}

TEST_CASE("a draining queue is drained when all is reported, and says so", "[transport]") {
    for (const bool idle : {false, true}) {
        TransportBench bench;
        Qp& qp = bench.make_qp();
        SqDriver driver = bench.driver(qp);
        if (!idle) bench.send(driver, 0x0a, bench.data());
        bench.move_qp(qp, QpState::sq_draining);
        bench.send(driver, 0x0a, bench.data());  // waits
        if (!idle) {
            CHECK(qp.state == QpState::sq_draining);
            CHECK_FALSE(bench.event());
            bench.report(qp, bench.transport.posts[0]);
            bench.run();
            CHECK(bench.drain_cq(bench.send_cq).size() == 1);
        }
        CHECK(qp.state == QpState::sq_drained);
        CHECK(qp.view().get<prm::qpc::state>() == 5);
        const auto eqe = bench.event();
        REQUIRE(eqe);
        CHECK(eqe->type == 0x03);
        CHECK((eqe->number() & 0xffffff) == qp.id.number);
        CHECK(bench.transport.changes.back().to == QpState::sq_drained);
        CHECK(bench.transport.posts.size() == (idle ? 0 : 1));
        bench.move_qp(qp, QpState::rts);
        bench.run();
        CHECK(bench.transport.posts.size() == (idle ? 1 : 2));
    }
}

TEST_CASE("a reset QP owes nothing any more", "[transport]") {
    TransportBench bench;
    Qp& qp = bench.make_qp();
    SqDriver driver = bench.driver(qp);
    bench.send(driver, 0x0a, bench.data());
    const auto old = bench.transport.posts[0];
    bench.move_qp(qp, QpState::reset);
    bench.report(qp, old);
    CHECK(bench.counters().stale_reports == 1);
    bench.move_qp(qp, QpState::rts);
    driver.producer = 0;
    bench.send(driver, 0x0a, bench.data());
    REQUIRE(bench.transport.posts.size() == 2);
    CHECK(bench.transport.posts[1].control.index == 0);
    bench.report(qp, bench.transport.posts[1]);
    bench.run();
    CHECK(bench.drain_cq(bench.send_cq).size() == 1);
}

TEST_CASE("the transport hears of changes, queries, ends and resets", "[transport]") {
    TransportBench bench;
    Qp& qp = bench.make_qp(kRc, QpState::rtr);
    Qp& other = bench.make_qp();
    const std::uint32_t number = qp.id.number;
    bench.move_qp(qp, QpState::rts);
    REQUIRE(bench.transport.changes.size() == 3);
    CHECK(bench.transport.changes[2].from == QpState::rtr);
    CHECK(bench.transport.changes[2].to == QpState::rts);
    bench.engines.refresh(qp);
    CHECK(qp.view().get<prm::qpc::next_send_psn>() == 0x123456);
    bench.engines.destroyed(qp.id);
    bench.resources.destroy(qp.id);
    CHECK(bench.transport.gone == std::vector<std::uint32_t>{number});
    bench.engines.reset();
    CHECK(bench.transport.gone == std::vector<std::uint32_t>{number, other.id.number});
}

TEST_CASE("a ring that is used up many times keeps order and place", "[transport]") {
    TransportBench bench;
    Qp& qp = bench.make_qp();
    SqDriver driver = bench.driver(qp);
    qp.sq.producer = qp.sq.consumer = driver.producer = 0xffe0;
    std::size_t reported = 0;
    std::size_t completed = 0;
    for (int round = 0; round < 60; ++round) {
        auto segments = bench.data();
        for (int more = 0; more < round % 5; ++more) segments = segments + bench.data();
        bench.send(driver, 0x0a, segments);
        if (round % 4 == 3) {
            while (reported < bench.transport.posts.size()) {
                bench.report(qp, bench.transport.posts[reported++]);
            }
            bench.run();
            completed += bench.drain_cq(bench.send_cq).size();
        }
    }
    CHECK(completed == 60);
    CHECK(qp.state == QpState::rts);
}

}  // namespace
}  // namespace cxsim::test
