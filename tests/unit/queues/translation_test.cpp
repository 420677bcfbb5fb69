// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/queues/queue_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace cxsim::test {
namespace {

constexpr std::uint32_t kPhysical = 0;
constexpr std::uint32_t kMtt = 1;
constexpr std::uint32_t kKlm = 2;
constexpr std::uint32_t kKsm = 3;
constexpr std::uint32_t kMemic = 5;

struct TranslationBench : QueueBench {
    std::vector<HostRange> ranges;

    TranslationError translate(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                               Access access = Access::local_read) {
        ranges.clear();
        TranslationRequest request;
        request.key = key;
        request.pd = kPd;
        request.queue_number = 0x123;
        request.address = address;
        request.bytes = bytes;
        request.access = access;
        return engines.translator().translate(request, ranges);
    }
    // 4 pages of 4 KiB from 0x10000800 on, the last two side by side.
    Mkey& paged(std::uint32_t log_page_size = 12) {
        Mkey& mkey = create_mkey(kPd, kMtt, 0x10000800, 0x3000, log_page_size, 2);
        set_mtt(mkey, 0, 0xa000000);
        set_mtt(mkey, 1, 0xc000000);
        set_mtt(mkey, 2, 0xe000000);
        set_mtt(mkey, 3, 0xe001000);
        return mkey;
    }
};

TEST_CASE("a physical key gives the address itself", "[translation]") {
    TranslationBench bench;
    CHECK(bench.translate(bench.pa_key, 0xfedc0, 0x5000) == TranslationError::none);
    CHECK(bench.ranges == std::vector<HostRange>{{{0xfedc0}, 0x5000}});
    Mkey& bounded = bench.create_mkey(kPd, kPhysical, 0x1000, 0x1000, 0, 0);
    CHECK(bench.translate(bounded.key(), 0x1000, 0x1000) == TranslationError::none);
    CHECK(bench.translate(bounded.key(), 0x1800, 0x1000) == TranslationError::out_of_range);
}

TEST_CASE("pages are cut at their ends and merged where they touch", "[translation]") {
    TranslationBench bench;
    const std::uint32_t key = bench.paged().key();
    CHECK(bench.translate(key, 0x10000800, 0x3000) == TranslationError::none);
    CHECK(bench.ranges == std::vector<HostRange>{
                              {{0xa000800}, 0x800}, {{0xc000000}, 0x1000}, {{0xe000000}, 0x1800}});
    CHECK(bench.translate(key, 0x10001010, 8) == TranslationError::none);
    CHECK(bench.ranges == std::vector<HostRange>{{{0xc000010}, 8}});
}

TEST_CASE("large pages count by their own size", "[translation]") {
    TranslationBench bench;
    Mkey& mkey = bench.create_mkey(kPd, kMtt, 0x40200000, 0x400000, 21, 1);
    QueueBench::set_mtt(mkey, 0, 0x80000000);
    QueueBench::set_mtt(mkey, 1, 0x90000000);
    CHECK(bench.translate(mkey.key(), 0x403ffffc, 8) == TranslationError::none);
    CHECK(bench.ranges == std::vector<HostRange>{{{0x801ffffc}, 4}, {{0x90000000}, 4}});
}

TEST_CASE("bounds are those of the region and of its entries", "[translation]") {
    TranslationBench bench;
    Mkey& mkey = bench.paged();
    CHECK(bench.translate(mkey.key(), 0x100007ff, 8) == TranslationError::out_of_range);
    CHECK(bench.translate(mkey.key(), 0x10000800, 0x3001) == TranslationError::out_of_range);
    CHECK(bench.translate(mkey.key(), ~std::uint64_t{0}, 8) == TranslationError::out_of_range);
    mkey.view().set<prm::mkc::len>(0x100000U);  // longer than the entries reach
    CHECK(bench.translate(mkey.key(), 0x10004000, 8) == TranslationError::out_of_range);
    CHECK(bench.ranges.empty());
}

TEST_CASE("key, variant, free bit, domain and queue must fit", "[translation]") {
    TranslationBench bench;
    Mkey& mkey = bench.paged();
    CHECK(bench.translate(0x123400, 0x10000800, 8) == TranslationError::unknown_key);
    CHECK(bench.translate(mkey.key() ^ 1, 0x10000800, 8) == TranslationError::unknown_key);
    mkey.view().set<prm::mkc::free>(1U);
    CHECK(bench.translate(mkey.key(), 0x10000800, 8) == TranslationError::unknown_key);
    mkey.view().set<prm::mkc::free>(0U);
    mkey.view().set<prm::mkc::pd>(kPd + 1);
    CHECK(bench.translate(mkey.key(), 0x10000800, 8) == TranslationError::wrong_domain);
    mkey.view().set<prm::mkc::pd>(kPd);
    mkey.view().set<prm::mkc::qpn>(0x124U);
    CHECK(bench.translate(mkey.key(), 0x10000800, 8) == TranslationError::wrong_domain);
    mkey.view().set<prm::mkc::qpn>(0x123U);
    CHECK(bench.translate(mkey.key(), 0x10000800, 8) == TranslationError::none);
}

TEST_CASE("each access needs its own permission", "[translation]") {
    TranslationBench bench;
    Mkey& mkey = bench.paged();
    const auto view = mkey.view();
    view.set<prm::mkc::lr>(0U);
    view.set<prm::mkc::lw>(0U);
    const std::array<Access, 5> all{Access::local_read, Access::local_write, Access::remote_read,
                                    Access::remote_write, Access::atomic};
    for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(bench.translate(mkey.key(), 0x10000800, 8, all[i]) ==
              TranslationError::no_permission);
        view.set<prm::mkc::lr>(i == 0 ? 1U : 0U);
        view.set<prm::mkc::lw>(i == 1 ? 1U : 0U);
        view.set<prm::mkc::rr>(i == 2 ? 1U : 0U);
        view.set<prm::mkc::rw>(i == 3 ? 1U : 0U);
        view.set<prm::mkc::a>(i == 4 ? 1U : 0U);
        CHECK(bench.translate(mkey.key(), 0x10000800, 8, all[i]) == TranslationError::none);
    }
}

TEST_CASE("page access bits count for keys that carry them", "[translation]") {
    TranslationBench bench;
    Mkey& mkey = bench.paged();
    QueueBench::set_mtt(mkey, 0, 0xa000001);
    CHECK(bench.translate(mkey.key(), 0x10000800, 8, Access::local_write) ==
          TranslationError::none);
    mkey.page_access = true;
    CHECK(bench.translate(mkey.key(), 0x10000800, 8) == TranslationError::none);
    CHECK(bench.ranges[0].address.value == 0xa000800);
    CHECK(bench.translate(mkey.key(), 0x10000800, 8, Access::local_write) ==
          TranslationError::unmapped);
    CHECK(bench.translate(mkey.key(), 0x10000ffc, 8) == TranslationError::unmapped);
}

TEST_CASE("a request of no bytes checks the key only", "[translation]") {
    TranslationBench bench;
    CHECK(bench.translate(bench.paged().key(), 0, 0) == TranslationError::none);
    CHECK(bench.translate(0x99900, 0, 0) == TranslationError::unknown_key);
    CHECK(bench.ranges.empty());
}

TEST_CASE("a list of regions is walked entry by entry", "[translation]") {
    TranslationBench bench;
    Mkey& list = bench.create_mkey(kPd, kKlm, 0x5000, 0x300, 0, 3);
    QueueBench::set_klm(list, 0, 0x100, bench.pa_key, 0x70000);
    QueueBench::set_klm(list, 1, 0x80, bench.paged().key(), 0x10000fc0);
    QueueBench::set_klm(list, 2, 0x180, bench.pa_key, 0x90000);
    CHECK(bench.translate(list.key(), 0x50f0, 0x100) == TranslationError::none);
    CHECK(bench.ranges ==
          std::vector<HostRange>{
              {{0x700f0}, 0x10}, {{0xa000fc0}, 0x40}, {{0xc000000}, 0x40}, {{0x90000}, 0x70}});
    QueueBench::set_klm(list, 1, 0x80, 0x12300, 0);
    CHECK(bench.translate(list.key(), 0x5080, 0x100) == TranslationError::unknown_key);
    CHECK(bench.ranges.empty());
}

TEST_CASE("a list shorter than its region is out of range", "[translation]") {
    TranslationBench bench;
    Mkey& list = bench.create_mkey(kPd, kKlm, 0, 0x300, 0, 1);
    QueueBench::set_klm(list, 0, 0x100, bench.pa_key, 0x70000);
    CHECK(bench.translate(list.key(), 0x80, 0x100) == TranslationError::out_of_range);
}

TEST_CASE("fixed-size entries are indexed by page", "[translation]") {
    TranslationBench bench;
    Mkey& fixed = bench.create_mkey(kPd, kKsm, 0, 0x2000, 12, 2);
    QueueBench::set_klm(fixed, 0, 0, bench.pa_key, 0x111000);
    QueueBench::set_klm(fixed, 1, 0, bench.pa_key, 0x333100);
    CHECK(bench.translate(fixed.key(), 0xff0, 0x20) == TranslationError::none);
    CHECK(bench.ranges == std::vector<HostRange>{{{0x111ff0}, 0x10}, {{0x333100}, 0x10}});
    CHECK(bench.translate(fixed.key(), 0x1ff0, 0x20) == TranslationError::out_of_range);
}

TEST_CASE("indirection ends, also where a key names itself", "[translation]") {
    TranslationBench bench;
    Mkey& loop = bench.create_mkey(kPd, kKsm, 0, 0x1000, 12, 1);
    QueueBench::set_klm(loop, 0, 0, loop.key(), 0);
    CHECK(bench.translate(loop.key(), 0, 8) == TranslationError::too_deep);
    Mkey& list = bench.create_mkey(kPd, kKlm, 0, 0x1000, 0, 1);
    QueueBench::set_klm(list, 0, 0x1000, list.key(), 0);
    CHECK(bench.translate(list.key(), 0, 8) == TranslationError::too_deep);
}

TEST_CASE("lists of tiny entries that multiply do not hang the card", "[translation]") {
    TranslationBench bench;
    Mkey* inner = nullptr;
    for (int level = 0; level < 4; ++level) {
        // A thousand empty entries before each byte.
        Mkey& list = bench.create_mkey(kPd, kKlm, 0, 0x100000, 0, 2000);
        for (std::size_t i = 0; i < 2000; ++i) {
            const std::uint32_t key = inner != nullptr ? inner->key() : bench.pa_key;
            QueueBench::set_klm(list, i, i < 1000 ? 0 : 1000, key, i);
        }
        inner = &list;
    }
    CHECK(bench.translate(inner->key(), 0, 900'000) == TranslationError::too_deep);
    CHECK(bench.ranges.empty());
}

TEST_CASE("modes and entries that are not modelled are refused", "[translation]") {
    TranslationBench bench;
    Mkey& memic = bench.create_mkey(kPd, kMemic, 0, 0x1000, 12, 1);
    CHECK(bench.translate(memic.key(), 0, 8) == TranslationError::unsupported_mode);
    Mkey& strided = bench.create_mkey(kPd, kKlm, 0, 0x1000, 0, 3);
    QueueBench::set_klm(strided, 0, 520, 0x400, 0);  // stride block operation
    CHECK(bench.translate(strided.key(), 0, 8) == TranslationError::unsupported_mode);
}

TEST_CASE("the null mkey reads as zeros everywhere, also inside a list", "[translation]") {
    TranslationBench bench;
    CHECK(bench.translate(bench.keys.null_mkey, 0x1234, 100) == TranslationError::none);
    CHECK(bench.ranges == std::vector<HostRange>{{{}, 100, true}});
    Mkey& list = bench.create_mkey(kPd, kKlm, 0, 0x200, 0, 2);
    QueueBench::set_klm(list, 0, 0x100, bench.keys.null_mkey, 0);
    QueueBench::set_klm(list, 1, 0x100, bench.pa_key, 0x70000);
    CHECK(bench.translate(list.key(), 0xf0, 0x20) == TranslationError::none);
    CHECK(bench.ranges == std::vector<HostRange>{{{}, 0x10, true}, {{0x70000}, 0x10}});
}

TEST_CASE("the reserved lkey is for queues that may use it", "[translation]") {
    TranslationBench bench;
    CHECK(bench.translate(bench.keys.reserved_lkey, 0x1234, 100) ==
          TranslationError::no_permission);
    TranslationRequest request;
    request.key = bench.keys.reserved_lkey;
    request.address = 0x1234;
    request.bytes = 100;
    request.reserved_lkey = true;
    CHECK(bench.engines.translator().translate(request, bench.ranges) == TranslationError::none);
    CHECK(bench.ranges == std::vector<HostRange>{{{0x1234}, 100}});
}

}  // namespace
}  // namespace cxsim::test
