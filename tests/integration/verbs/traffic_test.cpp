// SPDX-License-Identifier: Apache-2.0
// RDMA traffic of two cards on a link, driver to driver: every operation, with its data.
#include "tests/integration/verbs/traffic_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace cxsim;
using namespace cxsim::scenarios;
using namespace cxsim::test;

namespace {

constexpr std::uint64_t kMtu = 1024;
constexpr std::uint64_t kSizes[] = {0, 1, kMtu - 1, kMtu, kMtu + 1, 1 << 16, 1 << 20};
constexpr std::byte kGuard{0xee};

bool sends(SendOp op) {
    return op == SendOp::send || op == SendOp::send_immediate;
}
bool has_immediate(SendOp op) {
    return op == SendOp::send_immediate || op == SendOp::write_immediate;
}

/// One message from a to b (READ: from b to a), of every size; checks data, guard and completions.
void check_all_sizes(TrafficBench& bench, SendOp op, std::span<const std::uint64_t> sizes) {
    TrafficSide& a = bench.a;
    TrafficSide& b = bench.b;
    std::uint32_t round = 0;
    for (const std::uint64_t bytes : sizes) {
        CAPTURE(static_cast<int>(op), bytes);
        ++round;
        const bool read = op == SendOp::read;
        const TrafficSide& from = read ? b : a;
        const TrafficSide& to = read ? a : b;
        fill_pattern(from.out(bytes), round);
        std::ranges::fill(to.in(bytes + 64), kGuard);
        const Sge into = b.in_piece(bytes);
        if (!read && op != SendOp::write) {
            REQUIRE(b.qp->post_receive(1000 + round, std::span(&into, sends(op) ? 1 : 0)));
        }
        SendRequest request;
        const Sge piece = read ? a.in_piece(bytes) : a.out_piece(bytes);
        request.id = round;
        request.op = op;
        request.sges = {&piece, 1};
        request.immediate = 0xabcd0000 + round;
        request.remote_address = read ? b.mr->address() : b.in_address();
        request.rkey = b.mr->rkey();
        REQUIRE(a.qp->post_send(request));
        const Completion sent = a.next();
        CHECK(sent.ok());
        CHECK(sent.id == round);
        CHECK(sent.op == op);
        CHECK_FALSE(sent.receive);
        if (!read && op != SendOp::write) {
            const Completion received = b.next();
            CHECK(received.ok());
            CHECK(received.receive);
            CHECK(received.id == 1000 + round);
            CHECK(received.bytes == bytes);
            CHECK(received.qpn == b.qp->number());
            CHECK(received.source_qpn == a.qp->number());
            if (has_immediate(op)) CHECK(received.immediate == request.immediate);
            CHECK((received.kind == CompletionKind::received_write_immediate) ==
                  (op == SendOp::write_immediate));
        }
        if (read) CHECK(sent.bytes == bytes);
        // Nobody says that an unacknowledged WRITE has arrived.
        if (a.qp->options().service == QpService::uc && op == SendOp::write) {
            bench.kernel.run_for(model::milliseconds(1));
        }
        CHECK(equal(from.out(bytes), to.in(bytes)));
        CHECK(untouched(to.in(bytes + 64).subspan(bytes), kGuard));
    }
    Completion none;
    CHECK_FALSE(a.cq->poll(none));
    CHECK_FALSE(b.cq->poll(none));
    CHECK(a.qp->sends_outstanding() == 0);
}

void check_all_operations(const std::string& card, std::uint8_t address, unsigned cards) {
    TrafficBench bench({}, {}, address, cards, card, 4 << 20);
    for (const SendOp op : {SendOp::send, SendOp::send_immediate, SendOp::write,
                            SendOp::write_immediate, SendOp::read}) {
        check_all_sizes(bench, op, kSizes);
    }
}

}  // namespace

TEST_CASE("RC moves messages of every size by every operation over RoCEv2 and IPv4", "[traffic]") {
    check_all_operations("connectx5", VerbsDriver::kIpv4V2, 2);
}

TEST_CASE("RC moves messages of every size by every operation over RoCEv2 and IPv6", "[traffic]") {
    check_all_operations("connectx6dx", VerbsDriver::kIpv6V2, 2);
}

TEST_CASE("RC moves messages of every size by every operation over RoCEv1", "[traffic]") {
    check_all_operations("connectx4lx", VerbsDriver::kIpv6V1, 2);
}

TEST_CASE("RC moves messages of every size by every operation inside one card", "[traffic]") {
    check_all_operations("connectx7", VerbsDriver::kIpv4V2, 1);
}

TEST_CASE("UC moves messages of every size", "[traffic]") {
    QpOptions options;
    options.service = QpService::uc;
    TrafficBench bench(options, {}, VerbsDriver::kIpv4V2, 2, "connectx5", 4 << 20);
    for (const SendOp op : {SendOp::send, SendOp::send_immediate, SendOp::write,
                            SendOp::write_immediate}) {
        check_all_sizes(bench, op, kSizes);
    }
}

TEST_CASE("atomics change memory once and hand back what was there", "[traffic]") {
    TrafficBench bench;
    const auto atomic = [&](SendOp op, std::uint64_t compare, std::uint64_t swap_add) {
        const Sge piece = bench.a.in_piece(8);
        store_number(bench.a.in(8), 0);
        REQUIRE(bench.a.qp->post_send({.op = op,
                                       .sges = {&piece, 1},
                                       .remote_address = bench.b.in_address(),
                                       .rkey = bench.b.mr->rkey(),
                                       .compare = compare,
                                       .swap_add = swap_add}));
        const Completion done = bench.a.next();
        CHECK(done.ok());
        CHECK(done.op == op);
        CHECK(done.bytes == 8);
        return load_number(bench.a.in(8));
    };
    const auto memory = [&] { return load_number(bench.b.in(8)); };
    store_number(bench.b.in(8), 0x1122334455667788);
    CHECK(atomic(SendOp::compare_swap, 1, 2) == 0x1122334455667788);
    CHECK(memory() == 0x1122334455667788);
    CHECK(atomic(SendOp::compare_swap, 0x1122334455667788, 40) == 0x1122334455667788);
    CHECK(memory() == 40);
    CHECK(atomic(SendOp::fetch_add, 0, 2) == 40);
    CHECK(memory() == 42);
    CHECK(atomic(SendOp::fetch_add, 0, ~std::uint64_t{0}) == 42);
    CHECK(memory() == 41);
    CHECK(bench.b.verbs->counter("rx_atomic_requests") == 4);
}

TEST_CASE("SEND with invalidate takes the key away that it names", "[traffic]") {
    TrafficBench bench;
    VerbsMr& window = bench.b.verbs->create_mr(bench.b.verbs->pd(), bench.b.mr->memory(),
                                               {.remote_invalidate = true});
    const Sge out = bench.a.out_piece(16);
    const Sge into = bench.b.in_piece(16);
    const SendRequest write{.op = SendOp::write,
                            .sges = {&out, 1},
                            .remote_address = window.address(),
                            .rkey = window.rkey()};
    REQUIRE(bench.a.qp->post_send(write));
    CHECK(bench.a.next().ok());
    REQUIRE(bench.b.qp->post_receive(1, {&into, 1}));
    REQUIRE(bench.a.qp->post_send(
        {.op = SendOp::send_invalidate, .sges = {&out, 1}, .immediate = window.rkey()}));
    CHECK(bench.a.next().ok());
    const Completion received = bench.b.next();
    CHECK(received.kind == CompletionKind::received_invalidate);
    CHECK(received.immediate == window.rkey());
    REQUIRE(bench.a.qp->post_send(write));
    CHECK(bench.a.next().status == CompletionStatus::remote_access);
}

TEST_CASE("pieces are gathered and scattered in their order, inline bytes come along", "[traffic]") {
    QpOptions options;
    options.max_inline = 200;
    options.blue_flame = true;
    TrafficBench bench(options);
    for (const bool inlined : {false, true}) {
        CAPTURE(inlined);
        fill_pattern(bench.a.out(4096), inlined ? 5 : 6);
        std::ranges::fill(bench.b.in(4096), kGuard);
        const Sge from[] = {bench.a.mr->sge(100, 3), bench.a.mr->sge(7, 0),
                            bench.a.mr->sge(2000, 150), bench.a.mr->sge(50, 1)};
        const Sge to[] = {bench.b.mr->sge(bench.b.half() + 1, 4),
                          bench.b.mr->sge(bench.b.half() + 64, 200)};
        REQUIRE(bench.b.qp->post_receive(1, to));
        REQUIRE(bench.a.qp->post_send({.sges = from, .inlined = inlined}));
        CHECK(bench.a.next().ok());
        CHECK(bench.b.next().bytes == 154);
        std::vector<std::byte> sent;
        for (const auto& [at, bytes] : {std::pair{100, 3}, {2000, 150}, {50, 1}}) {
            const auto part = bench.a.mr->bytes().subspan(static_cast<std::size_t>(at),
                                                          static_cast<std::size_t>(bytes));
            sent.insert(sent.end(), part.begin(), part.end());
        }
        CHECK(equal(std::span(sent).first(4), bench.b.in(300).subspan(1, 4)));
        CHECK(equal(std::span(sent).subspan(4), bench.b.in(300).subspan(64, 150)));
        CHECK(untouched(bench.b.in(300).subspan(214), kGuard));
        CHECK(untouched(bench.b.in(300).subspan(5, 59), kGuard));
    }
}

TEST_CASE("only signaled requests complete, and solicited ones wake who waits for them",
          "[traffic]") {
    TrafficBench bench;
    const Sge piece = bench.a.out_piece(100);
    const Sge into = bench.b.in_piece(100);
    bench.b.verbs->driver().service();
    bench.b.verbs->driver().take_events();
    bench.b.cq->arm(true);
    const auto events = [&] {
        bench.b.verbs->driver().service();
        return bench.b.verbs->driver().take_events().size();
    };
    for (std::uint64_t i = 0; i < 8; ++i) {
        REQUIRE(bench.b.qp->post_receive(i, {&into, 1}));
        REQUIRE(bench.a.qp->post_send(
            {.id = i, .sges = {&piece, 1}, .signaled = i % 4 == 3, .solicited = i == 7}));
        if (i % 4 == 3) {
            CHECK(bench.a.next().id == i);
            CHECK(bench.a.qp->sends_outstanding() == 0);
        }
        CHECK(bench.b.next().solicited == (i == 7));
        if (i == 3) CHECK(events() == 0);
    }
    bench.kernel.run_for(model::microseconds(20));
    CHECK(events() == 1);
}

TEST_CASE("a fence keeps a request behind the READs before it", "[traffic]") {
    TrafficBench bench({}, {}, VerbsDriver::kIpv4V2, 2, "connectx5", 1 << 20);
    constexpr std::uint64_t kBytes = 1 << 18;
    fill_pattern(bench.b.out(kBytes), 9);
    const Sge all = bench.a.in_piece(kBytes);
    const Sge last = bench.a.mr->sge(bench.a.half() + kBytes - 64, 64);
    REQUIRE(bench.a.qp->post_send({.op = SendOp::read,
                                   .sges = {&all, 1},
                                   .signaled = false,
                                   .remote_address = bench.b.mr->address(),
                                   .rkey = bench.b.mr->rkey()},
                                  false));
    // Sends back what the READ fetches.
    REQUIRE(bench.a.qp->post_send({.op = SendOp::write,
                                   .sges = {&last, 1},
                                   .fence = true,
                                   .remote_address = bench.b.in_address(),
                                   .rkey = bench.b.mr->rkey()}));
    CHECK(bench.a.next().op == SendOp::write);
    CHECK(equal(bench.b.in(64), bench.b.out(kBytes).last(64)));
}

TEST_CASE("datagrams arrive behind a network header with their sender's number", "[traffic]") {
    for (const std::uint8_t address : {VerbsDriver::kIpv4V2}) {
        QpOptions options;
        options.service = QpService::ud;
        TrafficBench bench(options, {}, address);
        const AddressHandle to = bench.b.verbs->path_to(address);
        for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, kMtu}) {
            CAPTURE(bytes);
            fill_pattern(bench.a.out(bytes), static_cast<std::uint32_t>(bytes) + 3);
            std::ranges::fill(bench.b.in(4096), kGuard);
            const Sge into = bench.b.in_piece(40 + bytes);
            const Sge piece = bench.a.out_piece(bytes);
            REQUIRE(bench.b.qp->post_receive(1, {&into, 1}));
            SendRequest request{.op = SendOp::send_immediate,
                                .sges = {&piece, 1},
                                .immediate = 77,
                                .to = &to,
                                .remote_qpn = bench.b.qp->number(),
                                .queue_key = 0x11111111};
            REQUIRE(bench.a.qp->post_send(request));
            CHECK(bench.a.next().ok());
            const Completion received = bench.b.next();
            CHECK(received.ok());
            CHECK(received.bytes == 40 + bytes);
            CHECK(received.immediate == 77);
            CHECK(received.source_qpn == bench.a.qp->number());
            CHECK(received.grh);
            CHECK(equal(bench.b.in(40 + bytes).subspan(40), bench.a.out(bytes)));
            // An IPv4 header stands in the last 20 of the 40 bytes.
            CHECK(bench.b.in(40)[20] == std::byte{0x45});
            CHECK(untouched(bench.b.in(4096).subspan(40 + bytes), kGuard));
        }
        // Another queue key is not let in, and nobody hears of it.
        const Sge into = bench.b.in_piece(100);
        REQUIRE(bench.b.qp->post_receive(1, {&into, 1}));
        REQUIRE(bench.a.qp->post_send(
            {.to = &to, .remote_qpn = bench.b.qp->number(), .queue_key = 0x22222222}));
        CHECK(bench.a.next().ok());
        Completion none;
        CHECK_FALSE(bench.b.cq->wait(none, model::milliseconds(1)));
    }
}

TEST_CASE("queue pairs share an SRQ, which says when it runs low", "[traffic]") {
    VerbsBench bench(2);
    VerbsDriver& a = bench.verbs(0);
    VerbsDriver& b = bench.verbs(1);
    VerbsMr& from = a.create_mr(a.pd(), 1 << 16);
    VerbsMr& to = b.create_mr(b.pd(), 1 << 16);
    VerbsCq& a_cq = a.create_cq(64);
    VerbsCq& b_cq = b.create_cq(64);
    VerbsSrq& srq = b.create_srq(b.pd(), 15);
    QpOptions shared;
    shared.srq = &srq;
    VerbsQp* senders[3];
    VerbsQp* receivers[3];
    for (unsigned i = 0; i < 3; ++i) {
        senders[i] = &a.create_qp(a.pd(), a_cq, a_cq, {});
        receivers[i] = &b.create_qp(b.pd(), b_cq, b_cq, shared);
        connect(*senders[i], a, *receivers[i], b);
    }
    fill_pattern(from.bytes(), 8);
    const std::uint32_t room = srq.free_entries();
    CHECK(room == 15);
    for (std::uint64_t i = 0; i < room; ++i) {
        const Sge into = to.sge(i * 512, 512);
        REQUIRE(srq.post_receive(i, {&into, 1}));
    }
    CHECK_FALSE(srq.post_receive(99, {}));
    srq.set_limit(8);
    for (unsigned round = 0; round < 40; ++round) {
        CAPTURE(round);
        VerbsQp& sender = *senders[round % 3];
        const Sge piece = from.sge(round * 512, 100 + round);
        REQUIRE(sender.post_send({.id = round, .sges = {&piece, 1}}));
        Completion done;
        REQUIRE(a_cq.wait(done, kTrafficLimit));
        CHECK(done.ok());
        REQUIRE(b_cq.wait(done, kTrafficLimit));
        CHECK(done.ok());
        CHECK(done.qpn == receivers[round % 3]->number());
        CHECK(done.bytes == 100 + round);
        CHECK(equal(to.bytes().subspan(done.id * 512, done.bytes),
                    from.bytes().subspan(round * 512, done.bytes)));
        // Later receives are posted from the oldest free entry on; ten are never given back.
        if (round >= 10) {
            const Sge into = to.sge(done.id * 512, 512);
            REQUIRE(srq.post_receive(done.id, {&into, 1}));
        }
    }
    b.driver().service();
    std::size_t warnings = 0;
    for (const Event& event : b.driver().take_events()) {
        warnings += event.type == prm::EventType::SRQ_RQ_LIMIT ? 1 : 0;
    }
    CHECK(warnings == 1);

    // Armed above what is posted: the event comes without any traffic.
    srq.set_limit(15);
    bench.kernel.run_for(model::microseconds(10));
    b.driver().service();
    const std::vector<Event> at_once = b.driver().take_events();
    REQUIRE(at_once.size() == 1);
    CHECK(at_once[0].type == prm::EventType::SRQ_RQ_LIMIT);
}

TEST_CASE("64 queue pairs with all operations mixed lose and change nothing", "[traffic]") {
    constexpr unsigned kQps = 64;
    constexpr unsigned kRounds = 6;
    constexpr std::uint64_t kRoom = 16384;
    VerbsBench bench(2);
    VerbsDriver& a = bench.verbs(0);
    VerbsDriver& b = bench.verbs(1);
    VerbsMr& here = a.create_mr(a.pd(), kQps * kRoom);
    VerbsMr& there = b.create_mr(b.pd(), kQps * kRoom);
    VerbsCq& a_cq = a.create_cq(2048);
    VerbsCq& b_cq = b.create_cq(2048);
    VerbsQp* senders[kQps];
    VerbsQp* receivers[kQps];
    for (unsigned i = 0; i < kQps; ++i) {
        QpOptions options;
        options.service = i % 4 == 3 ? QpService::uc : QpService::rc;
        senders[i] = &a.create_qp(a.pd(), a_cq, a_cq, options);
        receivers[i] = &b.create_qp(b.pd(), b_cq, b_cq, options);
        connect(*senders[i], a, *receivers[i], b);
    }
    fill_pattern(here.bytes(), 21);
    constexpr SendOp kOps[] = {SendOp::send, SendOp::write, SendOp::write_immediate,
                               SendOp::send_immediate};
    unsigned expected_receives = 0;
    const auto size_of = [](unsigned qp, unsigned round) {
        return std::uint64_t{(qp * 131 + round * 977) % 2600 + 1};
    };
    for (unsigned round = 0; round < kRounds; ++round) {
        for (unsigned i = 0; i < kQps; ++i) {
            const SendOp op = kOps[(i + round) % 4];
            const std::uint64_t at = i * kRoom + round * 2600;
            const Sge from = here.sge(at, size_of(i, round));
            const Sge to = there.sge(at, size_of(i, round));
            if (op != SendOp::write) {
                REQUIRE(receivers[i]->post_receive(round, std::span(&to, sends(op) ? 1 : 0)));
                ++expected_receives;
            }
            REQUIRE(senders[i]->post_send({.id = round,
                                           .op = op,
                                           .sges = {&from, 1},
                                           .immediate = i,
                                           .remote_address = to.address,
                                           .rkey = there.rkey()}));
        }
    }
    std::vector<unsigned> next(kQps);
    std::map<std::uint32_t, unsigned> index;
    for (unsigned i = 0; i < kQps; ++i) index[senders[i]->number()] = i;
    for (unsigned n = 0; n < kQps * kRounds; ++n) {
        Completion done;
        REQUIRE(a_cq.wait(done, kTrafficLimit));
        REQUIRE(done.ok());
        CHECK(done.id == next[index.at(done.qpn)]++);  // in the order of posting
    }
    unsigned received = 0;
    for (Completion done; b_cq.wait(done, model::milliseconds(1)); ++received) REQUIRE(done.ok());
    CHECK(received == expected_receives);
    for (unsigned i = 0; i < kQps; ++i) {
        for (unsigned round = 0; round < kRounds; ++round) {
            const std::uint64_t at = i * kRoom + round * 2600;
            CHECK(equal(here.bytes().subspan(at, size_of(i, round)),
                        there.bytes().subspan(at, size_of(i, round))));
        }
    }
}
