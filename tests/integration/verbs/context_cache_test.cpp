// SPDX-License-Identifier: Apache-2.0
// What it costs two cards when contexts and translations do not fit into their caches: the reads,
// no more and no less.
#include "tests/integration/verbs/verbs_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <initializer_list>
#include <vector>

using namespace cxsim;
using namespace cxsim::scenarios;
using namespace cxsim::test;
using model::ContextTableCounters;
using model::Picoseconds;

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr unsigned kSmall = 12;  // log of bytes of a page
constexpr unsigned kLarge = 21;
// Reads of one after the other meet the same host, but not the same place in its memory.
constexpr Picoseconds kUneven = model::nanoseconds(1);

/// Misses and the time that they took, of one table.
struct Reads {
    std::uint64_t misses = 0;
    Picoseconds time;

    explicit Reads(const ContextTableCounters& counters)
        : misses(counters.misses.value()),
          time{static_cast<std::int64_t>(counters.read_time.value())} {}
    Reads since(const Reads& before) const {
        Reads result = *this;
        result.misses -= before.misses;
        result.time = time - before.time;
        return result;
    }
};

struct CacheBench : VerbsBench {
    CacheBench(std::initializer_list<model::Override> overrides)
        : VerbsBench(2, "connectx5", {}, overrides), a(verbs(0)), b(verbs(1)) {}

    const model::ContextCacheCounters& counters(unsigned card) {
        return station(card).function().caches()->counters();
    }
    /// `count` queue pairs of a, connected, all on one CQ.
    void connect_pairs(unsigned count) {
        cq = &a.create_cq(1024);
        far_cq = &b.create_cq(64);
        for (unsigned i = 0; i < count; ++i) {
            QpOptions options;
            options.max_inline = 64;
            options.blue_flame = true;
            pairs.push_back(&a.create_qp(a.pd(), *cq, *cq, options));
            VerbsQp& peer = b.create_qp(b.pd(), *far_cq, *far_cq, options);
            connect(*pairs.back(), a, peer, b);
        }
    }
    void post_write(VerbsQp& qp, const VerbsMr& from, std::uint64_t from_offset, const VerbsMr& to,
                    std::uint64_t to_offset, bool inlined, std::uint64_t bytes = 8) {
        const Sge piece = from.sge(from_offset, bytes);
        if (!qp.post_send({.op = SendOp::write,
                           .sges = {&piece, 1},
                           .inlined = inlined,
                           .remote_address = to.address() + to_offset,
                           .rkey = to.rkey()})) {
            throw std::runtime_error("the send queue is full");
        }
    }
    Picoseconds next() {
        Completion done;
        if (!cq->wait(done, model::milliseconds(1)) || !done.ok()) {
            throw std::runtime_error("a WRITE failed");
        }
        return done.time;
    }
    /// From the doorbell to the completion, one alone.
    Picoseconds write(VerbsQp& qp, const VerbsMr& from, std::uint64_t from_offset,
                      const VerbsMr& to, std::uint64_t to_offset, bool inlined = true,
                      std::uint64_t bytes = 8) {
        kernel.run_for(model::microseconds(20));
        const Picoseconds start = kernel.now();
        post_write(qp, from, from_offset, to, to_offset, inlined, bytes);
        return next() - start;
    }

    VerbsDriver& a;
    VerbsDriver& b;
    VerbsCq* cq = nullptr;
    VerbsCq* far_cq = nullptr;
    std::vector<VerbsQp*> pairs;
};

bool nearly(Picoseconds one, Picoseconds other) {
    return std::abs((one - other).value) <= kUneven.value;
}

}  // namespace

TEST_CASE("a WRITE of a queue pair whose contexts are not at hand is late by both cards' reads",
          "[verbs][caches]") {
    constexpr unsigned kPairs = 12;
    constexpr unsigned kCached = 8;
    CacheBench bench{{"timing.icm.queue_contexts", std::to_string(kCached)}};
    bench.connect_pairs(kPairs);
    const VerbsMr& from = bench.a.create_mr(bench.a.pd(), kPage);
    const VerbsMr& to = bench.b.create_mr(bench.b.pd(), kPage);
    const auto round = [&](unsigned count) {
        Picoseconds sum;
        for (unsigned i = 0; i < count; ++i) sum += bench.write(*bench.pairs[i], from, 0, to, 0);
        return sum;
    };
    // As many as fit: the first round brings them in.
    round(kCached);
    Reads a(bench.counters(0).queues);
    Reads b(bench.counters(1).queues);
    const Picoseconds at_hand = round(kCached);
    CHECK(Reads(bench.counters(0).queues).since(a).misses == 0);
    CHECK(Reads(bench.counters(1).queues).since(b).misses == 0);
    // All of them, in turn: each comes when it has just made room for another.
    round(kPairs);
    a = Reads(bench.counters(0).queues);
    b = Reads(bench.counters(1).queues);
    const Picoseconds missed = round(kPairs);
    a = Reads(bench.counters(0).queues).since(a);
    b = Reads(bench.counters(1).queues).since(b);
    CHECK(a.misses == kPairs);
    CHECK(b.misses == kPairs);
    const Picoseconds each = Picoseconds{at_hand.value / kCached};
    const Picoseconds late = Picoseconds{missed.value / kPairs} - each;
    CAPTURE(each.nanoseconds(), late.nanoseconds());
    CHECK(a.time > model::nanoseconds(300) * kPairs);
    CHECK(nearly(late, Picoseconds{(a.time + b.time).value / kPairs}));
}

TEST_CASE("with one read at a time queue pairs beyond the cache send no quicker than contexts come",
          "[verbs][caches]") {
    constexpr unsigned kPairs = 32;
    constexpr unsigned kRounds = 20;
    CacheBench bench{{"timing.icm.queue_contexts", "16"}, {"timing.icm.reads", "1"}};
    bench.connect_pairs(kPairs);
    const VerbsMr& from = bench.a.create_mr(bench.a.pd(), kPage);
    const VerbsMr& to = bench.b.create_mr(bench.b.pd(), kPage);
    const auto burst = [&](unsigned pairs) {
        bench.kernel.run_for(model::microseconds(100));
        const Picoseconds start = bench.kernel.now();
        Picoseconds last;
        for (unsigned i = 0; i < kRounds * kPairs / pairs; ++i) {
            for (unsigned j = 0; j < pairs; ++j) {
                bench.post_write(*bench.pairs[j], from, 0, to, 0, true);
            }
            for (unsigned j = 0; j < pairs; ++j) last = bench.next();
        }
        return last - start;
    };
    // What one read takes by itself.
    bench.write(*bench.pairs[0], from, 0, to, 0);
    for (unsigned j = 1; j < kPairs; ++j) bench.write(*bench.pairs[j], from, 0, to, 0);
    const Reads alone(bench.counters(0).queues);
    bench.write(*bench.pairs[0], from, 0, to, 0);
    const Picoseconds read = Reads(bench.counters(0).queues).since(alone).time;
    REQUIRE(read > Picoseconds{});

    burst(16);
    const Reads before(bench.counters(0).queues);
    const Picoseconds within = burst(16);
    CHECK(Reads(bench.counters(0).queues).since(before).misses == 0);
    const Reads again(bench.counters(0).queues);
    const Picoseconds beyond = burst(kPairs);
    const std::uint64_t misses = Reads(bench.counters(0).queues).since(again).misses;
    CHECK(misses >= kRounds * kPairs);
    CAPTURE(read.nanoseconds(), within.microseconds(), beyond.microseconds());
    CHECK(beyond > within + within);
    CHECK(beyond.value >= static_cast<std::int64_t>(misses) * read.value * 95 / 100);
}

TEST_CASE("WRITEs over more small pages than translations fit are late, over large pages not",
          "[verbs][caches]") {
    constexpr std::uint64_t kBytes = 1 << 20;
    constexpr unsigned kWrites = 64;
    CacheBench bench{{"timing.icm.translations", "16"}};
    bench.connect_pairs(1);
    const VerbsMr& near = bench.a.create_mr(bench.a.pd(), kBytes, {.log_page_size = kSmall});
    const VerbsMr& small = bench.b.create_mr(bench.b.pd(), kBytes, {.log_page_size = kSmall});
    const VerbsMr& large = bench.b.create_mr(bench.b.pd(), kBytes, {.log_page_size = kLarge});
    // Mean of WRITEs to `pages` places of the peer's region, and of the own, in turn.
    const auto mean = [&](const VerbsMr& to, unsigned pages, unsigned own_pages, bool inlined) {
        Picoseconds sum;
        for (unsigned i = 0; i < kWrites; ++i) {
            sum += bench.write(*bench.pairs[0], near, i % own_pages * kPage, to, i % pages * kPage,
                               inlined);
        }
        return Picoseconds{sum.value / kWrites};
    };
    const auto& translations = bench.counters(1).translations;
    mean(large, 256, 1, true);
    const Reads none(translations);
    const Picoseconds over_large = mean(large, 256, 1, true);
    CHECK(Reads(translations).since(none).misses == 0);
    mean(small, 8, 1, true);  // within reach
    CHECK(nearly(mean(small, 8, 1, true), over_large));
    mean(small, 64, 1, true);
    const Reads before(translations);
    const Picoseconds over_small = mean(small, 64, 1, true);
    const Reads reads = Reads(translations).since(before);
    CHECK(reads.misses == kWrites);
    CAPTURE(over_large.nanoseconds(), over_small.nanoseconds());
    CHECK(reads.time > model::nanoseconds(300) * kWrites);
    CHECK(nearly(over_small - over_large, Picoseconds{reads.time.value / kWrites}));

    // The same of the memory that the requester reads.
    const auto& own = bench.counters(0).translations;
    mean(large, 1, 8, false);
    const Picoseconds own_within = mean(large, 1, 8, false);
    mean(large, 1, 64, false);
    const Reads own_before(own);
    const Picoseconds own_beyond = mean(large, 1, 64, false);
    const Reads own_reads = Reads(own).since(own_before);
    CHECK(own_reads.misses == kWrites);
    CHECK(nearly(own_beyond - own_within, Picoseconds{own_reads.time.value / kWrites}));
}

TEST_CASE("completions to more queues than contexts fit are late by a read", "[verbs][caches]") {
    CacheBench bench{{"timing.icm.cq_contexts", "2"}};
    bench.connect_pairs(1);
    VerbsCq& first = *bench.cq;
    const VerbsMr& from = bench.a.create_mr(bench.a.pd(), kPage);
    const VerbsMr& to = bench.b.create_mr(bench.b.pd(), kPage);
    bench.write(*bench.pairs[0], from, 0, to, 0);
    const Picoseconds at_hand = bench.write(*bench.pairs[0], from, 0, to, 0);
    // Two others come in between.
    bench.a.create_cq(16);
    bench.a.create_cq(16);
    const Reads before(bench.counters(0).cqs);
    bench.cq = &first;
    const Picoseconds missed = bench.write(*bench.pairs[0], from, 0, to, 0);
    const Reads reads = Reads(bench.counters(0).cqs).since(before);
    CHECK(reads.misses == 1);
    CHECK(nearly(missed - at_hand, reads.time));
}

TEST_CASE("a region that goes takes its key and translations with it", "[verbs][caches]") {
    CacheBench bench{{"timing.icm.reads", "16"}};
    bench.connect_pairs(1);
    const VerbsMr& from = bench.a.create_mr(bench.a.pd(), kPage);
    VerbsMr& to = bench.b.create_mr(bench.b.pd(), 4 * kPage);
    for (unsigned i = 0; i < 4; ++i) bench.write(*bench.pairs[0], from, 0, to, i * kPage);
    const auto& counters = bench.counters(1);
    const std::uint64_t keys = counters.mkeys.invalidations.value();
    const std::uint64_t pages = counters.translations.invalidations.value();
    to.destroy();
    CHECK(counters.mkeys.invalidations.value() == keys + 1);
    CHECK(counters.translations.invalidations.value() == pages + 4);
}

namespace {

/// How much longer the first WRITE of 512 KiB from pages never used takes than the second.
Picoseconds first_use(const char* ahead) {
    CacheBench bench{{"timing.icm.ahead", ahead}};
    constexpr std::uint64_t kBytes = 1 << 19;
    bench.connect_pairs(1);
    const VerbsMr& from = bench.a.create_mr(bench.a.pd(), kBytes, {.log_page_size = kSmall});
    const VerbsMr& to = bench.b.create_mr(bench.b.pd(), kBytes, {.log_page_size = kLarge});
    bench.write(*bench.pairs[0], from, 0, to, 0);
    const Reads before(bench.counters(0).translations);
    const Picoseconds first = bench.write(*bench.pairs[0], from, 0, to, 0, false, kBytes);
    const Reads reads = Reads(bench.counters(0).translations).since(before);
    CHECK(reads.misses == kBytes / kPage);
    const Picoseconds second = bench.write(*bench.pairs[0], from, 0, to, 0, false, kBytes);
    CAPTURE(first.nanoseconds(), second.nanoseconds());
    CHECK(first > second);
    return first - second;
}

}  // namespace

TEST_CASE("a message over pages never used stops once", "[verbs][caches]") {
    CHECK(first_use("16KiB") < model::microseconds(1));
}

TEST_CASE("without looking ahead it stops at each page", "[verbs][caches]") {
    CHECK(first_use("0B") > model::microseconds(3));  // the transmit buffer hides the rest
}
