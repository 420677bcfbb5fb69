// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/soak/soak.h"

#include <fmt/format.h>

#include <map>

namespace cxsim::test {

using model::Picoseconds;
using scenarios::Completion;
using scenarios::Sge;

namespace {

/// Of simulated time between two looks at the completion queues.
constexpr Picoseconds kStep = model::microseconds(10);
constexpr unsigned kSharedReceives = 48;  // of a quarter of the queue pairs

}  // namespace

Soak::Soak(const SoakOptions& options)
    : options_(options),
      bench_(options_),
      pattern_(options.longest),
      random_(options.seed, "soak") {
    for (unsigned side = 0; side < 2; ++side) {
        scenarios::VerbsDriver& verbs = bench_.stations[side]->verbs;
        SoakShared& shared = shared_[side];
        const unsigned queues = options.pairs + 2 * options.unreliable_pairs;
        shared.send_cq = &verbs.create_cq(queues * (options.slots + 2));
        shared.receive_cq = &verbs.create_cq(queues * 80);
        shared.srq = &verbs.create_srq(verbs.pd(), kSharedReceives);
        shared.words = &verbs.create_mr(verbs.pd(), 64);
        scenarios::VerbsMr& memory = verbs.create_mr(
            verbs.pd(), ReceivePool::bytes_of(kSharedReceives, options.longest));
        shared.pool = std::make_unique<ReceivePool>(
            memory, 0, kSharedReceives, options.longest,
            model::RandomStream(options.seed, fmt::format("soak.shared{}", side)),
            [&shared](std::uint64_t id, std::span<const Sge> sges) {
                return shared.srq->post_receive(id, sges);
            });
        shared.pool->post_all();
    }
    const auto station = [&](unsigned side) -> SoakStation& { return *bench_.stations[side]; };
    for (unsigned i = 0; i < options.pairs; ++i) {
        for (unsigned side = 0; side < 2; ++side) {
            ends_.push_back(std::make_unique<RcEnd>(options_, station(side), shared_[side],
                                                    totals_, pattern_, i, side));
            by_number_[side][ends_.back()->qp().number()] = {ends_.back().get(), nullptr};
        }
        ends_[2 * i]->connect(*ends_[2 * i + 1]);
    }
    for (const auto service : {scenarios::QpService::uc, scenarios::QpService::ud}) {
        for (unsigned i = 0; i < options.unreliable_pairs; ++i) {
            for (unsigned side = 0; side < 2; ++side) {
                loose_.push_back(std::make_unique<LooseEnd>(
                    options_, station(side), shared_[side], pattern_, service, i, side));
                by_number_[side][loose_.back()->qp().number()] = {nullptr, loose_.back().get()};
            }
            loose_[loose_.size() - 2]->connect(*loose_.back());
        }
    }
}

void Soak::poll(unsigned side) {
    Completion done;
    const auto owner = [&] { return by_number_[side].at(done.qpn); };
    while (shared_[side].receive_cq->poll(done)) {
        const Owner at = owner();
        if (at.reliable != nullptr) {
            at.reliable->received(done);
        } else {
            at.loose->received(done);
        }
    }
    while (shared_[side].send_cq->poll(done)) {
        const Owner at = owner();
        if (at.reliable != nullptr) {
            at.reliable->sent(done);
        } else {
            at.loose->sent(done);
        }
    }
}

void Soak::post(bool more) {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
        if (survivor_alone_ && i % 2 == 1) continue;
        RcEnd& end = *ends_[i];
        if (end.wants_window()) end.renew_window();
        if (!end.may_post()) continue;
        if (!more) {
            if (!end.unsignaled_tail()) continue;
            end.post(true);
            end.qp().ring_doorbell();
            continue;
        }
        // Now and then one doorbell for each request.
        const bool single = random_.below(4) == 0;
        while (end.may_post()) {
            end.post();
            if (single) end.qp().ring_doorbell();
        }
        end.qp().ring_doorbell();
    }
    if (!more) return;
    for (auto& end : loose_) {
        while (end->may_post()) end->post();
    }
}

void Soak::step(bool more) {
    model::Kernel& kernel = bench_.kernel;
    kernel.run_until(kernel.now() + kStep);
    poll(0);
    if (!survivor_alone_) poll(1);
    post(more);
    if (kernel.now() < next_age_check_) return;
    next_age_check_ = kernel.now() + model::milliseconds(1);
    for (std::size_t i = 0; i < ends_.size(); i += survivor_alone_ ? 2 : 1) {
        ends_[i]->check_age(kernel.now());
    }
    for (auto& end : loose_) end->check_age(kernel.now());
}

void Soak::run_until(std::uint64_t payload, const std::function<void()>& report) {
    for (unsigned i = 0; i < 2; ++i) bench_.impairer->set(i, options_.harm);
    std::uint64_t steps = 0;
    while (totals_.payload < payload) {
        step(totals_.payload_posted < options_.payload);
        if (report && ++steps % 64 == 0) report();
    }
}

void Soak::run(const std::function<void()>& report) {
    run_until(options_.payload, report);
    drain();
}

void Soak::drain() {
    const auto idle = [&] {
        return std::ranges::all_of(ends_, [](const auto& end) { return end->idle(); }) &&
               std::ranges::all_of(loose_, [](const auto& end) { return end->idle(); });
    };
    while (!idle()) step(false);
    // Late duplicates and what they cause.
    for (int i = 0; i < 200; ++i) step(false);
}

// ---- What must agree in the end ----

std::vector<std::string> Soak::check_books() {
    std::vector<std::string> wrong;
    const auto same = [&](std::uint64_t a, std::uint64_t b, const std::string& what) {
        if (a != b) wrong.push_back(fmt::format("{}: {} and {}", what, a, b));
    };
    const auto at_most = [&](std::uint64_t a, std::uint64_t b, const std::string& what) {
        if (a > b) wrong.push_back(fmt::format("{}: {} is more than {}", what, a, b));
    };
    for (auto& end : ends_) end->check_word();
    const eth::ImpairerCounters& wire = bench_.impairer->counters();
    std::array<std::map<std::string, std::uint32_t>, 2> counters;
    for (unsigned side = 0; side < 2; ++side) {
        counters[side] = bench_.stations[side]->verbs.counters();
    }
    for (unsigned side = 0; side < 2; ++side) {
        const unsigned other = 1 - side;
        const auto name = [&](const char* what) { return fmt::format("card {}: {}", side, what); };
        SoakStation& station = *bench_.stations[side];
        const roce::TransportCounters& t = station.card.transport().counters();
        const WireBooks& here = *bench_.books[side];
        const WireBooks& there = *bench_.books[other];
        auto& counts = counters[side];
        std::uint64_t word = 0;
        std::memcpy(&word, shared_[side].words->bytes().data(), sizeof word);
        same(word, shared_[side].added, name("the word that all add to"));

        // Frames: card, wire, card.
        same(t.frames_to_port, here.sent().frames, name("frames sent by transport and on the wire"));
        same(wire.received[other].value(), here.sent().frames, name("frames into the wire"));
        same(wire.received[other].value() - wire.lost[other].value() +
                 wire.duplicated[other].value(),
             wire.forwarded[other].value() + wire.no_link[other].value(),
             name("frames through the wire"));
        same(wire.forwarded[side].value(), here.received().frames, name("frames out of the wire"));
        at_most(t.frames_from_port, here.received().frames, name("frames that are RoCE's"));
        at_most(here.received().frames - t.frames_from_port, wire.corrupted[side].value(),
                name("frames that were none of RoCE's any more"));
        same(t.frames_from_port + t.looped,
             t.packets_received - t.copies + t.malformed + t.bad_icrc + t.vport_down,
             name("frames and packets received"));
        same(t.packets_received, t.requests + t.responses + t.notifications + t.no_queue +
                                     t.not_ready + t.bad_pkey + t.bad_qkey + t.bad_address,
             name("packets and where they went"));
        at_most(t.malformed + t.bad_icrc + t.no_queue + t.not_ready + t.bad_pkey + t.bad_qkey +
                    t.bad_address,
                wire.corrupted[side].value() + wire.duplicated[side].value(),
                name("packets dropped by changed bits"));

        // Requests: what one side has posted the other has executed, once.
        same(counts["rx_write_requests"], shared_[other].writes, name("WRITEs"));
        same(counts["rx_read_requests"], shared_[other].reads, name("READs"));
        same(counts["rx_atomic_requests"], shared_[other].atomics, name("atomics"));
        if (loose_.empty()) {
            same(t.messages_received, shared_[other].messages, name("messages received"));
            same(t.messages_sent, shared_[side].messages, name("messages sent"));
            same(counts["out_of_sequence"], here.sent().sequence_naks,
                 name("out_of_sequence and NAKs sent"));
            same(counts["out_of_buffer"], here.sent().rnr_naks,
                 name("out_of_buffer and RNR NAKs sent"));
            same(t.naks_sent, here.sent().sequence_naks + here.sent().rnr_naks,
                 name("NAKs of all kinds sent"));
        }
        same(here.sent().other_naks + here.received().other_naks, 0, name("other NAKs"));
        // What came in was sent; what was seen came in.
        at_most(here.received().sequence_naks,
                there.sent().sequence_naks + wire.duplicated[side].value(), name("NAKs received"));
        at_most(counts["packet_seq_err"], here.received().sequence_naks,
                name("packet_seq_err and NAKs received"));
        at_most(here.received().sequence_naks - counts["packet_seq_err"], t.dropped_response,
                name("NAKs received too late"));
        at_most(counts["rnr_nak_retry_err"], here.received().rnr_naks,
                name("rnr_nak_retry_err and RNR NAKs received"));
        // Without copies and changes of the order all refusals that arrive count.
        if (options_.harm.duplicate == 0 && options_.harm.reorder == 0 && loose_.empty()) {
            same(counts["packet_seq_err"], here.received().sequence_naks,
                 name("NAKs seen by requester and wire"));
            same(counts["rnr_nak_retry_err"], here.received().rnr_naks,
                 name("RNR NAKs seen by requester and wire"));
        }
        for (const char* none :
             {"req_cqe_error", "resp_cqe_error", "req_cqe_flush_error", "resp_cqe_flush_error",
              "resp_remote_access_errors", "req_remote_access_errors", "req_remote_invalid_request",
              "resp_local_length_error", "local_operation_err"}) {
            if (counts.contains(none)) same(counts[none], 0, name(none));
        }
        same(bench_.stations[side]->host.wild_interrupts(), 0, name("wild interrupts"));
    }
    return wrong;
}

std::vector<std::pair<std::string, std::uint64_t>> Soak::summary() {
    std::vector<std::pair<std::string, std::uint64_t>> rows{
        {"requests", totals_.requests},
        {"send completions", totals_.completions},
        {"receive completions", totals_.receives},
        {"keys invalidated", totals_.invalidations}};
    const eth::ImpairerCounters& wire = bench_.impairer->counters();
    const auto both = [](const auto& counters) { return counters[0].value() + counters[1].value(); };
    rows.emplace_back("packets", both(wire.received));
    rows.emplace_back("lost", both(wire.lost));
    rows.emplace_back("duplicated", both(wire.duplicated));
    rows.emplace_back("reordered", both(wire.reordered));
    rows.emplace_back("corrupted", both(wire.corrupted));
    std::uint64_t retransmitted = 0;
    std::uint64_t bad_icrc = 0;
    std::uint64_t timeouts = 0;
    std::map<std::string, std::uint64_t> counts;
    for (auto& station : bench_.stations) {
        const roce::TransportCounters& t = station->card.transport().counters();
        retransmitted += t.retransmitted;
        bad_icrc += t.bad_icrc;
        timeouts += t.timeouts;
        if (!station->verbs.is_open()) continue;
        for (const auto& [name, value] : station->verbs.counters()) counts[name] += value;
    }
    rows.emplace_back("retransmitted", retransmitted);
    rows.emplace_back("bad ICRC", bad_icrc);
    rows.emplace_back("timeouts", timeouts);
    for (const char* name :
         {"out_of_sequence", "packet_seq_err", "implied_nak_seq_err", "duplicate_request",
          "local_ack_timeout_err", "out_of_buffer", "rnr_nak_retry_err"}) {
        rows.emplace_back(name, counts[name]);
    }
    return rows;
}

// ---- A death ----

void Soak::kill(Death death) {
    post(true);  // requests are under way on all queue pairs
    SoakStation& dead = *bench_.stations[1];
    survivor_alone_ = true;
    for (std::size_t i = 0; i < ends_.size(); i += 2) ends_[i]->peer_died();
    if (death == Death::function_reset) {
        dead.host.function_level_reset();
    } else {
        dead.driver.command("TEARDOWN_HCA");
    }
    // Some have got everything done while the other side was dying.
    poll(0);
    for (std::size_t i = 0; i < ends_.size(); i += 2) {
        if (ends_[i]->failed() || !ends_[i]->may_post()) continue;
        ends_[i]->post(true);
        ends_[i]->qp().ring_doorbell();
    }
    const Picoseconds end = bench_.kernel.now() + options_.stuck;
    const auto all_over = [&] {
        for (std::size_t i = 0; i < ends_.size(); i += 2) {
            if (!ends_[i]->failed() || !ends_[i]->idle() || ends_[i]->receives_missing() > 0) {
                return false;
            }
        }
        return true;
    };
    while (!all_over() && bench_.kernel.now() < end) step(false);
    for (std::size_t i = 0; i < ends_.size(); i += 2) {
        RcEnd& survivor = *ends_[i];
        if (!survivor.failed()) {
            throw SoakFailure(survivor.name() + " never failed: " + survivor.describe());
        }
        if (!survivor.idle()) {
            throw SoakFailure(survivor.name() + " kept requests: " + survivor.describe());
        }
        if (survivor.receives_missing() != 0) {
            throw SoakFailure(fmt::format("{}: {} receives did not come back", survivor.name(),
                                          survivor.receives_missing()));
        }
        if (survivor.qp().state() != scenarios::VerbsState::error) {
            throw SoakFailure(survivor.name() + " is not in error");
        }
    }
    // Nothing comes twice, later on.
    for (int i = 0; i < 1000; ++i) step(false);
    dead.verbs.abandon();
    SoakStation& alive = *bench_.stations[0];
    alive.verbs.close();
    if (alive.function().resources().total() != 0) {
        throw SoakFailure("objects of the survivor are left");
    }
}

}  // namespace cxsim::test
