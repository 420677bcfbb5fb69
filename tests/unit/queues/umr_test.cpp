// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/queues/queue_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

constexpr std::uint32_t kRc = 0;
constexpr std::uint32_t kUd = 2;
constexpr std::uint32_t kRegUmr = 0xc;
constexpr std::uint64_t bit(unsigned n) {
    return std::uint64_t{1} << n;
}
constexpr std::uint64_t kMaskFree = bit(29);
constexpr std::uint64_t kMaskKey = bit(13);
constexpr std::uint64_t kMaskRegion = bit(0) | bit(1) | bit(6);

// A UMR as the driver builds it; fields that a case does not set are zero.
struct Umr {
    bool is_inline = true;
    std::uint32_t check = 0;  // 1: must be free, 2: must not be free
    bool offset_given = false;
    std::uint16_t octowords = 0;
    std::uint64_t offset = 0;
    std::uint64_t mask = 0;
    std::array<std::byte, 64> mkc{};
    std::vector<std::byte> rest;

    prm::View<prm::mkc> context() { return prm::View<prm::mkc>(mkc); }
    std::vector<std::byte> segments() const {
        std::vector<std::byte> bytes(48);
        const prm::View<prm::wqe_umr_ctrl_seg> umr(bytes);
        umr.set<prm::wqe_umr_ctrl_seg::is_inline>(is_inline);
        umr.set<prm::wqe_umr_ctrl_seg::check_free>(check);
        umr.set<prm::wqe_umr_ctrl_seg::translation_offset_en>(offset_given);
        umr.set<prm::wqe_umr_ctrl_seg::xlt_octowords>(octowords);
        umr.set<prm::wqe_umr_ctrl_seg::xlt_offset_15_0>(offset & 0xffff);
        umr.set<prm::wqe_umr_ctrl_seg::xlt_offset_47_16>(offset >> 16);
        umr.set<prm::wqe_umr_ctrl_seg::mkey_mask>(mask);
        return bytes + std::vector<std::byte>(mkc.begin(), mkc.end()) + rest;
    }
};

struct UmrBench : QueueBench {
    EqDriver completions = create_eq(6, 1);
    CqDriver cq = create_cq(6, completions.eq->id.number);
    Sq& sq = create_sq(cq.cq->id.number, 6);
    SqDriver driver = driver_of(sq.id.number, sq.wq);
    Mkey& mkey = create_mkey(kPd, 1, 0, 0x8000, 12, 8);  // room for 16 MTTs

    SeenCqe run_umr(const Umr& umr, std::uint32_t key) {
        ring(driver, post(driver, 0x25, key, umr.segments()));
        run();
        const auto cqe = poll_cq(cq);
        REQUIRE(cqe);
        update_cq(cq);
        return *cqe;
    }
    SeenCqe run_umr(const Umr& umr) { return run_umr(umr, mkey.key()); }
    std::uint64_t mtt(std::size_t index) const {
        return load_be<std::uint64_t>(mkey.translations.data() + index * 8);
    }
};

std::vector<std::byte> mtts(std::size_t count, std::uint64_t first) {
    std::vector<std::byte> bytes(count * 8);
    for (std::size_t i = 0; i < count; ++i) {
        store_be<std::uint64_t>(bytes.data() + i * 8, first + i * 0x1000);
    }
    return bytes;
}

TEST_CASE("inline entries go to the start of the translation", "[umr]") {
    UmrBench bench;
    Umr umr;
    umr.octowords = 4;
    umr.rest = mtts(8, 0xa0000000);
    const SeenCqe cqe = bench.run_umr(umr);
    CHECK(cqe.opcode == 0);
    CHECK(cqe.send_opcode == 0x25);
    CHECK(bench.mtt(0) == 0xa0000000);
    CHECK(bench.mtt(7) == 0xa0007000);
    CHECK(bench.mtt(8) == 0);
    CHECK(bench.counters().umrs == 1);
}

TEST_CASE("an offset moves them, also one of more than 16 bits", "[umr]") {
    UmrBench bench;
    Umr umr;
    umr.octowords = 4;
    umr.offset_given = true;
    umr.offset = 4;
    umr.rest = mtts(8, 0xb0000000);
    CHECK(bench.run_umr(umr).opcode == 0);
    CHECK(bench.mtt(7) == 0);
    CHECK(bench.mtt(8) == 0xb0000000);

    Mkey& large = bench.create_mkey(kPd, 1, 0, 0, 12, 0);
    large.view().set<prm::mkc::translations_octword_size>(0x20000U);
    umr.offset = 0x10004;
    CHECK(bench.run_umr(umr, large.key()).opcode == 0);
    CHECK(load_be<std::uint64_t>(large.translations.data() + 0x10004 * 16) == 0xb0000000);
}

TEST_CASE("entries by pointer are read from the host", "[umr]") {
    UmrBench bench;
    const std::uint64_t list = bench.allocate(4096);
    bench.host.poke(list, mtts(16, 0xc0000000));
    Umr umr;
    umr.is_inline = false;
    umr.octowords = 8;
    umr.rest = data_segment(128, bench.pa_key, list);
    const Picoseconds rung = bench.calendar.now();
    CHECK(bench.run_umr(umr).opcode == 0);
    CHECK(bench.mtt(15) == 0xc000f000);
    // Two reads after another: WQE, then list.
    CHECK(bench.host.accesses.back().start > rung + 2 * bench.host.read_latency);
}

TEST_CASE("the mask chooses what changes in the context", "[umr]") {
    using prm::mkc;
    UmrBench bench;
    Umr umr;
    const auto from = umr.context();
    from.set<mkc::free>(1U);
    from.set<mkc::lr>(0U);
    from.set<mkc::lw>(0U);
    from.set<mkc::rr>(1U);
    from.set<mkc::rw>(1U);
    from.set<mkc::a>(1U);
    from.set<mkc::pd>(99U);
    from.set<mkc::qpn>(0x55U);
    from.set<mkc::len>(0x4000U);
    from.set<mkc::start_addr>(0x7000U);
    from.set<mkc::log_page_size>(13U);
    from.set<mkc::mkey_7_0>(0x99U);
    from.set<mkc::en_rinval>(1U);
    from.set<mkc::relaxed_ordering_write>(1U);
    from.set<mkc::relaxed_ordering_read>(1U);
    from.set<mkc::small_fence_on_rdma_read_response>(1U);

    const auto at = bench.mkey.view();
    CHECK(bench.run_umr(umr).opcode == 0);
    CHECK(at.get<mkc::free>() == 0);
    CHECK(at.get<mkc::rr>() == 0);
    CHECK(at.get<mkc::lr>() == 1);
    CHECK(at.get<mkc::len>() == 0x8000);

    const auto step = [&](std::uint64_t mask) {
        umr.mask = mask;
        return bench.run_umr(umr).opcode == 0;
    };
    CHECK(step(bit(0)));
    CHECK(at.get<mkc::len>() == 0x4000);
    CHECK(at.get<mkc::start_addr>() == 0);
    CHECK(step(bit(6)));
    CHECK(at.get<mkc::start_addr>() == 0x7000);
    CHECK(step(bit(1)));
    CHECK(at.get<mkc::log_page_size>() == 13);
    CHECK(step(bit(14)));
    CHECK(at.get<mkc::qpn>() == 0x55);
    CHECK(step(bit(17)));
    CHECK(at.get<mkc::lr>() == 0);
    CHECK(at.get<mkc::lw>() == 1);
    CHECK(step(bit(18)));
    CHECK(at.get<mkc::lw>() == 0);
    CHECK(step(bit(19) | bit(20) | bit(21)));
    CHECK(at.get<mkc::rr>() == 1);
    CHECK(at.get<mkc::rw>() == 1);
    CHECK(at.get<mkc::a>() == 1);
    CHECK(step(bit(8) | bit(23) | bit(25) | bit(47)));
    CHECK(at.get<mkc::en_rinval>() == 1);
    CHECK(at.get<mkc::small_fence_on_rdma_read_response>() == 1);
    CHECK(at.get<mkc::relaxed_ordering_write>() == 1);
    CHECK(at.get<mkc::relaxed_ordering_read>() == 1);
    CHECK(step(kMaskFree));
    CHECK(at.get<mkc::free>() == 1);
    CHECK(step(kMaskKey));
    CHECK(bench.mkey.variant == 0x99);
    CHECK(at.get<mkc::pd>() == kPd);
    CHECK(step(bit(7)));
    CHECK(at.get<mkc::pd>() == 99);
}

TEST_CASE("page sizes of more than five bits have a mask bit of their own", "[umr]") {
    using prm::mkc;
    UmrBench bench;
    Umr umr;
    umr.context().set<mkc::log_page_size>(0x23U);
    umr.mask = bit(1);
    bench.run_umr(umr);
    CHECK(bench.mkey.view().get<mkc::log_page_size>() == 3);
    umr.mask = bit(42);
    bench.run_umr(umr);
    CHECK(bench.mkey.view().get<mkc::log_page_size>() == 0x23);
}

TEST_CASE("a registration under a new variant names the key as it will be", "[umr]") {
    UmrBench bench;
    const std::uint32_t old_key = bench.mkey.key();
    const std::uint32_t new_key = (old_key & ~0xffU) | 0x77;
    Umr umr;
    umr.mask = kMaskKey;
    umr.context().set<prm::mkc::mkey_7_0>(0x77U);
    CHECK(bench.run_umr(umr, new_key).opcode == 0);
    CHECK(bench.engines.translator().find(new_key) == &bench.mkey);
    CHECK(bench.engines.translator().find(old_key) == nullptr);
}

TEST_CASE("the free checks hold in both directions", "[umr]") {
    struct Case {
        bool is_free;
        std::uint32_t check;
        bool passes;
    };
    for (const Case c : {Case{false, 0, true}, Case{true, 0, true}, Case{true, 1, true},
                         Case{false, 1, false}, Case{false, 2, true}, Case{true, 2, false}}) {
        UmrBench bench;
        bench.mkey.view().set<prm::mkc::free>(c.is_free);
        Umr umr;
        umr.check = c.check;
        umr.mask = bit(0);
        umr.context().set<prm::mkc::len>(0x1000U);
        const SeenCqe cqe = bench.run_umr(umr);
        CHECK(cqe.opcode == (c.passes ? 0 : 13));
        CHECK(bench.mkey.view().get<prm::mkc::len>() == (c.passes ? 0x1000 : 0x8000));
        if (!c.passes) CHECK(cqe.syndrome == 0x06);
    }
}

TEST_CASE("refused registrations change nothing and give the CQEs of cards", "[umr]") {
    struct Case {
        const char* what;
        void (*spoil)(UmrBench&, Umr&, std::uint32_t& key);
        std::uint32_t syndrome;
        std::uint32_t vendor;
    };
    const std::array<Case, 14> cases{{
        {"unknown mkey", [](UmrBench&, Umr&, std::uint32_t& key) { key = 0x55500; }, 0x06, 0x00},
        {"other variant", [](UmrBench&, Umr&, std::uint32_t& key) { key ^= 1; }, 0x06, 0x00},
        {"other PD",
         [](UmrBench& b, Umr&, std::uint32_t&) { b.mkey.view().set<prm::mkc::pd>(kPd + 1); }, 0x06,
         0x00},
        {"mkey without UMR",
         [](UmrBench& b, Umr&, std::uint32_t&) { b.mkey.view().set<prm::mkc::umr_en>(0U); }, 0x06,
         0x78},
        {"more entries than the mkey has",
         [](UmrBench&, Umr& u, std::uint32_t&) { u.octowords = 12; }, 0x06, 0x78},
        {"entries beyond the end",
         [](UmrBench&, Umr& u, std::uint32_t&) {
             u.offset_given = true;
             u.offset = 8;
         },
         0x06, 0x78},
        {"a region longer than its entries",
         [](UmrBench&, Umr& u, std::uint32_t&) {
             u.mask |= bit(0);
             u.context().set<prm::mkc::len>(0x10001U);
         },
         0x06, 0x78},
        {"unaligned size", [](UmrBench&, Umr& u, std::uint32_t&) { u.octowords = 3; }, 0x02, 0x68},
        {"unaligned offset",
         [](UmrBench&, Umr& u, std::uint32_t&) {
             u.offset_given = true;
             u.offset = 2;
         },
         0x02, 0x68},
        {"byte stream format", [](UmrBench&, Umr& u, std::uint32_t&) { u.offset = 4; }, 0x02, 0x68},
        {"unknown mask bit", [](UmrBench&, Umr& u, std::uint32_t&) { u.mask |= bit(60); }, 0x02,
         0x68},
        {"list key unknown",
         [](UmrBench&, Umr& u, std::uint32_t&) {
             u.is_inline = false;
             u.rest = data_segment(64, 0x55500, 0);
         },
         0x06, 0x25},
        {"list not readable",
         [](UmrBench& b, Umr& u, std::uint32_t&) {
             u.is_inline = false;
             const std::uint64_t list = b.allocate(4096);
             b.host.refuse(list, 4096);
             u.rest = data_segment(64, b.pa_key, list);
         },
         0x06, 0x25},
        {"list shorter than announced",
         [](UmrBench& b, Umr& u, std::uint32_t&) {
             u.is_inline = false;
             u.rest = data_segment(48, b.pa_key, 0x1000);
         },
         0x02, 0x68},
    }};
    for (const Case& c : cases) {
        INFO(c.what);
        UmrBench bench;
        Umr umr;
        umr.octowords = 4;
        umr.rest = mtts(8, 0xa0000000);
        umr.mask = bit(19);
        umr.context().set<prm::mkc::rr>(1U);
        std::uint32_t key = bench.mkey.key();
        c.spoil(bench, umr, key);
        const SeenCqe cqe = bench.run_umr(umr, key);
        CHECK(cqe.opcode == 13);
        CHECK(cqe.syndrome == c.syndrome);
        CHECK(cqe.vendor == c.vendor);
        CHECK(bench.mkey.view().get<prm::mkc::rr>() == 0);
        CHECK(bench.mtt(0) == 0);
        CHECK(bench.counters().umr_refused == 1);
    }
}

TEST_CASE("a WQE too short for a registration is refused", "[umr]") {
    UmrBench bench;
    bench.ring(bench.driver,
               bench.post(bench.driver, 0x25, bench.mkey.key(), std::vector<std::byte>(96)));
    bench.run();
    CHECK(bench.poll_cq(bench.cq)->syndrome == 0x02);
}

TEST_CASE("an mkey owns whole lines of 64 bytes whatever its size says", "[umr]") {
    UmrBench bench;
    Mkey& small = bench.create_mkey(kPd, 1, 0, 0x1000, 12, 1);
    Umr umr;
    umr.octowords = 4;
    umr.rest = mtts(8, 0xa0000000);
    CHECK(bench.run_umr(umr, small.key()).opcode == 0);
}

TEST_CASE("a size that no card has room for is not believed", "[umr]") {
    UmrBench bench;
    Mkey& huge = bench.create_mkey(kPd, 1, 0, 0, 12, 0);
    huge.view().set<prm::mkc::translations_octword_size>(0xffffffffU);
    Umr umr;
    umr.octowords = 4;
    umr.offset_given = true;
    umr.offset = 0xf0000000;
    umr.rest = mtts(8, 0xa0000000);
    CHECK(bench.run_umr(umr, huge.key()).vendor == 0x78);
    CHECK(huge.translations.empty());
}

TEST_CASE("an SQ without reg_umr and a UD QP may not register", "[umr]") {
    UmrBench bench;
    bench.sq.view().set<prm::sqc::reg_umr>(0U);
    CHECK(bench.run_umr(Umr{}).syndrome == 0x02);
    CHECK(bench.counters().unimplemented_opcodes[0x25] == 1);
    const std::uint32_t cqn = bench.cq.cq->id.number;
    Qp& qp = bench.create_qp(kUd, cqn, cqn, 4);
    bench.driver = bench.driver_of(qp.id.number, qp.sq);
    CHECK(bench.run_umr(Umr{}).syndrome == 0x02);
}

TEST_CASE("the registration QP works on mkeys of every PD, an RC QP on its own", "[umr]") {
    for (const std::uint32_t type : {kRegUmr, kRc}) {
        UmrBench bench;
        bench.mkey.view().set<prm::mkc::pd>(kPd + 5);
        const std::uint32_t cqn = bench.cq.cq->id.number;
        Qp& qp = bench.create_qp(type, cqn, cqn, 4);
        bench.driver = bench.driver_of(qp.id.number, qp.sq);
        CHECK(bench.run_umr(Umr{}).opcode == (type == kRegUmr ? 0 : 13));
        CHECK(qp.state == (type == kRegUmr ? QpState::rts : QpState::error));
    }
}

// What the kernel does with a region: enable, use, revoke, enable under the next variant.
TEST_CASE("a region lives through enable, revoke and enable again", "[umr]") {
    using prm::mkc;
    UmrBench bench;
    bench.mkey.view().set<mkc::free>(1U);
    std::vector<HostRange> ranges;
    for (std::uint8_t variant = 1; variant <= 3; ++variant) {
        const std::uint32_t key = (bench.mkey.key() & ~0xffU) | variant;
        Umr enable;
        enable.check = 1;
        enable.octowords = 4;
        enable.mask = kMaskKey | kMaskFree | kMaskRegion;
        enable.context().set<mkc::mkey_7_0>(variant);
        enable.context().set<mkc::start_addr>(0x7f0000000800U);
        enable.context().set<mkc::len>(0x2000U);
        enable.context().set<mkc::log_page_size>(12U);
        enable.rest = mtts(8, 0xa0000000U + variant * 0x100000U);
        CHECK(bench.run_umr(enable, key).opcode == 0);

        TranslationRequest request;
        request.key = key;
        request.pd = kPd;
        request.address = 0x7f0000000800;
        request.bytes = 0x10;
        ranges.clear();
        CHECK(bench.engines.translator().translate(request, ranges) == TranslationError::none);
        CHECK(ranges[0].address.value == 0xa0000800U + variant * 0x100000U);

        Umr revoke;
        revoke.mask = kMaskFree;
        revoke.context().set<mkc::free>(1U);
        CHECK(bench.run_umr(revoke, key).opcode == 0);
        CHECK(bench.engines.translator().translate(request, ranges) ==
              TranslationError::unknown_key);
    }
}

}  // namespace
}  // namespace cxsim::test
