// SPDX-License-Identifier: Apache-2.0
// The same seed gives the same trace. Each run is a process of its own, forked before SystemC has
// elaborated anything.
#include "model/trace/sinks.h"
#include "scenarios/prm_tools/trace_listener.h"
#include "tests/integration/card/card_bench.h"
#include "tests/support/child_digest.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using namespace cxsim::test;

namespace {

std::uint64_t trace_digest(const std::vector<model::Override>& overrides) {
    std::uint64_t digest = 0;
    CardBench bench("connectx6dx", overrides);
    model::trace::Tracer tracer;
    tracer.set_mask(~std::uint64_t{0});
    tracer.add_sink(std::make_unique<model::trace::DigestSink>(digest));
    scenarios::TraceListener listener(tracer, bench.card);
    bench.tap.add(listener);
    bench.bring_up.up();
    bench.bring_up.post_nops(20);
    bench.bring_up.down();
    tracer.finish();
    return tracer.recorded() > 500 ? digest : 0;
}

std::uint64_t digest_of(const std::vector<model::Override>& overrides) {
    return digest_in_child([&] { return trace_digest(overrides); });
}

}  // namespace

TEST_CASE("two runs give the same trace, another timing gives another", "[card]") {
    const std::uint64_t first = digest_of({});
    CHECK(first != 0);
    CHECK(digest_of({}) == first);
    const std::uint64_t other = digest_of({{"timing.command.query", "11us"}});
    CHECK(other != 0);
    CHECK(other != first);
}

TEST_CASE("a host's tails are part of the run: the same for the same seed", "[card]") {
    const std::uint64_t still = digest_of({});
    const std::uint64_t late = digest_of({{"host.tail.core", "1:0ns, 0.01:200ns"}});
    CHECK(late != 0);
    CHECK(late != still);
    CHECK(digest_of({{"host.tail.core", "1:0ns, 0.01:200ns"}}) == late);
    CHECK(digest_of({{"host.tail.read", "1:0ns, 0.01:200ns"}}) != still);
}
