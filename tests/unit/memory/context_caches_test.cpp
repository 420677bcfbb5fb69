// SPDX-License-Identifier: Apache-2.0
#include "model/memory/context_caches.h"

#include "tests/support/fake_host_bus.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using namespace cxsim::model;

namespace {

// The bus answers after 500 ns, whatever is under way.
constexpr Picoseconds kRead = nanoseconds(500);
constexpr std::uint64_t kPages = 0x10'0000;

struct Memory : ContextMemory {
    bool given = true;
    std::optional<HostAddress> context_address(ContextKind kind, std::uint32_t owner,
                                               std::uint32_t index,
                                               std::uint32_t bytes) const override {
        if (!given) return std::nullopt;
        return HostAddress{kPages + (std::uint64_t{static_cast<std::uint8_t>(kind)} << 16) +
                           (owner + index) * bytes};
    }
};

struct Bench {
    explicit Bench(std::uint32_t entries = 4, std::uint32_t reads = 16)
        : caches(FunctionId{0}, bus, memory,
                 {.entries = {entries, entries, entries, entries}, .reads = reads}, statistics,
                 "icm") {}
    std::uint64_t reads() const { return bus.accesses.size(); }

    test::FakeHostBus bus;
    Memory memory;
    stats::Group statistics{"card"};
    ContextCaches caches;
};

constexpr TranslationOrigin kSmallPages{0x4'0000, 33, 12};

}  // namespace

TEST_CASE("a context that is not at hand takes one read of its size", "[memory][context_caches]") {
    Bench bench;
    const Picoseconds at = microseconds(3);
    CHECK(bench.caches.context(ContextKind::qp, 0x40, at) == at + kRead);
    REQUIRE(bench.reads() == 1);
    CHECK_FALSE(bench.bus.accesses[0].write);
    CHECK(bench.bus.accesses[0].bytes == 512);
    CHECK(bench.bus.accesses[0].start == at);
    // It is there now.
    CHECK(bench.caches.context(ContextKind::qp, 0x40, at + kRead) == at + kRead);
    CHECK(bench.reads() == 1);
    for (const auto& [kind, bytes] :
         {std::pair{ContextKind::sq, 256U}, {ContextKind::rq, 256U}, {ContextKind::cq, 64U},
          {ContextKind::mkey, 64U}}) {
        const auto number = 0x1000 + static_cast<std::uint32_t>(kind);  // queues have one space
        bench.caches.context(kind, number, at);
        CHECK(bench.bus.accesses.back().bytes == bytes);
    }
    const auto& queues = bench.caches.counters().queues;
    CHECK(queues.misses.value() == 3);
    CHECK(queues.hits.value() == 1);
    CHECK(queues.read_time.value() == 3 * static_cast<std::uint64_t>(kRead.value));
    CHECK(bench.statistics.find("icm.queues.misses") == &queues.misses);
}

TEST_CASE("who comes while a context is being read waits for the same read",
          "[memory][context_caches]") {
    Bench bench;
    const Picoseconds at = microseconds(3);
    bench.caches.context(ContextKind::cq, 1, at);
    CHECK(bench.caches.context(ContextKind::cq, 1, at + nanoseconds(100)) == at + kRead);
    CHECK(bench.caches.context(ContextKind::cq, 1, at + nanoseconds(700)) == at + nanoseconds(700));
    CHECK(bench.reads() == 1);
}

TEST_CASE("reads beyond those under way wait for one of them", "[memory][context_caches]") {
    Bench bench(16, 2);
    const Picoseconds at = microseconds(3);
    CHECK(bench.caches.context(ContextKind::qp, 1, at) == at + kRead);
    CHECK(bench.caches.context(ContextKind::qp, 2, at) == at + kRead);
    CHECK(bench.caches.context(ContextKind::qp, 3, at) == at + kRead + kRead);
    CHECK(bench.caches.context(ContextKind::mkey, 3, at) == at + kRead + kRead);
    CHECK(bench.caches.context(ContextKind::qp, 4, at) == at + kRead + kRead + kRead);
}

TEST_CASE("translations are read behind their key, all of a stretch together",
          "[memory][context_caches]") {
    Bench bench;
    const Picoseconds at = microseconds(3);
    // Two pages: the second half of one, the first of the next.
    CHECK(bench.caches.memory(kSmallPages, 2048, 4096, at) == at + kRead + kRead);
    REQUIRE(bench.reads() == 3);
    CHECK(bench.bus.accesses[1].bytes == 8);
    CHECK(bench.bus.accesses[1].start == at + kRead);
    CHECK(bench.bus.accesses[2].start == at + kRead);
    const auto& counters = bench.caches.counters();
    CHECK(counters.mkeys.misses.value() == 1);
    CHECK(counters.translations.misses.value() == 2);
    // The rest of the second page, a third one.
    const Picoseconds later = microseconds(9);
    CHECK(bench.caches.memory(kSmallPages, 6144, 2048, later) == later);
    CHECK(bench.caches.memory(kSmallPages, 8192, 1, later) == later + kRead);
    CHECK(counters.mkeys.hits.value() == 2);
}

TEST_CASE("large pages need few translations, physical addresses none",
          "[memory][context_caches]") {
    Bench bench;
    const Picoseconds at = microseconds(3);
    bench.caches.memory({0x20'0000, 33, 21}, 0, 2 << 20, at);
    CHECK(bench.caches.counters().translations.misses.value() == 1);
    bench.caches.memory({0x20'0000, 34, 0}, 0, 2 << 20, at);
    CHECK(bench.caches.counters().translations.misses.value() == 1);
    CHECK(bench.caches.counters().mkeys.misses.value() == 2);
    // Reserved and null keys have no context; no bytes need no memory.
    const std::uint64_t before = bench.reads();
    CHECK(bench.caches.memory({}, 0, 4096, at) == at);
    CHECK(bench.caches.memory({0, 35, 12}, 0, 0, at) == at);
    CHECK(bench.reads() == before);
}

TEST_CASE("what a command wrote is at hand", "[memory][context_caches]") {
    Bench bench;
    bench.caches.written(ContextKind::qp, 0x40);
    CHECK(bench.caches.context(ContextKind::qp, 0x40, microseconds(1)) == microseconds(1));
    CHECK(bench.reads() == 0);
    // It takes a place as any other.
    for (std::uint32_t number = 0x41; number < 0x45; ++number) {
        bench.caches.written(ContextKind::qp, number);
    }
    CHECK(bench.caches.counters().queues.evictions.value() == 1);
    CHECK(bench.caches.context(ContextKind::qp, 0x40, microseconds(1)) == microseconds(1) + kRead);
}

TEST_CASE("with a key go its translations", "[memory][context_caches]") {
    Bench bench;
    const Picoseconds at = microseconds(3);
    bench.caches.memory(kSmallPages, 0, 8192, at);
    bench.caches.memory({0, 34, 12}, 0, 1, at);
    bench.caches.invalidate(ContextKind::mkey, 33);
    const auto& counters = bench.caches.counters();
    CHECK(counters.mkeys.invalidations.value() == 1);
    CHECK(counters.translations.invalidations.value() == 2);
    const Picoseconds later = microseconds(9);
    CHECK(bench.caches.memory({0, 34, 12}, 0, 1, later) == later);
    CHECK(bench.caches.memory(kSmallPages, 0, 1, later) == later + kRead + kRead);
    bench.caches.clear();
    CHECK(bench.caches.memory({0, 34, 12}, 0, 1, later) == later + kRead + kRead);
}

TEST_CASE("a read that the host refuses is counted and tried again the next time",
          "[memory][context_caches]") {
    Bench bench;
    bench.bus.bus_master = false;
    bench.caches.context(ContextKind::qp, 1, microseconds(1));
    bench.caches.context(ContextKind::qp, 1, microseconds(2));
    CHECK(bench.caches.counters().queues.refused.value() == 2);
    CHECK(bench.caches.counters().queues.misses.value() == 2);
    bench.bus.bus_master = true;
    bench.caches.context(ContextKind::qp, 1, microseconds(3));
    CHECK(bench.caches.context(ContextKind::qp, 1, microseconds(4)) == microseconds(4));
    CHECK(bench.caches.counters().queues.refused.value() == 2);
}

TEST_CASE("without pages there is nothing to be read", "[memory][context_caches]") {
    Bench bench;
    bench.memory.given = false;
    CHECK(bench.caches.context(ContextKind::qp, 1, microseconds(1)) == microseconds(1));
    CHECK(bench.reads() == 0);
    CHECK(bench.caches.counters().queues.misses.value() == 1);
}

TEST_CASE("who watches the bus can tell what is being read", "[memory][context_caches]") {
    struct Watching : test::FakeHostBus {
        const ContextCaches* caches = nullptr;
        std::optional<ContextCaches::Fetch> seen;
        DmaResult read(FunctionId function, Picoseconds start, HostAddress address,
                       std::span<std::byte> into) override {
            seen = caches->fetching();
            return FakeHostBus::read(function, start, address, into);
        }
    };
    Watching bus;
    Memory memory;
    stats::Group statistics{"card"};
    ContextCaches caches(FunctionId{0}, bus, memory, {}, statistics, "icm");
    bus.caches = &caches;
    caches.context(ContextKind::qp, 0x47, microseconds(1));
    REQUIRE(bus.seen);
    CHECK(bus.seen->kind == ContextKind::qp);
    CHECK(bus.seen->owner == 0x47);
    CHECK_FALSE(caches.fetching());
}
