// SPDX-License-Identifier: Apache-2.0
// The packet path of the responder takes no memory once it is warm.
#include "tests/support/allocation_count.h"
#include "tests/unit/roce/responder_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using cxsim::test::ResponderBench;
using Op = roce::Operation;

namespace {

// A WRITE, a SEND of two packets, a READ and its duplicate, an atomic, a gap; answers included.
void round(ResponderBench& bench, std::span<const std::byte> data) {
    bench.request(bench.remote(Op::write_only, 0, 200, true), data.first(200));
    bench.request(bench.headers(Op::send_first), data.first(256));
    bench.request(bench.headers(Op::send_last, true), data.first(20));
    const auto read = bench.remote(Op::read_request, 0x4000, 3 * 256);
    bench.request(read, {}, 3);
    bench.request(bench.atomic(Op::fetch_add, 0x8000, 1));
    bench.run_for(model::microseconds(5));
    bench.arrive(read);
    auto ahead = bench.remote(Op::write_only, 0, 4, true);
    ahead.psn = roce::psn_add(ahead.psn, 3);
    bench.arrive(ahead, data.first(4));
    bench.run_for(model::microseconds(5));
}

}  // namespace

TEST_CASE("the responder allocates nothing after warm-up", "[responder]") {
    ResponderBench bench;
    bench.output.keep = false;
    const std::uint64_t start = test::g_allocations;
    const auto data = bench.data(256);
    REQUIRE(test::g_allocations > start);  // requester_cost_test.cpp has the hooks
    bench.queues.received.reserve(64);
    std::uint64_t allocations = 0;
    for (unsigned i = 0; i < 200; ++i) {
        bench.queues.received.clear();
        bench.queues.post_receive(0, ResponderBench::kBuffer, 1024);
        const std::uint64_t before = test::g_allocations;
        round(bench, data);
        if (i >= 20) allocations += test::g_allocations - before;
    }
    CHECK(allocations == 0);
    CHECK(bench.queues.counter("rx_read_requests") == 200);
    CHECK(bench.queues.counter("duplicate_request") == 200);
    CHECK(bench.queues.counter("out_of_sequence") == 200);
    // ACK of WRITE and SEND, three responses twice, atomic, NAK.
    CHECK(bench.output.count == 200 * 10);
}
