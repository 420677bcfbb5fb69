// SPDX-License-Identifier: Apache-2.0
// Memory windows between two cards: bound by the queue pair that owns the memory, used by its peer.
#include "tests/integration/verbs/traffic_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <utility>

using namespace cxsim;
using namespace cxsim::scenarios;
using namespace cxsim::test;

namespace {

constexpr std::uint64_t kWindowBytes = 5000;
constexpr AccessRights kReadWrite{false, true, true, false};
constexpr WindowType kTypes[] = {WindowType::any_queue, WindowType::one_queue};

/// The peer's memory is a region without rights for others.
struct WindowBench : TrafficBench {
    VerbsMr& region =
        b.verbs->create_mr(b.verbs->pd(), b.mr->memory(), {.access = {true, false, false, false}});

    /// A new connection, for what follows an error.
    void connect_anew() {
        a.qp = &a.verbs->create_qp(a.verbs->pd(), *a.cq, *a.cq, {});
        b.qp = &b.verbs->create_qp(b.verbs->pd(), *b.cq, *b.cq, {});
        connect(*a.qp, *a.verbs, *b.qp, *b.verbs);
    }
    VerbsMw& window(WindowType type) { return b.verbs->create_mw(b.verbs->pd(), type); }
    WindowBinding part(VerbsMw& window, std::uint64_t offset = 0,
                       const AccessRights& access = kReadWrite) {
        return window.bind(region, b.half() + offset, kWindowBytes, access);
    }
    Completion post(const WindowBinding& binding) {
        if (!b.qp->post_send({.op = SendOp::bind, .binding = &binding})) {
            throw std::runtime_error("full");
        }
        return b.next();
    }
    bool access(SendOp op, std::uint64_t offset, std::uint32_t rkey,
                std::uint64_t bytes = kWindowBytes) {
        const Sge piece = op == SendOp::write ? a.out_piece(bytes) : a.in_piece(bytes);
        const SendRequest request{.op = op,
                                  .sges = {&piece, 1},
                                  .remote_address = b.in_address() + offset,
                                  .rkey = rkey,
                                  .swap_add = 1};
        if (!a.qp->post_send(request)) throw std::runtime_error("full");
        const CompletionStatus status = a.next().status;
        if (status == CompletionStatus::success) return true;
        CHECK(to_string(status) == "remote_access");
        CHECK(b.qp->state() == VerbsState::error);
        return false;
    }
};

}  // namespace

TEST_CASE("peers write and read through a window what the region alone refuses", "[window]") {
    WindowBench bench;
    for (const WindowType type : kTypes) {
        CAPTURE(static_cast<int>(type));
        VerbsMw& window = bench.window(type);
        const Completion bound = bench.post(bench.part(window));
        REQUIRE(bound.ok());
        CHECK(bound.op == SendOp::bind);
        fill_pattern(bench.a.out(kWindowBytes), 3);
        CHECK(bench.access(SendOp::write, 0, window.rkey()));
        CHECK(equal(bench.a.out(kWindowBytes), bench.b.in(kWindowBytes)));
        fill_pattern(bench.b.in(kWindowBytes), 4);
        CHECK(bench.access(SendOp::read, 0, window.rkey()));
        CHECK(equal(bench.a.in(kWindowBytes), bench.b.in(kWindowBytes)));
        CHECK_FALSE(bench.access(SendOp::write, 0, bench.region.rkey()));
        bench.connect_anew();
    }
}

TEST_CASE("outside of a window, and what it does not allow, is a remote access error", "[window]") {
    WindowBench bench;
    VerbsMw& window = bench.window(WindowType::any_queue);
    REQUIRE(bench.post(bench.part(window, 64)).ok());
    CHECK(bench.access(SendOp::write, 64, window.rkey()));
    CHECK_FALSE(bench.access(SendOp::write, 65, window.rkey()));
    bench.connect_anew();
    CHECK_FALSE(bench.access(SendOp::read, 63, window.rkey(), 8));
    bench.connect_anew();
    CHECK_FALSE(bench.access(SendOp::fetch_add, 64, window.rkey(), 8));
    CHECK(bench.b.verbs->counter("resp_remote_access_errors") == 3);
}

TEST_CASE("atomics go through a window that allows them", "[window]") {
    WindowBench bench;
    VerbsMw& window = bench.window(WindowType::one_queue);
    REQUIRE(bench.post(bench.part(window, 0, {false, false, false, true})).ok());
    store_number(bench.b.in(8), 41);
    CHECK(bench.access(SendOp::fetch_add, 0, window.rkey(), 8));
    CHECK(load_number(bench.b.in(8)) == 42);
}

TEST_CASE("a window of type 1 serves under its last key only, and under none when closed",
          "[window]") {
    WindowBench bench;
    VerbsMw& window = bench.window(WindowType::any_queue);
    REQUIRE(bench.post(bench.part(window)).ok());
    const std::uint32_t first = window.rkey();
    REQUIRE(bench.post(bench.part(window, 8192)).ok());
    const std::uint32_t second = window.rkey();
    CHECK(second != first);
    CHECK(bench.access(SendOp::write, 8192, second));
    CHECK_FALSE(bench.access(SendOp::write, 0, first));
    bench.connect_anew();
    CHECK(bench.access(SendOp::write, 8192, second));  // of no queue pair in particular
    REQUIRE(bench.post(window.close()).ok());
    CHECK_FALSE(bench.access(SendOp::write, 8192, window.rkey()));
    bench.connect_anew();
    CHECK_FALSE(bench.access(SendOp::write, 8192, second));
}

TEST_CASE("a window of type 2 ends by its queue pair or by the peer, and is bound anew",
          "[window]") {
    WindowBench bench;
    for (const bool by_peer : {false, true}) {
        CAPTURE(by_peer);
        VerbsMw& window = bench.window(WindowType::one_queue);
        REQUIRE(bench.post(bench.part(window)).ok());
        const std::uint32_t first = window.rkey();
        if (by_peer) {
            const Sge into = bench.b.mr->sge(0, 64);
            const Sge out = bench.a.out_piece(16);
            REQUIRE(bench.b.qp->post_receive(1, {&into, 1}));
            REQUIRE(bench.a.qp->post_send(
                {.op = SendOp::send_invalidate, .sges = {&out, 1}, .immediate = first}));
            CHECK(bench.a.next().ok());
            const Completion received = bench.b.next();
            CHECK(received.kind == CompletionKind::received_invalidate);
            CHECK(received.immediate == first);
        } else {
            REQUIRE(bench.post(window.close()).ok());
        }
        REQUIRE(bench.post(bench.part(window)).ok());
        CHECK(window.rkey() != first);
        CHECK(bench.access(SendOp::write, 0, window.rkey()));
        CHECK_FALSE(bench.access(SendOp::write, 0, first));
        bench.connect_anew();
    }
}

TEST_CASE("a window of type 2 that was closed refuses its peer", "[window]") {
    WindowBench bench;
    VerbsMw& window = bench.window(WindowType::one_queue);
    REQUIRE(bench.post(bench.part(window)).ok());
    REQUIRE(bench.post(window.close()).ok());
    CHECK_FALSE(bench.access(SendOp::write, 0, window.rkey()));
}

TEST_CASE("the window of one queue pair is closed to the peer of another", "[window]") {
    WindowBench bench;
    VerbsMw& window = bench.window(WindowType::one_queue);
    REQUIRE(bench.post(bench.part(window)).ok());
    const std::pair first{bench.a.qp, bench.b.qp};
    bench.connect_anew();
    CHECK_FALSE(bench.access(SendOp::write, 0, window.rkey()));
    bench.a.qp = first.first;
    bench.b.qp = first.second;
    CHECK(bench.access(SendOp::write, 0, window.rkey()));
}

TEST_CASE("a bind that may not be ends in a window bind error and stops its queue pair",
          "[window]") {
    WindowBench bench;
    std::uint32_t failures = 0;
    const auto check = [&](const char* what, const WindowBinding& binding) {
        CAPTURE(what);
        CHECK(to_string(bench.post(binding).status) == "window_bind");
        CHECK(bench.b.qp->state() == VerbsState::error);
        CHECK(bench.b.verbs->counter("req_mw_binding") == ++failures);
        bench.connect_anew();
    };
    VerbsMw& window = bench.window(WindowType::any_queue);
    check("beyond the region", bench.part(window, bench.b.half() - kWindowBytes + 1));
    VerbsMr& constant = bench.b.verbs->create_mr(bench.b.verbs->pd(), bench.b.mr->memory(),
                                                 {.access = {false, true, false, false}});
    check("writes to what its owner may not write", window.bind(constant, 0, 64, kReadWrite));
    VerbsPd& other = bench.b.verbs->create_pd();
    check("a window of another domain",
          bench.part(bench.b.verbs->create_mw(other, WindowType::any_queue)));
    VerbsMr& foreign = bench.b.verbs->create_mr(other, bench.b.mr->memory());
    check("a region of another domain", window.bind(foreign, 0, 64, kReadWrite));
    VerbsMw& own = bench.window(WindowType::one_queue);
    REQUIRE(bench.post(bench.part(own)).ok());
    check("a window of type 2 that is bound", bench.part(own));
    check("an invalidation of another queue pair's", own.close());
    check("an invalidation of a free window", bench.window(WindowType::one_queue).close());
    CHECK(bench.post(bench.part(window)).ok());
}

TEST_CASE("a window that is bound goes away with its peers' access", "[window]") {
    WindowBench bench;
    VerbsMw& window = bench.window(WindowType::any_queue);
    REQUIRE(bench.post(bench.part(window)).ok());
    const std::uint32_t key = window.rkey();
    bench.b.verbs->destroy(window);
    CHECK_FALSE(bench.access(SendOp::read, 0, key));
}
