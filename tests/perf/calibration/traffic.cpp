// SPDX-License-Identifier: Apache-2.0
#include "tests/perf/calibration/traffic.h"

#include "eth/link/link_mode.h"
#include "scenarios/driver/packet_driver.h"
#include "tests/perf/network_load.h"

#include <algorithm>
#include <cstring>

namespace cxsim::calibration {

using model::Picoseconds;
using scenarios::Completion;
using scenarios::DriverError;
using scenarios::SendOp;
using scenarios::SendRequest;
using scenarios::Sge;

namespace {

constexpr Picoseconds kLimit = model::milliseconds(20);
constexpr std::uint64_t kPageBytes = 4096;

bool is_atomic(SendOp op) {
    return op == SendOp::compare_swap || op == SendOp::fetch_add;
}

struct Side {
    Station* station = nullptr;
    scenarios::VerbsMr* mr = nullptr;
    scenarios::VerbsCq* send_cq = nullptr;
    scenarios::VerbsCq* receive_cq = nullptr;
    scenarios::VerbsQp* qp = nullptr;
    std::uint64_t half = 0;
    bool posted = false;

    std::uint64_t in_address() const { return mr->address() + half; }
    /// Of a message of `bytes`: its last two are polled for.
    std::uint16_t arrived(std::uint32_t bytes) const {
        std::uint16_t value = 0;
        std::memcpy(&value, mr->bytes().data() + half + bytes - sizeof value, sizeof value);
        return value;
    }
    Completion next(scenarios::VerbsCq& cq) const {
        Completion done;
        if (!cq.wait(done, kLimit)) throw DriverError("no completion");
        if (!done.ok()) throw DriverError("a request failed");
        return done;
    }
};

Side make_side(Station& station, const LatencyCase& which) {
    Side side;
    side.station = &station;
    side.half = std::max<std::uint64_t>(kPageBytes, which.bytes);
    auto& verbs = station.verbs;
    side.mr = &verbs.create_mr(verbs.pd(), 2 * side.half);
    side.send_cq = &verbs.create_cq(256);
    side.receive_cq = &verbs.create_cq(256);
    scenarios::QpOptions options;
    options.max_inline = which.inlined ? 220 : 0;
    options.blue_flame = which.blue_flame;
    options.data_in_completions = true;
    side.qp = &verbs.create_qp(verbs.pd(), *side.send_cq, *side.receive_cq, options);
    return side;
}

/// One message of a ping-pong; returns when the other program has seen it.
void one_way(Side& from, Side& to, const LatencyCase& which, std::uint16_t number) {
    model::Kernel& kernel = from.station->host.kernel();
    std::memcpy(from.mr->bytes().data() + which.bytes - sizeof number, &number, sizeof number);
    const Sge piece = from.mr->sge(0, which.bytes);
    SendRequest request{.op = which.op, .sges = {&piece, 1}, .inlined = which.inlined};
    if (which.op == SendOp::write) {
        request.remote_address = to.in_address();
        request.rkey = to.mr->rkey();
    }
    if (from.posted) from.next(*from.send_cq);
    from.posted = true;
    if (!from.qp->post_send(request)) throw DriverError("the send queue is full");
    if (which.op == SendOp::send) {
        to.next(*to.receive_cq);
        const Sge buffer = to.mr->sge(to.half, which.bytes);
        to.qp->post_receive(0, {&buffer, 1});
        return;
    }
    if (!kernel.run_until_true([&] { return to.arrived(which.bytes) == number; },
                               kernel.now() + kLimit)) {
        throw DriverError("a WRITE does not arrive");
    }
    kernel.run_until(
        std::max(kernel.now(),
                 to.station->visible->visible({to.in_address() + which.bytes - 1})));
}

Times summary(std::vector<double> samples) {
    std::ranges::sort(samples);
    const auto at = [&](double part) {
        const auto index = static_cast<std::size_t>(part * static_cast<double>(samples.size()));
        return samples[std::min(index, samples.size() - 1)];
    };
    double sum = 0;
    for (const double sample : samples) sum += sample;
    return {samples.front(), at(0.5), sum / static_cast<double>(samples.size()), at(0.99),
            at(0.999)};
}

}  // namespace

Times latency(Pair& pair, const LatencyCase& asked) {
    LatencyCase which = asked;
    const bool answered = which.op == SendOp::read || is_atomic(which.op);
    if (answered) which.inlined = false;
    if (is_atomic(which.op)) which.bytes = 8;
    Side a = make_side(pair.a, which);
    Side b = make_side(pair.b, which);
    scenarios::ConnectionOptions connection;
    connection.mtu = which.mtu;
    scenarios::connect(*a.qp, pair.a.verbs, *b.qp, pair.b.verbs, connection);
    for (Side* side : {&a, &b}) {
        side->station->visible->watch({side->in_address()}, side->half);
        const Sge buffer = side->mr->sge(side->half, which.bytes);
        if (which.op != SendOp::send) continue;
        for (int i = 0; i < 16; ++i) side->qp->post_receive(0, {&buffer, 1});
    }
    std::vector<double> samples;
    constexpr unsigned kWarmUp = 32;
    for (unsigned i = 0; i < which.rounds + kWarmUp; ++i) {
        const Picoseconds start = pair.kernel.now();
        if (answered) {
            const Sge piece = a.mr->sge(0, which.bytes);
            const SendRequest request{.op = which.op, .sges = {&piece, 1},
                                      .remote_address = b.in_address(), .rkey = b.mr->rkey(),
                                      .swap_add = 1};
            a.qp->post_send(request);
            a.next(*a.send_cq);
        } else {
            one_way(a, b, which, static_cast<std::uint16_t>(2 * i + 1));
            one_way(b, a, which, static_cast<std::uint16_t>(2 * i + 2));
        }
        const double time = (pair.kernel.now() - start).microseconds();
        if (i >= kWarmUp) samples.push_back(answered ? time : time / 2);
    }
    return summary(std::move(samples));
}

double rate(Pair& pair, const RateCase& which) {
    auto& from = pair.a.verbs;
    auto& to = pair.b.verbs;
    const bool receives = which.op == SendOp::send;
    const std::uint64_t slot = std::max<std::uint64_t>(which.bytes, 64);
    scenarios::VerbsMr& local = from.create_mr(from.pd(), slot * which.qps);
    // Consecutive cache lines, so that no two requests under way meet.
    const std::uint64_t places = which.one_address ? 1 : which.bytes > 64 ? 1 : 1024;
    scenarios::VerbsMr& remote = to.create_mr(to.pd(), slot * which.qps * places);
    scenarios::VerbsCq& cq = from.create_cq(which.qps * which.outstanding);
    scenarios::VerbsCq& far_cq = to.create_cq(
        receives ? std::max(2 * which.qps * which.outstanding, 1024U) : 64U);
    struct Flow {
        scenarios::VerbsQp* qp;
        scenarios::VerbsQp* peer;
        std::uint64_t posted = 0;
        std::uint64_t done = 0;
    };
    std::vector<Flow> flows;
    std::vector<unsigned> by_number;
    scenarios::QpOptions options;
    options.send_requests = which.outstanding;
    options.receive_requests = receives ? 2 * which.outstanding : 1;
    options.max_send_sges = 1;
    options.max_receive_sges = 1;
    options.max_inline = which.inlined ? which.bytes : 0;
    options.blue_flame = which.blue_flame;
    scenarios::ConnectionOptions connection;
    connection.mtu = which.mtu;
    for (unsigned i = 0; i < which.qps; ++i) {
        flows.push_back({&from.create_qp(from.pd(), cq, cq, options),
                         &to.create_qp(to.pd(), far_cq, far_cq, options)});
        scenarios::connect(*flows[i].qp, from, *flows[i].peer, to, connection);
        if (by_number.size() <= flows[i].qp->number()) by_number.resize(flows[i].qp->number() + 1);
        by_number[flows[i].qp->number()] = i;
    }
    const auto fill_receives = [&](Flow& flow, unsigned i) {
        const Sge piece = remote.sge(slot * i, which.bytes);
        while (flow.peer->post_receive(i, {&piece, 1})) {
        }
    };
    if (receives) {
        for (unsigned i = 0; i < which.qps; ++i) fill_receives(flows[i], i);
    }
    const auto post = [&](unsigned i) {
        Flow& flow = flows[i];
        bool any = false;
        while (flow.posted - flow.done < which.outstanding) {
            const Sge piece = local.sge(slot * i, is_atomic(which.op) ? 8 : which.bytes);
            const std::uint64_t place = which.one_address ? 0 : i * places + flow.posted % places;
            SendRequest request{.id = i, .op = which.op, .sges = {&piece, 1},
                                .inlined = which.inlined,
                                .signaled = (flow.posted + 1) % which.signal_every == 0,
                                .remote_address = remote.address() + slot * place,
                                .rkey = remote.rkey(), .swap_add = 1};
            if (!flow.qp->post_send(request, false)) break;
            ++flow.posted;
            any = true;
        }
        if (any) flow.qp->ring_doorbell();
    };
    for (unsigned i = 0; i < which.qps; ++i) post(i);
    std::uint64_t completed = 0;
    Picoseconds first_done;  // rates are taken between completions
    Picoseconds last_done;
    std::vector<unsigned> woken;
    std::vector<bool> is_woken(which.qps);
    const auto run_for = [&](Picoseconds duration) {
        const Picoseconds end = pair.kernel.now() + duration;
        Completion done;
        while (pair.kernel.now() < end) {
            if (!cq.wait(done, end - pair.kernel.now())) break;
            do {
                if (!done.ok()) throw DriverError("a request failed");
                if (!is_woken[done.id]) woken.push_back(static_cast<unsigned>(done.id));
                is_woken[done.id] = true;
                flows[done.id].done += which.signal_every;
                completed += which.signal_every;
                last_done = pair.kernel.now();
                if (first_done == Picoseconds{}) {
                    first_done = last_done;
                    completed = 0;
                }
            } while (cq.poll(done));
            for (const unsigned i : woken) {
                is_woken[i] = false;
                post(i);
            }
            woken.clear();
            if (!receives) continue;
            while (far_cq.poll(done)) fill_receives(flows[done.id], static_cast<unsigned>(done.id));
        }
        // Nothing may have come at the end: time goes on all the same.
        if (pair.kernel.now() < end) pair.kernel.run_until(end);
    };
    run_for(which.warm_up);
    first_done = {};
    run_for(which.window);
    if (last_done <= first_done) throw DriverError("too few completions in the window");
    return static_cast<double>(completed) / (last_done - first_done).seconds();
}

double ethernet_half_round_trip(const PairOptions& options) {
    struct Ethernet {
        Ethernet(model::Kernel& kernel, model::FramePool& frames, const PairOptions& pair,
                 std::uint16_t instance)
            : card(kernel, card_setup(frames, pair, instance, bus)),
              host(("host" + std::to_string(instance)).c_str(), kernel, card),
              driver(host),
              packets(driver, packet_options()) {}
        static scenarios::PacketOptions packet_options() {
            scenarios::PacketOptions options;
            options.queues = 1;
            options.inline_frames = true;
            options.blue_flame = true;
            options.signal_every = 1;
            return options;
        }
        std::unique_ptr<perf::WatchedBus> bus;
        scenarios::Card card;
        scenarios::Host host;
        scenarios::Driver driver;
        scenarios::PacketDriver packets;
    };
    model::Kernel kernel;
    model::FramePool frames;
    Ethernet a(kernel, frames, options, 0);
    Ethernet b(kernel, frames, options, 1);
    Wire wire;
    wire.connect(kernel, frames, a.card.port(), b.card.port(), options.wire);
    for (Ethernet* side : {&a, &b}) {
        side->packets.open();
        if (options.wire.modes == 0) continue;
        model::PortSettings settings = side->card.port().settings();
        settings.modes = options.wire.modes;
        side->card.port().configure(settings);
    }
    for (Ethernet* side : {&a, &b}) {
        if (!side->packets.wait_for_link(model::seconds(10))) throw DriverError("no link");
    }
    const auto one_way = [&](Ethernet& from, Ethernet& to) {
        from.packets.poll();
        const std::uint64_t before = to.packets.counters().received;
        if (!from.packets.send_one() ||
            !kernel.run_until_true(
                [&] {
                    to.packets.poll();
                    return to.packets.counters().received != before;
                },
                kernel.now() + kLimit)) {
            throw DriverError("a frame does not arrive");
        }
        kernel.run_until(std::max(kernel.now(), to.bus->visible()));
    };
    constexpr int kRounds = 200;
    Picoseconds start;
    for (int i = 0; i < 2 * kRounds; ++i) {
        if (i == kRounds) start = kernel.now();
        one_way(a, b);
        one_way(b, a);
    }
    return (kernel.now() - start).nanoseconds() / (2 * kRounds);
}

}  // namespace cxsim::calibration
