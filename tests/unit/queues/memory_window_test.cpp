// SPDX-License-Identifier: Apache-2.0
// Memory windows: UMR work requests as libmlx5 builds them for bind and invalidate, and what the
// keys that they make allow.
#include "model/queues/transport_port.h"
#include "tests/unit/queues/queue_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

constexpr std::uint32_t kRc = 0;
constexpr std::uint32_t kUd = 2;
constexpr std::uint32_t kKlm = 2;
constexpr std::uint32_t kAnyQueue = 0xffffff;
constexpr std::uint64_t kRegion = 0x7f00'0000'0000;  // where the region's addresses begin
constexpr std::uint64_t kMemory = 0xa000'0000;       // and its memory

constexpr std::uint64_t bit(unsigned n) {
    return std::uint64_t{1} << n;
}

struct Binding {
    std::uint32_t key = 0;  // of the window, as the control segment names it
    std::uint8_t new_variant = 0;
    bool type_2 = false;
    std::uint64_t address = kRegion;
    std::uint64_t bytes = 0x1000;  // 0: the window is closed
    std::uint32_t region_key = 0;
    bool rr = true;
    bool rw = true;
    bool a = false;
    bool zero_based = false;
    std::uint32_t queue = kAnyQueue;  // type 2: that it is bound to
};

std::vector<std::byte> segments_of(const Binding& binding) {
    using Umr = prm::wqe_umr_ctrl_seg;
    const bool opens = binding.bytes != 0;
    std::vector<std::byte> bytes(48 + 64 + (opens ? 64 : 0));
    const prm::View<Umr> umr(bytes);
    umr.set<Umr::is_inline>(1U);
    umr.set<Umr::translation_offset_en>(1U);
    umr.set<Umr::check_free>(opens && binding.type_2 ? 1U : 0U);
    umr.set<Umr::check_qpn>(!opens && binding.type_2);
    umr.set<Umr::xlt_octowords>(opens ? 4U : 0U);
    std::uint64_t mask = bit(29) | bit(13) | (binding.type_2 ? bit(14) : 0);
    if (opens) mask |= bit(0) | bit(6) | bit(18) | bit(19) | bit(20) | bit(21);
    umr.set<Umr::mkey_mask>(mask);
    const std::span<std::byte> all(bytes);
    const prm::View<prm::mkc> key(all.subspan(48, 64));
    key.set<prm::mkc::mkey_7_0>(binding.new_variant);
    key.set<prm::mkc::qpn>(opens && binding.type_2 ? binding.queue : kAnyQueue);
    if (!opens) {
        key.set<prm::mkc::free>(1U);
        return bytes;
    }
    key.set<prm::mkc::rr>(binding.rr);
    key.set<prm::mkc::rw>(binding.rw);
    key.set<prm::mkc::a>(binding.a);
    key.set<prm::mkc::start_addr>(binding.zero_based ? 0 : binding.address);
    key.set<prm::mkc::len>(binding.bytes);
    const prm::View<prm::klm> entry(all.subspan(112));
    entry.set<prm::klm::byte_count>(static_cast<std::uint32_t>(binding.bytes));
    entry.set<prm::klm::mkey>(binding.region_key);
    entry.set<prm::klm::va>(binding.address);
    return bytes;
}

struct WindowBench : QueueBench {
    EqDriver completions = create_eq(6, 1);
    CqDriver cq = create_cq(6, completions.eq->id.number);
    Qp& qp = create_qp(kRc, cq.cq->id.number, cq.cq->id.number, 6);
    SqDriver driver = driver_of(qp.id.number, qp.sq);
    Mkey& region = make_region(kPd);
    Mkey& window = make_window(kPd);

    Mkey& make_region(std::uint32_t pd) {
        Mkey& mkey = create_mkey(pd, 1, kRegion, 0x4000, 12, 2);
        for (std::size_t i = 0; i < 4; ++i) set_mtt(mkey, i, kMemory + i * 0x1000);
        return mkey;
    }
    // As the kernel makes it.
    Mkey& make_window(std::uint32_t pd, bool type_2 = false) {
        Mkey& mkey = create_mkey(pd, kKlm, 0, 0, 0, 0);
        mkey.view().set<prm::mkc::translations_octword_size>(4U);
        mkey.view().set<prm::mkc::free>(1U);
        mkey.view().set<prm::mkc::lw>(0U);
        mkey.view().set<prm::mkc::en_rinval>(type_2);
        return mkey;
    }
    Binding binding(const Mkey& of, std::uint8_t new_variant) {
        Binding wanted;
        wanted.key = of.key();
        wanted.new_variant = new_variant;
        wanted.region_key = region.key();
        return wanted;
    }
    Binding binding_2(const Mkey& of, std::uint8_t new_variant) {
        Binding wanted = binding(of, new_variant);
        wanted.type_2 = true;
        wanted.queue = qp.id.number;
        return wanted;
    }
    SeenCqe post(const Binding& wanted, SqDriver& by) {
        ring(by, QueueBench::post(by, 0x25, wanted.key, segments_of(wanted)));
        run();
        const auto cqe = poll_cq(cq);
        REQUIRE(cqe);
        update_cq(cq);
        return *cqe;
    }
    SeenCqe post(const Binding& wanted) { return post(wanted, driver); }
    bool done(const Binding& wanted) { return post(wanted).opcode == 0; }

    TranslationError access(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                            Access kind, std::uint32_t queue) {
        TranslationRequest request;
        request.key = key;
        request.pd = kPd;
        request.queue_number = queue;
        request.address = address;
        request.bytes = bytes;
        request.access = kind;
        ranges.clear();
        return engines.translator().translate(request, ranges);
    }
    TranslationError access(std::uint64_t address, std::uint64_t bytes, Access kind) {
        return access(window.key(), address, bytes, kind, qp.id.number);
    }
    std::vector<HostRange> ranges;
};

TEST_CASE("a window opens a part of a region that has no rights for peers", "[window]") {
    WindowBench bench;
    Binding binding = bench.binding(bench.window, 7);
    binding.address = kRegion + 0x1800;
    CHECK(bench.access(kRegion + 0x1800, 1, Access::remote_read) == TranslationError::unknown_key);
    REQUIRE(bench.done(binding));
    CHECK(bench.window.variant == 7);
    CHECK(bench.counters().umrs == 1);
    CHECK(bench.access(kRegion + 0x1800, 0x1000, Access::remote_write) == TranslationError::none);
    CHECK(bench.ranges == std::vector<HostRange>{{{kMemory + 0x1800}, 0x1000, false}});
    CHECK(bench.access(kRegion + 0x1800, 0x1000, Access::remote_read) == TranslationError::none);
    CHECK(bench.access(kRegion + 0x1800, 8, Access::atomic) == TranslationError::no_permission);
    CHECK(bench.access(kRegion + 0x17ff, 2, Access::remote_write) ==
          TranslationError::out_of_range);
    CHECK(bench.access(kRegion + 0x1801, 0x1000, Access::remote_write) ==
          TranslationError::out_of_range);
    CHECK(bench.access(bench.region.key(), kRegion, 8, Access::remote_read, bench.qp.id.number) ==
          TranslationError::no_permission);
}

TEST_CASE("a window of type 1 moves with each bind, and bound to nothing it is closed",
          "[window]") {
    WindowBench bench;
    REQUIRE(bench.done(bench.binding(bench.window, 1)));
    const std::uint32_t first = bench.window.key();
    Binding second = bench.binding(bench.window, 2);
    second.address = kRegion + 0x2000;
    second.rw = false;
    REQUIRE(bench.done(second));
    CHECK(bench.access(first, kRegion, 8, Access::remote_read, bench.qp.id.number) ==
          TranslationError::unknown_key);
    CHECK(bench.access(kRegion, 8, Access::remote_read) == TranslationError::out_of_range);
    CHECK(bench.access(kRegion + 0x2000, 8, Access::remote_read) == TranslationError::none);
    CHECK(bench.access(kRegion + 0x2000, 8, Access::remote_write) ==
          TranslationError::no_permission);
    // Any queue of the domain serves peers with it.
    CHECK(bench.access(bench.window.key(), kRegion + 0x2000, 8, Access::remote_read, 0x1234) ==
          TranslationError::none);
    Binding nothing = bench.binding(bench.window, 3);
    nothing.bytes = 0;
    REQUIRE(bench.done(nothing));
    CHECK(bench.access(kRegion + 0x2000, 8, Access::remote_read) == TranslationError::unknown_key);
    CHECK(bench.done(bench.binding(bench.window, 4)));
}

TEST_CASE("a zero-based window counts from its beginning", "[window]") {
    WindowBench bench;
    Binding binding = bench.binding(bench.window, 9);
    binding.address = kRegion + 0x800;
    binding.zero_based = true;
    REQUIRE(bench.done(binding));
    CHECK(bench.access(0x10, 4, Access::remote_write) == TranslationError::none);
    CHECK(bench.ranges == std::vector<HostRange>{{{kMemory + 0x810}, 4, false}});
    CHECK(bench.access(kRegion + 0x800, 4, Access::remote_write) == TranslationError::out_of_range);
}

TEST_CASE("a window of type 2 belongs to the queue pair that bound it, until invalidated",
          "[window]") {
    WindowBench bench;
    Mkey& window = bench.make_window(kPd, true);
    const std::uint32_t own = bench.qp.id.number;
    REQUIRE(bench.done(bench.binding_2(window, 5)));
    const std::uint32_t key = window.key();
    CHECK(bench.access(key, kRegion, 8, Access::remote_write, own) == TranslationError::none);
    CHECK(bench.access(key, kRegion, 8, Access::remote_write, own + 1) ==
          TranslationError::wrong_domain);

    Binding end = bench.binding_2(window, 0);
    end.bytes = 0;
    REQUIRE(bench.done(end));
    CHECK(window.view().get<prm::mkc::qpn>() == kAnyQueue);
    CHECK(bench.access(key, kRegion, 8, Access::remote_write, own) ==
          TranslationError::unknown_key);
    // libmlx5 still names the window by the key it had.
    Binding again = bench.binding_2(window, 6);
    again.key = key;
    CHECK(bench.done(again));
    CHECK(window.variant == 6);
}

TEST_CASE("a window of type 2 that is bound cannot be bound again", "[window]") {
    WindowBench bench;
    Mkey& window = bench.make_window(kPd, true);
    REQUIRE(bench.done(bench.binding_2(window, 5)));
    Binding again = bench.binding_2(window, 6);
    again.address = kRegion + 0x1000;
    const SeenCqe cqe = bench.post(again);
    CHECK(cqe.opcode == 13);
    CHECK(cqe.syndrome == 0x06);
    CHECK(bench.qp.state == QpState::error);
    CHECK(window.variant == 5);
    CHECK(bench.access(window.key(), kRegion, 8, Access::remote_write, bench.qp.id.number) ==
          TranslationError::none);
    CHECK(bench.counters().umr_refused == 1);
}

TEST_CASE("only its queue pair invalidates a window of type 2, by its living key and once",
          "[window]") {
    for (const bool by_other : {true, false}) {
        CAPTURE(by_other);
        WindowBench bench;
        Mkey& window = bench.make_window(kPd, true);
        REQUIRE(bench.done(bench.binding_2(window, 5)));
        Binding end = bench.binding_2(window, 0);
        end.bytes = 0;
        Qp& other = bench.create_qp(kRc, bench.cq.cq->id.number, bench.cq.cq->id.number, 6);
        SqDriver other_driver = bench.driver_of(other.id.number, other.sq);
        if (!by_other) end.key ^= 1;
        const SeenCqe cqe = bench.post(end, by_other ? other_driver : bench.driver);
        CHECK(cqe.opcode == 13);
        CHECK(cqe.syndrome == 0x06);
        CHECK(window.view().get<prm::mkc::free>() == 0);
    }
    WindowBench bench;
    Mkey& window = bench.make_window(kPd, true);
    REQUIRE(bench.done(bench.binding_2(window, 5)));
    Binding end = bench.binding_2(window, 0);
    end.bytes = 0;
    REQUIRE(bench.done(end));
    CHECK(bench.post(end).syndrome == 0x06);
}

TEST_CASE("a peer's SEND with invalidate ends a window of type 2, not one of type 1", "[window]") {
    WindowBench bench;
    QpQueues& queues = bench.engines.qp_queues();
    REQUIRE(bench.done(bench.binding(bench.window, 5)));
    CHECK_FALSE(queues.invalidate(bench.qp, bench.window.key()));
    Mkey& window = bench.make_window(kPd, true);
    REQUIRE(bench.done(bench.binding_2(window, 6)));
    Qp& other = bench.create_qp(kRc, bench.cq.cq->id.number, bench.cq.cq->id.number, 6);
    CHECK_FALSE(queues.invalidate(other, window.key()));
    CHECK(queues.invalidate(bench.qp, window.key()));
    CHECK(bench.access(window.key(), kRegion, 8, Access::remote_write, bench.qp.id.number) ==
          TranslationError::unknown_key);
    CHECK(bench.done(bench.binding_2(window, 7)));
}

TEST_CASE("what a window may not open fails its bind and leaves it as it was", "[window]") {
    struct Case {
        const char* what;
        void (*spoil)(WindowBench&, Binding&);
    };
    const std::array<Case, 11> cases{{
        {"a window of another domain",
         [](WindowBench& b, Binding&) { b.window.view().set<prm::mkc::pd>(kPd + 1); }},
        {"a region of another domain",
         [](WindowBench& b, Binding& w) { w.region_key = b.make_region(kPd + 1).key(); }},
        {"a region that does not exist", [](WindowBench&, Binding& w) { w.region_key = 0x55500; }},
        {"a region's key of another variant", [](WindowBench&, Binding& w) { w.region_key ^= 1; }},
        {"a region that was revoked",
         [](WindowBench& b, Binding&) { b.region.view().set<prm::mkc::free>(1U); }},
        {"more than the region", [](WindowBench&, Binding& w) { w.bytes = 0x4001; }},
        {"bytes before the region", [](WindowBench&, Binding& w) { w.address = kRegion - 1; }},
        {"bytes behind the region", [](WindowBench&, Binding& w) { w.address = kRegion + 0x3001; }},
        {"writes to a region that its owner may only read",
         [](WindowBench& b, Binding&) { b.region.view().set<prm::mkc::lw>(0U); }},
        {"atomics on such a region",
         [](WindowBench& b, Binding& w) {
             b.region.view().set<prm::mkc::lw>(0U);
             w.rw = false;
             w.a = true;
         }},
        {"a window that does not exist", [](WindowBench&, Binding& w) { w.key = 0x66600; }},
    }};
    for (const Case& c : cases) {
        INFO(c.what);
        WindowBench bench;
        Binding binding = bench.binding(bench.window, 5);
        c.spoil(bench, binding);
        const SeenCqe cqe = bench.post(binding);
        CHECK(cqe.opcode == 13);
        CHECK(cqe.send_opcode == 0x25);
        CHECK(cqe.syndrome == 0x06);
        CHECK(bench.qp.state == QpState::error);
        CHECK(bench.window.view().get<prm::mkc::free>() == 1);
        CHECK(bench.window.translations.empty());
        CHECK(bench.counters().umr_refused == 1);
    }
}

TEST_CASE("a region that its owner may only read serves a window for READs", "[window]") {
    WindowBench bench;
    bench.region.view().set<prm::mkc::lw>(0U);
    Binding binding = bench.binding(bench.window, 5);
    binding.rw = false;
    REQUIRE(bench.done(binding));
    CHECK(bench.access(kRegion, 8, Access::remote_read) == TranslationError::none);
}

TEST_CASE("a window over a region that goes is open to nobody", "[window]") {
    WindowBench bench;
    REQUIRE(bench.done(bench.binding(bench.window, 5)));
    bench.resources.destroy(bench.region.id);
    CHECK(bench.access(kRegion, 8, Access::remote_read) == TranslationError::unknown_key);
}

TEST_CASE("queue pairs of datagrams bind nothing", "[window]") {
    WindowBench bench;
    Qp& ud = bench.create_qp(kUd, bench.cq.cq->id.number, bench.cq.cq->id.number, 6);
    SqDriver driver = bench.driver_of(ud.id.number, ud.sq);
    CHECK(bench.post(bench.binding(bench.window, 5), driver).syndrome == 0x02);
    CHECK(bench.window.view().get<prm::mkc::free>() == 1);
}

}  // namespace
}  // namespace cxsim::test
