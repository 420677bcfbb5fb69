// SPDX-License-Identifier: Apache-2.0
// Queues whose contexts and keys may not be at hand: what waits for a read, and what takes entries
// out. The host of the bench takes 500 ns for a read.
#include "tests/unit/queues/queue_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

struct CachedBench : QueueBench {
    explicit CachedBench(std::uint32_t entries) : QueueBench(entries) {}

    EqDriver eq = create_eq(6, 1);
    CqDriver cq = create_cq(6, eq.eq->id.number);
    Sq& sq = create_sq(cq.cq->id.number, 6);
    SqDriver driver = driver_of(sq.id.number, sq.wq);

    /// When the CQE of a NOP is written.
    Picoseconds nop() {
        run();
        const Picoseconds start = calendar.now();
        host.accesses.clear();
        post_nop(driver);
        run();
        Picoseconds written;
        for (const auto& access : host.accesses) {
            if (access.write && access.bytes == 64) written = access.start;
        }
        const auto seen = poll_cq(cq);
        REQUIRE(seen);
        update_cq(cq);
        return written - start;
    }
};

}  // namespace

TEST_CASE("a doorbell waits for its queue's context, a completion for its queue's", "[caches]") {
    CachedBench bench(2);
    bench.nop();
    const Picoseconds at_hand = bench.nop();
    CHECK(bench.caches->counters().queues.hits.value() > 0);
    // Two other queues of each kind push both out.
    for (int i = 0; i < 2; ++i) {
        bench.engines.context_written(bench.create_cq(6, bench.eq.eq->id.number).cq->id);
        bench.engines.context_written(bench.create_sq(bench.cq.cq->id.number, 6).id);
    }
    const std::uint64_t queues = bench.caches->counters().queues.misses.value();
    const std::uint64_t cqs = bench.caches->counters().cqs.misses.value();
    CHECK(bench.nop() == at_hand + 2 * nanoseconds(500));
    CHECK(bench.caches->counters().queues.misses.value() == queues + 1);
    CHECK(bench.caches->counters().cqs.misses.value() == cqs + 1);
    CHECK(bench.nop() == at_hand);
}

TEST_CASE("destroyed queues and a reset leave nothing behind", "[caches]") {
    CachedBench bench(8);
    bench.nop();
    bench.engines.context_written(bench.sq.id);
    bench.engines.destroyed(bench.sq.id);
    CHECK(bench.caches->counters().queues.invalidations.value() == 1);
    const std::uint64_t misses = bench.caches->counters().cqs.misses.value();
    bench.caches->context(ContextKind::cq, bench.cq.cq->id.number, bench.calendar.now());
    CHECK(bench.caches->counters().cqs.misses.value() == misses);
    bench.engines.reset();
    bench.caches->context(ContextKind::cq, bench.cq.cq->id.number, bench.calendar.now());
    CHECK(bench.caches->counters().cqs.misses.value() == misses + 1);
}

TEST_CASE("registration by a work request takes the key and its translations out", "[caches]") {
    CachedBench bench(8);
    Mkey& mkey = bench.create_mkey(kPd, 1, 0, 0x8000, 12, 8);
    const TranslationOrigin origin{0, mkey.id.number, 12};
    bench.caches->memory(origin, 0, 0x3000, bench.calendar.now());
    const auto& counters = bench.caches->counters();
    CHECK(counters.mkeys.misses.value() == 1);
    CHECK(counters.translations.misses.value() == 3);
    // UMR of four entries.
    std::vector<std::byte> segments(48 + 64 + 64);
    const prm::View<prm::wqe_umr_ctrl_seg> umr(segments);
    umr.set<prm::wqe_umr_ctrl_seg::is_inline>(1U);
    umr.set<prm::wqe_umr_ctrl_seg::xlt_octowords>(4U);
    bench.ring(bench.driver, bench.post(bench.driver, 0x25, mkey.key(), segments));
    bench.run();
    const auto cqe = bench.poll_cq(bench.cq);
    REQUIRE(cqe);
    CHECK(cqe->opcode == 0);
    CHECK(counters.mkeys.invalidations.value() == 1);
    CHECK(counters.translations.invalidations.value() == 3);
}

TEST_CASE("translated ranges tell their key and page", "[caches]") {
    QueueBench bench;
    Mkey& mkey = bench.create_mkey(kPd, 1, 0x10'0000, 0x3000, 12, 2);
    mkey.translations.resize(24);
    for (std::size_t i = 0; i < 3; ++i) {
        store_be<std::uint64_t>(mkey.translations.data() + 8 * i,
                                (i == 2 ? 0x90'0000 : 0x80'0000 + i * 0x1000) | 3);
    }
    std::vector<HostRange> ranges;
    REQUIRE(bench.engines.translator().translate({.key = mkey.key(),
                                                  .pd = kPd,
                                                  .address = 0x10'0800,
                                                  .bytes = 0x2000,
                                                  .access = Access::local_read},
                                                 ranges) == TranslationError::none);
    REQUIRE(ranges.size() == 2);
    CHECK(ranges[0].bytes == 0x1800);  // neighbours in both spaces
    CHECK(ranges[0].origin.address == 0x10'0800);
    CHECK(ranges[0].origin.mkey == mkey.id.number);
    CHECK(ranges[0].origin.log_page == 12);
    CHECK(ranges[1].origin.address == 0x10'2000);
    ranges.clear();
    REQUIRE(bench.engines.translator().translate({.key = bench.pa_key,
                                                  .pd = kPd,
                                                  .address = 0x5000,
                                                  .bytes = 16,
                                                  .access = Access::local_read},
                                                 ranges) == TranslationError::none);
    CHECK(ranges[0].origin.mkey == bench.pa_key >> 8);
    CHECK(ranges[0].origin.log_page == 0);
}

}  // namespace cxsim::test
