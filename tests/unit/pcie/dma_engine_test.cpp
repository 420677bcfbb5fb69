// SPDX-License-Identifier: Apache-2.0
#include "pcie/dma/dma_engine.h"

#include "tests/unit/pcie/connectx5_example.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using namespace cxsim::pcie;
using namespace cxsim::pcie::test;
using model::nanoseconds;
using model::Picoseconds;

namespace {

struct Engine {
    explicit Engine(const HostProfile& profile = ideal_host(), const DmaTiming& timing = {},
                    unsigned max_payload = 256)
        : link({}, {.one_way = nanoseconds(75)}, max_payload),
          host(profile),
          dma(timing, link, host, 2) {}
    const DmaStatistics& seen() const { return dma.statistics(); }

    Link link;
    RootComplex host;
    DmaEngine dma;
};

constexpr RequestLimits kLimits{256, 512};

}  // namespace

TEST_CASE("reads split at the maximum read request and completions at payload and boundary",
          "[dma]") {
    Engine e;
    e.dma.read({0}, {}, {0x1000}, 4096, kLimits);
    CHECK(e.seen().read_requests == 8);  // 4096 / 512
    CHECK(e.seen().completions == 16);   // 512 / 256 each
    CHECK(e.link.upstream_statistics().wire_bytes == 8 * 24);
    CHECK(e.link.downstream_statistics().wire_bytes == 4096 + 16 * 20);
}

TEST_CASE("an unaligned read gets a short first completion", "[dma]") {
    Engine e;
    // 0x1010 .. 0x1210: requests 496 and 16 bytes; completions 240, 256 and 16.
    e.dma.read({0}, {}, {0x1010}, 512, kLimits);
    CHECK(e.seen().read_requests == 2);
    CHECK(e.seen().completions == 3);
    CHECK(e.link.downstream_statistics().wire_bytes == 512 + 3 * 20);
}

TEST_CASE("an old root complex answers in boundary-sized completions", "[dma]") {
    HostProfile profile = ideal_host();
    profile.rcb_chunks = true;
    Engine e(profile);
    e.dma.read({0}, {}, {0x1000}, 512, kLimits);
    CHECK(e.seen().completions == 8);
    profile.read_completion_boundary = 128;
    Engine wide(profile);
    wide.dma.read({0}, {}, {0x1040}, 448, kLimits);
    CHECK(wide.seen().completions == 4);  // 64, 128, 128, 128
}

TEST_CASE("writes split at the maximum payload and never cross 4 KiB", "[dma]") {
    Engine e;
    e.dma.write({0}, {}, {0x1f80}, 256, kLimits);
    CHECK(e.seen().write_requests == 2);
    e.dma.write({0}, {}, {0x3000}, 1024, kLimits);
    CHECK(e.seen().write_requests == 6);
    CHECK(e.seen().written_bytes == 1280);
}

TEST_CASE("one tag serialises the requests of a read", "[dma]") {
    Engine many({ideal_host()}, {.tags = 256});
    Engine one({ideal_host()}, {.tags = 1});
    const Picoseconds fast = many.dma.read({0}, {}, {0}, 4096, kLimits);
    const Picoseconds slow = one.dma.read({0}, {}, {0}, 4096, kLimits);
    // Each of the 8 requests crosses the link twice, 75 ns each way, on its own.
    CHECK(slow > fast + nanoseconds(7 * 150));
    CHECK(one.seen().stalled_tags > Picoseconds{});
    CHECK(many.seen().stalled_tags == Picoseconds{});
}

TEST_CASE("a small completion buffer limits what is outstanding", "[dma]") {
    Engine e({ideal_host()}, {.completion_buffer = {4096}});
    e.dma.read({0}, {}, {0}, 4096, kLimits);
    CHECK(e.seen().stalled_completion_buffer == Picoseconds{});
    e.dma.read({0}, {}, {0x1000}, 4096, kLimits);
    CHECK(e.seen().stalled_completion_buffer > Picoseconds{});
}

TEST_CASE("non-posted and posted credits hold requests back", "[dma]") {
    HostProfile profile = ideal_host();
    profile.non_posted_headers = 1;
    profile.posted_headers = 1;
    Engine e(profile);
    e.dma.read({0}, {}, {0}, 1024, kLimits);
    // The second request waits for the first to arrive and its UpdateFC to return: 150 ns.
    CHECK(e.seen().stalled_non_posted_credits >= nanoseconds(150));
    const Picoseconds before = e.seen().stalled_posted_credits;
    e.dma.write({0}, nanoseconds(5000), {0}, 512, kLimits);
    CHECK(e.seen().stalled_posted_credits - before >= nanoseconds(150));
}

TEST_CASE("posted data credits count units of 16 bytes", "[dma]") {
    HostProfile profile = ideal_host();
    profile.posted_data = 32;  // two payloads of 256 bytes
    Engine e(profile);
    e.dma.write({0}, {}, {0}, 512, kLimits);
    CHECK(e.seen().stalled_posted_credits == Picoseconds{});
    // 16 bytes more wait until the first payload's 16 units are back: sent at 38.7 ns (280 B at
    // 57.88 Gb/s) plus both ways, while the link is free at 77.4 ns.
    e.dma.write({0}, {}, {0x1000}, 16, kLimits);
    CHECK(e.seen().stalled_posted_credits > nanoseconds(100));
}

TEST_CASE("writes of a function become visible in the order in which they are ready", "[dma]") {
    Engine e;
    const Picoseconds late = e.dma.write({0}, nanoseconds(1000), {0x1000}, 256, kLimits);
    // Another function is not held back, nor is what was ready before.
    CHECK(e.dma.write({1}, nanoseconds(0), {0x2000}, 64, kLimits) < nanoseconds(200));
    CHECK(e.dma.write({0}, nanoseconds(0), {0x2000}, 64, kLimits) < nanoseconds(300));
    // What is ready with it or after it stays behind it.
    const Picoseconds same = e.dma.write({0}, nanoseconds(1000), {0x2000}, 64, kLimits);
    CHECK(same >= late);
    CHECK(e.dma.write({0}, nanoseconds(1001), {0x2000}, 64, kLimits) >= same);
}

TEST_CASE("writes that are ready early and sent late hold back those ready after them", "[dma]") {
    Engine e;
    e.dma.write({0}, nanoseconds(20), {0x1000}, 64, kLimits);
    const Picoseconds big = e.dma.write({0}, nanoseconds(10), {0x10000}, 65536, kLimits);
    CHECK(e.dma.write({0}, nanoseconds(20), {0x1000}, 64, kLimits) >= big);
}

TEST_CASE("the order of posted writes forgets the earliest first", "[dma]") {
    PostedOrder order;
    for (int i = 1; i <= 100; ++i) {
        order.add({nanoseconds(10 * i), nanoseconds(10 * i + 1), nanoseconds(10 * i + 2)});
    }
    CHECK(order.before(nanoseconds(1005)).sent == nanoseconds(1001));
    CHECK(order.before(nanoseconds(995)).sent == nanoseconds(991));
    // 36 are forgotten: the last of them stands for all.
    CHECK(order.before(nanoseconds(5)).sent == nanoseconds(361));
    order.add({nanoseconds(995), nanoseconds(2000), nanoseconds(2001)});
    CHECK(order.before(nanoseconds(994)).sent == nanoseconds(991));
    CHECK(order.before(nanoseconds(1005)).sent == nanoseconds(2000));
    CHECK(order.before(nanoseconds(1005)).visible == nanoseconds(2001));
    order.reset();
    CHECK(order.before(nanoseconds(1005)).sent == Picoseconds{});
}

TEST_CASE("a read does not pass an earlier write but a later one", "[dma]") {
    Engine e;
    e.dma.write({0}, nanoseconds(0), {0x10000}, 65536, kLimits);
    const Picoseconds sent = e.dma.posted_sent({0}, nanoseconds(10));
    CHECK(e.dma.read({0}, nanoseconds(10), {0x1000}, 64, kLimits) > sent);
    Engine f;
    f.dma.write({0}, nanoseconds(5000), {0x10000}, 65536, kLimits);
    CHECK(f.dma.read({0}, nanoseconds(10), {0x1000}, 64, kLimits) < nanoseconds(500));
}

TEST_CASE("an empty request moves nothing", "[dma]") {
    Engine e;
    CHECK(e.dma.read({0}, nanoseconds(5), {0}, 0, kLimits) == nanoseconds(5));
    CHECK(e.dma.write({0}, nanoseconds(5), {0}, 0, kLimits) == nanoseconds(5));
    CHECK(e.link.upstream_statistics().wire_bytes == 0);
}

TEST_CASE("DevCtl shapes the requests of its function", "[dma]") {
    Bench bench;
    bench.enable();
    std::vector<std::byte> data(4096);
    bench.endpoint.read({0}, {}, {0x1000}, data);
    CHECK(bench.endpoint.dma_statistics().read_requests == 8);  // MRRS 512 after reset
    CHECK(bench.endpoint.dma_statistics().completions == 32);   // MPS 128 after reset
    bench.write(kExpress + 8, 2, 0x5910 | 2u << 5);             // MRRS 4096, MPS 512
    bench.endpoint.read({0}, {}, {0x1000}, data);
    CHECK(bench.endpoint.dma_statistics().read_requests == 9);
    CHECK(bench.endpoint.dma_statistics().completions == 40);
    bench.write(kExpress + 8, 2, 0x5910 | 5u << 5);  // MPS 4096: more than supported
    bench.endpoint.write({0}, {}, {0x1000}, data);
    CHECK(bench.endpoint.dma_statistics().write_requests == 8);  // stays at 512
}

TEST_CASE("data arrive as they are at the call, a refused read leaves them alone", "[dma]") {
    Bench bench;
    bench.enable();
    const std::array<std::byte, 4> word{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    REQUIRE(bench.endpoint.write({0}, {}, {0x8000}, word).ok());
    std::array<std::byte, 4> back{};
    REQUIRE(bench.endpoint.read({0}, {}, {0x8000}, back).ok());
    CHECK(back == word);
    CHECK(bench.endpoint.read({0}, {}, {1ull << 50}, back).status ==
          model::DmaStatus::unsupported_request);
    CHECK(back == word);
}
