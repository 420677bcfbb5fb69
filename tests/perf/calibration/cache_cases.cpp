// SPDX-License-Identifier: Apache-2.0
// More connections than contexts at hand, more pages than translations: each request is of another
// queue pair and to another place, drawn at random.
#include "tests/perf/calibration/cases.h"
#include "tests/perf/calibration/pair.h"

#include "model/base/random.h"

namespace cxsim::calibration {

using model::Picoseconds;
using scenarios::Completion;
using scenarios::DriverError;
using scenarios::SendOp;
using scenarios::Sge;

namespace {

struct ScatteredCase {
    SendOp op = SendOp::read;
    std::uint32_t bytes = 16;
    unsigned qps = 1;
    unsigned under_way = 384;  ///< of all queue pairs together
    std::uint64_t region = 1 << 16;
    unsigned log_page_size = 12;
    Picoseconds warm_up = model::microseconds(200);
    Picoseconds window = model::microseconds(500);
};

/// Operations a second, completed.
double scattered_rate(Pair& pair, const ScatteredCase& which) {
    auto& from = pair.a.verbs;
    auto& to = pair.b.verbs;
    scenarios::VerbsMr& local = from.create_mr(from.pd(), 4096);
    scenarios::VerbsMr& remote =
        to.create_mr(to.pd(), which.region, {.log_page_size = which.log_page_size});
    scenarios::VerbsCq& cq = from.create_cq(which.under_way);
    scenarios::VerbsCq& far_cq = to.create_cq(64);
    scenarios::QpOptions options;
    options.send_requests = 64;
    options.receive_requests = 1;
    options.max_send_sges = 1;
    options.max_receive_sges = 1;
    options.blue_flame = true;
    options.max_inline = which.op == SendOp::write ? which.bytes : 0;
    std::vector<scenarios::VerbsQp*> qps;
    for (unsigned i = 0; i < which.qps; ++i) {
        qps.push_back(&from.create_qp(from.pd(), cq, cq, options));
        scenarios::connect(*qps.back(), from, to.create_qp(to.pd(), far_cq, far_cq, options), to);
    }
    model::RandomStream random(1, "scattered_rate");
    const auto post = [&] {
        const Sge piece = local.sge(0, which.bytes);
        const scenarios::SendRequest request{
            .op = which.op,
            .sges = {&piece, 1},
            .inlined = which.op == SendOp::write,
            .remote_address = remote.address() + random.below(which.region / 64) * 64,
            .rkey = remote.rkey()};
        while (!qps[random.below(qps.size())]->post_send(request)) {
        }
    };
    for (unsigned i = 0; i < which.under_way; ++i) post();
    std::uint64_t completed = 0;
    Picoseconds last;
    const auto run_for = [&](Picoseconds duration) {
        const Picoseconds end = pair.kernel.now() + duration;
        Completion done;
        completed = 0;
        while (pair.kernel.now() < end && cq.wait(done, end - pair.kernel.now())) {
            do {
                if (!done.ok()) throw DriverError("a request failed");
                ++completed;
                post();
            } while (cq.poll(done));
            last = pair.kernel.now();
        }
    };
    run_for(which.warm_up);
    const Picoseconds start = last;
    run_for(which.window);
    if (completed == 0) throw DriverError("no completions in the window");
    return static_cast<double>(completed) / (last - start).seconds();
}

PairOptions servers(const char* card, std::span<const model::Override> overrides) {
    PairOptions options;
    options.card = card;
    options.wire.between = Between::network_switch;
    options.overrides.assign(overrides.begin(), overrides.end());
    return options;
}

}  // namespace

void add_cache_cases(std::map<std::string, Measure, std::less<>>& into) {
    for (const unsigned qps : {500U, 5000U}) {
        into["connections_" + std::to_string(qps)] =
            [qps](std::span<const model::Override> overrides) {
                Pair pair(servers("connectx5", overrides));
                return Quantities{{"mops", scattered_rate(pair, {.qps = qps}) / 1e6}};
            };
    }
    into["translations"] = [](std::span<const model::Override> overrides) {
        Pair pair(servers("connectx4lx", overrides));
        const auto writes = [&](std::uint64_t region, unsigned log_page_size) {
            return scattered_rate(pair, {.op = SendOp::write,
                                         .bytes = 8,
                                         .qps = 16,
                                         .region = region,
                                         .log_page_size = log_page_size}) /
                   1e6;
        };
        return Quantities{{"within_mops", writes(4 << 20, 12)},
                          {"beyond_mops", writes(32 << 20, 12)},
                          {"large_mops", writes(32 << 20, 21)}};
    };
}

}  // namespace cxsim::calibration
