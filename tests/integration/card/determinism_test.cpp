// SPDX-License-Identifier: Apache-2.0
// The same seed gives the same trace. Each run is a process of its own, forked before SystemC has
// elaborated anything.
#include "model/trace/sinks.h"
#include "scenarios/prm_tools/trace_listener.h"
#include "tests/integration/card/card_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <sys/wait.h>
#include <unistd.h>

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

std::uint64_t digest_in_child(const std::vector<model::Override>& overrides) {
    int ends[2];
    if (::pipe(ends) != 0) return 0;
    const pid_t child = ::fork();
    if (child == 0) {
        const std::uint64_t digest = trace_digest(overrides);
        const bool written = ::write(ends[1], &digest, sizeof digest) == sizeof digest;
        ::_exit(written ? 0 : 1);
    }
    ::close(ends[1]);
    std::uint64_t digest = 0;
    if (::read(ends[0], &digest, sizeof digest) != sizeof digest) digest = 0;
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return digest;
}

}  // namespace

TEST_CASE("two runs give the same trace, another timing gives another", "[card]") {
    const std::uint64_t first = digest_in_child({});
    CHECK(first != 0);
    CHECK(digest_in_child({}) == first);
    const std::uint64_t other = digest_in_child({{"timing.command.query", "11us"}});
    CHECK(other != 0);
    CHECK(other != first);
}
